"""Further training: a translator adapted to the captions of Multi30k, with few and with all pairs.

For each number of captions, a model of the same sizes is trained from scratch, and the parent is
trained further, on the captions alone and mixed with as many pairs of its own corpus. All are
scored on captions and on the parent's test set, which shows what they have forgotten. Validations
on captions choose the checkpoints. The parent is a model of recipes/tatoeba-tiny.toml.
"""

import argparse
from itertools import islice
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.common import Benchmark
from benchmarks.quick import SETTINGS
from benchmarks.runs import RECIPES, Remarks, slug, validations
from yakusu.data.text import read_lines

CAPTIONS, TEST = "multi30k/train", "multi30k/test2016"
SCRATCH, ADAPTED, MIXED = "from scratch", "adapted", "adapted, mixed"
# Settings of all systems, and of those that start from random weights.
COMMON = ("batches.step_tokens=4000", "training.keep_last=3", "training.patience=6")
RANDOM = ("training.warmup_steps=400", "training.lr_scale=1.2", "model.dropout=0.3")
VOCABULARY = {1000: 1500, 29_000: 6000}  # captions -> pieces, from scratch
STEPS = {  # captions -> steps, and steps between validations
    1000: {SCRATCH: (600, 100), ADAPTED: (300, 50), MIXED: (300, 50)},
    29_000: {SCRATCH: (1500, 150), ADAPTED: (900, 150), MIXED: (900, 150)},
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
        "old": (f"{TEST}.en", f"{TEST}.de"),
    },
)
benchmark.option("--captions", nargs="+", type=int, default=list(STEPS), help="numbers of captions")
benchmark.option(
    "--systems", nargs="+", default=[SCRATCH, ADAPTED, MIXED], help="of %(default)s, in quotes"
)
benchmark.option(
    "--old",
    nargs=2,
    default=("tatoeba/en-de/test.en", "tatoeba/en-de/test.de"),
    help="source and references of the parent's domain, below the folder with the corpora",
)
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


def captions(data: Path, folder: Path, n: int) -> dict[str, Any]:
    """Write the first captions to a folder; return the corpora of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    for side, suffix in (("src", "en"), ("tgt", "de")):
        path = folder / f"captions-{n}.{suffix}"
        lines = islice(read_lines(data / f"{CAPTIONS}.{suffix}"), n)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        found |= {side: path, f"dev_{side}": data / f"multi30k/val.{suffix}"}
    return found


def train(system: str, n: int, args: argparse.Namespace) -> Path:
    """Train a system on `n` captions; return its run."""
    run = args.runs / slug(f"{system} {n}")
    steps, between = STEPS[n][system]
    settings = [*COMMON, f"training.max_steps={steps}", f"training.validate_steps={between}"]
    options: dict[str, Any] = {**captions(args.data, args.runs, n), "run": run}
    recipe: str | Path = "adapt"
    if system == SCRATCH:
        recipe = RECIPES / "tatoeba-tiny.toml"
        settings += [*RANDOM, f"tokenizer.vocab_size={VOCABULARY[n]}"]
    else:
        options |= {"parent": args.model, "mix": 0.5 if system == MIXED else None}
    yakusu.train(recipe, [*settings, *args.set], progress=Remarks(run.name), **options)
    return run


def bleu(model: Path, src: Path, ref: Path) -> str:
    """Return BLEU with its signature."""
    return str(yakusu.evaluate_model(model, src, ref)[0])


def measured(name: str, model: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Score a model on captions and on the parent's test set."""
    captions, old = (
        bleu(model, args.data / src, args.data / ref)
        for src, ref in ((f"{TEST}.en", f"{TEST}.de"), args.old)
    )
    print(f"{name}: captions {captions}\n{name}: parent's test set {old}", flush=True)
    return {"name": name, "captions": captions, "old": old}


def main(args: argparse.Namespace) -> None:
    """Score the parent, then train and score each system."""
    benchmark.record(measured("the parent", args.model, args))
    for n in args.captions:
        for system in args.systems:
            run = train(system, n, args)
            found = measured(f"{system}, {n:,} captions", run / "model", args)
            curve = [
                {"step": event["step"], "dev_bleu": round(event["dev_bleu"], 2)}
                for event in validations(run)
            ]
            benchmark.record({**found, "curve": curve})


if __name__ == "__main__":
    benchmark.run(main)
