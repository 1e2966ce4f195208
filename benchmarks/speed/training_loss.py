"""Loss after some updates, compared with other training loops.

All sides train a model of the same size on the same pairs, with about as many target tokens per
update, the learning rates of the recipe (Eq. 3), and its settings of Adam, label smoothing and
dropout. They differ in random numbers, in initial weights, and in the order of the pairs. The loss
is the mean negative log-likelihood per target token over the last 20 updates, in nats, without
label smoothing; it is computed with dropout, before the weights are updated. The peers get batches
of similar length ("+ grouped").

The recipe is pre-norm, which only torch.nn.Transformer supports; so all sides also train post-norm,
with a lower learning rate. torch.nn.Transformer drops attention weights and inner values of the
feed-forward network too, and is compared with yakusu with the same dropout. JoeyNMT is left out,
because it computes only the smoothed loss.
"""

import argparse
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.peers.common import LAST_STEPS, Throughput
from benchmarks.speed.training_throughput import (
    GROUPED,
    MODULES,
    OURS,
    prepare,
    recipe_sha256,
    train_peer,
)
from benchmarks.speed.yakusu_loop import Job, train
from benchmarks.tables import Table, entries, spread_of
from benchmarks.workers import Worker
from yakusu.recipe import Recipe

SIZE = "tiny"
TORCH, MARIAN = "torch.nn.Transformer", "Marian (Hugging Face)"
NOT_JOINED, ALL_DROPOUT = f"{OURS}, batches not joined", f"{OURS}, dropout as in {TORCH}"
NORMS = {"pre": (), "post": ("model.norm=post", "training.lr_scale=0.4")}

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
benchmark.option("--updates", type=int, default=200, help="%(default)s")
benchmark.option("--seeds", nargs="+", type=int, default=[1, 2, 3], help="(%(default)s)")

tables = Table(
    (
        ("System", "{name}"),
        ("Loss (lowest to highest)", spread_of("loss", 3)),
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


def sides(norm: str, dropout: float, peers: Sequence[str]) -> dict[str, Side]:
    """Return the sides that can train pre-norm or post-norm."""
    everywhere = f"model.attention_dropout={dropout}", f"model.activation_dropout={dropout}"
    found = {OURS: Side(), ALL_DROPOUT: Side(overrides=everywhere)}
    if norm == "pre":
        found[NOT_JOINED] = Side(overrides=("batches.pass_tokens=1",), against=OURS)
    if TORCH in peers:
        loop = partial(train_peer, module="torch_loop", grouped=True, pre_norm=norm == "pre")
        found[TORCH + GROUPED] = Side(loop, against=ALL_DROPOUT)
    if MARIAN in peers and norm == "post":
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
    peers = benchmark.installed({name: MODULES[name] for name in (TORCH, MARIAN)})
    with TemporaryDirectory() as folder:
        recipe = prepare(SIZE, args, folder)
        for norm in args.norms:
            benchmark.record(compare(recipe, norm, peers, args), seed=args.seeds[0])


if __name__ == "__main__":
    benchmark.run(main)
