"""How well two sentences fit together as translations, learnt from the two texts themselves.

    S(s, t) = L(s, t) + W(s, t)

    L(s, t) = log N(r; 0, sigma) / N(r; 0, sigma_0)      r = log |t| - log |s| - mu
    W(s, t) = (w(t | s) + w(s | t)) / 2
    w(t | s) = sum over y in t of log(LAMBDA + (1 - LAMBDA) p(y | s) / u(y))
    p(y | s) = sum over x in s of ((1 - same) p(y | x) + same [x = y]) / |s|

All are log-likelihood ratios against unrelated sentences: S > 0 means that the sentences are
likely translations. L compares lengths in characters, as Gale and Church (1993) do; sigma is the
spread of translations and sigma_0 that of unrelated lines. W compares words, as Moore (2002) does:
p(y | x) is IBM model 1 and u the frequency of a word. A pair is never scored with probabilities
that were learnt from it: there are two sets of them, each learnt from one half of the blocks of
lines.

Legend: B lines of the source, C lines of the target, V words, Y distinct words of C lines.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import regex
from numpy.typing import NDArray

from yakusu.arrays import Floats
from yakusu.data.bitext.model1 import BLOCK, Bags, Ints, WordLinks, model1
from yakusu.data.lines.words import UNSPACED

LAMBDA = 0.3
SAME = 0.05  # probability that a word, such as a name or a number, is its own translation
SAME_LANGUAGE = 0.5  # the same, of two texts in one language
_MOST_WORDS = 60  # of a line
_MOST_LINKS = 2_000_000  # pairs of words from which probabilities are learnt
_LEAST = 2e-3  # smaller probabilities are left out
_WORD = regex.compile(
    rf"\p{{Nd}}++|[{UNSPACED}\p{{Hangul}}]\p{{M}}*+|(?:(?![{UNSPACED}\p{{Hangul}}])[\p{{L}}\p{{M}}])++"
    r"|[?!？！:：;；()（）]"
)
_LATIN_WORD = re.compile(r"[^\W\d_]+|\d+|[?!:;()]")  # the same for Latin letters, in less time
_BEYOND_LATIN = "\u0300"  # the first character of other scripts, and of marks
_WIDE = str.maketrans("？！：；（）", "?!:;()")


class WordNumbers:
    """Numbers of the words of both texts; 0 stands for a line without words."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, line: str) -> list[int]:
        """The distinct words of a line, by their numbers."""
        text = line.casefold()
        if text.isascii() or max(text) < _BEYOND_LATIN:
            words = _LATIN_WORD.findall(text)
        else:
            words = _WORD.findall(text.translate(_WIDE))
        found = dict.fromkeys(words[:_MOST_WORDS])
        numbers = self._numbers
        return [numbers.setdefault(word, len(numbers)) for word in found] or [0]


class NumberedText(Bags):
    """The lines of a text as numbers of words.

    Args:
        lines: The lines.
        words: Numbers of words, the same of both texts.

    Attributes:
        ids: Words of all lines, one line after the other.
        starts: Where each line begins in `ids`, and the end.  # (n + 1,)
        log_length: Logarithm of the number of characters of each line.  # (n,)
    """

    def __init__(self, lines: Sequence[str], words: WordNumbers) -> None:
        found = [words.of(line) for line in lines]
        counts = np.fromiter(map(len, found), np.int64, len(found))
        starts: Ints = np.concatenate([[0], np.cumsum(counts)])
        ids = np.fromiter((each for own in found for each in own), np.int64, starts[-1])
        super().__init__(ids, starts)
        self.log_length = np.log1p(np.fromiter(map(len, lines), np.float64, len(lines)))

    @property
    def is_empty(self) -> NDArray[np.bool_]:
        """Whether each line has no words."""
        return np.asarray(self.ids[self.starts[:-1]] == 0)

    def frequency(self, n_words: int) -> NDArray[np.float64]:
        """Relative frequency of each word."""
        return np.bincount(self.ids, minlength=n_words) / max(1, len(self.ids))


