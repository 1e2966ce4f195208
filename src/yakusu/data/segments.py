"""Segments of a translation memory."""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SegmentContext:
    """Where a text stands.

    Attributes:
        before: The text before it in its document; "": unknown.
        after: The text after it.
        file: The document.
        key: The name of the message in it.
    """

    before: str = ""
    after: str = ""
    file: str = ""
    key: str = ""


UNKNOWN_CONTEXT = SegmentContext()


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
