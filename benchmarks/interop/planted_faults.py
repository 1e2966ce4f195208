"""Faults that are planted in parallel corpora, and where `check` finds them.

Each corpus has 2,000 to 30,000 consecutive pairs of real corpora, and faults at least 200 lines
from either end; a fault is found if `check` reports a line at most 50 lines from it. Corpora
without faults, whole and as samples of 2,000 pairs, show the false alarms. The same is done with
the small sample that `train` and `prepare` examine.
"""

import argparse
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.tables import Table
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.errors import DataError
from yakusu.pipeline.aligning.misaligned import find_faults, require_aligned

EDGE, NEAR = 200, 50  # lines

benchmark = Benchmark(
    "planted_faults",
    __doc__,
    example="python -m benchmarks.interop.planted_faults --seed 2",
    needs=["data"],
    quick={"corpora": 8, "samples": 2, "only": ["multi30k/train.de"]},
)
benchmark.option("--seed", type=int, default=1, help="of all random choices (%(default)s)")
benchmark.option("--corpora", type=int, default=100, help="with faults (%(default)s)")
benchmark.option("--samples", type=int, default=40, help="without faults (%(default)s)")
benchmark.option("--only", nargs="*", help="these targets, such as koen/train.ko (all)")

_COLUMNS = (
    ("Corpora", "{name}"),
    ("Number", "{corpora}"),
    ("Faults", "{planted}"),
    ("Found by check", "{found}"),
    ("Lines from the fault, median", "{distance:.0f}"),
    ("Stopped before training", "{stopped}"),
    ("Seconds for 10,000 pairs", "{seconds:.1f}"),
)
tables = Table(_COLUMNS, rows=lambda record: record["rows"], title="Faults planted with {name}")

Lines = list[str]
Planted = tuple[Lines, Lines, list[int]]  # both sides, and the lines of the faults, from 0


def missing(src: Lines, tgt: Lines, rng: random.Random) -> Planted:
    """A line is missing on one side."""
    at = _place(src, rng)
    del rng.choice((src, tgt))[at]
    return src, tgt, [at]


def added(src: Lines, tgt: Lines, rng: random.Random) -> Planted:
    """A line is added on one side."""
    at, side = _place(src, rng), rng.choice((src, tgt))
    side.insert(at, rng.choice(side))
    return src, tgt, [at]


def moved(src: Lines, tgt: Lines, rng: random.Random) -> Planted:
    """A block of 20 lines of one side is moved."""
    one, other = sorted((_place(src, rng), _place(src, rng)))
    side = rng.choice((src, tgt))
    if rng.random() < 0.5:
        other = one + rng.randint(40, 400) if one + 640 < len(src) else other
    block = side[one : one + 20]
    del side[one : one + 20]
    side[other:other] = block
    return src, tgt, [one]


def shifted(src: Lines, tgt: Lines, rng: random.Random) -> Planted:
    """Up to 5 lines are missing on one side."""
    at = _place(src, rng)
    del rng.choice((src, tgt))[at : at + rng.randint(1, 5)]
    return src, tgt, [at]


def exchanged(src: Lines, tgt: Lines, rng: random.Random) -> Planted:
    """The two sides of the second half are exchanged."""
    half = len(src) // 2
    return src[:half] + tgt[half:], tgt[:half] + src[half:], [half]


def duplicated(src: Lines, tgt: Lines, rng: random.Random) -> Planted:
    """The first half of both sides, or of one, is in place of the second."""
    half = len(src) // 2
    sides = [(src[:half] * 2, tgt[:half] * 2), (src[:half] * 2, tgt), (src, tgt[:half] * 2)]
    return *rng.choice(sides), [half]


def shuffled(src: Lines, tgt: Lines, rng: random.Random) -> Planted:
    """The second half of one side is shuffled."""
    half, side = len(src) // 2, rng.choice((src, tgt))
    rest = side[half:]
    rng.shuffle(rest)
    side[half:] = rest
    return src, tgt, [half]


def two(src: Lines, tgt: Lines, rng: random.Random) -> Planted:
    """A line is missing or added in two places."""
    one, other = sorted((_place(src, rng), _place(src, rng)))
    if other - one < EDGE:
        one, other = EDGE, len(src) - EDGE
    side = rng.choice((src, tgt))
    if rng.random() < 0.5:
        del side[other], side[one]
    else:
        side.insert(other, rng.choice(side))
        del rng.choice((src, tgt))[one]
    return src, tgt, [one, other]


FAULTS: tuple[Callable[[Lines, Lines, random.Random], Planted], ...] = (
    missing,
    added,
    moved,
    shifted,
    exchanged,
    duplicated,
    shuffled,
    two,
)


