"""The positions of pairs of tags in a translation, found in near-linear time.

Each unit j of the translation is linked to a unit link(j) of the source by the attention of the
model. A pair of tags that encloses the source units E is put around the units a to b of the
translation for which

    sum over j from a to b of (1 if link(j) is in E, 0 if j is punctuation, else -1)

is largest, within the pair that encloses it and apart from other pairs, so that tags stay nested.
A protected span that a pair encloses in the source is not enclosed by another one beside it. Each
pair takes so few words that those after it get as many as they need, and as many as the pairs in it
need, so that no pair with words in the source is empty as long as the translation has enough words.
Of a pair with a line break inside, the part before the break reaches to the end of its line, and
the part after it from the start of its line: only the other end is chosen, by the same sum.
"""

import math
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
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
        needs_word: It encloses a word in the source that is no protected span.
        spaces: If it encloses nothing: the white space before and after it in the source.
    """

    opening: str
    closing: str
    first: int
    last: int
    inner: list["TagPair"] = field(default_factory=list)
    has_words: bool = True
    needs_word: bool = True
    spaces: tuple[str, str] = ("", "")

    @property
    def least(self) -> int:
        """The number of words that it needs in a translation, so that no pair with words is empty.

        The words of pairs inside are its own, too.
        """
        own = self.needs_word and self.first < self.last
        return max(int(own), sum(pair.least for pair in self.inner))


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
        self._origins, self._outside = origins, sorted(outside)
        self._spans, self._punctuation = sorted(spans), punctuation
        self._marks = sorted(punctuation)
        self._linked = defaultdict[int, list[int]](list)  # to each unit of the source
        for j, origin in origins.items():
            self._linked[origin].append(j)

    def moved(self, pairs: Sequence[TagPair], low: int, high: int) -> list[TagPair]:
        """The pairs around the units of the translation, within low to high - 1, in order."""
        others = {*self._spans, *self._punctuation}
        words = [j for j in range(low, high) if j not in others]
        return self._moved(pairs, low, high, words)

    def _moved(
        self, pairs: Sequence[TagPair], low: int, high: int, words: Sequence[int]
    ) -> list[TagPair]:
        """The pairs in units, of which some are words."""
        if not pairs:
            return []
        units = _Units(
            low,
            high,
            self._origins,
            _between(words, low, high),
            _between(self._spans, low, high),
            self._punctuation,
            self._marks,
            _between(self._outside, low, high),
            list(self._of_pairs(pairs, low, high)),
        )
        free, moved = _Free(units), list[TagPair]()
        later = sum(pair.least for pair in pairs)
        for pair in pairs:
            own = (self._linked.get(i, ()) for i in range(pair.first, pair.last))
            later -= pair.least
            first, last = free.put(pair, sorted(chain.from_iterable(own)), later)
            inner = self._moved(pair.inner, first, last, words)
            moved.append(replace(pair, first=first, last=last, inner=inner))
        return sorted(moved, key=lambda pair: (pair.first, pair.last))

    def _of_pairs(self, pairs: Sequence[TagPair], low: int, high: int) -> Iterator[int]:
        """The protected spans from low to high - 1 that some pair encloses in the source."""
        starts = [pair.first for pair in pairs]
        for j in _between(self._spans, low, high):
            origin = self._origins.get(j, -1)
            at = bisect_right(starts, origin) - 1
            if at >= 0 and origin < pairs[at].last:
                yield j


def _between(units: Sequence[int], low: int, high: int) -> Sequence[int]:
    """Those of some units, in order, that are from low to high - 1."""
    return units[bisect_left(units, low) : bisect_left(units, high)]


@dataclass(frozen=True)
class _Units:
    """The units from `low` to `high` - 1 of a translation.

    Attributes:
        low: The first.
        high: The one after the last.
        origins: The source unit of each that is linked.
        words: Those that are neither protected spans nor punctuation, in order.
        spans: Those that are protected spans, in order.
        punctuation: Those that are punctuation, and others outside.
        marks: The same, in order.
        outside: Those that no pair encloses, in order.
        of_pairs: The spans that some pair encloses in the source, in order.
    """

    low: int
    high: int
    origins: Mapping[int, int]
    words: Sequence[int]
    spans: Sequence[int]
    punctuation: Collection[int]
    marks: Sequence[int]
    outside: Sequence[int]
    of_pairs: Sequence[int]

    def n_words(self, first: int, last: int) -> int:
        """The number of words from first to last - 1."""
        return bisect_left(self.words, last) - bisect_left(self.words, first)

    def n_costly(self, unit: int) -> int:
        """The number of units before one that are not punctuation."""
        return unit - bisect_left(self.marks, unit)

    def foreign(self, pair: TagPair) -> list[int]:
        """The spans that other pairs enclose in the source."""
        own = range(pair.first, pair.last)
        return [j for j in self.of_pairs if self.origins[j] not in own]


class _Free:
    """Where pairs may still be put: windows of units of the translation, between other pairs."""

    def __init__(self, units: _Units) -> None:
        self._units = units
        starts = [units.low, *(unit + 1 for unit in units.outside)]
        windows = zip(starts, [*units.outside, units.high], strict=True)
        self._windows = [(start, end) for start, end in windows if start < end]
        self._n_words = sum(units.n_words(*window) for window in self._windows)
        self._taken = list[tuple[int, int]]()  # by pairs that enclose something
        self._end = units.low  # of all pairs up to now
        self._waiting = deque(units.words)  # from the first word that may be free

    def put(self, pair: TagPair, linked: Sequence[int], later: int) -> tuple[int, int]:
        """Put a pair around units of a window.

        Args:
            pair: The pair.
            linked: The units that are linked to it, in order.
            later: The number of words that the pairs after it need.

        Returns:
            The first unit and the one after the last.
        """
        most = max(pair.least, self._n_words - later)
        if pair.opening and pair.closing:
            best = self._best(linked, pair, most) or self._nearest(pair, most)
        else:
            best = self._at_edge(pair, set(linked), most)
        self._take(*best)
        return best

    def _take(self, first: int, last: int) -> None:
        self._end = max(self._end, last)
        if first < last:
            insort(self._taken, (first, last))
        at = self._window_at(first)
        low, high = self._windows[at] if at >= 0 else (first, first)
        if low < high and last <= high:
            sides = (low, first), (last, high)
            self._windows[at : at + 1] = [side for side in sides if side[0] < side[1]]
            self._n_words -= self._units.n_words(first, last)

    def _best(self, linked: Sequence[int], pair: TagPair, most: int) -> tuple[int, int] | None:
        """The units of a window with the largest weight; None: no weight is positive.

        If they are punctuation, but the pair has words in the source, links to punctuation do not
        count.
        """
        punctuation = self._units.punctuation
        best = self._heaviest(linked, most)
        if best and pair.has_words and all(j in punctuation for j in range(*best)):
            best = self._heaviest([j for j in linked if j not in punctuation], most)
        return best and self._grown(best, pair)

    def _heaviest(self, linked: Sequence[int], most: int) -> tuple[int, int] | None:
        """The units with the largest weight, if it is positive, with at most `most` words.

        Of several, the first and shortest. They are in one window, and enclose no span of another
        pair: such a span is not linked to this one.
        """
        best, weight, total, previous, window = None, 0, 0, 0, -1
        starts = deque[tuple[int, int]]()  # units, and the weight of all units before each
        for j in linked:
            if not self._is_free(j):
                continue
            at = self._window_at(j)
            if at != window or _between(self._units.of_pairs, previous + 1, j):
                starts.clear()
            is_mark = j in self._units.punctuation
            before = total - self._units.n_costly(j)
            while starts and starts[-1][1] >= before:
                starts.pop()
            starts.append((j, before))
            total, previous, window = total + (1 if is_mark else 2), j, at
            while starts and self._units.n_words(starts[0][0], j + 1) > most:
                starts.popleft()
            own = total - self._units.n_costly(j + 1) - starts[0][1] if starts else 0
            if own > weight:
                best, weight = (starts[0][0], j + 1), own
        return best

    def _grown(self, own: tuple[int, int], pair: TagPair) -> tuple[int, int]:
        """The shortest extension with as many words as a pair needs, if its window has them."""
        words, (first, last) = self._units.words, own
        n_lacking = pair.least - self._units.n_words(first, last)
        if n_lacking <= 0:
            return own
        low, high = self._windows[self._window_at(first)]
        foreign = self._units.foreign(pair)
        low = max([low, *(j + 1 for j in foreign if j < first)])
        high = min([high, *(j for j in foreign if j >= last)])
        starts = [first, *reversed(_between(words, low, first))]  # with 0, 1, 2 ... more words
        ends = [last, *(j + 1 for j in _between(words, last, high))]
        n_lacking = min(n_lacking, len(starts) + len(ends) - 2)
        extents = (
            (starts[n], ends[n_lacking - n])
            for n in range(max(0, n_lacking - len(ends) + 1), min(n_lacking, len(starts) - 1) + 1)
        )
        return min(extents, key=lambda extent: extent[1] - extent[0])

    def _at_edge(self, pair: TagPair, linked: Collection[int], most: int) -> tuple[int, int]:
        """Where to put a pair that begins on an earlier line or ends on a later one.

        No other pair is put between it and that end of the line. It gets at least one word, unless
        it encloses nothing in the source or no word is free, or nothing is linked to it and the
        unit is a protected span. If it encloses punctuation only, any unit counts as a word.

        Args:
            pair: The first of its line if it begins on an earlier one, otherwise the last.
            linked: The units that are linked to it.
            most: The number of words that it may have.
        """
        low, high = self._end, self._units.high
        if not pair.opening and not pair.closing:
            return low, high
        apart = sorted([*self._units.outside, *self._units.foreign(pair)])
        if pair.opening:
            low = max([low, *(j + 1 for j in apart[-1:])])
        else:
            high = min([high, *apart[:1]])
        units = range(high - 1, low - 1, -1) if pair.opening else range(low, high)
        words = {*self._units.words}
        n_words = list(accumulate((int(j in words) for j in units), initial=0))
        needed = min(pair.least, n_words[-1])
        least = 1 + next((n for n, j in enumerate(units) if self._is_word(j, pair)), len(units))
        costs = (1 if j in linked else -int(j not in self._units.punctuation) for j in units)
        weights = enumerate(accumulate(costs), 1)
        allowed = (own for own in weights if own[0] >= least and needed <= n_words[own[0]] <= most)
        n, weight = max(allowed, key=itemgetter(1), default=(0, 0))
        if pair.first == pair.last or (weight < 0 and units[0] in self._units.spans):
            n = 0
        return (high - n, high) if pair.opening else (low, low + n)

    def _nearest(self, pair: TagPair, most: int) -> tuple[int, int]:
        """Where to put a pair to which no free unit is linked.

        It is put around the free word with the nearest link. If it encloses nothing in the source,
        it is put between the same units, if they are neighbours in the translation, too. In other
        cases, and if it may have no word, or no word is free, it is put, empty, after the units
        that are linked to those before it and after the pairs before it.
        """
        if pair.first == pair.last:
            for place in filter(self._may_begin, self._gaps.get(pair.first, ())):
                return place, place
        elif most and (nearest := self._closest((pair.first + pair.last - 1) / 2)) is not None:
            return self._grown((nearest, nearest + 1), pair)
        keys, last = self._last_of
        at = bisect_left(keys, pair.first)
        place = max(self._end, last[at - 1] + 1 if at else self._units.low)
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
            while self._waiting and not self._is_free(self._waiting[0]):
                self._waiting.popleft()
            return self._waiting[0] if self._waiting else None
        return min(found, key=lambda j: (abs(self._units.origins[j] - middle), j))

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
        for j in reversed(self._units.words):
            if j in self._units.origins:
                found[self._units.origins[j]].append(j)
        return found

    @cached_property
    def _gaps(self) -> dict[int, list[int]]:
        """Before each source unit, the units that follow the same unit as in the source."""
        found, origins = defaultdict[int, list[int]](list), self._units.origins
        for j in range(self._units.low + 1, self._units.high):
            if j in origins and origins.get(j - 1, -1) == origins[j] - 1 >= 0:
                found[origins[j]].append(j)
        return found

    @cached_property
    def _near(self) -> list[int]:
        """The source units that may have links to free units, in order."""
        return sorted(self._units_of)

    @cached_property
    def _last_of(self) -> tuple[list[int], list[int]]:
        """The linked source units, and for each the last unit with a link up to it."""
        own, origins = range(self._units.low, self._units.high), self._units.origins
        found = sorted((origins[j], j) for j in own if j in origins)
        return [origin for origin, _ in found], list(accumulate((j for _, j in found), max))

    def _is_word(self, unit: int, pair: TagPair) -> bool:
        return not (pair.has_words and unit in self._units.punctuation)

    def _may_begin(self, unit: int) -> bool:
        """Whether no pair encloses a unit and the one before it."""
        at = bisect_left(self._taken, (unit, unit)) - 1
        return at < 0 or self._taken[at][1] <= unit

    def _is_free(self, unit: int) -> bool:
        at = self._window_at(unit)
        return at >= 0 and unit < self._windows[at][1]

    def _window_at(self, unit: int) -> int:
        """The index of the last window that begins at a unit or before; -1: none."""
        return bisect_right(self._windows, (unit, math.inf)) - 1
