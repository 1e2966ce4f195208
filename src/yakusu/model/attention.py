"""Section 3.2: Attention.

B batch, T queries, S keys, H heads, K beam. Masks are boolean, True = may attend, and broadcast to
(B, H, T, S); every query can attend to at least one key.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.cache import Ancestry, CausalMixing, KeyValueCache, Mixing
from yakusu.model.config import TransformerConfig
from yakusu.model.dropout import drop
from yakusu.model.linear import PackedLinear
from yakusu.model.rows import TokenRows


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Scaled dot-product attention, section 3.2.1, Eq. 1: softmax(Q K^T / sqrt(d_k)) V.

    Decoding calls this at every step. The result for a query does not depend on the rest of the
    batch (docs/decisions/0027).

    Args:
        query: (B, H, T, d_k).
        key: (B, H, S, d_k).
        value: (B, H, S, d_v).
        mask: True where a query may attend to a key; None: every query may attend to every key.

    Returns:
        (B, H, T, d_v).
    """
    return attention_weights(query, key, mask) @ value  # (B, H, T, d_v)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """The attention weights of Eq. 1, softmax(Q K^T / sqrt(d_k)): (B, H, T, S)."""
    d_k = query.shape[-1]
    return masked_softmax(query @ key.mT / math.sqrt(d_k), mask)  # (B, H, T, S)


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    dropout: float = 0.0,
) -> Tensor:
    """Eq. 1 in one kernel that never stores the (T, S) matrix; equals `attention` up to rounding.

    PyTorch has no fused kernel with dropout for CPUs: the formula of `attention` is used instead.

    Training and the encoder call this, because they compute all positions at once. `dropout` is the
    probability that a weight is set to zero; the others are divided by 1 - `dropout`.
    """
    if query.device.type == "cpu":
        return _attention_on_cpu(query, key, value, mask, dropout)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)


def _attention_on_cpu(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, p: float
) -> Tensor:
    """`fused_attention` with the kernels that are fast on a CPU (docs/decisions/0048).

    In bfloat16, the backward pass of PyTorch's fused kernel is several times slower than in
    float32. PyTorch has no fused kernel with dropout for CPUs.
    """
    dtype = query.dtype
    with torch.autocast("cpu", enabled=False):
        if dtype is torch.bfloat16:
            query, key, value = query.float(), key.float(), value.float()
        if p:
            heads = drop(attention_weights(query, key, mask), p) @ value
        else:
            heads = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return heads.to(dtype)


