"""Matching of the numbers of two texts, in any form that their languages give them.

    1,000.5 = 1.000,5         3/6/2024 = 6.3.2024       6 March = 3月6日
    3:30 pm = 15.30 Uhr       2 million = 2,000,000     Louis XIV = Ludwig der 14.
    42 = zweiundvierzig       the 1990s = les années 90

Each number of one text is paired with one of the other. What is left is looked for among the words
of the other text that are not translations of the same words; then dates and times are compared by
their parts. The packages of CLDR's data are imported when digits alone do not match.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import regex

from yakusu.data.lines.cldr import symbols_of
from yakusu.data.lines.number_words import number_words
from yakusu.data.lines.numbers import DigitNumber, Symbols, Value, read_numbers

_Keys = Callable[["_Part"], Iterable[Hashable]]

# A word after digits that may be a scale: digits alone do not decide then.
_SCALE_HINT = regex.compile(
    r"\d\s?(?:[十百千万萬億亿兆百천만억조]|\p{L}{0,2}(?:il|io|rd|ld|ou|aus|uiz|us|ys|иль|ыс|лн|лрд|ह|ल|क|अ))",
    regex.IGNORECASE,
)
_ROMAN = regex.compile(
    r"(?<![\w.])(?=[MDCLXVI]{2}|[IVX](?![\w'’]))(M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})"
    r"(?:IX|IV|V?I{0,3}))(?:e[rs]?|ème|è|th|st|nd|rd|º|ª)?(?!\w)"
)
_ROMAN_DIGITS = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}
_ROMAN_SIGNS = regex.compile("[Ⅰ-ↈ]")

_MERIDIEM_AFTER = regex.compile(
    r"(?:\s?[:.h時时点點시]\s?\d\d\s?[分분]?)?\s?(?:([ap])\.?\s?m\b)", regex.IGNORECASE
)
_MERIDIEM_BEFORE = regex.compile(r"(?:(午前|오전|上午|早上)|(午後|오후|下午|晚上))\s?$")
_HOUR_AFTER = regex.compile(
    r"\s?(?:h\b|h\s?\d\d\b|uhr|heures?\b|o['’]clock|[ap]\.?\s?m\b|[時时](?!間|间)|[点點]|시(?!간)|ч\b|час|"
    r"saat|godz|horas?\b|timer\b|[:.]\d\d(?![\d.,/]))",
    regex.IGNORECASE,
)
_HOUR_BEFORE = regex.compile(
    r"(?:午前|午後|오전|오후|上午|下午|\b(?:klo|kl\.?|klokken|um|at|à|gegen|ore|às|alle|las|saat|om|в|о))\s?$",
    regex.IGNORECASE,
)
_DECADE_AFTER = regex.compile(r"['’]?s\b|er(?:n|s|jahren?)?\b|년대|年代|대|代|-?тых|-х\b|-те\b|-tals?\b")
_DECADE_BEFORE = regex.compile(
    r"\b(?:années|ans|anni|años|anos|década de|jaren|lata|léta|lat|anii)\s(?:19|20)?$", regex.IGNORECASE
)
_ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018, "民國": 1911, "民国": 1911}
_ERA_BEFORE = regex.compile("(?:" + "|".join(_ERAS) + r")\s?$")
_BUDDHIST = 543
_PHONE = 7  # digits


@dataclass(frozen=True)
class _Part:
    """A number, or a part of one, and the text around it."""

    number: DigitNumber
    owner: int  # index of the whole number
    text: str
    language: str


@dataclass
class _Side:
    """What is left of a text."""

    text: str
    language: str
    numbers: list[DigitNumber]
    words: Counter[Value]
    others: set[Value]


class NumberMatch:
    """Finds the numbers of two texts that are on one side only.

    Args:
        languages: Codes of the languages of both texts; "" if unknown.
    """

    def __init__(self, languages: tuple[str, str]) -> None:
        self._languages = languages

    def unmatched(self, source: str, target: str) -> tuple[list[DigitNumber], list[DigitNumber]]:
        """The numbers in digits of each text that the other lacks."""
        numbers = [read_numbers(text, Symbols()) for text in (source, target)]
        written = [sorted(number.text for number in side) for side in numbers]
        if written[0] == written[1] and not any(map(_SCALE_HINT.search, (source, target))):
            return [], []
        a, b = self._read(source, 0), self._read(target, 1)
        if bool(number_words(a.language)) != bool(number_words(b.language)):
            a.numbers, b.numbers = (read_numbers(s.text, symbols_of(s.language)) for s in (a, b))
        _pair(a, b)
        _explain(a, b)
        _pair_joined(a, b)
        _pair_parts(a, b)
        _pair_joined(a, b)
        b.numbers = [number for number in b.numbers if 1 not in number.values]  # a dog
        return a.numbers, b.numbers

    def _read(self, text: str, side: int) -> _Side:
        language = self._languages[side]
        found = number_words(language).read(text, read_numbers(text, symbols_of(language)))
        others = {*found.others, *_roman(text)}
        return _Side(text, language, list(found.numbers), Counter(found.words), others)


def _roman(text: str) -> Iterator[int]:
    for match in _ROMAN.finditer(text):
        values = [_ROMAN_DIGITS[each] for each in match[1]]
        pairs = zip(values, [*values[1:], 0], strict=True)
        yield sum(-value if value < after else value for value, after in pairs)
    import unicodedata

    for match in _ROMAN_SIGNS.finditer(text):
        yield int(unicodedata.numeric(match[0]))


def _pair(a: _Side, b: _Side) -> None:
    """Remove the numbers that are equal as texts, or as values, the most probable first."""
    readings: tuple[Callable[[DigitNumber], Sequence[Hashable]], ...] = (
        lambda number: (number.text,),
        lambda number: number.values[:1],
        lambda number: number.values,
    )
    for keys in readings:
        left = _matched(list(enumerate(map(keys, a.numbers))), list(enumerate(map(keys, b.numbers))))
        a.numbers = [a.numbers[i] for i in left[0]]
        b.numbers = [b.numbers[i] for i in left[1]]


_Keyed = Sequence[tuple[int, Sequence[Hashable]]]


def _matched(a: _Keyed, b: _Keyed, sought: _Keyed | None = None) -> tuple[list[int], list[int]]:
    """Pair items that have a key in common; the indices of those that are left.

    Args:
        a: Indices and keys.
        b: Indices and keys of the other side.
        sought: The keys for which the items of `a` look; None: their own.
    """
    waiting = defaultdict[Hashable, deque[int]](deque)
    for i, keys in b:
        for key in keys:
            waiting[key].append(i)
    used = set[int]()
    left = list[int]()
    for i, keys in sought or a:
        for key in keys:
            queue = waiting.get(key, ())
            while queue and queue[0] in used:
                queue.popleft()
            if queue:
                used.add(queue.popleft())
                break
        else:
            left.append(i)
    return left, [i for i, _ in b if i not in used]


def _explain(a: _Side, b: _Side) -> None:
    """Remove the numbers that words of the other side explain."""
    words = a.words - b.words, b.words - a.words
    others = a.others - b.others, b.others - a.others
    for side, i in ((a, 1), (b, 0)):
        side.numbers = [n for n in side.numbers if not _explained(n.values, words[i], others[i])]
    a.words, b.words = words
    a.others, b.others = others


def _explained(values: Iterable[Value], words: Counter[Value], others: set[Value]) -> bool:
    for value in values:
        if words[value] > 0:
            words[value] -= 1
            return True
    return any(value in others for value in values)


def _pair_parts(a: _Side, b: _Side) -> None:
    """Remove the numbers whose parts match numbers and words of the other side."""
    parts = [
        [
            _Part(part, i, side.text, side.language)
            for i, number in enumerate(side.numbers)
            for part in number.parts or (number,)
            if not (number.parts and part.values[:1] == (0,))  # 10:00
        ]
        for side in (a, b)
    ]
    indices = [list(range(len(each))) for each in parts]
    for keys in (_values_of, _offered):
        offered = [[(i, tuple(keys(parts[1][i]))) for i in indices[1]]]
        sought = [(i, tuple(_sought(parts[0][i]) if keys is _offered else keys(parts[0][i]))) for i in indices[0]]
        indices = list(_matched(sought, offered[0]))
    for side, i, other in ((a, 0, b), (b, 1, a)):
        left = set[int]()
        for index in indices[i]:
            part = parts[i][index]
            values = [*part.number.values, *_clock_words(part)]
            if not _explained(values, other.words, other.others):
                left.add(part.owner)
        side.numbers = [number for i_, number in enumerate(side.numbers) if i_ in left]


def _values_of(part: _Part) -> Iterator[Hashable]:
    yield from part.number.values


def _clock_words(part: _Part) -> Iterator[int]:
    """The hours that words may give: half past six is halb sieben, 22h is ten."""
    hours = _hours(part)
    if not hours:
        return
    for hour in hours:
        yield from (hour % 12, (hour + 1) % 12, 12 if hour % 12 in (0, 11) else hour % 12)


def _offered(part: _Part) -> Iterator[Hashable]:
    """The keys by which the other side finds a part."""
    if hours := _hours(part):
        yield from (("hour", hour) for hour in hours)
    for value in part.number.values:
        yield ("value", value)
        if isinstance(value, int):
            yield from _years(part, value)
            if value < 13:
                yield from (("bare", value % 12), ("bare", value % 12 + 12))
            elif value < 25:
                yield ("bare", value)


def _sought(part: _Part) -> Iterator[Hashable]:
    """The keys by which a part is looked for on the other side."""
    if hours := _hours(part):
        yield from (("hour", hour) for hour in hours)
        yield from (("bare", hour) for hour in hours)
    elif part.number.values and (value := part.number.values[0]) < 25:
        yield ("hour", value)
        if value < 13:
            yield ("hour", value % 12 + 12)
    for value in part.number.values:
        yield ("value", value)
        if isinstance(value, int):
            opposite = {"decade": "bare decade", "bare decade": "decade", "year": "short", "short": "year"}
            for kind, key in _years(part, value):
                if kind in opposite:
                    yield (opposite[kind], key)
                yield (kind, key) if kind in ("decade", "value") else ("", 0)


def _years(part: _Part, value: int) -> Iterator[tuple[str, int]]:
    """The forms of years: 1990s and 90, 2024 and 24, 2567 of the Buddhist and 6 of the Reiwa era."""
    before = part.text[max(0, part.number.start - 12) : part.number.start]
    is_decade = _DECADE_AFTER.match(part.text, part.number.end) or _DECADE_BEFORE.search(before)
    if value % 10 == 0 and (is_decade or value < 100):
        yield ("decade" if is_decade else "bare decade", value % 100)
    if 1900 <= value < 2100:
        yield ("year", value % 100)
    elif value < 100:
        yield ("short", value)
    if part.language == "th" and 2400 < value < 2650:
        yield ("value", value - _BUDDHIST)
    if era := _ERA_BEFORE.search(before):
        yield ("value", value + _ERAS[era[0].strip()])


def _hours(part: _Part) -> set[int]:
    """The hours of the day that a part may be; empty: it is no hour."""
    value = part.number.values[0] if part.number.values else -1
    if not isinstance(value, int) or not 0 <= value < 25:
        return set()
    text, start, end = part.text, part.number.start, part.number.end
    before = text[max(0, start - 10) : start]
    if not (_HOUR_AFTER.match(text, end) or _HOUR_BEFORE.search(before)):
        return set()
    if value > 12:
        return {value % 24}
    after, prefix = _MERIDIEM_AFTER.match(text, end), _MERIDIEM_BEFORE.search(before)
    morning = bool((after and after[1].lower() == "a") or (prefix and prefix[1]))
    evening = bool((after and after[1].lower() == "p") or (prefix and prefix[2]))
    both = {value % 12, value % 12 + 12}
    return {value % 12} if morning else {value % 12 + 12} if evening else both


def _pair_joined(a: _Side, b: _Side) -> None:
    """Remove what is left if it has the same digits, as telephone numbers in other groups."""
    digits = ["".join(filter(str.isdecimal, "".join(n.text for n in side.numbers))) for side in (a, b)]
    if digits[0] == digits[1] and len(digits[0]) >= _PHONE:
        a.numbers, b.numbers = [], []
