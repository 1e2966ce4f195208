"""Which vectors of two sets belong together, by their cosine and its margin.

    margin(x, y) = cos(x, y) / ((m(x) + m(y)) / 2)
    score(x, y)  = cos(x, y) margin(x, y)

m is the mean cosine of a vector and the k nearest of the other side: a sentence that is close to
everything needs a higher cosine. This is the ratio of Artetxe and Schwenk (2019), section 3, with
their k = 4. A pair is the best of one of its two sentences, and no sentence is in two pairs.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Floats

N_NEAREST = 4
_ROWS, _COLUMNS = 1024, 16_384  # of a block of cosines: 64 MB
_Ids = NDArray[np.int64]


class _Nearest:
    """The k vectors of the other side that are nearest to each of n, so far.

    Attributes:
        cosines: (n, k), the highest first.
        ids: (n, k), -1 if there are fewer.
    """

    def __init__(self, n: int, k: int) -> None:
        self.cosines = np.full((n, k), -1.0, np.float32)
        self.ids = np.full((n, k), -1, np.int64)

    def add(self, first: int, cosines: Floats, first_other: int) -> None:
        """Compare R vectors, from `first`, with C others, from `first_other`: cosines (R, C)."""
        own, k = slice(first, first + len(cosines)), self.ids.shape[1]
        best = np.argpartition(-cosines, min(k, cosines.shape[1]) - 1, axis=1)[:, :k]
        found = np.take_along_axis(cosines, best, axis=1)
        both = np.concatenate([self.cosines[own], found], axis=1)
        ids = np.concatenate([self.ids[own], best + first_other], axis=1)
        order = np.lexsort((ids, -both))[:, :k]
        self.cosines[own] = np.take_along_axis(both, order, axis=1)
        self.ids[own] = np.take_along_axis(ids, order, axis=1)

    @property
    def means(self) -> Floats:
        """The mean cosine of the nearest of each vector, at least 0, (n,)."""
        known = self.ids >= 0
        total = np.where(known, np.maximum(self.cosines, 0), 0).sum(axis=1)
        means: Floats = total / np.maximum(known.sum(axis=1), 1)
        return means


def margin_pairs(one: Floats, other: Floats, *, k: int = N_NEAREST) -> list[tuple[int, int, float]]:
    """Pair vectors of two sets.

    Args:
        one: The vectors of one side, (n, H), of length 1; zeros are in no pair.
        other: Those of the other side, (m, H).
        k: Number of nearest vectors that a cosine is compared with.

    Returns:
        The rows of both vectors of each pair, and the score: the highest first.
    """
    forward, backward = _Nearest(len(one), k), _Nearest(len(other), k)
    for i in range(0, len(one), _ROWS):
        for j in range(0, len(other), _COLUMNS):
            cosines = one[i : i + _ROWS] @ other[j : j + _COLUMNS].T
            forward.add(i, cosines, j)
            backward.add(j, cosines.T, i)
    means = forward.means, backward.means
    found = {
        **dict(_best(forward, *means)),
        **{(i, j): score for (j, i), score in _best(backward, *means[::-1])},
    }
    ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return list(_one_to_one(ordered))


def _best(
    nearest: _Nearest, own: Floats, others: Floats
) -> Iterator[tuple[tuple[int, int], float]]:
    """The pair with the highest score of each vector, and the score."""
    usable = (nearest.ids >= 0) & (nearest.cosines > 0)
    about = (own[:, None] + others[nearest.ids]) / 2
    margins = nearest.cosines / np.where(usable, about, 1)
    scores = np.where(usable, nearest.cosines * margins, -1)
    columns = scores.argmax(axis=1)
    rows = np.flatnonzero(usable.any(axis=1))
    for row, column in zip(rows.tolist(), columns[rows].tolist(), strict=True):
        yield (row, int(nearest.ids[row, column])), float(scores[row, column])


def _one_to_one(
    ordered: list[tuple[tuple[int, int], float]],
) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs of which no vector is in an earlier one."""
    used: tuple[set[int], set[int]] = set(), set()
    for (i, j), score in ordered:
        if i not in used[0] and j not in used[1]:
            used[0].add(i)
            used[1].add(j)
            yield i, j, score
