"""Weights in 8 bits: each row of a matrix is whole numbers from -127 to 127 times a scale.

The paper proposes it for what remains of a translator after its embeddings are compressed.
"""

from collections.abc import Collection, Mapping

import torch
from torch import Tensor

_SCALE = "scale of "


def to_int8(weights: Mapping[str, Tensor], keep: Collection[str] = ()) -> dict[str, Tensor]:
    """Every matrix of floats as int8 rows and, beside it, their scales; the rest as it is.

    Args:
        weights: By name.
        keep: Names of matrices that stay as they are too.
    """
    small: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if name in keep or tensor.ndim != 2 or not tensor.is_floating_point():
            small[name] = tensor
            continue
        scale = tensor.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(tensor.dtype).tiny)
        small[name] = (tensor * (127 / scale)).round().to(torch.int8)
        small[_SCALE + name] = scale / 127
    return small


def has_int8(weights: Mapping[str, Tensor]) -> bool:
    """Whether `to_int8` made them."""
    return any(name.startswith(_SCALE) for name in weights)


def from_int8(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights that `to_int8` was given, up to its rounding."""
    return {
        name: tensor * weights[_SCALE + name] if _SCALE + name in weights else tensor
        for name, tensor in weights.items()
        if not name.startswith(_SCALE)
    }
