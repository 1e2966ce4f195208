"""Sentences of two texts aligned by lengths alone, and by lengths and words.

Both sides of a corpus are changed independently: sentences are left out, joined with the next one,
or divided in the middle, each with a probability of 5%. An alignment is compared with the true one,
in which two sentences are linked if they contain parts of the same pair: F1 of the links, and F1 of
whole beads, which are right only if all of their sentences are.
"""

import argparse
import random
import resource
import time
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.interop.planted_faults import corpora
from benchmarks.tables import Table
from yakusu.data.bitext.beads import Bead, align_sentences
from yakusu.data.corpus import read_pairs

benchmark = Benchmark(
    "sentence_alignment",
    __doc__,
    example="python -m benchmarks.interop.sentence_alignment --seed 2",
    needs=["data"],
    quick={"pairs": 300, "only": ["multi30k/train.de"]},
)
benchmark.option("--seed", type=int, default=1, help="of all random choices (%(default)s)")
benchmark.option("--pairs", type=int, default=5000, help="consecutive ones (%(default)s)")
benchmark.option("--share", type=float, default=0.05, help="of each change (%(default)s)")
benchmark.option("--only", nargs="*", help="these targets, such as koen/train.ko (all)")

tables = Table(
    (
        ("Corpus", "{name}"),
        ("Sentences", lambda row: "{:,} and {:,}".format(*row["sentences"])),
        ("Lengths: F1 of links", "{lengths.links:.3f}"),
        ("F1 of beads", "{lengths.beads:.3f}"),
        ("Lengths and words: F1 of links", "{words.links:.3f}"),
        ("F1 of beads, with words", "{words.beads:.3f}"),
        ("Seconds", "{words.seconds:.0f}"),
        ("Memory, MB", "{megabytes:,}"),
    ),
    rows=lambda record: record["rows"],
)

Unit = tuple[str, frozenset[int]]  # a sentence, and the pairs that it contains parts of


def changed(lines: Sequence[str], share: float, rng: random.Random) -> list[Unit]:
    """Leave out, join and divide sentences."""
    units: list[Unit] = []
    i = 0
    while i < len(lines):
        choice = rng.random() / share
        if 1 <= choice < 2 and i + 1 < len(lines):
            units.append((f"{lines[i]} {lines[i + 1]}", frozenset((i, i + 1))))
            i += 1
        elif 2 <= choice < 3 and len(lines[i]) > 3:
            middle = len(lines[i]) // 2
            at = lines[i].find(" ", middle) if " " in lines[i][middle:] else middle
            units += [(lines[i][:at], frozenset((i,))), (lines[i][at:].strip(), frozenset((i,)))]
        elif choice >= 1:
            units.append((lines[i], frozenset((i,))))
        i += 1
    return units


def true_beads(src: Sequence[Unit], tgt: Sequence[Unit]) -> list[Bead]:
    """The smallest beads that contain all sentences with parts of the same pairs."""
    beads = []
    i = j = 0
    while i < len(src) and j < len(tgt):
        start, first = i, j
        covered = src[i][1] | tgt[j][1]
        if not src[i][1] & tgt[j][1]:
            i, j = (i + 1, j) if min(src[i][1]) < min(tgt[j][1]) else (i, j + 1)
            continue
        while True:
            before = i, j
            while i < len(src) and src[i][1] & covered:
                covered |= src[i][1]
                i += 1
            while j < len(tgt) and tgt[j][1] & covered:
                covered |= tgt[j][1]
                j += 1
            if (i, j) == before:
                break
        beads.append(Bead((start, i), (first, j)))
    return beads


def f1(found: Iterable[object], true: Iterable[object]) -> float:
    """The harmonic mean of precision and recall."""
    one, other = set(found), set(true)
    return 2 * len(one & other) / max(1, len(one) + len(other))


def links(beads: Sequence[Bead]) -> list[tuple[int, int]]:
    """All pairs of sentences in the same bead."""
    return [(i, j) for bead in beads for i in range(*bead.src) for j in range(*bead.tgt)]


def scores(src: Sequence[Unit], tgt: Sequence[Unit], *, words: bool) -> dict[str, float]:
    """Align, and compare with the true alignment."""
    start = time.process_time()
    found = align_sentences([text for text, _ in src], [text for text, _ in tgt], words=words)
    seconds = time.process_time() - start
    beads = [(bead.src, bead.tgt) for bead in found if all(bead.sizes)]
    true = true_beads(src, tgt)
    return {
        "links": f1(links(found), links(true)),
        "beads": f1(beads, [(bead.src, bead.tgt) for bead in true]),
        "seconds": seconds,
    }


def main(args: argparse.Namespace) -> None:
    """Align changed corpora, and record how well."""
    rows: list[dict[str, Any]] = []
    for name, corpus in corpora(args.data, args.only):
        if args.only and name not in args.only:
            continue
        rng = random.Random(f"{args.seed} {name}")
        pairs = list(filter(all, read_pairs(corpus)))  # some verses are in one language only
        first = rng.randint(0, max(0, len(pairs) - args.pairs))
        sides = zip(*pairs[first : first + args.pairs], strict=True)
        src, tgt = (changed(side, args.share, rng) for side in sides)
        row = {
            "name": name,
            "sentences": [len(src), len(tgt)],
            "lengths": scores(src, tgt, words=False),
            "words": scores(src, tgt, words=True),
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        print(row, flush=True)
        rows.append(row)
    name = f"{args.pairs:,} pairs, seed {args.seed}"
    benchmark.record({"name": name, "rows": rows}, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
