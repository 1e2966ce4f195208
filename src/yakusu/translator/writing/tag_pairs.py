"""The positions of pairs of tags in a translation, found in near-linear time.

Each unit j of the translation is linked to a unit link(j) of the source by the attention of the
model. A pair of tags that encloses the source units E is put around the units a to b of the
translation for which

    sum over j from a to b of (1 if link(j) is in E, else -1)

is largest, within the pair that encloses it and apart from other pairs, so that tags stay nested.
Of a pair with a line break inside, the part before the break reaches to the end of its line, and
the part after it from the start of its line: only the other end is chosen, by the same sum.
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain
from operator import itemgetter


@dataclass
class TagPair:
    """A pair of tags around the units first to last - 1 of a line.

    Attributes:
        opening: The tag at its start; "": the pair begins on an earlier line.
        closing: The tag at its end; "": the pair ends on a later line.
        first: The first unit.
        last: The unit after the last.
        inner: The pairs inside, in order.
        has_words: It encloses more than punctuation in the source.
        spaces: If it encloses nothing: the white space before and after it in the source.
    """

    opening: str
    closing: str
    first: int
    last: int
    inner: list["TagPair"] = field(default_factory=list)
    has_words: bool = True
    spaces: tuple[str, str] = ("", "")


class Links:
    """The links of a translation.

    Args:
        origins: The source unit of each unit of the translation that is linked.
        spans: The units of the translation that are protected spans.
        outside: The units of the translation that no pair encloses.
        punctuation: The units of the translation that are punctuation: a pair that has words in the
            source does not enclose nothing else.
    """

    def __init__(
        self,
        origins: Mapping[int, int],
        spans: Collection[int] = (),
        *,
        outside: Collection[int] = (),
        punctuation: Collection[int] = frozenset(),
    ) -> None:
        self._origins, self._spans, self._outside = origins, spans, sorted(outside)
        self._punctuation = punctuation
        self._linked = defaultdict[int, list[int]](list)  # to each unit of the source
        for j, origin in origins.items():
            self._linked[origin].append(j)

    def moved(self, pairs: Sequence[TagPair], low: int, high: int) -> list[TagPair]:
        """The pairs around the units of the translation, within low to high - 1, in order."""
        outside = self._outside[bisect_left(self._outside, low) : bisect_left(self._outside, high)]
        apart = outside, self._punctuation
        free, moved = _Free(self._origins, self._spans, *apart, low, high), list[TagPair]()
        for pair in pairs:
            own = (self._linked.get(i, ()) for i in range(pair.first, pair.last))
            linked = sorted(chain.from_iterable(own))
            if pair.opening and pair.closing:
                first, last = free.best(linked, pair) or free.nearest(pair)
            else:
                first, last = free.at_edge(pair, set(linked))
            free.take(first, last)
            inner = self.moved(pair.inner, first, last)
            moved.append(replace(pair, first=first, last=last, inner=inner))
        return sorted(moved, key=lambda pair: (pair.first, pair.last))


class _Free:
    """Where pairs may still be put: windows of units of the translation, between other pairs.

    Args:
        origins: The source unit of each unit of the translation that is linked.
        spans: The units that are protected spans.
        outside: The units between low and high that no pair encloses, in order.
        punctuation: The units that are punctuation.
        low: The first unit.
        high: The unit after the last.
    """

    def __init__(
        self,
        origins: Mapping[int, int],
        spans: Collection[int],
        outside: Sequence[int],
        punctuation: Collection[int],
        low: int,
        high: int,
    ) -> None:
        self._origins, self._spans, self._low, self._high = origins, spans, low, high
        self._outside, self._punctuation = outside, punctuation
        starts, ends = [low, *(unit + 1 for unit in outside)], [*outside, high]
        windows = zip(starts, ends, strict=True)
        self._windows = [(start, end) for start, end in windows if start < end]
        self._end = low  # of all pairs up to now

    def take(self, first: int, last: int) -> None:
        """Put a pair around the units first to last - 1 of a window."""
        self._end = max(self._end, last)
        at = self._window_at(first)
        low, high = self._windows[at] if at >= 0 else (first, first)
        if low < high and last <= high:
            sides = (low, first), (last, high)
            self._windows[at : at + 1] = [side for side in sides if side[0] < side[1]]

    def best(self, linked: Sequence[int], pair: TagPair) -> tuple[int, int] | None:
        """The units of a window with the largest weight.

        If they are punctuation, but the pair has words in the source, links to punctuation do not
        count.

        Args:
            linked: The units that are linked to the pair, in order.
            pair: The pair.

        Returns:
            The first unit and the one after the last; None: no weight is positive.
        """
        best = self._heaviest(linked)
        if best and pair.has_words and all(j in self._punctuation for j in range(*best)):
            return self._heaviest([j for j in linked if j not in self._punctuation])
        return best

    def _heaviest(self, linked: Sequence[int]) -> tuple[int, int] | None:
        """The units of a window with the largest weight, if it is positive (Kadane's algorithm)."""
        best, most = None, 0
        start, previous, window, weight = 0, 0, -1, 0
        for j in linked:
            if not self._is_free(j):
                continue
            at = self._window_at(j)
            weight -= j - previous - 1
            if at != window or weight <= 0:
                start, weight = j, 0
            previous, window, weight = j, at, weight + 1
            if weight > most:
                best, most = (start, j + 1), weight
        return best

    def at_edge(self, pair: TagPair, linked: Collection[int]) -> tuple[int, int]:
        """Where to put a pair that begins on an earlier line or ends on a later one.

        No other pair is put between it and that end of the line. It gets at least one word, unless
        it encloses nothing in the source or no word is free, or nothing is linked to it and the
        unit is a protected span. If it encloses punctuation only, any unit counts as a word.

        Args:
            pair: The first of its line if it begins on an earlier one, otherwise the last.
            linked: The units that are linked to it.
        """
        low, high = self._end, self._high
        if not pair.opening and not pair.closing:
            return low, high
        if pair.opening:
            low = max(low, self._outside[-1] + 1) if self._outside else low
        else:
            high = min([high, *self._outside[:1]])
        units = range(high - 1, low - 1, -1) if pair.opening else range(low, high)
        weights = accumulate(1 if j in linked else -1 for j in units)
        least = next((n for n, j in enumerate(units) if self._is_word(j, pair)), len(units))
        n, weight = max([*enumerate(weights, 1)][least:], key=itemgetter(1), default=(0, 0))
        if pair.first == pair.last or (weight < 0 and units[0] in self._spans):
            n = 0
        return (high - n, high) if pair.opening else (low, low + n)

    def nearest(self, pair: TagPair) -> tuple[int, int]:
        """Where to put a pair to which no free unit is linked.

        It is put around the free word with the nearest link. If it encloses nothing in the source,
        or no word is free, it is put, empty, after the units that are linked to those before it and
        after the pairs before it.
        """
        nearest = self._closest((pair.first + pair.last - 1) / 2)
        if pair.first < pair.last and nearest is not None:
            return nearest, nearest + 1
        keys, last = self._last_of
        at = bisect_left(keys, pair.first)
        place = max(self._end, last[at - 1] + 1 if at else self._low)
        return place, place

    def _closest(self, middle: float) -> int | None:
        """The free word with the nearest link; the first of several, or of words without links."""
        at = bisect_left(self._near, middle)
        while at < len(self._near) and not self._free_of(self._near[at]):
            del self._near[at]
        while at and not self._free_of(self._near[at - 1]):
            at -= 1
            del self._near[at]
        found = [self._units_of[origin][-1] for origin in self._near[max(0, at - 1) : at + 1]]
        if not found:
            units = (j for window in self._windows for j in range(*window))
            apart = self._spans, self._punctuation
            return next((j for j in units if not any(j in own for own in apart)), None)
        return min(found, key=lambda j: (abs(self._origins[j] - middle), j))

    def _free_of(self, origin: int) -> list[int]:
        """The units that are linked to a source unit, the last first; the first of them is free."""
        units = self._units_of[origin]
        while units and not self._is_free(units[-1]):
            units.pop()
        return units

    @cached_property
    def _units_of(self) -> dict[int, list[int]]:
        """The words that are linked to each source unit, the last first."""
        found = defaultdict[int, list[int]](list)
        for j in range(self._high - 1, self._low - 1, -1):
            if j in self._origins and j not in self._spans and j not in self._punctuation:
                found[self._origins[j]].append(j)
        return found

    @cached_property
    def _near(self) -> list[int]:
        """The source units that may have links to free units, in order."""
        return sorted(self._units_of)

    @cached_property
    def _last_of(self) -> tuple[list[int], list[int]]:
        """The linked source units, and for each the last unit with a link up to it."""
        own = range(self._low, self._high)
        found = sorted((self._origins[j], j) for j in own if j in self._origins)
        return [origin for origin, _ in found], list(accumulate((j for _, j in found), max))

    def _is_word(self, unit: int, pair: TagPair) -> bool:
        return not (pair.has_words and unit in self._punctuation)

    def _is_free(self, unit: int) -> bool:
        at = self._window_at(unit)
        return at >= 0 and unit < self._windows[at][1]

    def _window_at(self, unit: int) -> int:
        """The index of the last window that begins at a unit or before; -1: none."""
        return bisect_right(self._windows, (unit, math.inf)) - 1
