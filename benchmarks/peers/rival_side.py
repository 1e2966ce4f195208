"""One system that compresses vectors and searches them, in its own process, on one thread.

Usage: python -m benchmarks.peers.rival_side FOLDER SYSTEM BITS SEED THREADS. FOLDER has vectors.npy
(V, H) and queries.npy (Q, H), of length 1; BITS are those per number, where they can be chosen.
Writes the rows found to found.npy, (Q, 100), and prints JSON: stored bytes with all tables, their
SHA-256, seconds of CPU time to build, MiB of memory that building adds, and milliseconds of CPU
time per query, the median of single queries. THREADS build, and one searches.

V vectors, H dimensions, M parts.
"""

import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks import memory
from yakusu.errors import DataError

N = 100  # rows found
_BLAS = 20  # faiss multiplies matrices for more queries than this; 128,000 make k-means slow
_FEW = 1_000  # vectors
Find = Callable[[np.ndarray], Any]  # queries (Q, H) -> rows (Q, N), nearest first


class Built(NamedTuple):
    """What is stored, in all, and the search."""

    stored: bytes
    find: Find


# ---- yakusu ----


def yakusu(vectors: np.ndarray, bits: int, threads: int, **settings: Any) -> Built:
    """Compress vectors with the settings, at a ratio that gives so many bits per number."""
    from yakusu.compress import CompressConfig, Index
    from yakusu.compress.compressor import compressor_of

    compressor = compressor_of(CompressConfig(ratio=32 / bits, **settings))
    if hasattr(compressor, "n_jobs"):
        compressor.n_jobs = threads
    made = compressor.fit(vectors).compressed_
    stored = b"".join(array.tobytes() for array in made.arrays.values())
    index = Index.of(made)
    return Built(stored, lambda queries: index.search(queries, N, n_jobs=1)[0])


# ---- faiss ----


