"""Trains the translators of the package (src/yakusu/shipped), and scores them.

Each is trained on the training pairs of Tatoeba except for every sixteenth, which is held out.
--install copies the models into the package. The test sets are Tatoeba's, none of whose sentences
is a training sentence, apart from case and punctuation, and captions of Multi30k, on which no model
of the package was trained or chosen. The speed is that of Tatoeba's test set, one sentence at a
time, on one core, in words of the source.
"""

import argparse
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.common import Benchmark
from benchmarks.quick import SETTINGS
from benchmarks.runs import RECIPES, Remarks, curve
from benchmarks.tables import Table, score_of
from yakusu.data.files.text import read_lines
from yakusu.data.lines.words import has_letter, words_and_characters
from yakusu.folder import read_json, write_text
from yakusu.metrics import score_translations
from yakusu.shipped import FOLDER
from yakusu.translator.folder.folder import add_to_folder

PAIRS = ("en-de", "de-en", "en-fr", "fr-en")
HELD_OUT = 16  # every sixteenth pair

benchmark = Benchmark(
    "shipped",
    __doc__,
    example="python -m benchmarks.paper.shipped --runs runs/shipped --pairs en-de",
    needs=["data", "runs"],
    quick={
        "pairs": ["en-de"],
        "set": ["training.max_steps=4", "training.validate_steps=2", *SETTINGS],
    },
)
benchmark.option("--pairs", nargs="+", default=PAIRS, choices=PAIRS, help="default: all")
benchmark.option("--install", action="store_true", help="copy the models into the package")
benchmark.option("--set", nargs="+", default=[], help="further settings of all runs, key=value")

_CARD = """
## What it can and cannot do

It knows short everyday sentences, because its training text has no others. It knows few names and
technical terms, and translates long sentences and other kinds of text badly, as the scores of
captions show. Scores of test sets (`benchmarks/paper/shipped.py`):
"""
_SETS = ("tatoeba", "multi30k, test2016")
tables = Table(
    (
        ("Translator", "{name}"),
        ("Parameters", "{parameters:,.0f}"),
        ("MB", "{megabytes:.1f}"),
        *(
            (f"{name}: {metric}", score_of(f"scores.{name}", metric))
            for name in _SETS
            for metric in ("BLEU", "chrF2")
        ),
        ("Words/s", "{words_per_second:,.0f}"),
    )
)


def corpus(pair: str) -> str:
    """The folder of a pair's corpus, which both directions share."""
    other = next(code for code in pair.split("-") if code != "en")
    return f"tatoeba/en-{other}"


def write_texts(pair: str, data: Path, folder: Path) -> None:
    """Write the training text, train.*, and the part that is held out, held.*."""
    folder.mkdir(parents=True, exist_ok=True)
    for code in pair.split("-"):
        lines = list(read_lines(data / corpus(pair) / f"train.{code}"))
        held = lines[HELD_OUT - 1 :: HELD_OUT]
        del lines[HELD_OUT - 1 :: HELD_OUT]
        for part, chosen in (("train", lines), ("held", held)):
            write_text(folder / f"{part}.{code}", "".join(f"{line}\n" for line in chosen))


def train(pair: str, args: argparse.Namespace) -> Path:
    """Train a translator, or find a finished one; return its run folder."""
    folder, (source, target) = args.runs / pair, pair.split("-")
    write_texts(pair, args.data, folder)
    dev = f"$YAKUSU_DATA/{corpus(pair)}/dev"
    recipe = yakusu.load_recipe(
        RECIPES / "tatoeba-small.toml",
        [f"data.source_language={source}", f"data.target_language={target}", *args.set],
        src=str(folder / f"train.{source}"),
        tgt=str(folder / f"train.{target}"),
        dev_src=f"{dev}.{source}",
        dev_tgt=f"{dev}.{target}",
        run=str(folder / "run"),
    )
    yakusu.train(recipe, progress=Remarks(pair))
    return Path(folder / "run")


def plain(line: str) -> str:
    """A sentence without case and punctuation."""
    return " ".join(filter(has_letter, words_and_characters(line.casefold())))


def test_sets(pair: str, data: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the name, the sources and the references of each test set."""
    for name, place in zip(_SETS, (f"{corpus(pair)}/test", "multi30k/test2016"), strict=True):
        src, ref = (list(read_lines(data / f"{place}.{code}")) for code in pair.split("-"))
        yield name, src, ref


def measure(pair: str, run: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Score a translator and measure its speed."""
    model = run / "model"
    translator = yakusu.Translator.load(model, engine=yakusu.EngineConfig(threads=1))
    scores, words_per_second = {}, 0.0
    for name, src, ref in test_sets(pair, args.data):
        start = time.perf_counter()
        made = [translator.translate([line])[0] for line in src]
        seconds = time.perf_counter() - start
        words_per_second = words_per_second or len(" ".join(src).split()) / seconds
        found = score_translations(
            made, ref, metrics=("bleu", "chrf"), target_language=pair.split("-")[1]
        )
        scores[name] = "; ".join(map(str, found))
        print(f"{pair}, {name} ({len(src):,} sentences): {scores[name]}")
    return {
        "name": pair,
        "parameters": read_json(model / "receipt.json")["parameters"],
        "megabytes": sum(file.stat().st_size for file in model.iterdir()) / 1e6,
        "scores": scores,
        "words_per_second": round(words_per_second),
        "curve": curve(run),
    }


def install(pair: str, model: Path, scores: dict[str, str], data: Path) -> None:
    """Copy a model folder into the package; its card gets the scores of the test sets."""
    rows = [f"- {name}: {scores[name]}" for name in _SETS]
    card = (model / "README.md").read_text(encoding="utf-8") + "\n".join([_CARD, *rows, ""])
    receipt = (model / "receipt.json").read_text(encoding="utf-8")
    texts = {"README.md": card, "receipt.json": receipt.replace(str(data), "$YAKUSU_DATA")}
    shutil.copytree(model, FOLDER / pair, dirs_exist_ok=True)
    for name, text in texts.items():
        add_to_folder(FOLDER / pair, name, partial(_write, name, text))


def _write(name: str, text: str, folder: Path) -> None:
    write_text(folder / name, text)


def main(args: argparse.Namespace) -> None:
    """Train, score and install each translator."""
    for pair in args.pairs:
        run = train(pair, args)
        found = measure(pair, run, args)
        benchmark.record(found)
        if args.install:
            install(pair, run / "model", found["scores"], args.data)


if __name__ == "__main__":
    benchmark.run(main)
