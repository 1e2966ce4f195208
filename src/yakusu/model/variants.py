"""Variants of the Transformer: compatibility functions, and layers that replace self-attention.

B batch, n positions, K beam, H heads, d width of the states, r positions of a window or k of a
kernel.

                          complexity          sequential   longest path         (Table 1)
    restricted attention  O(r n d)            O(1)         O(n / r)
    recurrent             O(n d^2)            O(n)         O(n)
    separable convolution O(k n d + n d^2)    O(1)         O(n / k), in a stack of layers
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.attention import (
    Compatibility,
    SelfAttention,
    attention_weights,
    fused_attention,
    masked_softmax,
)
from yakusu.model.cache import Ancestry, CarriedCache, CausalMixing, KeyValueCache, Mixing
from yakusu.model.config import TransformerConfig
from yakusu.model.linear import PackedLinear
from yakusu.model.rows import TokenRows

Attention = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]

# ---- compatibility functions, section 3.2.1 ------------------------------------------------------


class DotProduct(Compatibility):
    """Q K^T without the scale: large products saturate the softmax, where gradients are small."""

    def attention_weights(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
        """Attention weights (B, H, T, S)."""
        return attention_weights(_unscaled(query), key, mask)

    def fused_attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        *,
        dropout: float = 0.0,
    ) -> Tensor:
        """Attention (B, H, T, d_v), computed by torch's fused kernel."""
        return fused_attention(_unscaled(query), key, value, mask, dropout=dropout)


def _unscaled(query: Tensor) -> Tensor:
    """Queries times sqrt(d_k), which cancels the scale of Eq. 1."""
    return query * math.sqrt(query.shape[-1])


