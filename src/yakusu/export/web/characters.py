"""What Python knows of characters, for `runtime.js`: sets for the methods of str, changes of case.

JavaScript knows some of it, but of the Unicode version that the browser has.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from yakusu.export.web.patterns import EVERYTHING, Ranges

_METHODS = ("isalnum", "isalpha", "isdecimal", "isdigit", "isnumeric", "isspace", "isprintable")


@cache
def character_sets() -> dict[str, Ranges]:
    """The characters for which a method of str is true, and those of each case."""
    tests: dict[str, Callable[[str], bool]] = {name: getattr(str, name) for name in _METHODS}
    tests |= {"uppercase": str.isupper, "lowercase": str.islower, "titlecase": _is_titlecase}
    tests["punctuation"] = _is_punctuation
    return {name: _ranges(test) for name, test in tests.items()}


def _ranges(test: Callable[[str], bool]) -> Ranges:
    found = re.finditer(rb"\x01+", bytes(map(test, EVERYTHING)))
    return tuple((each.start(), each.end() - 1) for each in found)


def _is_titlecase(character: str) -> bool:
    return unicodedata.category(character) == "Lt"


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith(("P", "S"))


@cache
def case_changes(change: Callable[[str], str], usual: Callable[[str], str]) -> str:
    """The characters that two changes of case change differently, each with the first result."""
    every = zip(EVERYTHING, map(change, EVERYTHING), map(usual, EVERYTHING), strict=True)
    return " ".join(before + after for before, after, other in every if after != other)


@cache
def zeros() -> tuple[int, ...]:
    """The code of zero in each script that has decimal digits."""
    return tuple(ord(c) for c in filter(str.isdecimal, EVERYTHING) if not unicodedata.decimal(c))
