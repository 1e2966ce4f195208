"""The tokens of a padded batch without its padding: (B, n, d) <-> (N, d).

In training, the layers of a Transformer compute the N tokens of a batch as rows of one matrix;
only attention pads them. So sentences of all lengths share the products, and padding costs little
(docs/decisions/0060).

B batch, n positions, N tokens, d width.
"""

from typing import Any

import torch
from torch import Tensor


class TokenRows:
    """Where the tokens of a batch are.

    Args:
        is_token: (B, n), False at padding.
    """

    def __init__(self, is_token: Tensor) -> None:
        self.shape = is_token.shape
        self._index = is_token.flatten().nonzero()[:, 0]  # (N,)

    def pack(self, x: Tensor) -> Tensor:
        """(B, n, d) -> (N, d)."""
        packed: Tensor = _Pack.apply(x.flatten(0, 1), self._index)  # type: ignore[no-untyped-call]
        return packed

    def pad(self, x: Tensor) -> Tensor:
        """(N, d) -> (B, n, d), with zeros at padding."""
        n_positions = self.shape.numel()
        padded: Tensor = _Pad.apply(x, self._index, n_positions)  # type: ignore[no-untyped-call]
        return padded.view(*self.shape, -1)


# Each is the derivative of the other. That of indexing would add up the gradients of equal indices,
# of which there are none.


class _Pack(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.n_positions = len(x)
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        return _padded(gradient, index, ctx.n_positions), None


class _Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, n_positions: int) -> Tensor:
        ctx.save_for_backward(index)
        return _padded(x, index, n_positions)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (index,) = ctx.saved_tensors
        return gradient.index_select(0, index), None, None


def _padded(x: Tensor, index: Tensor, n_positions: int) -> Tensor:
    return x.new_zeros(n_positions, x.shape[1]).index_copy_(0, index, x)
