"""A translation memory: segments with their translations in one SQLite file.

    with Memory.open(path, ("en", "de"), writable=True) as memory:
        memory.add([MemorySegment("Save", "Speichern")])
        memory.exact("Save")[0].segment.target

Tables: `meta` (format, languages, revision), `segment`, `posting` (see `postings.py`). The segments
of one transaction get consecutive numbers; numbers are not used again. Readers use snapshots, so
that a job sees one revision. One process writes at a time; others wait.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from yakusu.data.languages import canonical
from yakusu.errors import DataError
from yakusu.memory import postings
from yakusu.memory.segments import (
    MemorySegment,
    digest,
    normalised,
    renumbered,
    with_variables,
)
from yakusu.memory.words import encoded

FORMAT = 1
_APPLICATION = 0x79616B75  # "yaku", in the header of the file
_BATCH = 20_000  # segments of a transaction
_PATIENCE = 10.0  # seconds for which a process waits until another one has written
_LISTED = 50_000  # numbers in a statement
_COLUMNS = tuple(field.name for field in fields(MemorySegment))
_SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE segment (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    {", ".join(f"{name} TEXT NOT NULL" for name in _COLUMNS)},
    identity BLOB NOT NULL UNIQUE,
    exact INTEGER NOT NULL,      -- digest of the normalised source
    variable INTEGER NOT NULL,   -- and with its numbers as variables
    words TEXT NOT NULL          -- encoded
);
CREATE INDEX by_exact ON segment (exact);
CREATE INDEX by_variable ON segment (variable);
{postings.SCHEMA}
"""


@dataclass(frozen=True)
class StoredSegment:
    """A segment, and its number in the memory."""

    number: int
    segment: MemorySegment


@dataclass(frozen=True)
class SimilarSegment:
    """A segment whose source is similar to a text; see `words.similarity`."""

    number: int
    segment: MemorySegment
    similarity: float


@dataclass(frozen=True)
class Added:
    """What `Memory.add` did: the numbers of new segments, and of those that were known."""

    new: int
    known: int


class Memory:
    """An open memory; a context manager.

    Args:
        db: The file.
        path: Its name, for messages.
    """

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db, self.path = db, path
        meta = dict(db.execute("SELECT name, value FROM meta"))
        self.languages: tuple[str, str] = (meta["source"], meta["target"])

    @classmethod
    def open(
        cls, path: Path, languages: tuple[str, str] | None = None, *, writable: bool = False
    ) -> "Memory":
        """Open a memory.

        Args:
            path: The file.
            languages: Codes of the source and the target language, which must be those of the
                memory. With `writable`, a file that does not exist is created for them.
            writable: Whether segments may be added and removed.

        Raises:
            DataError: The file does not exist, is not a memory, is damaged, has other languages,
                or cannot be written.
        """
        wanted = languages and tuple(map(canonical, languages))
        if not path.exists() and not (writable and wanted):
            fix = "give its languages" if writable else "check the path"
            raise DataError(f"{path} does not exist: {fix}")
        with _errors(path):
            db = _connect(path, writable=writable)
            try:
                if writable and wanted:
                    _create(db, wanted)
                _check(db, path)
                memory = cls(db, path)
            except BaseException:
                db.close()
                raise
        if wanted and wanted != memory.languages:
            memory.close()
            raise DataError(
                f"{path} is a memory of {'-'.join(memory.languages)}, not of {'-'.join(wanted)}: "
                "choose another file"
            )
        return memory

    @classmethod
    def in_memory(cls, languages: tuple[str, str]) -> "Memory":
        """A memory without a file, which is lost when it is closed."""
        db = _connect_to(":memory:", writable=True)
        _create(db, languages)
        return cls(db, Path(":memory:"))

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; the last process that does so leaves one file."""
        with suppress(sqlite3.Error):  # another process uses it
            if self._db.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                self._db.execute("PRAGMA journal_mode = DELETE")
        self._db.close()

    # ---- reading -----------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """A number that every change increases."""
        with _errors(self.path):
            row = self._db.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
        return int(row[0])

    def __len__(self) -> int:
        with _errors(self.path):
            return int(self._db.execute("SELECT count(*) FROM segment").fetchone()[0])

    def __iter__(self) -> Iterator[StoredSegment]:
        """The segments in the order in which they were added."""
        with _errors(self.path):
            for row in self._db.execute(f"SELECT number, {_LIST} FROM segment ORDER BY number"):
                yield _stored(row)

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        """Read one revision, whatever others add meanwhile; returns the revision."""
        with _errors(self.path):
            self._db.execute("BEGIN")
            revision = self.revision  # the first read decides what is read
        try:
            yield revision
        finally:
            self._db.execute("ROLLBACK")

    def exact(self, text: str) -> list[StoredSegment]:
        """The segments with a source, the latest one first."""
        wanted = normalised(text)
        return [
            each
            for each in self._with("exact", digest(wanted))
            if normalised(each.segment.source) == wanted
        ]

    def with_other_numbers(self, text: str) -> list[StoredSegment]:
        """The segments whose source differs in its numbers only, or not at all, latest first."""
        wanted = with_variables(text)
        return [
            each
            for each in self._with("variable", digest(wanted))
            if with_variables(each.segment.source) == wanted
        ]

    def _with(self, column: str, value: int) -> list[StoredSegment]:
        with _errors(self.path):
            rows = self._db.execute(
                f"SELECT number, {_LIST} FROM segment WHERE {column} = ? "
                "ORDER BY time DESC, number DESC",
                (value,),
            )
            return [*map(_stored, rows)]

    def similar(
        self, text: str, *, threshold: float = 0.75, most: int = 10
    ) -> list[SimilarSegment]:
        """The segments that are most similar to a text, best first, then latest first.

        Args:
            text: The text.
            threshold: Lowest similarity.
            most: Maximum number of segments.
        """
        code = encoded(text)
        with _errors(self.path):
            rows = list[tuple[int, str, str]]()
            numbers = postings.candidates(self._db, code, threshold).tolist()
            for start in range(0, len(numbers), _LISTED):
                listed = ",".join(map(str, numbers[start : start + _LISTED]))
                rows += self._db.execute(
                    f"SELECT number, words, time FROM segment WHERE number IN ({listed})"
                )
            scores = process.extract(
                code,
                [words for _, words, _ in rows],
                scorer=Levenshtein.normalized_similarity,
                score_cutoff=threshold - 1e-9,
                limit=None,
            )
            ranked = sorted(
                ((score, rows[i][2], rows[i][0]) for _, score, i in scores), reverse=True
            )
            return [
                SimilarSegment(number, self[number].segment, score)
                for score, _, number in ranked[:most]
            ]

    def __getitem__(self, number: int) -> StoredSegment:
        """The segment with a number.

        Raises:
            KeyError: There is none.
        """
        with _errors(self.path):
            row = self._db.execute(
                f"SELECT number, {_LIST} FROM segment WHERE number = ?", (number,)
            ).fetchone()
        if row is None:
            raise KeyError(number)
        return _stored(row)

    # ---- writing -----------------------------------------------------------------------------

    def add(self, segments: Iterable[MemorySegment]) -> Added:
        """Add segments; those that repeat a known one change nothing.

        A transaction has up to 20,000 of them, so that a process that is killed loses no more.

        Raises:
            DataError: The memory is read-only, or another process writes for a long time.
        """
        new = known = 0
        rest = iter(segments)
        while batch := list(islice(rest, _BATCH)):
            added = self._add(batch)
            new, known = new + added, known + len(batch) - added
        return Added(new, known)

    def _add(self, batch: Sequence[MemorySegment]) -> int:
        added = list[tuple[int, str]]()
        with self._writing() as db:
            for given in batch:
                segment = _renumbered(given)
                code = encoded(segment.source)
                keys = (
                    segment.identity,
                    digest(normalised(segment.source)),
                    digest(with_variables(segment.source)),
                    code,
                )
                row = db.execute(_INSERT, (*astuple(segment), *keys))
                if row.rowcount:
                    added.append((int(row.lastrowid or 0), code))
            if added:
                postings.add(db, added)
                db.execute("UPDATE meta SET value = value + 1 WHERE name = 'revision'")
        return len(added)

    def remove(self, numbers: Iterable[int]) -> int:
        """Remove segments; return how many there were."""
        with self._writing() as db:
            before = db.total_changes
            db.executemany("DELETE FROM segment WHERE number = ?", ((n,) for n in numbers))
            removed = db.total_changes - before
            if removed:
                db.execute("UPDATE meta SET value = value + 1 WHERE name = 'revision'")
        return removed

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is synced to disk, or leaves no trace."""
        with _errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")


