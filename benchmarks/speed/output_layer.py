"""Output layer of a translator by engine and kind of table, in turns, with one thread.

The time is that from hidden states to the best tokens of each hypothesis with their
log-probabilities. For each hidden state, torch takes V M + M D multiplications with codes and V D
with the other tables, all in float32: it rebuilds the vectors of integers at the first call. The
CPU engine expands every table when it opens a model; in int8, its time includes the rounding of
hidden states.

The engine's kernels are compiled with timers (as in `benchmarks.speed.breakdown`). They measure the
output layer in a beam search of a model with one layer: a quarter of the rows are sentences.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import torch
from torch import Tensor

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.speed.plain import SOURCE_LENGTHS, UNLIKELY, Shape, random_sources
from benchmarks.speed.profiled import Profiled
from benchmarks.speed.systems import cpu_flags, limits
from benchmarks.tables import FilledTable, fill, times
from benchmarks.workers import in_turns, speedup
from yakusu.data.vocabulary import EOS
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.library import MatrixFormat
from yakusu.engine.model import NativeModel
from yakusu.engine.workers import Threads
from yakusu.errors import RunError
from yakusu.model.architectures import build
from yakusu.model.config import TransformerConfig
from yakusu.model.table import DenseTable, Table
from yakusu.model.table_plans import TableName
from yakusu.native.library import instruction_set
from yakusu.search.candidates import top_k
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Query
from yakusu.search.tokens import TokenRules

DENSE, CODES, INTEGERS = "dense", "codes, M = D / 4", "integers"
BASE = f"torch: {DENSE}"
SIDES = (
    *(BASE, f"torch: {CODES}", f"torch: {INTEGERS}"),
    *(f"engine float32: {DENSE}", f"engine int8: {DENSE}"),
    *(f"engine int8: {CODES}", f"engine int8: {INTEGERS}"),
)
CALLS, BEAM, LENGTH = 20, 4, 33  # the first step of a search has one row per sentence

benchmark = Benchmark(
    "output_layer",
    __doc__,
    example="python -m benchmarks.speed.output_layer --vocab 32000 --width 512 --rows 256",
    quick={"vocab": 400, "width": 32, "rows": 8, "rounds": 1},
)
benchmark.option("--vocab", type=int, default=32_000, help="V, rows of the table (%(default)s)")
benchmark.option("--width", type=int, default=512, help="D, width of the table (%(default)s)")
benchmark.option("--rows", type=int, default=256, help="hypotheses per call (%(default)s)")
benchmark.option("--rounds", type=int, default=5, help="measured rounds (%(default)s)")


INTEGER_FLAGS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni")

_COLUMNS = (
    ("Engine and table", "{name}"),
    ("Milliseconds", times("seconds", 1e3, 2)),
    ("Speed-up over torch, dense", "{gain.value:,.2f}"),
    ("Lowest", "{gain.low:,.2f}"),
    ("Highest", "{gain.high:,.2f}"),
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Time of the output layer by engine and kind of table."""
    for record in records:
        gains = record["times as fast"]
        rows: list[dict[str, Any]] = [
            {
                "name": kind.replace("whole numbers", "integers"),
                "seconds": seconds,
                "gain": gains.get(kind),
            }
            for kind, seconds in record["seconds"].items()
        ]
        flags = [flag for flag in record.get("cpu flags", ()) if flag in INTEGER_FLAGS]
        suffix = f"; processor with {', '.join(flags)}" if flags else ""
        yield fill(_COLUMNS, rows, [record], record["name"] + suffix)


def vectors(vocab_size: int, width: int) -> Tensor:
    """Return vectors that resemble embeddings: some directions vary more than others."""
    generator = torch.Generator().manual_seed(1)
    scales = torch.logspace(0, -1, width)
    return torch.randn(vocab_size - 1, width, generator=generator) * scales


