"""Loss after some updates, compared with other training loops.

All sides train a model of the same size on the same pairs, with about as many target tokens per
update, the learning rates of the recipe (Eq. 3), and its settings of Adam, label smoothing and
dropout. The peers have their own initial weights, and batches of similar length ("+ grouped"). The
loss is the mean negative log-likelihood per target token over the last 20 updates, in nats, without
label smoothing; it is computed with dropout, before the weights are updated.

The recipe is pre-norm, as torch.nn.Transformer can be; Marian is post-norm, and is compared with
yakusu post-norm at a lower learning rate. torch.nn.Transformer drops attention weights and inner
values of the feed-forward network too, and is compared with yakusu with the same dropout. Once more
it starts from the initial weights of yakusu and gets the updates of its epoch, in another order:
then only random numbers and biases of attention differ. JoeyNMT is left out, because it computes
only the smoothed loss.
"""

import argparse
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.common import Benchmark
from benchmarks.peers import torch_loop
from benchmarks.peers.common import LAST_STEPS, Throughput
from benchmarks.speed.training_throughput import (
    GROUPED,
    MODULES,
    OURS,
    as_lists,
    prepare,
    recipe_sha256,
    sizes,
    train_peer,
)
from benchmarks.speed.yakusu_loop import Job, train
from benchmarks.tables import Table, entries
from benchmarks.workers import Worker
from yakusu.data.batches import epoch_steps
from yakusu.errors import RunError
from yakusu.model.architectures import build
from yakusu.recipe import Recipe

SIZE = "tiny"
TORCH, MARIAN = "torch.nn.Transformer", "Marian (Hugging Face)"
NOT_JOINED, ALL_DROPOUT = f"{OURS}, batches not joined", f"{OURS}, dropout as in {TORCH}"
ALIKE = f"{TORCH}, weights and updates of {OURS}"
NORMS = {"pre": (), "post": ("model.norm=post", "training.lr_scale=0.4")}

NAMES = {
    r"^(encoder|decoder)\.": r"transformer.\1.layers.",
    "self_attention": "self_attn",
    "cross_attention": "multihead_attn",
    "w_qkv": "in_proj_weight",
    "w_o": "out_proj.weight",
    "feed_forward.inner": "linear1",
    "feed_forward.outer": "linear2",
    "src_table": "source_embedding",
    "tgt_table": "target_embedding",
    "output_table": "generator",
}  # of weights, ours and those of torch.nn.Transformer

benchmark = Benchmark(
    "training_loss",
    __doc__,
    example="python -m benchmarks.speed.training_loss --record",
    needs=["data"],
    threads=2,
    quick={"vocab": 300, "step_tokens": 200, "updates": LAST_STEPS, "seeds": [1]},
)
benchmark.option("--norms", nargs="+", default=[*NORMS], choices=NORMS, help="(%(default)s)")
benchmark.option("--vocab", type=int, default=10_000, help="tokens of the joint BPE (%(default)s)")
benchmark.option("--step-tokens", type=int, default=1024, help="tokens per update (%(default)s)")
benchmark.option("--updates", type=int, default=200, help=f"multiple of {LAST_STEPS} (%(default)s)")
benchmark.option("--seeds", nargs="+", type=int, default=[1, 2, 3], help="(%(default)s)")

tables = Table(
    (
        ("System", "{name}"),
        ("Mean loss (lowest to highest)", "{mean:.3f} ({loss.low:.3f} to {loss.high:.3f})"),
        ("Compared with", "{against}"),
        ("Difference", "{difference:+.3f}"),
    ),
    rows=entries("sides"),
    title="Recipe {size}, {name}",
)


@dataclass(frozen=True)
class Side:
    """A training loop, the keys of the recipe that it overrides, and the side it compares with."""

    function: Callable[[Job], Throughput] = train
    overrides: tuple[str, ...] = ()
    against: str | None = None


