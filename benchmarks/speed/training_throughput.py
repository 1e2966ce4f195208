"""Training speed in target tokens per second, compared with other training loops.

All sides train a model of the same size on the same pairs, with about as many tokens per update, in
turns, each in its own process. Speeds count target tokens without padding, end of sentence
included, and the time of all that training repeats: drawing and padding batches, forward, backward,
the optimizer. The peers get
their usual batches (shuffled, not sorted) and, as "+ grouped", batches of similar length, cut as
ours are.
"""

import argparse
import hashlib
import importlib
import statistics
from collections.abc import Callable
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import yakusu
from benchmarks.common import Benchmark
from benchmarks.peers.common import Pair, Sizes, Throughput
from benchmarks.speed.yakusu_loop import Job, train
from benchmarks.tables import Table, entries
from benchmarks.workers import in_turns, speedup
from yakusu.data.batches import cut_by_length
from yakusu.recipe import Recipe

OURS = "yakusu"
PEERS = {
    "torch.nn.Transformer": ("torch_loop", True),
    "Marian (Hugging Face)": ("marian_loop", True),
    "JoeyNMT": ("joeynmt_loop", False),  # whether it accepts given batches
}
MODULES = {
    "torch.nn.Transformer": "torch",
    "Marian (Hugging Face)": "transformers",
    "JoeyNMT": "joeynmt",
}
GROUPED = " + grouped"
TARGETS = {
    "tiny": {"torch.nn.Transformer": 1.4, "Marian (Hugging Face)": 1.4, "JoeyNMT": 2.5},
    "base": {"torch.nn.Transformer": 1.05, "Marian (Hugging Face)": 1.05},
}

