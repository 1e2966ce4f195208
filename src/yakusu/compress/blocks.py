"""Walking the words by blocks, so that few are in float64, or rebuilt, at a time.

Also what is summed on such a walk: what rebuilt vectors lose. V words, H dimensions.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ROWS = 8192  # words of a block
Matrix = npt.NDArray[np.floating]
Rows = npt.NDArray[np.int64]


def blocks(end: int, begin: int = 0) -> Iterator[slice]:
    """The words from `begin` to `end`, a block at a time."""
    for first in range(begin, end, ROWS):
        yield slice(first, min(first + ROWS, end))


def numbered(n_words: int) -> Iterator[Rows]:
    """The numbers of V words, a block at a time."""
    return (np.arange(rows.start, rows.stop) for rows in blocks(n_words))


@dataclass(frozen=True)
class Lost:
    """What rebuilt vectors lose.

    a_word: Eq. 2, the squared error of a word, averaged over words.
    variance: The same of the mean vector: what there is to lose.
    """

    a_word: float
    variance: float

    @property
    def share(self) -> float:
        """The error over the variance, 0 where nothing varies."""
        return self.a_word / self.variance if self.variance else 0.0

    @classmethod
    def of(cls, vectors: Matrix, rebuilt: Callable[[slice], Matrix]) -> "Lost":
        """Of vectors (V, H), which `rebuilt` gives for some of the words, as (n, H)."""
        mean = vectors.mean(axis=0, dtype=np.float64)
        error = variance = 0.0
        for rows in blocks(len(vectors)):
            part = vectors[rows].astype(np.float64)
            error += float(np.square(part - rebuilt(rows)).sum())
            variance += float(np.square(part - mean).sum())
        return cls(error / len(vectors), variance / len(vectors))
