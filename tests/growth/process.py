"""Measures inputs in a process of its own, which runs each measurement in a fork of itself.

    {"name": "html: end tags", "effort": [0.02, ...]}   ->   {"sizes": [...], ...}

One line of JSON is read for each measurement, and one is written. The process imports the readers
once. A fork may use some memory only, and each reading must end within `Effort.limit` seconds.
"""

import gc
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.growth.crafted import Crafted
from tests.growth.measuring import Effort, Growth, cpu_times, limit_memory, peak_memory

_SMALL = 64  # bytes
_ROOT = Path(__file__).parents[2]


def crafted_inputs() -> dict[str, Crafted]:
    """The inputs of all modules `inputs_*.py`, by name."""
    found: dict[str, Crafted] = {}
    for path in sorted(Path(__file__).parent.glob("inputs_*.py")):
        for each in import_module(f"tests.growth.{path.stem}").CRAFTED:
            assert each.name not in found, f"two inputs have the name {each.name!r}"
            found[each.name] = each
    return found


class Measurer:
    """A process that measures inputs; one for all measurements of a session."""

    def __init__(self) -> None:
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.growth.process"],
            cwd=_ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self, name: str, effort: Effort) -> Growth:
        """Measure the input of a name."""
        assert self._process.stdin and self._process.stdout
        print(json.dumps([name, asdict(effort)]), file=self._process.stdin, flush=True)
        return Growth(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def _serve() -> None:
    inputs = crafted_inputs()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # readers may print
    for line in sys.stdin:
        name, effort = json.loads(line)
        with suppress(Exception):  # here, so that forks need not compile regular expressions
            inputs[name].read(inputs[name].make(_SMALL))
        gc.collect()
        gc.freeze()  # forks need not look for garbage in what they share
        growth = _measured(inputs[name], Effort(**effort))
        print(json.dumps(asdict(growth)), file=answers, flush=True)


def _measured(crafted: Crafted, effort: Effort) -> Growth:
    best: dict[int, float] = {}
    size = 0
    problem = ""
    for item in _in_fork(lambda: cpu_times(crafted, effort), effort):
        if isinstance(item, str):
            problem = item
            continue
        size, seconds = item
        if seconds is not None:
            best[size] = min(seconds, best.get(size, seconds))
    sizes = [max(best, default=0) >> halvings for halvings in effort.halvings]
    if problem:
        return Growth(crafted.name, problem=f"{problem}, with {size:,} bytes")
    memory: list[Any] = []
    for part in sizes:
        memory += _in_fork(lambda part=part: iter([peak_memory(crafted, part)]), effort)
    if wrong := next((each for each in memory if isinstance(each, str)), ""):
        return Growth(crafted.name, problem=f"{wrong}, when its memory was measured")
    return Growth(crafted.name, sizes, [best[part] for part in sizes], memory)


def _in_fork(items: Callable[[], Iterator[Any]], effort: Effort) -> Iterator[Any]:
    """Yield what a function yields in a fork; last a sentence if it fails."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            limit_memory()
            with os.fdopen(writing, "w") as out:
                try:
                    for item in items():
                        print(json.dumps(item), file=out, flush=True)
                except BaseException as error:
                    text = f"{type(error).__name__}: {error}"[:300]
                    print(json.dumps(text), file=out, flush=True)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    yield from _lines(child, reading, effort)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
        yield f"signal {os.WTERMSIG(status)}"


def _lines(child: int, reading: int, effort: Effort) -> Iterator[Any]:
    """Yield what a fork writes, until it ends; if it writes nothing for too long, it is killed."""
    rest = b""
    while True:
        ready, _, _ = select.select([reading], [], [], effort.limit)
        if not ready:
            os.kill(child, signal.SIGKILL)
            yield f"more than {effort.limit} s"
            return
        new = os.read(reading, 1 << 16)
        if not new:
            return
        *lines, rest = (rest + new).split(b"\n")
        yield from map(json.loads, lines)


if __name__ == "__main__":
    _serve()
