"""Months and hours of half a day, which the text around them tells from other numbers.

    6 March 2021    month 3 (March)       3月6日   3월 6일    month 3 (the number)
    5:30 pm         hour 17               午前9時              hour 9
    in March        -                     March alone is a word, not a number

What is marked is not equal to a plain number with the same digits: 6 March is not 6月3日.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import regex

from yakusu.data.numbers.cldr import cldr_locale
from yakusu.data.numbers.digits import DigitNumber, ascii_digits
from yakusu.data.numbers.moments import hours

_CONTEXTS = ("format", "stand-alone")
_INFLECTED = frozenset(
    ["be", "bg", "bs", "cs", "el", "hr", "hy", "lt", "lv", "mk", "pl", "ru", "sk", "sl", "sr", "uk"]
)
_HALF_DAY = 12  # hours
_DAY = r"(?<![\d.,:])(?:[0-3]?\d|[12]\d{3})"
_AFTER_DAY = r"(?:st|nd|rd|th|er|[.ºª]|-\p{L}{1,3})?\s(?:of\s|del?\s|di\s|d['’]\s?)?"
_AFTER_MONTH = r"\.?,?\s(?:the\s|del?\s)?(?=(?:[0-3]?\d|[12]\d{3})(?![\d:]))"
_NUMBER_OF_MONTH = regex.compile(
    r"(?<![\d.,:])(?:0?[1-9]|1[0-2])(?=(?:\s?[-~〜～–、・]\s?1?\d)?\s?[月월])|"
    r"(?<=\btháng\s)(?:0?[1-9]|1[0-2])(?!\d)"
)
_SIGNS_OF_MONTH = ("月", "월", "tháng")
_PART_OF_DATE = regex.compile(r"[./-]\s?\d")
_END_OF_PART = regex.compile(r"\d[./-]\s?$")


def with_marks(numbers: Sequence[DigitNumber], text: str, language: str) -> list[DigitNumber]:
    """Mark the numbers of a text that are months and hours, and add the names of months.

    Args:
        numbers: The numbers of the text.
        text: The text.
        language: Its code; the names are known if CLDR has it.
    """
    plain = ascii_digits(text)
    months = dict[int, int]()
    if any(sign in plain for sign in _SIGNS_OF_MONTH):  # faster than the expression
        months = {match.start(): match.end() for match in _NUMBER_OF_MONTH.finditer(plain)}
    marked = list[DigitNumber]()
    for number in numbers:
        if months.get(number.start) == number.end:
            mark = f"month {int(number.text)}"
            marked.append(replace(number, values=(), parts=(), mark=mark))
        else:
            first = number.parts[0] if number.parts else number
            mark = _hour(first, text)
            marked.append(number if mark == number.mark else replace(number, mark=mark))
    if numbers:
        marked += named_months(text, language)
    return sorted(marked, key=lambda number: number.start)


def named_months(text: str, language: str) -> Iterator[DigitNumber]:
    """The names of months next to a day or a year."""
    months, pattern = _names(language)
    plain = ascii_digits(text)
    if not any(name in plain for name in months):  # faster than the expression
        return
    for match in pattern.finditer(plain):
        name, mark = match["name"], f"month {months[match['name']]}"
        yield DigitNumber(match.start("name"), match.end("name"), name, (), mark=mark)


def inflected_months(text: str, language: str) -> Iterator[int]:
    """The months of a text in forms that CLDR does not list: в мае, v květnu."""
    if language.partition("-")[0] in _INFLECTED:
        for match in _stems(language).finditer(text):
            yield int(match.lastgroup[1:])


def _hour(number: DigitNumber, text: str) -> str:
    """The mark of a number that is an hour of half a day; "": it is none."""
    value = number.values[0] if number.values else -1
    if not isinstance(value, int) or value > _HALF_DAY:
        return ""
    found = hours(value, text, number.start, number.end)
    return f"hour {found.pop()}" if len(found) == 1 else ""


def may_be_month(text: str, start: int, end: int) -> bool:
    """Whether a number next to a sign and another number may be the month of a date: 6. 3. 2021."""
    before = text[max(0, start - 3) : start]
    return bool(_PART_OF_DATE.match(text, end) or _END_OF_PART.search(before))


@lru_cache(maxsize=64)
def _names(language: str) -> "tuple[dict[str, int], regex.Pattern[str]]":
    """The names of months, and what finds them next to a day or a year."""
    found, locale = dict[str, int](), cldr_locale(language)
    widths = (locale.months[context]["wide"] for context in _CONTEXTS) if locale else ()
    for names_by_month in widths:
        for month, name in names_by_month.items():
            if name.isalpha() or regex.fullmatch(r"[\p{L}\p{M}]+", name):
                found |= dict.fromkeys((name, name.capitalize(), name.upper()), month)
    names = "|".join(map(regex.escape, sorted(found, key=len, reverse=True))) or "(?!)"
    name = rf"(?<!\p{{L}})(?P<name>{names})(?!\p{{L}})"
    return found, regex.compile(f"{_DAY}{_AFTER_DAY}{name}|{name}{_AFTER_MONTH}")


@lru_cache(maxsize=16)
def _stems(language: str) -> "regex.Pattern[str]":
    """What finds the stems of months."""
    stems = defaultdict[int, dict[str, None]](dict)  # in the order of the names
    for name, month in _names(language)[0].items():
        is_short = len(name) < 5
        stem = rf"{name}?\p{{L}}?(?!\p{{L}})" if is_short else name[: max(3, len(name) - 3)]
        stems[month][stem] = None
    groups = (f"(?P<m{month}>{'|'.join(each)})" for month, each in stems.items())
    return regex.compile(rf"(?<!\p{{L}})(?:{'|'.join(groups) or '(?!)'})", regex.IGNORECASE)
