"""The file of a memory: its tables, how it is opened, created and checked, and its errors.

Tables: `meta` (format, languages, revision), `segment`, `posting` (see `postings.py`), `state` (see
`states.py`). The file is in WAL mode where the disk allows it, so that readers and a writer do not
wait for each other. Two more files, FILE-wal and FILE-shm, exist while it is in use; the last
process removes them.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path

from yakusu.data.segments import MemorySegment
from yakusu.errors import MemoryFileError
from yakusu.memory import postings

FORMAT = 1
COLUMNS = tuple(field.name for field in fields(MemorySegment))
_APPLICATION = 0x79616B75  # "yaku", in the header of the file
_PATIENCE = 20.0  # seconds for which a process waits until another one has written
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
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "not a regular file"
        raise MemoryFileError(f"{path} is {kind}: give the file of a memory")
    with sqlite_errors(path):
        db = _connect(path, writable=writable)
        try:
            if writable and languages:
                _create(db, languages)
            stated = _check(db, path)
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA secure_delete = ON")  # what is removed is not kept in the file
        except BaseException:
            db.close()
            raise
    return db, stated


def open_temporary(languages: tuple[str, str]) -> sqlite3.Connection:
    """Create the tables of a memory without a file."""
    db = _connect_to(":memory:", _PATIENCE)
    _create(db, languages)
    return db


def open_for_states(path: Path) -> sqlite3.Connection:
    """Open a memory to which states are written while others read it.

    Raises:
        MemoryFileError: It cannot be opened.
    """
    with sqlite_errors(path):
        return _connect_to(f"{path.absolute().as_uri()}?mode=rw", _SHORT_PATIENCE)


def _connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    """Open a file; in a transaction only where the code says so."""
    uri = path.absolute().as_uri()
    if writable:
        return _connect_to(f"{uri}?mode=rwc", _PATIENCE)
    # Or read-only, if the system does not allow writing.
    db = _connect_to(f"{uri}?mode=rw", _PATIENCE)
    try:
        db.execute("PRAGMA query_only = ON")
        db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.OperationalError as error:
        db.close()
        is_refused = any(each in str(error) for each in ("unable to open", "readonly"))
        if not is_refused or Path(f"{path}-wal").exists():
            raise
        # The folder cannot be written. The file is complete, but SQLite must be told so.
        return _connect_to(f"{uri}?mode=ro&immutable=1", _PATIENCE)
    except BaseException:
        db.close()
        raise
    return db


def _connect_to(uri: str, patience: float) -> sqlite3.Connection:
    # A job may be continued by another thread, but never runs in two at once.
    db = sqlite3.connect(
        uri, uri=True, timeout=patience, isolation_level=None, check_same_thread=False
    )
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")
    return db


def _create(db: sqlite3.Connection, languages: Sequence[str]) -> None:
    """Create the tables in a file that has none."""
    if db.execute("SELECT 1 FROM sqlite_master").fetchone():
        return
    db.execute("BEGIN IMMEDIATE")
    if db.execute("SELECT 1 FROM sqlite_master").fetchone():  # another process was faster
        db.execute("ROLLBACK")
        return
    for statement in _SCHEMA.split(";\n"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {_APPLICATION}")
    meta = {"format": FORMAT, "source": languages[0], "target": languages[1], "revision": 0}
    db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    db.execute("COMMIT")
    with suppress(sqlite3.OperationalError):  # the disk has no shared memory
        db.execute("PRAGMA journal_mode = WAL")


def _check(db: sqlite3.Connection, path: Path) -> tuple[str, str]:
    """Refuse a file that is not a memory of this format; return the languages of the memory.

    Raises:
        MemoryFileError: It is none.
    """
    if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise MemoryFileError(f"{path} is an SQLite file, but not a memory: check the path")
    meta = dict(db.execute("SELECT name, value FROM meta"))
    if meta.get("format") != FORMAT:
        raise MemoryFileError(
            f"{path} has format {meta.get('format')} of memories, and this version of yakusu reads "
            f"{FORMAT}: install the version that wrote it"
        )
    source, target = meta.get("source"), meta.get("target")
    if not (isinstance(source, str) and isinstance(target, str) and source and target):
        raise damaged_memory(path, "its languages are missing")
    return source, target


def damaged_memory(path: Path, reason: object) -> MemoryFileError:
    """Return the error of a file whose content is wrong."""
    return MemoryFileError(
        f"{path} is not a memory, or is damaged ({reason}): add files of other formats to a memory "
        "with 'yakusu memory add', or restore a copy of it"
    )


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Raise MemoryFileError for what SQLite refuses."""
    try:
        yield
    except sqlite3.OperationalError as error:
        reason = str(error)
        if "locked" in reason or "busy" in reason:
            raise MemoryFileError(
                f"{path} is being written by another process: try again later"
            ) from error
        if "readonly" in reason or "unable to open" in reason:
            fix = "check that it and its folder exist and may be written"
            verb = "written" if "readonly" in reason else "opened"
            raise MemoryFileError(f"{path} cannot be {verb}: {fix}") from error
        if "full" in reason:
            raise MemoryFileError(
                f"{path} cannot be written: free some space on its disk"
            ) from error
        if "no such" in reason or "decode" in reason:
            raise damaged_memory(path, reason) from error
        raise MemoryFileError(f"{path} cannot be read or written: {reason}") from error
    except (sqlite3.DatabaseError, postings.PostingsError) as error:
        raise damaged_memory(path, error) from error
