"""Training speed, in target tokens a second, beside other people's training loops.

All sides train a model of the same size on the same pairs, with about as many tokens an update,
in turns, each in a process of its own. Counted are real target tokens, eos included, and all that
training repeats: drawing and padding batches, forward, backward, the optimiser. The peers get their
usual batches (shuffled, not sorted) and, as "+ grouped", batches of like length cut as ours are.
"""

import argparse
import hashlib
import importlib
import os
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import yakusu
from common import in_turns, ratio, record, start
from peers.common import Pair, Sizes, Throughput
from yakusu.data.batches import cut_by_length
from yakusu.recipe import Recipe
from yakusu_loop import Job, train

OURS = "yakusu"
PEERS = {
    "torch.nn.Transformer": ("torch_loop", True),
    "Marian (Hugging Face)": ("marian_loop", True),
    "JoeyNMT": ("joeynmt_loop", False),  # whether it takes batches that others have cut
}
GROUPED = " + grouped"
TARGETS = {
    "tiny": {"torch.nn.Transformer": 1.4, "Marian (Hugging Face)": 1.4, "JoeyNMT": 2.5},
    "base": {"torch.nn.Transformer": 1.05, "Marian (Hugging Face)": 1.05},
}


# ---- their side ----------------------------------------------------------------------------------


@cache
def _as_lists(run: Path) -> list[Pair]:
    pairs = Job(run, 0, 0).pairs
    return [(pairs.src[i].tolist(), pairs.tgt[i].tolist()) for i in range(len(pairs))]


def train_peer(job: Job, *, module: str, grouped: bool) -> Throughput:
    """Train with one of the loops in peers/."""
    loop = importlib.import_module(f"peers.{module}")
    model, step_tokens = job.recipe.model, job.recipe.batches.step_tokens
    sizes = Sizes(
        vocab_size=job.vocab_size,
        n_layers=model.n_layers,
        d_model=model.d_model,
        d_ff=model.d_ff,
        n_heads=model.n_heads,
        dropout=model.dropout,
    )
    more: dict[str, Any] = {}
    if grouped:
        pairs = job.pairs
        batches = cut_by_length(np.arange(len(pairs)), pairs, step_tokens)
        more["batches"] = [batch.tolist() for batch in batches]
    result: Throughput = loop.train_tokens_per_second(
        _as_lists(job.run),
        sizes,
        tokens_per_batch=step_tokens,
        seconds=job.seconds,
        seed=job.seed,
        **more,
    )
    return result


# ---- the comparison ------------------------------------------------------------------------------


def sides(skipped: list[str]) -> dict[str, Callable[[Job], Throughput]]:
    """All sides by name, ours first."""
    found: dict[str, Callable[[Job], Throughput]] = {OURS: train}
    for name, (module, takes_batches) in PEERS.items():
        if name not in skipped:
            found[name] = partial(train_peer, module=module, grouped=False)
            if takes_batches:
                found[name + GROUPED] = partial(train_peer, module=module, grouped=True)
    return found


def compare(recipe: Recipe, size: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure all sides and print the table."""
    run = Path(recipe.run)
    measured: dict[str, list[Throughput]] = in_turns(
        sides(args.skip or []),
        args.rounds,
        lambda i: [Job(run, args.seconds if i >= 0 else 0.0, args.seed + i + 1)],
        threads=args.threads,
    )
    speeds = {name: [r.tokens_per_second for r in runs] for name, runs in measured.items()}
    rows = {}
    print(f"{size}\n{'':32}{'tokens/s':>9}{'padding':>9}   times faster is yakusu")
    for name, runs in measured.items():
        padding = statistics.median(r.padding for r in runs)
        median = statistics.median(speeds[name])
        rows[name] = {"tokens_per_second": median, "padding": padding, "rounds": speeds[name]}
        shown = ""
        if name != OURS:
            gain = ratio(speeds[OURS], speeds[name])
            target = TARGETS.get(size, {}).get(name)
            rows[name] |= {"ratio": asdict(gain), "target": target}
            shown = f"{gain}" + (f", wanted {target}" if target else "")
        print(f"{name:32}{median:9,.0f}{padding:9.1%}   {shown}")
    text = (run / "recipe.toml").read_text().replace(recipe.run, "RUN")
    facts = {
        "size": size,
        "step_tokens": recipe.batches.step_tokens,
        "pairs": len(Job(run, 0, 0).pairs),
    }
    return {**facts, "recipe_sha256": hashlib.sha256(text.encode()).hexdigest(), "sides": rows}


def prepare(size: str, args: argparse.Namespace, folder: str) -> Recipe:
    """Binarise the corpus by the public verb and give the recipe of a run that never validates."""
    recipe = yakusu.load_recipe(
        size,
        [
            f'run="{folder}/{size}"',
            f'data.train={{src = "{args.src}", tgt = "{args.tgt}"}}',
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


def main() -> None:
    """Prepare, measure in turns, record."""
    data = os.environ.get("YAKUSU_DATA", "data")
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example: python benchmarks/training_throughput.py --sizes tiny base --rounds 5",
    )
    parser.add_argument("--sizes", nargs="+", default=["tiny", "base"], help="names of recipes")
    parser.add_argument("--src", default=f"{data}/multi30k/train.en", help="source sentences")
    parser.add_argument("--tgt", default=f"{data}/multi30k/train.de", help="their translations")
    parser.add_argument("--vocab", type=int, default=10_000, help="tokens of the joint BPE")
    parser.add_argument("--step-tokens", type=int, default=4096, help="tokens of an update")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=12.0, help="of a side in a round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", action="append", choices=PEERS, help="leave a peer out")
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    for size in args.sizes:
        with tempfile.TemporaryDirectory() as folder:
            result = compare(prepare(size, args, folder), size, args)
        if not args.no_record:
            record("training_throughput", result, seed=args.seed, threads=args.threads)


if __name__ == "__main__":
    start(main)
