"""The lexical shortlist: the target tokens that may occur in the translation of a sentence.

    shortlist(X) = {eos} + frequent tokens + best(x) of each x in X + X, if the vocabulary is joint

best(x) are the tokens y with the largest p(y | x) of IBM model 1. The output layer is then computed
for some hundred tokens instead of V, and the probabilities of these sum to one. V vocabulary.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from yakusu.data.bitext.model1 import Bags, WordLinks, model1
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK
from yakusu.search.decoder import Query

N_BEST, N_FREQUENT = 100, 100
_LEAST = 1e-4  # smaller probabilities are left out
_MOST_LINKS = 8_000_000  # pairs of tokens from which probabilities are learned

Tokens = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class TokenLexicon:
    """The best translations of each source token.

    Attributes:
        frequent: The most frequent target tokens.
        starts: Where each source token begins in `targets`, and the end.  # (V + 1,)
        targets: The translations of all source tokens, one source token after the other.
    """

    frequent: Tokens
    starts: Tokens
    targets: Tokens

    @classmethod
    def learned(
        cls, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]], tokenizer: Tokenizer
    ) -> "TokenLexicon":
        """Learn the lexicon of a tokenizer from pairs of sentences.

        Args:
            src: The ids of each source.
            tgt: The ids of its translation.
            tokenizer: The tokenizer.
        """
        n_src, n_tgt = tokenizer.src_vocab_size, tokenizer.tgt_vocab_size
        n_tokens = max(n_src, n_tgt)
        rows = np.arange(len(src))
        bags = _bags(src), _bags(tgt)
        links = WordLinks.of(*bags, rows, rows, most=_MOST_LINKS)
        pairs, entry = np.unique(links.xs * n_tokens + links.ys, return_inverse=True)
        xs, ys = np.divmod(pairs, n_tokens)
        p = model1(entry, xs, links.by_y, n_tokens)
        order = np.lexsort((ys, -p, xs))
        xs, ys, p = xs[order], ys[order], p[order]
        rank = np.arange(len(xs)) - np.searchsorted(xs, xs)
        kept = (rank < N_BEST) & (p >= _LEAST)
        starts = np.searchsorted(xs[kept], np.arange(n_src + 1))
        counts = np.bincount(bags[1].ids, minlength=n_tgt)
        frequent = np.argsort(-counts, kind="stable")[:N_FREQUENT]
        arrays = frequent[counts[frequent] > 0], starts, ys[kept]
        return cls(*(each.astype(np.int32) for each in arrays))


def _bags(lines: Sequence[Sequence[int]]) -> Bags:
    found = [np.unique(np.asarray(line, np.int64)) for line in lines]
    counts = np.fromiter(map(len, found), np.int64, len(found))
    ids = np.concatenate(found) if found else np.zeros(0, np.int64)
    return Bags(ids, np.concatenate([[0], np.cumsum(counts)]))


@dataclass(frozen=True, eq=False)
class Shortlists:
    """The shortlists of sentences.

    Attributes:
        lexicon: The translations of each source token.
        tokenizer: Its tokenizer.
    """

    lexicon: TokenLexicon
    tokenizer: Tokenizer

    @cached_property
    def _bytes(self) -> Tokens:
        return np.array(self.tokenizer.target_bytes, np.int32)

    def of(self, query: Query) -> Tokens | None:
        """The tokens that may occur in the translation of a sentence, increasing.

        If a byte may occur, all bytes may, because one alone spells no character.

        Returns:
            None: All tokens may, because of constraints, or of similar segments.
        """
        own, lexicon = query.restrictions, self.lexicon
        if query.states or (own and own.has_constraints):
            return None
        further = [EOS, UNK, *query.prefix, *(own.required if own else ())]
        chosen = np.zeros(self.tokenizer.tgt_vocab_size, np.bool_)
        chosen[lexicon.frequent], chosen[further] = True, True
        for x in query.source:
            chosen[lexicon.targets[lexicon.starts[x] : lexicon.starts[x + 1]]] = True
            chosen[x] |= self.tokenizer.joint
        if chosen[self._bytes].any() or (own and own.characters is not own.rules.characters):
            chosen[self._bytes] = True
        return np.flatnonzero(chosen).astype(np.int32)


@cache
def warn_once(message: str) -> None:
    """Say why no shortlists are used, once in a process."""
    logging.getLogger(__name__).warning(message)
