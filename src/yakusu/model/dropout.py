"""Dropout, section 5.4: a value is set to zero with probability p, the others divided by 1 - p.

On a CPU, a value is dropped if 16 random bits are below p 2^16, with p rounded to a multiple of
2^-16. PyTorch draws 64 bits for each value, which takes longer (docs/decisions/0048).
Under torch.compile, PyTorch's dropout is used, for which the compiler generates code.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_CHOICES = 2**16


class Dropout(nn.Module):
    """Dropout in training mode; in evaluation mode, the values stay as they are.

    Args:
        p: Probability that a value is set to zero, in [0, 1).
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Apply dropout to values of any shape."""
        return drop(x, self.p) if self.training else x


def drop(x: Tensor, p: float) -> Tensor:
    """Set values of `x` to zero with probability `p`, and divide the others by 1 - `p`."""
    if p == 0:
        return x
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return F.dropout(x, p)
    n_dropped = min(round(p * _CHOICES), _CHOICES - 1)
    words = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    bits = words.view(torch.int16)[: x.numel()].view(x.shape)  # -2^15 to 2^15 - 1
    kept = bits >= n_dropped - _CHOICES // 2
    return x * kept.to(x.dtype).mul_(_CHOICES / (_CHOICES - n_dropped))
