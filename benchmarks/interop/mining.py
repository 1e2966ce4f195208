"""`yakusu mine` finds planted translations among unrelated sentences of Tatoeba.

The planted pairs are those of the training set that are held out: every sixteenth. They are mixed
with other sentences of the training set, of which one language is in one text only; vectors are
learned from the rest of the training set. A pair that is found counts as right if, apart from case
and punctuation, it is a pair of Tatoeba, because many sentences have several translations there.
Precision, recall and F1 are those of the best minimum score, and of the default. The baseline
translates words; see mining_by_words.py.
"""

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Iterator

import yakusu
from benchmarks.common import Benchmark
from benchmarks.interop.mining_by_words import pairs_by_words
from benchmarks.paper.shipped import HELD_OUT, plain
from benchmarks.tables import Table
from yakusu.data.files.text import read_lines
from yakusu.folder import write_text
from yakusu.pipeline.aligning.mine import MIN_SCORE

benchmark = Benchmark(
    "mining",
    __doc__,
    example="python -m benchmarks.interop.mining --runs runs/mining",
    needs=["data", "runs"],
    quick={"planted": 20, "others": 60},
)
benchmark.option("--planted", type=int, default=10_000, help="translations (%(default)s)")
benchmark.option(
    "--systems", nargs="*", default=["yakusu", "words"], choices=["yakusu", "words"], help="all"
)
benchmark.option("--others", type=int, default=40_000, help="others on each side (%(default)s)")

tables = Table(
    (
        ("System", lambda record: record.get("system", "yakusu")),
        ("Minimum score", "{name}"),
        ("Planted", "{planted:,}"),
        ("Sentences of each text", "{sentences:,}"),
        ("Pairs found", "{found:,}"),
        ("Precision", "{precision:.3f}"),
        ("Recall", "{recall:.3f}"),
        ("F1", "{f1:.3f}"),
        ("Minutes", "{minutes:.1f}"),
    )
)
_SCORES = [step / 100 for step in range(20, 120)]
_Pairs = list[tuple[str, str]]
_Scored = tuple[str, str, float]


def planted(args: argparse.Namespace) -> _Pairs:
    """Write both texts and the known pairs; return all pairs of Tatoeba."""
    sides = [
        list(read_lines(args.data / "tatoeba/en-de" / f"train.{code}")) for code in ("en", "de")
    ]
    pairs = list(zip(*sides, strict=True))
    held = pairs[HELD_OUT - 1 :: HELD_OUT][: args.planted]
    known = [pair for number, pair in enumerate(pairs, start=1) if number % HELD_OUT]
    shuffled = random.Random(1).sample(known, len(known))
    args.runs.mkdir(parents=True, exist_ok=True)
    for side, code in enumerate(("en", "de")):
        others = shuffled[side * args.others :][: args.others]
        text = [pair[side] for pair in (*held, *others)]
        random.Random(2 + side).shuffle(text)
        for name, lines in (("text", text), ("known", [pair[side] for pair in known])):
            write_text(args.runs / f"{name}.{code}", "".join(f"{line}\n" for line in lines))
    return pairs


def right_pairs(args: argparse.Namespace, pairs: _Pairs) -> tuple[set[tuple[str, str]], int]:
    """The plain pairs of Tatoeba, and how many sentences of the first text have one here."""
    known = {(plain(one), plain(other)) for one, other in pairs}
    translations = defaultdict(set)
    for one, other in known:
        translations[one].add(other)
    first, second = (set(read_lines(args.runs / f"text.{code}")) for code in ("en", "de"))
    there = set(map(plain, second))
    return known, sum(bool(translations[plain(one)] & there) for one in first)


def measured(found: list[_Scored], right: set[tuple[str, str]], total: int) -> dict[str, float]:
    """Precision, recall and F1 of pairs."""
    n_right = sum((plain(one), plain(other)) in right for one, other, _ in found)
    precision, recall = n_right / max(1, len(found)), n_right / total
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return {"found": len(found), "precision": precision, "recall": recall, "f1": f1}


def mined(args: argparse.Namespace) -> Iterator[_Scored]:
    """Mine the texts; yield the pairs and their scores."""
    out = args.runs / "pairs.tsv"
    yakusu.mine(
        args.runs / "text.en",
        args.runs / "text.de",
        out,
        src=args.runs / "known.en",
        tgt=args.runs / "known.de",
        min_score=_SCORES[0],
    )
    for line in read_lines(out):
        one, other, score = line.split("\t")
        yield one, other, float(score)


def by_words(args: argparse.Namespace) -> Iterator[_Scored]:
    """Yield the pairs of the baseline and their scores."""
    texts, known = (
        [list(dict.fromkeys(read_lines(args.runs / f"text.{code}"))) for code in ("en", "de")],
        [list(read_lines(args.runs / f"known.{code}")) for code in ("en", "de")],
    )
    for i, j, score in pairs_by_words(texts, known):
        yield texts[0][i], texts[1][j], score


SYSTEMS = {"yakusu": (mined, MIN_SCORE), "words": (by_words, None)}


def main(args: argparse.Namespace) -> None:
    """Mine the texts with each system, and score what was found."""
    right, total = right_pairs(args, planted(args))
    sentences = max(len({*read_lines(args.runs / f"text.{code}")}) for code in ("en", "de"))
    for system in args.systems:
        find, default = SYSTEMS[system]
        start = time.perf_counter()
        found = list(find(args))
        minutes = (time.perf_counter() - start) / 60
        least = sorted({*_SCORES, *([default] if default else [])})
        results = {
            score: measured([row for row in found if row[2] >= score], right, total)
            for score in least
        }
        best = max(least, key=lambda score: results[score]["f1"])
        facts = {"system": system, "planted": args.planted, "sentences": sentences}
        facts |= {"minutes": minutes}
        for name, score in ((f"{best:.2f}, the best", best), (f"{default}, the default", default)):
            if score is not None:
                result = {"name": name, **facts, **results[score]}
                print(result)
                benchmark.record(result)


if __name__ == "__main__":
    benchmark.run(main)
