"""Exact k-means in one dimension and kmeans1d from PyPI, in turns; their errors must be equal.

Both run on one thread. Times are CPU time, which other load influences less than wall time.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import NONE, FilledTable, Table, fixed
from benchmarks.workers import in_turns, speedup

OURS, PEER = "yakusu", "kmeans1d (PyPI)"

benchmark = Benchmark(
    "kmeans1d",
    __doc__,
    example="python -m benchmarks.speed.exact_kmeans --codes 16 64 256",
    quick={"values": 5_000, "codes": [4, 16], "rounds": 1},
)
benchmark.option("--values", type=int, default=400_000, help="number of values (%(default)s)")
benchmark.option("--codes", type=int, nargs="+", default=[16, 64, 256], help="K, one or more")
benchmark.option("--rounds", type=int, default=3, help="measured rounds (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="seed of the values (%(default)s)")


def _k(record: Record) -> int:
    return int(record["name"].partition(",")[0].removeprefix("K = "))


def _peer_seconds(record: Record) -> str:
    seconds = list(record["seconds"].values())
    return fixed(seconds[1]) if len(seconds) > 1 else NONE


_COLUMNS = Table(
    (
        ("K", lambda record: str(_k(record))),
        ("Values", lambda r: r["name"].split(", ", 1)[1].removesuffix(" values")),
        ("yakusu, seconds", lambda r: f"{next(iter(r['seconds'].values())):.3f}"),
        ("kmeans1d, seconds", _peer_seconds),
        ("Speed-up", "{ratio.value:,.0f}"),
    )
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """The seconds of each K."""
    yield from _COLUMNS(sorted(records, key=_k))


def values(n: int, seed: int) -> np.ndarray:
    """Return n values with tails as heavy as those of a component of word vectors."""
    return np.random.default_rng(seed).standard_t(5, n)


def run_yakusu(n: int, k: int, seed: int) -> tuple[float, float]:
    """Return processor seconds and the sum of squared errors."""
    from yakusu.compress import kmeans1d

    x = values(n, seed)
    start = time.thread_time()
    found = kmeans1d(x, k)
    seconds = time.thread_time() - start
    return seconds, float(np.square(x - found.centroids[found.codes]).sum())


def run_peer(n: int, k: int, seed: int) -> tuple[float, float]:
    """Return processor seconds and the sum of squared errors."""
    import kmeans1d

    x = values(n, seed)
    start = time.thread_time()
    codes, centroids = kmeans1d.cluster(x, k)
    seconds = time.thread_time() - start
    return seconds, float(np.square(x - np.asarray(centroids)[np.asarray(codes)]).sum())


def main(args: argparse.Namespace) -> None:
    """Measure each K and compare the errors."""
    sides = {OURS: run_yakusu}
    if benchmark.installed({PEER: "kmeans1d"}):
        sides[PEER] = run_peer
    for k in args.codes:
        results = in_turns(
            sides, args.rounds, lambda i, k=k: (args.values, k, args.seed + i), threads=1
        )
        seconds = {name: [each[0] for each in rounds] for name, rounds in results.items()}
        medians = {name: round(statistics.median(each), 4) for name, each in seconds.items()}
        result = {"name": f"K = {k}, {args.values:,} values", "seconds": medians, "rounds": seconds}
        print(f"K = {k:5}: {medians}")
        if PEER in results:
            for ours, theirs in zip(results[OURS], results[PEER], strict=True):
                np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9)
            gain = speedup(*([1 / s for s in seconds[name]] for name in (OURS, PEER)))
            result["ratio"] = asdict(gain)
            print(f"{gain} times faster, equal errors")
        benchmark.record(result, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
