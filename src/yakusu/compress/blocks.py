"""The rows of a matrix in blocks, a sample of them, and the squared error of a reconstruction.

Only one block at a time is converted to float64 or rebuilt. V rows (vectors), H dimensions.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from yakusu.errors import DataError

ROWS = 8192  # per block
CACHED = 1024  # rows at a time; those of usual widths stay in the processor's cache
_MOST = 2**27  # numbers in a sample
Matrix = npt.NDArray[np.floating]
Rows = npt.NDArray[np.int64]


class StoredMatrix(ABC):
    """A finite matrix (V, H) of floats that is not in memory: rows are read when they are needed.

    shape: (V, H).
    dtype: Type of the rows that are read: float16, float32 or float64.
    """

    ndim = 2
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, rows: slice | Rows) -> Matrix:
        """Read rows (n, H), given as a slice or as indices (n,)."""


AnyMatrix = Matrix | StoredMatrix


def sampled(vectors: AnyMatrix, most: int | None = None) -> Matrix:
    """Return a sample of evenly spaced rows, or the whole matrix if it is small; see `sample_size`.

    The rows (n, H) are in memory, those of a sample in float32 or float64.
    """
    if (n := sample_size(vectors, most)) == len(vectors):
        return vectors[:]
    return as_floats(vectors[evenly_spaced(len(vectors), n)])


def sample_size(vectors: AnyMatrix, most: int | None = None) -> int:
    """Return how many rows of vectors (V, H) a sample has.

    Args:
        vectors: (V, H).
        most: Maximum number of rows; None: as many as have 2^27 numbers.

    Raises:
        DataError: `most` is less than 2.
    """
    if most is not None and most < 2:
        raise DataError(f"sample = {most} is too small: choose 2 or more vectors")
    return min(len(vectors), max(2, _MOST // int(vectors.shape[1])) if most is None else most)


def evenly_spaced(n_rows: int, most: int) -> Rows:
    """Return at most `most` evenly spaced indices of V rows."""
    n = min(n_rows, most)
    return np.arange(n) * n_rows // n


def as_floats(vectors: Matrix) -> Matrix:
    """Return vectors of half precision in single precision, others as they are."""
    return vectors.astype(np.result_type(vectors, np.float32), copy=False)


def blocks(end: int, begin: int = 0, size: int = ROWS) -> Iterator[slice]:
    """Yield slices of at most `size` rows that cover the rows from `begin` to `end`."""
    for first in range(begin, end, size):
        yield slice(first, min(first + size, end))


def row_blocks(n_rows: int) -> Iterator[Rows]:
    """Yield the indices of V rows, one block at a time."""
    return (np.arange(rows.start, rows.stop) for rows in blocks(n_rows))


@dataclass(frozen=True)
class ReconstructionLoss:
    """Squared error of rebuilt vectors.

    per_vector: Eq. 2, the squared error of a vector, averaged over all vectors.
    variance: Squared distance of a vector from the mean vector, averaged over all vectors.
    """

    per_vector: float
    variance: float

    @property
    def share(self) -> float:
        """Squared error divided by variance; 0 if the variance is 0."""
        return self.per_vector / self.variance if self.variance else 0.0

    @classmethod
    def of(cls, vectors: Matrix, rebuilt: Callable[[slice], Matrix]) -> "ReconstructionLoss":
        """Measure the loss of vectors (V, H); `rebuilt(rows)` returns rebuilt vectors (n, H)."""
        mean = vectors.mean(axis=0, dtype=np.float64)
        error = variance = 0.0
        for rows in blocks(len(vectors), size=CACHED):
            part = vectors[rows].astype(np.float64)
            error += float(np.square(part - rebuilt(rows)).sum())
            variance += float(np.square(part - mean).sum())
        return cls(error / len(vectors), variance / len(vectors))
