"""Number words of texts, and the scales that follow numbers in digits.

    three hundred and five   dreihundertfünf   三百五           305
    two and a half           zweieinhalb       2と半            2.5
    2 million   2百万         2 млн             2,000,000        2,000,000
    1억1천만                  5 decades                          110,000,000   50
    ninety-nine point nine   99 virgule neuf                    99.9

A number is a sequence of atoms; a scale multiplies what precedes it, up to a greater scale.
Everything takes linear time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import regex

from yakusu.data.numbers.atoms import NumberAtom, NumberAtoms
from yakusu.data.numbers.digits import LONGEST, DigitNumber, Value
from yakusu.data.numbers.forms import FormKind, decimal_words, plain_words
from yakusu.data.numbers.moments import is_half_to

_SMALLEST_SCALE = 1000  # after digits and a space: "5 cents" are not 500
_ANDS = ("and", "und", "et", "y", "e", "i", "og", "och", "en", "ja", "ve", "și", "và")
_LINKS = frozenset(["", " ", *(f" {word} " for word in _ANDS), "und", "en", "og", "och", "و", " و"])
_LETTER_SCALES = {"k": 1000, "m": 10**6, "b": 10**9, "t": 10**12}  # $5m
_LETTER_SCALE = regex.compile(r"[kmbtKM](?![A-Za-z\d])")
_A_SECOND = regex.compile(  # of time
    r"\b(?:(?:an?|one|per|this|every|each|any|split)\ssecond|(?:une|par|chaque)\sseconde)\b(?!\s\p{L})"
)
_EAST_ASIAN_SCALE = regex.compile("[십백천만百千万萬]")
_HAN_DIGITS = regex.compile(r"[〇零一二三四五六七八九]{2,40}")  # 二〇二四
_HAN = str.maketrans("〇零一二三四五六七八九", "00123456789")


@dataclass(frozen=True)
class NumbersOfText:
    """What a text has as numbers.

    Attributes:
        numbers: The numbers in digits, with the scales that follow them.
        words: The values of number words, each as often as it occurs.
        certain: Those of words of more than one character, which hardly mean anything else.
        others: The values that other words stand for, such as half.
        months: Those of months.
        weekdays: Those of days of the week.
    """

    numbers: tuple[DigitNumber, ...]
    words: tuple[Value, ...] = ()
    certain: tuple[Value, ...] = ()
    others: tuple[Value, ...] = ()
    months: tuple[Value, ...] = ()
    weekdays: tuple[Value, ...] = ()


class _Spoken(NamedTuple):
    """A number in words."""

    start: int
    end: int
    value: Value


class NumberWords:
    """The number words of a language; false if CLDR does not have them.

    Args:
        language: The code of the language.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._atoms, self._points = NumberAtoms(language), decimal_words(language)

    def __bool__(self) -> bool:
        return bool(self._atoms)

    def read(self, text: str, numbers: Sequence[DigitNumber]) -> NumbersOfText:
        """Read the words of a text, and the scales of its numbers.

        Args:
            text: The text.
            numbers: Its numbers in digits.
        """
        plain = _A_SECOND.sub(lambda second: "\0" * len(second[0]), plain_words(text))
        others: dict[FormKind, list[Value]] = {"value": [], "month": [], "weekday": []}
        by_start = {number.start: number for number in numbers}
        found, words, spoken = list[DigitNumber](), list[Value](), list[_Spoken]()
        for group in _groups(self._atoms.find(plain, numbers, others), plain):
            if number := by_start.get(group[0].start):
                found.append(_with_scale(number, group, plain, text))
                continue
            values = list(self._values(group, plain))
            if is_half_to(self._language, plain, group[0].start) and 0 < values[0] <= 12:
                values = [(values[0] - 1) or 12]
            words += values
            spoken.append(_Spoken(group[0].start, group[-1].end, values[0]))
        words += [int(match[0].translate(_HAN)) for match in _HAN_DIGITS.finditer(plain)]
        words += [*_years(spoken, plain), *self._decimals(spoken, plain)]
        certain = tuple(each.value for each in spoken if each.end - each.start > 1)
        return NumbersOfText(tuple(found), tuple(words), certain, *map(tuple, others.values()))

    def _values(self, group: Sequence[NumberAtom], text: str) -> Iterator[Value]:
        """What number words mean, the most probable first; five decades are 50 and 5."""
        total = _total(group)
        yield total
        if group[-1].kind in ("multiplier", "half") and len(group) > 1:
            yield _total(group[:-1])
        yield from _divided(group, text)
        if group[0].kind != "unit" and self._atoms.is_halved(text, group[0].start):
            yield total * Fraction(1, 2)

    def _decimals(self, spoken: Sequence[_Spoken], text: str) -> Iterator[Value]:
        """Decimals: three point one four, null Komma drei."""
        total, unit = Fraction(0), 0  # unit: of the last digit, reciprocal; 0: no decimals
        for last, each in pairwise(spoken):
            between = text[last.end : min(each.start, last.end + 20)].strip()
            digits = str(each.value)
            if between in self._points:
                total, unit = Fraction(last.value), 10 ** len(digits)
            elif unit and not between and len(digits) == 1 and unit < 10**LONGEST:
                unit *= 10
            else:
                unit = 0
                continue
            if digits.isdecimal():
                total += Fraction(int(digits), unit)
                yield total


