"""Table 1's other layers, in place of self-attention: separable convolution and recurrence.

B batch, n positions, K beam, d width of the states, k kernel.

                          complexity          sequential   longest path
    recurrent             O(n d^2)            O(n)         O(n)
    separable convolution O(k n d + n d^2)    O(1)         O(n / k), in a stack of layers
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.cache import Ancestry, Cache, CarriedCache, CausalMixing, Mixing, Window
from yakusu.model.linear import PackedLinear


class SeparableConvolution(Mixing):
    """Section 4: y_i = W sum_j c_j * x_{i + j}, first over positions and then over the width.

    As Chollet 2017 has it, with nothing between the two. The paper's residual, LayerNorm and
    feed-forward network stand around it.

    Args:
        d_model: d.
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

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """(B, n, d) -> (B, n, d); beyond the sentence are zeros."""
        if mask is not None:
            x = x * mask[:, 0, 0, :, None]
        x = F.pad(x.mT, (self.window.before, self.window.after))  # (B, d, n + k - 1)
        x = F.conv1d(x, self.depthwise[:, None], groups=len(self.depthwise))  # (B, d, n)
        return self._across(x.mT)

    def _across(self, x: Tensor) -> Tensor:
        """The pointwise product, (..., d) -> (..., d)."""
        return self._product(x, self.pointwise.weight, self.pointwise.bias)  # type: ignore[no-any-return]


class CausalConvolution(SeparableConvolution, CausalMixing):
    """The same in the decoder, where the window ends in the present position."""

    def cache(self, ancestry: Ancestry) -> CarriedCache:
        """The last k - 1 inputs of each hypothesis."""
        return CarriedCache()

    def step(self, x: Tensor, cache: Cache) -> Tensor:
        """(B, K, d) -> (B, K, d)."""
        assert isinstance(cache, CarriedCache)
        (past,) = cache.tensors or (x.new_zeros(*x.shape, self.window.before),)
        seen = torch.cat([past, x[..., None]], dim=-1)  # (B, K, d, k)
        cache.tensors = (seen[..., 1:],)
        return self._across((seen * self.depthwise).sum(-1))


class BidirectionalRecurrence(Mixing):
    """In the encoder: an LSTM from each end, each of half the width, side by side.

    Args:
        d_model: d.
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.rightward = nn.LSTM(d_model, d_model // 2, batch_first=True)
        self.leftward = nn.LSTM(d_model, d_model // 2, batch_first=True)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """(B, n, d) -> (B, n, d)."""
        mirror = _mirror(x, mask)
        right, _ = self.rightward(x)  # (B, n, d / 2)
        left, _ = self.leftward(x.take_along_dim(mirror, dim=1))  # (B, n, d / 2)
        return torch.cat([right, left.take_along_dim(mirror, dim=1)], dim=-1)  # (B, n, d)


def _mirror(x: Tensor, mask: Tensor | None) -> Tensor:
    """Where each position goes when sentences are read from their ends: (B, n, 1).

    Padding stays behind the sentence, so that an LSTM never comes through it.
    """
    n_batch, n, _ = x.shape
    position = torch.arange(n, device=x.device).expand(n_batch, n)  # (B, n)
    if mask is None:
        return position.flip(1)[:, :, None]
    length = mask[:, 0, 0].sum(1, keepdim=True)  # (B, 1)
    return torch.where(position < length, length - 1 - position, position)[:, :, None]


class CausalRecurrence(CausalMixing):
    """In the decoder: an LSTM from left to right.

    Args:
        d_model: d.
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.rightward = nn.LSTM(d_model, d_model, batch_first=True)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """(B, n, d) -> (B, n, d)."""
        return self.rightward(x)[0]  # type: ignore[no-any-return]

    def cache(self, ancestry: Ancestry) -> CarriedCache:
        """h and c of each hypothesis."""
        return CarriedCache()

    def step(self, x: Tensor, cache: Cache) -> Tensor:
        """(B, K, d) -> (B, K, d)."""
        assert isinstance(cache, CarriedCache)
        h, c = cache.tensors or (torch.zeros_like(x), torch.zeros_like(x))
        before = h.flatten(0, 1)[None], c.flatten(0, 1)[None]  # (1, B K, d)
        _, after = self.rightward(x.flatten(0, 1)[:, None], before)  # (1, B K, d)
        cache.tensors = tuple(tensor.view_as(x) for tensor in after)  # (B, K, d)
        return cache.tensors[0]
