"""Count the calls, functions and files that a sentence crosses on its way to its translation.

Python's profiler reports every call of a function in the package, including comprehensions. A
change of file is a call in another file than the call before. Each trip runs once before it is
counted, so caches are warm. The engine runs on one thread, in the calling thread.

`--source` measures another checkout, such as the commit before a refactoring.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.tables import Table

HERE = Path(__file__).parents[2]

benchmark = Benchmark(
    "trips",
    __doc__,
    example="python -m benchmarks.reliability.trips --source ../yakusu-before",
)
benchmark.option(
    "--source", type=Path, default=HERE, help="checkout to measure (default: this one)"
)
benchmark.option(
    "--trips-model",
    type=Path,
    default=HERE / "tests" / "fixtures" / "format-1" / "transformer",
    help="model folder (default: a fixture of the tests)",
)

tables = Table(
    (
        ("Trip", "{name}"),
        ("Version", "{trial}"),
        ("Calls", "{calls:,.0f}"),
        ("Functions", "{functions:,.0f}"),
        ("Files", "{files:,.0f}"),
        ("Changes of file", "{changes:,.0f}"),
        ("Call depth", "{depth:,.0f}"),
    )
)

_SIDE = """
import json, sys, tempfile
from pathlib import Path

import yakusu
from yakusu.documents.registry import read_document
from yakusu.engine.config import EngineConfig

ROOT = str(Path(yakusu.__file__).parent)
translator = yakusu.Translator.load(sys.argv[1], engine=EngineConfig(threads=1))


def counted(trip):
    calls, functions, depth, deepest = [], set(), 0, 0

    def profile(frame, event, _):
        nonlocal depth, deepest
        if not frame.f_code.co_filename.startswith(ROOT):
            return
        if event == "call":
            depth += 1
            deepest = max(deepest, depth)
            calls.append(frame.f_code.co_filename)
            functions.add(frame.f_code)
        elif event == "return":
            depth -= 1

    trip()
    sys.setprofile(profile)
    trip()
    sys.setprofile(None)
    changes = sum(one != other for one, other in zip(calls, calls[1:]))
    return dict(
        calls=len(calls), functions=len(functions), files=len(set(calls)), changes=changes,
        depth=deepest,
    )


def paragraph():
    document = read_document(page)
    document.render([best[0].text for best in translator.stream(document.texts)])


with tempfile.TemporaryDirectory() as folder:
    page = Path(folder) / "page.html"
    page.write_text("<p>the <b>small</b> boat sees {name}</p>")
    trips = {
        "a sentence of 4 words": lambda: translator.translate(["the small boat sees"]),
        "the same with a tag and a placeholder": lambda: translator.translate(
            ["the <b>small</b> boat sees {name}"]
        ),
        "an HTML paragraph": paragraph,
    }
    print(json.dumps({name: counted(trip) for name, trip in trips.items()}))
"""


def commit_of(checkout: Path) -> str:
    """The commit of another checkout."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(args: argparse.Namespace) -> None:
    """Count, and print the result."""
    environment = {**os.environ, "PYTHONPATH": str(args.source / "src")}
    command = [sys.executable, "-c", _SIDE, str(args.trips_model.resolve())]
    found: dict[str, dict[str, Any]] = json.loads(
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    )
    version = "now" if args.source.resolve() == HERE else commit_of(args.source)
    for name, counts in found.items():
        print(f"{name}: " + ", ".join(f"{value:,} {what}" for what, value in counts.items()))
        benchmark.record({"name": name, "trial": version, **counts})


if __name__ == "__main__":
    benchmark.run(main)
