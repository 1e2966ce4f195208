"""Further training: a translator adapted to the captions of Multi30k, with few and with all pairs.

For each number of captions, a model of the same sizes is trained from scratch, and the parent is
trained further, on the captions alone and mixed with as many pairs of its own corpus. All are
scored on captions and on the parent's test set, which shows what they have forgotten. Validations
on captions choose the checkpoints. The parent is a model of recipes/tatoeba-tiny.toml.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.common import Benchmark
from benchmarks.interop.small import first_pairs
from benchmarks.quick import SETTINGS
from benchmarks.records import Record
from benchmarks.runs import CURVES, RECIPES, Remarks, bleu, curve, slug
from benchmarks.tables import FilledTable, Table, score_of

LANGUAGES = "en", "de"
CAPTIONS, TEST = "multi30k/train", "multi30k/test2016"
SCRATCH, ADAPTED, MIXED = "from scratch", "adapted", "adapted, mixed"
FASTER = "adapted, rate 0.4"  # training.lr_scale; that of the recipe `adapt` is 0.05
# Settings of all systems, and of those that start from random weights.
COMMON = ("batches.step_tokens=4000", "training.keep_last=3", "training.patience=6")
RANDOM = ("training.warmup_steps=400", "training.lr_scale=1.2", "model.dropout=0.3")
VOCABULARY = {1000: 1500, 29_000: 6000}  # captions -> pieces, from scratch
STEPS = {  # captions -> steps, and steps between validations
    1000: {SCRATCH: (600, 100), ADAPTED: (300, 50), MIXED: (300, 50)},
    29_000: {SCRATCH: (1500, 150), ADAPTED: (900, 150), MIXED: (900, 150), FASTER: (1500, 150)},
}

benchmark = Benchmark(
    "adaptation",
    __doc__,
    example="python -m benchmarks.interop.adaptation --model runs/tatoeba-tiny/model --runs runs",
    needs=["data", "runs", "model"],
    threads=2,
    quick={
        "set": ("training.max_steps=2", "training.validate_steps=2", *SETTINGS),
        "captions": [1000],
        "old": TEST,
    },
)
benchmark.option("--captions", nargs="+", type=int, default=list(STEPS), help="numbers of captions")
benchmark.option(
    "--systems",
    nargs="+",
    default=[SCRATCH, ADAPTED, MIXED, FASTER],
    help="of %(default)s, in quotes; the last one with 29,000 captions only",
)
benchmark.option(
    "--old",
    default="tatoeba/en-de/test",
    help="test set of the parent's domain, below the folder with the corpora (%(default)s)",
)
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


_BLEU = Table(
    (
        ("Model", "{name}"),
        ("BLEU, captions", score_of("captions")),
        ("BLEU, Tatoeba", score_of("old")),
    )
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """BLEU on captions and on the parent's test set, and the dev scores of each run."""
    yield from _BLEU(records)
    yield from CURVES([record for record in records if record.get("curve")])


def train(system: str, n: int, args: argparse.Namespace) -> Path:
    """Train a system on `n` captions; return its run."""
    run = args.runs / slug(f"{system} {n}")
    steps, between = STEPS[n][system]
    settings = [*COMMON, f"training.max_steps={steps}", f"training.validate_steps={between}"]
    options: dict[str, Any] = {
        **first_pairs(args.data / CAPTIONS, LANGUAGES, n, args.runs),
        "dev_src": args.data / "multi30k/val.en",
        "dev_tgt": args.data / "multi30k/val.de",
        "run": run,
    }
    recipe: str | Path = "adapt"
    if system == SCRATCH:
        recipe = RECIPES / "tatoeba-tiny.toml"
        settings += [*RANDOM, f"tokenizer.vocab_size={VOCABULARY[n]}"]
    else:
        options |= {"parent": args.model, "mix": 0.5 if system == MIXED else None}
    if system == FASTER:
        settings += ["training.lr_scale=0.4", "training.warmup_steps=200"]
    yakusu.train(recipe, [*settings, *args.set], progress=Remarks(run.name), **options)
    return run


def measured(name: str, model: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Score a model on captions and on the parent's test set."""
    captions, old = (bleu(model, args.data / test, LANGUAGES) for test in (TEST, args.old))
    print(f"{name}: captions {captions}\n{name}: parent's test set {old}", flush=True)
    return {"name": name, "captions": captions, "old": old}


def main(args: argparse.Namespace) -> None:
    """Score the parent, then train and score each system."""
    benchmark.record(measured("the parent", args.model, args))
    for n in args.captions:
        for system in (each for each in args.systems if each in STEPS[n]):
            run = train(system, n, args)
            found = measured(f"{system}, {n:,} captions", run / "model", args)
            benchmark.record({**found, "curve": curve(run)})


if __name__ == "__main__":
    benchmark.run(main)