class AdditiveCompatibility(Compatibility):
    """v^T tanh(W q + U k) per head: additive attention with one hidden layer of d_k units.

    W and U are the head's W^Q and W^K: a second linear map would add nothing. Each pair of
    positions takes d_k values, so memory is O(T S d_k) instead of O(T S).
    """

    def __init__(self, *, n_heads: int, d_k: int) -> None:
        super().__init__()
        self.v = nn.Parameter(torch.empty(n_heads, d_k))
        nn.init.normal_(self.v, std=1 / math.sqrt(d_k))

    def attention_weights(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
        """Attention weights (B, H, T, S)."""
        hidden = (query[:, :, :, None] + key[:, :, None]).tanh()  # (B, H, T, S, d_k)
        logits = (hidden @ self.v[:, None, :, None])[..., 0]  # (B, H, T, S)
        return masked_softmax(logits, mask)  # (B, H, T, S)


# ---- restricted self-attention, section 4 --------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """The positions that one position sees: `before` it, itself, and `after` it."""

    before: int
    after: int

    @classmethod
    def around(cls, size: int) -> "Window":
        """`size` positions around the current one; if `size` is even, one more before it."""
        return cls(size // 2, (size - 1) // 2)

    @classmethod
    def until(cls, size: int) -> "Window":
        """The last `size` positions, including the current one."""
        return cls(size - 1, 0)

    @property
    def size(self) -> int:
        """Number of positions in the window."""
        return self.before + 1 + self.after


class RestrictedSelfAttention(SelfAttention):
    """Self-attention restricted to a neighbourhood of r positions, section 4.

    Args:
        config: The sizes: d_model, n_heads, d_k, d_v.
        score: Compatibility function to use instead of Eq. 1; None: Eq. 1.
        window: The neighbourhood.
    """

    def __init__(
        self, config: TransformerConfig, score: Compatibility | None, window: Window
    ) -> None:
        super().__init__(config, score)
        self.window = window

    def forward(self, x: Tensor, mask: Tensor | None, rows: TokenRows | None = None) -> Tensor:
        """(B, n, d_model) -> (B, n, d_model), or (N, d_model) -> (N, d_model)."""
        q, k, v = self.project(x, rows)
        heads = band_attention(q, k, v, mask, window=self.window, attend=self.attend)
        return self.combine(heads, rows)

    def weights(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """The attention weights between all positions, as the full matrix (B, H, n, n)."""
        q, k, _ = self.project(x)
        position = torch.arange(x.shape[1], device=x.device)
        distance = position - position[:, None]  # (n, n): key minus query
        visible = (-self.window.before <= distance) & (distance <= self.window.after)
        if mask is not None:
            visible = visible & mask  # (B, 1, n, n)
        own = distance == 0  # padding may have no other key
        return self.attention_weights(q, k, visible | own).masked_fill(~visible, 0)


class CausalRestrictedSelfAttention(RestrictedSelfAttention, CausalMixing[KeyValueCache]):
    """Restricted self-attention in the decoder; the window ends at the current position."""

    def cache(self, ancestry: Ancestry) -> KeyValueCache:
        """An empty cache of keys and values."""
        return KeyValueCache(ancestry)

    def step(self, x: Tensor, cache: KeyValueCache) -> Tensor:
        """(B, K, d_model) -> (B, K, d_model): attend to the last r positions."""
        q, *new = self.project(x)
        n_slots = self.window.size * x.shape[1]  # r K
        k, v = (tensor[:, :, -n_slots:] for tensor in cache.append(*new))
        ancestors = cache.ancestry.ancestors[:, None, :, -n_slots:]  # (B, 1, K, r K)
        return self.combine(self.attention(q, k, v, ancestors))


def band_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    window: Window,
    attend: Attention = fused_attention,
) -> Tensor:
    """Attention of each position to its window.

    N blocks of b = r - 1 queries each attend to the w = b + r - 1 keys that they can see, so memory
    is O(r n) instead of O(n^2).

    Args:
        query: (B, H, n, d_k).
        key: (B, H, n, d_k).
        value: (B, H, n, d_v).
        mask: (B, 1, 1, n), True at tokens, False at padding; None: no padding.
        window: The positions that a position sees.
        attend: Attention function that is applied to each block and its keys.

    Returns:
        (B, H, n, d_v).
    """
    n_batch, _, n, _ = query.shape
    window = Window(min(window.before, n - 1), min(window.after, n - 1))
    block = max(1, window.before + window.after)
    q = F.pad(query, (0, 0, 0, -n % block)).unflatten(2, (-1, block))  # (B, H, N, b, d_k)
    real = query.new_ones(n_batch, n, dtype=torch.bool) if mask is None else mask[:, 0, 0]
    heads = attend(
        q.transpose(1, 2).flatten(0, 1),  # (B N, H, b, d_k)
        _blocks_seen(key, window, block),
        _blocks_seen(value, window, block),
        _band_mask(real, window, block),
    )
    blocks: Tensor = heads.unflatten(0, (n_batch, -1))  # (B, N, H, b, d_v)
    return blocks.transpose(1, 2).flatten(2, 3)[:, :, :n]  # (B, H, n, d_v)


def _blocks_seen(x: Tensor, window: Window, block: int) -> Tensor:
    """The keys or values (B, H, n, d) that each block of queries can see: (B N, H, w, d)."""
    x = F.pad(x, (0, 0, window.before, window.after + -x.shape[2] % block))
    blocks = x.unfold(2, block + window.size - 1, block)  # (B, H, N, d, w)
    return blocks.permute(0, 2, 1, 4, 3).flatten(0, 1)  # (B N, H, w, d)


def _band_mask(real: Tensor, window: Window, block: int) -> Tensor:
    """The mask of the keys of its block that each query may attend to: (B N, 1, b, w).

    Key j of a block is `before` positions earlier than query j. Padding attends to itself, because
    every query needs a key.
    """
    real = F.pad(real, (window.before, window.after + -real.shape[1] % block))
    real = real.unfold(1, block + window.size - 1, block).flatten(0, 1)  # (B N, w)
    key = torch.arange(block + window.size - 1, device=real.device)
    offset = key - torch.arange(block, device=real.device)[:, None]  # (b, w)
    near = (offset >= 0) & (offset < window.size)
    return ((real[:, None] & near) | (offset == window.before))[:, None]  # (B N, 1, b, w)


# ---- convolution and recurrence, Table 1 ---------------------------------------------------------


class SeparableConvolution(Mixing):
    """Section 4: y_i = W sum_j c_j * x_{i + j}, first over positions, then over the width.

    As in Chollet 2017, with nothing between the two steps. The paper's residual connection,
    LayerNorm and feed-forward network surround it.

    Args:
        d_model: Width d of the states.
        window: The k positions that a position sees.
    """

    def __init__(self, *, d_model: int, window: Window) -> None:
        super().__init__()
        self.window = window
        self.depthwise = nn.Parameter(torch.empty(d_model, window.size))
        self.pointwise = nn.Linear(d_model, d_model)
        nn.init.normal_(self.depthwise, std=1 / math.sqrt(window.size))
        nn.init.xavier_uniform_(self.pointwise.weight)
        nn.init.zeros_(self.pointwise.bias)
        self._product = PackedLinear()

    def forward(self, x: Tensor, mask: Tensor | None, rows: TokenRows | None = None) -> Tensor:
        """(B, n, d) -> (B, n, d), with zeros beyond the ends of a sentence."""
        if rows:
            return rows.pack(self(rows.pad(x), mask))
        if mask is not None:
            x = x * mask[:, 0, 0, :, None]
        x = F.pad(x.mT, (self.window.before, self.window.after))  # (B, d, n + k - 1)
        x = F.conv1d(x, self.depthwise[:, None], groups=len(self.depthwise))  # (B, d, n)
        return self._product(x.mT, self.pointwise.weight, self.pointwise.bias)


class CausalConvolution(SeparableConvolution, CausalMixing[CarriedCache]):
    """Separable convolution in the decoder; the window ends at the current position."""

    def cache(self, ancestry: Ancestry) -> CarriedCache:
        """A cache for the last k - 1 inputs of each hypothesis."""
        return CarriedCache()

    def step(self, x: Tensor, cache: CarriedCache) -> Tensor:
        """(B, K, d) -> (B, K, d)."""
        (past,) = cache.tensors or (x.new_zeros(*x.shape, self.window.before),)
        seen = torch.cat([past, x[..., None]], dim=-1)  # (B, K, d, k)
        cache.tensors = (seen[..., 1:],)
        x = (seen * self.depthwise).sum(-1)  # (B, K, d)
        return self._product(x, self.pointwise.weight, self.pointwise.bias)


class BidirectionalRecurrence(Mixing):
    """Recurrence in the encoder: two LSTMs of half the width, one per direction, concatenated.

    Args:
        d_model: Width d of the states.
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.rightward = nn.LSTM(d_model, d_model // 2, batch_first=True)
        self.leftward = nn.LSTM(d_model, d_model // 2, batch_first=True)

    def forward(self, x: Tensor, mask: Tensor | None, rows: TokenRows | None = None) -> Tensor:
        """(B, n, d) -> (B, n, d)."""
        if rows:
            return rows.pack(self(rows.pad(x), mask))
        mirror = _mirror(x, mask)
        right, _ = self.rightward(x)  # (B, n, d / 2)
        left, _ = self.leftward(x.take_along_dim(mirror, dim=1))  # (B, n, d / 2)
        return torch.cat([right, left.take_along_dim(mirror, dim=1)], dim=-1)  # (B, n, d)


def _mirror(x: Tensor, mask: Tensor | None) -> Tensor:
    """The positions of each sentence in reverse order: (B, n, 1).

    Padding stays at the end, so that an LSTM reads it last.
    """
    n_batch, n, _ = x.shape
    position = torch.arange(n, device=x.device).expand(n_batch, n)  # (B, n)
    if mask is None:
        return position.flip(1)[:, :, None]
    length = mask[:, 0, 0].sum(1, keepdim=True)  # (B, 1)
    return torch.where(position < length, length - 1 - position, position)[:, :, None]


class CausalRecurrence(CausalMixing[CarriedCache]):
    """Recurrence in the decoder: an LSTM that runs from left to right.

    Args:
        d_model: Width d of the states.
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.rightward = nn.LSTM(d_model, d_model, batch_first=True)

    def forward(self, x: Tensor, mask: Tensor | None, rows: TokenRows | None = None) -> Tensor:
        """(B, n, d) -> (B, n, d)."""
        if rows:
            return rows.pack(self(rows.pad(x), mask))
        states: Tensor = self.rightward(x)[0]
        return states

    def cache(self, ancestry: Ancestry) -> CarriedCache:
        """A cache for h and c of each hypothesis."""
        return CarriedCache()

    def step(self, x: Tensor, cache: CarriedCache) -> Tensor:
        """(B, K, d) -> (B, K, d)."""
        h, c = cache.tensors or (torch.zeros_like(x), torch.zeros_like(x))
        before = h.flatten(0, 1)[None], c.flatten(0, 1)[None]  # (1, B K, d)
        _, after = self.rightward(x.flatten(0, 1)[:, None], before)  # (1, B K, d)
        cache.tensors = tuple(tensor.view_as(x) for tensor in after)  # (B, K, d)
        return cache.tensors[0]
