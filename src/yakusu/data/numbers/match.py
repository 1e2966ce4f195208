"""Matching of the numbers of two texts, in any form that their languages give them.

    1,000.5 = 1.000,5         3/6/2024 = 6.3.2024       6 March = 3月6日
    3:30 pm = 15.30 Uhr       2 million = 2,000,000     Louis XIV = Ludwig der 14.
    42 = zweiundvierzig       the 1990s = les années 90

Each number of one text is paired with one of the other. What is left is looked for among the words
of the other text that are not translations of the same words; then dates and times are compared by
their parts. The number words of CLDR are read only when digits alone do not match. Everything takes
linear time.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor

import regex

from yakusu.data.numbers.cldr import decimal_sign, is_known
from yakusu.data.numbers.digits import (
    DigitNumber,
    Value,
    count_digits,
    more_digits,
    read_numbers,
)
from yakusu.data.numbers.marks import inflected_months, with_marks
from yakusu.data.numbers.moments import first_years, halves_of_words, is_to_hour
from yakusu.data.numbers.parts import NumberPart, number_parts
from yakusu.data.numbers.phones import phone_numbers
from yakusu.data.numbers.romans import possible_numerals, roman_numerals
from yakusu.data.numbers.words import number_words

# A scale may follow digits, so that these alone do not decide.
_SCALE_HINT = regex.compile(
    r"\d[km]\b|\d\s?(?:[十百千万萬億亿兆백천만억조]|mil|mio|mln|ml[dr]|mia|mrd|m[jn]|bil|bn|tr?il|tn|thou|ta?us|dui|"
    r"tys|tis|hil|hund|hond|ezer|bin\b|lakh|crore|тыс|тис|мил|мільй|млн|млрд|хил|हज|लाख|करो|अरब|ألف|آلاف|ملي|אלף|"
    r"מילי|ngh|tri|tỷ|ribu|juta|พัน|หมื่น|แสน|ล้าน|dozen|dutz|douz|doc|doz)",
    regex.IGNORECASE,
)
_LONG, _MANY = 4_000, 1_000  # characters; numbers: of texts with more, only digits are compared
_COUNTING = frozenset(["ja", "ko", "th", "vi", "yue", "zh"])
_OF_SHARES = (25, 50)  # a quarter and a half, as percent
_BEFORE_WEEKDAY = regex.compile(r"\bthứ\s$")
_AFTER_WEEKDAY = regex.compile("ª")
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
    months: Counter[Value]
    weekdays: Counter[Value]
    halves: frozenset[bool]


class NumberMatch:
    """Finds the numbers of two texts that are on one side only.

    Args:
        languages: Codes of the languages of both texts; "" if unknown.
    """

    def __init__(self, languages: tuple[str, str]) -> None:
        self._languages = languages

    def unmatched(self, source: str, target: str) -> tuple[list[DigitNumber], list[DigitNumber]]:
        """The numbers in digits of the source that the target lacks, and those that it adds.

        1 is not an addition in a language that counts where others do not, if no number word of the
        source is left: all day is １日中.
        """
        texts = source, target
        if max(map(len, texts)) > _LONG:
            counts = count_digits(source), count_digits(target)
            if max(each.total() for each in counts) > _MANY:
                return more_digits(source, counts[1]), more_digits(target, counts[0])
        are_known = all(map(is_known, self._languages))
        numbers = [
            _numbers(text, language, is_known=are_known)
            for text, language in zip(texts, self._languages, strict=True)
        ]
        written = [sorted(map(_written, side)) for side in numbers]
        if written[0] == written[1] and not any(map(_SCALE_HINT.search, texts)):
            return [], []
        a, b = (_read(*each) for each in zip(texts, self._languages, numbers, strict=True))
        if not all(map(number_words, self._languages)):  # nor does "2 million" have a scale
            a.numbers, b.numbers = ([*filter(_in_digits, each)] for each in numbers)
        _pair(a, b)
        _explain(a, b)
        _pair_halves(a, b)
        _pair_halves(b, a)
        _pair_joined(a, b)
        if a.numbers or b.numbers:
            _pair_parts(a, b)
        has_word = any(a.certain[each] and a.words[each] > 0 for each in a.words)
        if _base(b.language) in _COUNTING and not has_word and 0 not in a.others:
            b.numbers = [number for number in b.numbers if number.values[:1] != (1,)]
        return a.numbers, b.numbers


def _base(language: str) -> str:
    return language.partition("-")[0]


def _numbers(text: str, language: str, *, is_known: bool) -> list[DigitNumber]:
    """The numbers in digits of a text; in known languages, also months and Roman numerals."""
    found = read_numbers(text, decimal_sign(language))
    if is_known:
        found = [*with_marks(found, text, language), *roman_numerals(text)]
    return sorted(found, key=lambda number: number.start)


def _in_digits(number: DigitNumber) -> bool:
    """Whether a number is not a Roman numeral."""
    return bool(number.mark or regex.search(r"\p{N}", number.text))


def _written(number: DigitNumber) -> str:
    """How a number is written; two that are equal in this are equal."""
    return number.mark if number.mark.startswith("month") else f"{number.text} {number.mark}"


def _read(text: str, language: str, numbers: Sequence[DigitNumber]) -> _Side:
    found = number_words(language).read(text, numbers)
    return _Side(
        text,
        language,
        list(found.numbers),
        Counter([*found.words, *possible_numerals(text), *first_years(text)]),
        Counter(found.certain),
        {*found.others},
        Counter([*found.months, *inflected_months(text, language)]),
        Counter(found.weekdays),
        halves_of_words(text),
    )


def _pair(a: _Side, b: _Side) -> None:
    """Remove the numbers that are equal as texts, or as values, the most probable first."""
    readings: tuple[Callable[[DigitNumber], Sequence[Hashable]], ...] = (
        lambda number: (_written(number),),
        lambda number: number.values[: not number.mark],
        lambda number: () if number.mark else number.values,
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
    a.months, b.months = a.months - b.months, b.months - a.months
    a.weekdays, b.weekdays = a.weekdays - b.weekdays, b.weekdays - a.weekdays
    for side, other in ((a, b), (b, a)):
        whole = [replace(number, parts=()) for number in side.numbers]
        explained = {
            part.owner
            for part in number_parts(whole, side.text, side.language)
            if _explained(part, part.number.values, side, other)
        }
        side.numbers = [each for i, each in enumerate(side.numbers) if i not in explained]


def _explained(part: NumberPart, values: Iterable[Value], side: _Side, other: _Side) -> bool:
    """Whether a word of the other side has one of the values of a number of a side.

    A word that is a number, a month or a day of the week explains one number only.
    """
    if part.mark and part.hours and other.halves and other.halves.isdisjoint(part.halves):
        return False
    values = list(values)
    month = [part.month] if part.month else []
    weekday = values if _is_weekday(part.number, side.text) else []
    for words, sought in (
        (other.months, month),
        (other.words, [*values, *month]),
        (other.weekdays, weekday),
    ):
        for value in sought:
            if words[value] > 0:
                words[value] -= 1
                return True
    no_shares = () if part.is_whole else _OF_SHARES
    return any(value in other.others and value not in no_shares for value in values)


def _is_weekday(number: DigitNumber, text: str) -> bool:
    before = text[max(0, number.start - 5) : number.start]
    return bool(_BEFORE_WEEKDAY.search(before) or _AFTER_WEEKDAY.match(text, number.end))


def _pair_halves(side: _Side, other: _Side) -> None:
    """Remove numbers such as 1.5 if the other side has the whole number and a half: 1時間半."""
    half = Fraction(1, 2)
    if half not in other.others:
        return
    wholes = [floor(number.values[0]) if number.values else -1 for number in side.numbers]
    halved = [
        (i, (whole,))
        for i, (whole, number) in enumerate(zip(wholes, side.numbers, strict=True))
        if number.values[:1] == (whole + half,)
    ]
    plain = [(i, number.values[:1]) for i, number in enumerate(other.numbers)]
    unpaired, left = _matched(halved, plain)
    found = {i for i, _ in halved} - {
        i for i in unpaired if other.words[wholes[i]] <= 0 and wholes[i] not in other.others
    }
    side.numbers = [number for i, number in enumerate(side.numbers) if i not in found]
    other.numbers = [other.numbers[i] for i in left]


def _pair_joined(a: _Side, b: _Side) -> None:
    """Remove numbers that are in the same digits in other groups, as telephone numbers are."""
    groups = [phone_numbers(side.text) if side.numbers else {} for side in (a, b)]
    for side, own, other in ((a, groups[0], groups[1]), (b, groups[1], groups[0])):
        same = {place for digits in own.keys() & other.keys() for place in own[digits]}
        side.numbers = [number for number in side.numbers if number.start not in same]


def _pair_parts(a: _Side, b: _Side) -> None:
    """Remove the numbers whose parts match numbers and words of the other side."""
    parts = [list(number_parts(side.numbers, side.text, side.language)) for side in (a, b)]
    plain = [[(i, part.values) for i, part in enumerate(each)] for each in parts]
    left = _matched(plain[0], plain[1])
    left = _matched(
        [(i, tuple(parts[0][i].sought())) for i in left[0]],
        [(i, tuple(parts[1][i].offered())) for i in left[1]],
    )
    for side, found, indices, other in ((a, parts[0], left[0], b), (b, parts[1], left[1], a)):
        to_hour = is_to_hour(other.text)
        owners = set[int]()
        for part in map(found.__getitem__, indices):
            values = (*part.number.values, *part.spoken(to_hour=to_hour))
            if not _explained(part, values, side, other):
                owners.add(part.owner)
        side.numbers = [number for i, number in enumerate(side.numbers) if i in owners]
