"""Which words stay neighbours after compression, by frequency.

Other tasks ask for frequent words alone, and coarse codes of rare words look lossless there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import numbered
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent, Tracker

Matrix = npt.NDArray[np.floating]
Rows = npt.NDArray[np.integer]
Lookup = Callable[[Rows], Matrix]  # the vectors (n, H) of the words with numbers (n,)


@dataclass(frozen=True)
class Band:
    """How many neighbours stay, among words of like frequency.

    first, last: Ranks, the most frequent word's being 1.
    used: Words that were looked at, evenly spaced.
    recall: The share of their n nearest words that are so after compression, from 0 to 1.
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
    """Recall of the n nearest by cosine, sought among all words; the origin is the original's mean.

    Args:
        original: Vectors of words by number, the most frequent first.
        rebuilt: The same words' vectors after compression.
        n_words: V.
        bands: The last rank of each band but the last, ascending.
        sample: Words of a band that are looked at.
        n: How many neighbours.
        progress: Watches.

    Raises:
        DataError: There are no n other words.
    """
    if not 1 <= n < n_words:
        raise DataError(f"{n} neighbours cannot be had of {n_words} words: ask for fewer")
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
    """At most so many of the numbers from `begin` to before `end`."""
    return np.linspace(begin, end - 1, min(most, end - begin)).round().astype(np.int64)


def nearest(
    vectors: Lookup, mean: Matrix, n_words: int, rows: Rows, n: int, tracker: Tracker
) -> Rows:
    """The n words nearest to each row by cosine about the mean, nearest first, (R, n).

    Of equally near ones those of lower numbers.
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
    """The same vectors (n, H) with a length of 1; zeros stay zeros."""
    lengths = np.sqrt(np.einsum("nh,nh->n", vectors, vectors))
    made: Matrix = vectors / np.where(lengths > 0, lengths, 1)[:, None]
    return made
