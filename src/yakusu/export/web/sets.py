"""Sets of characters as a short text.

Many sets are another one with some characters more or less. A set is the places where it begins and
ends; a set after another one, with a number and a colon before it, is the places where only one of
the two does.
"""

from collections.abc import Iterable

from yakusu.export.web.patterns import Ranges

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_SMALL = 6  # places that are written as they are


def compact_sets(sets: Iterable[Ranges]) -> str:
    """The sets, each as the distances of its places in base 36; runtime.js reads them."""
    written = list[frozenset[int]]()
    texts = []
    for ranges in sets:
        places = _places(ranges)
        base = _nearest(places, written)
        texts.append(
            _distances(places)
            if base is None
            else f"{_base36(base)}:{_distances(places ^ written[base])}"
        )
        written.append(places)
    return ";".join(texts)


def _places(ranges: Ranges) -> frozenset[int]:
    """Where a set begins and ends; ranges that touch are one."""
    places = set[int]()
    for first, last in ranges:
        places ^= {first, last + 1}
    return frozenset(places)


def _nearest(places: frozenset[int], written: list[frozenset[int]]) -> int | None:
    """The number of the set from which a set differs least; None: it is short without one."""
    least, found = len(places) - 1, None
    if least < _SMALL:
        return None
    for number, other in enumerate(written):
        if abs(len(other) - len(places)) < least and (own := len(places ^ other)) < least:
            least, found = own, number
    return found


def _distances(places: Iterable[int]) -> str:
    ordered = sorted(places)
    return ",".join(
        _base36(place - last) for last, place in zip([0, *ordered], ordered, strict=False)
    )


def _base36(number: int) -> str:
    """A number in base 36; zero is empty."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits
