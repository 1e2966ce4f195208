"""x W^T + b, in inference on a CPU with W laid out as its matrix kernels read it.

See docs/decisions/0017-packed-weights.md.
"""

from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Matrix kernels round few rows otherwise than many; from so many rows on each row is the same
# whatever stands beside it (MKL). See docs/decisions/0015-batch-invariance.md.
MIN_ROWS = 16
# Below this size of W the call costs more than its layout saves.
_MIN_WEIGHT = 2**17


class PackedLinear(nn.Module):
    """x -> x W^T + b of one W, whose layout is remembered until W changes.

    In torch's inference mode alone: training and everything differentiable is `F.linear`.
    `train()` and `eval()` forget the layout, for fused optimisers change W unseen.
    """

    def __init__(self) -> None:
        super().__init__()
        self._packed: Tensor | None = None
        self._packed_of: tuple[int, ...] = ()

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """(..., n_in) and (n_out, n_in) -> (..., n_out)."""
        if not _worth_packing(x, weight):
            return F.linear(x, weight, bias)
        version = (weight.data_ptr(), weight._version, *weight.shape)
        if self._packed is None or version != self._packed_of:
            self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
            self._packed_of = version
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, bias, "none", [], "")
        return product

    def train(self, mode: bool = True) -> Self:
        """Change the mode, as torch's modules do."""
        self._packed = None
        return super().train(mode)

    def __getstate__(self) -> dict[str, Any]:
        """To be copied: a layout cannot be, and is soon made again."""
        return self.__dict__ | {"_packed": None}


def _worth_packing(x: Tensor, weight: Tensor) -> bool:
    return (
        not torch.compiler.is_compiling()  # the questions below would break its graph
        and torch.is_inference_mode_enabled()
        and not weight.is_inference()  # such a tensor does not say when it changes
        and weight.numel() >= _MIN_WEIGHT
        and weight.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and torch.backends.mkldnn.is_available()
    )
