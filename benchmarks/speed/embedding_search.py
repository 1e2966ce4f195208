"""Nearest neighbours of float queries: dense float32 vectors, compressed vectors, and faiss.

Dense search is the product of unit vectors in numpy and the selection that yakusu uses; faiss
searches a flat index of inner products. All use 1 thread and --threads threads. Recall is the share
of the ten words found that are among the ten nearest, the word of the query excluded, by exact
search on the rebuilt vectors and on the original ones; "ranked again" gives `search` the original
vectors. A word as near as the tenth nearest one counts. The queries are original vectors of words,
spread evenly over the ranks. Memory is the growth of the process's own memory (Linux).
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks import memory
from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import NONE, FilledTable, fill
from benchmarks.workers import Worker, in_turns
from yakusu.compress import CodebookCompressor, Index, LatticeCompressor
from yakusu.compress.search import largest
from yakusu.vectors import CompressedVectors, open_compressed, read_vectors, write_compressed
from yakusu.vectors.nearest import unit

KINDS = {
    "codes, K = 16": CodebookCompressor(),
    "codes, K = 64": CodebookCompressor(n_codes=64),
    "codes, K = 256": CodebookCompressor(n_codes=256),
    "integers": LatticeCompressor(),
}
DENSE = "dense float32"
_N, _BATCH = 10, 100
_SAME = 1e-6  # difference of equal cosines
Cost = dict[str, float]
Find = Callable[[np.ndarray], Any]  # queries (Q, H) -> their nearest rows

benchmark = Benchmark(
    "embedding_search",
    __doc__,
    example="python -m benchmarks.speed.embedding_search --vectors glove100.npz",
    needs=["vectors"],
    threads=2,
    quick={"words": 400, "rounds": 1, "queries": 50, "calls": 3, "threads": 1},
)
benchmark.option("--words", type=int, default=400_000, help="rows, repeated if there are fewer")
benchmark.option("--rounds", type=int, default=5, help="measured rounds (%(default)s)")
benchmark.option("--queries", type=int, default=1000, help="queries of the recall (%(default)s)")
benchmark.option("--calls", type=int, default=50, help="single queries per round (%(default)s)")
benchmark.option("--note", default="", help="remark for the record")


_COLUMNS = (
    ("System", "{name}"),
    ("One query, ms", "{one:,.2f}"),
    ("Dense / this", lambda row: f"{row['dense']['one'] / row['one']:,.2f}"),
    ("Query of a batch of 100, ms", "{batch:,.2f}"),
    ("Dense / this", lambda row: f"{row['dense']['batch'] / row['batch']:,.2f}"),
    ("Memory, MiB", "{mib:,.0f}"),
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Milliseconds per query, and recall."""
    for record in records:
        medians = record["medians"]
        rows = [
            {"name": name, "dense": medians[f"dense float32, {name.rpartition(', ')[2]}"], **cost}
            for name, cost in medians.items()
        ]
        yield fill(_COLUMNS, rows, [record], record["name"])
        shares = record["recall"]
        kinds = dict.fromkeys(kind for own in shares.values() for kind in own)
        recalls = [
            [name, *(f"{own[kind]:.1%}" if kind in own else NONE for kind in kinds)]
            for name, own in shares.items()
        ]
        title = f"{record['name']}; recall of the ten nearest words, {record['queries']:,} queries"
        yield FilledTable(["System", *kinds], recalls, [record], title)


class Searcher(NamedTuple):
    """A side in its process.

    find: Its search.
    mib: Memory of its index.
    """

    find: Find
    mib: float


