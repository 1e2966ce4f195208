"""Where the engine's time goes, and how far that is from the limits of the processor.

The engine's kernels are compiled a second time, with timers around their parts. Both versions run
the same sentences with one thread, in turns; "timers" is the ratio of their times. Microseconds per
generated token:

    encoder, decoder, output layer   products: products of matrices; rounding: activations to
                                     integers; attention; other: the rest, such as normalisation
    search                           the rest of the engine: hypotheses, queues, memory
    Python                           what is outside the calls that decode

The bound of a stage is the minimum time of its products: one multiplication and one addition per
weight and row at the speed of the integer units, or one pass over its weights per step, whichever
is longer. Short loops measure both speeds with one thread in the same run: products of 8-bit
integers, of which the units compute twice as many as of 16 bits, and reading as many bytes as the
weights of the decoder and the output layer have, all of which are read at each step. The products
are those of the fastest round.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.speed import engine_side
from benchmarks.speed.plain import SHAPES, SOURCE_LENGTHS, Shape, random_sources, write_random
from benchmarks.speed.profiled import Profiled, Stage, timed_calls
from benchmarks.speed.systems import cpu_flags
from benchmarks.tables import FilledTable, fixed
from yakusu.engine.config import EngineConfig
from yakusu.errors import RunError
from yakusu.model.config import TransformerConfig
from yakusu.recipe import load_recipe

benchmark = Benchmark(
    "breakdown",
    __doc__,
    example="python -m benchmarks.speed.breakdown --record",
    quick={"shapes": ["small"], "cells": ["1x1", "4x2"], "length": 5, "rounds": 1},
)
benchmark.option("--shapes", nargs="+", choices=SHAPES, default=["base", "tiny"], help="all")
benchmark.option(
    "--cells",
    nargs="+",
    default=["1x1", "1x4", "16x4", "64x4"],
    metavar="BATCHxBEAM",
    help="%(default)s",
)
benchmark.option("--length", type=int, default=32, help="tokens per translation (%(default)s)")
benchmark.option("--rounds", type=int, default=5, help="measured rounds (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="of the weights and sources (%(default)s)")
_SIZES = {"int8": 1, "int16": 2}  # bytes of a weight


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Microseconds per token of each part, and the bounds."""
    for record in records:
        cells = record["cells"]
        parts = dict.fromkeys(part for cell in cells.values() for part in cell["microseconds"])
        rows = [
            [part, *(fixed(cell["microseconds"].get(part), 1) for cell in cells.values())]
            for part in parts
        ]
        rows.append(["without timers", *(fixed(cell["whole"], 1) for cell in cells.values())])
        rows.append(["with timers / without", *(fixed(cell["timers"]) for cell in cells.values())])
        title = f"{record['name']}; {record['instruction set']}"
        yield FilledTable(["Microseconds per token", *cells], rows, [record], title)
        rows = [
            [cell, stage, *(fixed(value, 2 if "bound" in key else 1) for key, value in own.items())]
            for cell, found in cells.items()
            for stage, own in found["bounds"].items()
        ]
        names = next(iter(next(iter(cells.values()))["bounds"].values()))
        head = ["Batch x beam", "Products of the", *names]
        yield FilledTable(head, rows, [record], f"{title}, bounds")


def weights(config: TransformerConfig, vocab_size: int) -> dict[str, int]:
    """The number of weights that each stage multiplies a row with."""
    attention, n = 4 * config.d_model**2, config.d_model * config.d_ff
    encoder, decoder = config.depths
    key_value = attention // 2  # of the source, which the encoder's stage computes
    return {
        "encoder": encoder * (attention + 2 * n) + decoder * key_value,
        "decoder": decoder * (attention + key_value + 2 * n),
        "output layer": vocab_size * config.d_model,
    }


