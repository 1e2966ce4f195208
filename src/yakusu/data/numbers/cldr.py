"""CLDR's data of a language, which Babel contains."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from babel import Locale

_DIGITS = re.compile(r"\d+", re.ASCII)
_SPACES = "\u00a0\u2009\u202f '’"  # between groups of digits; a language uses several of them


@lru_cache(maxsize=64)
def cldr_locale(language: str) -> "Locale | None":
    """The locale of a language code; None: CLDR does not have it."""
    from babel import Locale, UnknownLocaleError  # 0.05 s

    if not language:
        return None
    for code in (language, language.partition("-")[0]):
        try:
            return Locale.parse(code, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return None


def is_known(language: str) -> bool:
    """Whether CLDR has a language."""
    return cldr_locale(language) is not None


def decimal_sign(language: str) -> str:
    """What precedes the decimals of a number, such as "." and ","; "": unknown."""
    return number_signs(language)[1]


def localised(number: str, languages: tuple[str, str]) -> str:
    """A number in groups with the signs of another language: 1,000.5 becomes 1.000,5.

    Args:
        number: A number of a text; one without groups, which may be a version or a date, is
            unchanged.
        languages: Codes of the language of the text, and of the other one.
    """
    (group, decimal), other = map(number_signs, languages)
    if not (group and other[0]):
        return number
    if not (found := _grouped(group, decimal).fullmatch(number)):
        return number
    whole = other[0].join(_DIGITS.findall(found[1]))
    return f"{whole}{other[1]}{found[2]}" if found[2] else whole


@lru_cache(maxsize=64)
def _grouped(group: str, decimal: str) -> "re.Pattern[str]":
    """What finds a number with these signs."""
    signs = f"[{_SPACES}]" if group in _SPACES else re.escape(group)
    whole = rf"\d{{1,3}}(?:{signs}\d{{3}})+"
    return re.compile(rf"({whole})(?:{re.escape(decimal)}(\d+))?", re.ASCII)


@lru_cache(maxsize=64)
def number_signs(language: str) -> tuple[str, str]:
    """The signs between groups of digits and before decimals; "": unknown."""
    if not (locale := cldr_locale(language)):
        return "", ""
    symbols = locale.number_symbols.get("latn", {})
    return str(symbols.get("group", "")), str(symbols.get("decimal", ""))