def _groups(atoms: Iterable[NumberAtom], text: str) -> Iterator[list[NumberAtom]]:
    """Divide atoms into those of one number each."""
    group = list[NumberAtom]()
    for atom in atoms:
        if group and not _continues(group, atom, text):
            yield group
            group = []
        group.append(atom)
    if group:
        yield group


def _continues(group: Sequence[NumberAtom], atom: NumberAtom, text: str) -> bool:
    """Whether an atom belongs to the same number as the atoms before it."""
    last, in_digits = group[-1], group[0].kind == "digits"
    between = text[last.end : min(atom.start, last.end + 8)]
    if between not in _LINKS or len(group) > LONGEST or last.kind == "multiplier":
        return False
    if between and not atom.is_whole:  # hundert Einwohner
        return False
    if last.kind == "digits" and atom.kind in ("scale", "multiplier"):
        close = between == " " and (atom.kind == "multiplier" or atom.value >= _SMALLEST_SCALE)
        return last.value >= 0 and (not between or close)
    if atom.kind == "multiplier":
        return between in ("", " ")
    if atom.kind == "digits":  # 1만8500, 2만 5천
        is_next = not between or bool(_EAST_ASIAN_SCALE.match(text, atom.end))
        return last.kind == "scale" and in_digits and is_next
    if atom.kind in ("scale", "half"):
        return True
    if text[last.start : last.end] == "零" and len(group) > 1:  # 一百零五
        return atom.kind == "unit"
    if last.kind in ("digits", "half") or (in_digits and between):
        return False
    # The forms include all numbers below 100, but those of CLDR may lack a conjunction.
    is_long = last.value >= 100 or bool(between.strip())
    fits = last.value % 10 ** len(str(int(atom.value))) == 0
    return is_long and fits and last.value > atom.value


def _total(group: Sequence[NumberAtom], first: Value | None = None) -> Value:
    """The value of a number; a scale multiplies what precedes it, up to a greater one.

    Args:
        group: The atoms.
        first: The value of the first one, if it may be several.
    """
    parts, scale = [group[0].value if first is None else first], Fraction(1)
    if group[0].kind in ("scale", "multiplier"):
        scale = Fraction(group[0].value)
    for atom in group[1:]:
        if atom.kind in ("scale", "multiplier"):
            below: Value = 0
            while parts and parts[-1] < atom.value:
                below += parts.pop()
            parts.append((below or 1) * atom.value)
            scale = Fraction(atom.value)
        elif atom.kind == "half":  # two and a half, deux millions et demi
            parts.append(scale * atom.value)
        else:
            parts.append(atom.value)
            scale = Fraction(1)
    return _exact(Fraction(sum(parts)))


def _exact(value: Fraction) -> Value:
    return int(value) if value.denominator == 1 else value


def _divided(group: Sequence[NumberAtom], text: str) -> Iterator[Value]:
    """The numbers of a group as if a conjunction joined several: tausend und zweitausend."""
    start = 0
    for i, (last, atom) in enumerate(pairwise(group), start=1):
        linked = text[last.end : atom.start] not in ("", " ")
        if linked and any(each.kind == "scale" for each in group[i:]):
            yield _total(group[start:i])
            yield _total(group[i:])
            start = i


def _with_scale(
    number: DigitNumber, group: Sequence[NumberAtom], text: str, written_text: str
) -> DigitNumber:
    """A number in digits with what follows it.

    Args:
        number: The number.
        group: Its atoms, the digits first.
        text: The text in the spelling of forms.
        written_text: The text as it is.
    """
    last, end = group[-1], group[-1].end
    if len(group) > 1:
        values = tuple(_total(group, value) for value in number.values)
        if last.kind == "half":
            values += tuple(_total(group[:-1], value) for value in number.values)
        elif last.kind == "multiplier" or (text[end - 1] == "조" and len(group) == 2):
            values += number.values  # 9조 is also article 9
        written = text[number.start : end]
        return replace(number, end=end, text=written, values=values, parts=())
    if number.values and (letter := _LETTER_SCALE.match(written_text, end)):
        scaled = number.values[0] * _LETTER_SCALES[letter[0].lower()]
        is_scale = letter[0].isupper()  # 5m may be a length
        values = (scaled,) if is_scale else (*number.values, scaled)
        return replace(number, text=number.text + letter[0], values=values)
    return number


def _years(spoken: Sequence[_Spoken], text: str) -> Iterator[Value]:
    """Years in two parts: nineteen eighty-four."""
    for first, second in pairwise(spoken):
        is_year = 9 < first.value < 22 and 9 < second.value < 100
        if is_year and text[first.end : second.start] == " ":
            yield first.value * 100 + second.value


@lru_cache(maxsize=64)
def number_words(language: str) -> NumberWords:
    """The number words of a language."""
    return NumberWords(language)
