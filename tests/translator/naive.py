"""Placement of pairs of tags by trying every window for every pair, in quadratic time."""

import math
from collections.abc import Mapping, Sequence

from yakusu.translator.placement import Pair


def naively_moved(
    pairs: Sequence[Pair], linked: Mapping[int, int], low: int, high: int
) -> list[Pair]:
    """The pairs around the units of the translation, within low to high - 1, in order."""
    free, moved = [(low, high)], []
    for pair in pairs:
        first, last = max(
            (_best(pair, linked, *window) for window in free),
            key=lambda found: _weight(pair, linked, *found),
        )
        inner = naively_moved(pair.inner, linked, first, last)
        moved.append(Pair(pair.opening, pair.closing, first, last, inner))
        window = next(window for window in free if window[0] <= first and last <= window[1])
        at = free.index(window)
        free[at : at + 1] = [(window[0], first), (last, window[1])]
    return sorted(moved, key=lambda pair: (pair.first, pair.last))


def _weight(pair: Pair, linked: Mapping[int, int], first: int, last: int) -> int:
    inside = sum(pair.first <= linked.get(j, -1) < pair.last for j in range(first, last))
    return 2 * inside - (last - first)


def _best(pair: Pair, linked: Mapping[int, int], low: int, high: int) -> tuple[int, int]:
    """The units of a window with the largest weight (Kadane's algorithm).

    If no unit is linked to the pair, it is put around the unit with the nearest link, or around
    nothing if it encloses nothing in the source.
    """
    best, weight, start, current = None, 0, low, 0
    for j in range(low, high):
        current += 1 if pair.first <= linked.get(j, -1) < pair.last else -1
        if current > weight:
            best, weight = (start, j + 1), current
        if current <= 0:
            start, current = j + 1, 0
    if best:
        return best
    if pair.first < pair.last and low < high:  # a pair with text keeps some
        middle = (pair.first + pair.last - 1) / 2
        nearest = min(range(low, high), key=lambda j: abs(linked.get(j, math.inf) - middle))
        return nearest, nearest + 1
    before = [j for j in range(low, high) if linked.get(j, pair.first) < pair.first]
    place = before[-1] + 1 if before else low
    return place, place
