"""Segments of files for a memory; `corpus.py` reads the same files as plain lines, for training."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from yakusu.data.files.formats import read_units
from yakusu.data.files.inline_codes import InlineCode, InlineParts
from yakusu.data.files.long_lines import LEFT_OUT
from yakusu.data.files.text import PairFile
from yakusu.data.files.units import FileUnit
from yakusu.data.files.xliff_inline import INDENTATION
from yakusu.data.inline_marks import marked_texts, text_parts
from yakusu.data.segments import MemorySegment


def read_segments(file: PairFile) -> Iterator[MemorySegment]:
    """Read the segments of a file in order.

    A segment that is too long is a pair of `LEFT_OUT`; an empty one has an empty side.

    Raises:
        DataError: The file cannot be read, is malformed, or has other languages.
        RunError: Its format needs a library that is not installed.
    """
    before, last = "", None
    units = ((unit, segment_of(unit)) for unit in read_units(file))
    for following in chain(units, [None]):  # one ahead
        if last:
            unit, segment = last
            same = following and following[0].about.get("file") == unit.about.get("file")
            after = following[1].source if following and same else ""
            if unit.in_order:
                segment = replace(segment, before=before, after=after)
            if unit.is_finished:
                yield segment
            before = segment.source if same else ""
        last = following


def segment_of(unit: FileUnit) -> MemorySegment:
    """Return a unit with marks for its inline codes, without white space at the ends of fields."""
    texts = marked_texts(_parts(unit, unit.source), _parts(unit, unit.target))
    about = {name: value.strip() for name, value in unit.about.items()}
    if texts is None:
        return MemorySegment(LEFT_OUT, LEFT_OUT, **about)
    source, target = (
        text.strip() if unit.keeps_spaces else INDENTATION.sub(" ", text.strip()) for text in texts
    )
    return MemorySegment(source, target, **about)


def _parts(unit: FileUnit, side: InlineParts) -> Iterator[str | InlineCode]:
    for part in side:
        if isinstance(part, InlineCode):
            yield part
        else:
            yield from text_parts(part, has_marks=unit.has_marks)
