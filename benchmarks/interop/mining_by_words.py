"""A lexical baseline of mining.py: translate words, and compare bags of words.

Word probabilities p(y | x) are those of IBM model 1, learned from the known translations. A source
sentence is the sum of its words' translations, a target sentence that of its own words; both are
weighted by the inverse document frequency of y and scaled to length 1. Pairs and scores are then
chosen as `yakusu mine` chooses them.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from scipy import sparse

from yakusu.arrays import Floats
from yakusu.data.bitext.evidence import NumberedText, WordNumbers
from yakusu.data.bitext.margin import margin_pairs
from yakusu.data.bitext.model1 import Bags, WordLinks, model1

_LEAST = 0.1  # smaller probabilities are left out
_MOST = 20_000_000  # links


def pairs_by_words(
    texts: Sequence[Sequence[str]], known: Sequence[Sequence[str]]
) -> list[tuple[int, int, float]]:
    """Pair sentences of two texts, given both sides of known translations; see `margin_pairs`."""
    words = WordNumbers()
    sides = [NumberedText([*of, *lines], words) for of, lines in zip(known, texts, strict=True)]
    bags = [_bags(side, len(words)) for side in sides]
    n = len(known[0])
    translations = _translations(*sides, np.arange(n), len(words))
    weights = np.log(bags[1].shape[0] / (1 + bags[1].astype(bool).sum(axis=0)))
    idf = sparse.diags(np.asarray(weights).ravel().astype(np.float32))
    source, target = (bags[0][n:] @ translations) @ idf, bags[1][n:] @ idf
    return margin_pairs(*(cast("Floats", _Rows(_scaled(side))) for side in (source, target)))


def _bags(text: Bags, n_words: int) -> Any:
    """Return which words each sentence has, (n, V)."""
    ones = np.ones(len(text.ids), np.float32)
    return sparse.csr_array((ones, text.ids, text.starts), shape=(len(text), n_words))


def _translations(src: Bags, tgt: Bags, lines: np.ndarray, n_words: int) -> Any:
    """Return p(y | x), (V, V)."""
    links = WordLinks.of(src, tgt, lines, lines, most=_MOST)
    pairs, entry = np.unique(links.xs * n_words + links.ys, return_inverse=True)
    xs, ys = np.divmod(pairs, n_words)
    p = model1(entry, xs, links.by_y, n_words).astype(np.float32)
    kept = p > _LEAST
    return sparse.csr_array((p[kept], (xs[kept], ys[kept])), shape=(n_words, n_words))


def _scaled(rows: Any) -> Any:
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags(1 / np.where(lengths > 0, lengths, 1)) @ rows)


class _Rows:
    """Sparse rows with the operations of an array that `margin_pairs` uses; products are dense."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, rows: slice) -> "_Rows":
        return _Rows(self.matrix[rows])

    @property
    def T(self) -> "_Rows":  # noqa: N802
        """The transpose."""
        return _Rows(self.matrix.T)

    def __matmul__(self, other: "_Rows") -> Floats:
        return np.asarray((self.matrix @ other.matrix).toarray(), np.float32)
