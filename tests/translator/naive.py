"""Placement of pairs of tags by trying all units for every pair, in cubic time."""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations

from yakusu.translator.writing.tag_pairs import TagPair

Interval = tuple[int, int]


@dataclass(frozen=True)
class Units:
    """The units of a translation: their links, and which are spans and punctuation."""

    linked: Mapping[int, int]
    spans: Set[int]
    punctuation: Set[int] = frozenset()

    def n_words(self, own: Iterable[int]) -> int:
        return sum(1 for j in own if j not in self.spans and j not in self.punctuation)

    def weight(self, pair: TagPair, own: Interval, without: Set[int] = frozenset()) -> int:
        """The units of an interval that are linked to a pair, minus the others but punctuation."""
        linked = {j for j in range(*own) if j not in without and self.is_of(pair, j)}
        return len(linked) - len({*range(*own)} - linked - self.punctuation)

    def is_of(self, pair: TagPair, j: int) -> bool:
        return pair.first <= self.linked.get(j, -1) < pair.last


def naively_moved(pairs: Sequence[TagPair], units: Units, low: int, high: int) -> list[TagPair]:
    """The pairs around the units of the translation, within low to high - 1, in order."""
    moved: list[TagPair] = []
    for k, pair in enumerate(pairs):
        foreign = {
            j for j in units.spans for own in pairs if own is not pair and units.is_of(own, j)
        }
        taken = [(own.first, own.last) for own in moved]
        free = [
            own
            for own in combinations(range(low, high + 1), 2)
            if all(own[1] <= a or b <= own[0] for a, b in taken) and foreign.isdisjoint(range(*own))
        ]
        unused = {*range(low, high)}.difference(*(range(a, b) for a, b in taken))
        later = sum(own.least for own in pairs[k + 1 :])
        most = max(pair.least, units.n_words(unused) - later)
        end = max((b for _, b in taken), default=low)
        if pair.opening and pair.closing:
            found = place(pair, units, free, most)
            first, last = found or nowhere(pair, units, taken, low, high)
        else:
            first, last = at_edge(pair, units, foreign, (end, high), most)
        inner = naively_moved(pair.inner, units, first, last)
        moved.append(TagPair(pair.opening, pair.closing, first, last, inner, *kind_of(pair)))
    return sorted(moved, key=lambda pair: (pair.first, pair.last))


def kind_of(pair: TagPair) -> tuple[bool, bool]:
    return pair.has_words, pair.needs_word


def place(pair: TagPair, units: Units, free: Sequence[Interval], most: int) -> Interval | None:
    """Where a pair is put, given the places that are free and the words that it may have."""
    best = heaviest(pair, units, free, most)
    if best and pair.has_words and units.punctuation.issuperset(range(*best)):
        best = heaviest(pair, units, free, most, units.punctuation)
    if best:
        return grown(best, pair, units, free)
    single = [own for own in free if own[1] - own[0] == 1 and units.n_words(range(*own))]
    if not single or not most or pair.first == pair.last:
        return None
    middle = (pair.first + pair.last - 1) / 2
    nearest = min(single, key=lambda own: abs(units.linked.get(own[0], math.inf) - middle))
    return grown(nearest, pair, units, free)


def heaviest(
    pair: TagPair,
    units: Units,
    free: Sequence[Interval],
    most: int,
    without: Set[int] = frozenset(),
) -> Interval | None:
    """The interval with the largest weight, the first and shortest of several."""

    def rank(own: Interval) -> tuple[int, int, int]:
        return units.weight(pair, own, without), -own[1], own[0]

    best = max((own for own in free if units.n_words(range(*own)) <= most), key=rank, default=None)
    return best if best and rank(best)[0] > 0 else None


def grown(own: Interval, pair: TagPair, units: Units, free: Sequence[Interval]) -> Interval:
    """The shortest place around an interval with the words that a pair needs."""
    around = [each for each in free if each[0] <= own[0] and own[1] <= each[1]]
    n_words = {each: units.n_words(range(*each)) for each in around}
    needed = min(pair.least, max(n_words.values()))
    enough = [each for each in around if n_words[each] >= needed]
    return min(enough, key=lambda each: (each[1] - each[0], -each[0]))


def at_edge(pair: TagPair, units: Units, foreign: Set[int], place: Interval, most: int) -> Interval:
    """Where a pair is put that begins on an earlier line or ends on a later one."""
    low, high = place
    if not pair.opening and not pair.closing:
        return low, high
    every = [(j, high) if pair.opening else (low, j) for j in range(low, high + 1)]
    nothing, *others = sorted(every, key=lambda own: own[1] - own[0])
    free = [own for own in others if foreign.isdisjoint(range(*own))]
    needed = min(pair.least, max((units.n_words(range(*own)) for own in free), default=0))
    ignored = units.punctuation if pair.has_words else set[int]()
    allowed = [
        own
        for own in free
        if needed <= units.n_words(range(*own)) <= most and not ignored.issuperset(range(*own))
    ]
    best = max(allowed, key=lambda own: units.weight(pair, own), default=nothing)
    first = best[1] - 1 if pair.opening else best[0]
    unlinked = units.weight(pair, best) < 0
    return nothing if pair.first == pair.last or (unlinked and first in units.spans) else best


def nowhere(
    pair: TagPair, units: Units, taken: Sequence[Interval], low: int, high: int
) -> Interval:
    """Where a pair is put around nothing: between the same units, or after others."""
    linked = units.linked
    for j in range(low + 1, high) if pair.first == pair.last else ():
        between = linked.get(j - 1, -2) == pair.first - 1 and linked.get(j) == pair.first
        if between and all(j <= a or b <= j for a, b in taken):
            return j, j
    before = [j for j in range(low, high) if linked.get(j, pair.first) < pair.first]
    at = max([low, *(b for _, b in taken), *(j + 1 for j in before)])
    return at, at
