"""Worker processes, paired rounds and ratios of speed.

Speeds are compared within one run: the sides take turns, A B A B ..., each in its own process that
sleeps while the other works, so that both meet the same machine and neither inherits the other's
memory allocator settings or threads.
"""

import statistics
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.records import commit
from yakusu.cli.app import set_environment


@dataclass(frozen=True)
class Speedup:
    """Ratio of our speed to that of another side.

    value: Ratio of the medians over all rounds.
    low, high: Smallest and largest ratio of a single round.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def speedup(ours: Sequence[float], theirs: Sequence[float]) -> Speedup:
    """Compare speeds that were measured in turns, round by round."""
    rounds = [our / their for our, their in zip(ours, theirs, strict=True)]
    return Speedup(statistics.median(ours) / statistics.median(theirs), min(rounds), max(rounds))


class Worker:
    """A function in its own process, which sleeps between calls.

    Args:
        function: A module-level function whose arguments and results can be pickled.
        threads: Number of torch threads in the process.
    """

    def __init__(self, function: Callable[..., Any], *, threads: int) -> None:
        commit()  # before the code is loaded, in case it changes during the run
        set_environment()  # as the command line does
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
        """Call the function in its process and wait for the result.

        Raises:
            RuntimeError: The function failed, or its process died.
        """
        self._pipe.send((args, named))
        try:
            result, error = self._pipe.recv()
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            raise RuntimeError(f"the process of {self._name} died with exit code {code}") from None
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
    """Call every side once per round, each in its own process, and return its results by round.

    Args:
        sides: Functions by name.
        rounds: Number of measured rounds. Before them each side runs once unmeasured, with round
            number -1.
        arguments: Returns the arguments of all sides for a round number.
        threads: Number of torch threads in each process.
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
