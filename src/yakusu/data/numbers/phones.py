"""Numbers in groups that another language divides in another way, as those of telephones.

    030 1234567    030/123 45 67    +49 (30) 123-4567
    555.123.4567   555-123-4567
    12,345 to 678  3.1415926        1990-2000          are none

What stands side by side without a decimal sign may be divided in any way; the rest may not.
"""

import regex

from yakusu.data.numbers.digits import ascii_digits

_SHORTEST = 7  # digits
_IN_GROUPS = regex.compile(r"(?<![\d.,])(?:\d++(?:\.\d++){2,}+|\d++(?:[\s/()–-]{1,3}+\d++)*+)")
_DECIMALS = regex.compile(r"[.,]\d")
_THOUSANDS = regex.compile(r"\d{1,3}(?:\.\d{3})+")


def phone_numbers(text: str) -> dict[str, set[int]]:
    """The digits of each number of many groups, and the places of their characters."""
    found = dict[str, set[int]]()
    for match in _IN_GROUPS.finditer(ascii_digits(text)):
        groups = regex.findall(r"\d+", match[0])
        digits = "".join(groups)
        is_range = len(groups) == 2 and len(groups[0]) == len(groups[1])  # 1990-2000
        is_number = _THOUSANDS.fullmatch(match[0]) or _DECIMALS.match(match.string, match.end())
        if len(digits) >= _SHORTEST and not is_range and not is_number:
            found.setdefault(digits, set()).update(range(*match.span()))
    return found
