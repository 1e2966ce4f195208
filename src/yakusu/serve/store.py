"""What clients store in the service, in SQLite: a file in the folder `data`, or in memory.

An owner is a digest of an API key, or "", nobody: the file has no keys.
"""

import hashlib
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from yakusu.errors import RecipeError
from yakusu.serve.access import Key
from yakusu.serve.errors import RefusedError

_log = logging.getLogger(__name__)
_FILE, _FORMAT = "service.db", 1
_PATIENCE, _RETRY = 5.0, 10  # seconds
_SCHEMA = """
CREATE TABLE glossary (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, created TEXT NOT NULL
);
CREATE INDEX by_owner ON glossary (owner);
CREATE TABLE dictionary (
    glossary TEXT NOT NULL REFERENCES glossary (id) ON DELETE CASCADE,
    source TEXT NOT NULL, target TEXT NOT NULL, n INTEGER NOT NULL,
    size INTEGER NOT NULL,       -- bytes of the entries
    entries TEXT NOT NULL,       -- n lines of a term, a tab and its translation
    PRIMARY KEY (glossary, source, target)
) WITHOUT ROWID;
CREATE TABLE usage (
    owner TEXT NOT NULL, month TEXT NOT NULL, characters INTEGER NOT NULL,
    PRIMARY KEY (owner, month)
) WITHOUT ROWID;
CREATE TABLE memory (
    number INTEGER PRIMARY KEY AUTOINCREMENT,  -- which no other memory gets later
    owner TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL, time TEXT NOT NULL
);
CREATE INDEX memory_by_owner ON memory (owner);
CREATE TABLE terms (
    number INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memory (number) ON DELETE CASCADE,
    kind TEXT NOT NULL, name TEXT NOT NULL,
    terms TEXT NOT NULL          -- JSON: pairs of a language and a term
);
CREATE INDEX terms_of_memory ON terms (memory, kind, name);
"""


def owner_of(key: Key | str | None) -> str:
    """The owner of what is stored with an API key; "": without one."""
    text = key.key if isinstance(key, Key) else key
    if not text:
        return ""
    return hashlib.blake2b(text.encode(), digest_size=16, person=b"yakusu key").hexdigest()


class ServiceStore:
    """The tables; any number of threads may use it.

    Args:
        folder: The folder, which is created; None: they are lost when the service ends.

    Raises:
        RecipeError: The folder cannot be used.
    """

    def __init__(self, folder: Path | None) -> None:
        self._lock = Lock()
        try:
            if folder:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                (folder / _FILE).touch(mode=0o600)
            name = str(folder / _FILE) if folder else ":memory:"
            self._db = sqlite3.connect(
                name, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA foreign_keys = ON")
            self._db.execute("PRAGMA secure_delete = ON")
            self._create()
            if folder:
                (folder / _FILE).chmod(0o600)
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise RecipeError(f"data = '{folder}' cannot be used: {reason}") from error

    def _create(self) -> None:
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        if found == 0:
            self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_FORMAT};")
            self._db.execute("COMMIT")
        elif found != _FORMAT:
            raise sqlite3.DatabaseError(f"{_FILE} has format {found}, and not {_FORMAT}")

    @contextmanager
    def transaction(self, *, writes: bool = True) -> Iterator[sqlite3.Connection]:
        """Read or change the tables: all changes are stored, or none.

        Args:
            writes: Whether anything is changed.

        Raises:
            RefusedError: The file cannot be read or written (503).
        """
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
                try:
                    yield self._db
                    self._db.execute("COMMIT")
                finally:
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
            except sqlite3.Error as error:
                _log.warning("the data of clients cannot be used: %s", error)
                message = "The server cannot store data now: try again later"
                raise RefusedError(503, message, retry_after=_RETRY, reason="disk") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()
