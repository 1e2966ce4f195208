"""Several languages in one model: English to German and French, compared with two models.

The models of one pair have the same sizes and settings, and half of the steps, so that the
training of both takes as many steps as that of the one model.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.common import Benchmark
from benchmarks.quick import SETTINGS
from benchmarks.records import Record
from benchmarks.runs import CURVES, RECIPES, Remarks, bleu, curve, slug
from benchmarks.tables import FilledTable, fill, score_of
from yakusu.recipe import Recipe

BOTH = "en-de and en-fr"
PAIRS = {"en-de": ("en", "de"), "en-fr": ("en", "fr")}
TESTS = ("test2016", "test2017")

benchmark = Benchmark(
    "directions",
    __doc__,
    example="python -m benchmarks.interop.directions --runs runs",
    needs=["data", "runs"],
    threads=2,
    quick={
        "tests": ["test2016"],
        "set": ("training.max_steps=4", "training.validate_steps=2", *SETTINGS),
    },
)
benchmark.option("--systems", nargs="+", default=[BOTH, *PAIRS], help="of %(default)s")
benchmark.option("--tests", nargs="+", default=TESTS, help="test sets of Multi30k (%(default)s)")
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """BLEU of each model on each test set."""
    tests = dict.fromkeys(test for record in records for test in record["scores"])
    columns = [("Model", "{name}"), *((test, score_of(f"scores.{test}")) for test in tests)]
    yield fill(columns, records, records)
    yield from CURVES(records)


def recipe_of(system: str, args: argparse.Namespace) -> Recipe:
    """The recipe of a system: that of both pairs, or of one pair with half of the steps."""
    both = yakusu.load_recipe(RECIPES / "multi30k-de-fr.toml", args.set)
    run = str(args.runs / slug(system))
    if system == BOTH:
        return both.model_copy(update={"run": run})
    one = both.directions[list(PAIRS).index(system)]
    half = {"max_steps": one.training.max_steps // 2}
    training = one.training.model_copy(update=half)
    return one.model_copy(update={"run": run, "training": training})


def measured(system: str, args: argparse.Namespace) -> dict[str, Any]:
    """Train a system; return its test scores by language pair, and its validations."""
    recipe = recipe_of(system, args)
    yakusu.train(recipe, progress=Remarks(Path(recipe.run).name))
    scores = {
        f"{pair} {test}": bleu(Path(recipe.run) / "model", args.data / "multi30k" / test, codes)
        for pair, codes in PAIRS.items()
        if pair in system
        for test in args.tests
    }
    return {"name": system, "scores": scores, "curve": curve(Path(recipe.run))}


def main(args: argparse.Namespace) -> None:
    """Train and score each system."""
    for system in args.systems:
        found = measured(system, args)
        for name, score in found["scores"].items():
            print(f"{system}: {name} {score}", flush=True)
        benchmark.record(found)


if __name__ == "__main__":
    benchmark.run(main)
