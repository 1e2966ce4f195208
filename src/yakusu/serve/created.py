"""Memories that clients create, with their terms. Nobody but the owner finds a memory.

The store has a row for each memory, and for each set of terms; a folder has the segments: those of
memory 17 in a language pair are in 17/de-en.db.
"""

import json
import os
import shutil
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Literal
from uuid import uuid4

from yakusu.data.languages import closeness
from yakusu.errors import RecipeError
from yakusu.serve.access import Key
from yakusu.serve.errors import RefusedError, over_limit
from yakusu.serve.memories import LanguagePair
from yakusu.serve.store import ServiceStore, owner_of

TermKind = Literal["unidirectional", "equivalent"]
_JOBS = 1000
_SIZE = """SELECT (page_count - freelist_count) * page_size
FROM pragma_page_count, pragma_freelist_count, pragma_page_size"""  # bytes of the store


@dataclass(frozen=True)
class CreatedMemory:
    """A memory that a client has created.

    Attributes:
        number: Its number, which no other memory gets later.
        name: Its name.
        description: What it is for.
        time: When it was created, as in 2026-11-28T10:15:00+00:00.
    """

    number: int
    name: str
    description: str
    time: str


@dataclass(frozen=True)
class TermSet:
    """A term in several languages.

    Attributes:
        kind: "unidirectional": the first term is translated into the others; "equivalent": each
            term into each other one.
        name: What selects the set to replace it; "": a set of its own.
        terms: Codes of languages, and the term in each.
    """

    kind: TermKind
    name: str
    terms: tuple[tuple[str, str], ...]

    def pairs(self, languages: LanguagePair) -> Iterator[tuple[str, str]]:
        """The terms of a language pair with their translations."""
        sources = self.terms[:1] if self.kind == "unidirectional" else self.terms
        source, target = (
            [each for each in terms if closeness(wanted, each[0]) is not None]
            for wanted, terms in zip(languages, (sources, self.terms), strict=True)
        )
        return ((a[1], b[1]) for a in source for b in target if a is not b)


@dataclass(frozen=True)
class ImportJob:
    """Segments or terms that a request has added.

    Attributes:
        name: Its random name.
        memory: The number of the memory.
        size: How many were added.
    """

    name: str
    memory: int
    size: int


