"""A matrix in a file, of which rows are read into memory.

V rows, H dimensions.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from yakusu.compress.blocks import Matrix, Rows, StoredMatrix, blocks
from yakusu.errors import DataError

_KINDS = ("float16", "float32", "float64")


class MatrixFile(StoredMatrix):
    """A matrix (V, H) in a file; `matrix[rows]` reads rows, given as a slice or as indices (n,).

    Other kinds of indices, and arithmetic, are not supported. The file must not change meanwhile.

    Args:
        path: The file.
        shape: (V, H).
        kind: Type of the rows that are read: float16, float32 or float64.

    Raises:
        DataError: The shape or the type is another one.
    """

    def __init__(self, path: Path, shape: Sequence[int], kind: np.dtype[Any] | str) -> None:
        check_shape(path, shape, kind)
        self.path, self.dtype = path, np.dtype(kind)
        self.shape = (int(shape[0]), int(shape[1]))
        self._finite = 0  # number of first rows that are known to be finite

    def __getitem__(self, rows: slice | Rows) -> Matrix:
        """Read rows (n, H).

        Raises:
            DataError: The file is truncated, or a value is NaN or infinite.
            IndexError: An index is out of range.
        """
        if isinstance(rows, slice):
            first, last, step = rows.indices(len(self))
            if step == 1:
                return self.rows(first, max(first, last))
            rows = np.arange(first, last, step)
        wanted, places = np.unique(_valid(rows, len(self)), return_inverse=True)
        found = self._chosen(wanted) if len(wanted) else np.empty((0, self.shape[1]), self.dtype)
        self._check(wanted, found)
        return found if (places == np.arange(len(places))).all() else found[places]

    def rows(self, first: int, last: int) -> Matrix:
        """Read the rows from `first` to `last`, without `last`; see `__getitem__`."""
        found = self._span(first, last)
        self._check(np.arange(first, last), found)
        if first <= self._finite:
            self._finite = max(last, self._finite)
        return found

    @abstractmethod
    def _span(self, first: int, last: int) -> Matrix:
        """Read consecutive rows, in the type and byte order of `dtype`."""

    def _chosen(self, wanted: Rows) -> Matrix:
        """Read the rows with these increasing indices."""
        parts = []
        for rows in blocks(int(wanted[-1]) + 1, int(wanted[0])):
            begin, end = np.searchsorted(wanted, (rows.start, rows.stop))
            if begin < end:
                parts.append(self._span(rows.start, rows.stop)[wanted[begin:end] - rows.start])
        return np.concatenate(parts)

    def _check(self, numbers: Rows, values: Matrix) -> None:
        """Raise DataError if a value of the rows with these increasing indices is not finite."""
        if not len(numbers) or numbers[-1] < self._finite:
            return
        for part in blocks(len(values)):
            finite = np.isfinite(values[part])
            if not finite.all():
                row, column = divmod(int(finite.argmin()), self.shape[1])
                raise DataError(
                    f"{self.path}, row {numbers[part][row]}, column {column}: "
                    f"{values[part][row, column]} is not a finite number: correct or remove the row"
                )


def check_shape(path: Path, shape: Sequence[int], kind: np.dtype[Any] | str) -> None:
    """Raise DataError if an array is not a matrix (V, H) of floats, or is empty."""
    if len(shape) == 2 and not shape[0]:
        raise DataError(f"{path} has no rows: choose a file with vectors")
    if len(shape) != 2 or 0 in shape or np.dtype(kind).name not in _KINDS:
        raise DataError(
            f"{path} has an array of shape {tuple(shape)} and type {kind}: "
            "save a matrix (V, H) of float16, float32 or float64"
        )


def listed(names: Iterable[str]) -> str:
    """Return names for a message."""
    return ", ".join(f"'{name}'" for name in names) or "none"


def _valid(rows: Rows, n_rows: int) -> Rows:
    """Return indices as numbers of rows; negative ones count from the end."""
    numbers = np.asarray(rows)
    if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and len(numbers)):
        raise IndexError("rows of a file are chosen by a slice, or by an array (n,) of integers")
    numbers = numbers.astype(np.int64)
    if len(numbers) and not (-n_rows <= numbers.min() and numbers.max() < n_rows):
        raise IndexError(f"rows {numbers.min()} to {numbers.max()} of a matrix of {n_rows} rows")
    return np.where(numbers < 0, numbers + n_rows, numbers)
