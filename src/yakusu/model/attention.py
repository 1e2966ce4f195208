"""Section 3.2: Attention.

B batch, T queries, S keys, H heads. Masks are boolean, True = may attend, and broadcast to
(B, H, T, S); every query may attend to at least one key.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.linear import PackedLinear


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
    return masked_softmax(query @ key.transpose(-2, -1) / math.sqrt(d_k), mask)  # (B, H, T, S)


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Eq. 1 in one kernel that never holds the (T, S) matrix; equals `attention`."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Scores (B, H, T, S) turned into shares of the keys that a query may attend to."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1)


def causal_mask(size: int, device: torch.device) -> Tensor:
    """Section 3.2.3: position t may attend to positions up to t. (T, T)."""
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()


class Score(nn.Module, ABC):
    """A compatibility function, section 3.2.1: how well a query and a key suit each other."""

    @abstractmethod
    def weights(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
        """How much each query attends to each key: (B, H, T, S)."""

    def attention(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """The formula, (B, H, T, d_v): the same sums whatever the batch (docs/decisions/0015)."""
        return self.weights(query, key, mask) @ value

    def fused(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """The same in one kernel, where there is one."""
        return self.attention(query, key, value, mask)


class ScaledDotProduct(Score):
    """Q K^T / sqrt(d_k), the paper's choice."""

    def weights(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
        """How much each query attends to each key: (B, H, T, S)."""
        return attention_weights(query, key, mask)

    def fused(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """Torch's kernel."""
        return fused_attention(query, key, value, mask)


class DotProduct(ScaledDotProduct):
    """Q K^T: large products push the softmax to where its gradients are small."""

    def weights(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
        """How much each query attends to each key: (B, H, T, S)."""
        return super().weights(_unscaled(query), key, mask)

    def fused(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """Torch's kernel."""
        return super().fused(_unscaled(query), key, value, mask)


def _unscaled(query: Tensor) -> Tensor:
    """Queries sqrt(d_k) times as long, whose scaled products are the plain ones."""
    return query * math.sqrt(query.shape[-1])


class AdditiveScore(Score):
    """v^T tanh(W q + U k) per head: additive attention, one hidden layer of d_k units.

    W and U are the head's W^Q and W^K already: a second linear map would add nothing to them. Each
    pair of positions takes d_k numbers, so memory is O(T S d_k) and not O(T S).
    """

    def __init__(self, *, n_heads: int, d_k: int) -> None:
        super().__init__()
        self.v = nn.Parameter(torch.empty(n_heads, d_k))
        nn.init.normal_(self.v, std=1 / math.sqrt(d_k))

    def weights(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
        """How much each query attends to each key: (B, H, T, S)."""
        hidden = (query[:, :, :, None] + key[:, :, None]).tanh()  # (B, H, T, S, d_k)
        return masked_softmax(torch.einsum("bhtsk,hk->bhts", hidden, self.v), mask)  # (B, H, T, S)


class Attends(nn.Module):
    """A layer in which queries attend to keys.

    `weights` takes what the layer's `forward` takes and says how much that attends: (B, H, T, S);
    each row sums to one, unless it is of padding.
    """

    weights: Callable[..., Tensor]


class MultiHeadAttention(Attends):
    """Multi-head attention, section 3.2.2: Concat(head_1, ..., head_h) W^O.

    W^Q, W^K and W^V of all heads lie in one matrix, so that self-attention projects once. As in
    the paper the projections have no bias, and d_k and d_v need not be d_model / h. What attends to
    what is for its children to say: section 3.2.3 names three uses.

    Args:
        d_model: Width of what comes in and goes out.
        n_heads: h.
        d_k: Width of a head's queries and keys.
        d_v: Width of a head's values.
        score: The compatibility function.
    """

    def __init__(self, *, d_model: int, n_heads: int, d_k: int, d_v: int, score: Score) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.widths = (n_heads * d_k, n_heads * d_k, n_heads * d_v)
        self.w_qkv = nn.Parameter(torch.empty(sum(self.widths), d_model))
        self.w_o = nn.Parameter(torch.empty(d_model, n_heads * d_v))
        for matrix in (*self.w_qkv.split(self.widths), self.w_o):
            nn.init.xavier_uniform_(matrix)
        self.score = score
        self._qkv, self._q, self._kv, self._o = (PackedLinear() for _ in range(4))

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


class CrossAttention(MultiHeadAttention):
    """Section 3.2.3, first use: the decoder's positions attend to the encoder's."""

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """Attend from `query` (B, T, d_model) to `memory` (B, S, d_model): (B, T, d_model)."""
        k, v = self.project_key_value(memory)
        return self.combine(self.score.fused(self.project_query(query), k, v, mask))

    def weights(self, query: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """How much each position of `query` attends to each of `memory`: (B, H, T, S)."""
        key, _ = self.project_key_value(memory)
        return self.score.weights(self.project_query(query), key, mask)
