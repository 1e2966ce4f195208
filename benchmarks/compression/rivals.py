"""Nearest neighbours in compressed vectors: yakusu and its rivals at equal bits per number.

The vectors have length 1, and the nearest are those with the largest inner product, which is their
cosine. Queries are evenly spaced rows, which are left out of the vectors. Recall is the share of a
query's 10 (or 100) nearest original vectors among the 10 (100) found; "ranked again" takes the 10
best of the 100 found by their original vectors. The ratio is 4 V H bytes over everything that is
stored, with tables, rotations and factors: systems that store more than others have a lower one.
Each system runs in a process of its own, with one thread. Systems with a seed are built with
several, and the row is the one with the median recall at 10. "Same bytes" compares SHA-256 of two
runs and, after the comma, of one run with two threads, if building takes less than four minutes.
Times are CPU times; memory is what building adds to that of the vectors.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.common import Benchmark
from benchmarks.peers.rival_side import FIXED, SYSTEMS, N
from benchmarks.records import Record
from benchmarks.tables import Table
from yakusu.progress import Silent
from yakusu.vectors.nearest import unit
from yakusu.vectors.sources import open_source

SEEDED = ("faiss PQ", "faiss OPQ", "faiss PQFastScan", "faiss LSQ")
INSTALL = "pip install -r benchmarks/interop/requirements-rivals.txt"
_LIBRARIES = {"faiss": "faiss", "usearch": "usearch"} | {n: n for n in ("rabitqlib", "turbovec")}
_PATIENCE = 4  # minutes of a build that is repeated to compare its bytes
Found = dict[str, Any]

benchmark = Benchmark(
    "rivals",
    __doc__,
    example="python -m benchmarks.compression.rivals --vectors glove100.npz --name 'GloVe 100d'",
    needs=["vectors"],
    quick={
        "queries": 20,
        "bits": [4],
        "seeds": 1,
        "systems": ["yakusu integers", "int8 by column"],
    },
)
benchmark.option("--name", default="", help="name of the vectors, for the record")
benchmark.option("--rows", type=int, help="evenly spaced vectors (all)")
benchmark.option("--queries", type=int, default=1000, help="number of queries (%(default)s)")
benchmark.option("--bits", type=int, nargs="+", default=[4, 2], help="per number: 4 2")
benchmark.option(
    "--seeds", type=int, default=3, help="seeds of systems that have one (%(default)s)"
)
benchmark.option("--limit", type=float, default=60, help="minutes for one run (%(default)s)")
benchmark.option("--systems", nargs="+", default=[*SYSTEMS, *FIXED], help="all")
benchmark.option("--note", default="", help="remark for the record")

_COLUMNS = (
    ("System", "{name}"),
    ("Ratio", "{ratio:.2f}"),
    ("Recall at 10", "{at_10:.4f}"),
    ("Recall at 100", "{at_100:.4f}"),
    ("At 10, ranked again", "{again:.4f}"),
    ("Query, ms", "{query:.2f}"),
    ("Build, s", "{build:,.1f}"),
    ("Build, MiB", "{mib:,.0f}"),
    ("Same bytes", "{same}"),
)


def _rows(record: Record) -> Iterator[Found]:
    for name, found in record["systems"].items():
        yield {"name": f"{name}: not run, {found['why']}" if "why" in found else name, **found}


tables = Table(_COLUMNS, rows=_rows, title="{name}")


def nearest(units: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Return the N rows with the largest products with each query, the largest first, (Q, N)."""
    found = []
    for begin in range(0, len(queries), 50):
        products = queries[begin : begin + 50] @ units.T
        best = np.argpartition(-products, N - 1)[:, :N]
        order = np.argsort(-np.take_along_axis(products, best, axis=1), axis=1)
        found.append(np.take_along_axis(best, order, axis=1))
    return np.concatenate(found)


