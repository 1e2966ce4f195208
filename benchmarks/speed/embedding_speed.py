"""Seconds and memory for compressing 400,000 vectors of 100 dimensions with M = H and K = 16.

yakusu compresses to codes, and to as many bits of integers, without whitening (a ratio of 8).
The others are product quantisation by faiss, trained and encoded to as many bits (parts of two
dimensions and of one); kmeans1d from PyPI, the clustering alone, measured on a few components and
extrapolated to all; and one epoch of the baseline's network (Shu and Nakayama), extrapolated from
some steps. Each measurement runs in its own process. The vectors are in memory when the clock
starts; peak memory is a multiple of the size of the vectors and includes them (Linux).
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import memory
from benchmarks.common import Benchmark
from benchmarks.tables import Table, entries
from benchmarks.workers import Worker
from yakusu.vectors import read_vectors

K = 16
TARGET = {"seconds": 15, "peak": 3}  # on two idle cores
_BATCH = 128  # of the baseline's network
Cost = dict[str, float]

benchmark = Benchmark(
    "embedding_speed",
    __doc__,
    example="python -m benchmarks.speed.embedding_speed --vectors glove100.npz",
    needs=["vectors"],
    threads=2,
    quick={"words": 400, "rounds": 1, "columns": 1, "shu_steps": 8},
)
benchmark.option("--words", type=int, default=400_000, help="rows, repeated if there are fewer")
benchmark.option("--rounds", type=int, default=3, help="measured rounds (%(default)s)")
benchmark.option("--columns", type=int, default=2, help="components measured for kmeans1d")
benchmark.option("--shu-steps", type=int, default=4000, help="steps measured of the baseline")
benchmark.option("--note", default="", help="remark for the record")


tables = Table(
    (
        ("System", "{name}"),
        ("Seconds", "{seconds:,.2f}"),
        ("Peak memory / size of the vectors", "{peak:,.2f}"),
        ("Variance lost", "{share_lost:.2%}"),
    ),
    rows=entries("medians"),
    title="{name}",
)


def compressed(path: Path, threads: int) -> Cost:
    """Compress to codes and codebook by yakusu."""
    from benchmarks.compression.api import by_codes

    def run(vectors: np.ndarray) -> Any:
        return by_codes(vectors, vectors.shape[1], K, threads=threads)

    return measured(run, path, lambda found: found.rebuilt())


def rounded(path: Path) -> Cost:
    """Compress to integers by yakusu, with one thread."""
    from yakusu.compress import CompressConfig
    from yakusu.compress.compressor import compressor_of

    config = CompressConfig(method="integers", ratio=32 / np.log2(K), whitening=0)

    def run(vectors: np.ndarray) -> Any:
        return compressor_of(config).fit(vectors).compressed_

    return measured(run, path, lambda found: found.dense())


def quantised(path: Path, threads: int, part: int) -> Cost:
    """Compress by faiss, with parts of the given number of dimensions."""
    from benchmarks.peers.quantisers import quantise

    def run(vectors: np.ndarray) -> Any:
        n_parts, n_bits = vectors.shape[1] // part, 4 * part
        return quantise(vectors, n_parts, n_bits, threads=threads)

    return measured(run, path, lambda found: found[0].decode(found[1]))


def measured(
    run: Callable[[np.ndarray], Any],
    path: Path,
    rebuilt: Callable[[Any], np.ndarray],
) -> Cost:
    """Return seconds, peak memory over the size of the vectors, and the share of variance lost."""
    from benchmarks.compression.api import variance_lost

    run(np.load(path, mmap_mode="r")[:10_000].copy())  # loads and compiles what is needed
    before = memory.mib(memory.RESIDENT)
    vectors = np.load(path)
    memory.reset_peak()
    start = time.perf_counter()
    found = run(vectors)
    seconds = time.perf_counter() - start
    peak = (memory.mib(memory.PEAK) - before) * 2**20 / vectors.nbytes
    return {
        "seconds": seconds,
        "peak": peak,
        "share_lost": variance_lost(vectors, rebuilt(found)),
    }


def clustered(path: Path, columns: int) -> Cost:
    """Return the seconds of kmeans1d for all components, extrapolated from a few."""
    import kmeans1d

    from benchmarks.compression.api import component_scores

    vectors = np.load(path)
    scores = component_scores(vectors, columns)
    start = time.perf_counter()
    for score in scores:
        kmeans1d.cluster(score, K)
    return {"seconds": (time.perf_counter() - start) * vectors.shape[1] / columns}


def epoch_of_shu(path: Path, size: tuple[int, int], steps: int) -> Cost:
    """Return the seconds of an epoch, from the difference of a shorter and a longer training.

    A first training, which loads the libraries, is not counted.
    """
    from benchmarks.peers.gumbel import learn

    vectors = np.load(path)
    seconds = []
    for some in (1, steps // 4, steps):
        start = time.perf_counter()
        learn(vectors, n_codebooks=size[0], n_codes=size[1], seed=1, steps=some, batch=_BATCH)
        seconds.append(time.perf_counter() - start)
    per_step = (seconds[2] - seconds[1]) / (steps - steps // 4)
    return {"seconds": per_step * len(vectors) / _BATCH}


def sides_of(path: Path, width: int, args: argparse.Namespace) -> dict[str, Callable[[], Cost]]:
    """Return what is measured, by name."""
    sides: dict[str, Callable[[], Cost]] = {
        "yakusu, codes": partial(compressed, path, args.threads),
        "yakusu, integers": partial(rounded, path),
    }
    peers = benchmark.installed({"faiss PQ": "faiss", "kmeans1d": "kmeans1d"})
    if "faiss PQ" in peers:
        for part, name in ((2, f"{width // 2} parts of 8 bits"), (1, f"{width} parts of 4 bits")):
            sides[f"faiss PQ, {name}"] = partial(quantised, path, args.threads, part)
    if "kmeans1d" in peers:
        run = partial(clustered, path, args.columns)
        sides["kmeans1d, clustering alone, extrapolated"] = run
    epoch = partial(epoch_of_shu, path, (64, 16), args.shu_steps)
    return sides | {"Shu+'18, M = 64, K = 16, one epoch, extrapolated": epoch}


def in_new_processes(
    sides: Mapping[str, Callable[[], Cost]], rounds: int, threads: int
) -> dict[str, list[Cost]]:
    """Call all sides once per round, each in a new process."""
    costs: dict[str, list[Cost]] = {name: [] for name in sides}
    for number in range(rounds):
        for name, side in sides.items():
            with Worker(side, threads=threads) as worker:
                costs[name].append(worker())
            print(f"round {number + 1}, {name}: {costs[name][-1]}", file=sys.stderr, flush=True)
    return costs


def medians(costs: list[Cost]) -> Cost:
    """Return the median of each kind of cost."""
    return {key: round(statistics.median(cost[key] for cost in costs), 4) for key in costs[0]}


def main(args: argparse.Namespace) -> None:
    """Measure all sides."""
    dense = read_vectors(args.vectors).vectors
    width = dense.shape[1]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.npy"
        np.save(path, np.resize(dense, (args.words, width)))
        rounds = in_new_processes(sides_of(path, width, args), args.rounds, args.threads)
    found = {name: medians(costs) for name, costs in rounds.items()}
    for name, cost in found.items():
        print(f"{name:50} " + ", ".join(f"{key} {value:.3f}" for key, value in cost.items()))
    print(f"target for yakusu, on two idle cores: at most {TARGET}")
    result = {
        "name": f"{args.words:,} x {width}, M = {width}, K = {K}",
        "score": f"peak memory {found['yakusu, codes']['peak']:.2f} times the dense matrix",
        "seconds": {name: round(cost["seconds"], 2) for name, cost in found.items()},
        **{"medians": found, "rounds": rounds, "wanted": TARGET, "note": args.note},
    }
    benchmark.record(result)


if __name__ == "__main__":
    benchmark.run(main)
