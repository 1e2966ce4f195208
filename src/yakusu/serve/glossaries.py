"""The glossaries that clients store: each has dictionaries, one for a pair of languages.

A dictionary is for all variants of its languages: that of EN and PT for en-GB and pt-BR, too.
"""

import csv
import io
import unicodedata
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from sqlite3 import Connection
from typing import Literal

from yakusu.serve.config import Limits
from yakusu.serve.errors import RefusedError, over_limit
from yakusu.serve.store import ServiceStore
from yakusu.serve.usage import QUOTA_EXCEEDED

Entries = Mapping[str, str]  # the translations of terms
BasePair = tuple[str, str]  # two languages without variants, such as en and pt
_LONGEST = 1024  # bytes of a term or a name
_FORBIDDEN = ("Cc", "Zl", "Zp")  # categories of characters


@dataclass(frozen=True)
class StoredGlossary:
    """A glossary, without its entries.

    Attributes:
        number: A random identifier.
        name: The name that its owner gave it.
        created: When it was created, as in 2026-11-28T10:15:00.000Z.
        sizes: The number of entries of each dictionary.
    """

    number: str
    name: str
    created: str
    sizes: Mapping[BasePair, int]


class Glossaries:
    """Stores glossaries; any number of threads may use it. Owners never see those of others.

    Args:
        store: Where they are stored.
        limits: `glossaries`, `entries` and `stored`.
    """

    def __init__(self, store: ServiceStore, limits: Limits) -> None:
        self._store, self._limits = store, limits

    def create(
        self, owner: str, name: str, dictionaries: Mapping[BasePair, Entries]
    ) -> StoredGlossary:
        """Store a glossary.

        Raises:
            RefusedError: The name is not valid (400), or a limit is exceeded (413, 456).
        """
        number = str(uuid.uuid4())
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with self._store.transaction() as db:
            n = db.execute("SELECT count(*) FROM glossary WHERE owner = ?", (owner,)).fetchone()[0]
            if n >= (most := self._limits.glossaries):
                raise _full("glossaries", most, f"Quota exceeded: the key has {n} glossaries")
            row = (number, owner, _checked_name(name), now)
            db.execute("INSERT INTO glossary VALUES (?, ?, ?, ?)", row)
            for pair, entries in dictionaries.items():
                self._put(db, number, pair, entries)
            return self._found(db, owner, number)

    def all(self, owner: str) -> list[StoredGlossary]:
        """The glossaries of an owner, in the order in which they were created."""
        with self._store.transaction(writes=False) as db:
            return [*_glossaries(db, "owner = ?", owner)]

    def find(self, owner: str, number: str) -> StoredGlossary:
        """A glossary.

        Raises:
            RefusedError: The owner has none with this identifier (404).
        """
        with self._store.transaction(writes=False) as db:
            return self._found(db, owner, number)

    def entries(self, owner: str, number: str, pair: BasePair) -> dict[str, str]:
        """The entries of a dictionary.

        Raises:
            RefusedError: The owner has none with this identifier and these languages (404).
        """
        with self._store.transaction(writes=False) as db:
            self._found(db, owner, number)
            return _entries(db, number, pair)

    def update(
        self,
        owner: str,
        number: str,
        dictionaries: Mapping[BasePair, Entries],
        *,
        name: str | None = None,
        merge: bool,
    ) -> StoredGlossary:
        """Change the name of a glossary, and change or add dictionaries.

        Args:
            owner: The owner.
            number: Its identifier.
            dictionaries: New entries.
            name: The new name; None: the old one.
            merge: Add the entries to those of the dictionary; otherwise, replace these.

        Raises:
            RefusedError: As for `create` and `find`.
        """
        with self._store.transaction() as db:
            known = self._found(db, owner, number).sizes
            if name is not None:
                row = (_checked_name(name), number)
                db.execute("UPDATE glossary SET name = ? WHERE id = ?", row)
            for pair, entries in dictionaries.items():
                before = _entries(db, number, pair) if merge and pair in known else {}
                self._put(db, number, pair, {**before, **entries})
            return self._found(db, owner, number)

    def remove(self, owner: str, number: str, pair: BasePair | None = None) -> None:
        """Remove a glossary, or one of its dictionaries.

        Raises:
            RefusedError: There is none (404).
        """
        with self._store.transaction() as db:
            self._found(db, owner, number)
            if pair is None:
                db.execute("DELETE FROM glossary WHERE id = ?", (number,))
            else:
                _entries(db, number, pair)
                query = "DELETE FROM dictionary WHERE glossary = ? AND source = ? AND target = ?"
                db.execute(query, (number, *pair))

    def _found(self, db: Connection, owner: str, number: str) -> StoredGlossary:
        for found in _glossaries(db, "owner = ? AND id = ?", owner, number):
            return found
        raise RefusedError(404, "Glossary not found")

    def _put(self, db: Connection, number: str, pair: BasePair, entries: Entries) -> None:
        text = "\n".join(f"{source}\t{target}" for source, target in entries.items())
        row = (number, *pair, len(entries), len(text.encode()), text)
        db.execute("INSERT OR REPLACE INTO dictionary VALUES (?, ?, ?, ?, ?, ?)", row)
        query = "SELECT sum(n) FROM dictionary WHERE glossary = ?"
        n, most = db.execute(query, (number,)).fetchone()[0], self._limits.entries
        if n > most:
            raise over_limit("entries", most, 413, f"The glossary has {n} entries")
        size = db.execute("SELECT sum(size) FROM dictionary").fetchone()[0]
        if size > (most := self._limits.stored):
            raise _full("stored", most, "Quota exceeded: the server can store no more glossaries")


