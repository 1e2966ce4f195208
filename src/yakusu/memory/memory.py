"""A translation memory: segments with their translations in one SQLite file.

    with TranslationMemory.open(path, ("en", "de"), writable=True) as memory:
        memory.add([MemorySegment("Save", "Speichern")])
        memory.exact("Save")[0].segment.target

Segments are numbered in the order in which they were added; numbers are never reused. Readers use
snapshots, so that a job sees one revision. One process writes at a time; others wait.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from yakusu.data.languages import require_language
from yakusu.data.segments import MemorySegment
from yakusu.errors import DataError, MemoryFileError, YakusuError
from yakusu.memory import postings
from yakusu.memory.choice import SegmentChoice
from yakusu.memory.file import COLUMNS, MEMORY_FILE, open_memory_file, open_temporary
from yakusu.memory.segments import digest, normalised, renumbered, with_variables
from yakusu.memory.words import encoded
from yakusu.sqlite import DamagedFileError

BATCH = 20_000  # segments of a transaction
_CHARACTERS = 5_000_000  # of the texts of a transaction, which may be exceeded by one segment
_LISTED = 50_000  # numbers in a statement
_LIST = ", ".join(COLUMNS)
_values = attrgetter(*COLUMNS)  # many times as fast as dataclasses.astuple
_INSERT = (
    f"INSERT OR IGNORE INTO segment ({_LIST}, identity, exact, variable, words) "
    f"VALUES ({', '.join('?' * (len(COLUMNS) + 4))})"
)


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
    """What `TranslationMemory.add` did: how many were new, and how many known."""

    new: int
    known: int


class TranslationMemory:
    """An open memory; a context manager.

    Args:
        db: The file.
        path: Its name, for messages.
        languages: Codes of the source and the target language.
    """

    def __init__(self, db: sqlite3.Connection, path: Path, languages: tuple[str, str]) -> None:
        self._db, self.path, self.languages = db, path, languages
        self._counted = (-1, 0)  # a revision, and its number of segments

    @classmethod
    def open(
        cls, path: Path, languages: tuple[str, str] | None = None, *, writable: bool = False
    ) -> "TranslationMemory":
        """Open a memory.

        Args:
            path: The file.
            languages: Codes of the source and the target language, which must be those of the
                memory. With `writable`, a file that does not exist is created for them.
            writable: Whether segments may be added and removed.

        Raises:
            DataError: The file does not exist, is not a memory, is damaged, has other languages,
                or cannot be written; or a language is unknown.
        """
        wanted = languages and tuple(map(require_language, languages))
        if not path.exists() and not (writable and wanted):
            fix = (
                "give its languages, as in --source en --target de"
                if writable
                else "check the path"
            )
            raise MemoryFileError(f"{path} does not exist: {fix}")
        db, stated = open_memory_file(path, wanted, writable=writable)
        memory = cls(db, path, stated)
        if wanted and wanted != memory.languages:
            memory.close()
            raise MemoryFileError(
                f"{path} is a memory of {'-'.join(memory.languages)}, not of {'-'.join(wanted)}: "
                "choose another file"
            )
        return memory

    @classmethod
    def in_memory(cls, languages: tuple[str, str]) -> "TranslationMemory":
        """A memory without a file, which is lost when it is closed."""
        return cls(open_temporary(languages), Path(":memory:"), languages)

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
        """Close the file; the last process to do so leaves a single file."""
        self._db.close()

    # ---- reading -----------------------------------------------------------------------------

    @property
    def connection(self) -> sqlite3.Connection:
        """The file, as this memory reads it."""
        return self._db

    @property
    def revision(self) -> int:
        """A number that every change increases."""
        with MEMORY_FILE.errors(self.path):
            row = self._db.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
        return int(row[0])

    def __len__(self) -> int:
        revision = self.revision
        if self._counted[0] != revision:
            with MEMORY_FILE.errors(self.path):
                n = int(self._db.execute("SELECT count(*) FROM segment").fetchone()[0])
            self._counted = (revision, n)
        return self._counted[1]

    def __iter__(self) -> Iterator[StoredSegment]:
        """The segments in the order in which they were added."""
        return self.chosen(SegmentChoice())

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        """Read one revision, whatever others add meanwhile; returns the revision."""
        with MEMORY_FILE.errors(self.path):
            self._db.execute("BEGIN")
            revision = self.revision  # the first read decides what is read
        try:
            yield revision
        finally:
            if self._db.in_transaction:  # an error may have ended it
                self._db.execute("ROLLBACK")

    def exact(self, text: str) -> list[StoredSegment]:
        """The segments with a source, the latest one first; the numbers of its marks may differ."""
        wanted = normalised(renumbered(text, "")[0])
        return [
            each
            for each in self._with("exact", digest(wanted))
            if normalised(each.segment.source) == wanted
        ]

    def with_other_numbers(self, text: str, *, most: int = -1) -> list[StoredSegment]:
        """The segments whose source differs in its numbers only, or not at all, latest first.

        Args:
            text: The text.
            most: Maximum number of segments; -1: no maximum.
        """
        wanted = with_variables(renumbered(text, "")[0])
        return [
            each
            for each in self._with("variable", digest(wanted), most)
            if with_variables(each.segment.source) == wanted
        ]

    def _with(self, column: str, value: int, most: int = -1) -> list[StoredSegment]:
        with MEMORY_FILE.errors(self.path):
            rows = self._db.execute(
                f"SELECT number, {_LIST} FROM segment WHERE {column} = ? "
                "ORDER BY time DESC, number DESC LIMIT ?",
                (value, most),
            )
            return [*map(_stored, rows)]

    def similar(
        self, text: str, *, threshold: float = 0.75, most: int = 10, other_words: bool = False
    ) -> list[SimilarSegment]:
        """The segments that are most similar to a text, best first, then latest first.

        A pair that several documents contain is listed once.

        Args:
            text: The text.
            threshold: Lowest similarity.
            most: Maximum number of segments.
            other_words: Leave out those that differ in their numbers only, or not at all.
        """
        code = encoded(text)
        variable = digest(with_variables(renumbered(text, "")[0])) if other_words else None
        with MEMORY_FILE.errors(self.path):
            rows = list[tuple[int, str, str]]()
            numbers = postings.possible_segments(self._db, code, threshold).tolist()
            for start in range(0, len(numbers), _LISTED):
                listed = ",".join(map(str, numbers[start : start + _LISTED]))
                rows += self._db.execute(
                    "SELECT number, words, time FROM segment "
                    f"WHERE number IN ({listed}) AND variable IS NOT ?",
                    (variable,),
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
        found: dict[tuple[str, str], SimilarSegment] = {}
        for score, _, number in ranked:
            if len(found) == most:
                break
            segment = self[number].segment
            pair = segment.source, segment.target
            found.setdefault(pair, SimilarSegment(number, segment, score))
        return [*found.values()]

    def related(self, text: str, *, most: int) -> dict[int, float]:
        """The segments that share the most informative words with a text: how related, by number.

        They depend on the contents of the memory, not on the order in which they were added.

        Args:
            text: The text.
            most: How many segments are wanted. Those that are as related as the last one are
                returned, too.
        """
        with MEMORY_FILE.errors(self.path):
            return postings.related_segments(self._db, encoded(text), len(self), most)

    def chosen(self, choice: SegmentChoice) -> Iterator[StoredSegment]:
        """The segments that a choice describes, in the order in which they were added."""
        condition, values = choice.condition
        query = f"SELECT number, {_LIST} FROM segment WHERE {condition} ORDER BY number"
        with MEMORY_FILE.errors(self.path):
            for row in self._db.execute(query, values):
                yield _stored(row)

    def counts(self, column: str) -> dict[str, int]:
        """The numbers of segments by "origin", "who" or "file", most frequent first."""
        query = f"SELECT {column}, count(*) FROM segment GROUP BY 1 ORDER BY 2 DESC, 1"
        with MEMORY_FILE.errors(self.path):
            return {str(value): int(n) for value, n in self._db.execute(query)}

    def __getitem__(self, number: int) -> StoredSegment:
        """The segment with a number.

        Raises:
            KeyError: There is none.
        """
        with MEMORY_FILE.errors(self.path):
            row = self._db.execute(
                f"SELECT number, {_LIST} FROM segment WHERE number = ?", (number,)
            ).fetchone()
        if row is None:
            raise KeyError(number)
        return _stored(row)

    def indexed(self, numbers: Iterable[int]) -> list[StoredSegment]:
        """The segments that the index of words names.

        Raises:
            DataError: The file is damaged: it lacks one of them.
        """
        with MEMORY_FILE.errors(self.path):
            try:
                return [self[number] for number in numbers]
            except KeyError:
                raise DamagedFileError("the index of its words has other segments") from None

    # ---- writing -----------------------------------------------------------------------------

    def add(self, segments: Iterable[MemorySegment]) -> Added:
        """Add segments; those that repeat a known one change nothing.

        A transaction has up to 20,000 of them (see `batches`), so that a process that is killed
        loses no more. If `segments` raises an error of this package, such as for a malformed file,
        what was added before it is removed.

        Raises:
            DataError: The memory is read-only, or another process writes for a long time.
        """
        n_new, n_all, numbers = 0, 0, list[range]()
        try:
            for batch in batches(segments):
                added = self._add(batch)
                n_new, n_all = n_new + len(added), n_all + len(batch)
                if added:  # a known segment may take a number, too, which nobody has then
                    numbers.append(range(added[0], added[-1] + 1))
        except YakusuError:
            with suppress(DataError):
                for each in numbers:
                    self.remove(each)
            raise
        return Added(n_new, n_all - n_new)

    def _add(self, batch: Sequence[MemorySegment]) -> list[int]:
        """Add segments in one transaction; return the numbers of those that are new."""
        rows = [*map(_row, batch)]  # before others have to wait
        added = list[tuple[int, str]]()
        with MEMORY_FILE.writing(self._db, self.path) as db:
            for row in rows:
                cursor = db.execute(_INSERT, row)
                if cursor.rowcount:
                    added.append((int(cursor.lastrowid or 0), row[-1]))
            if added:
                postings.add_postings(db, added)
                db.execute("UPDATE meta SET value = value + 1 WHERE name = 'revision'")
        return [number for number, _ in added]

    def confirm(self, segment: MemorySegment) -> int:
        """Store a segment as the latest one, and return its number.

        One that repeats it, apart from date and author, is replaced.

        Raises:
            DataError: As for `add`.
        """
        row = _row(segment)
        with MEMORY_FILE.writing(self._db, self.path) as db:
            query = "DELETE FROM segment WHERE identity = ? RETURNING number, words"
            self._forget(db, db.execute(query, (segment.identity,)).fetchall())
            number = int(db.execute(_INSERT, row).lastrowid or 0)
            postings.add_postings(db, [(number, row[-1])])
            db.execute("UPDATE meta SET value = value + 1 WHERE name = 'revision'")
        return number

    def remove(self, numbers: Iterable[int]) -> int:
        """Remove segments in one transaction; return how many there were."""
        n, rest = 0, iter(sorted({*numbers}))
        query = "DELETE FROM segment WHERE number = ? RETURNING number, words"
        with MEMORY_FILE.writing(self._db, self.path) as db:
            while batch := list(islice(rest, BATCH)):  # so that memory does not grow with them
                gone = [row for each in batch for row in db.execute(query, (each,))]
                self._forget(db, gone)
                n += len(gone)
            if n:
                db.execute("UPDATE meta SET value = value + 1 WHERE name = 'revision'")
        return n

    def _forget(self, db: sqlite3.Connection, gone: Sequence[tuple[int, str]]) -> None:
        """Remove what is known of segments that were removed."""
        postings.forget(db, gone)
        db.executemany("DELETE FROM state WHERE number = ?", [(number,) for number, _ in gone])


def batches(segments: Iterable[MemorySegment]) -> Iterator[list[MemorySegment]]:
    """Divide segments into transactions: of at most `BATCH` segments, and of fewer long ones."""
    batch, n_characters = list[MemorySegment](), 0
    for segment in segments:
        batch.append(segment)
        n_characters += len(segment.source) + len(segment.target)
        if len(batch) == BATCH or n_characters >= _CHARACTERS:
            yield batch
            batch, n_characters = [], 0
    if batch:
        yield batch


def _stored(row: Sequence[int | str]) -> StoredSegment:
    return StoredSegment(int(row[0]), MemorySegment(*map(str, row[1:])))


def _row(given: MemorySegment) -> tuple[Any, ...]:
    """The values of a new row."""
    source, target = renumbered(given.source, given.target)
    segment = replace(given, source=source, target=target)
    return (
        *_values(segment),
        segment.identity,
        digest(normalised(source)),
        digest(with_variables(source)),
        encoded(source),
    )
