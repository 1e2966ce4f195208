"""Where the lines of a PO file end, as in GNU gettext.

A line ends where the Unicode line breaking algorithm allows it (UAX #14): after spaces and hyphens,
between ideographs and between Hangul syllables, but not before 。 or ー and not after 「.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import regex

_ROOM = 77  # columns of a line between quotation marks
_WIDE_OP = "wide_OP"  # an opening bracket that may begin a line after a word (LB30)
_WORD = ["AL", "HL", "NU"]
_IDEOGRAPHS = ["ID", "EB", "EM", "H2", "H3", "JL", "JV", "JT"]
_NEVER_BEFORE = {"CL", "CP", "EX", "IS", "SY", "SP", "WJ", "ZW"}  # even after spaces (LB7, 11, 13)
_NOT_BEFORE = {"QU", "GL", "NS", "HY", "BA", "IN"}  # without spaces (LB12a, 19, 21, 22)
_NEVER_AFTER = {"OP", _WIDE_OP}  # even before spaces (LB14)
_NOT_AFTER = {"QU", "GL", "WJ", "BB"}  # without spaces (LB11, 12, 19, 21)
_NEVER_BETWEEN = {  # even with spaces (LB15 to LB17)
    "QU": {"OP", _WIDE_OP},
    "CL": {"NS"},
    "CP": {"NS"},
    "B2": {"B2"},
}
_NOT_BETWEEN: dict[str, set[str]] = {  # without spaces (LB23 to LB30)
    "CL": {"PR", "PO"},
    "CP": {"PR", "PO", *_WORD},
    "SY": {"NU", "HL"},
    "IS": {"NU"},
    "PR": {"OP", _WIDE_OP, *_WORD, *_IDEOGRAPHS},
    "PO": {"OP", _WIDE_OP, *_WORD},
    **{name: {"OP", "PR", "PO", *_WORD} for name in _WORD},
    "HY": {"NU"},
    **{name: {"PO"} for name in _IDEOGRAPHS},
    "JL": {"JL", "JV", "H2", "H3", "PO"},  # parts of a Hangul syllable
    "JV": {"JV", "JT", "PO"},
    "H2": {"JV", "JT", "PO"},
    "JT": {"JT", "PO"},
    "H3": {"JT", "PO"},
}
_SAME = {"CJ": "NS", "SA": "AL", "ZWJ": "CM"}  # classes that are treated alike
_CLASS = regex.compile(  # the groups are the classes, the most frequent ones first
    "|".join(
        rf"(?P<{name}>\p{{LB={name}}})"
        for name in re.findall(
            r"\w+",
            "AL ID NU SP IS QU OP CP CL HY BA EX SY PR PO H2 H3 NS CJ CM GL IN B2 BB WJ ZW HL JL JV"
            " JT SA EB EM ZWJ",
        )
    )
)


def wrapped(text: str) -> list[str]:
    """Divide an escaped string into lines of at most 77 columns, if its breaks allow it."""
    lines, room = [""], _ROOM
    for piece in _pieces(text):
        size = columns(piece)
        if lines[-1] and size > room:
            lines.append("")
            room = _ROOM
        lines[-1] += piece
        room -= size
    return lines


def columns(text: str) -> int:
    """Columns on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def _pieces(text: str) -> Iterator[str]:
    """The parts of a string that are not divided."""
    start = 0
    before, has_space, is_escaped = "", False, False  # class of the last character but spaces
    end = len(text) - 2 * text.endswith("\\n")
    for i, character in enumerate(text[:end]):
        kind = _line_break_class(character)
        if kind == "CM" and before and not has_space:
            continue
        if i and not is_escaped and _may_break(before, kind, has_space=has_space):
            yield text[start:i]
            start = i
        is_escaped = character == "\\" and not is_escaped
        has_space = kind == "SP"
        before = before if has_space and i else kind
    yield text[start:]


def _may_break(before: str, after: str, *, has_space: bool) -> bool:
    """Whether a line may end between two classes of characters."""
    if before in _NEVER_AFTER or after in _NEVER_BEFORE | _NEVER_BETWEEN.get(before, set()):
        return False
    if has_space or before in ("SP", "ZW"):
        return True
    if before in _NOT_AFTER or after in _NOT_BETWEEN.get(before, ()):
        return False
    return after not in _NOT_BEFORE or (after == "GL" and before in ("BA", "HY"))


@lru_cache(maxsize=1 << 14)
def _line_break_class(character: str) -> str:
    """The class of a character in UAX #14."""
    found = _CLASS.match(character)
    name = (found and found.lastgroup) or "AL"
    if name == "SA" and unicodedata.category(character) in ("Mn", "Mc"):
        return "CM"
    if character == "·":  # IS since Unicode 16
        return "AL"
    if name == "OP" and unicodedata.east_asian_width(character) in "WFH":
        return _WIDE_OP
    return _SAME.get(name, name)
