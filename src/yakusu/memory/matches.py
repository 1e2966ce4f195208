"""The matches of a text, in the classes of a match analysis.

100         the text has been translated as it is
99          with other numbers, which are filled in
98 to 75    100 times the similarity, rounded down; case, punctuation and numbers may differ

Of several translations of a text, the one comes first whose context agrees in most of: key, text
before, text after, document. The latest one comes first if these are equal.
"""

import re
from dataclasses import dataclass, replace
from pathlib import PurePath

from yakusu.data.lines.private_use import MARKS
from yakusu.data.segments import UNKNOWN_CONTEXT, MemorySegment, SegmentContext
from yakusu.memory.filling import filled
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.segments import as_marked, normalised

EXACT, FILLED = 100, 99


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
) -> list[MemoryMatch]:
    """The matches of a text, best first; each translation of a source once.

    Args:
        memory: The memory.
        text: The text.
        context: Where it stands.
        threshold: Lowest similarity of those that are not exact; 1: only exact ones are looked for.
        most: Maximum number of matches.
    """
    found = [
        MemoryMatch(EXACT, each.segment.target, each.number, each.segment)
        for each in memory.exact(text)
    ]
    if context != UNKNOWN_CONTEXT:
        found.sort(key=lambda match: -_agreement(context, match.segment))  # stable: latest first
    for each in memory.with_other_numbers(text):
        target = filled(each.segment.source, each.segment.target, text, memory.languages)
        if target is not None:
            found.append(MemoryMatch(FILLED, target, each.number, each.segment))
    near_ones = (
        memory.similar(text, threshold=threshold, most=most + len(found)) if threshold < 1 else []
    )
    for near in near_ones:
        percent = min(FILLED - 1, int(100 * near.similarity + 1e-9))
        found.append(MemoryMatch(percent, near.segment.target, near.number, near.segment))
    first: dict[tuple[str, str], MemoryMatch] = {}
    for match in found:
        first.setdefault((match.segment.source, match.segment.target), match)
    return [
        replace(match, target=as_marked(match.target, text)) if match.match >= FILLED else match
        for match in [*first.values()][:most]
    ]


def _agreement(context: SegmentContext, segment: MemorySegment) -> int:
    """In how many parts of its context a segment agrees with a text."""
    texts = ((context.before, segment.before), (context.after, segment.after))
    parts = [tuple(map(_plain, pair)) for pair in texts]
    parts.append((PurePath(context.file).name, PurePath(segment.file).name))
    parts.append((context.key, segment.key))
    return sum(bool(own) and own == other for own, other in parts)


def _plain(text: str) -> str:
    """A text without its markup, as it is compared."""
    return normalised(re.sub(MARKS, "", text))
