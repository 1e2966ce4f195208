"""Exact 1-D k-means beside PyPI's `kmeans1d`, in turns in one run; their errors must be equal.

Both work on one thread. Seconds are those of the processor, which others on the machine lengthen
less than those of the clock.
"""

import argparse
import statistics
import time
from dataclasses import asdict

import numpy as np

from common import in_turns, ratio, record, start

OURS, THEIRS = "yakusu", "kmeans1d (PyPI)"


def values(n: int, seed: int) -> np.ndarray:
    """A column with tails as heavy as those of word vectors' components."""
    return np.random.default_rng(seed).standard_t(5, n)


def run_yakusu(n: int, k: int, seed: int) -> tuple[float, float]:
    """Seconds of the processor, and the sum of squared errors."""
    from yakusu.compress import kmeans1d

    x = values(n, seed)
    began = time.thread_time()
    found = kmeans1d(x, k)
    seconds = time.thread_time() - began
    return seconds, float(np.square(x - found.centroids[found.codes]).sum())


def run_peer(n: int, k: int, seed: int) -> tuple[float, float]:
    """Seconds of the processor, and the sum of squared errors."""
    import kmeans1d

    x = values(n, seed)
    began = time.thread_time()
    codes, centroids = kmeans1d.cluster(x, k)
    seconds = time.thread_time() - began
    return seconds, float(np.square(x - np.asarray(centroids)[np.asarray(codes)]).sum())


def main() -> None:
    """Measure each K, compare the errors, record."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: python benchmarks/exact_kmeans.py --codes 16 64 256"
    )
    parser.add_argument("--values", type=int, default=400_000)
    parser.add_argument("--codes", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    for k in args.codes:
        sides = {OURS: run_yakusu, THEIRS: run_peer}
        results = in_turns(
            sides, args.rounds, lambda i, k=k: (args.values, k, args.seed + i), threads=1
        )
        for ours, theirs in zip(results[OURS], results[THEIRS], strict=True):
            np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9)
        seconds = {name: [each[0] for each in rounds] for name, rounds in results.items()}
        gain = ratio(*([1 / s for s in seconds[name]] for name in (OURS, THEIRS)))
        medians = {name: round(statistics.median(each), 4) for name, each in seconds.items()}
        print(f"K = {k:5}: {medians}, {gain} times faster, equal errors")
        if not args.no_record:
            name = f"K = {k}, {args.values:,} values"
            result = {
                "name": name,
                "seconds": medians,
                "rounds": seconds,
                "ratio": asdict(gain),
            }
            record("kmeans1d", result, seed=args.seed, threads=1)


if __name__ == "__main__":
    start(main)
