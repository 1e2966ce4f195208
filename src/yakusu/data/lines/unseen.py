"""Characters that training has never seen, which a translation can only copy."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import regex

from yakusu.data.lines.spans import Span
from yakusu.data.lines.terms import Glossary
from yakusu.data.lines.words import UNSPACED

LONGEST_WORD = 100  # characters; longer words are copied, too
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"  # within a word: hyphens, spaces and joiners
_LETTER = rf"(?:(?![{UNSPACED}\p{{Hangul}}])[\p{{L}}\p{{M}}\p{{N}}\p{{Join_Control}}{_INVISIBLE}])"
_NUMBER = r"\d+(?:[.,:]\d+)+"
_WORD = regex.compile(rf"{_NUMBER}|{_LETTER}+(?:['’_-]{_LETTER}+)*|\s+|\X")
_SPACES = regex.compile(r"\s*")


def unseen(text: str, covers: Callable[[str], bool]) -> list[Span]:
    """The words and characters of a text that training has not seen, and overlong words.

    A word, a number or an identifier with an unseen character is copied as a whole; in scripts
    without spaces, only the unseen characters are copied. Copied parts with only white space
    between them are one span.

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


def with_unseen(
    text: str,
    known: Sequence[Span],
    covers: Callable[[str], bool],
    *,
    glossary: Glossary | None = None,
) -> list[Span]:
    """Add the parts of a text that training has not seen to its protected spans, in order.

    Args:
        text: The text.
        known: Its protected spans, in order.
        covers: Whether training has seen all characters of a text.
        glossary: Its terms are not copied, even as parts of unseen words: they become spans of kind
            "term", whose text is the translation.
    """
    ends = [0, *(place for span in known for place in (span.start, span.end)), len(text)]
    spans: list[Span] = []
    for i, (start, end) in enumerate(pairwise(ends)):
        if i % 2:
            spans.append(known[i // 2])
            continue
        gap = text[start:end]
        found = unseen(gap, covers)
        if found and glossary and (terms := _unseen_terms(gap, found, glossary)):
            found = with_unseen(gap, terms, covers)
        spans += [replace(s, start=start + s.start, end=start + s.end) for s in found]
    return spans


def _unseen_terms(text: str, found: Sequence[Span], glossary: Glossary) -> list[Span]:
    """The terms that overlap with unseen words of a text."""
    starts = [span.start for span in found]
    terms = []
    for start, end, term in glossary.occurrences(text):
        at = bisect_right(starts, end - 1) - 1  # the last word that begins before the end
        if at >= 0 and found[at].end > start:
            terms.append(Span(start, end, term.target, "term"))
    return terms
