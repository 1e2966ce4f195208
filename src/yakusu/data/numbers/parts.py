"""Parts of numbers, and the keys by which those of two texts find each other.

3:30 pm     hour 15 and 30      15.30 Uhr       hour 15 and 30
3/6/24      3, 6 and year 24    6. März 2024    6, month 3 and 2024
the 1990s   decade 90           les années 90   decade 90
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import regex

from yakusu.data.numbers.digits import DigitNumber, Value
from yakusu.data.numbers.marks import may_be_month
from yakusu.data.numbers.moments import hours, years

_FULL_HOUR = regex.compile(r"\d\s?(?:[:;.h時时시点點]\s?00|[h時时시点點]\s?0)$")
_SOUGHT = {"year": "short", "short": "year"}
_HALF_DAY = 12  # hours
_DATE = 3  # parts of a date with a year


@dataclass(frozen=True)
class NumberPart:
    """A number, or a part of one.

    Attributes:
        number: The number or part.
        owner: Index of the whole number.
        mark: What the text says it is; see `DigitNumber`.
        month: What it is as a month; 0: none.
        hours: What it may be as an hour.
        years: What it may be as a year.
        is_whole: Whether it is not a part of a number.
    """

    number: DigitNumber
    owner: int
    mark: str
    month: int
    hours: frozenset[int]
    years: tuple[tuple[str, int], ...]
    is_whole: bool

    @property
    def values(self) -> tuple[Value, ...]:
        """What it is as a plain number."""
        return () if self.mark else self.number.values

    @property
    def halves(self) -> frozenset[bool]:
        """The halves of the day that it may be in; true: the second one."""
        return frozenset(hour >= _HALF_DAY for hour in self.hours)

    def offered(self) -> Iterator[Hashable]:
        """The keys by which a part of the source finds this one."""
        yield from (("value", value) for value in self.values)
        yield from (("hour", hour) for hour in self.hours)
        yield from (("month", self.month),) if self.month else ()
        yield from self.years
        if not self.hours:
            yield from (("any", hour) for hour in self._any_hours())

    def sought(self) -> Iterator[Hashable]:
        """The keys by which this part of the source is looked for."""
        yield from (("value", value) for value in self.values)
        for hour in self.hours or self._any_hours():
            yield "hour", hour
        yield from (("any", hour) for hour in self.hours)
        yield from (("month", self.month),) if self.month else ()
        for kind, year in self.years:
            yield _SOUGHT.get(kind, kind), year

    def _any_hours(self) -> Iterator[int]:
        """The hours that a number may be if the other side has one."""
        value = self.values[0] if self.values else -1
        if isinstance(value, int) and 0 <= value <= 24:
            yield value % 24
            if value <= 12:
                yield (value + 12) % 24

    def spoken(self, *, to_hour: bool) -> Iterator[int]:
        """The numbers in words for it: 22h is ten, 7:45 quarter to eight, the 1990s nineties.

        Args:
            to_hour: Whether the words may count minutes to an hour.
        """
        yield from (year for kind, year in self.years if kind in ("decade", "value"))
        for hour in self.hours:
            yield from (hour, hour % 12 or 12)
            if to_hour and not self.is_whole:
                yield hour % 12 + 1
        value = self.values[0] if self.values and not self.is_whole else 0
        if to_hour and isinstance(value, int) and 30 < value < 60:
            yield 60 - value


def number_parts(numbers: Sequence[DigitNumber], text: str, language: str) -> Iterator[NumberPart]:
    """The parts of numbers; a number without parts is one."""
    for owner, number in enumerate(numbers):
        parts = number.parts or (number,)
        for i, part in enumerate(parts):
            if _FULL_HOUR.search(text, max(0, part.start - 4), part.end):
                continue
            mark = part.mark or (number.mark if i == 0 else "")
            yield _part(part, owner, mark, text, language, len(parts))


def _part(part: DigitNumber, owner: int, mark: str, text: str, language: str, n: int) -> NumberPart:
    """A part of a number of n parts."""
    kind, _, month = mark.partition(" ")
    value = part.values[0] if part.values else -1
    if kind in ("month", "share") or not isinstance(value, int) or value < 0:
        return NumberPart(part, owner, mark, int(month or 0), frozenset(), (), n == 1)
    place = text, part.start, part.end
    in_date = n > 1 or may_be_month(*place)
    return NumberPart(
        part,
        owner,
        mark,
        value if in_date and value <= 12 else 0,
        frozenset(hours(value, *place)),
        tuple(years(value, language, *place, in_date=n == _DATE)),
        n == 1,
    )
