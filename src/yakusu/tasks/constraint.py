"""Constrained decoding for parsing: every output is a tree over exactly the N words of a sentence.

K hypotheses of a sentence, V vocabulary, D tokens generated so far.

The state of a hypothesis is its open brackets, the number of remaining words and its last token.
It can be completed within L more tokens if

    remaining words + open brackets + 1 (eos) <= L

A word, a closing bracket or eos reduces the left side by one, and an opening bracket increases it
by one; each token reduces L by one. A token is allowed only if the inequality still holds after it,
so that every allowed hypothesis can be completed.
"""

from collections.abc import Sequence

import numpy as np

from yakusu.arrays import Flags, Longs
from yakusu.data.brackets import MAX_DEPTH, is_tag
from yakusu.data.vocabulary import UNK

MAX_CHAIN = 12  # consecutive opening brackets; at most 6 in the Penn Treebank sample and in GUM
_OTHER = -1  # a token that does not open (or close) a bracket
_NO_LABEL = -2  # no bracket is open, or the open bracket must not be closed


class BracketRules:
    """The role of each vocabulary entry: opening bracket, closing bracket, word or eos.

    Args:
        tokens: The text of each target id, without pad.
        eos: The id of eos.
    """

    def __init__(self, tokens: Sequence[str], *, eos: int) -> None:
        labels = {token[1:]: i for i, token in enumerate(tokens) if token.startswith("(")}
        closed = [labels.get(t[1:], _OTHER) if t.startswith(")") else _OTHER for t in tokens]
        closing = set(closed)
        # A label is the id of its opening bracket; brackets that cannot be closed are not opened.
        opened = [i if i in closing else _OTHER for i in range(len(tokens))]
        self.opens = np.array(opened)  # (V - 1,)
        self.closes = np.array(closed)  # (V - 1,)
        special = (eos, UNK)
        tags = [is_tag(t) and i not in special for i, t in enumerate(tokens)]
        self.is_word = np.array(tags)  # (V - 1,)
        self.is_end = np.arange(len(tokens)) == eos  # (V - 1,)


class TreeConstraint:
    """Tracks the open brackets of every hypothesis.

    Args:
        rules: Roles of the entries of the target vocabulary.
        n_words: Number of words of the sentence.
    """

    def __init__(self, rules: BracketRules, n_words: int) -> None:
        self.rules = rules
        self.remaining = np.array([n_words])  # (K,), words
        self.depth = np.zeros_like(self.remaining)  # (K,), open brackets
        self.chain = np.zeros_like(self.remaining)  # (K,), opening brackets at the end
        self.started = False
        self.labels = np.empty((1, 0), dtype=np.int64)  # (K, D), the open brackets

    def allowed(self, left: Longs) -> Flags:
        """Whether each token may follow each hypothesis: (K, V - 1)."""
        rules, inside = self.rules, self.depth > 0
        need = self.remaining + self.depth + 1  # (K,)
        may_open = (self.remaining > 0) & (self.chain < MAX_CHAIN)
        may_open &= self.depth + 2 <= MAX_DEPTH  # this bracket and that of a tag
        if self.started:
            may_open &= inside
        # After an opening bracket, `need` is one more and `left` one less.
        may_open = may_open & (need + 2 <= left)
        may_add_word = inside & (self.remaining > 0)
        too_early = (self.depth == 1) & (self.remaining > 0)  # the outermost bracket ends the tree
        may_close = inside & (self.chain == 0) & ~too_early
        may_end = ~inside & self.started
        open_label = np.where(may_close, self._open_label(), _NO_LABEL)
        flags: Flags = (
            (may_open[:, None] & (rules.opens != _OTHER))
            | (may_add_word[:, None] & rules.is_word)
            | (open_label[:, None] == rules.closes)
            | (may_end[:, None] & rules.is_end)
        )
        return flags

    def _open_label(self) -> Longs:
        """The label of the innermost open bracket (K,), or _NO_LABEL."""
        padded = np.pad(self.labels, ((0, 0), (1, 0)), constant_values=_NO_LABEL)  # (K, 1 + D)
        labels: Longs = padded[np.arange(len(padded)), self.depth]
        return labels

    def follow(self, beams: Longs, ids: Longs) -> None:
        """Let the hypotheses be hypothesis beams[k], extended by ids[k]."""
        opened = self.rules.opens[ids]  # (K',)
        depth = self.depth[beams]
        # Values above the innermost open bracket are never read.
        self.labels = np.pad(self.labels[beams], ((0, 0), (0, 1)))  # (K', D + 1)
        self.labels[np.arange(len(depth)), depth] = opened
        opens, closes = opened != _OTHER, self.rules.closes[ids] != _OTHER
        # A count below zero is possible only at probability zero; the search drops these
        # hypotheses.
        self.depth = (depth + opens - closes).clip(min=0)
        self.remaining = (self.remaining[beams] - self.rules.is_word[ids]).clip(min=0)
        self.chain = (self.chain[beams] + 1) * opens
        self.started = True
