"""Speed of the CPU engine compared with CTranslate2, in turns, round by round.

With random weights, all systems run the same model on the same ids, and every translation has the
same length: eos has no probability, and the search ends at a limit. A translation of N tokens takes
N steps of the decoder in each system; in yakusu the last of them is eos. Speeds are generated
tokens per second, from ids to ids. Margins (--systems) are measured with trained models only,
because their effect depends on the probabilities.

With trained models (--models NAME=PATH), sentences are translated from text to text, each line as
one sentence; tokenisation is included. Speeds are sentences per second. BLEU is given alongside,
because the translations differ. Marian runs only these models, and only post-norm ones; unless
they have `positions = "tensor2tensor"`, its sinusoids have other frequencies than theirs, and its
BLEU is not that of the models as trained.

The ratio is that of the medians, at CTranslate2's setting of threads with the best median; "worst"
is the lowest ratio of a round, to CTranslate2's best setting in that round.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.speed.evaluation_sets import add_named_paths, add_set_options, read_sets
from benchmarks.speed.plain import (
    SHAPES,
    SOURCE_LENGTHS,
    random_sources,
    write_random,
    write_trained,
)
from benchmarks.speed.systems import (
    OURS,
    PEER,
    Model,
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
from benchmarks.tables import FilledTable, fill, score_of, spread_of

CELLS = ("1x1", "1x4", "16x4", "64x4", "64x1")
OTHERS = {"Marian": "Marian", "generate": "Hugging Face"}  # slow: measured in a run of their own

benchmark = Benchmark(
    "engine",
    __doc__,
    example="python -m benchmarks.speed.engine --peer-python peers/bin/python --record",
    threads=2,
    quick={"shapes": ["small"], "cells": ["1x1", "4x2"], "length": 5, "rounds": 1},
)
add_options(benchmark, systems=(OURS, PEER))
add_named_paths(benchmark, "models", "model folders of trained models")
add_set_options(benchmark)
benchmark.option("--shapes", nargs="*", choices=SHAPES, default=["base", "tiny"], help="all")
benchmark.option("--cells", nargs="+", default=CELLS, metavar="BATCHxBEAM", help="%(default)s")
benchmark.option("--length", type=int, default=32, help="tokens per translation (%(default)s)")
benchmark.option("--sentences", type=int, default=1000, help="at most (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="of the weights and sources (%(default)s)")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Speed of each system by batch and beam."""
    for record in records:
        rows = [
            {
                "cell": name,
                "system": system,
                "speed": speed,
                "ratio": (cell["ratios"] or {}).get(system),
                "bleu": cell.get("bleu", {}).get(system),
            }
            for name, cell in record["cells"].items()
            for system, speed in cell["speeds"].items()
        ]
        columns = [
            ("Batch x beam", "{cell}"),
            ("System", "{system}"),
            (f"{record['unit'].capitalize()} per second", spread_of("speed")),
            ("Ratio", "{ratio.value:,.2f}"),
            ("Worst round", "{ratio.worst:,.2f}"),
            *([("BLEU", score_of("bleu"))] if any(row["bleu"] for row in rows) else []),
        ]
        yield fill(columns, rows, [record], title_of(record))


def cells(args: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    """The cells by name, with batch size and beam."""
    for name in args.cells:
        batch, beam = map(int, name.split("x"))
        yield name, batch, beam


def random_systems(args: argparse.Namespace) -> list[System]:
    """The systems that are measured with random weights."""
    return [
        system
        for system in chosen(args)
        if system.margin is None and not system.group.startswith("Marian")
    ]


def measure_random(name: str, args: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Speeds of all systems with random weights.

    Raises:
        RunError: A translation has another length.
    """
    shape, model = SHAPES[name], Model(scratch / name)
    write_random(shape, model.plain, seed=args.seed)
    systems = random_systems(args)
    found: dict[str, Any] = {}
    with started(systems, model, args) as services:
        for cell, batch, beam in cells(args):
            n = max(min(shape.sentences, args.sentences), args.threads * batch)
            ids = random_sources(n, shape, lengths=SOURCE_LENGTHS, seed=args.seed)
            request = {"sources": ids, "batch": batch, "beam": beam, "length": args.length}
            rounds = in_turns(services, args.rounds, searching(request))
            check_lengths(rounds, args.length)
            speeds = {
                system: summary([len(ids) * args.length / each["seconds"] for each in own])
                for system, own in rounds.items()
            }
            found[cell] = _shown(name, cell, speeds, "tokens/s") | {"sentences": len(ids)}
        stated = conditions(services)
    stated |= {"length": args.length, "unit": "tokens", "cells": found}
    return {"name": f"{name}, random weights{_remarks(args.systems, stated)}", **stated}


def measure_set(name: str, args: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Speeds and BLEU of all systems on a test set."""
    test = read_sets(args, args.models)[name].first(args.sentences)
    model = Model(scratch / name, test.model)
    write_trained(test.model, model.plain)
    systems = [system for system in chosen(args) if not system.group.startswith("generate")]
    found: dict[str, Any] = {}
    with started(systems, model, args) as services:
        for cell, batch, beam in cells(args):

            def ask(system: System, service: Any, batch: int = batch, beam: int = beam) -> Any:
                search = test.search(beam, system)
                return service("translate", lines=test.sources, batch=batch, search=search)

            some = {s: each for s, each in services.items() if s.margin is None or beam > 1}
            rounds = in_turns(some, args.rounds, ask)
            n = len(test.sources)
            speeds = {
                s: summary([n / each["seconds"] for each in own]) for s, own in rounds.items()
            }
            found[cell] = _shown(name, cell, speeds, "sentences/s") | {
                "tokens": {system: own[0]["tokens"] for system, own in rounds.items()},
                "bleu": {s: test.score(own[0]["texts"])["bleu"] for s, own in rounds.items()},
            }
            print("\n".join(f"{s:28}{bleu}" for s, bleu in found[cell]["bleu"].items()))
        stated = conditions(services)
    stated |= {"unit": "sentences", "sentences": len(test.sources), "cells": found}
    return {"name": f"{name}, {args.sources[name].name}{_remarks(args.systems, stated)}", **stated}


def _remarks(systems: list[str], stated: dict[str, Any]) -> str:
    """What the name of a record says about other systems and limited instruction sets."""
    groups = {system.split()[0] for system in systems}
    others = [f", with {OTHERS[group]}" for group in sorted(groups & OTHERS.keys())]
    limits = [f", {name}={value}" for name, value in stated.get("environment", {}).items()]
    return "".join([*others, *limits])


def _shown(name: str, cell: str, speeds: dict[str, Any], unit: str) -> dict[str, Any]:
    """Print the speeds of a cell."""
    ratios = compared(speeds)
    for system, own in speeds.items():
        text = f"{own['median']:10,.1f} {unit} ({own['low']:,.1f} to {own['high']:,.1f})"
        ratio = ratios.get(system)
        gain = f"  {ratio['value']:.2f} times {PEER}, worst {ratio['worst']:.2f}" if ratio else ""
        print(f"{name:8}{cell:6}{system:28}{text}{gain}", flush=True)
    return {"speeds": speeds, "ratios": ratios}


def main(args: argparse.Namespace) -> None:
    """Measure each shape, then each test set."""
    with TemporaryDirectory() as folder:
        for shape in args.shapes:
            if random_systems(args):
                benchmark.record(measure_random(shape, args, Path(folder)), seed=args.seed)
        for name in args.models:
            benchmark.record(measure_set(name, args, Path(folder)))


if __name__ == "__main__":
    benchmark.run(main)
