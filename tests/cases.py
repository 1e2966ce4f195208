"""How many of its cases a test tries: a third by default, all with YAKUSU_TESTS=thorough."""

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
THOROUGH = os.environ.get("YAKUSU_TESTS") == "thorough"


def some(cases: Sequence[T]) -> Sequence[T]:
    """Every third case, or all of them if the tests are thorough."""
    return cases if THOROUGH else cases[::3]


def examples(n: int) -> int:
    """A third of the examples of a random test, or all of them if the tests are thorough."""
    return n if THOROUGH else n // 3
