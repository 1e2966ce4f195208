"""The logits of a translator by tables of each kind, in turns: dense floats, codes, whole numbers.

Codes cost V M + M D multiplications a hidden state where the dense table costs V D; whole numbers
cost V D of 8 bits.
"""

import argparse
import statistics
import time
from dataclasses import asdict
from functools import cache

import torch
from torch import Tensor

from common import in_turns, ratio, record, start
from yakusu.compress import ByCodes, ByNumbers
from yakusu.model.table import DenseTable, Table
from yakusu.pipeline.compress import table_of
from yakusu.progress import Silent

KINDS = ("dense", "codes, M = D / 4", "whole numbers")
CALLS = 20


def vectors(vocab_size: int, width: int) -> Tensor:
    """Like embeddings: some directions vary more than others."""
    generator = torch.Generator().manual_seed(1)
    scales = torch.logspace(0, -1, width)
    return torch.randn(vocab_size - 1, width, generator=generator) * scales


@cache
def table(kind: str, vocab_size: int, width: int) -> Table:
    """A table of one kind, made once in its process."""
    dense = vectors(vocab_size, width)
    if kind == "dense":
        made = DenseTable(vocab_size, width)
        made.weight.data[:-1] = dense
        return made
    method = ByCodes(width // 4, 16) if kind.startswith("codes") else ByNumbers(0.1)
    words = [str(i) for i in range(len(dense))]
    return table_of(dense[:0], method(words, dense.numpy(), Silent()))


def run(kind: str, vocab_size: int, width: int, rows: int) -> float:
    """Seconds of one call, the median of many."""
    hidden, seconds = torch.randn(rows, width), []
    with torch.inference_mode():
        for _ in range(CALLS):
            began = time.perf_counter()
            table(kind, vocab_size, width).logits(hidden)
            seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def run_dense(*sizes: int) -> float:
    """See `run`."""
    return run(KINDS[0], *sizes)


def run_codes(*sizes: int) -> float:
    """See `run`."""
    return run(KINDS[1], *sizes)


def run_numbers(*sizes: int) -> float:
    """See `run`."""
    return run(KINDS[2], *sizes)


def main() -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: python benchmarks/output_layer.py --vocab 32000"
    )
    parser.add_argument("--vocab", type=int, default=32_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--rows", type=int, default=256, help="hypotheses at a time")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    sizes = (args.vocab, args.width, args.rows)
    sides = dict(zip(KINDS, (run_dense, run_codes, run_numbers), strict=True))
    seconds = in_turns(sides, args.rounds, lambda _: sizes, threads=args.threads)
    medians = {kind: statistics.median(each) for kind, each in seconds.items()}
    speeds = {kind: [1 / s for s in each] for kind, each in seconds.items()}
    gains = {kind: ratio(speeds[kind], speeds["dense"]) for kind in KINDS[1:]}
    for kind in KINDS:
        faster = f", {gains[kind]} times as fast as the dense table" if kind in gains else ""
        print(f"{kind}: {1e3 * medians[kind]:.2f} ms{faster}")
    if not args.no_record:
        name = f"V = {args.vocab:,}, D = {args.width}, {args.rows} rows"
        result = {"name": name, "seconds": medians, "rounds": seconds}
        result |= {"times as fast": {kind: asdict(gain) for kind, gain in gains.items()}}
        record("output_layer", result, seed=1, threads=args.threads)


if __name__ == "__main__":
    start(main)
