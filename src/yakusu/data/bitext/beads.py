"""Which sentences of two texts translate each other, in the same order.

A bead is p sentences of the source and q of the target that translate each other, with p and q up
to 3, or a single sentence without a translation. The best alignment

    argmax over all beads of sum of S(bead) + PRIORS[p, q]

is found by dynamic programming within a band around an earlier alignment:

    D(i, j) = max over p, q of D(i - p, j - q) + S(i - p .. i, j - q .. j) + PRIORS[p, q]

The first alignment uses lengths only, as Gale and Church (1993) do:

    S = -d^2 / 2         d = (l_t - l_s) / sqrt(VARIANCE (l_s + l_t) / 2)

l_s and l_t are numbers of characters, scaled to the same sum for both texts. The words are then
learnt from the beads with one sentence a side, as Moore (2002) does, and W of `evidence`, for the
words of all sentences of a bead, is added to S. This is repeated as long as the alignment moves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Floats
from yakusu.data.bitext.evidence import SAME, SAME_LANGUAGE, PairEvidence
from yakusu.data.bitext.model1 import BLOCK, Ints

LONGEST = 3  # sentences of one side of a bead
PRIORS = {  # log-probability of each kind of bead, relative to one sentence a side
    (1, 0): -4.5,
    (0, 1): -4.5,
    (1, 1): 0.0,
    (1, 2): -2.5,
    (2, 1): -2.5,
    (2, 2): -4.5,
    (1, 3): -4.5,
    (3, 1): -4.5,
    (2, 3): -6.0,
    (3, 2): -6.0,
    (3, 3): -7.0,
}
_VARIANCE = 6.8  # of the difference of two lengths, for each character
_WIDE = 100  # columns on either side of the first band
_MIDDLE, _NARROW = 150, 40  # those of the next bands, in which words count, and of the last one
_MOST_ROUNDS = 6  # with the middle band, as long as the alignment moves
_DRIFT = 0.05  # further columns of the first band, for each sentence
_MOST_DRIFT = 1000
_BASE = 2.0  # of the lengths of translations, relative to those of unrelated sentences
_LOWEST = -8.0  # weight of the lengths of a bead, if words count
_NEVER = -1e30


@dataclass(frozen=True)
class Bead:
    """Sentences of both texts that translate each other; one side may be empty.

    Attributes:
        src: The first sentence of the source, and the one after the last.
        tgt: Those of the target.
        score: Log-likelihood ratio against unrelated sentences, for each word of the longer side.
    """

    src: tuple[int, int]
    tgt: tuple[int, int]
    score: float = 0.0

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of sentences of each side."""
        return self.src[1] - self.src[0], self.tgt[1] - self.tgt[0]


def align_sentences(
    src: Sequence[str],
    tgt: Sequence[str],
    anchors: Sequence[tuple[int, int]] = (),
    *,
    words: bool = True,
    translated: bool = False,
) -> list[Bead]:
    """Align the sentences of two texts.

    Args:
        src: Sentences of the source.
        tgt: Sentences of the target.
        anchors: Pairs of sentences, such as headings, before which a bead ends; in ascending order.
        words: Whether words count, not only lengths.
        translated: Whether the source is a translation into the language of the target, so that
            many words are the same.

    Returns:
        The beads in order; each sentence is in one of them.
    """
    same = SAME_LANGUAGE if translated else SAME
    evidence = PairEvidence(src, tgt, same=same, needs_known=True)
    corners = [(0, 0), *anchors, (len(src), len(tgt))]
    sections = [
        (range(i, i_stop), range(j, j_stop)) for (i, j), (i_stop, j_stop) in pairwise(corners)
    ]
    lengths = _Lengths(evidence)
    found = [
        bead
        for rows, columns in sections
        for bead in _section(lengths, _wide_band(rows, columns, lengths))
    ]
    if words:
        found = _aligned_by_words(evidence, sections, found)
    return list(_by_word(evidence, found))


def _aligned_by_words(
    evidence: PairEvidence, sections: Sequence[tuple[range, range]], found: list[Bead]
) -> list[Bead]:
    """Learn words from an alignment and align again, in a wider band as long as it moves."""
    halves = [*[_MIDDLE] * _MOST_ROUNDS, _NARROW]
    path = _Path(found)
    while halves:
        pairs = np.array([(x.src[0], x.tgt[0]) for x in found if x.sizes == (1, 1)], np.int64)
        if not len(pairs):
            break
        evidence.learn(pairs[:, 0], pairs[:, 1])
        scorer, half = _Words(evidence), halves.pop(0)
        found = [
            bead
            for rows, columns in sections
            for bead in _section(scorer, _narrow_band(rows, columns, path, half))
        ]
        before, path = path, _Path(found)
        if path.distance(before) < _NARROW / 2:
            halves = halves[-1:]
    return found