def _glossaries(db: Connection, condition: str, *values: str) -> Iterator[StoredGlossary]:
    query = f"SELECT id, name, created FROM glossary WHERE {condition} ORDER BY rowid"
    for number, name, created in db.execute(query, values).fetchall():
        of_it = "SELECT source, target, n FROM dictionary WHERE glossary = ?"
        sizes = {(source, target): n for source, target, n in db.execute(of_it, (number,))}
        yield StoredGlossary(number, name, created, sizes)


def _entries(db: Connection, number: str, pair: BasePair) -> dict[str, str]:
    query = "SELECT entries FROM dictionary WHERE glossary = ? AND source = ? AND target = ?"
    row = db.execute(query, (number, *pair)).fetchone()
    if row is None:
        raise RefusedError(404, f"Glossary not found: it has no dictionary {'-'.join(pair)}")
    lines = (line.partition("\t") for line in row[0].split("\n"))
    return {source: target for source, _, target in lines}


def _full(name: str, most: int, message: str) -> RefusedError:
    return over_limit(name, most, QUOTA_EXCEEDED, message)


def _checked_name(name: str) -> str:
    if not name.strip() or len(name.encode()) > _LONGEST:
        raise RefusedError(400, f"Invalid glossary name: use 1 to {_LONGEST} bytes of UTF-8")
    return name


# ---- entries -------------------------------------------------------------------------------------


def parse_entries(text: str, kind: Literal["tsv", "csv"]) -> dict[str, str]:
    """The entries of a dictionary.

    Args:
        text: A line for each: a term and its translation; in CSV, perhaps also their languages.
        kind: "tsv": a tab separates them.

    Raises:
        RefusedError: An entry is not valid, or there is none (400).
    """
    found: dict[str, str] = {}
    for number, fields in enumerate(_rows(text, kind), start=1):
        if not any(fields):
            continue
        allowed = (2,) if kind == "tsv" else (2, 4)
        if len(fields) not in allowed:
            raise _wrong(number, f"has {len(fields)} fields, not {allowed[0]}")
        source, target = (field.strip() for field in fields[:2])
        if problem := next(filter(None, map(_problem, (source, target))), ""):
            raise _wrong(number, problem)
        if source in found:
            raise _wrong(number, f"repeats the term '{source}'")
        found[source] = target
    if not found:
        raise RefusedError(400, "Invalid glossary entries provided: there are none")
    return found


def _rows(text: str, kind: str) -> Iterator[Sequence[str]]:
    if kind == "tsv":
        yield from (line.removesuffix("\r").split("\t") for line in text.split("\n"))
        return
    try:
        yield from csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    except csv.Error as error:
        raise RefusedError(400, f"Invalid glossary entries provided: {error}") from error


def _problem(term: str) -> str:
    """Why a term or a translation cannot be used, or ""."""
    if not term:
        return "has an empty field"
    if len(term.encode()) > _LONGEST:
        return f"has a field of more than {_LONGEST} bytes"
    if has_control(term):
        return "has a control character"
    return ""


def has_control(term: str) -> bool:
    """Whether a term has a control character, such as a line break."""
    return any(unicodedata.category(each) in _FORBIDDEN for each in term)


def _wrong(number: int, problem: str) -> RefusedError:
    return RefusedError(400, f"Invalid glossary entries provided: entry {number} {problem}")
