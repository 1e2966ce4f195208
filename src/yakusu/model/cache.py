"""Caches of earlier positions for decoding, and the interface of the layers that use them.

B batch, n positions, K beam, H heads, d width of the states.

A layer that relates the positions of a stack to one another is a `Mixing`: self-attention, or one
of its alternatives in variants.py. In the decoder, it is a `CausalMixing`: no position depends on
later ones, and decoding computes one position at a time, with a cache.
"""

from abc import ABC, abstractmethod
from typing import Any, Generic

import torch
from torch import Tensor, nn
from typing_extensions import TypeVar  # typing.TypeVar lacks `default` before 3.13

from yakusu.model.rows import TokenRows


class Ancestry:
    """Which slot each hypothesis occupied at every earlier position; docs/decisions/0010.

    ancestors[b, k, t K + j] is True if hypothesis k of sentence b occupied slot j at position t.
    """

    def __init__(self, n_batch: int, n_beams: int, device: torch.device) -> None:
        self.ancestors = torch.zeros(n_batch, n_beams, 0, dtype=torch.bool, device=device)

    @property
    def n_beams(self) -> int:
        """K, the number of hypotheses per sentence."""
        return self.ancestors.shape[1]

    @property
    def n_steps(self) -> int:
        """The number of positions decoded so far."""
        return self.ancestors.shape[2] // self.n_beams

    def slots(self, back: int) -> Tensor:
        """The slot (B, K) that each hypothesis occupied `back` positions ago."""
        ancestors = self.ancestors.view(*self.ancestors.shape[:2], self.n_steps, self.n_beams)
        return ancestors[:, :, -back].long().argmax(dim=-1)  # (B, K, K) -> (B, K)

    def grow(self) -> None:
        """Add a position, in which each hypothesis occupies its own slot."""
        own = torch.eye(self.n_beams, dtype=torch.bool, device=self.ancestors.device)
        own = own.expand(len(self.ancestors), -1, -1)  # (B, K, K)
        self.ancestors = torch.cat([self.ancestors, own], dim=2)  # (B, K, n K)

    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b continue hypothesis beams[b, k]."""
        self.ancestors = self.ancestors.gather(1, beams[:, :, None].expand_as(self.ancestors))

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences."""
        self.ancestors = self.ancestors[sentences]


class Cache(ABC):
    """The cache of one decoder layer, for the positions decoded so far."""

    @abstractmethod
    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b continue hypothesis beams[b, k]."""

    @abstractmethod
    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences."""


class KeyValueCache(Cache):
    """Keys and values of one layer, for all positions and hypotheses: (B, H, n K, d).

    Reordering beams copies nothing: a hypothesis finds its ancestors through a mask.

    Args:
        ancestry: Shared by all layers; the decoder state reorders it.
    """

    def __init__(self, ancestry: Ancestry) -> None:
        self.ancestry = ancestry
        self._buffers: list[Tensor] = []
        self._used = 0

    def append(self, *new: Tensor) -> list[Tensor]:
        """Add keys and values (B, H, K, d) of a new position; return those of all positions."""
        end = self._used + new[0].shape[2]
        if not self._buffers or end > self._buffers[0].shape[2]:
            self._buffers = [self._enlarged(i, tensor) for i, tensor in enumerate(new)]
        for buffer, tensor in zip(self._buffers, new, strict=True):
            buffer[:, :, self._used : end] = tensor
        self._used = end
        return [buffer[:, :, :end] for buffer in self._buffers]

    def _enlarged(self, i: int, new: Tensor) -> Tensor:
        n_batch, n_heads, n_new, width = new.shape
        buffer = new.new_empty(n_batch, n_heads, 2 * self._used + 16 * n_new, width)
        if self._used:
            buffer[:, :, : self._used] = self._buffers[i][:, :, : self._used]
        return buffer

    def reorder(self, beams: Tensor) -> None:
        """Do nothing: the shared ancestry is reordered instead."""

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences."""
        self._buffers = [buffer[:, :, : self._used][sentences] for buffer in self._buffers]


class CarriedCache(Cache):
    """Tensors (B, K, ...) that move with each hypothesis; empty before the first step."""

    def __init__(self) -> None:
        self.tensors: tuple[Tensor, ...] = ()

    def reorder(self, beams: Tensor) -> None:
        """Copy the tensors of the hypotheses that are continued."""
        rows = torch.arange(len(beams), device=beams.device)[:, None]  # (B, 1)
        self.tensors = tuple(tensor[rows, beams] for tensor in self.tensors)

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences."""
        self.tensors = tuple(tensor[sentences] for tensor in self.tensors)


class Mixing(nn.Module, ABC):
    """A layer that maps n positions to n positions, each of which may depend on the others."""

    @abstractmethod
    def forward(self, x: Tensor, mask: Tensor | None, rows: TokenRows | None = None) -> Tensor:
        """Compute all positions at once.

        Args:
            x: (B, n, d), or (N, d) without padding.
            mask: (B, 1, 1, n), True at tokens, False at padding; None: no padding.
            rows: Where the tokens are, if x is without padding.

        Returns:
            The shape of x, with arbitrary values at padding.
        """


CacheT = TypeVar("CacheT", bound=Cache, default=Any)


class CausalMixing(Mixing, Generic[CacheT]):
    """A `Mixing` for decoders: no position depends on later ones."""

    @abstractmethod
    def cache(self, ancestry: Ancestry) -> CacheT:
        """An empty cache."""

    @abstractmethod
    def step(self, x: Tensor, cache: CacheT) -> Tensor:
        """Compute the newest position of K hypotheses per sentence: (B, K, d) -> (B, K, d)."""
