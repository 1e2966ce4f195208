"""The texts by which a segment of a memory is found.

    exact    "Save  the file."   ->   Save the file.        NFC, one space between words
    variable "Page 3 of 10"      ->   Page 0 of 0           and every number as 0

Inline markup is made of marks (`data.lines.private_use`), numbered in the order of the source.
"""

import hashlib
import re
import unicodedata

import regex

from yakusu.data.lines.private_use import (
    MARKS,
    closing,
    empty,
    is_break,
    is_closing,
    is_opening,
    line_break,
    number_of,
    opening,
)

_MARK = re.compile(MARKS)
NUMBER = regex.compile(r"\p{Nd}++(?:[.,'’\u00a0\u202f]\p{Nd}++)*+")


def normalised(text: str) -> str:
    """A text as it is compared for exact matches."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def with_variables(text: str) -> str:
    """A text as it is compared if its numbers may differ."""
    return str(NUMBER.sub("0", normalised(text)))


def digest(text: str) -> int:
    """An integer of 64 bits by which a text is found."""
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True
    )


def renumbered(source: str, target: str) -> tuple[str, str]:
    """A pair of texts whose marks have the numbers 0, 1, ... in the order of the source."""
    if not _MARK.search(source) and not _MARK.search(target):
        return source, target
    seen: dict[int, int] = {}
    for mark in _MARK.findall(source):
        seen.setdefault(number_of(mark), len(seen))

    source, target = (
        _MARK.sub(
            lambda match: with_number(match[0], seen.setdefault(number_of(match[0]), len(seen))),
            text,
        )
        for text in (source, target)
    )
    return source, target


def as_marked(target: str, source: str) -> str:
    """A target of the memory with the marks of a source, as `renumbered` has numbered them."""
    numbers = [*dict.fromkeys(map(number_of, _MARK.findall(source)))]
    n = len(numbers)

    def replaced(match: re.Match[str]) -> str:
        number = number_of(match[0])
        return with_number(match[0], numbers[number]) if number < n else ""

    return _MARK.sub(replaced, target)


def with_number(mark: str, number: int) -> str:
    """Return the same kind of mark with another number."""
    if is_opening(mark):
        return opening(number)
    if is_closing(mark):
        return closing(number)
    return line_break(number) if is_break(mark) else empty(number)
