"""Table 4: labelled F1 of parsers on a small treebank, with and without automatic parses.

Each system is a run below --runs; rerun the same command to resume. A finished run is only scored.
"""

import argparse
import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.common import Benchmark
from benchmarks.runs import RECIPES
from yakusu.data.brackets import UNTAGGED, delinearise
from yakusu.data.corpus import tree_files
from yakusu.data.trees import read_trees, tags_of, words_of
from yakusu.metrics import Score
from yakusu.tasks.evalb import DELETED

# Table 4 of the paper: WSJ section 23, from 40,000 gold trees.
PAPER = {
    "Vinyals & Kaiser et al. 2014, LSTM with attention, WSJ only": 88.3,
    "Vinyals & Kaiser et al. 2014, LSTM with attention, semi-supervised": 92.1,
    "Transformer (4 layers), WSJ only": 91.3,
    "Transformer (4 layers), semi-supervised": 92.7,
    "Recurrent Neural Network Grammar, generative": 93.3,
    "BerkeleyParser, WSJ only": 90.4,
}
# Name: recipe, whether automatically parsed trees are added, and the F1 of the paper's counterpart.
SYSTEMS = {
    "transformer": ("parse-small", False, 91.3),
    "transformer+extra": ("parse-small", True, 92.7),
    "lstm": (str(RECIPES / "parse-lstm.toml"), False, None),
    "lstm+extra": (str(RECIPES / "parse-lstm.toml"), True, None),
}
LABELS = ("NP", "VP", "S", "PP", "SBAR")
QUICK = (
    *("training.max_steps=2", "training.validate_steps=2", "batches.step_tokens=300"),
    *("tokenizer.vocab_size=110", "model.d_model=32", "model.n_layers=1"),
    *("search.beam=2", "search.max_extra=20"),
)

benchmark = Benchmark(
    "parsing_f1",
    __doc__,
    example="python -m benchmarks.paper.parsing_f1 --runs runs/parsing",
    needs=["data", "runs"],
    quick={"set": QUICK, "systems": ["transformer+extra"]},
)
benchmark.option("--systems", nargs="*", default=list(SYSTEMS), choices=SYSTEMS, help="all")
benchmark.option(
    "--weight", type=float, default=0.5, help="weight of an automatically parsed tree (0.5)"
)
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


def right_branching(tree: Any, label: str) -> str:
    """Return the right-branching tree of a tree's words.

    Each word except the last and except punctuation opens a constituent that reaches to the end:
    first S, then `label`.
    """
    opening = [tag not in DELETED for tag in tags_of(tree)]
    last = max((i for i, opens in enumerate(opening) if opens), default=0)
    tokens, labels = list[str](), list[str]()
    for i, opens in enumerate(opening):
        if not labels or (opens and i < last):
            labels.append(label if labels else "S")
            tokens.append(f"({labels[-1]}")
        tokens.append(UNTAGGED)
    return delinearise([*tokens, *(f"){name}" for name in labels[::-1])], words_of(tree))


def scored_row(name: str, scores: list[Score], paper: float | None) -> dict[str, Any]:
    """Return the fields that all rows have."""
    return {
        "name": name,
        "score": "; ".join(str(score) for score in scores),
        "paper": paper or "no such row",
        "f1": round(scores[0].value, 2),
    }


def baseline(dev: Path) -> dict[str, Any]:
    """Score right-branching trees with the label that scores best."""
    trees = list(read_trees(tree_files(dev)))
    scored = {}
    for label in LABELS:
        with tempfile.NamedTemporaryFile("w", suffix=".mrg") as file:
            file.writelines(right_branching(tree, label) + "\n" for tree in trees)
            file.flush()
            scored[label] = yakusu.evaluate_trees(file.name, dev)
    best = max(scored, key=lambda label: scored[label][0].value)
    return scored_row(f"right-branching, all {best}", scored[best], None)


def run(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Train or resume a system, and score it on the dev set."""
    recipe_name, with_extra, paper = SYSTEMS[name]
    gold, extra = args.data / "treebank", args.data / "gum_const" / "train.mrg"
    overrides = [
        f'run="{args.runs / name}"',
        f'data.train.trees="{gold / "train.mrg"}"',
        f'data.dev.trees="{gold / "dev.mrg"}"',
        *([f'data.extra={{trees="{extra}", weight={args.weight}}}'] if with_extra else []),
        *args.set,
    ]
    recipe = yakusu.load_recipe(recipe_name, overrides)
    start = time.monotonic()
    trained = yakusu.train(recipe)
    print(f"{name}: {trained.steps:,} steps, {trained.seconds / 60:.0f} minutes", flush=True)
    scores = yakusu.evaluate_parser(trained.model, gold / "dev.mrg")
    settings = recipe.model_dump(mode="json", exclude={"run", "data"})
    return scored_row(name, scores, paper) | {
        "extra_weight": args.weight if with_extra else 0.0,
        "steps": trained.steps,
        "training_minutes": round(trained.seconds / 60, 1),
        "seconds_now": round(time.monotonic() - start, 1),
        "reason": trained.reason,
        "recipe": settings,
    }


def main(args: argparse.Namespace) -> None:
    """Score the baseline, train and score each system, and print the paper's rows and ours."""
    gold = args.data / "treebank"
    n_train, n_dev = (
        sum(1 for _ in read_trees(tree_files(gold / f"{split}.mrg"))) for split in ("train", "dev")
    )
    rows = []
    for row in chain([baseline(gold / "dev.mrg")], (run(name, args) for name in args.systems)):
        rows.append(row | {"trees": {"train": n_train, "dev": n_dev}})
        benchmark.record(rows[-1], seed=row.get("recipe", {"seed": 1})["seed"])
    print("\nTable 4 of the paper: F1 on WSJ 23, from 40,000 gold trees")
    for name, value in PAPER.items():
        print(f"  {name:68} {value:6.1f}")
    print(f"here: F1 on {n_dev:,} trees of another split, from {n_train:,} gold trees")
    for row in rows:
        print(f"  {row['name']:68} {row['f1']:6.2f}   {row['score']}")


if __name__ == "__main__":
    benchmark.run(main)
