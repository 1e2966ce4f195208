"""Characters that training has never seen, which a translation can only copy."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import regex

from yakusu import lazy
from yakusu.data.lines.spans import Span, breaks
from yakusu.data.lines.terms import Glossary
from yakusu.data.lines.words import UNSPACED

LONGEST_WORD = 100  # characters; longer words are copied, too
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"  # within a word: hyphens, spaces and joiners
_LETTER = rf"(?:(?![{UNSPACED}\p{{Hangul}}])[\p{{L}}\p{{M}}\p{{N}}\p{{Join_Control}}{_INVISIBLE}])"
_NUMBER = r"\d++(?:[.,:⁄]\d++)++"
_SIGN = r"[\p{Sc}\p{So}‰‱′″--\p{Extended_Pictographic}]"  # a unit: 25℃, but not an emoji
_AMOUNT = rf"[\p{{Sc}}№](?:{_NUMBER}|\d++){_SIGN}?|\d++{_SIGN}"
_MARK = r"[™℠®]\ufe0f?"  # of a name: Acme™
# Signs that join letters and digits: AT&T, C++, 12/7, 33.6°C, file(s); not those of sentences
_JOINT = (
    r"(?:[[\p{S}\p{Po}]--[\p{Sc}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{RI}.,;:!?…¿¡\"'’<>]"
    r"--[\u3000-\u303f\uff00-\uffef]]|<(?![\p{L}/])|(?<![\p{L}/\"'])>)"
)
_ITEM = rf"(?:{_NUMBER}|{_LETTER}++)"
_ALONE = rf"\d|(?<!{_LETTER})(?:{_LETTER}|\p{{Lu}}++)(?!{_LETTER})"  # a digit, a letter, an acronym
_BRACKETED = rf"(?<={_LETTER})(?:\({_ITEM}\)|\[{_ITEM}\])"
_SIGNED = (
    rf"(?<!{_LETTER}|{_JOINT})[\p{{Sc}}№]?+(?=(?:{_JOINT}|{_LETTER}|(?<={_LETTER})[(\[])*?(?:{_ALONE}))"
    rf"(?:{_JOINT}++{_ITEM}|{_ITEM}(?:{_JOINT}|{_BRACKETED}))(?:{_JOINT}|{_BRACKETED}|{_ITEM})*+"
)
_WORD = lazy.compile(
    rf"{_SIGNED}|{_AMOUNT}|{_NUMBER}|{_LETTER}+(?:['’_-]{_LETTER}+)*(?:{_MARK})?|\s+|\X", regex.V1
)
_SPACES = lazy.compile(r"\s*")
_PARTS = lazy.compile(r"\S+")  # between white space


def unseen(text: str, covers: Callable[[str], bool]) -> list[Span]:
    """The words and characters of a text that training has not seen, and overlong words.

    A word, a number or an identifier with an unseen character is copied as a whole, also a name
    with its trademark sign and a number of digits only with its unit. A sign that is unseen is
    copied with what it joins, if that has digits, acronyms or single letters: AT&T, C++, 12/7, but
    not and/or. In scripts without spaces, only the unseen characters are copied. Copied parts with
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


def with_unseen(
    text: str,
    known: Sequence[Span],
    covers: Callable[[str], bool],
    *,
    glossary: Glossary | None = None,
) -> list[Span]:
    """Add the parts of a text that training has not seen to its protected spans, in order.

    Tags inside a word do not divide it: the word is copied with those pairs of tags that enclose a
    part of it, and replaces them. A pair that encloses other words, too, still does.

    Args:
        text: The text.
        known: Its protected spans, in order.
        covers: Whether training has seen all characters of a text.
        glossary: Its terms are not copied, even as parts of unseen words: they become spans of kind
            "term", whose text is the translation.
    """
    if len(text) <= LONGEST_WORD and covers(text):
        return [*known]
    spans: list[Span] = []
    start, tags = 0, list[Span]()
    for span in (*known, Span(len(text), len(text), "")):
        if span.kind in ("opening", "closing") and not breaks(span.text):
            tags.append(span)
            continue
        spans += [*_Stretch(text, start, span.start, tags).with_unseen(covers, glossary), span]
        start, tags = span.end, []
    return spans[:-1]


