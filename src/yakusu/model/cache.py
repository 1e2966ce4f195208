"""What relates positions to one another within a sequence: section 4's layers, and their caches.

B batch, n positions, K beam, H heads, d width of the states.

Self-attention is one such layer; the others of Table 1 take its place in a stack. In a decoder a
position may depend on those before it alone, and decoding computes one position at a time.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Window:
    """The positions that one position sees: so many before it, itself, so many after it."""

    before: int
    after: int

    @classmethod
    def around(cls, size: int) -> "Window":
        """`size` positions around the middle; of an even number one more lies before it."""
        return cls(size // 2, (size - 1) // 2)

    @classmethod
    def until(cls, size: int) -> "Window":
        """The last `size` positions, the present one included."""
        return cls(size - 1, 0)

    @property
    def size(self) -> int:
        """How many positions it spans."""
        return self.before + 1 + self.after


class Mixing(nn.Module, ABC):
    """A layer that maps n positions to n positions and lets each depend on others."""

    @abstractmethod
    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """All positions at once.

        Args:
            x: (B, n, d).
            mask: (B, 1, 1, n), True at positions that are no padding; None: none is.

        Returns:
            (B, n, d); of padding it may be anything.
        """


class CausalMixing(Mixing):
    """A `Mixing` for decoders: no position depends on later ones."""

    @abstractmethod
    def cache(self, ancestry: "Ancestry") -> "Cache":
        """What this layer remembers of hypotheses that have no position yet."""

    @abstractmethod
    def step(self, x: Tensor, cache: "Cache") -> Tensor:
        """The newest position (B, K, d) of K hypotheses a sentence: (B, K, d)."""


class Ancestry:
    """Which earlier places each hypothesis went through; docs/decisions/0010.

    ancestors[b, k, t K + j] is True where hypothesis k of sentence b went through place j at
    position t.
    """

    def __init__(self, n_batch: int, n_beams: int, device: torch.device) -> None:
        self.ancestors = torch.zeros(n_batch, n_beams, 0, dtype=torch.bool, device=device)

    @property
    def n_beams(self) -> int:
        """K."""
        return self.ancestors.shape[1]

    @property
    def n_steps(self) -> int:
        """The number of positions decoded."""
        return self.ancestors.shape[2] // self.n_beams

    def places(self, back: int) -> Tensor:
        """Through which place (B, K) each hypothesis went, so many positions ago."""
        ancestors = self.ancestors.view(*self.ancestors.shape[:2], self.n_steps, self.n_beams)
        return ancestors[:, :, -back].long().argmax(dim=-1)  # (B, K, K) -> (B, K)

    def grow(self) -> None:
        """Open the next position: each hypothesis sees its own place in it."""
        own = torch.eye(self.n_beams, dtype=torch.bool, device=self.ancestors.device)
        own = own.expand(len(self.ancestors), -1, -1)  # (B, K, K)
        self.ancestors = torch.cat([self.ancestors, own], dim=2)  # (B, K, n K)

    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b inherit from hypothesis beams[b, k]."""
        self.ancestors = self.ancestors.gather(1, beams[:, :, None].expand_as(self.ancestors))

    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these."""
        self.ancestors = self.ancestors[sentences]


class Cache(ABC):
    """What one layer of a decoder remembers of the positions decoded."""

    @abstractmethod
    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b go on from hypothesis beams[b, k]."""

    @abstractmethod
    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these."""


class KeyValueCache(Cache):
    """Keys and values of all positions of all hypotheses of one layer, (B, H, n K, d).

    Nothing moves when beams are reordered: a hypothesis finds its ancestors through a mask.

    Args:
        ancestry: The ancestors; one for all layers, whose state reorders it.
    """

    def __init__(self, ancestry: Ancestry) -> None:
        self.ancestry = ancestry
        self._buffers: list[Tensor] = []
        self._used = 0

    def append(self, *new: Tensor) -> list[Tensor]:
        """Add keys and values (B, H, K, d) of the newest position; return those of all."""
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
        """Nothing: the ancestry is reordered."""

    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these."""
        self._buffers = [buffer[:, :, : self._used][sentences] for buffer in self._buffers]


class CarriedCache(Cache):
    """What each hypothesis carries with it: tensors (B, K, ...), none before the first step."""

    def __init__(self) -> None:
        self.tensors: tuple[Tensor, ...] = ()

    def reorder(self, beams: Tensor) -> None:
        """Hypotheses take over copies."""
        rows = torch.arange(len(beams), device=beams.device)[:, None]  # (B, 1)
        self.tensors = tuple(tensor[rows, beams] for tensor in self.tensors)

    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these."""
        self.tensors = tuple(tensor[sentences] for tensor in self.tensors)
