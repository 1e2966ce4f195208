"""Fills a translation of the memory with the numbers of another source.

    Page 3 of 10 = Seite 3 von 10        Page 4 of 12  ->  Seite 4 von 12
    1 file = 1 Datei                     5 files: no, since the number decides the plural

A translation is filled only if nothing else can depend on the numbers: each number of the source
occurs in the translation, in digits; neither language has another plural for the new number; and
no number is part of a word or has an article or a particle beside it.
"""

from collections.abc import Sequence
from decimal import Decimal

import regex

from yakusu import lazy
from yakusu.data.lines.words import UNSPACED
from yakusu.data.numbers.cldr import cldr_locale, decimal_sign, localised
from yakusu.memory.segments import NUMBER, normalised

_LETTER = rf"(?:(?![{UNSPACED}\p{{Hangul}}])\p{{L}})"
# What a number changes beside itself: parts of words, 12-hour clocks, articles, particles
_BESIDE = (
    lazy.compile(rf"{_LETTER}['’]?$|{_LETTER}-$", regex.V1),
    lazy.compile(
        rf"^['’:-]?{_LETTER}|^\s?[AaPp]\.?[Mm]\b|^(?:을|를|이|가|은|는|과|와|으로|로|이나|나|이라|라)(?!\p{{Hangul}})"
    ),
)
_ARTICLES = {  # that depend on how the number is read, by language
    "ca": lazy.compile(r"(?i)(?<!\p{L})(?:d?el|al|pel)\s$"),
    "en": lazy.compile(r"(?i)(?<!\p{L})an?\s$"),
    "hu": lazy.compile(r"(?i)(?<!\p{L})az?\s$"),
    "it": lazy.compile(r"(?i)(?<!\p{L})(?:il|(?:da|de|ne|su|a)l)\s$"),
}
_SEPARATOR = lazy.compile(r"[^0-9]")
_MOST = 100  # numbers of a text; texts with more are not filled


def filled(source: str, target: str, text: str, languages: tuple[str, str]) -> str | None:
    """The translation of a text that differs from a source in its numbers only.

    Args:
        source: A source of the memory.
        target: Its translation.
        text: The text to translate.
        languages: Codes of the languages.

    Returns:
        The translation; None: it cannot be made safely.
    """
    old, new = (_numbers(normalised(side), languages[0]) for side in (source, text))
    if old is None or new is None or len(old) != len(new):
        return None
    becomes: dict[str, str] = {}
    for before, after in zip(old, new, strict=True):
        if becomes.setdefault(before, after) != after or not _same_plurals(
            before, after, languages
        ):
            return None
    found = _numbers(target, languages[1])
    if found is None or len(found) != len(old):
        return None
    written = {_in_target(before, languages, found): before for before in old}
    if len(written) < len(becomes) or sorted(found) != sorted(
        _in_target(before, languages, found) for before in old
    ):
        return None
    texts = [_like(written[each], each, becomes[written[each]], languages) for each in found]
    if None in texts:
        return None
    rest = iter(texts)
    return str(NUMBER.sub(lambda _: str(next(rest)), target))


def _numbers(text: str, language: str) -> list[str] | None:
    """The numbers of a text; None: they are too many, or one is not in ASCII digits or changes what
    is beside it.
    """
    articles, found = _ARTICLES.get(language.partition("-")[0]), list[str]()
    for match in NUMBER.finditer(text):
        if len(found) == _MOST:
            return None
        before, after = text[: match.start()], text[match.end() :]
        if not match[0].isascii() and _SEPARATOR.sub("", match[0]) == "":
            return None
        if _BESIDE[0].search(before[-8:]) or _BESIDE[1].search(after[:8]):
            return None
        if articles and articles.search(before[-8:]):
            return None
        found.append(match[0])
    return found


def _same_plurals(before: str, after: str, languages: Sequence[str]) -> bool:
    """Whether two numbers have the same plural in all languages; unknown ones have several."""
    if before == after:
        return True
    for language in languages:
        locale = cldr_locale(language)
        values = [_value(number, languages[0]) for number in (before, after)]
        if locale is None or None in values:
            return False
        first, second = (locale.plural_form(value) for value in values if value is not None)
        if first != second:
            return False
    return True


def _value(number: str, language: str) -> Decimal | None:
    """The value of a number with at most one decimal sign; None: it may be a version or a date."""
    sign = decimal_sign(language)
    whole, _, rest = number.partition(sign) if sign else (number, "", "")
    digits = _SEPARATOR.sub("", whole)
    if not digits.isascii() or (rest and not rest.isdecimal()):
        return None
    return Decimal(f"{digits}.{rest}" if rest else digits)


def _in_target(number: str, languages: tuple[str, str], found: Sequence[str]) -> str:
    """How a number of the source is written in a target with these numbers."""
    if number in found:
        return number
    grouped = localised(number, languages)
    signs = (decimal_sign(language) for language in languages)
    source_sign, target_sign = signs
    if grouped == number and number.count(source_sign or ".") == 1:
        return number.replace(source_sign, target_sign)
    return grouped


def _like(before: str, written: str, after: str, languages: tuple[str, str]) -> str | None:
    """Write a number as the translation writes the one that it replaces; None: unclear how."""
    if before == after:
        return written
    if after.isdecimal():
        return after
    shape = _SEPARATOR.findall(before), _SEPARATOR.findall(after)
    signs = _SEPARATOR.findall(written)
    if shape[0] == shape[1] and len(signs) == len(shape[0]):
        parts = _SEPARATOR.split(after)
        new = "".join(part + sign for part, sign in zip(parts, [*signs, ""], strict=True))
        return new if written == before or new == _in_target(after, languages, ()) else None
    grouped = localised(after, languages)
    return grouped if grouped != after else None