def measure(
    shape: Shape, cell: str, profiled: Profiled, args: argparse.Namespace
) -> dict[str, Any]:
    """The parts of a cell, in microseconds per token, and their bounds."""
    batch, beam = map(int, cell.split("x"))
    n = max(shape.sentences, batch)
    ids = random_sources(n, shape, lengths=SOURCE_LENGTHS, seed=args.seed)
    request = {"sources": ids, "batch": batch, "beam": beam, "length": args.length}
    n_tokens = n * args.length
    plain, timed = [], []
    for number in range(-1, args.rounds):
        start = time.perf_counter()
        engine_side.search(**request)
        middle = time.perf_counter()
        with profiled.timers(), timed_calls() as calls:
            engine_side.search(**request, timed=True)
        end = time.perf_counter()
        if number >= 0:
            plain.append(middle - start)
            timed.append((end - middle, sum(calls), profiled.take()))
    per_token = 1e6 / n_tokens
    parts = [{k: per_token * s for k, s in _parts(*each).items()} for each in timed]
    medians = {key: statistics.median(each[key] for each in parts) for key in parts[0]}
    whole = statistics.median(plain) * per_token
    return {
        "microseconds": {key: round(value, 3) for key, value in medians.items()},
        "whole": round(whole, 3),
        "low": round(min(plain) * per_token, 3),
        "high": round(max(plain) * per_token, 3),
        "timers": round(statistics.median(each[0] for each in timed) * per_token / whole, 3),
        "bounds": _bounds(
            min(timed, key=_whole)[2],
            weights(_config(shape), shape.vocab_size),
            _SIZES[precision_of(shape)],
            profiled,
        ),
        "tokens": n_tokens,
    }


def precision_of(shape: Shape) -> str:
    """The precision that the engine chooses for models of a shape."""
    return EngineConfig().matrices(_config(shape).d_model).name.lower()


def _config(shape: Shape) -> TransformerConfig:
    config = load_recipe(shape.recipe).model
    assert isinstance(config, TransformerConfig)
    return config


def _whole(timed: tuple[float, float, dict[str, Stage]]) -> float:
    return timed[0]


def _parts(whole: float, in_engine: float, stages: dict[str, Stage]) -> dict[str, float]:
    """Seconds of each part; their sum is `whole`."""
    found: dict[str, float] = {}
    for name, stage in stages.items():
        own = dict(stage.seconds)
        own["other"] += stage.whole - sum(own.values())
        found |= {f"{name}, {kind}": seconds for kind, seconds in own.items() if seconds}
    search = in_engine - sum(stage.whole for stage in stages.values())
    return found | {"search": search, "Python": whole - in_engine}


def _bounds(
    stages: dict[str, Stage], n_weights: dict[str, int], size: int, profiled: Profiled
) -> dict[str, Any]:
    """For each stage, the speeds of its products and the share of the time that is the bound."""
    most, found = profiled.operations_per_second() / size, dict[str, Any]()
    of_a_step = size * (n_weights["decoder"] + n_weights["output layer"])
    fastest = profiled.bytes_per_second(of_a_step)
    for name, stage in stages.items():
        operations, n_bytes = 2 * n_weights[name] * stage.rows, size * n_weights[name] * stage.calls
        seconds = stage.seconds["products"]
        bound = max(operations / most if most else 0, n_bytes / fastest)
        found[name] = {
            "GOP/s": round(operations / seconds / 1e9, 1),
            "GOP/s at most": round(most / 1e9, 1),
            "GB/s": round(n_bytes / seconds / 1e9, 1),
            "GB/s at most": round(fastest / 1e9, 1),
            "bound / time": round(bound / seconds, 3),
        }
    return found


def show(name: str, found: dict[str, Any]) -> None:
    """Print a cell."""
    print(f"{name}: {found['whole']:.1f} us per token, timers {found['timers']:.2f}")
    total = sum(found["microseconds"].values())
    for part, value in found["microseconds"].items():
        print(f"  {part:26}{value:10.1f} us{value / total:8.1%}")
    for stage, own in found["bounds"].items():
        print(f"  {stage}: " + ", ".join(f"{key} {value}" for key, value in own.items()))


def main(args: argparse.Namespace) -> None:
    """Measure each shape."""
    if args.threads != 1:
        raise RunError("the timers are for one thread: leave out --threads")
    with TemporaryDirectory() as folder:
        profiled = Profiled(Path(folder))
        for name in args.shapes:
            path, cells = Path(folder) / name, {}
            write_random(SHAPES[name], path, seed=args.seed)
            precision = precision_of(SHAPES[name])
            engine_side.load_plain(str(path), "native", precision, threads=1)
            for cell in args.cells:
                cells[cell] = measure(SHAPES[name], cell, profiled, args)
                show(f"{name} {cell}", cells[cell])
            stated = {"instruction set": profiled.kernels, "cpu flags": cpu_flags()}
            measured = {"name": f"{name}, {precision}", "length": args.length, "cells": cells}
            benchmark.record({**measured, **stated}, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
