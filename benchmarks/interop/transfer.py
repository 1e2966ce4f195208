"""Transfer: a new language pair with 5,000 sentence pairs, from a translator of another pair.

An English-Japanese model is trained from random weights and from an English-German parent, a model
of recipes/tatoeba-tiny.toml. The vocabulary is learned from the 5,000 pairs in both cases; pieces
that the parent has keep their vectors. The settings are the same; for each system, the rate
with the best dev score is chosen.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import yakusu
from benchmarks.common import Benchmark
from benchmarks.interop.small import first_pairs
from benchmarks.quick import SETTINGS
from benchmarks.records import Record
from benchmarks.runs import CURVES, RECIPES, Remarks, bleu, curve, slug
from benchmarks.tables import FilledTable, Table, fixed, score_of

N_PAIRS = 5000
LANGUAGES = "en", "ja"
SCRATCH, TRANSFER = "from scratch", "from the parent"
COMMON = (
    "data.source_language=en",
    "data.target_language=ja",
    "tokenizer.vocab_size=3000",
    "model.dropout=0.3",
    "training.warmup_steps=200",
    "training.max_steps=800",
    "training.validate_steps=80",
    "training.keep_last=3",
    "training.patience=4",
)

benchmark = Benchmark(
    "transfer",
    __doc__,
    example="python -m benchmarks.interop.transfer --model runs/tatoeba-tiny/model --runs runs",
    needs=["data", "runs", "model"],
    threads=2,
    quick={
        "set": ("training.max_steps=2", "training.validate_steps=2", *SETTINGS),
        "rates": [1.2],
    },
)
benchmark.option(
    "--rates", nargs="+", type=float, default=[0.4, 1.2], help="training.lr_scale (%(default)s)"
)
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


_BLEU = Table(
    (
        ("Model", "{name}"),
        ("BLEU, dev set", lambda r: fixed(max(point["dev_bleu"] for point in r["curve"]))),
        ("BLEU, test set", score_of("test")),
    )
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """The best dev score of each run, and BLEU on the test set of the chosen ones."""
    yield from _BLEU(records)
    yield from CURVES(records)


def train(system: str, rate: float, args: argparse.Namespace) -> dict[str, Any]:
    """Train a system; return its run and its validations."""
    run = args.runs / slug(f"{system} {rate}")
    corpora = {
        **first_pairs(args.data / "enja/train", LANGUAGES, N_PAIRS, args.runs),
        "dev_src": args.data / "enja/dev.en",
        "dev_tgt": args.data / "enja/dev.ja",
    }
    settings = [*COMMON, f"training.lr_scale={rate}"]
    if system == TRANSFER:
        settings.append("parent.vocabulary=learn")
        corpora["parent"] = args.model
    recipe = yakusu.load_recipe(
        RECIPES / "tatoeba-tiny.toml", [*settings, *args.set], run=run, **corpora
    )
    yakusu.train(recipe, progress=Remarks(run.name))
    return {"name": f"{system}, rate {rate}", "run": run.name, "curve": curve(run)}


def best_dev(trained: dict[str, Any]) -> float:
    """The best dev score of a run."""
    return max(float(point["dev_bleu"]) for point in trained["curve"])


def main(args: argparse.Namespace) -> None:
    """Train each system at each rate; score the best run of each on the test set."""
    for system in (SCRATCH, TRANSFER):
        runs = [train(system, rate, args) for rate in args.rates]
        chosen = max(runs, key=best_dev)
        for each in runs:
            if each is chosen:
                model = args.runs / each["run"] / "model"
                each["test"] = bleu(model, args.data / "enja/test", LANGUAGES)
            print(f"{each['name']}: dev {best_dev(each)}, test {each.get('test', 'not scored')}")
            benchmark.record(each)


if __name__ == "__main__":
    benchmark.run(main)
