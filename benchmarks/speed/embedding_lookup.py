"""Lookup of compressed word vectors: opening a file, one word at a time, and batches of rows.

The others are gensim's KeyedVectors, and a matrix in a memory map with a dict of its words, both of
float32. Each side opens its files again in every round. Bytes of opening are those that are read
from files, and those of memory maps that are in memory afterwards; the system maps up to 64 KiB
around each byte that is touched (Linux). Random words are drawn from all words, so most blocks of
integers must be decoded; repeated words are drawn from 1,000 words that have been looked up before.
"""

import argparse
import gc
import re
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import FilledTable, fill, times
from benchmarks.workers import in_turns
from yakusu.compress import CodebookCompressor, LatticeCompressor
from yakusu.vectors import CompressedVectors, open_compressed, read_vectors, write_compressed

GOALS = {
    "yakusu, codes, K = 16": {"random": 10, "batch": 20e6},
    "yakusu, integers": {"random": 30, "batch": 20e6},
}
_TIMED = 100  # words per measurement
_REPEATED = 1000  # words
_BATCH = 10_000  # rows
Cost = dict[str, float]

benchmark = Benchmark(
    "embedding_lookup",
    __doc__,
    example="python -m benchmarks.speed.embedding_lookup --vectors glove100.npz",
    needs=["vectors"],
    quick={"words": 400, "rounds": 1, "lookups": 200},
)
benchmark.option("--words", type=int, default=400_000, help="rows, repeated if there are fewer")
benchmark.option("--rounds", type=int, default=5, help="measured rounds (%(default)s)")
benchmark.option("--lookups", type=int, default=20_000, help="words per round (%(default)s)")
benchmark.option("--note", default="", help="remark for the record")


_COLUMNS = (
    ("System", "{name}"),
    ("Opening, ms", times("opening", 1e3, 1)),
    ("Read, KiB", times("read", 2**-10)),
    ("Mapped, KiB", times("mapped", 2**-10)),
    ("First word, ms", times("first", 1e3)),
    ("Random word, µs", "{random:,.1f}"),
    ("Repeated word, µs", "{repeated:,.1f}"),
    ("Goal", "{goal.random:,.0f}"),
    ("Million numbers per second, random rows", times("batch", 1e-6, 1)),
    ("Consecutive rows", times("consecutive", 1e-6, 1)),
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Opening, words and batches."""
    for record in records:
        goals = record["goals"]
        rows = [
            {"name": name, "goal": goals.get(name), **cost}
            for name, cost in record["medians"].items()
        ]
        yield fill(_COLUMNS, rows, [record], record["name"])


class Opened(NamedTuple):
    """Vectors of a side: of one word (H,), and of the rows with these indices (n, H)."""

    word: Callable[[str], np.ndarray]
    rows: Callable[[np.ndarray], np.ndarray]


def open_yakusu(path: Path) -> Opened:
    """Open a compressed file."""
    vectors = open_compressed(path)
    return Opened(vectors.__getitem__, vectors.rows)


def open_gensim(path: Path) -> Opened:
    """Open gensim's file, with the matrix in a memory map."""
    from gensim.models import KeyedVectors

    vectors = KeyedVectors.load(str(path), mmap="r")
    return Opened(vectors.__getitem__, vectors.vectors.__getitem__)


def open_map(path: Path) -> Opened:
    """Open a matrix as a memory map, and make a dict of the words."""
    matrix = np.load(path, mmap_mode="r")
    words = path.with_suffix(".txt").read_text(encoding="utf-8").split("\n")
    numbers = {word: number for number, word in enumerate(words)}
    return Opened(lambda word: np.array(matrix[numbers[word]]), matrix.__getitem__)


def write_gensim(path: Path, words: list[str], vectors: np.ndarray) -> None:
    """Write gensim's file."""
    from gensim.models import KeyedVectors

    keyed = KeyedVectors(vectors.shape[1])
    keyed.add_vectors(words, vectors)
    keyed.save(str(path), sep_limit=0)  # the matrix in a file of its own


def measured(
    folder: Path,
    words: list[str],
    n_lookups: int,
    seed: int,
    *,
    open_: Callable[[Path], Opened],
    file: str,
) -> Cost:
    """Open a file and return what opening, words and batches cost."""
    gc.collect()  # closes the files of the previous round
    numbers = np.random.default_rng(seed)
    read, start = _read(), time.perf_counter()
    opened = open_(folder / file)
    cost = {
        "opening": time.perf_counter() - start,
        "read": _read() - read,
        "mapped": _mapped(folder / file),
    }
    start = time.perf_counter()
    opened.word(words[0])  # some sides make a dict of the words only now
    cost["first"] = time.perf_counter() - start
    random = [words[i] for i in numbers.integers(0, len(words), n_lookups)]
    cost["random"] = per_word(opened.word, random)
    few = numbers.choice(len(words), min(_REPEATED, len(words)), replace=False)
    repeated = [words[i] for i in numbers.choice(few, n_lookups)]
    for i in few:
        opened.word(words[i])
    cost["repeated"] = per_word(opened.word, repeated)
    cost["batch"] = per_second(opened.rows, numbers.integers(0, len(words), _BATCH))
    begin = int(numbers.integers(0, max(1, len(words) - _BATCH)))
    cost["consecutive"] = per_second(opened.rows, np.arange(begin, min(begin + _BATCH, len(words))))
    return cost


def per_word(lookup: Callable[[str], np.ndarray], words: list[str]) -> float:
    """Return the median microseconds per word, of groups of words."""
    seconds = []
    for begin in range(0, len(words), _TIMED):
        part = words[begin : begin + _TIMED]
        start = time.perf_counter()
        for word in part:
            lookup(word)
        seconds.append((time.perf_counter() - start) / len(part))
    return 1e6 * statistics.median(seconds)


def per_second(lookup: Callable[[np.ndarray], np.ndarray], rows: np.ndarray) -> float:
    """Return the numbers per second of a batch of rows, the median of five."""
    speeds = []
    for _ in range(5):
        start = time.perf_counter()
        found = np.array(lookup(rows))  # reads the rows of a memory map
        speeds.append(found.size / (time.perf_counter() - start))
    return statistics.median(speeds)


def _read() -> int:
    return int(re.findall(r"rchar: (\d+)", Path("/proc/self/io").read_text())[0])


def _mapped(file: Path) -> int:
    """Return the bytes of memory maps of a file, or of files named after it, in memory."""
    maps = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(), flags=re.M)
    found = [re.search(r"^Rss:\s+(\d+) kB", each, re.M) for each in maps if str(file) in each]
    return sum(1024 * int(each[1]) for each in found if each)


