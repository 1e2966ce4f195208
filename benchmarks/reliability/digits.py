"""Digits in the demo's translations of sentences whose values occur in no training sentence.

The demo is trained for each target language and seed. A translation is right if it has the digits
of the reference, in the same order. The demo's own test set has 200 sentences; those of other
phrasebooks give a more precise share. A value is a date, time, price or measure, such as 7 April
2033; a training sentence may contain the 7 of another date. So the sentences whose numbers no
training sentence has in the same order are also counted alone. --set changes the recipe, to find
out which settings matter.
"""

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.runs import Remarks, curve, slug
from benchmarks.tables import NONE, FilledTable, fill, times
from yakusu.data.files.text import read_lines
from yakusu.pipeline.demo.phrasebook import phrasebook
from yakusu.pipeline.digits import Digits

FIRST_SEED = 11  # of the other phrasebooks

QUICK = ["training.max_steps=4", "model.n_layers=1", "search.beam=1", "search.max_extra=0"]

benchmark = Benchmark(
    "digits",
    __doc__,
    example="python -m benchmarks.reliability.digits --runs runs/digits --threads 2",
    needs=["runs"],
    quick={"targets": ["de"], "seeds": [1], "books": 1, "set": QUICK},
)
benchmark.option("--targets", nargs="+", default=["de", "fr", "ja", "ko"], help="languages")
benchmark.option("--seeds", nargs="+", type=int, default=[1, 2, 3], help="of the training")
benchmark.option("--books", type=int, default=10, help="other phrasebooks (%(default)s)")
benchmark.option("--set", nargs="+", default=[], help="settings to change, key=value")


_COLUMNS = (
    ("Settings", lambda r: ", ".join(f"`{change}`" for change in r["changes"]) or NONE),
    ("Target", "{target}"),
    ("Seed", "{demo_seed}"),
    ("Digits right, test set", "{right} of {with_digits}"),
    ("Other test sets", "{further_right:,} of {further_with_digits:,}"),
    ("Share", lambda r: f"{r['further_right'] / r['further_with_digits']:.1%}"),
    ("Of which with new numbers", "{new_right:,} of {new_with_digits:,}"),
    ("BLEU", "{bleu:,.2f}"),
    ("Threads", lambda record: str(record.machine.threads)),
    ("Minutes", times("training_seconds", 1 / 60, 1)),
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Share of sentences with the right digits, by settings, target language and seed."""
    found = [record for record in records if record.get("further_right")]
    rows = sorted(found, key=lambda r: (r["changes"], r["target"], r["demo_seed"]))
    yield fill(_COLUMNS, rows, records)


@cache
def further_pairs(target: str, books: int) -> dict[str, str]:
    """Return the references of the test sentences of other phrasebooks, by their sources."""
    seeds = range(FIRST_SEED, FIRST_SEED + books)
    return dict(pair for seed in seeds for pair in phrasebook(target, n_pairs=1000, seed=seed).test)


def numbers_in(line: str) -> tuple[str, ...]:
    """Return the numbers in digits: those of "7 April 2033" are 7 and 2033."""
    return tuple(re.findall(r"\d+", line))


def counted(model: Path, pairs: Mapping[str, str], train: Iterable[str]) -> dict[str, int]:
    """Translate sentences and count right digits, also in those with numbers not in `train`."""
    translations = yakusu.Translator.load(model).translate(pairs)
    rows = list(zip(pairs, translations, pairs.values(), strict=True))
    known = set(map(numbers_in, train))
    new = [row for row in rows if numbers_in(row[0]) not in known]
    further, unseen = (
        Digits.of([own for _, own, _ in found], [ref for *_, ref in found]) for found in (rows, new)
    )
    return {
        "further_right": further.n_right,
        "further_with_digits": further.n_sentences,
        "new_right": unseen.n_right,
        "new_with_digits": unseen.n_sentences,
    }


def measure(target: str, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """Train the demo for a target language with a seed, and count its digits."""
    changes = " ".join(args.set) or "the demo"
    name = f"{changes}, {target}, seed {seed}"
    name += f", {args.threads} threads" if args.threads > 1 else ""
    folder = args.runs / slug(name)
    progress = Remarks(f"{target}, seed {seed}")
    made = yakusu.demo(target, folder=folder, seed=seed, changes=args.set, progress=progress)
    train = read_lines(folder / f"phrasebook-en-{target}" / "train.en")
    found = counted(made.model, further_pairs(target, args.books), train)
    print(f"{name}: {made.digits}, {made.bleu}, {made.seconds:.0f} s")
    print(
        f"  other test sets: {found['further_right']} of {found['further_with_digits']}, of which"
    )
    print(f"  with new numbers: {found['new_right']} of {found['new_with_digits']}")
    return {
        "name": name,
        "target": target,
        "demo_seed": seed,
        "changes": args.set,
        "score": str(made.bleu),
        "bleu": made.bleu.value,
        "right": made.digits.n_right,
        "with_digits": made.digits.n_sentences,
        "sentences": made.n_test,
        **found,
        "training_seconds": made.seconds,
        "curve": curve(made.model.parent),
    }


def main(args: argparse.Namespace) -> None:
    """Train each demo, and count its digits."""
    for target in args.targets:
        for seed in args.seeds:
            benchmark.record(measure(target, seed, args), seed=seed)


if __name__ == "__main__":
    benchmark.run(main)
