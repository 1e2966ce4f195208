"""Numbers in digits, and the values that they may have.

    1,000.5   1.000,5   1 000,5   1'000.5     1000.5
    5 March   05.03.   3/5/2024               5   5 and 3   3, 5 and 2024
    9:30      9.30 Uhr   9時30分              9 and 30
    ３ boxes  ٣                               3

Which sign divides groups and which begins the decimals depends on the language; a number such as
1.500 that both signs explain has two values. A number with signs that dates and times have also
consists of parts. Everything takes linear time.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise

Value = int | Fraction
LONGEST = 40  # digits of a value; longer numbers are compared as texts

_SPACES = "\u00a0\u2009\u202f "
_GROUPS = f"{_SPACES}'’٬"
_NUMBER = re.compile(
    rf"(?<![\w.,])\.\d+|\d+(?:(?:[.,:/'’٫٬·]|\s?/\s?)\d+|[{_SPACES}]\d{{3}}(?!\d))*"
)
_RATE = re.compile(r"(?<![\d.,])(\d)\s?[割할](?:\s?(\d)\s?[分푼])?(?:\s?(\d)\s?[厘리])?")
_SHARE = re.compile(r"(?<![\d.,])(\d{1,4})\s?(?:分の|분의|分之)\s?(\d{1,4})(?![\d.,])")
_OF_CLOCK = re.compile(r"\s?(?:h\b|hrs|hours\b|GMT|UTC|Uhr|[A-Z]{1,2}T\b)")
_WIDE = re.compile(r"(?<=\d)[，．：／](?=\d)")
_OF_SHARE = re.compile("[割할]|分の|분의|分之")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")  # CO₂
_NARROW = str.maketrans("，．：／", ",.:/")
_RUN = re.compile(r"\d+")
_SIMPLE = re.compile(r"\d+|[¼-¾⅐-⅞]")
_FRACTIONS = re.compile(r"[¼-¾⅐-⅞]")
_VALUES = {  # of fractions
    sign: Fraction(unicodedata.numeric(sign)).limit_denominator(20)
    for sign in map(chr, (*range(0xBC, 0xBF), *range(0x2150, 0x215F)))
}


@dataclass(frozen=True)
class DigitNumber:
    """A number in digits.

    Attributes:
        start: Position of its first character.
        end: Position after its last character.
        text: The characters, with ASCII digits.
        values: What it may be as one number, the most probable first.
        parts: The numbers of which a date or a time consists; empty: it has no parts.
        mark: "month 3" or "hour 15" if the text says so; it is then no plain number.
    """

    start: int
    end: int
    text: str
    values: tuple[Value, ...]
    parts: tuple["DigitNumber", ...] = field(default=())
    mark: str = ""


def read_numbers(text: str, decimal_sign: str = "") -> list[DigitNumber]:
    """The numbers in digits of a text, in order.

    Args:
        text: The text.
        decimal_sign: What precedes decimals in its language; "": unknown.
    """
    plain = ascii_digits(text)
    found = [_read(match, plain, decimal_sign) for match in _NUMBER.finditer(plain)]
    if _FRACTIONS.search(text):
        found = _with_fractions(found, text)
    return _with_shares(found, plain) if _OF_SHARE.search(text) else found


def count_digits(text: str) -> Counter[str]:
    """The runs of digits and the fractions of a text, as often as each occurs."""
    return Counter(_SIMPLE.findall(ascii_digits(text)))


def more_digits(text: str, than: Counter[str]) -> list[DigitNumber]:
    """The runs of digits and the fractions that a text has more often than counted."""
    more, found = count_digits(text) - than, list[DigitNumber]()
    for run in _SIMPLE.finditer(ascii_digits(text)) if more else ():
        if more[run[0]] > 0:
            more[run[0]] -= 1
            found.append(DigitNumber(run.start(), run.end(), run[0], ()))
    return found


def ascii_digits(text: str) -> str:
    """Replace the digits of other scripts, the full-width signs between them, and subscripts."""
    if text.isascii():
        return text
    text = _RUN.sub(lambda run: "".join(str(unicodedata.decimal(each)) for each in run[0]), text)
    return _WIDE.sub(lambda sign: sign[0].translate(_NARROW), text).translate(_SUBSCRIPTS)


def _read(match: "re.Match[str]", text: str, decimal_sign: str) -> DigitNumber:
    written = match[0]
    if len(written) <= LONGEST and (written.isdecimal() or written[0] == "."):
        values = (
            (Fraction(f"0{written}"),) if written[0] == "." else tuple(_values([written], (), ""))
        )
        return DigitNumber(match.start(), match.end(), written, values, tuple(_clock(match)))
    runs = list(_RUN.finditer(text, match.start(), match.end()))
    signs = [text[a.end() : b.start()] for a, b in pairwise(runs)]
    digits = [run[0] for run in runs]
    number = DigitNumber(
        match.start(), match.end(), written, tuple(_values(digits, signs, decimal_sign))
    )
    if len(runs) > 1 and _divides(digits, signs, decimal_sign, text[match.end() : match.end() + 1]):
        parts = (
            DigitNumber(r.start(), r.end(), r[0], tuple(_values([r[0]], [], decimal_sign)))
            for r in runs
        )
        return replace(number, parts=tuple(parts))
    return number


def _clock(match: "re.Match[str]") -> Iterator[DigitNumber]:
    """The hour and the minute of a time such as 0715 and 1930 GMT."""
    start, middle, end = match.start(), match.start() + 2, match.end()
    hour, minute = match[0][:2], match[0][2:]
    if len(match[0]) != 4 or not match[0].isdecimal() or int(hour) > 24 or int(minute) > 59:
        return
    if hour[0] == "0" or _OF_CLOCK.match(match.string, end):
        yield DigitNumber(start, middle, hour, (int(hour),))
        yield DigitNumber(middle, end, minute, (int(minute),))


def _values(digits: Sequence[str], signs: Sequence[str], decimal_sign: str) -> Iterator[Value]:
    """What a number may be, the most probable first."""
    first = digits[0]
    has_zero = first[0] == "0" and len(first) > 1  # only days, hours and such: 05 but not 021
    if sum(map(len, digits)) > LONGEST or (has_zero and (signs or len(first) > 2)):
        return
    if not signs:
        yield int(digits[0])
        return
    *groups, last = signs
    if len(set(groups)) > 1:
        return
    whole = int("".join(digits))
    if not groups and last.strip() == "/" and len(digits[0]) < 4 and 0 < int(digits[1]) < 1000:
        yield Fraction(int(digits[0]), int(digits[1]))
    grouped = len(set(signs)) == 1 and _is_grouped(digits) and last in f"{_GROUPS}.,"
    decimal = last in ".,٫·" and last not in groups and (not groups or _is_grouped(digits[:-1]))
    fraction = Fraction(whole, 10 ** len(digits[-1]))
    exact = int(fraction) if fraction.denominator == 1 else fraction
    if decimal and groups and len(digits[-1]) > 2 and digits[-1][-1] == "0":  # 1,299.000
        return
    if decimal and (last == decimal_sign or not grouped):
        yield exact
    if grouped and not (decimal and last == decimal_sign):
        yield whole
    if decimal and grouped and not decimal_sign:
        yield exact


def _is_grouped(digits: Sequence[str]) -> bool:
    """Whether runs of digits are the groups of a number, of three digits or as in India."""
    first, *others = map(len, digits)
    if not others:
        return True
    return first < 4 and others[-1] == 3 and set(others[:-1]) <= {2, 3} and digits[0] != "0"


def _divides(
    digits: Sequence[str], signs: Sequence[str], decimal_sign: str, following: str
) -> bool:
    """Whether a number may be a date, a time or a list."""
    if len(signs) > 1 or signs[0] not in (".", ",", decimal_sign):
        return True
    hour, minute = digits[0], digits[1]
    if signs[0] != decimal_sign and not _is_grouped(digits):
        return True
    is_time = len(hour) < 3 and len(minute) == 2 and int(hour) < 25 and int(minute) < 60
    return is_time or (following == "." and len(hour) < 3 and len(minute) < 3)


def _with_fractions(found: Sequence[DigitNumber], text: str) -> list[DigitNumber]:
    """Add signs such as ½, also those after a number."""
    ends = {number.end: number for number in found}
    for match in _FRACTIONS.finditer(text):
        value = _VALUES[match[0]]
        before = ends.pop(match.start(), None)
        start = before.start if before else match.start()
        base = before.values[0] if before and before.values else 0
        ends[match.end()] = DigitNumber(
            start, match.end(), text[start : match.end()], (base + value,)
        )
    return sorted(ends.values(), key=lambda number: number.start)


def _with_shares(found: Sequence[DigitNumber], text: str) -> list[DigitNumber]:
    """Join the digits of East Asian shares: 4할 6리 is .406, 3割 is 30 percent, 3分の2 is 2/3."""
    kept = {number.start: number for number in found}
    for match in _RATE.finditer(text):
        tenths, hundredths, thousandths = (int(digit or 0) for digit in match.groups())
        rate = tenths * 100 + hundredths * 10 + thousandths
        values = (Fraction(rate, 10), Fraction(rate, 1000))
        for group in (1, 2, 3):
            kept.pop(match.start(group), None)
        kept[match.start()] = DigitNumber(match.start(), match.end(), match[0], values)
    for match in _SHARE.finditer(text):
        parts = [kept.pop(match.start(group), None) for group in (1, 2)]
        share = Fraction(int(match[2]), int(match[1]) or 1)
        kept[match.start()] = DigitNumber(
            match.start(),
            match.end(),
            match[0],
            (share,),
            tuple(replace(part, mark="share") for part in parts if part),
        )
    return sorted(kept.values(), key=lambda number: number.start)
