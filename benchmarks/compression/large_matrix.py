"""Seconds and memory for compressing a large matrix, and what learning from a sample costs.

The command `yakusu vectors compress` runs in a process of its own, whose peak of resident memory
counts everything: interpreter, libraries and the pages of files that it maps. The codebook is
learned from a sample of the rows. What that costs is measured on the first rows of the same matrix:
the share of the variance that is lost on all of these rows, for samples of several sizes.
`benchmarks.compression.spectrum` writes the matrix.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.common import Benchmark
from benchmarks.compression.api import variance_lost
from benchmarks.compression.spectrum import parts
from benchmarks.records import Record
from benchmarks.tables import NONE, FilledTable, Table, entries, fixed, times
from yakusu.compress import CodebookCompressor, LatticeCompressor
from yakusu.errors import DataError
from yakusu.vectors import open_matrix

METHODS = ("codes", "integers")
TARGET = {"seconds": 600, "peak_gib": 4}  # on two idle cores
_SHARES = (1 / 8, 1 / 2, 1)  # of the rows, in the sample

benchmark = Benchmark(
    "large_matrix",
    __doc__,
    example="python -m benchmarks.compression.large_matrix --matrix big.npy --record",
    threads=2,
    quick={"rows": 400},
)
benchmark.option("--matrix", type=Path, help="a .npy file, such as spectrum.py writes")
benchmark.option("--rows", type=int, default=100_000, help="rows for the cost of sampling")


_COSTS = Table(
    (
        ("Method", "{name}"),
        ("Seconds", "{seconds:,.0f}"),
        ("Peak GiB", "{peak_gib:,.2f}"),
        ("File, MiB", times("file_bytes", 2**-20)),
        ("Ratio", "{report.facts.ratio:,.1f}"),
        ("Variance lost", "{report.share_lost:.2%}"),
        ("Rows fitted", "{report.n_fitted:,.0f}"),
        ("Rows measured", "{report.n_measured:,.0f}"),
    ),
    rows=entries("commands"),
    title="{name}",
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Cost of the command, and the share of variance lost by size of the sample."""
    for record in records:
        yield from _COSTS([record])
        lost = {(p["method"], p["sample"]): p["lost"] for p in record["sampling"]}
        methods = list(dict.fromkeys(method for method, _ in lost))
        samples = list(dict.fromkeys(sample for _, sample in lost))
        rows = []
        for sample in samples:
            more = (lost[m, sample] / lost[m, samples[-1]] - 1 for m in methods)
            cells = [NONE if sample == samples[-1] else f"{each:+.2%}" for each in more]
            rows.append([fixed(sample, 0), *(f"{lost[m, sample]:.4%}" for m in methods), *cells])
        head = ["Rows fitted", *(f"Lost, {m}" for m in methods), *(f"More, {m}" for m in methods)]
        yield FilledTable(head, rows, [record], f"The first {record['rows']:,} rows")


def command(matrix: Path, method: str, folder: Path) -> dict[str, Any]:
    """Run `yakusu vectors compress`; return its seconds, its peak memory and its report."""
    out = folder / f"{method}.ykv"
    words = ["vectors", "compress", str(matrix), str(out), "--method", method]
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "yakusu", *words])
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise DataError(f"yakusu {' '.join(words)} ended with status {process.returncode}")
    report = json.loads(out.with_name(f"{out.name}.json").read_text(encoding="utf-8"))
    return {
        "seconds": round(seconds, 1),
        "peak_gib": round(usage.ru_maxrss / 2**20, 2),
        "file_bytes": out.stat().st_size,
        "report": report,
    }


def sampling(vectors: np.ndarray) -> list[dict[str, Any]]:
    """Return the share of the variance lost on all rows, by method and size of the sample.

    The step of the integers is the one that a fit of all rows chooses for a loss of 5%.
    """
    step, found = LatticeCompressor().fit(vectors).step_, []
    for share in _SHARES:
        sample = round(share * len(vectors))
        compressors = CodebookCompressor(sample=sample), LatticeCompressor(step, sample=sample)
        for method, compressor in zip(METHODS, compressors, strict=True):
            made = compressor.fit(vectors).compressed_
            lost = variance_lost(vectors, made.dense())
            point = {"method": method, "sample": sample, "lost": lost, "ratio": made.ratio}
            print("  ".join(f"{key} {value}" for key, value in point.items()), flush=True)
            found.append(point)
    return found


def main(args: argparse.Namespace) -> None:
    """Compress the matrix with both methods, then measure the cost of sampling."""
    with TemporaryDirectory(dir=args.matrix and args.matrix.parent) as scratch:
        folder = Path(scratch)
        if args.quick:
            args.matrix = folder / "quick.npy"
            np.save(args.matrix, np.concatenate(list(parts(2 * args.rows, 24, 1))))
        if args.matrix is None:
            raise DataError("--matrix is missing: write one with benchmarks.compression.spectrum")
        matrix = open_matrix(args.matrix)
        commands = {method: command(args.matrix, method, folder) for method in METHODS}
        points = sampling(matrix[: args.rows].astype(np.float32))
    for method, cost in commands.items():
        print(f"{method}: {cost['seconds']} s, at most {cost['peak_gib']} GiB (limits: {TARGET})")
    name = f"{len(matrix):,} x {matrix.shape[1]}, {matrix.dtype}"
    benchmark.record({"name": name, "commands": commands, "rows": args.rows, "sampling": points})


if __name__ == "__main__":
    benchmark.run(main)
