"""Iteration over the rows of a matrix in blocks, and the squared error of a reconstruction.

Only one block at a time is converted to float64 or rebuilt. V rows (vectors), H dimensions.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ROWS = 8192  # per block
Matrix = npt.NDArray[np.floating]
Rows = npt.NDArray[np.int64]


def blocks(end: int, begin: int = 0) -> Iterator[slice]:
    """Yield slices that cover the rows from `begin` to `end`."""
    for first in range(begin, end, ROWS):
        yield slice(first, min(first + ROWS, end))


def numbered(n_rows: int) -> Iterator[Rows]:
    """Yield the indices of V rows, one block at a time."""
    return (np.arange(rows.start, rows.stop) for rows in blocks(n_rows))


@dataclass(frozen=True)
class Loss:
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
    def of(cls, vectors: Matrix, rebuilt: Callable[[slice], Matrix]) -> "Loss":
        """Measure the loss of vectors (V, H); `rebuilt(rows)` returns rebuilt vectors (n, H)."""
        mean = vectors.mean(axis=0, dtype=np.float64)
        error = variance = 0.0
        for rows in blocks(len(vectors)):
            part = vectors[rows].astype(np.float64)
            error += float(np.square(part - rebuilt(rows)).sum())
            variance += float(np.square(part - mean).sum())
        return cls(error / len(vectors), variance / len(vectors))
