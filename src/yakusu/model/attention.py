"""Section 3.2: Attention.

B batch, T queries, S keys, H heads. Masks are boolean, True = may attend, and broadcast to
(B, H, T, S); every query may attend to at least one key.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.product import Product


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Scaled dot-product attention, section 3.2.1, Eq. 1: softmax(Q K^T / sqrt(d_k)) V.

    Args:
        query: (B, H, T, d_k).
        key: (B, H, S, d_k).
        value: (B, H, S, d_v).
        mask: True where a query may attend to a key; None: everywhere.

    Returns:
        (B, H, T, d_v).
    """
    return attention_weights(query, key, mask) @ value  # (B, H, T, d_v)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """How much each query attends to each key, the softmax of Eq. 1: (B, H, T, S)."""
    d_k = query.shape[-1]
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)  # (B, H, T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1)


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Eq. 1 in one kernel that never holds the (T, S) matrix; equals `attention`."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def causal_mask(size: int, device: torch.device) -> Tensor:
    """Section 3.2.3: position t may attend to positions up to t. (T, T)."""
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()


class Attends(nn.Module, ABC):
    """A layer in which each query attends to keys."""

    @abstractmethod
    def weights(self, query: Tensor, memory: Any, mask: Tensor | None) -> Tensor:
        """How much `forward` of the same inputs attends: (B, H, T, S); each row sums to one.

        Args:
            query: (B, T, D).
            memory: What it attends to, in whichever form the layer reads it.
            mask: True where a query may attend; None: everywhere.
        """


class MultiHeadAttention(Attends):
    """Multi-head attention, section 3.2.2: Concat(head_1, ..., head_h) W^O.

    W^Q, W^K and W^V of all heads lie in one matrix, so that self-attention projects once. As in
    the paper the projections have no bias, and d_k and d_v need not be d_model / h.
    """

    def __init__(self, *, d_model: int, n_heads: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.widths = (n_heads * d_k, n_heads * d_k, n_heads * d_v)
        self.w_qkv = nn.Parameter(torch.empty(sum(self.widths), d_model))
        self.w_o = nn.Parameter(torch.empty(d_model, n_heads * d_v))
        for matrix in (*self.w_qkv.split(self.widths), self.w_o):
            nn.init.xavier_uniform_(matrix)
        self._qkv, self._q, self._kv, self._o = (Product() for _ in range(4))

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """Attend from `query` (B, T, d_model) to `memory` (B, S, d_model): (B, T, d_model).

        Self-attention is `query is memory`.
        """
        if query is memory:
            q, k, v = self.project(query)
        else:
            q = self.project_query(query)
            k, v = self.project_key_value(memory)
        return self.combine(fused_attention(q, k, v, mask))

    def weights(self, query: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """How much each position of `query` attends to each of `memory`: (B, H, T, S)."""
        key, _ = self.project_key_value(memory)
        return attention_weights(self.project_query(query), key, mask)

    def project(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values of all heads: (B, H, T, d_k), (B, H, T, d_k), (B, H, T, d_v)."""
        return tuple(map(self._heads, self._qkv(x, self.w_qkv).split(self.widths, dim=-1)))

    def project_query(self, x: Tensor) -> Tensor:
        """Q W^Q of all heads: (B, H, T, d_k)."""
        return self._heads(self._q(x, self.w_qkv[: self.widths[0]]))

    def project_key_value(self, memory: Tensor) -> tuple[Tensor, ...]:
        """K W^K and V W^V of all heads: (B, H, S, d_k), (B, H, S, d_v)."""
        projected = self._kv(memory, self.w_qkv[self.widths[0] :])
        return tuple(map(self._heads, projected.split(self.widths[1:], dim=-1)))

    def combine(self, heads: Tensor) -> Tensor:
        """Concat(heads) W^O: (B, H, T, d_v) -> (B, T, d_model)."""
        return self._o(heads.transpose(1, 2).flatten(2), self.w_o)  # type: ignore[no-any-return]

    def _heads(self, x: Tensor) -> Tensor:
        heads: Tensor = x.unflatten(-1, (self.n_heads, -1))  # (B, T, H, d)
        return heads.transpose(1, 2)  # (B, H, T, d)