def recalls(truth: np.ndarray, found: np.ndarray) -> Found:
    """Return the recall at 10, at 100, and at 10 after the 100 found are ranked again."""

    def share(n: int, among: int) -> float:
        pairs = zip(truth[:, :n], found[:, :among], strict=True)
        return float(np.mean([np.isin(near, own).mean() for near, own in pairs]))

    return {"at_10": share(10, 10), "at_100": share(N, N), "again": share(10, N)}


def run(folder: Path, system: str, bits: int, seed: int, threads: int, limit: float) -> Found:
    """Measure a system in a process of its own; the result has `why` if it did not run."""
    words = [str(folder), system, *map(str, (bits, seed, threads))]
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads))
    command = [sys.executable, "-m", "benchmarks.peers.rival_side", *words]
    try:
        said = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60 * limit
        )
    except subprocess.TimeoutExpired:
        return {"why": f"more than {limit:g} minutes"}
    if said.returncode:
        return {"why": said.stderr.strip().splitlines()[-1].replace("|", "/")[:80]}
    found: Found = json.loads(said.stdout.splitlines()[-1])
    return found | recalls(np.load(folder / "truth.npy"), np.load(folder / "found.npy"))


def compared(folder: Path, system: str, bits: int, args: argparse.Namespace) -> Found:
    """Measure a system with each seed and, if building is fast, once more and with two threads."""
    seeds = range(1, args.seeds + 1) if system in SEEDED else (1,)
    first = run(folder, system, bits, 1, 1, args.limit)
    if "why" in first:
        return first
    others = [run(folder, system, bits, seed, 1, args.limit) for seed in seeds if seed > 1]
    found = sorted([first, *others], key=lambda each: float(each["at_10"]))
    same = ["not tried"]
    if first["build"] < 60 * _PATIENCE:
        again = [run(folder, system, bits, 1, threads, args.limit) for threads in (1, 2)]
        same = ["yes" if each.get("sha256") == first["sha256"] else "no" for each in again]
    shape = np.load(folder / "vectors.npy", mmap_mode="r").shape
    middle = found[(len(found) - 1) // 2]
    spread = [each["at_10"] for each in found]
    return middle | {
        "ratio": 4 * shape[0] * shape[1] / first["bytes"],
        "same": ", ".join(same),
        "seeds": spread,
        "mib": first["mib"],
        "query": statistics.median(each["query"] for each in found),
    }


def prepared(folder: Path, args: argparse.Namespace) -> tuple[int, int]:
    """Write vectors, queries and the nearest vectors of each; return V and H."""
    given = open_source(args.vectors, None, Silent()).vectors
    chosen = np.arange(len(given))
    if args.rows:
        wanted = min(args.rows + args.queries, len(given))
        chosen = chosen[:wanted] * len(given) // wanted
    units = unit(given[chosen].astype(np.float32)).astype(np.float32)
    asked = np.arange(args.queries) * len(units) // args.queries
    vectors, queries = np.delete(units, asked, axis=0), units[asked]
    for name, array in (("vectors", vectors), ("queries", queries)):
        np.save(folder / f"{name}.npy", array)
    np.save(folder / "truth.npy", nearest(vectors, queries))
    return vectors.shape[0], vectors.shape[1]


def main(args: argparse.Namespace) -> None:
    """Measure all systems at all sizes; those with a size of their own once."""
    benchmark.installed(_LIBRARIES, INSTALL)
    systems = {}
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        n_rows, width = prepared(folder, args)
        for name in args.systems:
            for bits in args.bits if name in SYSTEMS else args.bits[:1]:
                label = f"{name}, {bits} bits" if name in SYSTEMS else name
                systems[label] = compared(folder, name, bits, args)
                print(label, json.dumps(systems[label]), flush=True)
    name = f"{args.name or args.vectors.stem}, {n_rows:,} x {width}"
    result = {"name": name, "queries": args.queries, "systems": systems, "note": args.note}
    benchmark.record(result)


if __name__ == "__main__":
    benchmark.run(main)
