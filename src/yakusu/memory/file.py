"""The file of a memory: its tables, and how it is opened.

Tables: `meta` (format, languages, revision), `segment`, `posting` (see `postings.py`), `state` (see
`states.py`).
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from yakusu.data.segments import MemorySegment
from yakusu.errors import MemoryFileError
from yakusu.memory import postings
from yakusu.sqlite import SqliteKind, connect_to

COLUMNS = tuple(field.name for field in fields(MemorySegment))
_SHORT_PATIENCE = 1.0  # for states, which can be computed again
_SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE segment (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    {", ".join(f"{name} TEXT NOT NULL" for name in COLUMNS)},
    identity BLOB NOT NULL UNIQUE,
    exact INTEGER NOT NULL,      -- digest of the normalised source
    variable INTEGER NOT NULL,   -- and with its numbers as variables
    words TEXT NOT NULL          -- encoded
);
CREATE INDEX by_exact ON segment (exact);
CREATE INDEX by_variable ON segment (variable);
CREATE TABLE state (
    model INTEGER NOT NULL, number INTEGER NOT NULL, codes BLOB NOT NULL, tokens BLOB NOT NULL
);
CREATE UNIQUE INDEX by_state ON state (number, model);
{postings.SCHEMA}
"""
MEMORY_FILE = SqliteKind(
    name="memory",
    plural="memories",
    application=0x79616B75,  # "yaku"
    format=1,
    schema=_SCHEMA,
    error=MemoryFileError,
    advice=(
        "add files of other formats to a memory with 'yakusu memory add', or restore a copy of it"
    ),
)


def open_memory_file(
    path: Path, languages: Sequence[str] | None, *, writable: bool
) -> tuple[sqlite3.Connection, tuple[str, str]]:
    """Open a memory; return the connection and the languages of the memory.

    Args:
        path: The file.
        languages: With `writable`, a file that does not exist is created for these languages.
        writable: Whether the memory may be changed.

    Raises:
        MemoryFileError: The file is not a memory, is damaged, or cannot be read or written.
    """
    new = _meta(languages) if languages else None
    db = MEMORY_FILE.open(path, writable=writable, new=new)
    try:
        with MEMORY_FILE.errors(path):
            meta = dict(db.execute("SELECT name, value FROM meta"))
        source, target = meta.get("source"), meta.get("target")
        if not (isinstance(source, str) and isinstance(target, str) and source and target):
            raise MEMORY_FILE.damaged(path, "its languages are missing")
    except BaseException:
        db.close()
        raise
    return db, (source, target)


def open_temporary(languages: tuple[str, str]) -> sqlite3.Connection:
    """Create the tables of a memory without a file."""
    return MEMORY_FILE.open_temporary(_meta(languages))


def open_for_states(path: Path) -> sqlite3.Connection:
    """Open a memory to which states are written while others read it.

    Raises:
        MemoryFileError: It cannot be opened.
    """
    with MEMORY_FILE.errors(path):
        return connect_to(f"{path.absolute().as_uri()}?mode=rw", _SHORT_PATIENCE)


def _meta(languages: Sequence[str]) -> dict[str, Any]:
    return {"source": languages[0], "target": languages[1], "revision": 0}
