"""Inline markup in text, as private-use characters.

A document format replaces the markup inside a paragraph by characters that do not occur in text,
and the translation contains each of them exactly once:

    Press <b>Start</b> <img>.<br>Wait.   ->   Press OPEN(0) Start CLOSE(0) EMPTY(1) . BREAK(2) Wait.

A pair OPEN(n), CLOSE(n) encloses text, such as bold type. EMPTY(n) is a single place, such as a
picture. BREAK(n) is a line break, which ends a sentence. The numbers of a text are chosen by the
format; each is used once.
"""

MAX_MARKS = 2**14  # numbers of a text
_OPEN, _CLOSE, _EMPTY, _BREAK = (0xF0000 + kind * MAX_MARKS for kind in range(4))
MARKS = f"[{chr(_OPEN)}-{chr(_BREAK + MAX_MARKS - 1)}]"  # regular expression of one mark


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