def _by_word(evidence: PairEvidence, beads: Sequence[Bead]) -> Iterator[Bead]:
    """Divide the score of each bead by its number of words."""
    ends = evidence.src.starts, evidence.tgt.starts
    for bead in beads:
        sides = zip(ends, (bead.src, bead.tgt), strict=True)
        n_words = max(int(own[stop] - own[start]) for own, (start, stop) in sides)
        yield replace(bead, score=bead.score / n_words)


# ---- the band ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Band:
    """Where the alignment of a section of both texts is searched.

    Attributes:
        rows: Sentences of the source.
        columns: Sentences of the target.
        low: The first boundary between sentences of the target, for each one of the source; from 0,
            the start of the section.  # (n + 1,)
        width: Number of boundaries.
    """

    rows: range
    columns: range
    low: Ints
    width: int


def _wide_band(rows: range, columns: range, scorer: "_Lengths") -> _Band:
    """A band around the boundaries that divide both texts, in characters, in the same ratio."""
    ends, others = scorer.ends(rows, columns)
    centre = np.searchsorted(others / max(others[-1], 1.0), ends / max(ends[-1], 1.0))
    half = _WIDE + min(_MOST_DRIFT, int(_DRIFT * max(len(rows), len(columns))))
    return _band(rows, columns, centre, half)


class _Path:
    """An alignment as a path from corner to corner.

    Args:
        beads: The beads in order.
    """

    def __init__(self, beads: Sequence[Bead]) -> None:
        self._ends = np.array([(0, 0), *((bead.src[1], bead.tgt[1]) for bead in beads)])

    def columns(self, rows: Ints) -> Ints:
        """The boundary of the target at each of some boundaries of the source."""
        last = np.searchsorted(self._ends[:, 0], rows, side="right") - 1
        return np.asarray(self._ends[last, 1])

    def distance(self, other: "_Path") -> int:
        """The largest distance from another path, in sentences of the target."""
        rows = np.arange(self._ends[-1, 0] + 1)
        return int(np.abs(self.columns(rows) - other.columns(rows)).max())


def _narrow_band(rows: range, columns: range, path: _Path, half: int) -> _Band:
    """A band around an alignment."""
    centre = path.columns(np.arange(rows.start, rows.stop + 1)) - columns.start
    return _band(rows, columns, centre, half)


def _band(rows: range, columns: range, centre: Ints, half: int) -> _Band:
    m = len(columns)
    jump = int(np.diff(centre, prepend=0, append=m).max())
    width = min(max(2 * half, half + jump) + 1, m + 1)  # so that a path reaches the next row
    low = np.clip(centre - half, 0, m + 1 - width)
    low[0] = 0  # the corners are in the band
    return _Band(rows, columns, np.maximum.accumulate(low), width)


# ---- the scores ----------------------------------------------------------------------------------


