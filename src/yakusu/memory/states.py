"""The decoder states of a memory's segments, by model, from which `search.neighbours` predicts.

The states of a segment depend on the segment and the model only. They are kept in the memory's
file; in memory, if the file cannot be written. Bytes of a segment with T tokens: T (M / 2 + 4).
"""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from yakusu.errors import DataError
from yakusu.memory.file import MEMORY_FILE, open_for_states
from yakusu.memory.memory import StoredSegment, TranslationMemory
from yakusu.search.neighbours import SegmentStates, StateCodebook

_LISTED = 500  # numbers in a statement


class StoredStates(NamedTuple):
    """The states of a segment, as they are stored."""

    codes: bytes  # (T, M / 2)
    tokens: bytes  # (T,), int32, little-endian

    @classmethod
    def of(cls, states: SegmentStates) -> "StoredStates":
        """The bytes of states."""
        return cls(states.codes.tobytes(), states.tokens.astype("<i4").tobytes())


class StateStore:
    """The states of the segments of a memory for one model.

    Args:
        memory: The memory.
        codebook: That of the model.
        n_tokens: Number of tokens that the model generates.
        held: States that are not in the file, by `MemorySegment.identity`; gets those that cannot
            be written.
    """

    def __init__(
        self,
        memory: TranslationMemory,
        codebook: StateCodebook,
        n_tokens: int,
        held: dict[bytes, StoredStates],
    ) -> None:
        self._memory, self._path = memory, memory.path
        self._model, self._width = codebook.key, codebook.n_components // 2
        self._n_tokens, self._held = n_tokens, held
        self._is_writable = True
        self._db: sqlite3.Connection | None = None  # what writes; `memory` reads its snapshot

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        if self._db:
            self._db.close()

    def read(self, numbers: Sequence[int]) -> dict[int, StoredStates]:
        """The states of the segments whose states are in the file, by number.

        Raises:
            DataError: The file is damaged.
        """
        found, missing = dict[int, StoredStates](), numbers
        for db in (self._memory.connection, self._db):
            if db and missing:
                found |= self._stored(db, missing)
                missing = [each for each in numbers if each not in found]
        return found

    def held(self, segments: Sequence[StoredSegment]) -> dict[int, StoredStates]:
        """The states of the segments whose states are in memory, by number."""
        found = {each.number: self._held.get(each.segment.identity) for each in segments}
        return {number: states for number, states in found.items() if states}

    def _stored(self, db: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, StoredStates]:
        found = dict[int, StoredStates]()
        with MEMORY_FILE.errors(self._path):
            for start in range(0, len(numbers), _LISTED):
                listed = ",".join(map(str, numbers[start : start + _LISTED]))
                query = (
                    "SELECT number, CAST(codes AS BLOB), CAST(tokens AS BLOB) FROM state "
                    f"WHERE model = ? AND number IN ({listed})"
                )
                for number, *states in db.execute(query, (self._model,)):
                    found[number] = StoredStates(*states)
        return found

    def joined(self, found: Sequence[StoredStates]) -> SegmentStates:
        """The states of several segments.

        Raises:
            DataError: They are not those of the model.
        """
        sizes = [(len(each.codes), len(each.tokens)) for each in found]
        if any(4 * n_codes != self._width * n_bytes or n_bytes % 4 for n_codes, n_bytes in sizes):
            raise MEMORY_FILE.damaged(self._path, "its states are incomplete")
        tokens = np.frombuffer(b"".join(each.tokens for each in found), "<i4").astype(np.int32)
        codes = np.frombuffer(b"".join(each.codes for each in found), np.uint8)
        if len(tokens) and not 0 <= tokens.min() <= tokens.max() < self._n_tokens:
            raise MEMORY_FILE.damaged(self._path, "its states are followed by unknown tokens")
        return SegmentStates(codes.reshape(-1, self._width), tokens)

    def keep(self, states: Mapping[StoredSegment, StoredStates]) -> None:
        """Keep the states of segments: in memory, if the file cannot be written."""
        if self._is_writable:
            try:
                self.write(states)
                return
            except DataError:
                self._is_writable = False  # do not wait again
        self._held.update({each.segment.identity: own for each, own in states.items()})

    def write(self, states: Mapping[StoredSegment, StoredStates]) -> None:
        """Store the states of segments.

        Raises:
            DataError: The file cannot be written.
        """
        self._db = db = self._db or open_for_states(self._path)
        with MEMORY_FILE.errors(self._path), db:
            db.execute("BEGIN IMMEDIATE")
            # A segment that another process has removed leaves nothing behind.
            db.executemany(
                "INSERT OR IGNORE INTO state SELECT ?, number, ?, ? FROM segment WHERE number = ?",
                [(self._model, *own, each.number) for each, own in states.items()],
            )

    def missing(self) -> list[int]:
        """The numbers of the segments whose states are not in the file, in ascending order."""
        query = (
            "SELECT number FROM segment WHERE number NOT IN "
            "(SELECT number FROM state WHERE model = ?) ORDER BY number"
        )
        with MEMORY_FILE.errors(self._path):
            rows = self._memory.connection.execute(query, (self._model,))
            return [number for (number,) in rows]