@dataclass
class Lexicon:
    """p(y | x) of IBM model 1, as a sparse matrix with a row for each x.

    Attributes:
        starts: Where each row begins, and the end.  # (V + 1,)
        columns: The word y of each entry.
        values: Its probability.
        same: The probability that a word is its own translation.
        known: Whether each word y has an entry.  # (V,)
    """

    starts: Ints
    columns: Ints
    values: Floats
    same: float
    known: NDArray[np.bool_]

    def among(self, xs: Ints, place: Ints, n_places: int) -> Floats:
        """The probabilities of some words y.

        Args:
            xs: Words of the source.
            place: Column of each word y in the result; -1: none.  # (V,)
            n_places: Number of columns.

        Returns:
            p(y | x).  # (xs, n_places)
        """
        counts = self.starts[xs + 1] - self.starts[xs]
        before = np.cumsum(counts) - counts
        at = np.repeat(self.starts[xs] - before, counts) + np.arange(counts.sum())
        columns, rows = place[self.columns[at]], np.repeat(np.arange(len(xs)), counts)
        found = columns >= 0
        dense = np.zeros((len(xs), n_places), np.float32)
        dense[rows[found], columns[found]] = (1 - self.same) * self.values[at[found]]
        own = place[xs]
        dense[np.flatnonzero(own >= 0), own[own >= 0]] += self.same
        return dense


def folds(lines: Ints | NDArray[np.int32]) -> Ints | NDArray[np.int32]:
    """The half, 0 or 1, of the blocks that each line belongs to."""
    return (lines // BLOCK) % 2


def learn_lexicons(
    src: NumberedText, tgt: NumberedText, i: Ints, j: Ints, *, n_words: int, same: float
) -> list[tuple[Lexicon, Lexicon]]:
    """Learn which words translate each other from pairs of lines.

    Args:
        src: The source.
        tgt: The target.
        i: Lines of the source.
        j: Their translations.
        n_words: Number of words of both texts.
        same: The probability that a word is its own translation.

    Returns:
        For the lines of each fold: p(y | x) and p(x | y), learnt from the other fold.
    """
    links = WordLinks.of(src, tgt, i, j, most=_MOST_LINKS)
    fold_of = folds(links.lines)
    n_x, n_y = (np.bincount(each.ids, minlength=n_words) for each in (src, tgt))
    frequent = (n_x[links.xs] > 1) & (n_y[links.ys] > 1)
    pairs, entry = np.unique(links.xs * n_words + links.ys, return_inverse=True)
    xs, ys = np.divmod(pairs, n_words)
    found = []
    for fold in (0, 1):
        used = frequent & (fold_of != fold)
        forth = model1(entry[used], xs, links.by_y[used], n_words)
        back = model1(entry[used], ys, links.by_x[used], n_words)
        found.append(
            (_lexicon(xs, ys, forth, n_words, same), _lexicon(ys, xs, back, n_words, same))
        )
    return found


def _lexicon(
    given: Ints, other: Ints, p: NDArray[np.float64], n_words: int, same: float
) -> Lexicon:
    kept = np.flatnonzero(p > _LEAST)
    kept = kept[np.argsort(given[kept], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(given[kept], minlength=n_words))])
    known = np.bincount(other[kept], minlength=n_words) > 0
    return Lexicon(starts, other[kept], p[kept].astype(np.float32), same, known)


