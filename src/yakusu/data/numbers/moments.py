"""Hours and years: what a number is as a part of a time or a date, by the text around it.

3:30 pm   午後3時30分   15.30 Uhr      hour 15
the 1990s   1990er   années 90         decade 90
3/6/24   2024   令和6年   ปี 2567       year 24 of a century, or 2024
"""

from collections.abc import Iterator

import regex

_DAY = 24  # hours
_BUDDHIST = 543  # years
_ERAS = {
    "明治": 1867,
    "大正": 1911,
    "昭和": 1925,
    "平成": 1988,
    "令和": 2018,
    "民國": 1911,
    "民国": 1911,
}
_BEFORE = 12  # characters that are read before a number

_MERIDIEM = regex.compile(
    r"(?:\s?[:.h時时点點시]\s?\d\d\s?[分분]?)?\s?(?:uhr\s|h\s|heures?\s|час\p{L}*\s|o['’]clock\s)?"
    r"(?:(?P<a>a\.?\s?m\b|in the morning|du matin|morgens|früh\b|vormittags|de la mañana|"
    r"del mattino|da manhã|(?<=час\p{L}*\s)утра)|"
    r"(?P<p>p\.?\s?m\b|in the (?:afternoon|evening)|du soir|de l['’]après-midi|nachmittags|abends|"
    r"de la tarde|del pomeriggio|da tarde|(?<=час\p{L}*\s)(?:дня|вечера)))",
    regex.IGNORECASE,
)
_ASIAN_HALF = r"(?:(?P<a>午前|오전|上午|早上|凌晨)|(?P<p>午後|오후|下午|晚上))\s?"
_ASIAN_MERIDIEM = regex.compile(f"{_ASIAN_HALF}$")
_HALF_OF_WORD = regex.compile(rf"{_ASIAN_HALF}(?=\p{{L}})")
_AFTER_HOUR = regex.compile(
    r"\s?(?:h\b|h\s?\d\d\b|uhr|heures?\b|o['’]clock|[ap]\.?\s?m\b|[時时](?!間|间)|[点點]|시(?!간)|ч\b|час|"
    r"saat|godz|horas?\b|timer\b|[:.]\d\d(?!\d|[.,/]\d))",
    regex.IGNORECASE,
)
_BEFORE_HOUR = regex.compile(
    r"(?:午前|午後|오전|오후|上午|下午|\b(?:klo|kl\.?|klokken|um|at|à|gegen|ore|às|alle|las|saat|om|в|о))\s?$",
    regex.IGNORECASE,
)
_AFTER_DECADE = regex.compile(
    r"['’]?s\b|er(?:n|s|jahren?)?\b|년대|年代|대|代|-?тых|-х\b|-те\b|-tals?\b"
)
_BEFORE_DECADE = regex.compile(
    r"\b(?:années|ans|anni|años|anos|década de|jaren|lata|léta|lat|anii)\s(?:19|20)?$",
    regex.IGNORECASE,
)
_BEFORE_ERA = regex.compile(rf"(?P<era>{'|'.join(_ERAS)})\s?$")
_FIRST_OF_ERA = regex.compile(rf"(?P<era>{'|'.join(_ERAS)})\s?元年")
_BEFORE_HALF = regex.compile(r"\b(?:halb|half|halv|puoli|pół do)\s$", regex.IGNORECASE)
_HALF_TO = frozenset(["da", "de", "fi", "nb", "nl", "nn", "no", "pl", "sv"])  # halb 9 is 8:30
_TO_HOUR = regex.compile(
    r"\b(?:to|till|before|vor|dreiviertel|moins|menos|meno|para|voor|za|без|полов\p{L}+|půl|fél|för|på|i|kala|var)\b|"
    r"[前差전]",
    regex.IGNORECASE,
)


def hours(value: int, text: str, start: int, end: int) -> set[int]:
    """The hours of the day that a number may be, 0 to 23; empty: it does not look like an hour.

    Args:
        value: The number.
        text: The text.
        start: Where the number begins in the text.
        end: Where it ends.
    """
    before = text[max(0, start - _BEFORE) : start]
    if not 0 <= value <= _DAY:
        return set()
    half = _MERIDIEM.match(text, end) or _ASIAN_MERIDIEM.search(before)
    if not (half or _AFTER_HOUR.match(text, end) or _BEFORE_HOUR.search(before)):
        return set()
    if value > _DAY // 2:
        return {value % _DAY}
    morning = value % (_DAY // 2)
    if half:
        return {morning if half["a"] else morning + _DAY // 2}
    return {morning, morning + _DAY // 2}


def halves_of_words(text: str) -> frozenset[bool]:
    """The halves of the day of the hours in words of a text, 上午三点; true: the second one."""
    return frozenset(half["a"] is None for half in _HALF_OF_WORD.finditer(text))


def is_half_to(language: str, text: str, start: int) -> bool:
    """Whether a number is the hour after half an hour: halb 9 is 8:30."""
    before = text[max(0, start - _BEFORE) : start]
    return language.partition("-")[0] in _HALF_TO and bool(_BEFORE_HALF.search(before))


def is_to_hour(text: str) -> bool:
    """Whether a text may count minutes to an hour: a quarter to eight, sechs Minuten vor acht."""
    return bool(_TO_HOUR.search(text))


def first_years(text: str) -> Iterator[int]:
    """The years that are the first of an era: 令和元年 is 2019."""
    yield from (_ERAS[each["era"]] + 1 for each in _FIRST_OF_ERA.finditer(text))


def years(
    value: int, language: str, text: str, start: int, end: int, *, in_date: bool = False
) -> Iterator[tuple[str, int]]:
    """What a number is as a year.

    Args:
        value: The number.
        language: The code of the language; Thai has years of its own.
        text: The text.
        start: Where the number begins in the text.
        end: Where it ends.
        in_date: Whether it is a part of a date such as 3/6/24.

    Yields:
        "decade" and 90 for the 1990s and the '90s; "year" or "short", and 24, for 2024 or '24;
        "value", and the year of the common era, or the hour before half an hour.
    """
    before = text[max(0, start - _BEFORE) : start]
    is_short = end - start == 2
    is_year = end - start == 4 and 1700 <= value < 2100
    has_mark = _AFTER_DECADE.match(text, end) or _BEFORE_DECADE.search(before)
    if value % 10 == 0 and has_mark and (is_short or is_year):
        yield "decade", value % 100
        if value % 100 == 0 and is_year:  # the 1800s are the 19th century
            yield "value", value // 100 + 1
    if is_year:
        yield "year", value % 100
    elif is_short and (in_date or before[-1:] in ("'", "’")):
        yield "short", value
    base = language.partition("-")[0]
    if base == "th" and 2400 < value < 2650:
        yield "value", value - _BUDDHIST
    if 0 < value < 25 and is_half_to(language, text, start):
        yield "value", value - 1
    if era := _BEFORE_ERA.search(before):
        yield "value", value + _ERAS[era["era"]]
