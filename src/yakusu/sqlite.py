"""Kinds of SQLite files: how one is opened, created, checked, read and written, and its errors.

A file has a table `meta`, with its format. It is in WAL mode where the disk allows it, so that
readers and a writer do not wait for each other. Two more files, FILE-wal and FILE-shm, exist while
it is in use; the last process removes them. What a file contains is not trusted.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yakusu.errors import DataError

_PATIENCE = 20.0  # seconds for which a process waits until another one has written


class DamagedFileError(ValueError):
    """The content of a file is not what was written; `SqliteKind.errors` adds the name."""


@dataclass(frozen=True)
class SqliteKind:
    """A kind of file.

    name, plural: What messages call one, and several.
    application: Number in the header of the files.
    format: Format of the files that are read and written.
    schema: Statements that create the tables, each of which ends with ";" and a line end.
    error: Raised for a file that is not of this kind, is damaged, or cannot be read or written.
    advice: What to do with a file of another kind, or a damaged one.
    """

    name: str
    plural: str
    application: int
    format: int
    schema: str
    error: type[DataError]
    advice: str

    @property
    def statements(self) -> list[str]:
        """The statements of the schema."""
        return [each for each in self.schema.split(";\n") if each.strip()]

    def open(
        self, path: Path, *, writable: bool, new: Mapping[str, Any] | None = None
    ) -> sqlite3.Connection:
        """Open a file.

        Args:
            path: The file.
            writable: Whether it may be changed.
            new: With `writable`, a file that does not exist is created with these rows in `meta`.

        Raises:
            DataError: `error`: the file is not of this kind, is damaged, or cannot be read or
                written.
        """
        if path.exists() and not path.is_file():
            found = "a folder" if path.is_dir() else "not a regular file"
            raise self.error(f"{path} is {found}: give the file of a {self.name}")
        if new is None and path.exists() and not path.stat().st_size:
            raise self.error(f"{path} is empty, and not a {self.name}: check the path")
        with self.errors(path):
            db = _connect(path, writable=writable)
            try:
                if writable and new is not None:
                    self._create(db, new)
                self._check(db, path)
                db.execute("PRAGMA synchronous = FULL")
                db.execute("PRAGMA secure_delete = ON")  # what is removed is not kept in the file
            except BaseException:
                db.close()
                raise
        return db

    def open_temporary(self, new: Mapping[str, Any]) -> sqlite3.Connection:
        """Create the tables without a file."""
        db = connect_to(":memory:", _PATIENCE)
        self._create(db, new)
        return db

    def _create(self, db: sqlite3.Connection, new: Mapping[str, Any]) -> None:
        """Create the tables in a file that has none."""
        if db.execute("SELECT 1 FROM sqlite_master").fetchone():
            return
        db.execute("BEGIN IMMEDIATE")
        if db.execute("SELECT 1 FROM sqlite_master").fetchone():  # another process was faster
            db.execute("ROLLBACK")
            return
        for statement in self.statements:
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {self.application}")
        meta = {"format": self.format, **new}
        db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        db.execute("COMMIT")
        with suppress(sqlite3.OperationalError):  # the disk has no shared memory
            db.execute("PRAGMA journal_mode = WAL")

    def _check(self, db: sqlite3.Connection, path: Path) -> None:
        """Refuse a file that is not of this kind and format."""
        strange = "SELECT 1 FROM sqlite_master WHERE type NOT IN ('table', 'index')"
        if db.execute(strange).fetchone():  # reading a view could take forever
            raise DamagedFileError("it has views or triggers")
        if db.execute("PRAGMA application_id").fetchone()[0] != self.application:
            raise self.error(f"{path} is an SQLite file, but not a {self.name}: check the path")
        row = db.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
        if (found := row and row[0]) != self.format:
            raise self.error(
                f"{path} has format {found} of {self.plural}, and this version of yakusu reads "
                f"{self.format}: install the version that wrote it"
            )

    @contextmanager
    def reading(self, db: sqlite3.Connection, path: Path) -> Iterator[sqlite3.Connection]:
        """Read one state of a file, whatever others write meanwhile."""
        with self._transaction(db, path, "BEGIN"):
            yield db

    @contextmanager
    def writing(self, db: sqlite3.Connection, path: Path) -> Iterator[sqlite3.Connection]:
        """A transaction that is synced to disk, or leaves no trace."""
        with self._transaction(db, path, "BEGIN IMMEDIATE"):
            yield db
            db.execute("COMMIT")

    @contextmanager
    def _transaction(self, db: sqlite3.Connection, path: Path, begin: str) -> Iterator[None]:
        with self.errors(path):
            db.execute(begin)
            try:
                yield
            finally:
                if db.in_transaction:  # an error may have ended it
                    db.execute("ROLLBACK")

    def damaged(self, path: Path, reason: object) -> DataError:
        """Return the error of a file whose content is wrong."""
        return self.error(f"{path} is not a {self.name}, or is damaged ({reason}): {self.advice}")

    @contextmanager
    def errors(self, path: Path) -> Iterator[None]:
        """Raise `error` for what SQLite refuses."""
        try:
            yield
        except sqlite3.OperationalError as error:
            reason = str(error)
            if "locked" in reason or "busy" in reason:
                raise self.error(
                    f"{path} is being written by another process: try again later"
                ) from error
            if "readonly" in reason or "unable to open" in reason:
                fix = "check that it and its folder exist and may be written"
                verb = "written" if "readonly" in reason else "opened"
                raise self.error(f"{path} cannot be {verb}: {fix}") from error
            if "full" in reason:
                raise self.error(
                    f"{path} cannot be written: free some space on its disk"
                ) from error
            if "no such" in reason or "decode" in reason:
                raise self.damaged(path, reason) from error
            raise self.error(f"{path} cannot be read or written: {reason}") from error
        except sqlite3.ProgrammingError as error:
            if "closed" not in str(error):
                raise
            raise self.error(f"{path} is closed: open it again") from error
        except (sqlite3.DatabaseError, DamagedFileError, UnicodeDecodeError) as error:
            if "not a database" in str(error):
                raise self.error(
                    f"{path} is not a {self.name}, or is damaged at its beginning: check the path"
                ) from error
            raise self.damaged(path, error) from error


def connect_to(uri: str, patience: float) -> sqlite3.Connection:
    """Connect to a file; in a transaction only where the code says so.

    Args:
        uri: Its URI.
        patience: Seconds for which a process waits until another one has written.
    """
    # A job may be continued by another thread, but never runs in two at once.
    db = sqlite3.connect(
        uri, uri=True, timeout=patience, isolation_level=None, check_same_thread=False
    )
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")
    return db


def _connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    uri = path.absolute().as_uri()
    if writable:
        return connect_to(f"{uri}?mode=rwc", _PATIENCE)
    # Or read-only, if the system does not allow writing.
    db = connect_to(f"{uri}?mode=rw", _PATIENCE)
    try:
        db.execute("PRAGMA query_only = ON")
        db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.OperationalError as error:
        db.close()
        is_refused = any(each in str(error) for each in ("unable to open", "readonly"))
        if not is_refused or Path(f"{path}-wal").exists():
            raise
        # The folder cannot be written. The file is complete, but SQLite must be told so.
        return connect_to(f"{uri}?mode=ro&immutable=1", _PATIENCE)
    except BaseException:
        db.close()
        raise
    return db
