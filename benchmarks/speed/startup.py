"""Time that the command line takes to start: its help, and `yakusu translate` for one sentence.

Every measurement is a fresh process. A round runs each command once, so that all commands run under
the same load. The first round is not measured; it fills the caches. Besides the elapsed time, the
time until the first line of output is measured, the CPU time of each process, which depends less on
other processes, and its peak memory until that line.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.memory import PEAK, mib
from benchmarks.tables import Table, entries, fixed
from yakusu.errors import RunError

MODEL = Path(__file__).parents[2] / "tests" / "fixtures" / "format-1" / "transformer"
SENTENCE = b"the red boat\n"
LIBRARIES, _FLUSH = "import numpy, sentencepiece", "print(flush=True)"

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


_GOALS = {"yakusu --help": 0.15, "yakusu translate": 0.2}  # seconds until the first line

tables = Table(
    (
        ("Command", "{name}"),
        ("Seconds until the first line", "{first:,.2f}"),
        ("Goal", lambda row: fixed(_GOALS.get(row["name"]))),
        ("Seconds", "{seconds:,.2f}"),
        ("Lowest", "{low:,.2f}"),
        ("Highest", "{high:,.2f}"),
        ("CPU seconds", "{cpu_seconds:,.2f}"),
        ("MiB", "{mib:,.0f}"),
    ),
    rows=entries("costs"),
)


@dataclass(frozen=True)
class Cost:
    """What a process costs.

    Attributes:
        first: Seconds until its first line of output.
        seconds: Elapsed time.
        cpu_seconds: User and system time.
        mib: Largest resident set until the first line.
    """

    first: float
    seconds: float
    cpu_seconds: float
    mib: float


def commands(model: Path) -> dict[str, list[str]]:
    """Return the measured commands by name."""
    python = sys.executable
    yakusu = [python, "-m", "yakusu"]
    return {
        "python": [python, "-c", _FLUSH],
        LIBRARIES: [python, "-c", f"{LIBRARIES}; {_FLUSH}"],
        "yakusu --help": [*yakusu, "--help"],
        "yakusu translate --help": [*yakusu, "translate", "--help"],
        "yakusu translate": [*yakusu, "translate", str(model)],
    }


def cost(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run a command in a fresh process, with one sentence on standard input.

    Raises:
        RunError: The command fails.
    """
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(SENTENCE)
        process.stdin.close()
        process.stdout.readline()
        first, peak = time.perf_counter() - start, mib(PEAK, process.pid)
        process.stdout.read()
        said = process.stderr.read().decode()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RunError(f"{' '.join(command)} failed: {said.strip()}")
    seconds = time.perf_counter() - start
    return Cost(first, seconds, used.ru_utime + used.ru_stime, peak)


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
        "first": round(statistics.median(each.first for each in costs), 4),
        "seconds": round(statistics.median(seconds), 4),
        "low": round(min(seconds), 4),
        "high": round(max(seconds), 4),
        "cpu_seconds": round(statistics.median(each.cpu_seconds for each in costs), 4),
        "mib": round(statistics.median(each.mib for each in costs), 1),
    }


def main(args: argparse.Namespace) -> None:
    """Measure and print the costs of all commands."""
    costs = measure(args.model, args.rounds, args.threads)
    found: dict[str, Any] = {name: summary(each) for name, each in costs.items()}
    print(f"{'':28}    first  seconds   lowest  highest      CPU      MiB")
    for name, each in found.items():
        print(f"{name:28}", *(f"{value:8.3f}" for value in each.values()))
    benchmark.record({"rounds": args.rounds, "model": args.model.name, "costs": found})


if __name__ == "__main__":
    benchmark.run(main)