def faiss_index(vectors: np.ndarray, kind: str, seed: int, threads: int) -> Built:
    """Build an index of inner products that faiss's factory names."""
    import faiss

    faiss.omp_set_num_threads(threads)
    faiss.cvar.distance_compute_blas_threshold = _BLAS
    index = faiss.index_factory(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
    inner = index
    if isinstance(index, faiss.IndexPreTransform):
        inner = faiss.downcast_index(index.index)
    if hasattr(inner, "pq"):
        inner.pq.cp.seed = seed
    if hasattr(inner, "lsq"):
        inner.lsq.random_seed = seed
    # Subsets for training are chosen by position, whatever the seed.
    index.train(np.roll(vectors, seed - 1, axis=0) if seed > 1 else vectors)
    index.add(vectors)
    stored = faiss.serialize_index(index).tobytes()

    def find(queries: np.ndarray) -> np.ndarray:
        faiss.omp_set_num_threads(1)
        return np.asarray(index.search(queries, N)[1])

    return Built(stored, find)


def _parts(width: int, bits: int, *, of: int) -> tuple[int, int]:
    """Return the number of parts with codes of `of` bits, and the dimensions that they cover."""
    parts = width * bits // of
    return parts, width // parts * parts


def pq(vectors: np.ndarray, bits: int, seed: int, threads: int) -> Built:
    """Product quantisation; if M does not divide H, after PCA to a multiple of M.

    np: no permutation of the codes for faiss's Hamming search; the permutation takes minutes.
    """
    parts, width = _parts(vectors.shape[1], bits, of=8)
    before = f"PCA{width}," if width < vectors.shape[1] else ""
    return faiss_index(vectors, f"{before}PQ{parts}x8np", seed, threads)


def opq(vectors: np.ndarray, bits: int, seed: int, threads: int) -> Built:
    """Product quantisation after the rotation that suits it best."""
    parts, width = _parts(vectors.shape[1], bits, of=8)
    return faiss_index(vectors, f"OPQ{parts}_{width},PQ{parts}x8np", seed, threads)


def fast_scan(vectors: np.ndarray, bits: int, seed: int, threads: int) -> Built:
    """Product quantisation with 4 bits per part, scanned in registers."""
    parts, _ = _parts(vectors.shape[1], bits, of=4)
    return faiss_index(vectors, f"PQ{parts}x4fs", seed, threads)


def lsq(vectors: np.ndarray, bits: int, seed: int, threads: int) -> Built:
    """Local search quantisation."""
    parts, _ = _parts(vectors.shape[1], bits, of=8)
    return faiss_index(vectors, f"LSQ{parts}x8", seed, threads)


# ---- other libraries ----


def rabitqlib(vectors: np.ndarray, bits: int, seed: int, threads: int) -> Built:
    """RaBitQ by its authors, with one cluster; widths are multiples of 64."""
    from rabitqlib import IvfIndex

    filled = _filled(vectors, 64)
    index = IvfIndex(filled.shape[1], len(vectors), 1, bits, metric="ip")
    mean, cluster = filled.mean(axis=0, keepdims=True), np.zeros(len(vectors), dtype=np.uint32)
    index.build(filled, mean, cluster, num_threads=threads)
    with TemporaryDirectory() as folder:
        index.save(f"{folder}/index")
        stored = Path(folder, "index").read_bytes()
    return Built(stored, lambda queries: _rows(index.search(_filled(queries, 64), N, 1)))


def _rows(found: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the array of integers of a result."""
    return next(np.asarray(each) for each in found if np.asarray(each).dtype.kind in "iu")


def _filled(given: np.ndarray, multiple: int) -> np.ndarray:
    """Fill up the width of vectors with zeros."""
    return np.ascontiguousarray(np.pad(given, ((0, 0), (0, -given.shape[1] % multiple))))


def turbovec(vectors: np.ndarray, bits: int, seed: int, threads: int) -> Built:
    """TurboQuant; widths are multiples of 8."""
    from turbovec import TurboQuantIndex

    filled = _filled(vectors, 8)
    index = TurboQuantIndex(dim=filled.shape[1], bit_width=bits)
    index.add(filled)
    return Built(index.to_bytes(), lambda queries: index.search(_filled(queries, 8), k=N)[1])


def usearch(vectors: np.ndarray, *, binary: bool) -> Built:
    """Exact search of usearch on signs, or on integers of 8 bits."""
    import numkong  # noqa: F401 - its symbols are needed by usearch
    from usearch.index import MetricKind, search

    def coded(given: np.ndarray) -> np.ndarray:
        return np.packbits(given > 0, axis=1) if binary else np.rint(given * 127).astype(np.int8)

    codes, metric = coded(vectors), MetricKind.Hamming if binary else MetricKind.IP
    return Built(
        codes.tobytes(),
        lambda queries: search(codes, coded(queries), N, metric, exact=True, threads=1).keys,
    )


def by_column(vectors: np.ndarray, bits: int) -> Built:
    """Integers with one step per column, which are expanded in blocks of rows for each search."""
    half = 2 ** (bits - 1)
    steps = 2 * np.abs(vectors).max(axis=0) / (2**bits - 1)
    steps[steps == 0] = 1
    codes = np.clip(np.floor(vectors / steps), -half, half - 1).astype(np.int8)
    packed = codes
    if bits == 4:
        even = np.pad(codes, ((0, 0), (0, codes.shape[1] % 2)))
        packed = (even[:, ::2] & 15) | (even[:, 1::2] << 4)

    def find(queries: np.ndarray) -> np.ndarray:
        scaled = (queries * steps).T
        products = [
            (codes[i : i + 8192] + np.float32(0.5)) @ scaled for i in range(0, len(codes), 8192)
        ]
        return _largest(np.concatenate(products).T)

    return Built(packed.tobytes() + steps.astype(np.float32).tobytes(), find)


def _largest(products: np.ndarray) -> np.ndarray:
    found = np.argpartition(-products, N - 1)[:, :N]
    order = np.argsort(-np.take_along_axis(products, found, axis=1), axis=1)
    return np.take_along_axis(found, order, axis=1)


SYSTEMS: dict[str, Callable[[np.ndarray, int, int, int], Built]] = {
    "yakusu codes": lambda x, b, seed, t: yakusu(x, b, t),
    "yakusu integers": lambda x, b, seed, t: yakusu(x, b, t, method="integers"),
    "yakusu integers, whitening 0": lambda x, b, seed, t: yakusu(
        x, b, t, method="integers", whitening=0
    ),
    "faiss PQ": pq,
    "faiss OPQ": opq,
    "faiss PQFastScan": fast_scan,
    "faiss LSQ": lsq,
    "faiss RaBitQ": lambda x, b, seed, t: faiss_index(x, f"RR{x.shape[1]},RaBitQ{b}", seed, t),
    "rabitqlib": rabitqlib,
    "turbovec": turbovec,
}
FIXED: dict[str, Callable[[np.ndarray, int, int, int], Built]] = {
    "faiss SQ8": lambda x, b, seed, t: faiss_index(x, "SQ8", seed, t),
    "faiss SQ4": lambda x, b, seed, t: faiss_index(x, "SQ4", seed, t),
    "usearch int8": lambda x, b, seed, t: usearch(x, binary=False),
    "usearch binary": lambda x, b, seed, t: usearch(x, binary=True),
    "int8 by column": lambda x, b, seed, t: by_column(x, 8),
    "int4 by column": lambda x, b, seed, t: by_column(x, 4),
}  # with a size of their own


def measured(folder: Path, system: str, bits: int, seed: int, threads: int) -> dict[str, Any]:
    """Build one system, search all queries, and return what both cost."""
    vectors, queries = (np.load(folder / f"{name}.npy") for name in ("vectors", "queries"))
    build = (SYSTEMS | FIXED)[system]
    with suppress(DataError):  # so few cannot be made so small
        build(vectors[:_FEW], bits, seed, threads)  # loads the library
    memory.reset_peak()
    before, start = memory.mib(memory.RESIDENT), time.process_time()
    stored, find = build(vectors, bits, seed, threads)
    found = {"build": time.process_time() - start, "mib": memory.mib(memory.PEAK) - before}
    rows = find(queries)
    np.save(folder / "found.npy", np.asarray(rows).astype(np.int64))
    times = []
    for query in queries[:20]:
        start = time.process_time()
        find(query[None])
        times.append(time.process_time() - start)
    digest = hashlib.sha256(stored).hexdigest()
    found |= {"query": 1000 * statistics.median(times), "bytes": len(stored)}
    return found | {"sha256": digest}


if __name__ == "__main__":
    place, name, *numbers = sys.argv[1:]
    print(json.dumps(measured(Path(place), name, *map(int, numbers))))