def masked_softmax(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the keys that each query may attend to: (B, H, T, S) -> (B, H, T, S)."""
    if mask is not None:
        logits = logits.masked_fill(~mask, -torch.inf)
    return logits.softmax(dim=-1)


def causal_mask(size: int, device: torch.device) -> Tensor:
    """The mask (T, T) of section 3.2.3: position t may attend to all positions up to itself."""
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()


class Compatibility(nn.Module, ABC):
    """Base class of compatibility functions, section 3.2.1, that replace the functions above."""

    @abstractmethod
    def attention_weights(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
        """Attention weights (B, H, T, S)."""

    def attention(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """Replacement for `attention`: (B, H, T, d_v)."""
        return self.attention_weights(query, key, mask) @ value

    def fused_attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        *,
        dropout: float = 0.0,
    ) -> Tensor:
        """Replacement for `fused_attention`; a subclass may have a fused kernel."""
        return drop(self.attention_weights(query, key, mask), dropout) @ value


class Attends(nn.Module):
    """A layer in which queries attend to keys.

    `weights` takes the arguments of the layer's `forward` and returns the attention weights
    (B, H, T, S). The weights of each query sum to one, except at padding.
    """

    weights: Callable[..., Tensor]


class MultiHeadAttention(Attends):
    """Multi-head attention, section 3.2.2: Concat(head_1, ..., head_h) W^O.

    W^Q, W^K and W^V of all heads are stored in one matrix, so that self-attention needs only one
    matrix product. As in the paper, the projections have no bias (unless `config.biases`,
    docs/decisions/0034), and d_k and d_v may differ from d_model / h. The subclasses implement the
    three uses of attention in section 3.2.3.

    Args:
        config: The sizes d_model, n_heads, d_k, d_v, and `biases` and `attention_dropout`.
        score: Compatibility function to use instead of Eq. 1; None: Eq. 1.
    """

    b_qkv: nn.Parameter | None
    b_o: nn.Parameter | None

    def __init__(self, config: TransformerConfig, score: Compatibility | None = None) -> None:
        super().__init__()
        n_heads, d_k, d_v = config.n_heads, config.d_k, config.d_v
        self.n_heads, self.dropout = n_heads, config.attention_dropout
        self.widths = (n_heads * d_k, n_heads * d_k, n_heads * d_v)
        self.w_qkv = nn.Parameter(torch.empty(sum(self.widths), config.d_model))
        self.w_o = nn.Parameter(torch.empty(config.d_model, n_heads * d_v))
        for matrix in (*self.w_qkv.split(self.widths), self.w_o):
            nn.init.xavier_uniform_(matrix)
        self.register_parameter("b_qkv", _bias(sum(self.widths)) if config.biases else None)
        self.register_parameter("b_o", _bias(config.d_model) if config.biases else None)
        self.score = score
        self.attention = score.attention if score else attention
        self.fused_attention = score.fused_attention if score else fused_attention
        self.attention_weights = score.attention_weights if score else attention_weights
        self._qkv, self._q, self._kv, self._o = (PackedLinear() for _ in range(4))

    def project(self, x: Tensor, rows: TokenRows | None = None) -> tuple[Tensor, ...]:
        """Queries, keys and values of all heads: (B, H, T, d_k), (B, H, T, d_k), (B, H, T, d_v)."""
        projected = _padded(self._qkv(x, self.w_qkv, self.b_qkv), rows)
        return tuple(map(self._split_heads, projected.split(self.widths, dim=-1)))

    def project_query(self, x: Tensor, rows: TokenRows | None = None) -> Tensor:
        """Q W^Q of all heads: (B, H, T, d_k)."""
        own = slice(self.widths[0])
        projected = _padded(self._q(x, self.w_qkv[own], _part(self.b_qkv, own)), rows)
        return self._split_heads(projected)

    def project_key_value(
        self, memory: Tensor, rows: TokenRows | None = None
    ) -> tuple[Tensor, ...]:
        """K W^K and V W^V of all heads: (B, H, S, d_k), (B, H, S, d_v)."""
        own = slice(self.widths[0], None)
        projected = _padded(self._kv(memory, self.w_qkv[own], _part(self.b_qkv, own)), rows)
        return tuple(map(self._split_heads, projected.split(self.widths[1:], dim=-1)))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """All positions at once, with dropout of the weights in training: (B, H, T, d_v)."""
        dropout = self.dropout if self.training else 0.0
        return self.fused_attention(query, key, value, mask, dropout=dropout)

    def combine(self, heads: Tensor, rows: TokenRows | None = None) -> Tensor:
        """Concat(heads) W^O: (B, H, T, d_v) -> (B, T, d_model), or (N, d_model)."""
        concatenated = heads.transpose(1, 2).flatten(2)  # (B, T, H d_v)
        return self._o(rows.pack(concatenated) if rows else concatenated, self.w_o, self.b_o)

    def _split_heads(self, x: Tensor) -> Tensor:
        heads: Tensor = x.unflatten(-1, (self.n_heads, -1))  # (B, T, H, d)
        return heads.transpose(1, 2)  # (B, H, T, d)


def _bias(size: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(size))


def _part(bias: Tensor | None, part: slice) -> Tensor | None:
    return None if bias is None else bias[part]


def _padded(x: Tensor, rows: TokenRows | None) -> Tensor:
    return rows.pad(x) if rows else x


class CrossAttention(MultiHeadAttention):
    """Section 3.2.3, first use: each decoder position attends to every encoder position."""

    def forward(
        self,
        query: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        rows: TokenRows | None = None,
        memory_rows: TokenRows | None = None,
    ) -> Tensor:
        """Attend from `query` (B, T, d_model) to `memory` (B, S, d_model): (B, T, d_model).

        `rows` and `memory_rows`: where the tokens are, if these are without padding: (N, d_model).
        """
        k, v = self.project_key_value(memory, memory_rows)
        return self.combine(self.attend(self.project_query(query, rows), k, v, mask), rows)

    def prepare(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys (B, H, d_k, S) and values (B, H, S, d_v), stored in the order that `step` reads."""
        k, v = self.project_key_value(memory)
        return k.mT.contiguous(), v.contiguous()

    def step(self, x: Tensor, prepared: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        """(B, K, d_model) -> (B, K, d_model): the K hypotheses are K queries at one position."""
        key_t, value = prepared
        return self.combine(self.attention(self.project_query(x), key_t.mT, value, mask))

    def weights(self, query: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """The attention weights from positions of `query` to those of `memory`: (B, H, T, S)."""
        k, _ = self.project_key_value(memory)
        return self.attention_weights(self.project_query(query), k, mask)


class SelfAttention(MultiHeadAttention, Mixing):
    """Section 3.2.3, second use: each encoder position attends to every encoder position."""

    def forward(self, x: Tensor, mask: Tensor | None, rows: TokenRows | None = None) -> Tensor:
        """(B, n, d_model) -> (B, n, d_model), or (N, d_model) -> (N, d_model)."""
        q, k, v = self.project(x, rows)
        return self.combine(self.attend(q, k, v, self._visible(q, mask)), rows)

    def weights(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """The attention weights between all positions: (B, H, n, n)."""
        q, k, _ = self.project(x)
        return self.attention_weights(q, k, self._visible(q, mask))

    def _visible(self, q: Tensor, mask: Tensor | None) -> Tensor | None:
        """The mask of the keys that each query (B, H, n, d_k) may attend to; None: all keys."""
        return mask


class CausalSelfAttention(SelfAttention, CausalMixing[KeyValueCache]):
    """Section 3.2.3, third use: each decoder position attends to all positions up to itself."""

    def _visible(self, q: Tensor, mask: Tensor | None) -> Tensor:
        causal = causal_mask(q.shape[2], q.device)  # (n, n)
        return causal if mask is None else causal & mask

    def cache(self, ancestry: Ancestry) -> KeyValueCache:
        """An empty cache of keys and values."""
        return KeyValueCache(ancestry)

    def step(self, x: Tensor, cache: KeyValueCache) -> Tensor:
        """(B, K, d_model) -> (B, K, d_model): the K hypotheses are K queries at one position."""
        q, *new = self.project(x)
        k, v = cache.append(*new)
        ancestors = cache.ancestry.ancestors[:, None]  # (B, 1, K, n K)
        return self.combine(self.attention(q, k, v, ancestors))