class _Stretch:
    """A part of a text between spans, with nothing but tags of pairs in it.

    Args:
        text: The text.
        start: Position of its first character.
        end: Position after its last character.
        tags: The tags.
    """

    def __init__(self, text: str, start: int, end: int, tags: Sequence[Span]) -> None:
        self._text, self._tags, self._starts = text, tags, [tag.start for tag in tags]
        self._shifts = [start]  # from positions in `_plain` to those in the text, after each tag
        self._places = list[int]()  # of the tags in `_plain`
        for tag in tags:
            self._places.append(tag.start - self._shifts[-1])
            self._shifts.append(tag.end - self._places[-1])
        ends = [start, *(place for tag in tags for place in (tag.start, tag.end)), end]
        self._plain = "".join(text[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True))
        self._partners = _partners(tags)

    def with_unseen(
        self, covers: Callable[[str], bool], glossary: Glossary | None
    ) -> Sequence[Span]:
        """Its tags and the parts that training has not seen, in order."""
        found = unseen(self._plain, covers)
        if found and glossary and (terms := self._unseen_terms(found, glossary)):
            found = with_unseen(self._plain, terms, covers)
        if not found:
            return self._tags
        copied = [own for span in found for own in self._copied(span)]
        inside = {i for own in copied for i in self._tags_in(own)}
        tags = [tag for i, tag in enumerate(self._tags) if i not in inside]
        return sorted([*tags, *copied], key=lambda span: (span.start, span.end))

    def _copied(self, span: Span) -> Iterator[Span]:
        """A word, or several with white space between them, in the text."""
        first, last = span.start, span.end
        inside = self._inside(first, last)
        start = first + self._shifts[inside.start]
        end = last + self._shifts[inside.stop]
        crossing = [i for i in inside if not self._is_within(self._partners[i], first, last)]
        words = [match.span() for match in _PARTS.finditer(self._plain, first, last)]
        if not inside:
            yield replace(span, start=start, end=end)
        elif not crossing:
            tags = [self._tags[j] for i in inside for j in (i, self._partners[i])]
            start = min(start, *(tag.start for tag in tags))
            end = max(end, *(tag.end for tag in tags))
            yield Span(start, end, self._text[start:end], "word")
        else:
            cuts = sorted({first, *(self._places[i] for i in crossing), last})
            for a, b in words if len(words) > 1 else pairwise(cuts):
                yield from self._copied(Span(a, b, self._plain[a:b]))

    def _inside(self, first: int, last: int) -> range:
        """The tags between two characters from first to last - 1."""
        return range(bisect_right(self._places, first), bisect_left(self._places, last))

    def _is_within(self, tag: int, first: int, last: int) -> bool:
        """Whether a tag is in a word, or at one of its ends."""
        return tag >= 0 and first <= self._places[tag] <= last

    def _tags_in(self, span: Span) -> Iterator[int]:
        """The tags in a span of the text."""
        if span.kind == "word":
            starts = self._starts
            yield from range(bisect_left(starts, span.start), bisect_left(starts, span.end))

    def _unseen_terms(self, found: Sequence[Span], glossary: Glossary) -> list[Span]:
        """The terms without tags inside that overlap with unseen words."""
        starts = [span.start for span in found]
        terms = []
        for start, end, term in glossary.occurrences(self._plain):
            at = bisect_right(starts, end - 1) - 1  # the last word that begins before the end
            if at >= 0 and found[at].end > start and not self._inside(start, end):
                terms.append(Span(start, end, term.target, "term"))
        return terms


def _partners(tags: Sequence[Span]) -> list[int]:
    """The other end of each tag; -1: it is not among them."""
    partners, waiting = [-1] * len(tags), list[int]()
    for i, tag in enumerate(tags):
        if tag.kind == "opening":
            waiting.append(i)
        elif waiting:
            partners[i] = waiting.pop()
            partners[partners[i]] = i
    return partners
