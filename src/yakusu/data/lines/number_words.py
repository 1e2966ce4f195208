"""Number words of texts, and the scales that follow numbers in digits.

    three hundred and five   dreihundertfünf   三百五           305
    two and a half           zweieinhalb       2と半            2.5
    2 million   2百万         2 млн             2,000,000        2,000,000
    1억1천만                  5 decades                          110,000,000   50

A number is a sequence of atoms: digits, words of small numbers, and scales, which multiply what
precedes them up to a greater scale. In languages that join words, a longer word may follow:
vierköpfig is 4. Everything takes linear time.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

import regex

from yakusu.data.lines.number_forms import FormKind, NumberForm, number_forms, plain_words
from yakusu.data.lines.numbers import LONGEST, DigitNumber, Value

# Languages that join a number and the words after it; Korean, too, but with fewer short forms.
_JOINING = frozenset(
    (
        *("af", "az", "da", "de", "eo", "et", "fi", "fo", "hu", "is", "it", "ka", "kk", "ky", "lb"),
        *("nb", "nl", "nn", "no", "se", "sv", "ta", "tr"),
    )
)
_UNSPACED = frozenset(["ja", "km", "lo", "my", "th", "yue", "zh"])
_PREFIXES = {  # conjunctions and prepositions that are written as part of the word after them
    "ar": "[وفبلك]|ال|وال",
    "he": "[ובלמשכה]{1,2}",
}
_SMALLEST_SCALE = 1000  # after digits and a space: "5 cents" are not 500
_ANDS = ("and", "und", "et", "y", "e", "i", "og", "och", "en", "ja", "ve", "și", "và")
_LINKS = frozenset(["", " ", *(f" {word} " for word in _ANDS), "und", "و", " و"])
_GLUED = regex.compile("und|en|og|och")  # between number words without spaces
_HALVES = {  # after a number: two and a half
    **{"en": "half|halves", "de": "halb|halbe[nrms]?", "fr": "demie?s?", "es": "medi[ao]s?"},
    **{
        "it": "mezz[oa]",
        "pt": "mei[oa]",
        "nl": "halve?",
        "ru": "половиной",
        "ja": "半",
        "ko": "반",
    },
    **{"zh": "半", "sv": "halvt?", "da": "halvt?", "pl": "pół", "cs": "půl", "tr": "buçuk"},
}
_BEFORE_HALF = (
    r"\s?(?:(?:and a|and one|and|ein|und ein|et une?|et|y|e|en een|een|с|と|个|og en|och en|i|a)"
    r" ?)?"
)
_HALF = Fraction(1, 2)
_LETTER_SCALES = {"k": 1000, "m": 10**6, "b": 10**9, "t": 10**12}  # $5m
_LETTER_SCALE = regex.compile(r"[kmbt](?![\p{L}\d])")

# One syllable of Korean numbers is often part of another word, so a counter has to follow, or it is
# a word of its own that means nothing else.
_ATTRIBUTIVE = "한두세네석넉둘셋넷열"
_COUNTER = regex.compile(
    r"\s?[개건권그기년대도돈동등달리마매명모무미박발배번벌병분살석세센송시씩여연월위원인일자장"
    r"점조주줄지차채천척초층칸통퍼편평포학호회킬톤쪽만백억]"
)
_EAST_ASIAN_SCALE = regex.compile("[십백천만百千万萬]")
_HAN_DIGITS = regex.compile(r"[〇零一二三四五六七八九]{2,40}")  # 二〇二四
_HAN = str.maketrans("〇零一二三四五六七八九", "00123456789")
_LETTER = regex.compile(r"\p{L}|\p{M}")


class _Atom(NamedTuple):
    """A part of a number; the kind is "" for digits."""

    start: int
    end: int
    kind: FormKind | str
    value: Value
    is_whole: bool  # no letter follows, or another atom


@dataclass(frozen=True)
class NumbersOfText:
    """What a text has as numbers.

    Attributes:
        numbers: The numbers in digits, with the scales that follow them.
        words: The values of number words, each as often as it occurs.
        certain: Those of words of more than one character, which hardly mean anything else.
        others: The values that other words stand for, such as half.
        calendar: Those of months and days of the week.
    """

    numbers: tuple[DigitNumber, ...]
    words: tuple[Value, ...]
    certain: tuple[Value, ...]
    others: tuple[Value, ...]
    calendar: tuple[Value, ...]


class NumberWords:
    """The number words of a language; false if CLDR does not have the language.

    Args:
        language: The code of the language.
    """

    def __init__(self, language: str) -> None:
        base = language.partition("-")[0]
        self._unspaced, self._korean = base in _UNSPACED, base == "ko"
        self._joining = self._unspaced or self._korean or base in _JOINING
        half = _HALVES.get(base)
        self._half = half and regex.compile(
            rf"{_BEFORE_HALF}(?:{half})(?!\p{{Latin}}|\p{{Cyrillic}})"
        )
        self._forms = number_forms(language)
        self._half_a = half and regex.compile(rf"(?<!\p{{L}})(?:{half})\s(?:of )?(?:a )?$")
        forms = chain.from_iterable(self._forms.values())
        self._has_units = any(form.kind == "unit" for form in forms)
        lengths = defaultdict[str, set[int]](set)
        for form in self._forms:
            lengths[form[:2]].add(len(form))
        self._starts = self._start_of_forms(_PREFIXES.get(base))
        self._lengths = {start: sorted(each, reverse=True) for start, each in lengths.items()}

    def _start_of_forms(self, prefixes: str | None) -> "regex.Pattern[str]":
        """Where a form may begin; in languages with spaces, at the start of a word."""
        first = "".join(sorted({form[0] for form in self._forms}))
        letter = f"[{regex.escape(first)}]" if first else "(?!)"
        if self._unspaced:
            return regex.compile(letter)
        before = rf"|(?<=(?<!\p{{L}})(?:{prefixes}))" if prefixes else ""
        return regex.compile(rf"(?:(?<![\p{{L}}\p{{M}}]){before}){letter}")

    def __bool__(self) -> bool:
        return self._has_units

    def read(self, text: str, numbers: Sequence[DigitNumber]) -> NumbersOfText:
        """Read the words of a text, and the scales of its numbers.

        Args:
            text: The text.
            numbers: Its numbers in digits.
        """
        if not self._forms:
            return NumbersOfText(tuple(numbers), (), (), (), ())
        plain = plain_words(text)
        others: dict[FormKind, list[Value]] = {"value": [], "calendar": []}
        by_start = {number.start: number for number in numbers}
        found, words, certain = list[DigitNumber](), list[Value](), list[Value]()
        end = -1
        last: Value = 0
        for group in _groups(self._atoms(plain, numbers, others), plain):
            if number := by_start.get(group[0].start):
                found.append(self._with_scale(number, group, plain))
                continue
            values = self._word_values(group, plain)
            words += values
            if 9 < last < 22 and 9 < values[0] < 100 and plain[end : group[0].start] == " ":
                words.append(last * 100 + values[0])  # nineteen eighty-four
            end, last = group[-1].end, values[0]
            certain += values[: end - group[0].start > 1]
        words += [int(match[0].translate(_HAN)) for match in _HAN_DIGITS.finditer(plain)]
        explaining = map(tuple, others.values())
        return NumbersOfText(tuple(found), tuple(words), tuple(certain), *explaining)

    def _word_values(self, group: Sequence[_Atom], text: str) -> list[Value]:
        """What number words mean; five decades are 50 and 5."""
        values = [_total(group, group[0].value)]
        if group[-1].kind == "multiplier" and len(group) > 1:
            values.append(_total(group[:-1], group[0].value))
        values += _parts_with_scales(group, text)
        if self._half and self._half.match(text, group[-1].end):
            values.append(values[0] + _HALF)
        if group[0].kind != "unit" and self._half_a:  # half a million
            before = text[max(0, group[0].start - 16) : group[0].start]
            values += [values[0] * _HALF] * bool(self._half_a.search(before))
        return values

    def _with_scale(self, number: DigitNumber, group: Sequence[_Atom], text: str) -> DigitNumber:
        """A number in digits with what follows it.

        Args:
            number: The number.
            group: Its atoms, the digits first.
            text: The text.
        """
        values, end = number.values, group[-1].end
        if len(group) > 1:
            values = tuple(_total(group, value) for value in values)
            if group[-1].kind == "multiplier" or (text[end - 1] == "조" and len(group) == 2):
                values = (*values, *number.values)  # 9조 is also article 9
            number = replace(number, end=end, text=text[number.start : end], parts=())
        elif values and (letter := _LETTER_SCALE.match(text, end)):
            values = (*values, values[0] * _LETTER_SCALES[letter[0]])
        if values and self._half and self._half.match(text, end):
            values = (*values, values[0] + _HALF)
        return number if values == number.values else replace(number, values=values)

    def _atoms(
        self, text: str, numbers: Sequence[DigitNumber], others: Mapping[FormKind, list[Value]]
    ) -> Iterator[_Atom]:
        """The atoms of a text, in order; the values of other words are added to `others`."""
        place = 0
        for number in numbers:
            yield from self._words(text, place, number.start, others)
            value = number.values[0] if number.values else -1
            yield _Atom(number.start, number.end, "", value, True)
            place = number.end
        yield from self._words(text, place, len(text), others)

    def _words(
        self, text: str, start: int, end: int, others: Mapping[FormKind, list[Value]]
    ) -> Iterator[_Atom]:
        place, follows = start, start > 0  # follows: a number ends at the place
        while place < end:
            if not follows:
                if not (word := self._starts.search(text, place, end)):
                    return
                place = word.start()
            forms, stop = self._longest(text, place, end, follows=follows)
            follows = self._joining and bool(forms)
            if follows and (link := _GLUED.match(text, stop, end)):  # zweitausendundzwölf
                follows = bool(self._longest(text, link.end(), end, follows=True)[0])
            else:
                link = None
            for form in forms:
                if form.kind in others:
                    others[form.kind].append(form.value)
                else:
                    whole = self._unspaced or bool(link) or not _LETTER.match(text, stop)
                    whole = whole or bool(self._longest(text, stop, end, follows=True)[0])
                    yield _Atom(place, stop, form.kind, form.value, whole)
            place = link.end() if link and follows else stop

    def _longest(
        self, text: str, place: int, end: int, *, follows: bool
    ) -> tuple[Sequence[NumberForm], int]:
        """The longest form at a place and where it ends; none, and the next place.

        Args:
            text: The text.
            place: The place.
            end: Where the form may end at the latest.
            follows: Whether a number ends at the place.
        """
        two, one = text[place : place + 2], text[place : place + 1]
        for length in (*self._lengths.get(two, ()), *self._lengths.get(one, ())):
            stop = place + length
            forms = self._forms.get(text[place:stop]) if stop <= end else None
            if forms and (self._ends(text, place, stop) or (follows and self._is_scale(forms))):
                return forms, stop
        return (), place + 1

    def _is_scale(self, forms: Sequence[NumberForm]) -> bool:
        return self._korean and any(form.kind == "scale" for form in forms)

    def _ends(self, text: str, place: int, stop: int) -> bool:
        """Whether a form may end where it does."""
        if self._korean and stop - place == 1:
            is_word = text[place] in _ATTRIBUTIVE and not _LETTER.match(text, stop)
            return is_word or bool(_COUNTER.match(text, stop))
        if self._unspaced or not _LETTER.match(text, stop):
            return True
        return self._joining and (self._korean or stop - place > 2)


def _groups(atoms: Iterable[_Atom], text: str) -> Iterator[list[_Atom]]:
    """Divide atoms into those of one number each."""
    group = list[_Atom]()
    for atom in atoms:
        if group and not _continues(group, atom, text):
            yield group
            group = []
        group.append(atom)
    if group:
        yield group


def _continues(group: Sequence[_Atom], atom: _Atom, text: str) -> bool:
    """Whether an atom belongs to the same number as the atoms before it."""
    last = group[-1]
    between = text[last.end : min(atom.start, last.end + 8)]
    if between not in _LINKS or len(group) > LONGEST or last.kind == "multiplier":
        return False
    if between and not atom.is_whole:  # hundert Einwohner
        return False
    if last.kind == "" and atom.kind in ("scale", "multiplier"):
        close = between == " " and (atom.kind == "multiplier" or atom.value >= _SMALLEST_SCALE)
        return last.value >= 0 and (not between or close)
    if atom.kind == "multiplier":
        return between in ("", " ")
    if atom.kind == "scale":
        return True
    if atom.kind == "":  # 1만8500, 2만 5천
        is_next = not between or bool(_EAST_ASIAN_SCALE.match(text, atom.end))
        return last.kind == "scale" and group[0].kind == "" and is_next
    if last.kind == "" or (group[0].kind == "" and between):
        return False
    # The forms include all numbers below 100, but those of CLDR may lack a conjunction.
    is_long = last.value >= 100 or bool(between.strip())
    fits = last.value % 10 ** len(str(int(atom.value))) == 0
    return is_long and fits and last.value > atom.value


def _total(group: Sequence[_Atom], first: Value) -> Value:
    """The value of a number; a scale multiplies what precedes it, up to a greater one.

    Args:
        group: The atoms.
        first: The value of the first one.
    """
    parts = list[Value]()
    for i, atom in enumerate(group):
        if atom.kind in ("scale", "multiplier"):
            below: Value = 0
            while parts and parts[-1] < atom.value:
                below += parts.pop()
            parts.append((below or 1) * atom.value)
        else:
            parts.append(first if i == 0 else atom.value)
    return sum(parts)


def _parts_with_scales(group: Sequence[_Atom], text: str) -> Iterator[Value]:
    """The numbers of a group as if a conjunction joined several: tausend und zweitausend."""
    start = 0
    for i, (last, atom) in enumerate(pairwise(group), start=1):
        if text[last.end : atom.start] not in ("", " ") and any(
            each.kind == "scale" for each in group[i:]
        ):
            yield _total(group[start:i], group[start].value)
            yield _total(group[i:], atom.value)
            start = i


@lru_cache(maxsize=64)
def number_words(language: str) -> NumberWords:
    """The number words of a language."""
    return NumberWords(language)
