"""Roman numerals.

    Louis XIV   XXe siècle   MCMLXXXIV   Ⅳ    14, 20, 1984, 4
    Peter I     Malcolm X                     1, 10, if a digit of the other side needs them
    I am        CD           MIX              -
"""

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

import regex

from yakusu.data.numbers.digits import DigitNumber

_ENDING = r"(?:e[rs]?|ème|è|th|st|nd|rd|º|ª)?(?!\w)"
_NUMERAL = regex.compile(
    r"(?<![\w.])(?=[IVX]{2}|[MDCLXVI]{4})(M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})"
    rf"(?:IX|IV|V?I{{0,3}})){_ENDING}|([Ⅰ-ↈ])"
)
_AFTER_NAME = regex.compile(rf"(?<=\p{{Lu}}\p{{Ll}}{{2,20}}\s)([IVXLCDM]){_ENDING}(?!['’-])")
_DIGITS = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}


def roman_numerals(text: str) -> Iterator[DigitNumber]:
    """The Roman numerals of a text that cannot be other words."""
    for match in _NUMERAL.finditer(text):
        if sign := match[2]:
            value = int(unicodedata.numeric(sign))
        else:
            digits = [*(_DIGITS[each] for each in match[1]), 0]
            value = sum(-a if a < b else a for a, b in pairwise(digits))
        yield DigitNumber(match.start(), match.end(), match[0], (value,))


def letters_after_names(text: str) -> Iterator[int]:
    """The values of single letters that may be numerals: those after a name or a title."""
    yield from (_DIGITS[match[1]] for match in _AFTER_NAME.finditer(text))