benchmark = Benchmark(
    "training_throughput",
    __doc__,
    example="python -m benchmarks.speed.training_throughput --sizes tiny base --rounds 5",
    needs=["data"],
    threads=2,
    quick={"sizes": ["tiny"], "vocab": 300, "step_tokens": 200, "rounds": 1, "seconds": 0.5},
)
benchmark.option("--sizes", nargs="+", default=["tiny", "base"], help="names of recipes")
benchmark.option("--vocab", type=int, default=10_000, help="tokens of the joint BPE (%(default)s)")
benchmark.option("--step-tokens", type=int, default=4096, help="tokens per update (%(default)s)")
benchmark.option("--rounds", type=int, default=5, help="measured rounds (%(default)s)")
benchmark.option("--seconds", type=float, default=12.0, help="per side and round (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="seed of the batches (%(default)s)")
benchmark.option("--skip", nargs="+", default=[], choices=PEERS, help="leave out a peer")


tables = Table(
    (
        ("System", "{name}"),
        ("Target tokens per second", "{tokens_per_second:,.0f}"),
        ("Padding", "{padding:.0%}"),
        ("Speed-up of yakusu", "{ratio.value:,.2f}"),
        ("Lowest", "{ratio.low:,.2f}"),
        ("Highest", "{ratio.high:,.2f}"),
        ("Goal", "{target:,.2f}"),
    ),
    rows=entries("sides"),
    title="Recipe {size}",
)


@cache
def as_lists(run: Path) -> list[Pair]:
    """The training pairs as the peers read them."""
    pairs = Job(run, 0, 0).pairs
    return [(pairs.src[i].tolist(), pairs.tgt[i].tolist()) for i in range(len(pairs))]


def sizes(job: Job, *, pre_norm: bool) -> Sizes:
    """The sizes of the recipe's model."""
    model = job.recipe.model
    return Sizes(
        vocab_size=job.vocab_size,
        n_layers=model.n_layers,
        d_model=model.d_model,
        d_ff=model.d_ff,
        n_heads=model.n_heads,
        dropout=model.dropout,
        pre_norm=pre_norm,
    )


def train_peer(job: Job, *, module: str, grouped: bool, pre_norm: bool = False) -> Throughput:
    """Train with one of the loops in peers/, by default post-norm as in the peers' own models."""
    loop = importlib.import_module(f"benchmarks.peers.{module}")
    step_tokens = job.recipe.batches.step_tokens
    more: dict[str, Any] = {}
    if grouped:
        pairs = job.pairs
        batches = cut_by_length(np.arange(len(pairs)), pairs, step_tokens)
        more["batches"] = [batch.tolist() for batch in batches]
    if job.updates:
        more["rates"] = job.rates
    result: Throughput = loop.train_tokens_per_second(
        as_lists(job.run),
        sizes(job, pre_norm=pre_norm),
        tokens_per_batch=step_tokens,
        seconds=job.seconds,
        seed=job.seed,
        **more,
    )
    return result


def sides(peers: list[str]) -> dict[str, Callable[[Job], Throughput]]:
    """Return all sides by name, ours first."""
    found: dict[str, Callable[[Job], Throughput]] = {OURS: train}
    for name in peers:
        module, accepts_batches = PEERS[name]
        found[name] = partial(train_peer, module=module, grouped=False)
        if accepts_batches:
            found[name + GROUPED] = partial(train_peer, module=module, grouped=True)
    return found


def compare(
    recipe: Recipe, size: str, args: argparse.Namespace, peers: list[str]
) -> dict[str, Any]:
    """Measure all sides and print the table."""
    run = Path(recipe.run)
    measured: dict[str, list[Throughput]] = in_turns(
        sides(peers),
        args.rounds,
        lambda i: [Job(run, args.seconds if i >= 0 else 0.0, args.seed + i + 1)],
        threads=args.threads,
    )
    speeds = {name: [r.tokens_per_second for r in runs] for name, runs in measured.items()}
    rows = {}
    print(f"{size}\n{'':32}{'tokens/s':>9}{'padding':>9}   speed-up of yakusu")
    for name, runs in measured.items():
        padding = statistics.median(r.padding for r in runs)
        median = statistics.median(speeds[name])
        rows[name] = {"tokens_per_second": median, "padding": padding, "rounds": speeds[name]}
        shown = ""
        if name != OURS:
            gain = speedup(speeds[OURS], speeds[name])
            target = TARGETS.get(size, {}).get(name)
            rows[name] |= {"ratio": asdict(gain), "target": target}
            shown = f"{gain}" + (f", target {target}" if target else "")
        print(f"{name:32}{median:9,.0f}{padding:9.1%}   {shown}")
    return {
        "size": size,
        "step_tokens": recipe.batches.step_tokens,
        "pairs": len(Job(run, 0, 0).pairs),
        "recipe_sha256": recipe_sha256(recipe),
        "sides": rows,
    }


def recipe_sha256(recipe: Recipe) -> str:
    """The hash of the prepared recipe, wherever its run is."""
    text = (Path(recipe.run) / "recipe.toml").read_text().replace(recipe.run, "RUN")
    return hashlib.sha256(text.encode()).hexdigest()


def prepare(size: str, args: argparse.Namespace, folder: str) -> Recipe:
    """Binarise the corpus, and return the recipe of a run that never validates."""
    corpus = args.data / "multi30k"
    recipe = yakusu.load_recipe(
        size,
        [
            f'run="{folder}/{size}"',
            f'data.train={{src = "{corpus / "train.en"}", tgt = "{corpus / "train.de"}"}}',
            f"tokenizer.vocab_size={args.vocab}",
            f"batches.step_tokens={args.step_tokens}",
            "training.device=cpu",
            f"training.validate_steps={10**9}",
            f"training.max_steps={10**9}",
            "training.checkpoint_minutes=0",
        ],
    )
    yakusu.prepare(recipe, workers=args.threads)
    return recipe


def main(args: argparse.Namespace) -> None:
    """Compare all sides for each size."""
    modules = {name: module for name, module in MODULES.items() if name not in args.skip}
    peers = benchmark.installed(modules)
    for size in args.sizes:
        with TemporaryDirectory() as folder:
            result = compare(prepare(size, args, folder), size, args, peers)
        benchmark.record(result, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