@cache
def searcher(folder: Path, kind: str, threads: int) -> Searcher:
    """Load a side, once per process."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(threads)
    make = {DENSE: _dense, "faiss IndexFlatIP": _faiss}.get(kind, _codes)
    before = memory.mib(memory.ANONYMOUS)
    find = make(folder, kind, threads)
    return Searcher(find, memory.mib(memory.ANONYMOUS) - before)


def _dense(folder: Path, kind: str, threads: int) -> Find:
    units = np.load(folder / "units.npy")

    def find(queries: np.ndarray) -> list[np.ndarray]:
        if len(queries) == 1:
            return [largest(units @ queries[0], _N)]
        return [largest(scores, _N) for scores in queries @ units.T]

    return find


def _faiss(folder: Path, kind: str, threads: int) -> Find:
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatIP(np.load(folder / "units.npy", mmap_mode="r").shape[1])
    index.add(np.load(folder / "units.npy"))
    return lambda queries: index.search(queries, _N)


def _codes(folder: Path, kind: str, threads: int) -> Find:
    index = Index.of(open_compressed(folder / f"{kind}.ykv"))
    return lambda queries: index.search(queries, _N, n_jobs=threads)


def measured(folder: Path, queries: np.ndarray, calls: int, *, kind: str, threads: int) -> Cost:
    """Return milliseconds per query, one at a time (the median) and in a batch."""
    side, singles = searcher(folder, kind, threads), []
    for i in range(calls):
        query = queries[i % len(queries)][None]
        start = time.perf_counter()
        side.find(query)
        singles.append(time.perf_counter() - start)
    batch = np.resize(queries, (_BATCH, queries.shape[1]))
    start = time.perf_counter()
    side.find(batch)
    per_query = (time.perf_counter() - start) / _BATCH
    return {"one": 1e3 * statistics.median(singles), "batch": 1e3 * per_query, "mib": side.mib}


# ---- recall --------------------------------------------------------------------------------------


def recalls(folder: Path, rows: np.ndarray, *, kind: str) -> Cost:
    """Return the recall of the ten nearest words of each of R rows."""
    originals = np.load(folder / "vectors.npy")
    matrix = open_compressed(folder / f"{kind}.ykv")
    index = Index.of(matrix)
    found = index.search(originals[rows], _N + 1)[0]
    again = index.search(originals[rows], _N + 1, originals=originals)[0]
    rebuilt = unit(matrix.dense())
    units = np.load(folder / "units.npy")
    return {
        "on rebuilt vectors": recall(rebuilt, units[rows], rows, found),
        "on original vectors": recall(units, units[rows], rows, found),
        "ranked again": recall(units, units[rows], rows, again),
    }


def recall(units: np.ndarray, queries: np.ndarray, rows: np.ndarray, found: np.ndarray) -> float:
    """Return the share of found rows that are among the ten nearest.

    Args:
        units: All vectors, of length 1, (V, H).
        queries: (R, H).
        rows: The row of each query, which does not count, (R,).
        found: Rows found, nearest first, (R, 11).
    """
    shares = []
    for part in _parts(len(rows)):
        cosines = queries[part] @ units.T  # (r, V)
        cosines[np.arange(len(cosines)), rows[part]] = -np.inf
        tenth = np.partition(cosines, -_N, axis=1)[:, -_N]
        for near, least, row, own in zip(cosines, tenth, rows[part], found[part], strict=True):
            shares.append((near[own[own != row][:_N]] >= least - _SAME).mean())
    return float(np.mean(shares))


def _parts(n: int) -> Iterator[slice]:
    return (slice(begin, begin + _BATCH) for begin in range(0, n, _BATCH))


# ---- all sides -----------------------------------------------------------------------------------


def prepared(folder: Path, vectors_file: Path, n_words: int) -> np.ndarray:
    """Write the files of all sides and return the vectors."""
    given = read_vectors(vectors_file).vectors
    vectors = np.resize(given, (n_words, given.shape[1])).astype(np.float32)
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "units.npy", unit(vectors))
    words = [f"w{i}" for i in range(n_words)]
    for kind, made in KINDS.items():
        compressed = CompressedVectors.of(words, made.fit(vectors).compressed_)
        write_compressed(folder / f"{kind}.ykv", compressed)
    return vectors


def sides_of(threads: int) -> dict[str, Callable[..., Cost]]:
    """Return what is measured, by name."""
    kinds = [DENSE, *(f"yakusu, {kind}" for kind in KINDS)]
    kinds += benchmark.installed({"faiss IndexFlatIP": "faiss"})
    return {
        f"{kind}, {n} thread{'s' * (n > 1)}": partial(
            measured, kind=kind.removeprefix("yakusu, "), threads=n
        )
        for n in sorted({1, threads})
        for kind in kinds
    }


def main(args: argparse.Namespace) -> None:
    """Measure all sides, then the recall of the compressed ones."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        vectors = prepared(folder, args.vectors, args.words)
        rows = np.linspace(0, args.words - 1, args.queries).round().astype(np.int64)
        queries = vectors[rows]
        rounds = in_turns(
            sides_of(args.threads),
            args.rounds,
            lambda number: (folder, np.roll(queries, 7 * number, axis=0), args.calls),
            threads=args.threads,
        )
        shares = {}
        for kind in KINDS:
            with Worker(partial(recalls, kind=kind), threads=args.threads) as worker:
                shares[kind] = worker(folder, rows)
    medians = {
        name: {key: statistics.median(cost[key] for cost in costs) for key in costs[0]}
        for name, costs in rounds.items()
    }
    for name, cost in (medians | shares).items():
        print(f"{name:34} " + ", ".join(f"{key} {value:.4f}" for key, value in cost.items()))
    result = {"name": f"{args.words:,} x {vectors.shape[1]}", "medians": medians, "recall": shares}
    benchmark.record(result | {"rounds": rounds, "queries": len(rows), "note": args.note})


if __name__ == "__main__":
    benchmark.run(main)