class CreatedMemories:
    """Creates and finds memories; any number of threads and processes may use a folder.

    Args:
        store: Where their rows are.
        folder: Where their segments are; it is created.
        most: Maximum number of memories of an owner: `limits.created`.
        most_terms: Maximum number of sets of terms of a memory: `limits.terms`.
        most_bytes: Size of all memories, beyond which nothing is added: `limits.segments`.

    Raises:
        RecipeError: The folder cannot be created.
    """

    def __init__(
        self,
        store: ServiceStore,
        folder: Path,
        *,
        most: int,
        most_terms: int,
        most_bytes: int,
    ) -> None:
        self._store, self._folder = store, folder
        self._most, self._most_terms, self._most_bytes = most, most_terms, most_bytes
        self._jobs = OrderedDict[tuple[str, str], ImportJob]()
        self._lock, self._writers = Lock(), Counter[int]()  # requests that write to each memory
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise RecipeError(f"{folder} cannot be written: {error.strerror}") from error

    # ---- memories --------------------------------------------------------------------------------

    def of(self, key: Key | None) -> list[CreatedMemory]:
        """The memories of an owner, in the order in which they were created."""
        query = "SELECT number, name, description, time FROM memory WHERE owner = ? ORDER BY number"
        with self._store.transaction(writes=False) as db:
            return [CreatedMemory(*row) for row in db.execute(query, (owner_of(key),))]

    def create(self, key: Key | None, name: str, description: str) -> CreatedMemory:
        """Create a memory.

        Raises:
            RefusedError: The owner has too many (422).
        """
        owner, time = owner_of(key), datetime.now(UTC).isoformat(timespec="seconds")
        with self._store.transaction() as db:
            (n,) = db.execute("SELECT count(*) FROM memory WHERE owner = ?", (owner,)).fetchone()
            if n >= self._most:
                message = f"You have {n} memories: delete one to create another"
                raise over_limit("created", self._most, 422, message)
            query = "INSERT INTO memory (owner, name, description, time) VALUES (?, ?, ?, ?)"
            number = int(db.execute(query, (owner, name, description, time)).lastrowid or 0)
        return CreatedMemory(number, name, description, time)

    def edit(self, memory: CreatedMemory) -> None:
        """Change the name and the description of a memory."""
        query = "UPDATE memory SET name = ?, description = ? WHERE number = ?"
        with self._store.transaction() as db:
            db.execute(query, (memory.name, memory.description, memory.number))

    def delete(self, number: int) -> None:
        """Delete a memory with its segments and terms, after the last request that adds some."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM memory WHERE number = ?", (number,))
        self._remove_if_deleted(number)

    def segments(self, number: int, pair: LanguagePair) -> Path:
        """The file of the segments of a memory in a language pair, which may not exist."""
        return self._folder / str(number) / f"{'-'.join(pair)}.db"

    @contextmanager
    def writing(self, number: int, pair: LanguagePair) -> Iterator[Path]:
        """The file of `segments`, in a folder that exists as long as the context.

        If the memory is deleted meanwhile, the file is removed at the end.

        Raises:
            RefusedError: The memory was deleted (404), or all memories are too large (422).
        """
        self._check_room()
        with self._lock:
            self._writers[number] += 1
        try:
            if not self._exists(number):
                raise RefusedError(404, f"There is no memory {number}")
            path = self.segments(number, pair)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            yield path
        finally:
            with self._lock:
                self._writers[number] -= 1
            self._remove_if_deleted(number)

    def _check_room(self) -> None:
        """Refuse to add anything if all memories, and what else the store has, are too large."""
        with self._store.transaction(writes=False) as db:
            size = db.execute(_SIZE).fetchone()[0]
        for folder, _, names in os.walk(self._folder):
            for name in names:
                with suppress(OSError):  # it is being removed
                    size += Path(folder, name).stat().st_size
        if size >= self._most_bytes:
            message = "The server can store no more segments: delete a memory"
            raise over_limit("segments", self._most_bytes, 422, message)

    def _exists(self, number: int) -> bool:
        with self._store.transaction(writes=False) as db:
            return bool(db.execute("SELECT 1 FROM memory WHERE number = ?", (number,)).fetchone())

    def _remove_if_deleted(self, number: int) -> None:
        """Remove the segments of a deleted memory, unless a request still writes to it."""
        folder = self._folder / str(number)
        gone = folder.with_name(f"{number}-deleted")  # where requests that read create no files
        with self._lock:
            if self._writers[number]:
                return
            del self._writers[number]
            if self._exists(number):
                return
            with suppress(OSError):  # nothing was added
                folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    # ---- terms -----------------------------------------------------------------------------------

    def terms(self, number: int) -> list[TermSet]:
        """The terms of a memory, the latest ones first."""
        query = "SELECT kind, name, terms FROM terms WHERE memory = ? ORDER BY number DESC"
        with self._store.transaction(writes=False) as db:
            rows = db.execute(query, (number,)).fetchall()
        return [
            TermSet(kind, name, tuple((code, text) for code, text in json.loads(terms)))
            for kind, name, terms in rows
        ]

    def add_terms(self, number: int, sets: Sequence[TermSet], *, replace: bool) -> None:
        """Add terms to a memory, or none if there would be too many.

        Args:
            number: The memory.
            sets: The terms. A set that the memory has is not added again.
            replace: Whether they replace the sets of the same kind and name.

        Raises:
            RefusedError: There are too many terms, or all memories are too large (422), or the
                memory was deleted (404).
        """
        self._check_room()
        rows = [
            (number, each.kind, each.name, json.dumps(each.terms, ensure_ascii=False))
            for each in sets
        ]
        same = "memory = ? AND kind = ? AND name = ?"
        with self._store.transaction() as db:
            if not db.execute("SELECT 1 FROM memory WHERE number = ?", (number,)).fetchone():
                raise RefusedError(404, f"There is no memory {number}")
            if replace:
                db.executemany(f"DELETE FROM terms WHERE {same}", [row[:3] for row in rows])
            db.executemany(f"DELETE FROM terms WHERE {same} AND terms = ?", rows)
            query = "INSERT INTO terms (memory, kind, name, terms) VALUES (?, ?, ?, ?)"
            db.executemany(query, rows)
            query = "SELECT count(*) FROM terms WHERE memory = ?"
            if (n := db.execute(query, (number,)).fetchone()[0]) > self._most_terms:
                message = f"The memory would have {n} terms: remove some"
                raise over_limit("terms", self._most_terms, 422, message)

    # ---- import jobs -----------------------------------------------------------------------------

    def new_job(self, key: Key | None, memory: int, size: int) -> ImportJob:
        """Remember what an owner has added; the latest 1,000 of all owners are known."""
        job = ImportJob(str(uuid4()), memory, size)
        self._jobs[owner_of(key), job.name] = job
        if len(self._jobs) > _JOBS:
            self._jobs.popitem(last=False)
        return job

    def job(self, key: Key | None, name: str) -> ImportJob | None:
        """What an owner has added; None: nothing that is known."""
        return self._jobs.get((owner_of(key), name))
