"""Section 3.4: embeddings and output projection, as tables that compressed ones can replace.

V vocabulary, D width.
"""

import math
from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.linear import PackedLinear


class Table(nn.Module, ABC):
    """A vector of width D for each of V ids; the last id is padding, and its vector is zero."""

    @abstractmethod
    def forward(self, ids: Tensor) -> Tensor:
        """The vectors (..., D) of ids (...)."""

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """The products (..., V - 1) of hidden states (..., D) and all vectors except padding."""


class DenseTable(Table):
    """A trainable matrix (V, D).

    The padding row is zero and stays zero: it gets no gradient, and no logit uses it.
    """

    def __init__(self, vocab_size: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, width))
        nn.init.normal_(self.weight, std=1 / math.sqrt(width))
        nn.init.zeros_(self.weight[-1])
        self._product = PackedLinear()

    def forward(self, ids: Tensor) -> Tensor:
        """The vectors (..., D) of ids (...)."""
        return F.embedding(ids, self.weight, padding_idx=len(self.weight) - 1)

    def logits(self, hidden: Tensor) -> Tensor:
        """The products (..., V - 1) of hidden states (..., D) and all vectors except padding.

        The padding row is included in the product and then dropped: with an even number of rows,
        the product is a third faster than with an odd number.
        """
        return self._product(hidden, self.weight)[..., :-1]
