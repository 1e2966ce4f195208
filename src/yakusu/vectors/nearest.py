"""Recall of nearest neighbours after compression, over all words and by word frequency.

The other tasks contain only frequent words, so they do not show the loss of rare words with coarse
codes. V words, H dimensions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from yakusu.arrays import Doubles, Integers
from yakusu.compress.blocks import Matrix, row_blocks
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent, Tracker
from yakusu.vectors.outcomes import Shares, TaskResult, result_of

Lookup = Callable[[Integers], Matrix]  # indices (n,) -> vectors (n, H)


@dataclass(frozen=True)
class Band:
    """Recall of nearest neighbours in a band of word frequencies.

    first, last: Ranks; the most frequent word has rank 1.
    used: Number of words examined, evenly spaced.
    recall: Share of their n nearest words that stay among the n nearest, from 0 to 1.
    """

    first: int
    last: int
    used: int
    recall: float


def neighbours_by_band(
    original: Lookup,
    rebuilt: Lookup,
    n_words: int,
    *,
    bands: Sequence[int] = (1_000, 10_000, 100_000),
    sample: int = 100,
    n: int = 10,
    progress: Progress | None = None,
) -> tuple[Band, ...]:
    """Measure the recall of the n nearest words by cosine, centred at the mean of the original.

    Args:
        original: Vectors of words by index, most frequent first.
        rebuilt: Vectors of the same words after compression.
        n_words: V.
        bands: Last rank of each band except the last, ascending.
        sample: Maximum number of words examined per band.
        n: Number of neighbours.
        progress: Progress reporter.

    Raises:
        DataError: There are fewer than n other words.
    """
    if not 1 <= n < n_words:
        raise DataError(
            f"n = {n} is out of range for {n_words} words: choose n from 1 to {n_words - 1}"
        )
    ends = [0, *(end for end in bands if end < n_words), n_words]
    samples = [_evenly(begin, end, sample) for begin, end in pairwise(ends)]
    rows = np.concatenate(samples)
    with (progress or Silent()).track("finding neighbours", "words", 2 * n_words) as tracker:
        mean = _mean(original, n_words)
        before, after = (nearest(of, mean, n_words, rows, n, tracker) for of in (original, rebuilt))
    parts = np.split(_kept(before, after), np.cumsum([*map(len, samples)])[:-1])
    return tuple(
        Band(begin + 1, end, len(part), float(part.mean()))
        for (begin, end), part in zip(pairwise(ends), parts, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The task of keeping the n nearest words of some words, by cosine.

    rows: Words examined, (R,), evenly spaced by frequency rank.
    found: Their n nearest words before compression, nearest first, (R, n).
    """

    rows: Integers
    found: Integers

    @classmethod
    def of(
        cls, vectors: Matrix, *, sample: int = 1000, n: int = 10, progress: Progress | None = None
    ) -> "Neighbours":
        """Find the nearest words of at most `sample` words before compression.

        Args:
            vectors: (V, H), finite, most frequent word first; more than one.
            sample: Maximum number of words examined.
            n: Number of neighbours; all other words if there are fewer.
            progress: Progress reporter.
        """
        rows = _evenly(0, len(vectors), sample)
        return cls(rows, _nearest_of(vectors, rows, n, progress))

    @property
    def name(self) -> str:
        """The name of the task, such as "10 nearest kept"."""
        return f"{self.found.shape[1]} nearest kept"

    def score(
        self,
        vectors: Matrix,
        *,
        among: Sequence[int] | None = None,
        progress: Progress | None = None,
    ) -> tuple[TaskResult, ...]:
        """Return the share of the n nearest words that are still among the nearest.

        Args:
            vectors: (V, any width), finite: other vectors of the same words.
            among: Numbers of nearest words that count, one for each result; None: n. For more than
                n, the share is the recall after these candidates are ranked by their vectors before
                compression.
            progress: Progress reporter.
        """
        n = self.found.shape[1]
        among = among or (n,)
        found = _nearest_of(vectors, self.rows, max(among), progress)
        results = []
        for limit in among:
            how = (
                f"share of the {n} words nearest to a word that stay among the {limit} nearest; "
                "words evenly spaced by frequency rank"
            )
            shares = Shares(_kept(self.found, found[:, :limit]))
            results.append(result_of(self.name, shares, 0, how))
        return tuple(results)


def _nearest_of(vectors: Matrix, rows: Integers, n: int, progress: Progress | None) -> Integers:
    """Return the n words nearest to each of R rows by cosine, or all others if fewer, (R, n)."""
    n_words, origin = len(vectors), np.zeros(vectors.shape[1], dtype=vectors.dtype)
    with (progress or Silent()).track("finding neighbours", "words", n_words) as tracker:
        return nearest(vectors.__getitem__, origin, n_words, rows, min(n, n_words - 1), tracker)


def _kept(before: Integers, after: Integers) -> Doubles:
    """Return the share of the words in each row of `before` that `after` contains, (R,)."""
    kept: Doubles = (before[:, :, None] == after[:, None, :]).any(axis=2).mean(axis=1)
    return kept


def _mean(vectors: Lookup, n_words: int) -> Matrix:
    total = sum(vectors(part).sum(axis=0, dtype=np.float64) for part in row_blocks(n_words))
    mean: Matrix = total / n_words
    return mean


def _evenly(begin: int, end: int, most: int) -> Integers:
    """Return at most `most` evenly spaced integers from range(begin, end)."""
    return np.linspace(begin, end - 1, min(most, end - begin)).round().astype(np.int64)


def nearest(
    vectors: Lookup, mean: Matrix, n_words: int, rows: Integers, n: int, tracker: Tracker
) -> Integers:
    """Return the n words nearest to each of R rows by centred cosine, nearest first, (R, n).

    Ties are broken by the lower index.
    """
    queries = unit(vectors(rows) - mean).astype(np.float32)
    found = np.full((len(rows), n), -1, dtype=np.int64)
    cosines = np.full((len(rows), n), -np.inf, dtype=np.float32)
    for part in row_blocks(n_words):
        near = queries @ unit(vectors(part) - mean).astype(np.float32).T  # (R, candidates)
        near[rows[:, None] == part] = -np.inf
        at, which = np.nonzero(near > cosines[:, -1:])  # few, after the first candidates
        changed, begins = np.unique(at, return_index=True)
        for row, new in zip(changed, np.split(which, begins)[1:], strict=True):
            both = np.concatenate([cosines[row], near[row, new]])
            order = np.argsort(-both, kind="stable")[:n]
            cosines[row] = both[order]
            found[row] = np.concatenate([found[row], part[new]])[order]
        tracker.advance(len(part))
    return found


def unit(vectors: Matrix) -> Matrix:
    """Scale vectors (n, H) to length 1; zero vectors stay zero."""
    lengths = np.sqrt(np.einsum("nh,nh->n", vectors, vectors))
    made: Matrix = vectors / np.where(lengths > 0, lengths, 1)[:, None]
    return made
