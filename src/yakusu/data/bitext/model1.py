"""IBM model 1: which words or tokens of two texts translate each other (Brown et al. 1993).

    p(y | x) = c(x, y) / (1 + sum over y' of c(x, y'))
    c(x, y)  = sum over pairs of lines (X, Y) with x in X and y in Y of
                   p(y | x) / sum over x' in X of p(y | x')

The 1 makes the probabilities of rare words small. Words that occur several times in a line count
once. Legend: n lines, V words.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_ITERATIONS = 3
BLOCK = 64  # lines of a block

Ints = NDArray[np.int64]


@dataclass(eq=False)
class Bags:
    """The distinct words of each line of a text, by their numbers.

    Attributes:
        ids: Words of all lines, one line after the other.
        starts: Where each line begins in `ids`, and the end.  # (n + 1,)
    """

    ids: Ints
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def counts(self) -> Ints:
        """Number of words of each line."""
        return np.diff(self.starts)


@dataclass(eq=False)
class WordLinks:
    """All pairs of words of pairs of lines, by link.

    Attributes:
        xs: The word of the source.
        ys: The word of the target.
        by_x: Number of the occurrence of x in its pair of lines.
        by_y: The same for y.
        lines: The line of the source.
    """

    xs: Ints
    ys: Ints
    by_x: NDArray[np.int32]
    by_y: NDArray[np.int32]
    lines: NDArray[np.int32]

    @classmethod
    def of(cls, src: Bags, tgt: Bags, i: Ints, j: Ints, *, most: int) -> "WordLinks":
        """Pair the words of lines i of the source with those of lines j of the target.

        Args:
            src: The source.
            tgt: The target.
            i: Lines of the source.
            j: Their translations.
            most: Approximate maximum number of links; if there are more, evenly spaced blocks of
                lines are used.
        """
        n_src, n_tgt = src.counts[i], tgt.counts[j]
        sizes = n_src * n_tgt
        if sizes.sum() > most:
            step = -(-sizes.sum() // most)
            kept = (np.arange(len(i)) // (2 * BLOCK)) % step == 0
            i, j, n_src, n_tgt, sizes = i[kept], j[kept], n_src[kept], n_tgt[kept], sizes[kept]
        pair = np.repeat(np.arange(len(i), dtype=np.int32), sizes)
        within = np.arange(sizes.sum(), dtype=np.int32)
        within -= (np.cumsum(sizes) - sizes).astype(np.int32)[pair]
        x, y = np.divmod(within, n_tgt.astype(np.int32)[pair])
        del within
        firsts = (src.starts[i], tgt.starts[j], np.cumsum(n_src) - n_src, np.cumsum(n_tgt) - n_tgt)
        at_src, at_tgt, by_x, by_y = (each.astype(np.int32)[pair] for each in firsts)
        lines = i.astype(np.int32)[pair]
        return cls(src.ids[at_src + x], tgt.ids[at_tgt + y], by_x + x, by_y + y, lines)


def model1(
    entry: Ints, given: Ints, generated: NDArray[np.int32], n_words: int
) -> NDArray[np.float64]:
    """Expectation maximisation.

    Args:
        entry: The pair of words of each link.
        given: The word on which the probability of each pair is conditioned.
        generated: The occurrence of the other word of each link.
        n_words: Number of words.

    Returns:
        The probability of each pair of words.
    """
    p = np.ones(len(given))
    for _ in range(_ITERATIONS if len(entry) else 0):
        shares = p[entry]
        shares /= np.bincount(generated, shares)[generated]
        expected = np.bincount(entry, shares, len(given))
        p = expected / (np.bincount(given, expected, n_words)[given] + 1)
    return p if len(entry) else np.zeros(len(given))