class _Lengths:
    """Scores of beads by their lengths."""

    def __init__(self, evidence: PairEvidence) -> None:
        ends = [
            np.concatenate([[0.0], np.cumsum(np.expm1(text.log_length))])
            for text in (evidence.src, evidence.tgt)
        ]
        total = max(float(each[-1]) for each in ends) or 1.0
        self._src, self._tgt = (each * (total / (each[-1] or 1.0)) for each in ends)
        self.evidence = evidence

    def ends(self, rows: range, columns: range) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Numbers of characters before each boundary of a section of both texts."""
        own, other = (
            text[part.start : part.stop + 1] - text[part.start]
            for text, part in ((self._src, rows), (self._tgt, columns))
        )
        return own, other

    def of(self, p: int, q: int, row: int, first: int, n: int) -> NDArray[np.float64]:
        """Scores of n beads that begin with the same sentence of the source, `row`.

        Args:
            p: Number of sentences of the source.
            q: Number of sentences of the target.
            row: The first sentence of the source.
            first: The first sentence of the target of the first bead; those of the next follow.
            n: Number of beads.
        """
        l_s = self._src[row + p] - self._src[row]
        l_t = self._tgt[first + q : first + q + n] - self._tgt[first : first + n]
        return np.asarray(-((l_t - l_s) ** 2) / (_VARIANCE * (l_s + l_t + 1)))

    @property
    def skipped(self) -> float:
        """Score of a sentence without a translation."""
        return -4.0

    def enter(self, rows: range, columns: range) -> None:
        """Prepare the scores of some rows and columns."""


class _Words(_Lengths):
    """Scores of beads by their lengths and words."""

    def __init__(self, evidence: PairEvidence) -> None:
        super().__init__(evidence)
        self._rows, self._columns = range(0), range(0)
        self._scores: Floats

    @property
    def skipped(self) -> float:
        """Score of a sentence without a translation."""
        return 0.0

    def enter(self, rows: range, columns: range) -> None:
        """Compute the scores of some rows and columns."""
        self._rows, self._columns = rows, columns
        self._scores = self.evidence.beads(rows, columns, LONGEST)

    def of(self, p: int, q: int, row: int, first: int, n: int) -> NDArray[np.float64]:
        """As for `_Lengths`."""
        lengths = np.maximum(super().of(p, q, row, first, n), _LOWEST) + _BASE
        at = first - self._columns.start
        return lengths + self._scores[p - 1, q - 1, row - self._rows.start, at : at + n]


# ---- the search ----------------------------------------------------------------------------------


def _section(scorer: _Lengths, band: _Band) -> list[Bead]:
    """The best alignment of a section."""
    n, m, width = len(band.rows), len(band.columns), band.width
    best = np.full((LONGEST + 1, m + 1), _NEVER)  # of the next rows
    kinds = np.zeros((LONGEST + 1, m + 1), np.int8)
    scores = np.zeros((LONGEST + 1, m + 1), np.float32)
    kept_kinds = np.zeros((n + 1, width), np.int8)
    kept_scores = np.zeros((n + 1, width), np.float32)
    best[0, 0] = 0
    skip = PRIORS[0, 1] + scorer.skipped
    columns = np.arange(m + 1)
    chunk = range(0)
    for i in range(n + 1):
        now, low = i % (LONGEST + 1), int(band.low[i])
        own = slice(low, low + width)
        reached = np.maximum.accumulate(best[now, own] - skip * columns[own]) + skip * columns[own]
        skipped = reached > best[now, own] + 1e-9
        best[now, own] = reached
        kept_kinds[i] = np.where(skipped, 1, kinds[now, own])
        kept_scores[i] = np.where(skipped, 0, scores[now, own])
        if i < n:
            if i not in chunk:
                chunk = _chunk(scorer, band, i)
            _extend(scorer, band, i, best, kinds, scores)
        best[now] = _NEVER
    return list(_traced(band, kept_kinds, kept_scores))


def _chunk(scorer: _Lengths, band: _Band, i: int) -> range:
    """Prepare the scores of the rows of a block, from row i on."""
    first = band.rows.start + i
    stop = min(band.rows.stop, (first // BLOCK + 1) * BLOCK)
    last = stop - band.rows.start
    low, high = int(band.low[i]), int(band.low[last]) + band.width
    start = band.columns.start
    high = min(high, len(band.columns))
    if low < high:
        scorer.enter(range(first, stop), range(start + low, start + high))
    return range(i, last)


def _extend(
    scorer: _Lengths,
    band: _Band,
    i: int,
    best: NDArray[np.float64],
    kinds: NDArray[np.int8],
    scores: Floats,
) -> None:
    """Add each kind of bead that begins in row i to the alignments that end there."""
    n, m, low = len(band.rows), len(band.columns), int(band.low[i])
    now = i % (LONGEST + 1)
    for (p, q), prior in PRIORS.items():
        size = min(low + band.width, m + 1 - q) - low
        if not p or i + p > n or size <= 0:
            continue
        row, first = band.rows.start + i, band.columns.start + low
        gained = scorer.of(p, q, row, first, size) if q else np.full(size, scorer.skipped)
        to, into = (i + p) % (LONGEST + 1), slice(low + q, low + q + size)
        reached = best[now, low : low + size] + gained + prior
        better = reached > best[to, into]
        best[to, into] = np.where(better, reached, best[to, into])
        kinds[to, into] = np.where(better, p * (LONGEST + 1) + q, kinds[to, into])
        scores[to, into] = np.where(better, gained, scores[to, into])


def _traced(band: _Band, kinds: NDArray[np.int8], scores: Floats) -> Iterator[Bead]:
    """The beads of the best alignment, in order."""
    i, j = len(band.rows), len(band.columns)
    found = []
    while i or j:
        at = j - int(band.low[i])
        p, q = divmod(int(kinds[i, at]), LONGEST + 1)
        score = float(scores[i, at]) if p and q else 0.0
        found.append(Bead((i - p, i), (j - q, j), score))
        i, j = i - p, j - q
    for bead in reversed(found):
        src, tgt = (
            (side[0] + own.start, side[1] + own.start)
            for side, own in ((bead.src, band.rows), (bead.tgt, band.columns))
        )
        yield replace(bead, src=src, tgt=tgt)