def train_alike(job: Job) -> Throughput:
    """Train torch.nn.Transformer from our initial weights, with the updates of our epoch."""
    recipe, size = job.recipe, job.vocab_size
    torch.manual_seed(job.seed)
    weights = renamed(build(recipe.model, src_vocab_size=size, tgt_vocab_size=size).state_dict())
    steps = epoch_steps(
        job.pairs,
        step_tokens=recipe.batches.step_tokens,
        batch_tokens=recipe.batches.batch_tokens_on("cpu"),
        seed=job.seed,
        epoch=0,
    )
    return torch_loop.train_tokens_per_second(
        as_lists(job.run),
        sizes(job, pre_norm=True),
        tokens_per_batch=recipe.batches.step_tokens,
        seconds=job.seconds,
        seed=job.seed,
        batches=[np.concatenate(batches).tolist() for batches in steps],
        rates=job.rates,
        weights=weights,
    )


def renamed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights of our pre-norm model with the names of the peer's; norms are left out."""
    found = {
        reduce(lambda name, pattern: re.sub(*pattern, name), NAMES.items(), own): weight
        for own, weight in weights.items()
        if "norm" not in own
    }
    return {**found, "generator.bias": torch.zeros(len(found["generator.weight"]))}


def sides(norm: str, dropout: float, peers: Sequence[str]) -> dict[str, Side]:
    """Return the sides that can train pre-norm or post-norm."""
    everywhere = f"model.attention_dropout={dropout}", f"model.activation_dropout={dropout}"
    found = {OURS: Side()}
    if norm == "pre":
        found[ALL_DROPOUT] = Side(overrides=everywhere)
        found[NOT_JOINED] = Side(overrides=("batches.pass_tokens=1",), against=OURS)
    if norm == "pre" and TORCH in peers:
        loop = partial(train_peer, module="torch_loop", grouped=True, pre_norm=True)
        found[TORCH + GROUPED] = Side(loop, against=ALL_DROPOUT)
        found[ALIKE] = Side(train_alike, against=ALL_DROPOUT)
    if norm == "post" and MARIAN in peers:
        loop = partial(train_peer, module="marian_loop", grouped=True)
        found[MARIAN + GROUPED] = Side(loop, against=OURS)
    return found


def compare(recipe: Recipe, norm: str, peers: Sequence[str], args: argparse.Namespace) -> Any:
    """Train all sides with all seeds and return the losses."""
    rows: dict[str, dict[str, Any]] = {}
    for name, side in sides(norm, recipe.model.dropout, peers).items():
        keys = (*NORMS[norm], *side.overrides)
        with Worker(side.function, threads=args.threads) as worker:
            jobs = [Job(Path(recipe.run), math.inf, s, args.updates, keys) for s in args.seeds]
            losses = [worker(job).nll for job in jobs]
        mean = statistics.mean(losses)
        spread = {"median": statistics.median(losses), "low": min(losses), "high": max(losses)}
        rows[name] = {"loss": spread, "mean": mean, "losses": losses}
        if side.against:
            difference = mean - rows[side.against]["mean"]
            rows[name] |= {"against": side.against, "difference": difference}
        print(f"{norm}-norm, {name}: {mean:.3f} ({min(losses):.3f} to {max(losses):.3f})")
    return {
        "size": SIZE,
        "name": ", ".join([f"{norm}-norm", *NORMS[norm][1:]]),
        "step_tokens": recipe.batches.step_tokens,
        "updates": args.updates,
        "seeds": args.seeds,
        "recipe_sha256": recipe_sha256(recipe),
        "sides": rows,
    }


def main(args: argparse.Namespace) -> None:
    """Compare the sides pre-norm and post-norm."""
    if args.updates < 1 or args.updates % LAST_STEPS:  # yakusu reports the loss of as many steps
        raise RunError(f"--updates {args.updates}: choose a multiple of {LAST_STEPS}")
    peers = benchmark.installed({name: MODULES[name] for name in (TORCH, MARIAN)})
    with TemporaryDirectory() as folder:
        recipe = prepare(SIZE, args, folder)
        for norm in args.norms:
            benchmark.record(compare(recipe, norm, peers, args), seed=args.seeds[0])


if __name__ == "__main__":
    benchmark.run(main)
