"""The pairs of memories for training: the latest translation of each source, a tenth held out.

    h(words of the source) mod 10 = 0     ->    held out

Words are those of `words.py`, so that "Page 3 of 10" and "page 4 of 12" are on the same side, and
every pair stays on its side, whatever is added later. Inline markup is removed.
"""

import re
from collections.abc import Iterator, Sequence

from yakusu.data.lines.private_use import MARKS, is_break, is_closing, is_opening
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.segments import digest, normalised
from yakusu.memory.words import encoded

_MARK = re.compile(MARKS)
_HELD_OUT = 10  # one pair of so many


def unmarked_line(segment: str) -> str:
    """A side of a segment as a line of text: without markup, with one space between words."""

    def space(found: re.Match[str]) -> str:
        is_pair = is_opening(found[0]) or is_closing(found[0])
        return " " if is_break(found[0]) or not is_pair else ""

    return normalised(_MARK.sub(space, segment))


def source_key(text: str) -> int:
    """An integer by which equal sources are found."""
    return digest(normalised(text))


def is_held_out(source: str) -> bool:
    """Whether pairs with a source, a line of text, are not used for training."""
    return digest(encoded(source)) % _HELD_OUT == 0


def confirmed_pairs(memories: Sequence[TranslationMemory]) -> Iterator[tuple[str, str]]:
    """Yield one pair for each source, as lines of text.

    Of several translations, it is the latest one of the first memory that has the source, as in
    translation. Segments without text on one side are left out.
    """
    known = set[int]()
    for memory in memories:
        latest = dict[int, tuple[str, int]]()  # the date and the number of a segment
        for each in memory:
            key, stamp = (
                source_key(unmarked_line(each.segment.source)),
                (each.segment.time, each.number),
            )
            if key not in known:
                latest[key] = max(latest.get(key, stamp), stamp)
        for each in memory:
            source, target = unmarked_line(each.segment.source), unmarked_line(each.segment.target)
            if source and target and latest.get(source_key(source), ("", 0))[1] == each.number:
                yield source, target
        known |= latest.keys()
