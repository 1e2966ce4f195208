"""Time that the command line takes to start: its help, and `yakusu translate` for one sentence.

Every measurement is a fresh process. A round runs each command once, so that all commands run under
the same load. The first round is not measured; it fills the caches. Besides the elapsed time, the
CPU time of each process is measured, which depends less on other processes.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.tables import Table, entries, fixed
from yakusu.errors import RunError

MODEL = Path(__file__).parents[2] / "tests" / "fixtures" / "format-1" / "transformer"
SENTENCE = "the red boat\n"
LIBRARIES = "import numpy, pydantic, safetensors, sentencepiece, typer"

benchmark = Benchmark(
    "startup",
    __doc__,
    example="python -m benchmarks.speed.startup --rounds 15",
    quick={"rounds": 1},
)
benchmark.option("--rounds", type=int, default=15, help="fresh processes of each (%(default)s)")
benchmark.option(
    "--model", type=Path, default=MODEL, help="model folder (default: a small one of the tests)"
)


_GOALS = {"yakusu --help": 0.3, "yakusu translate --help": 0.3, "yakusu translate": 0.5}  # seconds

tables = Table(
    (
        ("Command", "{name}"),
        ("Seconds", "{seconds:,.2f}"),
        ("Lowest", "{low:,.2f}"),
        ("Highest", "{high:,.2f}"),
        ("CPU seconds", "{cpu_seconds:,.2f}"),
        ("Goal", lambda row: fixed(_GOALS.get(row["name"]))),
    ),
    rows=entries("costs"),
)


@dataclass(frozen=True)
class Cost:
    """Elapsed time and CPU time (user and system) of a process, in seconds."""

    seconds: float
    cpu_seconds: float


def commands(model: Path) -> dict[str, list[str]]:
    """Return the measured commands by name."""
    python = sys.executable
    yakusu = [python, "-m", "yakusu"]
    return {
        "python": [python, "-c", "pass"],
        LIBRARIES: [python, "-c", LIBRARIES],
        "yakusu --help": [*yakusu, "--help"],
        "yakusu translate --help": [*yakusu, "translate", "--help"],
        "yakusu translate": [*yakusu, "translate", str(model)],
    }


def cost(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run a command in a fresh process, with one sentence on standard input.

    Raises:
        RunError: The command fails.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, input=SENTENCE, capture_output=True, text=True, env=environment)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RunError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return Cost(seconds, user + system)


def measure(model: Path, rounds: int, threads: int) -> dict[str, list[Cost]]:
    """Return the cost of every command in every round."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    costs: dict[str, list[Cost]] = {name: [] for name in commands(model)}
    for number in range(-1, rounds):
        for name, command in commands(model).items():
            found = cost(command, environment)
            if number >= 0:
                costs[name].append(found)
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return costs


def summary(costs: Sequence[Cost]) -> dict[str, float]:
    """Return the medians over all rounds, and the shortest and the longest elapsed time."""
    seconds = [each.seconds for each in costs]
    return {
        "seconds": round(statistics.median(seconds), 4),
        "low": round(min(seconds), 4),
        "high": round(max(seconds), 4),
        "cpu_seconds": round(statistics.median(each.cpu_seconds for each in costs), 4),
    }


def main(args: argparse.Namespace) -> None:
    """Measure and print the costs of all commands."""
    costs = measure(args.model, args.rounds, args.threads)
    found: dict[str, Any] = {name: summary(each) for name, each in costs.items()}
    print(f"{'':58}  seconds  lowest  highest  CPU seconds")
    for name, each in found.items():
        numbers = f"{each['seconds']:9.3f}{each['low']:8.3f}{each['high']:9.3f}"
        print(f"{name:58}{numbers}{each['cpu_seconds']:13.3f}")
    benchmark.record({"rounds": args.rounds, "model": args.model.name, "costs": found})


if __name__ == "__main__":
    benchmark.run(main)