def table(kind: str, vocab_size: int, width: int) -> Table:
    """Return a table of one kind."""
    from benchmarks.compression.api import codes_table, integers_table

    dense = vectors(vocab_size, width)
    if kind == DENSE:
        made = DenseTable(vocab_size, width)
        made.weight.data[:-1] = dense
        return made
    if kind == INTEGERS:
        return integers_table(dense, step=0.1)
    return codes_table(dense, width // 4, 16)


@cache
def side(name: str, vocab_size: int, width: int) -> Callable[[int], float]:
    """Return a function that returns the seconds for a number of rows, made once per process."""
    engine, kind = name.split(": ")
    own = table(kind, vocab_size, width)
    if engine == "torch":
        return partial(in_torch, own)
    return partial(
        in_engine,
        native(own, vocab_size, width, MatrixFormat[engine.removeprefix("engine ").upper()]),
    )


def in_torch(own: Table, rows: int) -> float:
    """Return the seconds of one step of a search, the median of many."""
    hidden, seconds = torch.randn(rows, own(torch.tensor([0])).shape[1]), []
    with torch.inference_mode():
        for _ in range(CALLS):
            start = time.perf_counter()
            logits = own.logits(hidden)
            values, _ = top_k(logits, 2 * BEAM)
            values = values - logits.logsumexp(dim=-1, keepdim=True)
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def native(own: Table, vocab_size: int, width: int, matrices: MatrixFormat) -> NativeModel:
    """Return a model of the engine with one layer, this table, and an eos without probability."""
    heads = max(1, width // 64)
    config = TransformerConfig(
        n_layers=1, d_model=width, d_ff=width, n_heads=heads, output_bias=True
    )
    sizes = {"src_vocab_size": vocab_size, "tgt_vocab_size": vocab_size}
    model, plans = build(config, **sizes), []
    for name in get_args(TableName):
        setattr(model, name, own)
    if not isinstance(own, DenseTable):
        plans.append(own.plan(get_args(TableName)))
    weights = {name: each.detach().numpy() for name, each in model.weights().items()}
    weights["output_bias"] = 0 * weights["output_bias"]
    weights["output_bias"][EOS] = UNLIKELY
    return NativeModel(config, weights, plans, **sizes, matrices=matrices)


def in_engine(model: NativeModel, rows: int) -> float:
    """Return the seconds that the output layer takes for this number of rows."""
    vocab_size, n = model.tgt_vocab_size, max(1, rows // BEAM)
    sources = random_sources(n, Shape("", vocab_size, n), lengths=SOURCE_LENGTHS, seed=1)
    config = SearchConfig(beam=BEAM, max_length=LENGTH - 1, max_extra=1 << 20)
    rules = TokenRules(vocab_size - 1, slot_kinds=[1])
    timers = profiled()
    with timers.timers():
        decoder = NativeDecoder([model], Threads(1))
        decoder.search(list(map(Query, sources)), config, rules, batch=n)
    stage = timers.take()["output layer"]
    return stage.whole * rows / stage.rows


@cache
def profiled() -> Profiled:
    """Return the engine's kernels with timers, compiled once per process."""
    with TemporaryDirectory() as folder:
        return Profiled(Path(folder))


def run(vocab_size: int, width: int, rows: int, *, name: str) -> float:
    """Return the seconds of a side."""
    return side(name, vocab_size, width)(rows)


def main(args: argparse.Namespace) -> None:
    """Measure each side."""
    if args.threads != 1:
        raise RunError("the timers are for one thread: leave out --threads")
    sizes = (args.vocab, args.width, args.rows)
    sides = {name: partial(run, name=name) for name in SIDES}
    seconds = in_turns(sides, args.rounds, lambda _: sizes, threads=args.threads)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    speeds = {name: [1 / s for s in each] for name, each in seconds.items()}
    gains = {name: speedup(speeds[name], speeds[BASE]) for name in SIDES if name != BASE}
    for name in SIDES:
        faster = f", {gains[name]} times as fast as {BASE}" if name in gains else ""
        print(f"{name}: {1e3 * medians[name]:.3f} ms{faster}")
    limited = "".join(f", {name}={value}" for name, value in limits().items())
    title = f"V = {args.vocab:,}, D = {args.width}, {args.rows} rows{limited}"
    result = {"name": title, "seconds": medians, "rounds": seconds}
    stated = {"instruction set": instruction_set(), "cpu flags": cpu_flags()}
    gained = {name: asdict(gain) for name, gain in gains.items()}
    benchmark.record(result | {"times as fast": gained, **stated, "environment": limits()})


if __name__ == "__main__":
    benchmark.run(main)
