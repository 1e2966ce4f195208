"""Recall of nearest neighbours after compression, by word frequency.

The other tasks contain only frequent words, so they do not show the loss of rare words with coarse
codes. V words, H dimensions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import Matrix, numbered
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent, Tracker

Rows = npt.NDArray[np.integer]
Lookup = Callable[[Rows], Matrix]  # indices (n,) -> vectors (n, H)


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
    kept = (before[:, :, None] == after[:, None, :]).any(axis=2).mean(axis=1)
    parts = np.split(kept, np.cumsum([*map(len, samples)])[:-1])
    return tuple(
        Band(begin + 1, end, len(part), float(part.mean()))
        for (begin, end), part in zip(pairwise(ends), parts, strict=True)
    )


def _mean(vectors: Lookup, n_words: int) -> Matrix:
    total = sum(vectors(part).sum(axis=0, dtype=np.float64) for part in numbered(n_words))
    mean: Matrix = total / n_words
    return mean


def _evenly(begin: int, end: int, most: int) -> Rows:
    """Return at most `most` evenly spaced integers from range(begin, end)."""
    return np.linspace(begin, end - 1, min(most, end - begin)).round().astype(np.int64)


def nearest(
    vectors: Lookup, mean: Matrix, n_words: int, rows: Rows, n: int, tracker: Tracker
) -> Rows:
    """Return the n words nearest to each of R rows by centred cosine, nearest first, (R, n).

    Ties are broken by the lower index.
    """
    queries = unit(vectors(rows) - mean).astype(np.float32)
    found = np.full((len(rows), n), -1, dtype=np.int64)
    cosines = np.full((len(rows), n), -np.inf, dtype=np.float32)
    for part in numbered(n_words):
        near = queries @ unit(vectors(part) - mean).astype(np.float32).T  # (R, candidates)
        near[rows[:, None] == part] = -np.inf
        at, which = np.nonzero(near > cosines[:, -1:])  # few, after the first candidates
        for row in np.unique(at):
            new = which[at == row]
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
