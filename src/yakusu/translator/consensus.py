"""Minimum Bayes risk decoding: the sample that is most like the others (Eikema and Aziz 2020).

    y* = argmax over samples y of the sum over samples r of chrF(y, r)
    chrF = 5 P R / (4 P + R)    P, R: precision and recall, means over n = 1 to 6

P and R count the n-grams of characters without white space (Popović 2017).

N samples, V n-grams.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from yakusu.translator.writing.writer import Candidate

_ORDERS, _BETA2 = range(1, 7), 4.0


def agreed(samples: Sequence[Candidate], n_best: int) -> list[Candidate]:
    """The samples that are most like all of them, best first; equal texts count as often as drawn.

    Args:
        samples: The samples of a segment; those without a text are dropped.
        n_best: Number of samples to return, with different texts.
    """
    first = {text: (found, text) for found, text in reversed(samples) if text}
    drawn = Counter(text for _, text in samples if text)
    texts = list(drawn)
    expected = similarities(texts) @ np.array([*drawn.values()]) if texts else ()
    order = sorted(range(len(texts)), key=lambda i: -expected[i])  # the first drawn, if equal
    return [first[texts[i]] for i in order[:n_best]]


def similarities(texts: Sequence[str]) -> NDArray[np.float64]:
    """chrF of each text (rows) with each as the reference (columns), (N, N), from 0 to 1."""
    plain = ["".join(text.split()) for text in texts]
    precision, recall = np.zeros((2, len(texts), len(texts)))
    n_orders = np.zeros_like(precision)
    for n in _ORDERS:
        counts = _counts(plain, n)  # (N, V)
        matches = np.array([np.minimum(own, counts).sum(axis=1) for own in counts])
        totals = counts.sum(axis=1)
        both = (totals[:, None] > 0) & (totals > 0)
        precision += np.divide(matches, totals[:, None], where=both, out=np.zeros_like(precision))
        recall += np.divide(matches, totals, where=both, out=np.zeros_like(recall))
        n_orders += both
    precision, recall = (each / n_orders.clip(min=1) for each in (precision, recall))
    scale = (_BETA2 * precision + recall).clip(min=np.finfo(float).tiny)
    found: NDArray[np.float64] = (1 + _BETA2) * precision * recall / scale
    return found


def _counts(texts: Sequence[str], n: int) -> NDArray[np.float64]:
    """How often each n-gram occurs in each text, (N, V)."""
    grams = [Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in texts]
    columns = {gram: i for i, gram in enumerate(dict.fromkeys(g for own in grams for g in own))}
    counts = np.zeros((len(texts), len(columns)))
    for row, own in zip(counts, grams, strict=True):
        row[[columns[gram] for gram in own]] = [*own.values()]
    return counts
