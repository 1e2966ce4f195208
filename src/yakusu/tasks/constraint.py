"""What may follow in a sentence of brackets, so that it ends as a tree over exactly N words.

B sentences, K hypotheses a sentence, V vocabulary, D tokens said, and so the most open brackets.

Of a hypothesis all that counts is which brackets are open, how many words are still to come, and
what its last token was. In L more tokens it can be ended if

    words to come + open brackets + 1 (eos) <= L

and each token either keeps that sum (an opening bracket adds one) or takes one off it. So a
hypothesis that obeys this can always be ended, and one that cannot be ended is never begun.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from yakusu.data.brackets import MAX_DEPTH, is_tag
from yakusu.data.tokenizer import UNK

MAX_CHAIN = 12  # opening brackets in a row; 6 in the Penn Treebank's sample and in GUM
_OTHER = -1  # of a token: it opens, or closes, no bracket
_NOTHING = -2  # no bracket is open, or none may be closed


class BracketRules:
    """What each token of a vocabulary is to a tree.

    Args:
        tokens: The written form of each id that a model may say.
        eos: The id that ends a sentence.
        device: Where the search runs.
    """

    def __init__(self, tokens: Sequence[str], *, eos: int, device: torch.device) -> None:
        labels = {token[1:]: i for i, token in enumerate(tokens) if token.startswith("(")}
        closed = [labels.get(t[1:], _OTHER) if t.startswith(")") else _OTHER for t in tokens]
        # A label is known by the id of its opening bracket; one that cannot be closed is no label.
        opened = [i if i in closed else _OTHER for i in range(len(tokens))]
        self.opens = torch.tensor(opened, device=device)  # (V,)
        self.closes = torch.tensor(closed, device=device)  # (V,)
        special = (eos, UNK)
        tags = [is_tag(t) and i not in special for i, t in enumerate(tokens)]
        self.is_word = torch.tensor(tags, device=device)  # (V,)
        self.is_end = torch.arange(len(tokens), device=device) == eos  # (V,)


class TreeConstraint:
    """The brackets of each hypothesis; moves as a `DecoderState` does.

    Args:
        rules: Of the target vocabulary.
        n_words: Of each sentence.
        n_beams: K.
    """

    def __init__(self, rules: BracketRules, n_words: Sequence[int], *, n_beams: int) -> None:
        self.rules = rules
        words = torch.tensor(n_words, device=rules.opens.device)
        self.to_come = words[:, None].repeat(1, n_beams)  # (B, K)
        self.depth = torch.zeros_like(self.to_come)  # (B, K), open brackets
        self.chain = torch.zeros_like(self.to_come)  # (B, K), opening brackets just before
        self.begun = False
        self.labels = self.to_come[:, :, None][:, :, :0]  # (B, K, D), of the open brackets

    def allowed(self, left: Tensor) -> Tensor:
        """The tokens that each hypothesis may say next (B, K, V).

        Args:
            left: How many tokens may still be said, that one and eos counted (B,).
        """
        rules, inside = self.rules, self.depth > 0
        need = self.to_come + self.depth + 1  # (B, K)
        may_open = (self.to_come > 0) & (self.chain < MAX_CHAIN)
        may_open &= self.depth + 2 <= MAX_DEPTH  # that bracket, and its word's
        if self.begun:
            may_open &= inside
        # Said now, an opening bracket leaves left - 1 tokens for a need that is one more.
        may_open &= need + 2 <= left[:, None]
        may_say_word = inside & (self.to_come > 0)
        last = (self.depth == 1) & (self.to_come > 0)  # the outermost bracket closes the tree
        may_close = inside & (self.chain == 0) & ~last
        may_end = ~inside & self.begun
        open_label = self._open_label().masked_fill(~may_close, _NOTHING)
        return (
            (may_open[:, :, None] & (rules.opens != _OTHER))
            | (may_say_word[:, :, None] & rules.is_word)
            | (open_label[:, :, None] == rules.closes)
            | (may_end[:, :, None] & rules.is_end)
        )  # (B, K, V)

    def _open_label(self) -> Tensor:
        """The label of the innermost open bracket (B, K); none where none is open."""
        padded = functional.pad(self.labels, (1, 0), value=_NOTHING)  # (B, K, 1 + D)
        return padded.gather(2, self.depth[:, :, None])[:, :, 0]  # (B, K)

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        """Let hypothesis k of sentence b be hypothesis beams[b, k] with the token ids[b, k] added.

        Args:
            beams: (B, K), numbers from 0 to K - 1.
            ids: (B, K).
        """
        opened = self.rules.opens[ids]  # (B, K)
        depth, to_come = self.depth.gather(1, beams), self.to_come.gather(1, beams)
        labels = self.labels.gather(1, beams[:, :, None].expand_as(self.labels))
        labels = functional.pad(labels, (0, 1))  # (B, K, D + 1)
        # What stands above the innermost open bracket is never read, so it may be anything.
        self.labels = labels.scatter(2, depth[:, :, None], opened[:, :, None])
        opens, closes = opened != _OTHER, self.rules.closes[ids] != _OTHER
        # Below zero are only hypotheses without a probability, which search drops.
        self.depth = (depth + opens.long() - closes.long()).clamp(min=0)
        self.to_come = (to_come - self.rules.is_word[ids].long()).clamp(min=0)
        self.chain = (self.chain.gather(1, beams) + 1) * opens
        self.begun = True

    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these; one may be kept more than once.

        Args:
            sentences: (B',), numbers from 0 to B - 1.
        """
        self.to_come, self.depth = self.to_come[sentences], self.depth[sentences]
        self.chain, self.labels = self.chain[sentences], self.labels[sentences]
