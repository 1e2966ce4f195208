"""Minimum Bayes risk decoding: the sample that is most like all of them (Eikema and Aziz 2020).

    y* = argmax over samples y of the sum over samples r of chrF(y, r)
    chrF = 5 P R / (4 P + R)    P, R: precision and recall, means over n = 1 to 6

P and R count the n-grams of characters without white space (Popović 2015), as in sacreBLEU.

N texts, L n-grams of all of them, G distinct ones.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from yakusu.arrays import Doubles, Longs
from yakusu.translator.writing.writer import Candidate

_ORDERS, _BETA2 = range(1, 7), 4.0


def agreed(samples: Sequence[Candidate], n_best: int) -> list[Candidate]:
    """The samples that are most like all of them, with different texts, best first.

    Equal texts count as often as they were drawn. Of texts that are equally like the others, the
    first one is preferred.

    Args:
        samples: The samples of a segment; those without a text are dropped.
        n_best: Maximum number of samples to return.
    """
    first = {text: (found, text) for found, text in reversed(samples) if text}
    drawn = Counter(text for _, text in samples if text)
    texts, times = [*drawn], np.array([*drawn.values()])
    order = (-(similarities(texts) * times).sum(axis=1)).argsort(kind="stable")
    return [first[texts[i]] for i in order[:n_best]]


def similarities(texts: Sequence[str]) -> Doubles:
    """chrF of each text (rows) with each as the reference (columns), (N, N), from 0 to 1."""
    precision, recall, n_orders = np.zeros((3, len(texts), len(texts)))
    for counts in _counts(["".join(text.split()) for text in texts]):
        matches, totals = np.zeros((len(texts), len(texts))), counts.sum(axis=1)
        times = 1
        while counts.shape[1]:  # min(a, b) is how many of 1, 2, ... neither a nor b is less than
            has = (counts >= times).astype(np.float32)
            matches += has @ has.T  # whole numbers, so the sums are exact
            times += 1
            counts = counts[:, (counts >= times).any(axis=0)]
        both = (totals[:, None] > 0) & (totals > 0)
        precision += np.divide(matches, totals[:, None], where=both, out=np.zeros_like(precision))
        recall += np.divide(matches, totals, where=both, out=np.zeros_like(recall))
        n_orders += both
    precision, recall = (each / n_orders.clip(min=1) for each in (precision, recall))
    scale = (_BETA2 * precision + recall).clip(min=np.finfo(float).tiny)
    found: Doubles = (1 + _BETA2) * precision * recall / scale
    return found


def _counts(texts: Sequence[str]) -> Iterator[Longs]:
    """How often each n-gram occurs in each text, (N, G), for each n."""
    codes = np.array([*map(ord, "".join(texts))], dtype=np.int64)
    alphabet, characters = np.unique(codes, return_inverse=True)
    owners = np.repeat(np.arange(len(texts)), [*map(len, texts)])
    starts, grams = np.arange(len(codes)), np.zeros_like(codes)
    for n in _ORDERS:
        starts = starts[: np.searchsorted(starts, len(codes) - n + 1)]
        starts = starts[owners[starts] == owners[starts + n - 1]]
        # An n-gram is an (n - 1)-gram and a character.
        keys = grams[starts] * len(alphabet) + characters[starts + n - 1]
        distinct, grams[starts] = np.unique(keys, return_inverse=True)
        cells = owners[starts] * len(distinct) + grams[starts]
        counts = np.bincount(cells, minlength=len(texts) * len(distinct))
        yield counts.reshape(len(texts), len(distinct))
