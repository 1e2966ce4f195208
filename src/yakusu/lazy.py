"""Regular expressions that are compiled when they are first used.

Compiling one with properties of Unicode takes up to 30 ms, a tenth of the time until the first
translation, and most texts need few of them.
"""

from typing import Any, cast

import regex


def compile(pattern: str, flags: int = 0) -> "regex.Pattern[str]":
    """Return an expression with the methods of `regex.compile(pattern, flags)`."""
    return cast("regex.Pattern[str]", _Lazy(pattern, flags))


class _Lazy:
    def __init__(self, pattern: str, flags: int) -> None:
        self._arguments = pattern, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(regex.compile(*self._arguments), name)  # regex keeps what it has compiled
        setattr(self, name, value)
        return value