def prepared(folder: Path, vectors_file: Path, n_words: int) -> list[str]:
    """Write the files of all sides and return the words, which are distinct."""
    given = read_vectors(vectors_file)
    vectors = np.resize(given.vectors, (n_words, given.vectors.shape[1])).astype(np.float32)
    n_given = len(given.words)
    words = [given.words[i % n_given] + " 2" * (i // n_given) for i in range(n_words)]
    for name, made in (("codes", CodebookCompressor()), ("integers", LatticeCompressor())):
        compressed = CompressedVectors.of(words, made.fit(vectors).compressed_)
        write_compressed(folder / f"{name}.ykv", compressed)
    np.save(folder / "vectors.npy", vectors)
    (folder / "vectors.txt").write_text("\n".join(words), encoding="utf-8")
    if benchmark.installed({"gensim": "gensim"}):
        write_gensim(folder / "vectors.kv", words, vectors)
    return words


def sides_of(folder: Path) -> dict[str, Callable[..., Cost]]:
    """Return what is measured, by name."""
    sides = {
        "yakusu, codes, K = 16": (open_yakusu, "codes.ykv"),
        "yakusu, integers": (open_yakusu, "integers.ykv"),
        "gensim": (open_gensim, "vectors.kv"),
        "memory map and dict": (open_map, "vectors.npy"),
    }
    return {
        name: partial(measured, open_=open_, file=file)
        for name, (open_, file) in sides.items()
        if (folder / file).exists()
    }


def main(args: argparse.Namespace) -> None:
    """Measure all sides."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        words = prepared(folder, args.vectors, args.words)
        sides = sides_of(folder)
        sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
        rounds = in_turns(
            sides,
            args.rounds,
            lambda number: (folder, words, args.lookups, number + 1),
            threads=args.threads,
        )
    medians = {
        name: {key: statistics.median(cost[key] for cost in costs) for key in costs[0]}
        for name, costs in rounds.items()
    }
    for name, cost in medians.items():
        print(f"{name:22} " + ", ".join(f"{key} {value:.6g}" for key, value in cost.items()))
    print(f"goals: {GOALS}")
    result: dict[str, Any] = {"name": f"{args.words:,} words", "medians": medians, "goals": GOALS}
    benchmark.record(result | {"rounds": rounds, "bytes": sizes, "note": args.note})


if __name__ == "__main__":
    benchmark.run(main)
