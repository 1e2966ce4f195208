"""Agreement of a translation with its source: code-like tokens and numbers on both sides.

    Delete {name}?               Löschen?          {name} is missing
    It costs 1,000 yen.          切符は100円です。  1,000 is missing, 100 is added
    on 6 March                   3月6日に          they agree

What a side has in digits must be on the other in any form, and so must Roman numerals and months of
dates; a number that is a word in the source may be absent from the translation, and any word of a
source in an unknown language may be a number. A letter before a number of the source, as in A4, U2
and F-16, and a minus sign, also as a word, may not be missing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import regex

from yakusu import lazy
from yakusu.data.lines.spans import Span, SpanFinder, replaced
from yakusu.data.lines.words import UNSPACED

if TYPE_CHECKING:
    from yakusu.data.numbers.match import NumberMatch


@dataclass(frozen=True)
class Disagreement:
    """What is on one side only; true if there is any.

    Attributes:
        missing: Code-like tokens and numbers of the source that the translation lacks or alters;
            their places in the source.
        added: Those of the translation that nothing in the source explains; their places in the
            translation.
    """

    missing: tuple[Span, ...] = ()
    added: tuple[Span, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.added)


_SEARCHED = 20  # tokens that are looked for elsewhere in the text
_DIGIT = re.compile(r"[\d¼-¾⅐-⅞Ⅰ-ↈ]|\b[IVX]{2}")
# Letters before a number; a translation may have another letter, such as one of its script.
_LETTERED = lazy.compile(
    r"(?<![\p{L}\p{N}_-])(?:\p{Lu}[-‑]?|\p{Lu}{2,6}[-‑])(?P<digits>\d+)(?![\p{L}\p{N}_])"
)
_UNSPACED_LETTER = lazy.compile(rf"[{UNSPACED}\p{{Hangul}}]")
_LETTER = rf"(?:(?![{UNSPACED}\p{{Hangul}}])\p{{L}})"
_LETTERED_TOO = lazy.compile(rf"(?<!{_LETTER})(?:\p{{Lu}}\s?[-‑]?|{_LETTER}+[-‑]?)(?P<digits>\d+)")
# A minus sign, and what a translation may have instead: "five below zero"
_NEGATIVE = lazy.compile(
    r"(?<![^\s(\[\"'“„«:=])[-‑−–](?=\d)\d+(?:[.,]\d+)*(?![\d%]*\s?[-‑−–]\s?\d)"
)
_MINUS = lazy.compile(
    r"[-‑−–－]\s?(?=[\d$€£¥])|min[uo]s|moins|menos|meno\b|negativ|below|under|unter|sous|bajo|"
    r"мин[уо]с|ниже|マイナス|氷点下|零下|마이너스|영하|负|負",
    regex.IGNORECASE,
)
_GLUED = lazy.compile(r"(?<!\p{Han})[一二三四五六七八九]\d+")  # 九1 is not 1
_PLURAL = re.compile(r"\{[^{},]+,\s*(?:plural|select|selectordinal|choice)\s*,")
_SEPARATOR = re.compile(r"[\s().,/‑-]")
_WORD = lazy.compile(r"\p{L}")
_PHONE = re.compile(r"[+(][\d\s()./‑-]+")
_NONE = Disagreement()


class Agreement:
    """Compares translations with their sources.

    Args:
        languages: Codes of the source and target languages; "" if unknown.
        finder: Finds the code-like tokens.
    """

    def __init__(self, languages: tuple[str, str], finder: SpanFinder) -> None:
        self._finder, self._languages = finder, languages

    def compare(self, source: str, target: str) -> Disagreement:
        """What is on one side only."""
        if source == target:
            return _NONE
        sides, spans = (source, target), self._tokens(source, target)
        has_digit = any(map(_DIGIT.search, sides))
        if not has_digit and not any(spans):
            return _NONE
        missing = [*_without(spans[0], spans[1], target)]
        added = [*_without(spans[1], spans[0], source)]
        if has_digit:
            rest = [_blank(side, each) for side, each in zip(sides, spans, strict=True)]
            unmatched = self._numbers.unmatched(*rest)
            if not self._languages[0] and _WORD.search(rest[0]):  # it may be a number, or a month
                unmatched = unmatched[0], []
            for found, side, numbers in zip((missing, added), sides, unmatched, strict=True):
                found += [Span(n.start, n.end, side[n.start : n.end]) for n in numbers]
            glued = islice(_GLUED.finditer(rest[1]), _SEARCHED)
            added += [Span(m.start(), m.end(), m[0]) for m in glued if m[0] not in source]
            if not missing:
                missing += [*_without_letters(*rest), *_without_signs(*rest)]
        if not missing and not added:
            return _NONE
        return Disagreement(_in_order(missing), _in_order(added))

    def compare_tokens(self, source: str, target: str) -> Disagreement:
        """The code-like tokens that are on one side only."""
        spans = self._tokens(source, target)
        return Disagreement(
            tuple(_without(spans[0], spans[1], target)), tuple(_without(spans[1], spans[0], source))
        )

    def _tokens(self, source: str, target: str) -> tuple[list[Span], list[Span]]:
        """The code-like tokens of both sides."""
        spans = self._finder.find(source), self._finder.find(target)
        known = {span.text for span in spans[0]}
        return spans[0], [_as_in_source(span, known) for span in spans[1]]

    @cached_property
    def _numbers(self) -> "NumberMatch":
        from yakusu.data.numbers.match import NumberMatch  # 0.02 s

        return NumberMatch(self._languages)


def _as_in_source(span: Span, source: Set[str]) -> Span:
    """A span of a translation that ends where one of the source does: #menu and not #menuを."""
    rest = _UNSPACED_LETTER.search(span.text)
    head = span.text[: rest.start()] if rest else ""
    return Span(span.start, span.start + len(head), head) if head in source else span