def _place(lines: Lines, rng: random.Random) -> int:
    return rng.randint(EDGE, len(lines) - EDGE) if len(lines) > 2 * EDGE else len(lines) // 2


def corpora(data: Path, only: Sequence[str] | None) -> Iterator[tuple[str, Corpus]]:
    """The training corpora in the folder, with the names of their targets."""
    for folder in ("multi30k", "tatoeba/en-de", "tatoeba/en-fr", "enja", "koen"):
        for path in sorted((data / folder).glob("train.??")):
            if path.suffix != ".en":
                yield f"{folder}/{path.name}", Corpus(src=f"{path.parent}/train.en", tgt=str(path))
    for code in ("de", "fr", "ja", "ko") if (data / "bible").exists() else ():
        table = str(data / "bible" / "train.tsv")
        yield f"bible/{code}", Corpus(pairs=table, src_column="en", tgt_column=code)


def written(sides: tuple[Lines, Lines], folder: Path) -> Corpus:
    """Write two texts with the same number of lines."""
    n = min(map(len, sides))
    for name, side in zip(("src", "tgt"), sides, strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in side[:n]), encoding="utf-8")
    return Corpus(src=str(folder / "src"), tgt=str(folder / "tgt"))


def measured(corpus: Corpus, name: str, planted: Sequence[int]) -> dict[str, Any]:
    """What `check` and `train` find in a corpus."""
    start = time.process_time()
    lines = [fault.line - 1 for fault in find_faults(corpus)]
    seconds = time.process_time() - start
    try:
        require_aligned(corpus)
        stopped = False
    except DataError:
        stopped = True
    distances = [min((abs(line - at) for line in lines), default=math.inf) for at in planted]
    row = {
        "name": name,
        "pairs": sum(1 for _ in read_pairs(corpus)),
        "alarm": bool(lines),
        "planted": len(planted),
        "found": sum(each <= NEAR for each in distances),
        "distances": [each for each in distances if each < math.inf],
        "whole": bool(planted) and max(distances) <= NEAR,
        "stopped": stopped,
        "seconds": seconds,
    }
    flag = "" if bool(planted) == bool(lines) and row["found"] == len(planted) else " !"
    print(f"{name}: {row['pairs']} pairs, planted {planted}, found {lines[:6]}{flag}", flush=True)
    return row


def summary(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Combine rows into one of the table."""
    distances = [each for row in rows for each in row["distances"]]
    n_pairs = sum(row["pairs"] for row in rows)
    is_clean = not any(row["planted"] for row in rows)
    n_found = sum(row["alarm"] if is_clean else row["whole"] for row in rows)
    return {
        "name": name,
        "corpora": len(rows),
        "planted": sum(row["planted"] for row in rows),
        "found": n_found,
        "distance": statistics.median(distances) if distances else None,
        "stopped": sum(row["stopped"] for row in rows),
        "seconds": 10_000 * sum(row["seconds"] for row in rows) / n_pairs,
    }


def main(args: argparse.Namespace) -> None:
    """Plant faults, look for them, and record what is found."""
    rng = random.Random(args.seed)
    known = [
        each for each in corpora(args.data, args.only) if not args.only or each[0] in args.only
    ]
    pairs = {name: list(read_pairs(corpus)) for name, corpus in known}
    by_kind: dict[str, list[dict[str, Any]]] = {}
    with TemporaryDirectory() as temporary:
        for number in range(args.corpora):
            plant = FAULTS[number % len(FAULTS)]
            name = rng.choice(list(pairs))
            least, most = min(2000, len(pairs[name])), min(30_000, len(pairs[name]))
            size = round(math.exp(rng.uniform(math.log(least), math.log(most))))
            first = rng.randint(0, len(pairs[name]) - size)
            src, tgt = map(list, zip(*pairs[name][first : first + size], strict=True))
            src, tgt, lines = plant(src, tgt, rng)
            corpus = written((src, tgt), Path(temporary))
            row = measured(corpus, f"{plant.__name__}, {name}", lines)
            by_kind.setdefault(str(plant.__doc__).rstrip("."), []).append(row)
        sampled = []
        for _ in range(args.samples):
            name = rng.choice(list(pairs))
            first = rng.randint(0, max(0, len(pairs[name]) - 2000))
            src, tgt = map(list, zip(*pairs[name][first : first + 2000], strict=True))
            sampled.append(measured(written((src, tgt), Path(temporary)), f"sample of {name}", []))
    whole = [measured(corpus, name, []) for name, corpus in known]
    rows = [summary(kind, own) for kind, own in by_kind.items()]
    rows += [summary("all with faults", [row for own in by_kind.values() for row in own])]
    rows += [summary("samples without faults", sampled), summary("whole, without faults", whole)]
    for row in rows:
        print(row)
    benchmark.record({"name": f"seed {args.seed}", "rows": rows}, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
