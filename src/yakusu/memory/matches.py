"""The matches of a text, in the classes of a match analysis.

100         the text has been translated as it is
99          with other numbers, which are filled in
98 to 75    100 times the similarity, rounded down; case, punctuation and numbers may differ

Of several translations of a text, the one comes first whose context agrees in most of: key, text
before, text after, document. The latest one comes first if these are equal.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath

from yakusu.data.lines.private_use import MARKS
from yakusu.data.segments import UNKNOWN_CONTEXT, MemorySegment, SegmentContext
from yakusu.memory.filling import filled
from yakusu.memory.memory import SimilarSegment, StoredSegment, TranslationMemory
from yakusu.memory.segments import NUMBER, as_marked, normalised

EXACT, FILLED = 100, 99
_TRIED = 100  # segments with other numbers, the latest ones, that are filled


@dataclass(frozen=True)
class MemoryMatch:
    """A segment that is offered for a text.

    Attributes:
        match: Its class, in percent.
        target: The translation, with the numbers of the text if they were filled in.
        number: Its number in the memory.
        segment: The segment as it is stored.
    """

    match: int
    target: str
    number: int
    segment: MemorySegment


def find_matches(
    memory: TranslationMemory,
    text: str,
    *,
    context: SegmentContext = UNKNOWN_CONTEXT,
    threshold: float = 0.75,
    most: int = 10,
    penalty: Callable[[str], int] = lambda _: 0,
) -> list[MemoryMatch]:
    """The matches of a text, best first; each translation once, similar ones with their source.

    Args:
        memory: The memory.
        text: The text.
        context: Where it stands.
        threshold: Lowest similarity of those that are not exact; 1: only exact ones are looked for.
        most: Maximum number of matches.
        penalty: By how many percent the matches of an origin are reduced.
    """
    found = _Found(penalty)
    exact = memory.exact(text)
    if context != UNKNOWN_CONTEXT:
        exact.sort(key=lambda each: -_agreement(context, each.segment))  # stable: latest first
    for each in exact:
        found.add(EXACT, each, as_marked(each.segment.target, text))
    if NUMBER.search(text):
        for each in memory.with_other_numbers(text, most=_TRIED):
            source, target = each.segment.source, each.segment.target
            if len(found) < most and (own := filled(source, target, text, memory.languages)):
                found.add(FILLED, each, as_marked(own, text))
    if len(found) < most and threshold < 1:
        for near in memory.similar(
            text, threshold=threshold, most=most, other_words=len(found) > 0
        ):
            percent = min(FILLED - 1, int(100 * near.similarity + 1e-9))
            found.add(percent, near, near.segment.target, near.segment.source)
    return found.best[:most]


class _Found:
    """The matches of a text, of those with the same texts the first one of each penalty.

    Args:
        penalty: As for `find_matches`.
    """

    def __init__(self, penalty: Callable[[str], int]) -> None:
        self._penalty = penalty
        self._matches: dict[tuple[str, str, int], MemoryMatch] = {}

    def __len__(self) -> int:
        return len(self._matches)

    def add(
        self, percent: int, stored: StoredSegment | SimilarSegment, target: str, source: str = ""
    ) -> None:
        """Add a match; a source, if it is not the text or the text with other numbers."""
        lost = self._penalty(stored.segment.origin)
        match = MemoryMatch(percent - lost, target, stored.number, stored.segment)
        self._matches.setdefault((source, target, lost), match)

    @property
    def best(self) -> list[MemoryMatch]:
        """The best matches with the same texts, best first."""
        ranked = sorted(self._matches.items(), key=lambda item: -item[1].match)  # stable
        first: dict[tuple[str, str], MemoryMatch] = {}
        for (source, target, _), match in ranked:
            first.setdefault((source, target), match)
        return [*first.values()]


def _agreement(context: SegmentContext, segment: MemorySegment) -> int:
    """In how many parts of its context a segment agrees with a text."""
    return sum(
        bool(own) and (own == other or form(own) == form(other))
        for own, other, form in (
            (context.before, segment.before, _plain),
            (context.after, segment.after, _plain),
            (context.file, segment.file, _name),
            (context.key, segment.key, str),
        )
    )


def _name(path: str) -> str:
    return PurePath(path).name


@lru_cache(maxsize=1 << 12)
def _plain(text: str) -> str:
    """A text without its markup, as it is compared."""
    return normalised(re.sub(MARKS, "", text))
