"""BLEU against sentence length, with attention and with a fixed vector.

Captions are short, so neighbouring lines are joined: each caption is trained on as it is, with one
neighbour and with two; the test has captions as they are and up to four joined. This tests length,
not language: joined captions are unrelated, and the training data never joins four. Every model
has the same budget of counted FLOPs, and batches and averaging as in table2_grid.py. The peak rate
of the systems with a fixed vector is the one of `RATES` with the lowest dev perplexity; the other
systems have the peak rate of their recipe. In one of the systems with a fixed vector, the upper
encoder layers read the source from right to left (Sutskever et al. 2014).
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import yakusu
from benchmarks import runs
from benchmarks.common import Benchmark
from benchmarks.paper.table2_grid import Setting, choose, recipe_of, within
from benchmarks.paper.table2_rows import SYSTEMS, System, comparable, tried
from benchmarks.quick import SETTINGS as QUICK
from benchmarks.records import RESULTS, Record, read
from benchmarks.runs import prepare, slug
from benchmarks.tables import FilledTable, fixed
from yakusu.data.corpus import Corpus
from yakusu.data.files.text import read_lines
from yakusu.folder import write_text
from yakusu.recipe import Recipe

_ATTENDING = ("Transformer", "LSTM with attention")
_FIXED = "LSTM with a fixed vector"
_REVERSED = System(SYSTEMS[_FIXED].recipe, ("model.reversed_source=true",))
READERS = {
    **{name: SYSTEMS[name] for name in (*_ATTENDING, _FIXED)},
    f"{_FIXED}, source reversed": _REVERSED,
}
RATES = (0.002, 0.004, 0.008)  # around 0.0045, that of the recipe
TRAINED, TESTED = (1, 2, 3), (1, 2, 3, 4)  # captions joined
BOUNDS = (0, 8, 12, 16, 20, 25, 30, 36, 44, 1000)  # in source words
Lines = list[str]

benchmark = Benchmark(
    "length",
    __doc__,
    example="python -m benchmarks.paper.length --runs runs/length",
    needs=["data", "runs"],
    quick={"flops": 8e9, "step_tokens": 60, "systems": ["LSTM with a fixed vector"], "set": QUICK},
)
benchmark.option(
    "--systems",
    nargs="+",
    default=list(READERS),
    choices=READERS,
    help="in quotes (default: all)",
)
benchmark.option("--flops", type=float, default=4e13, help="budget per model (%(default)g)")
benchmark.option("--step-tokens", type=int, default=2000, help="tokens per step (%(default)s)")
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """BLEU by sentence length, a column for each system and budget; and the settings tried."""
    records = comparable(records)
    rows = [
        [fixed(points[0]["words"], 1), str(points[0]["sentences"])]
        + [f"{fixed(point['bleu'])} ({fixed(point['length_ratio'])})" for point in points]
        for points in zip(*(record["points"] for record in records), strict=True)
    ]
    names = [f"{record['name']}, {record['budget']:.1e} FLOPs" for record in records]
    yield FilledTable(["Source words, mean", "Sentences", *names], rows, records)
    yield from tried({record["name"]: record for record in records})


def joined(lines: Sequence[str], size: int) -> Lines:
    """Join each `size` lines; a remainder is left out."""
    end = len(lines) - len(lines) % size
    return [" ".join(lines[i : i + size]) for i in range(0, end, size)]


def write_joined(corpus: Corpus, folder: Path) -> None:
    """Write the joined training text to a folder."""
    for side in ("src", "tgt"):
        lines = list(read_lines(getattr(corpus, side)))
        text = [line for size in TRAINED for line in joined(lines, size)]
        write_text(folder / f"train.{side}", "".join(f"{line}\n" for line in text))


def with_joined(recipe: Recipe, folder: Path) -> Recipe:
    """Return the recipe with the joined training text in a folder."""
    paths = {side: str(folder / f"train.{side}") for side in ("src", "tgt")}
    train = recipe.data.train.model_copy(update=paths)
    data = recipe.data.model_copy(update={"train": train})
    return recipe.model_copy(update={"data": data})


def bleu_by_length(made: Lines, src: Lines, ref: Lines) -> list[dict[str, Any]]:
    """Return the BLEU of the translations of the lines between each two bounds."""
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
    """Train a system with each setting that is tried for it, and test the one chosen."""
    recipe = with_joined(recipe_of(READERS[name], args), args.runs)

    def folder(setting: Setting) -> Path:
        return args.runs / slug(f"{name} {args.flops:g} {setting}")  # type: ignore[no-any-return]

    def train(setting: Setting) -> dict[str, Any]:
        tried = within(args.flops, setting.apply(recipe), data)
        return runs.train(tried, folder(setting), data=data)

    chosen, tries = choose(settings(name, recipe), train)
    facts = train(chosen)
    src, ref = (
        [line for size in TESTED for line in joined(list(read_lines(path)), size)]
        for path in (args.data / "multi30k" / f"test2016.{side}" for side in ("en", "de"))
    )
    translator = runs.open_translator(folder(chosen) / "model", threads=args.threads)
    points = bleu_by_length(translator.translate(src), src, ref)
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
        "grid": {"budget": args.flops, "tries": tries},
        "curve": runs.curve(folder(chosen)),
        "recipe": {k: v for k, v in facts["recipe"].items() if k not in ("run", "data")},
    }


def settings(name: str, recipe: Recipe) -> list[Setting]:
    """Return the settings that are tried for a system."""
    own = Setting.of(recipe)
    return [own] if name in _ATTENDING else [Setting(rate, own.dropout) for rate in RATES]


def show(results: dict[str, dict[str, Any]]) -> None:
    """Print BLEU by length, one column per system."""
    print(f"\n{'words':>6}{'sentences':>11}  " + "  ".join(f"{name:>26}" for name in results))
    for points in zip(*(result["points"] for result in results.values()), strict=True):
        row = f"{points[0]['words']:6.1f}{points[0]['sentences']:11,}  "
        print(row + "  ".join(f"{point['bleu']:26.2f}" for point in points))


def draw(path: Path, results: Sequence[Record]) -> None:
    """Draw BLEU against sentence length, with all budgets."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for result in results:
        points, label = result["points"], f"{result['name']}, {result['budget']:g} FLOPs"
        axes.plot([p["words"] for p in points], [p["bleu"] for p in points], "o-", label=label)
    axes.set(xlabel="source words", ylabel="BLEU", ylim=(0, None))
    axes.set_title("test2016, captions alone and up to four joined")
    axes.legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(args: argparse.Namespace) -> None:
    """Train and test each system, print, draw."""
    args.runs.mkdir(parents=True, exist_ok=True)
    recipe = recipe_of(READERS[_ATTENDING[0]], args)
    write_joined(recipe.data.train, args.runs)
    data = prepare(with_joined(recipe, args.runs), args.runs / "data")
    results, recorded = {}, False
    for name in args.systems:
        results[name] = measure(name, data, args)
        recorded = benchmark.record(results[name])
    show(results)
    if recorded:
        draw(RESULTS / "length.png", comparable(read("length")))


if __name__ == "__main__":
    benchmark.run(main)
