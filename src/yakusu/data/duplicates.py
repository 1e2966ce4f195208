"""Duplicates: the items of a stream that occurred before, found in little memory.

The 128-bit digest of each item is written to one of 64 temporary bucket files. Equal items have
equal digests and share a bucket, so the buckets are sorted in memory one at a time.
"""

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Longs
from yakusu.data.files.text import Pair
from yakusu.folder import create_private


def find_duplicates(pairs: Iterator[Pair]) -> npt.NDArray[np.bool_]:
    """Return a mask that is True for each pair that occurred before."""
    with tempfile.TemporaryDirectory() as folder, DuplicateFinder(Path(folder)) as duplicates:
        for pair in pairs:
            duplicates.add(pair)
        return duplicates.find()


class DuplicateFinder:
    """Finds the items of a stream that occurred before, using temporary files on disk.

    Args:
        folder: An empty folder for the bucket files.
    """

    _BUCKETS = 64
    _RECORD = np.dtype([("digest", "<u8", 2), ("position", "<u8")])

    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        self._files: list[BinaryIO] = [
            self._stack.enter_context(create_private(folder / f"{i:02}"))
            for i in range(self._BUCKETS)
        ]
        self._n = 0

    def __enter__(self) -> "DuplicateFinder":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def __len__(self) -> int:
        return self._n

    def add(self, lines: Sequence[str]) -> None:
        """Record the next item of the stream: a pair, or one line of it."""
        digest = hashlib.blake2b("\n".join(lines).encode(), digest_size=16).digest()
        self._files[digest[0] % self._BUCKETS].write(digest + self._n.to_bytes(8, "little"))
        self._n += 1

    def find(self) -> npt.NDArray[np.bool_]:
        """Return a mask, in the order of `add`, that is True for each item that occurred before."""
        is_duplicate = np.zeros(self._n, dtype=np.bool_)
        for position, same in self._sorted_buckets():
            is_duplicate[position[1:][same]] = True
        return is_duplicate

    def groups(self) -> Iterator[Longs]:
        """Yield the positions, ascending, of each item that occurs more than once."""
        for position, same in self._sorted_buckets():
            starts = np.flatnonzero(~same) + 1
            sizes = np.diff(starts, prepend=0, append=len(position))
            first = np.cumsum(sizes) - sizes
            for i in np.flatnonzero(sizes > 1):
                yield position[first[i] : first[i] + sizes[i]]

    def _sorted_buckets(self) -> Iterator[tuple[Longs, npt.NDArray[np.bool_]]]:
        """Yield the positions of each bucket, equal items adjacent, and which equal the one before.

        The mask has no entry for the first item.
        """
        for file in self._files:
            file.seek(0)
            records = np.frombuffer(file.read(), dtype=self._RECORD)
            digest, position = records["digest"], records["position"].astype(np.int64)
            order = np.lexsort((position, digest[:, 1], digest[:, 0]))
            yield position[order], (digest[order[1:]] == digest[order[:-1]]).all(axis=1)
