"""Where line N of one text stops being the translation of line N of the other.

The states of line i are the offsets k, in which it translates line i + k, and "unrelated". The path

    argmax over k_1 ... k_n of sum over i of S(i, i + k_i) - CHANGE [k_i != k_(i-1)]

is found by the algorithm of Viterbi; S of "unrelated" is 0 (see `evidence`). The first path uses
lengths only; the words are then learnt along the path, which is found again with them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Floats
from yakusu.data.bitext.evidence import PairEvidence
from yakusu.data.bitext.model1 import BLOCK, Ints

MOST, _MOST_QUICK = 30, 8  # the largest offset
UNRELATED = 10**9  # in place of an offset
_CHANGE = 12.0
_LENGTHS = 3.0  # largest weight of the lengths of a line
_RELATED = 0.75  # standard deviations above unrelated lines
_LOWEST, _HIGHEST = -2.0, 6.0  # of a line
_PREFERRED = 1e-3
_LEAST_LINES = 50  # from which words are learnt


@dataclass(frozen=True)
class Stretch:
    """Lines with the same offset.

    Attributes:
        start: The first line, from 0.
        stop: The line after the last one.
        offset: Line i of the source translates line i + offset of the target; `UNRELATED`: none.
    """

    start: int
    stop: int
    offset: int


def segments(
    evidence: PairEvidence, windows: Sequence[int] = (), *, quick: bool = False
) -> list[Stretch]:
    """Divide two texts into segments of lines with the same offset.

    Args:
        evidence: Scores the lines of two texts, which have as many.
        windows: Where consecutive lines begin, if these are windows of longer texts.
        quick: Learn words once, and examine small offsets only.
    """
    n = len(evidence.src)
    most = _MOST_QUICK if quick else MOST
    offsets = np.arange(-most, most + 1)
    starts = np.array([0, *windows, n])
    filled = [~text.is_empty for text in (evidence.src, evidence.tgt)]
    at = np.clip(np.arange(n)[:, None] + offsets, 0, n - 1)
    valid = _inside(offsets, starts, n) & filled[0][:, None] & filled[1][at]
    lengths = _lengths(evidence, at, valid)
    change = np.full(n, _CHANGE)
    change[starts[1:-1]] /= 2
    path = best_offsets(_with_unrelated(lengths), change)
    for _ in range(1 if quick else 2):
        known = np.flatnonzero(path < len(offsets))
        i, j = known, known + offsets[path[known]]
        kept = (j >= 0) & (j < n)
        i, j = i[kept], j[kept]
        if len(i) < _LEAST_LINES:
            i = j = np.flatnonzero(filled[0] & filled[1])
        evidence.learn(i, j)
        scores = _standardised(lengths + _words(evidence, n, most), valid)
        path = best_offsets(_with_unrelated(scores), change)
    return list(runs(path, np.append(offsets, UNRELATED)))


def _inside(offsets: Ints, starts: Ints, n: int) -> NDArray[np.bool_]:
    """Whether line i + k is in the window of line i.  # (n, K)"""
    window = np.searchsorted(starts, np.arange(n), side="right")[:, None]
    at = np.arange(n)[:, None] + offsets
    return (at >= starts[window - 1]) & (at < starts[window])


def _lengths(evidence: PairEvidence, at: Ints, valid: NDArray[np.bool_]) -> Floats:
    """L of each line and offset; 0 if it is not valid.  # (n, K)"""
    residual = evidence.tgt.log_length[at] - evidence.src.log_length[:, None]
    residual -= np.median(residual[:, at.shape[1] // 2])
    unrelated = evidence.unrelated
    sigma = np.clip(_spread(np.where(valid, residual, np.nan)), 0.1, 0.9 * unrelated)
    ratio = residual**2 / 2 * (1 / unrelated**2 - 1 / sigma**2) + np.log(unrelated / sigma)
    return np.where(valid, np.clip(ratio, -_LENGTHS, _LENGTHS), 0).astype(np.float32)


def _standardised(scores: Floats, valid: NDArray[np.bool_]) -> Floats:
    """How far each score is above those of the same line with other lines; 0 if not valid."""
    n = np.maximum(valid.sum(axis=1, keepdims=True), 1)
    above = np.where(valid, scores, 0)
    above = np.where(valid, scores - above.sum(axis=1, keepdims=True) / n, 0)
    deviation = np.sqrt((above**2).sum(axis=1, keepdims=True) / n) + 0.1
    found = np.clip(above / deviation - _RELATED, _LOWEST, _HIGHEST)
    return np.where(valid & (n > scores.shape[1] // 4), found, 0).astype(np.float32)


def _spread(residual: NDArray[np.float64]) -> float:
    """The spread of the residuals of translations: that of the best offset of most blocks."""
    least = []
    for start in range(0, max(1, len(residual) - 50), 100):
        block = np.abs(residual[start : start + 100])
        counts = np.isfinite(block).sum(axis=0)
        means = np.nansum(block, axis=0)[counts > 30] / counts[counts > 30]
        least += [means.min()] if len(means) else []
    return 1.25 * float(np.median(least)) if least else 1.0


def _words(evidence: PairEvidence, n: int, most: int) -> Floats:
    """W of each line and offset; lines outside of the texts have any value.  # (n, K)"""
    scores = np.zeros((n, 2 * most + 1), np.float32)
    for start in range(0, n, BLOCK):
        rows = range(start, min(start + BLOCK, n))
        columns = range(max(0, start - most), min(n, rows.stop + most))
        block = evidence.beads(rows, columns)[0, 0]
        at = np.array(rows)[:, None] + np.arange(-most, most + 1) - columns.start
        scores[start : rows.stop] = np.take_along_axis(
            block, np.clip(at, 0, len(columns) - 1), axis=1
        )
    return scores


def _with_unrelated(scores: Floats) -> Floats:
    """Add the state "unrelated", and prefer offset 0 to others as good.  # (n, K + 1)"""
    states = np.concatenate([scores, np.zeros((len(scores), 1), np.float32)], axis=1)
    states[:, scores.shape[1] // 2] += _PREFERRED
    return states


def best_offsets(scores: Floats, change: NDArray[np.float64]) -> Ints:
    """The best state of each line.

    Args:
        scores: The score of each line in each state.  # (n, K)
        change: The penalty for another state than that of the line before.  # (n,)
    """
    n, n_states = scores.shape
    value = scores[0].astype(np.float64)
    changed = np.zeros((n, n_states), np.bool_)
    best = np.zeros(n, np.int64)
    for t in range(1, n):
        best[t] = value.argmax()
        other = value[best[t]] - change[t]
        np.less(value, other, out=changed[t])
        np.maximum(value, other, out=value)
        value += scores[t]
    path = np.zeros(n, np.int64)
    path[-1] = value.argmax()
    for t in range(n - 1, 0, -1):
        path[t - 1] = best[t] if changed[t, path[t]] else path[t]
    return path


def runs(path: Ints, offsets: Ints) -> Iterator[Stretch]:
    """The segments of a path, given the offset of each state."""
    starts = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist()]
    for start, stop in zip(starts, [*starts[1:], len(path)], strict=True):
        yield Stretch(start, stop, int(offsets[path[start]]))
