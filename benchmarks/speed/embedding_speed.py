"""Seconds and memory for compressing 400,000 vectors of 100 dimensions with M = H and K = 16.

Beside it product quantisation by faiss, trained and encoded, in as many bits (parts of two
dimensions, and of one); kmeans1d of PyPI, the clustering alone, measured on a few components and
extrapolated to all; and an epoch of Shu and Nakayama's network, extrapolated from some steps. Each
measurement has a process of its own, in turns. The vectors are in memory when the clock starts; the
peak memory, a multiple of the dense matrix, counts them as 1 (Linux).
"""

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from common import Worker, record, start
from yakusu.compress import read_vectors
from yakusu.compress.blocks import Lost

K = 16
WANTED = {"seconds": 15, "peak": 3}  # on two cores that do nothing else
_FEW = 10_000  # vectors that compile and load all that is needed, before anything is measured
_BATCH = 128  # of Shu and Nakayama's network
Cost = dict[str, float]


def compressed(path: Path, threads: int) -> Cost:
    """Ours: codes and codebook."""
    from yakusu.compress import compress

    def run(vectors: np.ndarray) -> Any:
        return compress(vectors, n_components=vectors.shape[1], n_codes=K, threads=threads)

    return measured(run, path, lambda found: found[1].rebuild(found[0].codes))


def quantised(path: Path, threads: int, part: int) -> Cost:
    """faiss, with parts of so many dimensions."""
    from peers.quantisers import quantise

    def run(vectors: np.ndarray) -> Any:
        n_parts, n_bits = vectors.shape[1] // part, 4 * part
        return quantise(vectors, n_parts, n_bits, threads=threads)

    return measured(run, path, lambda found: found[0].decode(found[1]))


def measured(
    run: Callable[[np.ndarray], Any],
    path: Path,
    rebuilt: Callable[[Any], np.ndarray],
) -> Cost:
    """Seconds, peak memory over that of the matrix, and the share of the variance lost."""
    run(np.load(path, mmap_mode="r")[:_FEW].copy())
    before = _memory("VmRSS")
    vectors = np.load(path)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    began = time.perf_counter()
    found = run(vectors)
    seconds = time.perf_counter() - began
    peak = (_memory("VmHWM") - before) / vectors.nbytes
    lost = Lost.of(vectors, rebuilt(found).__getitem__)
    return {"seconds": seconds, "peak": peak, "share_lost": lost.share}


def _memory(what: str) -> int:
    found = re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def clustered(path: Path, columns: int) -> Cost:
    """Seconds of kmeans1d for all components, from those of a few."""
    import kmeans1d

    from yakusu.compress import PrincipalAxes

    vectors = np.load(path)
    scores = PrincipalAxes.of(vectors, columns).scores(vectors, slice(None))
    began = time.perf_counter()
    for score in scores:
        kmeans1d.cluster(score, K)
    return {"seconds": (time.perf_counter() - began) * vectors.shape[1] / columns}


def epoch_of_shu(path: Path, size: tuple[int, int], steps: int) -> Cost:
    """Seconds of an epoch, from the difference of a short and a longer training.

    A first one is not counted: it finds the libraries cold.
    """
    from peers.gumbel import learn

    vectors = np.load(path)
    seconds = []
    for some in (1, steps // 4, steps):
        began = time.perf_counter()
        learn(vectors, n_codebooks=size[0], n_codes=size[1], seed=1, steps=some, batch=_BATCH)
        seconds.append(time.perf_counter() - began)
    of_step = (seconds[2] - seconds[1]) / (steps - steps // 4)
    return {"seconds": of_step * len(vectors) / _BATCH}


def sides_of(path: Path, width: int, args: argparse.Namespace) -> dict[str, Callable[[], Cost]]:
    """What is measured, by name, of vectors of this width in a file."""
    return {
        "yakusu": partial(compressed, path, args.threads),
        f"faiss PQ, {width // 2} parts of 8 bits": partial(quantised, path, args.threads, 2),
        f"faiss PQ, {width} parts of 4 bits": partial(quantised, path, args.threads, 1),
        "kmeans1d, clustering alone, extrapolated": partial(clustered, path, args.columns),
        "Shu+'18, M = 64, K = 16, one epoch, extrapolated": partial(
            epoch_of_shu, path, (64, 16), args.shu_steps
        ),
    }


def in_new_processes(
    sides: Mapping[str, Callable[[], Cost]], rounds: int, threads: int
) -> dict[str, list[Cost]]:
    """All sides once a round, each in a process of its own."""
    costs: dict[str, list[Cost]] = {name: [] for name in sides}
    for number in range(rounds):
        for name, side in sides.items():
            with Worker(side, threads=threads) as worker:
                costs[name].append(worker())
            print(f"round {number + 1}, {name}: {costs[name][-1]}", file=sys.stderr, flush=True)
    return costs


def medians(costs: list[Cost]) -> Cost:
    """Of each kind of cost."""
    return {key: round(statistics.median(cost[key] for cost in costs), 4) for key in costs[0]}


def main() -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: python benchmarks/embedding_speed.py glove100.npz"
    )
    parser.add_argument("vectors", type=Path, help="any file that `yakusu vectors compress` reads")
    parser.add_argument("--words", type=int, default=400_000, help="rows, repeated where too few")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--columns", type=int, default=2, help="that kmeans1d is measured on")
    parser.add_argument("--shu-steps", type=int, default=4000)
    parser.add_argument("--note", default="", help="of the circumstances, for the record")
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    dense = read_vectors(args.vectors).vectors
    width = dense.shape[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.npy"
        np.save(path, np.resize(dense, (args.words, width)))
        rounds = in_new_processes(sides_of(path, width, args), args.rounds, args.threads)
    found = {name: medians(costs) for name, costs in rounds.items()}
    for name, cost in found.items():
        print(f"{name:50} " + ", ".join(f"{key} {value:.3f}" for key, value in cost.items()))
    print(f"wanted of yakusu, on two quiet cores: at most {WANTED}")
    if not args.no_record:
        result = {
            "name": f"{args.words:,} x {width}, M = {width}, K = {K}",
            "score": f"peak memory {found['yakusu']['peak']:.2f} times the dense matrix",
            "seconds": {name: round(cost["seconds"], 2) for name, cost in found.items()},
            **{"medians": found, "rounds": rounds, "wanted": WANTED, "note": args.note},
        }
        record("embedding_speed", result, seed=1, threads=args.threads)


if __name__ == "__main__":
    start(main)
