"""x W^T + b; inference on a CPU keeps W in the layout that the matrix kernels read fastest.

The result for a row does not depend on the other rows, because oneDNN sums the products of every
row in the same order. See docs/decisions/0017-packed-weights.md and 0027-one-length-per-batch.md.
"""

import math
from collections.abc import Callable
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SOURCE_MULTIPLE = 16  # sources are padded to a multiple of this many tokens
MIN_SENTENCES = 2  # for a batch of one sentence, torch uses other kernels


def padded_length(length: int) -> int:
    """The length to which a sentence of this length is padded in inference."""
    return -(-length // SOURCE_MULTIPLE) * SOURCE_MULTIPLE


class PackedLinear(nn.Module):
    """x W^T + b for one W, which is packed at the first call and again whenever it changes.

    Packing applies only in torch's inference mode; training and all other differentiable code use
    `F.linear`. `train()` and `eval()` discard the packed copy, because fused optimizers change W
    without increasing its version.
    """

    __call__: Callable[..., Tensor]

    def __init__(self) -> None:
        super().__init__()
        self._packed: Tensor | None = None
        self._packed_version: tuple[int, ...] = ()

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """(..., n_in) and (n_out, n_in) -> (..., n_out)."""
        if not _can_pack(x, weight, bias):
            return F.linear(x, weight, bias)
        version = (weight.data_ptr(), version_of(weight), *weight.shape, *weight.stride())
        # Tensors created in inference mode have no version, so they may have changed.
        if weight.is_inference() or self._packed is None or version != self._packed_version:
            self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
            self._packed_version = version
        if x.numel() == x.shape[-1]:  # oneDNN uses another kernel for a single row
            return self._product(torch.stack([x, x]), bias)[0]
        return self._product(x, bias)

    def _product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        y: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, bias, "none", [], "")
        return y

    def train(self, mode: bool = True) -> Self:
        """Set training or evaluation mode and discard the packed weight."""
        self._packed = None
        return super().train(mode)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the packed weight, which cannot be copied."""
        return self.__dict__ | {"_packed": None}


class ScaledProjection(nn.Module):
    """x W^T + b, initialised to give the output `gain` times the mean square of x."""

    def __init__(self, n_in: int, n_out: int, *, gain: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(n_out))
        nn.init.normal_(self.weight, std=math.sqrt(gain / n_in))
        self._product = PackedLinear()

    def forward(self, x: Tensor) -> Tensor:
        """(..., n_in) -> (..., n_out)."""
        return self._product(x, self.weight, self.bias)


def _can_pack(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    return (
        not torch.compiler.is_compiling()  # the checks below would break the graph
        and torch.is_inference_mode_enabled()
        and x.numel() > 0
        and weight.numel() > 0
        and weight.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and (bias is None or bias.is_contiguous())  # oneDNN ignores the stride of a bias
        and torch.backends.mkldnn.is_available()
    )


def version_of(tensor: Tensor) -> int:
    """A number that increases with each change; 0 for tensors created in inference mode."""
    return 0 if tensor.is_inference() else tensor._version
