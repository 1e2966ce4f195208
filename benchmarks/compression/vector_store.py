"""A store of vectors: time and memory of adding, size, speed with and without a filter, recall.

The vectors are those of a file, or a mixture of Gaussians with 1,000 centres, generated in blocks
from their numbers, so that no matrix is in memory; queries are rows held out from the file, or come
from the same mixture. Recall compares with the exact ten nearest of the vectors themselves.
Everything runs on one thread. The search with cells visits the smallest share of the vectors that
finds 95% of the results of the full search.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.common import Benchmark
from benchmarks.memory import PEAK, RESIDENT, mib, reset_peak
from benchmarks.records import Record
from benchmarks.tables import Table, entries, times
from yakusu.compress.blocks import ROWS, AnyMatrix, StoredMatrix, blocks, evenly_spaced
from yakusu.vectors import VectorStore, create_store, open_store
from yakusu.vectors.nearest import unit

N_CENTRES, SPREAD, N_BEST = 1_000, 1.5, 10
N_FILTER = 100_000  # ids
LEAST_ALIKE = 0.95
KINDS = {"codes": None, "codes, ranked again": "float16"}

benchmark = Benchmark(
    "vector_store",
    __doc__,
    example="python -m benchmarks.compression.vector_store --record",
    quick={"rows": 20_000, "width": 24, "queries": 20},
)
benchmark.option("--rows", type=int, default=1_000_000, help="vectors (%(default)s)")
benchmark.option("--width", type=int, default=384, help="dimensions (%(default)s)")
benchmark.option("--vectors", type=Path, help="matrix (.npy) to use instead of a mixture")
benchmark.option("--queries", type=int, default=200, help="queries (%(default)s)")
benchmark.option("--stores", nargs="+", default=list(KINDS), choices=KINDS, help="both kinds")
benchmark.option("--folder", type=Path, help="folder for the stores (default: a temporary one)")

_SYSTEMS = entries("stores")
_ADDING = Table(
    (
        ("Store", "{name}"),
        ("Learning, s", "{learning:,.1f}"),
        ("Vectors added per second", "{rate:,.0f}"),
        ("Memory added, MiB", "{added_mib:,.0f}"),
        ("Bytes per vector", "{bytes:,.0f}"),
        ("After deleting a tenth", "{after_delete:,.0f}"),
        ("Compacted", "{compacted:,.0f}"),
        ("Compacting, s", "{compacting:,.1f}"),
    ),
    rows=_SYSTEMS,
    title="{name}: adding and compacting",
)
_SEARCH = Table(
    (
        ("Store", "{name}"),
        ("Recall@10", times("recall", 100, 1)),
        ("First search, s", "{first:,.2f}"),
        ("Memory, MiB", "{search_mib:,.0f}"),
        ("Queries per second, one by one", "{single:,.1f}"),
        ("With a filter", "{single_filter:,.1f}"),
        ("In batches", "{batch:,.1f}"),
        ("Batches with a filter", "{batch_filter:,.1f}"),
    ),
    rows=_SYSTEMS,
    title="{name}: search",
)
_CELLS = Table(
    (
        ("Store", "{name}"),
        ("Making cells, s", "{making_cells:,.1f}"),
        ("Share visited", times("share", 100, 1)),
        ("Results of the full search", times("alike", 100, 1)),
        ("Recall@10", times("cells_recall", 100, 1)),
        ("Queries per second, all visited", "{whole:,.1f}"),
        ("The share visited", "{cells:,.1f}"),
        ("Times as fast as without cells", "{gain:,.1f}"),
    ),
    rows=_SYSTEMS,
    title="{name}: search with cells",
)


def tables(records: list[Record]) -> Iterator[Any]:
    """Adding and compacting, search, and search with cells."""
    for table in (_ADDING, _SEARCH, _CELLS):
        yield from table(records)


class Mixture(StoredMatrix):
    """Rows of a mixture of Gaussians, each block of them from its number.

    Args:
        n: Number of rows.
        width: H.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, n: int, width: int) -> None:
        self.shape = (n, width)
        scale = 1 / np.sqrt(1 + np.arange(width) / 32)  # as in embeddings, some axes matter more
        self._scale = scale.astype(np.float32)
        centres = np.random.default_rng(0).standard_normal((N_CENTRES, width), dtype=np.float32)
        self._centres = centres * self._scale

    def block(self, number: int) -> np.ndarray:
        """Return the rows of a block, (8192, H)."""
        rng = np.random.default_rng((1, number))
        away = rng.standard_normal((ROWS, self.shape[1]), dtype=np.float32) * self._scale * SPREAD
        rows: np.ndarray = self._centres[rng.integers(N_CENTRES, size=ROWS)] + away
        return rows

    def __getitem__(self, rows: Any) -> np.ndarray:
        numbers = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else rows
        found = np.empty((len(numbers), self.shape[1]), dtype=np.float32)
        for number in np.unique(numbers // ROWS):
            here = numbers // ROWS == number
            found[here] = self.block(number)[numbers[here] % ROWS]
        return found


def exact(vectors: AnyMatrix, queries: np.ndarray) -> np.ndarray:
    """Return the rows of the ten largest cosines of each query, (Q, 10)."""
    best = np.full((len(queries), N_BEST), -2.0), np.zeros((len(queries), N_BEST), dtype=np.int64)
    for rows in blocks(len(vectors)):
        cosines = unit(queries) @ unit(vectors[rows]).T
        numbers = np.broadcast_to(np.arange(rows.start, rows.stop), cosines.shape)
        joined = np.concatenate([best[0], cosines], axis=1)
        order = np.argsort(-joined, axis=1, kind="stable")[:, :N_BEST]
        numbers = np.concatenate([best[1], numbers], axis=1)
        best = np.take_along_axis(joined, order, 1), np.take_along_axis(numbers, order, 1)
    return best[1]


@dataclass(frozen=True)
class Timer:
    """Measures queries per second: medians of five rounds, in which the searches alternate."""

    store: VectorStore
    queries: np.ndarray

    def __call__(self, size: int, *options: dict[str, Any]) -> list[float]:
        """Search in batches of a size, with each set of options."""
        rounds = [[self._seconds(size, each) for each in options] for _ in range(5)]
        rates: list[float] = (len(self.queries) / np.median(rounds, axis=0)).tolist()
        return rates

    def _seconds(self, size: int, options: dict[str, Any]) -> float:
        start = time.perf_counter()
        for begin in range(0, len(self.queries), size):
            self.store.search(self.queries[begin : begin + size], N_BEST, **options)
        return time.perf_counter() - start


def added(path: Path, vectors: AnyMatrix, originals: Any) -> dict[str, float]:
    """Create a store and add all vectors, one transaction's worth at a time."""
    reset_peak()
    before, start = mib(RESIDENT), time.perf_counter()
    with create_store(path, vectors, originals=originals) as store:
        learned = time.perf_counter()
        for rows in blocks(len(vectors)):
            store.add([f"id {i}" for i in range(rows.start, rows.stop)], vectors[rows])
        seconds = time.perf_counter() - learned
    return {
        "learning": learned - start,
        "rate": len(vectors) / seconds,
        "added_mib": mib(PEAK) - before,
        "bytes": path.stat().st_size / len(vectors),
    }


def searched(
    store: VectorStore, queries: np.ndarray, nearest: np.ndarray, n_rows: int
) -> dict[str, float]:
    """Measure search."""
    reset_peak()
    before, start = mib(RESIDENT), time.perf_counter()
    store.search(queries[:1], N_BEST)
    first = time.perf_counter() - start
    few = tuple(f"id {i}" for i in evenly_spaced(n_rows, min(N_FILTER, n_rows)))
    store.search(queries[:1], N_BEST, among=few)
    recall, timed = alike(found_by(store, queries), named(nearest)), Timer(store, queries)
    single, single_filter = timed(1, {}, {"among": few})
    batch, batch_filter = timed(64, {}, {"among": few})
    return {
        "first": first,
        "recall": recall,
        "single": single,
        "single_filter": single_filter,
        "batch": batch,
        "batch_filter": batch_filter,
        "search_mib": mib(PEAK) - before,
    }


def named(rows: np.ndarray) -> list[set[str]]:
    """The ids of rows (Q, n)."""
    return [{f"id {row}" for row in each} for each in rows.tolist()]


def found_by(store: VectorStore, queries: np.ndarray, share: float = 1) -> list[set[str]]:
    """The ids that each query finds."""
    found = store.search(queries, N_BEST, share=share)
    return [{match.id for match in matches} for matches in found]


def alike(one: list[set[str]], other: list[set[str]]) -> float:
    """The share of the ids that both have."""
    return float(np.mean([len(a & b) for a, b in zip(one, other, strict=True)])) / N_BEST


def with_cells(
    path: Path, queries: np.ndarray, nearest: np.ndarray, before: float
) -> dict[str, float]:
    """Make cells, and measure a search of the least share that finds 95% of the whole search.

    `before`: queries per second without cells.
    """
    start = time.perf_counter()
    with open_store(path, writable=True) as store:
        store.compact(cells=True)
    making = time.perf_counter() - start
    with open_store(path) as store:
        whole = found_by(store, queries)
        shares = (percent / 100 for percent in range(1, 101))
        share = next(
            each for each in shares if alike(found_by(store, queries, each), whole) >= LEAST_ALIKE
        )
        found = found_by(store, queries, share)
        rate, rate_of_share = Timer(store, queries)(1, {}, {"share": share})
    return {
        "making_cells": making,
        "share": share,
        "alike": alike(found, whole),
        "cells_recall": alike(found, named(nearest)),
        "whole": rate,
        "cells": rate_of_share,
        "gain": rate_of_share / before,
    }


def compacted(path: Path, n_rows: int) -> dict[str, float]:
    """Delete every tenth vector, and give the space back."""
    with open_store(path, writable=True) as store:
        store.delete([f"id {i}" for i in range(0, n_rows, 10)])
        store.search(np.ones((1, store.width)))
    sizes, start = [path.stat().st_size], time.perf_counter()
    with open_store(path, writable=True) as store:
        store.compact()
        left = len(store)
    sizes.append(path.stat().st_size)
    return {
        "after_delete": sizes[0] / left,
        "compacted": sizes[1] / left,
        "compacting": time.perf_counter() - start,
    }


def given(args: argparse.Namespace) -> tuple[AnyMatrix, np.ndarray]:
    """The vectors and the queries."""
    if not args.vectors:
        mixture = Mixture(args.rows, args.width)
        return mixture, mixture.block(-(-args.rows // ROWS))[: args.queries]
    matrix = np.load(args.vectors)
    asked = evenly_spaced(len(matrix), args.queries)
    return np.delete(matrix, asked, axis=0), matrix[asked]


def main(args: argparse.Namespace) -> None:
    """Measure a store of codes, and one that keeps the vectors, too."""
    vectors, queries = given(args)
    nearest, stores = exact(vectors, queries), {}
    with TemporaryDirectory(dir=args.folder) as folder:
        for name in args.stores:
            path = Path(folder) / "store.db"
            stores[name] = added(path, vectors, KINDS[name])
            with open_store(path) as store:
                stores[name] |= searched(store, queries, nearest, len(vectors))
            stores[name] |= with_cells(path, queries, nearest, stores[name]["single"])
            stores[name] |= compacted(path, len(vectors))
            print(name, json.dumps(stores[name]), flush=True)
            path.unlink()
    n_rows, width = vectors.shape
    size = {"rows": n_rows, "width": width, "queries": len(queries)}
    name = f"{args.vectors.stem if args.vectors else 'mixture'}, {n_rows:,} x {width}"
    benchmark.record({"name": name, "stores": stores, **size}, seed=0)


if __name__ == "__main__":
    benchmark.run(main)
