"""What a memory offers for a text, in the classes in which translators count matches.

100         the text has been translated as it is
99          with other numbers, which are filled in
98 to 75    100 times the similarity, rounded down; case, punctuation and numbers may differ
"""

from dataclasses import dataclass, replace

from yakusu.data.segments import MemorySegment
from yakusu.memory.filling import filled
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.segments import as_marked

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
    memory: TranslationMemory, text: str, *, threshold: float = 0.75, most: int = 10
) -> list[MemoryMatch]:
    """The matches of a text, best first, then latest first; each translation of a source once.

    Args:
        memory: The memory.
        text: The text.
        threshold: Lowest similarity of those that are not exact; 1: only exact ones are looked for.
        most: Maximum number of matches.
    """
    found = [
        MemoryMatch(EXACT, each.segment.target, each.number, each.segment)
        for each in memory.exact(text)
    ]
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
