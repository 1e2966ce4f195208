"""All private-use characters that have a meaning.

    U+E000   to U+E00F     placeholder tokens: what a model reads and writes for a span; SLOTS
    U+F0000  to U+FFFFF    marks: inline markup in the text of a document, see below
    U+100000 to U+10FEFF   places: what the plain text of a line has for a span or a tag

A document format replaces the markup inside a paragraph by marks, and the translation contains each
of them exactly once:

    Press <b>Start</b> <img>.<br>Wait.   ->   Press OPEN(0) Start CLOSE(0) EMPTY(1) . BREAK(2) Wait.

A pair OPEN(n), CLOSE(n) encloses text, such as bold type. EMPTY(n) is a single place, such as a
picture. BREAK(n) is a line break, which ends a sentence. The numbers of a text are chosen by the
format; each is used once.

Names in _RANGE and BREAKS are for sets of a regular expression: f"[{SLOT_RANGE}]".
"""

import regex


def _range(first: int, n: int) -> str:
    return f"{chr(first)}-{chr(first + n - 1)}"


PRIVATE_USE = r"\p{Co}"  # any private-use character, as a regular expression
UPPER_RANGE = "\U000f0000-\U0010ffff"  # the planes of marks and places

# ---- placeholder tokens --------------------------------------------------------------------------

_SLOT = 0xE000
SLOTS = tuple(chr(_SLOT + i) for i in range(10))
IS_SLOT = regex.compile(f"[{SLOTS[0]}-{SLOTS[-1]}]")
SLOT_RANGE = _range(_SLOT, 16)  # has room for more

# ---- marks ---------------------------------------------------------------------------------------

MAX_MARKS = 2**14  # numbers of a text
_OPEN, _CLOSE, _EMPTY, _BREAK = (0xF0000 + kind * MAX_MARKS for kind in range(4))
OPENING_RANGE = _range(_OPEN, MAX_MARKS)
CLOSING_RANGE = _range(_CLOSE, MAX_MARKS)
MARK_RANGE = _range(_OPEN, 4 * MAX_MARKS)
MARKS = f"[{MARK_RANGE}]"  # regular expression of one mark
_MARK = regex.compile(MARKS)


def opening(number: int) -> str:
    """The character that begins pair `number`."""
    return chr(_OPEN + number)


def closing(number: int) -> str:
    """The character that ends pair `number`."""
    return chr(_CLOSE + number)


def empty(number: int) -> str:
    """The character for markup `number`, which encloses nothing."""
    return chr(_EMPTY + number)


def line_break(number: int) -> str:
    """The character for line break `number`."""
    return chr(_BREAK + number)


def is_mark(character: str) -> bool:
    """Whether a character stands for markup."""
    return _OPEN <= ord(character) < _BREAK + MAX_MARKS


def is_opening(mark: str) -> bool:
    """Whether a mark begins a pair."""
    return ord(mark) < _CLOSE


def is_closing(mark: str) -> bool:
    """Whether a mark ends a pair."""
    return _CLOSE <= ord(mark) < _EMPTY


def is_break(mark: str) -> bool:
    """Whether a mark is a line break."""
    return _BREAK <= ord(mark) < _BREAK + MAX_MARKS


def number_of(mark: str) -> int:
    """The number of a mark."""
    return (ord(mark) - _OPEN) % MAX_MARKS


def has_marks_of(text: str, translation: str) -> bool:
    """Whether a translation has the marks of a text, and no pair of them ends before it begins."""
    marks = _MARK.findall(translation)
    if sorted(marks) != sorted(_MARK.findall(text)):
        return False
    seen: set[str] = set()
    for mark in marks:
        if is_closing(mark) and opening(number_of(mark)) not in seen:
            return False
        seen.add(mark)
    return True


# ---- places --------------------------------------------------------------------------------------

MAX_PLACES = 0x5500  # spans and tags of a line
_FIRM, _LOOSE, _STOP = (0x100000 + kind * MAX_PLACES for kind in range(3))
FIRM_RANGE = _range(_FIRM, MAX_PLACES)  # places of spans that belong to a sentence
LOOSE_RANGE = _range(_LOOSE, MAX_PLACES)  # places of spans that stay at the ends of a sentence
BREAKS = _range(_STOP, MAX_PLACES)  # places that end a sentence, as line breaks do
PLACE = regex.compile(f"[{FIRM_RANGE}{LOOSE_RANGE}{BREAKS}]")
# In a text, these are copied.
RESERVED = regex.compile(f"[{_range(_FIRM, 3 * MAX_PLACES)}{SLOTS[0]}-{SLOTS[-1]}]")


def firm_place(number: int) -> str:
    """The place of span `number`, a part of its sentence."""
    return chr(_FIRM + number)


def loose_place(number: int) -> str:
    """The place of span `number`, which stays where it is at the ends of a sentence."""
    return chr(_LOOSE + number)


def break_place(number: int) -> str:
    """The place of span `number`, which ends a sentence."""
    return chr(_STOP + number)