class PairEvidence:
    """Scores pairs of lines of two texts.

    Args:
        src: Lines of the source.
        tgt: Lines of the target.
        same: The probability that a word is its own translation.
        needs_known: Words without known translations say nothing; short texts have many.
    """

    def __init__(
        self,
        src: Sequence[str],
        tgt: Sequence[str],
        *,
        same: float = SAME,
        needs_known: bool = False,
    ) -> None:
        words, self._same, self._needs_known = WordNumbers(), same, needs_known
        self.src, self.tgt = NumberedText(src, words), NumberedText(tgt, words)
        self.n_words = len(words)
        self._frequencies = [
            np.maximum(text.frequency(self.n_words), 1e-9).astype(np.float32)
            for text in (self.src, self.tgt)
        ]
        self._lexicons: list[tuple[Lexicon, Lexicon]] = []

    def learn(self, i: Ints, j: Ints) -> None:
        """Learn the probabilities of words from lines i of the source and j of the target."""
        self._lexicons = learn_lexicons(
            self.src, self.tgt, i, j, n_words=self.n_words, same=self._same
        )

    @cached_property
    def unrelated(self) -> float:
        """The spread of the difference of log-lengths of unrelated lines."""
        return float(np.sqrt(np.var(self.src.log_length) + np.var(self.tgt.log_length))) or 1.0

    def beads(self, rows: range, columns: range, longest: int = 1) -> Floats:
        """W of beads of up to `longest` consecutive lines a side.

        Args:
            rows: The first lines of the source, of one fold.
            columns: The first lines of the target.
            longest: Number of lines of one side.

        Returns:
            W of p + 1 lines of the source and q + 1 of the target.  # (longest, longest, B, C)
        """
        forth, back = self._lexicons[folds(np.array(rows.start)).item()]
        u_src, u_tgt = self._frequencies
        n, m, more = len(rows), len(columns), longest - 1
        all_rows, all_columns = (range(each.start, each.stop + more) for each in (rows, columns))
        counted = [
            each.known if self._needs_known else np.ones(self.n_words, np.bool_)
            for each in (forth, back)
        ]
        w = _directed(forth, self.src, rows, self.tgt, all_columns, u_tgt, counted[0], longest)
        v = _directed(back, self.tgt, columns, self.src, all_rows, u_src, counted[1], longest)
        found = np.zeros((longest, longest, n, m), np.float32)
        for p in range(longest):
            for q in range(longest):
                for k in range(q + 1):
                    found[p, q] += w[p, :, k : k + m]
                for k in range(p + 1):
                    found[p, q] += v[q, :, k : k + n].T
        found /= 2
        return found


def _directed(
    lexicon: Lexicon,
    given: NumberedText,
    starts: range,
    other: NumberedText,
    lines: range,
    frequency: Floats,
    counted: NDArray[np.bool_],
    longest: int,
) -> Floats:
    """w(t | s) of one to `longest` lines of a text and single lines of another.

    Lines after the end of a text have a score of 0.

    Args:
        lexicon: p(y | x).
        given: The text of s.
        starts: Its first lines, or only lines.
        other: The text of t.
        lines: Its lines.
        frequency: u.
        counted: Whether each word y counts if no word of s is its translation.  # (V,)
        longest: Number of lines of s.

    Returns:
        The scores.  # (longest, B, C)
    """
    stop = min(len(given), starts.stop + longest - 1)
    last = min(len(other), lines.stop)
    of_given, of_other = given.starts[starts.start : stop + 1], other.starts[lines.start : last + 1]
    xs, at_x = np.unique(given.ids[of_given[0] : of_given[-1]], return_inverse=True)
    ys, at_y = np.unique(other.ids[of_other[0] : of_other[-1]], return_inverse=True)
    place = np.full(len(frequency), -1)
    place[ys] = np.arange(len(ys))
    p = lexicon.among(xs, place, len(ys)) / frequency[ys]  # (X, Y)
    sums = np.zeros((len(starts) + longest - 1, len(ys)), np.float32)
    sums[: stop - starts.start] = np.add.reduceat(p[at_x], of_given[:-1] - of_given[0], axis=0)
    counts = np.zeros((len(sums), 1), np.float32)
    counts[: stop - starts.start, 0] = np.diff(of_given)
    found = np.zeros((longest, len(starts), len(lines)), np.float32)
    total, n_words = np.zeros_like(sums[: len(starts)]), np.zeros_like(counts[: len(starts)])
    for k in range(longest):
        total = total + sums[k : k + len(starts)]  # (B, Y)
        n_words = n_words + counts[k : k + len(starts)]
        ratio = np.log(LAMBDA + (1 - LAMBDA) * total / n_words)
        ratio[:, ~counted[ys]] = np.maximum(ratio[:, ~counted[ys]], 0)
        by_word = np.ascontiguousarray(ratio.T)[at_y]
        summed = np.add.reduceat(by_word, of_other[:-1] - of_other[0], axis=0)
        found[k, :, : last - lines.start] = summed.T  # (B, C)
    return found
