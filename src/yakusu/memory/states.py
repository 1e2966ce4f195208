"""The decoder states of a memory's segments, by model, from which `search.neighbours` predicts.

The states of a segment depend on the segment and the model only. They are kept in the memory's
file; in memory, if the file cannot be written. Bytes of a segment with T tokens: T (M / 2 + 4).
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

import numpy as np

from yakusu.errors import DataError
from yakusu.memory.file import open_for_states, sqlite_errors
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.postings import PostingsError
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
        held: States that are not in the file, by number; gets those that cannot be written.
    """

    def __init__(
        self,
        memory: TranslationMemory,
        codebook: StateCodebook,
        held: dict[int, StoredStates],
    ) -> None:
        self._path, self._model, self._width = memory.path, codebook.key, codebook.n_components // 2
        self._held = held
        self._db: sqlite3.Connection | None = None
        with suppress(DataError):  # it cannot be written
            self._db = open_for_states(memory.path)

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        if self._db:
            self._db.close()

    def read(self, numbers: Sequence[int]) -> dict[int, StoredStates]:
        """The states of those segments whose states are known.

        Raises:
            DataError: The file is damaged.
        """
        found = {number: self._held[number] for number in numbers if number in self._held}
        if self._db is not None:
            with sqlite_errors(self._path):
                for start in range(0, len(numbers), _LISTED):
                    found.update(self._stored(numbers[start : start + _LISTED]))
        return found

    def _stored(self, numbers: Iterable[int]) -> dict[int, StoredStates]:
        assert self._db is not None
        listed = ",".join(map(str, numbers))
        query = f"SELECT number, codes, tokens FROM state WHERE model = ? AND number IN ({listed})"
        rows = self._db.execute(query, (self._model,))
        return {number: StoredStates(codes, tokens) for number, codes, tokens in rows}

    def states(self, stored: Sequence[StoredStates]) -> SegmentStates:
        """The states of several segments.

        Raises:
            DataError: They are damaged.
        """
        tokens = np.frombuffer(b"".join(each.tokens for each in stored), "<i4")
        codes = np.frombuffer(b"".join(each.codes for each in stored), np.uint8)
        if len(codes) != len(tokens) * self._width:
            with sqlite_errors(self._path):
                raise PostingsError("its states are incomplete")
        return SegmentStates(codes.reshape(-1, self._width), tokens.astype(np.int32))

    def write(self, stored: Mapping[int, StoredStates]) -> None:
        """Keep the states of segments, by number."""
        try:
            if self._db is None:
                raise DataError("the file cannot be written")
            with sqlite_errors(self._path), self._db:
                self._db.execute("BEGIN IMMEDIATE")
                # A segment that another process has removed leaves nothing behind.
                self._db.executemany(
                    "INSERT OR IGNORE INTO state SELECT ?, number, ?, ? FROM segment "
                    "WHERE number = ?",
                    [(self._model, *each, number) for number, each in stored.items()],
                )
        except DataError:
            self._held.update(stored)

    def missing(self) -> list[int]:
        """The numbers of the segments whose states are not in the file, in ascending order.

        Raises:
            DataError: The file cannot be written.
        """
        query = (
            "SELECT number FROM segment WHERE number NOT IN "
            "(SELECT number FROM state WHERE model = ?) ORDER BY number"
        )
        if self._db is None:
            raise DataError(f"{self._path} cannot be written: check its permissions")
        with sqlite_errors(self._path):
            return [number for (number,) in self._db.execute(query, (self._model,))]
