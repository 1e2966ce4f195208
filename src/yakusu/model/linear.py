"""x W^T + b; inference on a CPU keeps W in the layout that the matrix kernels read fastest.

See docs/decisions/0017-packed-weights.md.
"""

from collections.abc import Callable
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Sizes that make a result independent of the rest of its batch on a CPU: docs/decisions/0015. They
# were observed with torch's kernels and MKL on AVX2 and AVX-512; tests/test_search.py checks them.
MIN_ROWS = 16  # products of fewer rows are rounded differently
SOURCE_MULTIPLE = 16  # sums over a multiple of 16 keys do not depend on the padding
MIN_PRODUCTS = 400  # torch multiplies smaller matrices with another kernel
# Smaller matrices gain less from packing than the call costs.
_MIN_WEIGHT = 2**17


class PackedLinear(nn.Module):
    """x W^T + b for one W, which is packed at the first call and again whenever it changes.

    Packing applies only in torch's inference mode; training and all other differentiable code use
    `F.linear`.
    `train()` and `eval()` discard the packed copy, because fused optimizers change W without
    increasing its version.
    """

    __call__: Callable[..., Tensor]

    def __init__(self) -> None:
        super().__init__()
        self._packed: Tensor | None = None
        self._packed_version: tuple[int, ...] = ()

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """(..., n_in) and (n_out, n_in) -> (..., n_out)."""
        if not _worth_packing(x, weight):
            return F.linear(x, weight, bias)
        version = (weight.data_ptr(), weight._version, *weight.shape)
        if self._packed is None or version != self._packed_version:
            self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
            self._packed_version = version
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, bias, "none", [], "")
        return product

    def train(self, mode: bool = True) -> Self:
        """Set training or evaluation mode and discard the packed weight."""
        self._packed = None
        return super().train(mode)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the packed weight, which cannot be copied."""
        return self.__dict__ | {"_packed": None}


def _worth_packing(x: Tensor, weight: Tensor) -> bool:
    return (
        not torch.compiler.is_compiling()  # the checks below would break the graph
        and torch.is_inference_mode_enabled()
        and not weight.is_inference()  # inference tensors have no version counter
        and weight.numel() >= _MIN_WEIGHT
        and weight.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and torch.backends.mkldnn.is_available()
    )
