"""Characters that training has never seen, which a translation can only copy."""

from collections.abc import Callable

import regex

from yakusu.data.spans import Span
from yakusu.data.words import UNSPACED

LONGEST_WORD = 100  # characters; a longer one is no word, and is copied too
_LETTER = rf"(?:(?![{UNSPACED}\p{{Hangul}}])[\p{{L}}\p{{M}}\p{{N}}])"
_NUMBER = r"\d+(?:[.,:]\d+)+"
_WORD = regex.compile(rf"{_NUMBER}|{_LETTER}+(?:['’_-]{_LETTER}+)*|\s+|\X")
_SPACES = regex.compile(r"\s*")


def unseen(text: str, covers: Callable[[str], bool]) -> list[Span]:
    """The words and characters of a text that training has not seen, and overlong words.

    A word with an unseen letter is copied as a whole, and so is a number and an identifier with an
    underscore; in scripts without spaces, only the unseen characters are copied. Copied parts with
    only white space between them are one span.

    Args:
        text: A text without protected spans.
        covers: Whether training has seen all characters of a text.
    """
    if covers(text) and len(text) <= LONGEST_WORD:
        return []
    spans: list[Span] = []
    for match in _WORD.finditer(text):
        if match[0].isspace() or (len(match[0]) <= LONGEST_WORD and covers(match[0])):
            continue
        start = match.start()
        if spans and _SPACES.fullmatch(text, spans[-1].end, start):
            start = spans.pop().start
        spans.append(Span(start, match.end(), text[start : match.end()]))
    return spans
