"""Output projection of a translator by each kind of table, in turns: dense floats, codes, integers.

For each hidden state, codes take V M + M D multiplications and the dense table V D; integers take
V D multiplications of 8 bits.
"""

import argparse
import statistics
import time
from dataclasses import asdict
from functools import cache, partial

import torch
from torch import Tensor

from benchmarks.common import Benchmark
from benchmarks.workers import in_turns, speedup
from yakusu.model.table import DenseTable, Table

KINDS = ("dense", "codes, M = D / 4", "integers")
CALLS = 20

benchmark = Benchmark(
    "output_layer",
    __doc__,
    example="python -m benchmarks.speed.output_layer --vocab 32000",
    threads=2,
    quick={"vocab": 400, "width": 32, "rows": 8, "rounds": 1},
)
benchmark.option("--vocab", type=int, default=32_000, help="V, rows of the table (%(default)s)")
benchmark.option("--width", type=int, default=512, help="D, width of the table (%(default)s)")
benchmark.option("--rows", type=int, default=256, help="hypotheses per call (%(default)s)")
benchmark.option("--rounds", type=int, default=5, help="measured rounds (%(default)s)")


def vectors(vocab_size: int, width: int) -> Tensor:
    """Return vectors that resemble embeddings: some directions vary more than others."""
    generator = torch.Generator().manual_seed(1)
    scales = torch.logspace(0, -1, width)
    return torch.randn(vocab_size - 1, width, generator=generator) * scales


@cache
def table(kind: str, vocab_size: int, width: int) -> Table:
    """Return a table of one kind, made once per process."""
    from benchmarks.compression.api import codes_table, integers_table

    dense = vectors(vocab_size, width)
    if kind == "dense":
        made = DenseTable(vocab_size, width)
        made.weight.data[:-1] = dense
        return made
    if kind == "integers":
        return integers_table(dense, step=0.1).table
    return codes_table(dense, width // 4, 16).table


def run(vocab_size: int, width: int, rows: int, *, kind: str) -> float:
    """Return the seconds of one call, the median of many."""
    hidden, seconds = torch.randn(rows, width), []
    with torch.inference_mode():
        for _ in range(CALLS):
            start = time.perf_counter()
            table(kind, vocab_size, width).logits(hidden)
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main(args: argparse.Namespace) -> None:
    """Measure each kind of table."""
    sizes = (args.vocab, args.width, args.rows)
    sides = {kind: partial(run, kind=kind) for kind in KINDS}
    seconds = in_turns(sides, args.rounds, lambda _: sizes, threads=args.threads)
    medians = {kind: statistics.median(each) for kind, each in seconds.items()}
    speeds = {kind: [1 / s for s in each] for kind, each in seconds.items()}
    gains = {kind: speedup(speeds[kind], speeds["dense"]) for kind in KINDS[1:]}
    for kind in KINDS:
        faster = f", {gains[kind]} times faster than the dense table" if kind in gains else ""
        print(f"{kind}: {1e3 * medians[kind]:.2f} ms{faster}")
    name = f"V = {args.vocab:,}, D = {args.width}, {args.rows} rows"
    result = {"name": name, "seconds": medians, "rounds": seconds}
    gained = {kind: asdict(gain) for kind, gain in gains.items()}
    benchmark.record(result | {"times as fast": gained})


if __name__ == "__main__":
    benchmark.run(main)
