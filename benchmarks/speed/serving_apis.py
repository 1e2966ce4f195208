"""Throughput of `yakusu serve` by API: DeepL's `/v2/translate` and LibreTranslate's `/translate`.

Both paths get the same sentences, one in each request, from clients whose connections stay open. A
round measures each path; the paths take turns in being first. The first round is not measured.
"""

import argparse
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.services import Service
from benchmarks.speed.serving_processes import Running
from benchmarks.speed.systems import summary
from benchmarks.tables import Table, spread_of
from yakusu.data.files.text import read_lines
from yakusu.errors import RunError
from yakusu.translator.folder.folder import ModelFolder

_LIBRE, _DEEPL = "/translate", "/v2/translate"

benchmark = Benchmark(
    "serving_apis",
    __doc__,
    example="python -m benchmarks.speed.serving_apis --model runs/demo-en-de/model --record",
    needs=["data", "model"],
    threads=2,
    quick={"requests": 6, "clients": 3, "rounds": 1, "threads": 1},
)
benchmark.option("--src", type=Path, help="sentences (default: multi30k/test2016.en of --data)")
benchmark.option("--clients", type=int, default=16, help="%(default)s")
benchmark.option("--requests", type=int, default=1000, help="of a path in a round (%(default)s)")
benchmark.option("--rounds", type=int, default=9, help="%(default)s")
benchmark.option("--port", type=int, default=5090, help="of the service (%(default)s)")

tables = Table(
    (
        ("Model and sentences", "{name}"),
        ("Clients", "{clients}"),
        ("Requests in a round", "{requests:,.0f}"),
        ("`/translate`, requests per second", spread_of("libre")),
        ("`/v2/translate`", spread_of("deepl")),
        ("Ratio", spread_of("ratio", 3)),
    )
)


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """The requests per second of each path, and the ratio of the paths, over all rounds.

    Raises:
        RunError: The paths translate differently.
    """
    path = args.src or args.data / "multi30k" / "test2016.en"
    texts = [*islice(filter(str.strip, read_lines(path)), args.requests)]
    config = ModelFolder.open(args.model).config
    pair = {"source": config.source_language, "target": config.target_language}
    command = [sys.executable, "-m", "yakusu", "serve", str(args.model)]
    command += ["--set", f"threads={args.threads}"]
    rates: dict[str, list[float]] = {_LIBRE: [], _DEEPL: []}
    side = [sys.executable, "-m", "benchmarks.speed.serving_load"]
    with Running(command, args.port, {"q": texts[0], **pair}) as service, Service(side) as load:
        for number in range(args.rounds + 1):
            made = []
            for each in rates if number % 2 else reversed(rates):
                asked = {"texts": texts, "clients": args.clients, "path": each, **pair}
                done = load("load", port=service.port, **asked)
                made.append(done["texts"])
                if number:
                    rates[each].append(len(texts) / done["seconds"])
            if made[0] != made[1]:
                raise RunError(f"{_LIBRE} and {_DEEPL} translate differently")
    ratios = [deepl / libre for libre, deepl in zip(*rates.values(), strict=True)]
    model = args.model.parent.name if args.model.name == "model" else args.model.name
    return {
        "name": f"{model}, {path.name}",
        "clients": args.clients,
        "requests": len(texts),
        "libre": summary(rates[_LIBRE]),
        "deepl": summary(rates[_DEEPL]),
        "ratio": summary(ratios),
    }


def main(args: argparse.Namespace) -> None:
    """Measure, record and print the medians with the extremes."""
    measured = measure(args)
    benchmark.record(measured)
    for name, digits in (("libre", 0), ("deepl", 0), ("ratio", 3)):
        own = measured[name]
        low, high = (f"{own[each]:.{digits}f}" for each in ("low", "high"))
        print(f"{name}: {own['median']:.{digits}f} ({low} to {high})")


if __name__ == "__main__":
    benchmark.run(main)