def _in_order(spans: Iterable[Span]) -> tuple[Span, ...]:
    return tuple(sorted(spans, key=lambda span: span.start))


def _without(spans: Sequence[Span], others: Sequence[Span], text: str) -> list[Span]:
    """The spans that are not among the others, nor elsewhere in the text."""
    left = Counter(_compared(span) for span in others)
    found = list[Span]()
    for span in spans:
        left[_compared(span)] -= 1
        if left[_compared(span)] < 0:
            found.append(span)
    if len(found) > _SEARCHED:
        return found
    written, n = Counter[str](), Counter(span.text for span in spans)
    for each in {span.text for span in found}:
        written[each] = text.count(each)
    return [span for span in found if written[span.text] < n[span.text]]


def _compared(span: Span) -> str:
    """The text of a span; digits of a telephone number; what precedes the branches of a plural."""
    if _PHONE.fullmatch(span.text):
        return _SEPARATOR.sub("", span.text)
    kind = _PLURAL.match(span.text)
    return "".join(kind[0].split()) if kind else span.text


def _without_letters(source: str, target: str) -> Iterator[Span]:
    """The numbers with a letter before them that have none in a translation."""
    left = Counter(match["digits"] for match in _LETTERED_TOO.finditer(target))
    for match in _LETTERED.finditer(source):
        left[match["digits"]] -= 1
        if left[match["digits"]] < 0:
            yield Span(match.start(), match.end(), match[0])


def _without_signs(source: str, target: str) -> Iterator[Span]:
    """The negative numbers of a source, if its translation has fewer signs."""
    found = list(_NEGATIVE.finditer(source))
    if found and len(_MINUS.findall(target)) < len(found):
        for match in found:
            yield Span(match.start(), match.end(), match[0])


def _blank(text: str, spans: Sequence[Span]) -> str:
    """Replace spans by characters that are not part of a number."""
    return replaced(text, spans, ("\0" * (span.end - span.start) for span in spans))
