"""Placeholder tokens: each occurs in a translation exactly as often as in the source.

K hypotheses of a sentence, V vocabulary, N kinds of placeholder tokens.

The CPU engine does the same in C (`native/rows.c`, `native/search.c`), unless a sentence has
further constraints.
"""

from collections.abc import Sequence

import numpy as np

from yakusu.arrays import Flags, Longs
from yakusu.data.vocabulary import EOS


class SlotGoal:
    """Lets the placeholder tokens of a sentence occur exactly as often as required.

    Until none is missing, eos may not follow; once only as many tokens are left as are missing, no
    other token may follow.

    Args:
        required: The placeholder tokens that must occur, with repetitions.
        kinds: All placeholder tokens of the vocabulary.
        n_tokens: V - 1.

    Attributes:
        required: The placeholder tokens that must occur, in the order of `kinds`.
    """

    def __init__(self, required: Sequence[int], kinds: Sequence[int], *, n_tokens: int) -> None:
        self.n_tokens = n_tokens
        self.kinds = np.array(kinds, dtype=np.int64)  # (N,)
        self.required = tuple(kind for kind in kinds for _ in range(required.count(kind)))
        counts = list(map(self.required.count, kinds))
        self.missing = np.array([counts], dtype=np.int64)  # (K, N)

    @property
    def n_missing(self) -> Longs:
        """The number of tokens that each hypothesis lacks: (K,)."""
        n_missing: Longs = self.missing.sum(axis=1)
        return n_missing

    def allowed(self, left: Longs) -> Flags:
        """Whether each token may follow each hypothesis: (K, V - 1)."""
        n_missing = self.n_missing
        last = (n_missing > 0) & (n_missing >= left - 1)  # (K,)
        flags: Flags = np.repeat(~last[:, None], self.n_tokens, axis=1)
        flags[:, EOS] &= n_missing == 0
        flags[:, self.kinds] = self.missing > 0
        return flags

    def follow(self, beams: Longs, ids: Longs) -> None:
        """Let the hypotheses be hypothesis beams[k], extended by ids[k]."""
        placed = ids[:, None] == self.kinds  # (K', N)
        self.missing = (self.missing[beams] - placed).clip(min=0)

    def proposals(self) -> Longs:
        """The first missing token of each hypothesis: (K, 1), -1 for none."""
        is_missing = self.missing > 0
        first = self.kinds[is_missing.argmax(axis=1)]
        return np.where(is_missing.any(axis=1), first, -1)[:, None]

    def progress(self, beams: Longs, ids: Longs) -> Longs:
        """How many required tokens hypotheses would have after a token: (n,)."""
        missing = self.missing[beams]  # (n, N)
        wanted = (ids[:, None] == self.kinds) & (missing > 0)
        progress: Longs = len(self.required) - missing.sum(axis=1) + wanted.any(axis=1)
        return progress
