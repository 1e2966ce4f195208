"""Self-attention, section 3.2.3, and the restricted one of section 4.

B batch, n positions, K beam, H heads; N blocks of b positions, each seen with w = b + r - 1 keys.

A position i that sees the r positions of a window has keys i - before to i + after. Computed on
this band alone, in blocks of b = r - 1 queries, memory is O(r n) instead of O(n^2).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from yakusu.model.attention import MultiHeadAttention, Score, causal_mask
from yakusu.model.cache import Ancestry, Cache, CausalMixing, KeyValueCache, Mixing, Window


class SelfAttention(MultiHeadAttention, Mixing):
    """Second use: in the encoder every position attends to every position."""

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """(B, n, d_model) -> (B, n, d_model)."""
        q, k, v = self.project(x)
        return self.combine(self.score.fused(q, k, v, self._visible(x, mask)))

    def weights(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """How much each position attends to each: (B, H, n, n)."""
        q, k, _ = self.project(x)
        return self.score.weights(q, k, self._visible(x, mask))

    def _visible(self, x: Tensor, mask: Tensor | None) -> Tensor | None:
        """Which keys each query may attend to."""
        return mask


class CausalSelfAttention(SelfAttention, CausalMixing):
    """Third use: in the decoder a position attends to those up to itself."""

    def _visible(self, x: Tensor, mask: Tensor | None) -> Tensor:
        causal = causal_mask(x.shape[1], x.device)  # (n, n)
        return causal if mask is None else causal & mask

    def cache(self, ancestry: Ancestry) -> KeyValueCache:
        """Keys and values of no position."""
        return KeyValueCache(ancestry)

    def step(self, x: Tensor, cache: Cache) -> Tensor:
        """(B, K, d_model) -> (B, K, d_model): K hypotheses are K queries at one position."""
        assert isinstance(cache, KeyValueCache)
        query, *new = self.project(x)
        key, value = cache.append(*new)
        ancestors = cache.ancestry.ancestors[:, None]  # (B, 1, K, n K)
        return self.combine(self.score.attention(query, key, value, ancestors))


class RestrictedSelfAttention(SelfAttention):
    """Self-attention restricted to a neighbourhood of r positions, section 4.

    Args:
        d_model: Width of what comes in and goes out.
        n_heads: h.
        d_k: Width of a head's queries and keys.
        d_v: Width of a head's values.
        score: The compatibility function.
        window: The neighbourhood.
    """

    def __init__(
        self, *, d_model: int, n_heads: int, d_k: int, d_v: int, score: Score, window: Window
    ) -> None:
        super().__init__(d_model=d_model, n_heads=n_heads, d_k=d_k, d_v=d_v, score=score)
        self.window = window

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """(B, n, d_model) -> (B, n, d_model)."""
        q, k, v = self.project(x)
        return self.combine(band_attention(q, k, v, mask, self.window, self.score))

    def weights(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """How much each position attends to each: (B, H, n, n); all of it, not the band alone."""
        q, k, _ = self.project(x)
        position = torch.arange(x.shape[1], device=x.device)
        distance = position - position[:, None]  # (n, n): key less query
        visible = (-self.window.before <= distance) & (distance <= self.window.after)
        if mask is not None:
            visible = visible & mask  # (B, 1, n, n)
        own = distance == 0  # padding may have no other key
        return self.score.weights(q, k, visible | own).masked_fill(~visible, 0)


class CausalRestrictedSelfAttention(RestrictedSelfAttention, CausalMixing):
    """The same in the decoder, where the window ends in the present position."""

    def cache(self, ancestry: Ancestry) -> KeyValueCache:
        """Keys and values of no position."""
        return KeyValueCache(ancestry)

    def step(self, x: Tensor, cache: Cache) -> Tensor:
        """(B, K, d_model) -> (B, K, d_model), by the last r positions of each hypothesis."""
        assert isinstance(cache, KeyValueCache)
        query, *new = self.project(x)
        places = self.window.size * x.shape[1]  # r K
        key, value = (tensor[:, :, -places:] for tensor in cache.append(*new))
        ancestors = cache.ancestry.ancestors[:, None, :, -places:]  # (B, 1, K, r K)
        return self.combine(self.score.attention(query, key, value, ancestors))


def band_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, window: Window, score: Score
) -> Tensor:
    """Attention of each position to its window, in blocks of queries with the keys they see.

    Args:
        query: (B, H, n, d_k).
        key: (B, H, n, d_k).
        value: (B, H, n, d_v).
        mask: (B, 1, 1, n), True at positions that are no padding; None: none is.
        window: What a position sees.
        score: The compatibility function.

    Returns:
        (B, H, n, d_v).
    """
    n_batch, _, n, _ = query.shape
    before, after = min(window.before, n - 1), min(window.after, n - 1)
    window, block = Window(before, after), max(1, before + after)
    q = F.pad(query, (0, 0, 0, -n % block)).unflatten(2, (-1, block))  # (B, H, N, b, d_k)
    real = query.new_ones(n_batch, n, dtype=torch.bool) if mask is None else mask[:, 0, 0]
    heads = score.fused(
        q.transpose(1, 2).flatten(0, 1),  # (B N, H, b, d_k)
        _seen(key, window, block),
        _seen(value, window, block),
        _band_mask(real, window, block),
    )
    blocks: Tensor = heads.unflatten(0, (n_batch, -1))  # (B, N, H, b, d_v)
    return blocks.transpose(1, 2).flatten(2, 3)[:, :, :n]  # (B, H, n, d_v)


def _seen(x: Tensor, window: Window, block: int) -> Tensor:
    """What each block of queries sees of keys or values (B, H, n, d): (B N, H, w, d)."""
    x = F.pad(x, (0, 0, window.before, window.after + -x.shape[2] % block))
    blocks = x.unfold(2, block + window.size - 1, block)  # (B, H, N, d, w)
    return blocks.permute(0, 2, 1, 4, 3).flatten(0, 1)  # (B N, H, w, d)


def _band_mask(real: Tensor, window: Window, block: int) -> Tensor:
    """Which of its keys each query of a block may attend to: (B N, 1, b, w).

    Key j of a block is `before` positions earlier than query j. Padding sees itself, for every
    query must see a key.
    """
    real = F.pad(real, (window.before, window.after + -real.shape[1] % block))
    real = real.unfold(1, block + window.size - 1, block).flatten(0, 1)  # (B N, w)
    key = torch.arange(block + window.size - 1, device=real.device)
    offset = key - torch.arange(block, device=real.device)[:, None]  # (b, w)
    near = (offset >= 0) & (offset < window.size)
    return ((real[:, None] & near) | (offset == window.before))[:, None]  # (B N, 1, b, w)
