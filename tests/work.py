"""Work counted in calls of functions, which does not depend on the machine, unlike time."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_of(function: Callable[[], object]) -> int:
    """The number of functions of Python and C that a function calls, directly and indirectly."""
    n_calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal n_calls
        del frame, argument
        n_calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return n_calls


def growth(work: Callable[[int], Callable[[], object]], n: int) -> float:
    """How many times as many calls twice the input takes: 2 if the work is linear, 4 if quadratic.

    Args:
        work: Prepares an input of a size, and returns the function whose calls are counted.
        n: The smaller size.
    """
    small, large = work(n), work(2 * n)
    small()  # fills caches
    return calls_of(large) / calls_of(small)
