"""Units of files: a source, its translation, and what the file says about them.

A file with both sides is read in two ways, by one reader for each format: as pairs of plain lines
(`data.corpus`), and as units with inline markup, keys, context and dates (`data.segments`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from yakusu.data.files.inline_codes import InlineParts

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
class FileUnit:
    """A source and its translation in a file.

    Attributes:
        source: The parts of the source.
        target: The parts of its translation.
        about: What is known about them, by the names in `ABOUT`; times as `utc_time` writes them.
        is_finished: Whether the translation is finished; others are context only.
        in_order: Whether the units before and after it in the file are its neighbours.
        keeps_spaces: Whether line breaks with indentation have a meaning.
        has_marks: Whether private-use characters that are marks mean markup, as in the tables that
            a memory exports.
    """

    source: InlineParts
    target: InlineParts
    about: Mapping[str, str] = field(default_factory=dict)
    is_finished: bool = True
    in_order: bool = False
    keeps_spaces: bool = True
    has_marks: bool = False


def field_places(header: Sequence[str]) -> dict[str, int]:
    """Return the place of each field that the names of columns, or of keys, state."""
    names = [name.strip().lower() for name in header]
    return {
        each: names.index(found)
        for each, known in COLUMN_NAMES.items()
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
