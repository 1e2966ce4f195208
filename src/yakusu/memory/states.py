"""The decoder states of a memory's segments, by model, from which `search.neighbours` predicts.

The states of a segment depend on the segment and the model only. They are kept in the memory's
file; in memory, if the file cannot be written. Bytes of a segment with T tokens: T (M / 2 + 4).
"""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Self

import numpy as np

from yakusu.errors import DataError
from yakusu.memory.file import open_for_states, sqlite_errors
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.postings import PostingsError
from yakusu.search.neighbours import SegmentStates, StateCodebook

_LISTED = 500  # numbers in a statement


class StateStore:
    """The states of the segments of a memory for one model.

    Args:
        memory: The memory.
        codebook: That of the model.
        held: SegmentStates that are not in the file, by number; gets those that cannot be written.
    """

    def __init__(
        self, memory: TranslationMemory, codebook: StateCodebook, held: dict[int, SegmentStates]
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

    @property
    def nothing(self) -> SegmentStates:
        """Those of a segment that the model cannot read."""
        return SegmentStates(np.zeros((0, self._width), np.uint8), np.zeros(0, np.int32))

    def read(self, numbers: Iterable[int]) -> dict[int, SegmentStates]:
        """The states of those segments, by number, whose states are known.

        Raises:
            DataError: The file is damaged.
        """
        wanted = list(numbers)
        found = {number: self._held[number] for number in wanted if number in self._held}
        if self._db is None:
            return found
        with sqlite_errors(self._path):
            for start in range(0, len(wanted), _LISTED):
                listed = ",".join(map(str, wanted[start : start + _LISTED]))
                query = f"SELECT number, states FROM state WHERE model = ? AND number IN ({listed})"
                for number, states in self._db.execute(query, (self._model,)):
                    found[number] = self._unpacked(states)
        return found

    def write(self, states: Mapping[int, SegmentStates]) -> None:
        """Keep the states of segments, by number."""
        rows = [(self._model, _packed(each), number) for number, each in states.items()]
        try:
            if self._db is None:
                raise DataError("the file cannot be written")
            with sqlite_errors(self._path), self._db:
                self._db.execute("BEGIN IMMEDIATE")
                # A segment that another process has removed leaves nothing behind.
                self._db.executemany(
                    "INSERT OR IGNORE INTO state SELECT ?, number, ? FROM segment WHERE number = ?",
                    rows,
                )
        except DataError:
            self._held.update(states)

    def missing(self) -> Iterable[int]:
        """The numbers of the segments whose states are not known, in ascending order."""
        query = (
            "SELECT number FROM segment WHERE number NOT IN "
            "(SELECT number FROM state WHERE model = ?) ORDER BY number"
        )
        if self._db is None:
            raise DataError(f"{self._path} cannot be written: check its permissions")
        with sqlite_errors(self._path):
            numbers = [number for (number,) in self._db.execute(query, (self._model,))]
        return numbers

    def _unpacked(self, data: bytes) -> SegmentStates:
        n, rest = divmod(len(data), self._width + 4)
        if rest:
            raise PostingsError("its states are incomplete")
        codes = np.frombuffer(data, np.uint8, n * self._width).reshape(n, self._width)
        return SegmentStates(codes, np.frombuffer(data, "<i4", n, n * self._width).astype(np.int32))


def _packed(states: SegmentStates) -> bytes:
    return states.codes.tobytes() + states.tokens.astype("<i4").tobytes()
