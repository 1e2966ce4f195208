"""How speed changes with the number of threads and with the length of sentences.

Models with random weights; every translation has a given length, as in `benchmarks.speed.engine`.
The speed-up of more threads is the ratio of the medians; all numbers of threads take turns.
CTranslate2 runs T threads as T batches at a time (T/1) and as T threads per batch (1/T).

For lengths, one thread translates one sentence at a time. A translation has as many tokens as its
source.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.speed.plain import SHAPES, SOURCE_LENGTHS, random_sources, write_random
from benchmarks.speed.systems import (
    OURS,
    PEER,
    Model,
    Rounds,
    System,
    add_options,
    check_lengths,
    chosen,
    compared,
    conditions,
    in_turns,
    searching,
    started,
    summary,
    title_of,
)
from benchmarks.tables import Columns, FilledTable, Row, entries, fill, spread_of

benchmark = Benchmark(
    "scaling",
    __doc__,
    example="python -m benchmarks.speed.scaling --peer-python peers/bin/python --record",
    threads=2,
    quick={
        **{"shapes": ["small"], "counts": [1, 2], "lengths": [5, 10], "tokens": 20, "batch": 4},
        **{"rounds": 1, "length": 5},
    },
)
add_options(benchmark, systems=(OURS, PEER), rounds=3)
benchmark.option("--shapes", nargs="+", choices=SHAPES, default=["base", "tiny"], help="all")
benchmark.option("--counts", nargs="*", type=int, default=[1, 2], help="of threads (%(default)s)")
benchmark.option("--batch", type=int, default=16, help="for the threads (%(default)s)")
benchmark.option("--length", type=int, default=32, help="tokens per translation (%(default)s)")
benchmark.option("--beam", type=int, default=4, help="%(default)s")
benchmark.option(
    "--lengths",
    nargs="*",
    type=int,
    default=[10, 20, 50, 100, 200, 500, 1000],
    help="of sources, in tokens (%(default)s)",
)
benchmark.option(
    "--tokens", type=int, default=1000, help="per length and round, at least (%(default)s)"
)
benchmark.option("--seed", type=int, default=1, help="of the weights and sources (%(default)s)")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Speed by threads, or time by length."""
    for record in records:
        columns: Columns
        rows: list[Row]
        if lengths := record.get("lengths"):
            systems = next(iter(lengths.values()))["milliseconds"]
            columns = [("Tokens", "{tokens}")] + [
                (f"{system}, ms per sentence", spread_of(f"milliseconds.{system}", 1))
                for system in systems
            ]
            rows = list(entries("lengths", "tokens")(record))
        else:
            columns = (
                ("System", "{name}"),
                ("Tokens per second", spread_of("speed")),
                ("Speed-up over one thread", "{gain:,.2f}"),
            )
            rows = [
                {"name": system, "speed": speed, "gain": record["speed-up"][system]}
                for system, speed in record["speeds"].items()
            ]
        yield fill(columns, rows, [record], title_of(record))


def with_threads(args: argparse.Namespace) -> list[System]:
    """The systems, each with every number of threads."""
    groups = dict.fromkeys(system.group for system in chosen(args))
    found: dict[System, None] = {}
    for group in groups:
        for n in args.counts:
            found[System(group, (n, 1))] = None
            if not System(group).is_ours:
                found[System(group, (1, n))] = None
    return list(found)


def by_threads(name: str, model: Model, args: argparse.Namespace) -> dict[str, Any]:
    """Speeds with each number of threads, in tokens per second."""
    shape, length = SHAPES[name], args.length
    n = max(shape.sentences, 2 * max(args.counts) * args.batch)
    ids = random_sources(n, shape, lengths=SOURCE_LENGTHS, seed=args.seed)
    request = {"sources": ids, "batch": args.batch, "beam": args.beam, "length": length}
    with started(with_threads(args), model, args) as services:
        rounds = in_turns(services, args.rounds, searching(request))
        stated = conditions(services)
    check_lengths(rounds, length)
    speeds = {
        system: summary([n * length / each["seconds"] for each in own])
        for system, own in rounds.items()
    }
    _show(name, speeds, "tokens/s")
    gains = {system: speed["median"] / _alone(system, speeds) for system, speed in speeds.items()}
    rounded = {system: round(gain, 3) for system, gain in gains.items()}
    sizes = {"batch": args.batch, "beam": args.beam, "sentences": n, "length": length}
    return {"name": f"{name}, threads", "speeds": speeds, "speed-up": rounded, **sizes, **stated}


def _alone(system: str, speeds: dict[str, Any]) -> float:
    """The speed of the same system with one thread."""
    group = system.rpartition(", ")[0]
    return float(speeds.get(f"{group}, 1/1", speeds[system])["median"])


def by_length(name: str, model: Model, args: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds per sentence of each length, with one thread."""
    shape, found = SHAPES[name], {}
    systems = [System(group, (1, 1)) for group in {s.group: None for s in chosen(args)}]
    with started(systems, model, args) as services:
        for length in args.lengths:
            n = max(1, args.tokens // length)
            ids = random_sources(n, shape, lengths=(length, length), seed=args.seed)
            request = {"sources": ids, "batch": 1, "beam": args.beam, "length": length}
            rounds = in_turns(services, args.rounds, searching(request))
            check_lengths(rounds, length)
            found[str(length)] = _lengths(f"{name}, {length}", rounds, n)
        stated = conditions(services)
    return {"name": f"{name}, lengths", "beam": args.beam, "lengths": found, **stated}


def _lengths(name: str, rounds: Rounds, n: int) -> dict[str, Any]:
    times = {s: summary([1e3 * each["seconds"] / n for each in own]) for s, own in rounds.items()}
    speeds = {s: summary([n / each["seconds"] for each in own]) for s, own in rounds.items()}
    _show(name, times, "ms per sentence")
    return {"milliseconds": times, "ratios": compared(speeds), "sentences": n}


def _show(name: str, values: dict[str, Any], unit: str) -> None:
    for system, own in values.items():
        text = f"{own['median']:10,.1f} {unit} ({own['low']:,.1f} to {own['high']:,.1f})"
        print(f"{name:12}{system:28}{text}", flush=True)


def main(args: argparse.Namespace) -> None:
    """Measure each shape."""
    for name in args.shapes:
        with TemporaryDirectory() as folder:
            model = Model(Path(folder) / "plain")
            write_random(SHAPES[name], model.plain, seed=args.seed)
            if args.counts:
                benchmark.record(by_threads(name, model, args), seed=args.seed)
            if args.lengths:
                benchmark.record(by_length(name, model, args), seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
