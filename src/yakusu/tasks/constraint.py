"""Constrained decoding for parsing: every output is a tree over exactly the N words of a sentence.

B sentences, K hypotheses per sentence, V vocabulary, D tokens generated so far.

The state of a hypothesis is its open brackets, the number of remaining words and its last token.
It can be completed within L more tokens if

    remaining words + open brackets + 1 (eos) <= L

A word, a closing bracket or eos reduces the left side by one, and an opening bracket increases it
by one; each token reduces L by one. A token is allowed only if the inequality still holds after it,
so that every allowed hypothesis can be completed.
"""

import copy
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional

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
        device: Device of the search.
    """

    def __init__(self, tokens: Sequence[str], *, eos: int, device: torch.device) -> None:
        labels = {token[1:]: i for i, token in enumerate(tokens) if token.startswith("(")}
        closed = [labels.get(t[1:], _OTHER) if t.startswith(")") else _OTHER for t in tokens]
        # A label is the id of its opening bracket; brackets that cannot be closed are not opened.
        opened = [i if i in closed else _OTHER for i in range(len(tokens))]
        self.opens = torch.tensor(opened, device=device)  # (V,)
        self.closes = torch.tensor(closed, device=device)  # (V,)
        special = (eos, UNK)
        tags = [is_tag(t) and i not in special for i, t in enumerate(tokens)]
        self.is_word = torch.tensor(tags, device=device)  # (V,)
        self.is_end = torch.arange(len(tokens), device=device) == eos  # (V,)


class TreeConstraint:
    """Tracks the open brackets of every hypothesis; reordered together with the `DecoderState`.

    Args:
        rules: Roles of the entries of the target vocabulary.
        n_words: Number of words of each sentence.
        n_beams: Hypotheses per sentence, K.
    """

    def __init__(self, rules: BracketRules, n_words: Sequence[int], *, n_beams: int) -> None:
        self.rules = rules
        words = torch.tensor(n_words, device=rules.opens.device)
        self.remaining = words[:, None].repeat(1, n_beams)  # (B, K), words
        self.depth = torch.zeros_like(self.remaining)  # (B, K), open brackets
        self.chain = torch.zeros_like(self.remaining)  # (B, K), opening brackets at the end
        self.started = False
        self.labels = self.remaining[:, :, None][:, :, :0]  # (B, K, D), the open brackets

    def restrict(self, logits: Tensor, left: Tensor) -> None:
        """Set the logits of tokens that may not follow to -inf, in place.

        Args:
            logits: (B, K, V).
            left: Number of tokens that each hypothesis may still generate, including eos (B, K).
        """
        logits.masked_fill_(~self._allowed(left), -torch.inf)

    def _allowed(self, left: Tensor) -> Tensor:
        """Return a mask of the tokens that may extend each hypothesis (B, K, V)."""
        rules, inside = self.rules, self.depth > 0
        need = self.remaining + self.depth + 1  # (B, K)
        may_open = (self.remaining > 0) & (self.chain < MAX_CHAIN)
        may_open &= self.depth + 2 <= MAX_DEPTH  # this bracket and that of a tag
        if self.started:
            may_open &= inside
        # After an opening bracket, `need` is one more and `left` one less.
        may_open &= need + 2 <= left
        may_add_word = inside & (self.remaining > 0)
        too_early = (self.depth == 1) & (self.remaining > 0)  # the outermost bracket ends the tree
        may_close = inside & (self.chain == 0) & ~too_early
        may_end = ~inside & self.started
        open_label = self._open_label().masked_fill(~may_close, _NO_LABEL)
        return (
            (may_open[:, :, None] & (rules.opens != _OTHER))
            | (may_add_word[:, :, None] & rules.is_word)
            | (open_label[:, :, None] == rules.closes)
            | (may_end[:, :, None] & rules.is_end)
        )  # (B, K, V)

    def _open_label(self) -> Tensor:
        """Return the label of the innermost open bracket (B, K), or _NO_LABEL."""
        padded = functional.pad(self.labels, (1, 0), value=_NO_LABEL)  # (B, K, 1 + D)
        return padded.gather(2, self.depth[:, :, None])[:, :, 0]  # (B, K)

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        """Replace hypothesis k of sentence b by hypothesis beams[b, k] extended with ids[b, k].

        Args:
            beams: Indices of hypotheses, 0 to K - 1 (B, K).
            ids: Token ids (B, K).
        """
        opened = self.rules.opens[ids]  # (B, K)
        depth, remaining = self.depth.gather(1, beams), self.remaining.gather(1, beams)
        labels = self.labels.gather(1, beams[:, :, None].expand_as(self.labels))
        labels = functional.pad(labels, (0, 1))  # (B, K, D + 1)
        # Values above the innermost open bracket are never read.
        self.labels = labels.scatter(2, depth[:, :, None], opened[:, :, None])
        opens, closes = opened != _OTHER, self.rules.closes[ids] != _OTHER
        # A count below zero is possible only at probability zero; the search drops these
        # hypotheses.
        self.depth = (depth + opens.long() - closes.long()).clamp(min=0)
        self.remaining = (remaining - self.rules.is_word[ids].long()).clamp(min=0)
        self.chain = (self.chain.gather(1, beams) + 1) * opens
        self.started = True

    def keep(self, sentences: Tensor) -> Self:
        """Return the constraint of some sentences; a sentence may be repeated.

        Args:
            sentences: Indices of sentences, 0 to B - 1 (B',).
        """
        other = copy.copy(self)
        other.remaining, other.depth = self.remaining[sentences], self.depth[sentences]
        other.chain, other.labels = self.chain[sentences], self.labels[sentences]
        return other
