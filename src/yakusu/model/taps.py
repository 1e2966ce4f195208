"""Dilated convolutions as one matrix product: the taps of a kernel, docs/decisions/0023.

With kernel size k and dilation d, a convolution that looks back multiplies, at position t,

    u_t = [x_(t - (k - 1) d); ...; x_(t - d); x_t],    where x is zero before the first position

B batch, T positions, K beam, C width of x, k taps.
"""

from collections import deque

import torch
import torch.nn.functional as F
from torch import Tensor

from yakusu.model.cache import Ancestry, Cache


def taps_of(x: Tensor, *, dilation: int, back: int, ahead: int = 0) -> list[Tensor]:
    """The taps of all positions at once, the earliest first: k tensors (B, T, C).

    Args:
        x: (B, T, C).
        dilation: Distance between two taps.
        back: Distance of the earliest tap before the current position.
        ahead: Distance of the latest tap after it.
    """
    n = x.shape[1]
    x = F.pad(x, (0, 0, back, ahead))  # (B, back + T + ahead, C)
    return [x[:, i : i + n] for i in range(0, back + ahead + 1, dilation)]


class TapCache(Cache):
    """The latest inputs of a convolution that looks back; reordering copies nothing.

    Args:
        ancestry: Shared by all layers; the decoder state reorders it.
        span: Distance from the earliest tap to the current position.
        dilation: Distance between two taps.
    """

    def __init__(self, ancestry: Ancestry, *, span: int, dilation: int) -> None:
        self.ancestry, self.dilation = ancestry, dilation
        self._inputs: deque[Tensor] = deque(maxlen=span)  # (B, K, C) each

    def __len__(self) -> int:
        """The number of positions that are kept."""
        return len(self._inputs)

    def taps(self, x: Tensor) -> list[Tensor]:
        """Add the input x (B, K, C) of a new position; return its k taps, the earliest first."""
        span = self._inputs.maxlen or 0
        taps = [
            self._look_back(n) if n <= len(self) else torch.zeros_like(x)
            for n in range(span, 0, -self.dilation)
        ]
        self._inputs.append(x)
        return [*taps, x]

    def _look_back(self, distance: int) -> Tensor:
        """The input of each hypothesis `distance` positions ago: (B, K, C)."""
        past = self._inputs[-distance]  # (B, K, C)
        n_batch, n_beams, _ = past.shape
        first = torch.arange(n_batch, device=past.device)[:, None] * n_beams
        return past.flatten(0, 1)[first + self.ancestry.slots(distance)]  # (B, K, C)

    def reorder(self, beams: Tensor) -> None:
        """Do nothing: the shared ancestry is reordered instead."""

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences."""
        self._inputs = deque((x[sentences] for x in self._inputs), self._inputs.maxlen)
