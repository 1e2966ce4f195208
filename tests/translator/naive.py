"""Placement of pairs of tags by trying all units for every pair, in quadratic time."""

import math
from collections.abc import Mapping, Sequence, Set
from itertools import combinations

from yakusu.translator.writing.tag_pairs import TagPair

Interval = tuple[int, int]


def naively_moved(
    pairs: Sequence[TagPair], linked: Mapping[int, int], spans: Set[int], low: int, high: int
) -> list[TagPair]:
    """The pairs around the units of the translation, within low to high - 1, in order."""
    moved: list[TagPair] = []
    for pair in pairs:
        taken = [(other.first, other.last) for other in moved]
        free = [
            own
            for own in combinations(range(low, high + 1), 2)
            if all(own[1] <= a or b <= own[0] for a, b in taken)
        ]
        end = max((b for _, b in taken), default=low)
        if pair.opening and pair.closing:
            first, last = place(pair, linked, spans, free) or nowhere(pair, linked, end, low, high)
        else:
            first, last = at_edge(pair, linked, spans, end, high)
        inner = naively_moved(pair.inner, linked, spans, first, last)
        moved.append(TagPair(pair.opening, pair.closing, first, last, inner))
    return sorted(moved, key=lambda pair: (pair.first, pair.last))


def place(
    pair: TagPair, linked: Mapping[int, int], spans: Set[int], free: Sequence[Interval]
) -> Interval | None:
    """Where a pair with units is put, given the places that are free."""

    def distance(own: Interval) -> float:
        return abs(linked.get(own[0], math.inf) - (pair.first + pair.last - 1) / 2)

    def rank(own: Interval) -> tuple[int, int, int]:
        return weight(pair, linked, own), -own[1], own[0]

    best = max(free, key=rank, default=None)
    if best and weight(pair, linked, best) > 0:
        return best
    single = [own for own in free if own[1] - own[0] == 1 and own[0] not in spans]
    return min(single, key=distance) if single and pair.first < pair.last else None


def at_edge(
    pair: TagPair, linked: Mapping[int, int], spans: Set[int], low: int, high: int
) -> Interval:
    """Where a pair is put that begins on an earlier line or ends on a later one."""
    if not pair.opening and not pair.closing:
        return low, high
    free = [(j, high) if pair.opening else (low, j) for j in range(low, high + 1)]
    nothing, *others = sorted(free, key=lambda own: own[1] - own[0])
    best = max(others, key=lambda own: weight(pair, linked, own), default=nothing)
    unlinked = weight(pair, linked, best) < 0
    return nothing if pair.first == pair.last or (unlinked and best[0] in spans) else best


def weight(pair: TagPair, linked: Mapping[int, int], own: Interval) -> int:
    """The units of an interval that are linked to a pair, minus the others."""
    return sum(1 if pair.first <= linked.get(j, -1) < pair.last else -1 for j in range(*own))


def nowhere(pair: TagPair, linked: Mapping[int, int], end: int, low: int, high: int) -> Interval:
    """Where a pair is put around nothing, after the pairs that end at `end` or before."""
    before = [j for j in range(low, high) if linked.get(j, pair.first) < pair.first]
    at = max(end, *(j + 1 for j in before), low)
    return at, at
