"""Measures how the cost of a reader grows with its input: CPU time and peak memory.

    size 16 KB 32 KB 64 KB 128 KB   ->   seconds 0.02 0.04 0.08 0.16   ->   slope 1.0

The largest size is the first that takes `Effort.seconds`, or `Effort.most`; the others are its
halves. The slope is that of log cost over log size, fitted to the least cost of each size: 1 is
linear, 2 quadratic.
"""

import gc
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import log
from typing import Any

from tests.cases import THOROUGH
from tests.growth.crafted import Crafted
from yakusu.errors import YakusuError

STEEPEST = 1.2  # of the slope
_SHORTEST = 0.01  # seconds of the largest input; below, caches decide
_FIRST = 1 << 10  # bytes of the smallest input
_UNCOUNTED = 4 << 20  # bytes: what the allocator keeps anyway, so that small inputs do not differ
_SPACE = 4 << 30  # bytes that a measurement may use


@dataclass(frozen=True)
class Effort:
    """How thoroughly a reader is measured.

    Attributes:
        seconds: CPU time that the largest input takes, unless it has `most` bytes before.
        most: Bytes of the largest input.
        halvings: How often the largest size is halved, for each smaller size.
        repetitions: Measurements of each size, of which the fastest counts.
        limit: Seconds after which a reading is stopped.
    """

    seconds: float
    most: int
    halvings: Sequence[int]
    repetitions: int
    limit: int


SHORT = Effort(seconds=0.015, most=1 << 20, halvings=(2, 0), repetitions=2, limit=20)
FULL = Effort(seconds=0.2, most=1 << 22, halvings=(3, 2, 1, 0), repetitions=5, limit=120)
EFFORT = FULL if THOROUGH else SHORT


@dataclass(frozen=True)
class Growth:
    """The cost of a reader for inputs of several sizes.

    Attributes:
        name: The name of the input.
        sizes: Bytes of each input.
        seconds: The least CPU time of each.
        memory: Bytes of memory that reading each takes at most, besides the input.
        problem: Why there are no numbers, or "".
    """

    name: str
    sizes: Sequence[int] = ()
    seconds: Sequence[float] = ()
    memory: Sequence[int] = ()
    problem: str = ""

    @property
    def slope(self) -> float:
        """The slope of the CPU time; 0 for a time that is too short to say."""
        return 0.0 if self.seconds[-1] < _SHORTEST else slope(self.sizes, self.seconds)

    @property
    def memory_slope(self) -> float:
        """The slope of the memory."""
        return slope(self.sizes, [max(each, _UNCOUNTED) for each in self.memory])

    @property
    def seconds_per_mb(self) -> float:
        """CPU seconds for each 2**20 bytes of the largest input."""
        return self.seconds[-1] / self.sizes[-1] * 2**20

    @property
    def memory_per_byte(self) -> float:
        """Bytes of memory for each byte of the largest input."""
        return max(0, self.memory[-1] - _UNCOUNTED) / self.sizes[-1]


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The slope of the line through the logarithms of costs and sizes (least squares)."""
    x, y = ([log(each) for each in values] for values in (sizes, costs))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return covariance / sum((a - mean_x) ** 2 for a in x)


def limit_memory() -> None:
    """Limit the memory of this process (not its CPU time, which would make its clock coarse)."""
    resource.setrlimit(resource.RLIMIT_AS, (_SPACE, resource.RLIM_INFINITY))


def cpu_times(crafted: Crafted, effort: Effort) -> Iterator[tuple[int, float | None]]:
    """Yield each size before it is read (None) and with its CPU time; a size may come again."""
    yield _FIRST, None
    _seconds(crafted.read, crafted.make(_FIRST))  # imports, and compiles regular expressions
    gc.collect()
    gc.freeze()
    size, taken = _FIRST // 2, 0.0
    while taken < effort.seconds and size < effort.most:
        size *= 2
        yield size, None
        taken = _seconds(crafted.read, crafted.make(size))
        yield size, taken
    for halvings in effort.halvings:
        part = crafted.make(size >> halvings)
        for _ in range(effort.repetitions - 1):
            yield size >> halvings, _seconds(crafted.read, part)


def peak_memory(crafted: Crafted, size: int) -> int:
    """Bytes of memory that reading an input takes at most; for a process that did nothing else."""
    _read(crafted.read, crafted.make(_FIRST))  # imports
    data = crafted.make(size)
    gc.collect()
    before = _most_memory()
    _read(crafted.read, data)
    return _most_memory() - before


def _seconds(read: Callable[[Any], object], data: Any) -> float:
    start = time.process_time()
    _read(read, data)
    return max(time.process_time() - start, 1e-6)


def _read(read: Callable[[Any], object], data: Any) -> None:
    with suppress(YakusuError):
        read(data)


def _most_memory() -> int:
    """The largest resident memory of this process so far, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10
