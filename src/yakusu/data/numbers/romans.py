"""Roman numerals.

Louis XIV   XXe siècle   MCMLXXXIV   Ⅳ    14, 20, 1984, 4
Peter I     Malcolm X   XX                1, 10, 20, if a number of the other side needs them
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
    rf"(?:IX|IV|V?I{{0,3}}))(?<!\bXXX?){_ENDING}|([Ⅰ-ↈ])"
)
_MAYBE = regex.compile(
    rf"(?<=\p{{Lu}}\p{{Ll}}{{2,20}}\s)([IVXLCDM]){_ENDING}(?!['’-])|(?<!\w)(XXX?){_ENDING}"
)
_DIGITS = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}
_SIGNS = {sign: int(unicodedata.numeric(sign, 0)) for sign in map(chr, range(0x2160, 0x2189))}


def roman_numerals(text: str) -> Iterator[DigitNumber]:
    """The Roman numerals of a text that cannot be other words."""
    for match in _NUMERAL.finditer(text):
        if sign := match[2]:
            value = _SIGNS[sign]
        else:
            digits = [*(_DIGITS[each] for each in match[1]), 0]
            value = sum(-a if a < b else a for a, b in pairwise(digits))
        yield DigitNumber(match.start(), match.end(), match[0], (value,))


def possible_numerals(text: str) -> Iterator[int]:
    """The values of what may be a numeral: single letters after a name or a title, and XX."""
    for match in _MAYBE.finditer(text):
        yield _DIGITS[match[1]] if match[1] else 10 * len(match[2])
