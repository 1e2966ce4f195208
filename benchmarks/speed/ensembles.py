"""Speed of ensembles, relative to that of their first member.

Members have the same sizes and different random weights; every translation has the same length. A
step of n members takes at least n steps of one, so the ideal relative speed is 1 / n: the table
gives n times the relative speed. If one member fits in a cache and n do not, as in small batches
of small models, memory limits it; "same weights" are n times the same member. The time is CPU time
of one thread, in turns, in one process.
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
from benchmarks.speed.plain import SHAPES, SOURCE_LENGTHS, random_sources, write_random
from benchmarks.speed.systems import cpu_flags
from benchmarks.tables import FilledTable, fill, spread_of
from yakusu.arrays import ArraysOnDisk
from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.model import NativeModel
from yakusu.engine.workers import Threads
from yakusu.model.config import TransformerConfig
from yakusu.native.library import instruction_set
from yakusu.recipe import load_recipe
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Query
from yakusu.search.tokens import TokenRules

GOAL = 0.85

benchmark = Benchmark(
    "ensembles",
    __doc__,
    example="python -m benchmarks.speed.ensembles --record",
    quick={"shapes": ["small"], "cells": ["4x2"], "length": 5, "rounds": 1},
)
benchmark.option("--shapes", nargs="+", choices=SHAPES, default=["base", "tiny"], help="all")
benchmark.option(
    "--cells", nargs="+", default=["1x1", "1x4", "16x4", "64x4", "64x1"], metavar="BATCHxBEAM"
)
benchmark.option("--length", type=int, default=32, help="tokens per translation (%(default)s)")
benchmark.option("--rounds", type=int, default=5, help="measured rounds (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="of the weights and sources (%(default)s)")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """n times the relative speed of n members."""
    columns = [
        ("Batch x beam", "{cell}"),
        ("One member, tokens/s", spread_of("1")),
        ("2 members", "{ratios.2:.2f}"),
        ("3 members", "{ratios.3:.2f}"),
        ("3 times the same weights", "{ratios.same:.2f}"),
        ("Goal", f"{GOAL}"),
    ]
    for record in records:
        rows = [{"cell": cell, **found} for cell, found in record["cells"].items()]
        yield fill(columns, rows, [record], f"{record['name']}; {record['instruction set']}")


def members(name: str, scratch: Path, seed: int) -> list[NativeModel]:
    """Three models of a shape."""
    shape, models = SHAPES[name], []
    config = load_recipe(shape.recipe).model
    assert isinstance(config, TransformerConfig)
    config = config.model_copy(update={"output_bias": True, **shape.settings})
    sizes = {"src_vocab_size": shape.vocab_size, "tgt_vocab_size": shape.vocab_size}
    for i in range(3):
        out = scratch / f"{name}-{i}"
        write_random(shape, out, seed=seed + i)
        weights = ArraysOnDisk(out / "model.safetensors")
        matrices = EngineConfig().matrices(config.d_model)
        models.append(NativeModel(config, weights, **sizes, matrices=matrices))
    return models


def measure(name: str, models: list[NativeModel], cell: str, args: argparse.Namespace) -> Any:
    """The speeds of a cell."""
    shape, (batch, beam) = SHAPES[name], map(int, cell.split("x"))
    n = max(shape.sentences // 4, batch)
    queries = [*map(Query, random_sources(n, shape, lengths=SOURCE_LENGTHS, seed=args.seed))]
    config = SearchConfig(beam=beam, max_length=args.length - 1, max_extra=1 << 20)
    rules = TokenRules(shape.vocab_size - 1, slot_kinds=[1])
    sides = {"1": models[:1], "2": models[:2], "3": models, "same": 3 * models[:1]}
    decoders = {side: NativeDecoder(own, Threads(1)) for side, own in sides.items()}
    speeds: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(-1, args.rounds):
        for side, decoder in decoders.items():
            start = time.process_time()
            decoder.search(queries, config, rules, batch=batch)
            seconds = time.process_time() - start
            if number >= 0:
                speeds[side].append(n * args.length / seconds)
    medians = {side: statistics.median(own) for side, own in speeds.items()}
    ratios = {side: len(sides[side]) * own / medians["1"] for side, own in medians.items()}
    print(name, cell, {side: round(ratio, 3) for side, ratio in ratios.items()}, flush=True)
    own = speeds["1"]
    one = {"median": medians["1"], "low": min(own), "high": max(own)}
    return {"1": one, "ratios": ratios, "rounds": speeds}


def main(args: argparse.Namespace) -> None:
    """Measure each shape."""
    with TemporaryDirectory() as scratch:
        for name in args.shapes:
            models = members(name, Path(scratch), args.seed)
            found = {cell: measure(name, models, cell, args) for cell in args.cells}
            result = {"name": f"{name}, random weights", "cells": found, "length": args.length}
            stated = {"instruction set": instruction_set(), "cpu flags": cpu_flags()}
            benchmark.record(result | stated | {"goal": GOAL}, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
