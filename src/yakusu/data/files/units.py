"""Segments of files: a source, its translation, and what the file says about them.

A file of pairs is read in two ways: as plain lines, for training, and as segments with inline
markup, keys, context and dates, for a memory. Both views have one reader for each format.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, pairwise

# Names of columns, and of keys of JSON, for the fields of a segment, in lower case.
COLUMN_NAMES: Mapping[str, Sequence[str]] = {
    "source": ("source", "src", "original", "sentence", "text", "term"),
    "target": ("target", "tgt", "trg", "translation", "translated"),
    "before": ("before", "previous", "prev"),
    "after": ("after", "next"),
    "file": ("file", "document", "filename", "location"),
    "key": ("key", "id", "context", "msgctxt", "name"),
    "origin": ("origin",),
    "time": ("time", "date", "changed", "created"),
    "who": ("who", "author", "translator", "user"),
}
ABOUT = tuple(COLUMN_NAMES)[2:]  # what is known about the texts


@dataclass(frozen=True, slots=True)
class MemorySegment:
    """A source text, its translation, and what is known about them.

    Inline markup is made of marks (`data.lines.private_use`), numbered from 0 in the order of the
    source.

    Attributes:
        source: The text.
        target: Its translation.
        before: The text before it in its document; "": unknown.
        after: The text after it.
        file: The document.
        key: The name of the message in it.
        origin: Where the segment comes from, such as a file that was added or "page".
        time: When it was confirmed, in UTC, as in 2026-11-28T10:15:00Z.
        who: Who confirmed it.
    """

    source: str
    target: str
    before: str = ""
    after: str = ""
    file: str = ""
    key: str = ""
    origin: str = ""
    time: str = ""
    who: str = ""

    @property
    def identity(self) -> bytes:
        """A digest of all but `time` and `who`: two segments share it if one repeats the other."""
        parts = (
            self.source,
            self.target,
            self.before,
            self.after,
            self.file,
            self.key,
            self.origin,
        )
        lengths = b"".join(len(part.encode()).to_bytes(8, "little") for part in parts)
        return hashlib.blake2b(lengths + "".join(parts).encode(), digest_size=16).digest()


def field_places(header: Sequence[str]) -> dict[str, int]:
    """Return the place of each field that the names of columns, or of keys, state."""
    names = [name.strip().lower() for name in header]
    return {
        field: names.index(found)
        for field, known in COLUMN_NAMES.items()
        if (found := next((name for name in known if name in names), ""))
    }


def utc_time(text: str) -> str:
    """A date in any form of ISO 8601 as YYYY-MM-DDTHH:MM:SSZ; "": it is none.

    TMX writes 20261128T101500Z, PO 2026-11-28 11:15+0100. Without a time zone, it is UTC.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        aware = found if found.tzinfo else found.replace(tzinfo=UTC)
        return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return ""


def with_neighbours(
    segments: Iterator[tuple[MemorySegment, str]],
) -> Iterator[tuple[MemorySegment, str]]:
    """Give segments of one document the sources before and after them.

    Args:
        segments: Segments in the order of their documents, each with any text.
    """
    before = ""
    end = (MemorySegment("", ""), "")
    for (segment, note), (following, _) in pairwise(chain(segments, [end])):
        after = following.source if following.file == segment.file else ""
        yield replace(segment, before=before, after=after), note
        before = segment.source if following.file == segment.file else ""
