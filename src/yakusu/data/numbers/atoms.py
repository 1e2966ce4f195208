"""Atoms of numbers in texts: digits, words of small numbers, scales, and halves.

    two hundred and five     2, 100, 5            zweieinhalb Millionen   2, 1/2, 10**6
    1억1천만                  1, 10**8, 1, 1000, 10**4

In languages that join words, a longer word may follow an atom: vierköpfig has the atom 4.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

import regex

from yakusu.data.numbers.digits import DigitNumber, Value
from yakusu.data.numbers.forms import FormKind, NumberForm, number_forms

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
_GLUED = regex.compile("und|en|og|och")  # between number words without spaces
_HALVES: Mapping[str, str] = {
    "cs": "půl",
    "da": "halvt?",
    "de": "halb(?:e[nrms]?)?",
    "en": "half|halves",
    "es": "medi[ao]s?",
    "fr": "demie?s?",
    "it": "mezz[oa]",
    "ja": "半",
    "ko": "반",
    "nl": "halve?|half",
    "no": "halvt?",
    "pl": "pół",
    "pt": "mei[oa]",
    "ru": "половиной",
    "sv": "halvt?",
    "tr": "buçuk",
    "zh": "半",
}
_OF_HALF = (Fraction(1, 2), 30, 50)  # also minutes, and percent
_BEFORE_HALF = (  # after a number
    r"\s?(?:(?:and a|and one|and|ein|und ein|et une?|et|y|e|en een|een|с|と|个|og en|och en|i|a)"
    r"\s?)?"
)

# One syllable of Korean numbers is often part of another word, so a counter has to follow, or it is
# a word of its own that means nothing else.
_ATTRIBUTIVE = "한두세네석넉둘셋넷열반"
_COUNTER = regex.compile(
    r"\s?[개건권그기년대도돈동등달리마매명모무미박발배번벌병분살석세센송시씩여연월위원인일자장"
    r"점조주줄지차채천척초층칸통퍼편평포학호회킬톤쪽만백억]"
)
_LETTER = regex.compile(r"\p{L}|\p{M}")


class NumberAtom(NamedTuple):
    """A part of a number.

    Attributes:
        start: Position of its first character.
        end: Position after its last character.
        kind: What it is.
        value: Its value; -1: digits that are not one number.
        is_whole: Whether no letter follows, or another atom.
    """

    start: int
    end: int
    kind: FormKind | Literal["digits", "half"]
    value: Value
    is_whole: bool = True


class NumberAtoms:
    """Finds the atoms of texts of a language; false if CLDR does not have its numbers.

    Args:
        language: The code of the language.
    """

    def __init__(self, language: str) -> None:
        base = language.partition("-")[0]
        self._unspaced, self._korean = base in _UNSPACED, base == "ko"
        self._joining = self._unspaced or self._korean or base in _JOINING
        half = _HALVES.get(base, "(?!)")
        self._half = regex.compile(rf"{_BEFORE_HALF}(?:{half})")
        self._half_a = regex.compile(rf"(?<!\p{{L}})(?:{half})\s(?:of )?(?:a )?$")
        self._forms = number_forms(language)
        self._starts = self._start_of_forms(_PREFIXES.get(base))
        lengths = defaultdict[str, set[int]](set)
        for form in self._forms:
            lengths[form[:2]].add(len(form))
        self._lengths = {start: sorted(each, reverse=True) for start, each in lengths.items()}

    def __bool__(self) -> bool:
        return any(each.kind == "unit" for forms in self._forms.values() for each in forms)

    def _start_of_forms(self, prefixes: str | None) -> "regex.Pattern[str]":
        """Where a form may begin; in languages with spaces, at the start of a word."""
        first = "".join(sorted({form[0] for form in self._forms}))
        letter = f"[{regex.escape(first)}]" if first else "(?!)"
        if self._unspaced:
            return regex.compile(letter)
        before = rf"|(?<=(?<!\p{{L}})(?:{prefixes}))" if prefixes else ""
        return regex.compile(rf"(?:(?<![\p{{L}}\p{{M}}]){before}){letter}")

    def find(
        self, text: str, numbers: Sequence[DigitNumber], others: Mapping[FormKind, list[Value]]
    ) -> Iterator[NumberAtom]:
        """The atoms of a text, in order.

        Args:
            text: The text, in the spelling of `plain_words`.
            numbers: Its numbers in digits.
            others: Receives the values of words of the kinds that are its keys, among them "value".
        """
        place = 0
        for number in numbers:
            yield from self._words(text, place, number.start, others)
            value = number.values[0] if number.values else -1
            yield NumberAtom(number.start, number.end, "digits", value)
            place = number.end
            for half in self._halves(text, place, others):
                yield half
                place = half.end
        yield from self._words(text, place, len(text), others)

    def _words(
        self, text: str, start: int, end: int, others: Mapping[FormKind, list[Value]]
    ) -> Iterator[NumberAtom]:
        place, follows = start, start > 0  # follows: a number ends at the place
        while place < end:
            if not follows:
                if not (word := self._starts.search(text, place, end)):
                    return
                place = word.start()
            forms, stop = self._longest(text, place, end, follows=follows)
            follows, following = self._joining and bool(forms), stop
            for form in forms:
                if form.kind in others:
                    others[form.kind].append(form.value)
                    continue
                following = self._following(text, stop, end)
                yield NumberAtom(
                    place, stop, form.kind, form.value, self._is_whole(text, following, end)
                )
                for half in self._halves(text, stop, others):
                    yield half
                    following = half.end
            place = following

    def _halves(
        self, text: str, place: int, others: Mapping[FormKind, list[Value]]
    ) -> Iterator[NumberAtom]:
        """The half after a number, if there is one: it may also belong to what follows."""
        half = self._half.match(text, place)
        if half and self._is_whole(text, half.end(), len(text)):
            others["value"].extend(_OF_HALF)
            yield NumberAtom(place, half.end(), "half", _OF_HALF[0])

    def _following(self, text: str, stop: int, end: int) -> int:
        """Where the next atom may begin: after the und of zweitausendundzwölf."""
        link = self._joining and _GLUED.match(text, stop, end)
        return link.end() if link and self._longest(text, link.end(), end)[0] else stop

    def _is_whole(self, text: str, stop: int, end: int) -> bool:
        if self._unspaced or not _LETTER.match(text, stop):
            return True
        return bool(self._longest(text, stop, end)[0])

    def _longest(
        self, text: str, place: int, end: int, *, follows: bool = True
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

    def is_halved(self, text: str, place: int) -> bool:
        """Whether a half precedes a place: half a million."""
        return bool(self._half_a.search(text[max(0, place - 16) : place]))
