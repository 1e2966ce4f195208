"""BLEU against sentence length, with attention and with a fixed vector: the lecture notes' graph.

Captions are short, so neighbouring lines are joined: each caption is trained on alone, with one
neighbour and with two; tested are captions alone and up to four joined. That is a test of
length and not of language: what is joined has nothing to do with each other, and four were never
seen together. Every system has the same budget of counted FLOPs, as in table2.py.
"""

import argparse
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import yakusu
from common import RESULTS, record, start
from runs import prepared, records, slug, trained
from table2 import SYSTEMS, arguments, recipe_of, within
from yakusu.data.text import read_lines
from yakusu.recipe import Recipe

NAMES = ("Transformer", "LSTM with attention", "LSTM with a fixed vector")
TRAINED, TESTED = (1, 2, 3), (1, 2, 3, 4)  # captions joined
BOUNDS = (0, 8, 12, 16, 20, 25, 30, 36, 44, 1000)  # of source words
Lines = list[str]


def joined(lines: Sequence[str], size: int) -> Lines:
    """Each `size` lines as one; a rest is left out."""
    whole = len(lines) - len(lines) % size
    return [" ".join(lines[i : i + size]) for i in range(0, whole, size)]


def joined_recipe(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe with joined training text, which is written into a folder."""
    corpus = recipe.data.train
    paths = {}
    for side in ("src", "tgt"):
        lines = list(read_lines(getattr(corpus, side)))
        text = [line for size in TRAINED for line in joined(lines, size)]
        paths[side] = str(folder / f"train.{side}")
        Path(paths[side]).write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    data = recipe.data.model_copy(update={"train": corpus.model_copy(update=paths)})
    return recipe.model_copy(update={"data": data})


def bleu_by_length(model: Path, src: Lines, ref: Lines) -> list[dict[str, Any]]:
    """BLEU of the sentences within each pair of bounds."""
    made = yakusu.Translator.load(model).translate(src)
    points = []
    for low, high in pairwise(BOUNDS):
        chosen = [i for i, line in enumerate(src) if low < len(line.split()) <= high]
        if not chosen:
            continue
        score = yakusu.evaluate(
            [made[i] for i in chosen],
            [ref[i] for i in chosen],
            lowercase=True,
            target_language="de",
        )[0]
        words = sum(len(src[i].split()) for i in chosen) / len(chosen)
        produced = sum(len(made[i].split()) for i in chosen)
        points.append(
            {
                "words": round(words, 1),
                "sentences": len(chosen),
                "bleu": round(score.value, 2),
                "length_ratio": round(produced / sum(len(ref[i].split()) for i in chosen), 3),
                "signature": str(score),
            }
        )
    return points


def measure(name: str, data: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Train a system and test it."""
    recipe = joined_recipe(recipe_of(SYSTEMS[name]), args.runs)
    folder = args.runs / slug(f"{name} {args.flops:g}")
    facts = trained(within(args.flops, recipe, data), folder, data=data)
    src, ref = (
        [line for size in TESTED for line in joined(list(read_lines(path)), size)]
        for path in (args.src, args.ref)
    )
    points = bleu_by_length(folder / "model", src, ref)
    shown = ", ".join(f"{point['words']:.0f} words {point['bleu']:.1f}" for point in points)
    return {
        "name": name,
        "score": f"BLEU at {shown}",
        "points": points,
        "budget": args.flops,
        "minutes": round(facts["wall_seconds"] / 60, 1),
        "parameters": facts["parameters"],
        "steps": facts["steps"],
        "dev": facts["scores"][0],
    }


def show(results: dict[str, dict[str, Any]]) -> None:
    """Print BLEU by length, a column a system."""
    print(f"\n{'words':>6}{'sentences':>11}  " + "  ".join(f"{name:>26}" for name in results))
    for points in zip(*(result["points"] for result in results.values()), strict=True):
        row = f"{points[0]['words']:6.1f}{points[0]['sentences']:11,}  "
        print(row + "  ".join(f"{point['bleu']:26.2f}" for point in points))


def draw(path: Path, results: Sequence[dict[str, Any]]) -> None:
    """The lecture notes' graph, with all budgets."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for result in results:
        points, label = result["points"], f"{result['name']}, {result['budget']:g} FLOPs"
        axes.plot([p["words"] for p in points], [p["bleu"] for p in points], "o-", label=label)
    axes.set(xlabel="source words", ylabel="BLEU", ylim=(0, None))
    axes.set_title("test2016, captions alone and up to four joined")
    axes.legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main() -> None:
    """Train what is missing, print, draw."""
    args = arguments(__doc__, "length", names=list(NAMES), flops=4e13)
    args.runs.mkdir(parents=True, exist_ok=True)
    results = {r["name"]: r for r in records("length") if r["budget"] == args.flops}
    data = prepared(joined_recipe(recipe_of(SYSTEMS[NAMES[0]]), args.runs), args.runs / "data")
    for name in args.systems:
        if name not in results:
            results[name] = measure(name, data, args)
            if not args.no_record:
                record("length", results[name], seed=1, threads=args.threads)
    show(results)
    if not args.no_record:
        draw(RESULTS / "length.png", records("length"))


if __name__ == "__main__":
    start(main)
