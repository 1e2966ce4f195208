"""Matching of the numbers of two texts, in any form that their languages give them.

    1,000.5 = 1.000,5         3/6/2024 = 6.3.2024       6 March = 3月6日
    3:30 pm = 15.30 Uhr       2 million = 2,000,000     Louis XIV = Ludwig der 14.
    42 = zweiundvierzig       the 1990s = les années 90

Each number of one text is paired with one of the other. What is left is looked for among the words
of the other text that are not translations of the same words; then dates and times are compared by
their parts. Data of CLDR is read only when digits alone do not match. Everything takes linear time.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import regex

from yakusu.data.numbers.cldr import decimal_sign
from yakusu.data.numbers.digits import (
    DigitNumber,
    Value,
    count_digits,
    more_digits,
    read_numbers,
    roman_numerals,
)
from yakusu.data.numbers.moments import hours, years
from yakusu.data.numbers.words import number_words

# A scale may follow digits, so that these alone do not decide.
_SCALE_HINT = regex.compile(
    r"\d\s?(?:[十百千万萬億亿兆백천만억조]|mil|mio|mln|ml[dr]|mia|mrd|m[jn]|bil|bn|tr?il|tn|thou|ta?us|dui|"
    r"tys|tis|hil|ezer|bin\b|lakh|crore|тыс|тис|мил|мільй|млн|млрд|хил|हज|लाख|करो|अरब|ألف|آلاف|ملي|אלף|"
    r"מילי|ngh|tri|tỷ|ribu|juta|พัน|หมื่น|แสน|ล้าน|dozen|dutz|douz|doc|doz)",
    regex.IGNORECASE,
)
_PHONE = 7  # digits
_LONG, _MANY = 4_000, 1_000  # characters; numbers: of texts with more, only digits are compared
_SOUGHT = {"decade": "round", "round": "decade", "year": "short", "short": "year"}
_Keyed = Sequence[tuple[int, Sequence[Hashable]]]  # indices of items, and their keys


@dataclass
class _Side:
    """What is left of a text."""

    text: str
    language: str
    numbers: list[DigitNumber]
    words: Counter[Value]
    certain: Counter[Value]
    others: set[Value]
    calendar: Counter[Value]


@dataclass(frozen=True)
class _Part:
    """A number, or a part of one."""

    number: DigitNumber
    owner: int  # index of the whole number
    hours: frozenset[int]
    years: tuple[tuple[str, int], ...]


class NumberMatch:
    """Finds the numbers of two texts that are on one side only.

    Args:
        languages: Codes of the languages of both texts; "" if unknown.
    """

    def __init__(self, languages: tuple[str, str]) -> None:
        self._languages = languages

    def unmatched(self, source: str, target: str) -> tuple[list[DigitNumber], list[DigitNumber]]:
        """The numbers in digits of the source that the target lacks, and those that it adds.

        A number that occurs once more than in the source is not an addition, nor is 1 if no number
        word of the source is left: a dog is 1 dog.
        """
        if max(len(source), len(target)) > _LONG:
            counts = count_digits(source), count_digits(target)
            if max(each.total() for each in counts) > _MANY:
                return more_digits(source, counts[1]), more_digits(target, counts[0])
        numbers = [read_numbers(text) for text in (source, target)]
        written = [sorted(number.text for number in side) for side in numbers]
        if written[0] == written[1] and not any(map(_SCALE_HINT.search, (source, target))):
            return [], []
        a, b = self._sides(source, target)
        again = {*a.words, *(value for number in a.numbers for value in number.values)}
        _pair(a, b)
        _explain(a, b)
        _pair_joined(a, b)
        if a.numbers or b.numbers:
            _pair_parts(a, b)
        if not any(a.certain[value] and a.words[value] > 0 for value in a.words):
            again.add(1)
        return a.numbers, _without_repetitions(b.numbers, again)

    def _sides(self, source: str, target: str) -> tuple[_Side, _Side]:
        a, b = (
            self._read(text, language)
            for text, language in zip((source, target), self._languages, strict=True)
        )
        if not all(map(number_words, self._languages)):  # nor does "2 million" have a scale
            for side in (a, b):
                side.numbers = read_numbers(side.text, decimal_sign(side.language))
        return a, b

    @staticmethod
    def _read(text: str, language: str) -> _Side:
        found = number_words(language).read(text, read_numbers(text, decimal_sign(language)))
        return _Side(
            text,
            language,
            list(found.numbers),
            Counter(found.words),
            Counter(found.certain),
            {*found.others},
            Counter([*found.calendar, *roman_numerals(text)]),
        )


def _pair(a: _Side, b: _Side) -> None:
    """Remove the numbers that are equal as texts, or as values, the most probable first."""
    readings: tuple[Callable[[DigitNumber], Sequence[Hashable]], ...] = (
        lambda number: (number.text,),
        lambda number: number.values[:1],
        lambda number: number.values,
    )
    for keys in readings:
        keyed = [list(enumerate(map(keys, side.numbers))) for side in (a, b)]
        left = _matched(keyed[0], keyed[1])
        for side, indices in zip((a, b), left, strict=True):
            side.numbers = [side.numbers[i] for i in indices]


def _matched(sought: _Keyed, offered: _Keyed) -> tuple[list[int], list[int]]:
    """Pair items that have a key in common; the indices of those that are left."""
    waiting = defaultdict[Hashable, deque[int]](deque)
    for i, keys in offered:
        for key in keys:
            waiting[key].append(i)
    used, left = set[int](), list[int]()
    for i, keys in sought:
        for key in keys:
            queue = waiting.get(key) or deque()
            while queue and queue[0] in used:
                queue.popleft()
            if queue:
                used.add(queue.popleft())
                break
        else:
            left.append(i)
    return left, [i for i, _ in offered if i not in used]


def _explain(a: _Side, b: _Side) -> None:
    """Remove the numbers that words of the other side explain."""
    a.words, b.words = a.words - b.certain, b.words - a.certain
    a.calendar, b.calendar = a.calendar - b.calendar, b.calendar - a.calendar
    for side, other in ((a, b), (b, a)):
        side.numbers = [n for n in side.numbers if not _explained(n.values, other)]


def _explained(values: Iterable[Value], other: _Side) -> bool:
    """Whether a word of the other side has one of the values.

    A word that is a number, a month or a Roman numeral explains one number only.
    """
    values = list(values)
    for words in (other.words, other.calendar):
        for value in values:
            if words[value] > 0:
                words[value] -= 1
                return True
    return any(value in other.others for value in values)


def _pair_joined(a: _Side, b: _Side) -> None:
    """Remove what is left if it has the same digits, as telephone numbers in other groups."""
    written = ("".join(number.text for number in side.numbers) for side in (a, b))
    digits = ["".join(filter(str.isdecimal, text)) for text in written]
    if digits[0] == digits[1] and len(digits[0]) >= _PHONE:
        a.numbers, b.numbers = [], []


def _pair_parts(a: _Side, b: _Side) -> None:
    """Remove the numbers whose parts match numbers and words of the other side."""
    parts = [list(_parts(side)) for side in (a, b)]
    plain = [[(i, part.number.values) for i, part in enumerate(each)] for each in parts]
    left = _matched(plain[0], plain[1])
    left = _matched(
        [(i, tuple(_sought(parts[0][i]))) for i in left[0]],
        [(i, tuple(_offered(parts[1][i]))) for i in left[1]],
    )
    for side, found, indices, other in ((a, parts[0], left[0], b), (b, parts[1], left[1], a)):
        owners = {
            found[i].owner
            for i in indices
            if not _explained((*found[i].number.values, *_spoken(found[i])), other)
        }
        side.numbers = [number for i, number in enumerate(side.numbers) if i in owners]


def _parts(side: _Side) -> Iterator[_Part]:
    for owner, number in enumerate(side.numbers):
        for part in number.parts or (number,):
            value = part.values[0] if part.values else -1
            place = side.text, part.start, part.end
            if part.text == "00":  # 10:00
                continue
            if isinstance(value, int) and value >= 0:
                of_day = frozenset(hours(value, *place))
                of_time = tuple(years(value, side.language, *place))
                yield _Part(part, owner, of_day, of_time)
            else:
                yield _Part(part, owner, frozenset(), ())


def _offered(part: _Part) -> Iterator[Hashable]:
    """The keys by which a part of the source finds this one."""
    yield from (("value", value) for value in part.number.values)
    yield from (("hour", hour) for hour in part.hours)
    yield from part.years
    if not part.hours:
        yield from (("any", hour) for hour in _any_hours(part))


def _sought(part: _Part) -> Iterator[Hashable]:
    """The keys by which a part of the source is looked for."""
    yield from (("value", value) for value in part.number.values)
    for hour in part.hours or _any_hours(part):
        yield "hour", hour
    yield from (("any", hour) for hour in part.hours)
    for kind, year in part.years:
        yield _SOUGHT.get(kind, kind), year


def _any_hours(part: _Part) -> Iterator[int]:
    """The hours that a number may be if the other side has one."""
    value = part.number.values[0] if part.number.values else -1
    if isinstance(value, int) and 0 <= value <= 24:
        yield value % 24
        if value <= 12:
            yield (value + 12) % 24


def _spoken(part: _Part) -> Iterator[int]:
    """The numbers in words for hours and decades: 22h is ten, 6:30 halb sieben, 1990s nineties."""
    yield from (year for kind, year in part.years if kind in ("decade", "value"))
    for hour in part.hours:
        yield from (hour, hour % 12 or 12, hour % 12 + 1)


def _without_repetitions(numbers: Iterable[DigitNumber], again: set[Value]) -> list[DigitNumber]:
    """The numbers whose value is not in a set; each value of the set stands for one number."""
    left = list[DigitNumber]()
    for number in numbers:
        if known := again.intersection(number.values):
            again -= known
        else:
            left.append(number)
    return left
