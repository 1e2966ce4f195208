"""Placeholder tokens: each occurs in a translation exactly as often as in the source.

B sentences, K hypotheses per sentence, V vocabulary, N kinds of placeholder tokens.
"""

import copy
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from yakusu.data.vocabulary import EOS


class SlotGoal:
    """Lets the placeholder tokens of each sentence occur exactly as often as required.

    Until none is missing, eos may not follow; once only as many tokens are left as are missing, no
    other token may follow.

    Args:
        required: For each sentence, the placeholder tokens that must occur, with repetitions.
        kinds: All placeholder tokens of the vocabulary.
        n_beams: K.
        device: Device of the search.
    """

    def __init__(
        self,
        required: Sequence[Sequence[int]],
        kinds: Sequence[int],
        *,
        n_beams: int,
        device: torch.device,
    ) -> None:
        counts = [[ids.count(kind) for kind in kinds] for ids in map(list, required)]
        self.kinds = torch.tensor(kinds, device=device)  # (N,)
        self.missing = torch.tensor(counts, device=device)[:, None].repeat(1, n_beams, 1)
        self.required = self.missing[:, 0].sum(dim=-1)  # (B,)

    def restrict(self, logits: Tensor, left: Tensor) -> None:
        """Set the logits (B, K, V - 1) of tokens that may not follow to -inf, in place."""
        missing = self.missing.sum(dim=-1)  # (B, K)
        of_kinds = logits[:, :, self.kinds].masked_fill(self.missing == 0, -torch.inf)
        logits[:, :, EOS].masked_fill_(missing > 0, -torch.inf)
        last = (missing > 0) & (missing >= left - 1)  # (B, K)
        logits.masked_fill_(last[:, :, None], -torch.inf)
        logits[:, :, self.kinds] = of_kinds

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        """Let hypothesis k of sentence b be hypothesis beams[b, k], extended by ids[b, k]."""
        missing = self.missing.gather(1, beams[:, :, None].expand_as(self.missing))
        self.missing = (missing - (ids[:, :, None] == self.kinds).long()).clamp(min=0)

    def keep(self, sentences: Tensor) -> Self:
        """The goal of these sentences."""
        other = copy.copy(self)
        other.missing, other.required = self.missing[sentences], self.required[sentences]
        return other

    def proposals(self) -> Tensor:
        """The first missing token of each hypothesis: (B, K, 1), -1 for none."""
        is_missing = self.missing > 0
        first = self.kinds[is_missing.int().argmax(dim=-1)]  # (B, K)
        return first.where(is_missing.any(dim=-1), -1)[:, :, None]

    def progress(self, ids: Tensor) -> Tensor:
        """How many required tokens each hypothesis would have after a token: (B, K, n)."""
        placed = self.required[:, None] - self.missing.sum(dim=-1)  # (B, K)
        wanted = (ids[..., None] == self.kinds) & (self.missing > 0)[:, :, None]  # (B, K, n, N)
        return placed[:, :, None] + wanted.any(dim=-1).long()
