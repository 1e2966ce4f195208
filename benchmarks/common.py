"""What every benchmark shares: worker processes, paired rounds, ratios, and the record of a result.

A speed is measured against another's in one run: the sides take turns, A B A B ..., each in a
process of its own that sleeps while the other works, so that both meet the same machine and
neither inherits the other's memory allocator settings or threads.
"""

import datetime
import json
import os
import platform
import shlex
import signal
import statistics
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import table
from yakusu.errors import SignalError, YakusuError

RESULTS = Path(__file__).parent / "results"
LOAD_BEFORE = round(os.getloadavg()[0], 2)  # of the machine, before this script adds its own


# ---- the script ----------------------------------------------------------------------------------


def start(main: Callable[[], None]) -> None:
    """Run a script; an error meant for users is one sentence and exit code 2, as of yakusu."""
    try:
        main()
    except SignalError as error:
        print(error, file=sys.stderr)
        sys.exit(128 + error.signal)
    except KeyboardInterrupt:
        print("SIGINT: stopped", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except YakusuError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


# ---- ratios --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ratio:
    """How many times faster ours is than theirs: the ratio of medians over all rounds."""

    value: float
    low: float  # the least and the greatest ratio of a single round
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Compare speeds that were measured in turns, round by round."""
    each = [our / their for our, their in zip(ours, theirs, strict=True)]
    return Ratio(statistics.median(ours) / statistics.median(theirs), min(each), max(each))


# ---- worker processes ----------------------------------------------------------------------------


class Worker:
    """A function in a process of its own, which sleeps between two calls.

    Args:
        function: Any function of a module, with arguments and results that can be pickled.
        threads: For torch, within the process.
    """

    def __init__(self, function: Callable[..., Any], *, threads: int) -> None:
        _commit()  # the code that is about to be loaded, should it change during the run
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command line does
        context = get_context("spawn")
        self._name = getattr(function, "__name__", str(function))
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, function, threads))
        self._process.start()
        theirs.close()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        self._pipe.close()
        self._process.join()

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function there and wait for its result.

        Raises:
            RuntimeError: The function failed, or its process died.
        """
        self._pipe.send((args, named))
        try:
            result, error = self._pipe.recv()
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            raise RuntimeError(f"the process of {self._name} died, exit code {code}") from None
        if error:
            raise RuntimeError(f"{self._name} failed:\n{error}")
        return result


def _serve(pipe: Connection, function: Callable[..., Any], threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    while True:
        try:
            args, named = pipe.recv()
        except EOFError:
            return
        try:
            answer = function(*args, **named), ""
        except Exception:
            answer = None, traceback.format_exc()
        pipe.send(answer)


def in_turns(
    sides: Mapping[str, Callable[..., Any]],
    rounds: int,
    arguments: Callable[[int], Iterable[Any]],
    *,
    threads: int,
) -> dict[str, list[Any]]:
    """Call every side once a round, each in its own process; the results of each, by round.

    Args:
        sides: Functions by name.
        rounds: How many; before them each side runs once unmeasured, by round number -1.
        arguments: What all sides are called with in a round.
        threads: For torch, in each process.
    """
    results: dict[str, list[Any]] = {name: [] for name in sides}
    with ExitStack() as stack:
        workers = {
            name: stack.enter_context(Worker(function, threads=threads))
            for name, function in sides.items()
        }
        for number in range(-1, rounds):
            for name, worker in workers.items():
                result = worker(*arguments(number))
                if number >= 0:
                    results[name].append(result)
            print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return results


# ---- the record ----------------------------------------------------------------------------------


def record(name: str, measurement: Mapping[str, Any], *, seed: int, threads: int) -> Path:
    """Append a measurement, with all that it depends on, to results/NAME.json, and to the table."""
    path = RESULTS / f"{name}.json"
    records = json.loads(path.read_text()) if path.exists() else []
    records.append({**_circumstances(seed, threads), **measurement})
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    table.rewrite()
    return path


def _circumstances(seed: int, threads: int) -> dict[str, Any]:
    import torch

    return {
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "threads": threads},
        "load_before": LOAD_BEFORE,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "seed": seed,
        "command": shlex.join(["python", Path(sys.argv[0]).name, *map(_portable, sys.argv[1:])]),
    }


def _portable(word: str) -> str:
    """A word of a command line, with no path of this machine in it."""
    data = os.environ.get("YAKUSU_DATA", "")
    if data and word.startswith(data):
        return f"$YAKUSU_DATA{word.removeprefix(data)}"
    return Path(word).name if word.startswith("/") else word


@cache
def _commit() -> str:
    """The commit when first asked, with a + where src differs from it; "" outside a checkout."""
    folder = Path(__file__).parent.parent

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "-s", "src") else "")


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