_LIST = ", ".join(_COLUMNS)
_INSERT = (
    f"INSERT OR IGNORE INTO segment ({_LIST}, identity, exact, variable, words) "
    f"VALUES ({', '.join('?' * (len(_COLUMNS) + 4))})"
)


def _stored(row: Sequence[int | str]) -> StoredSegment:
    return StoredSegment(int(row[0]), MemorySegment(*map(str, row[1:])))


def _renumbered(segment: MemorySegment) -> MemorySegment:
    source, target = renumbered(segment.source, segment.target)
    rest = astuple(segment)[2:]
    return MemorySegment(source, target, *rest)


def _connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    """Open a file; in a transaction only where the code says so."""
    mode = "rwc" if writable else "ro"
    return _connect_to(f"{path.absolute().as_uri()}?mode={mode}", writable=writable)


def _connect_to(uri: str, *, writable: bool) -> sqlite3.Connection:
    db = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")
    if writable:
        db.execute("PRAGMA synchronous = FULL")
        with suppress(sqlite3.OperationalError):  # the disk has no shared memory
            db.execute("PRAGMA journal_mode = WAL")
    return db


def _create(db: sqlite3.Connection, languages: Sequence[str]) -> None:
    """Create the tables in a file that has none."""
    db.execute("BEGIN IMMEDIATE")
    if db.execute("SELECT 1 FROM sqlite_master").fetchone():
        db.execute("ROLLBACK")
        return
    for statement in _SCHEMA.split(";\n"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {_APPLICATION}")
    meta = {"format": FORMAT, "source": languages[0], "target": languages[1], "revision": 0}
    db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    db.execute("COMMIT")


def _check(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a memory of this format.

    Raises:
        DataError: It is none.
    """
    if db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise DataError(f"{path} is an SQLite file, but not a memory: check the path")
    (version,) = db.execute("SELECT value FROM meta WHERE name = 'format'").fetchone() or (0,)
    if version != FORMAT:
        raise DataError(
            f"{path} has format {version} of memories, and this version of yakusu reads {FORMAT}: "
            "install the version that wrote it"
        )


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Raise DataError for what SQLite refuses."""
    try:
        yield
    except sqlite3.OperationalError as error:
        reason = str(error)
        if "locked" in reason or "busy" in reason:
            raise DataError(
                f"{path} is being written by another process: try again later"
            ) from error
        if "readonly" in reason:
            raise DataError(f"{path} cannot be written: change its permissions") from error
        raise DataError(f"{path} cannot be read or written: {reason}") from error
    except sqlite3.DatabaseError as error:
        raise DataError(
            f"{path} is not a memory, or is damaged ({error}): restore a copy of it"
        ) from error
