"""Sections 3.4 and 3.5: embeddings and positions.

B batch, T positions.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.linear import PackedLinear


class Embedding(nn.Module):
    """Sections 3.4 and 3.5: vectors times sqrt(d_model), plus positions, then dropout.

    Other architectures add positions to vectors as they are: `scaled = False`.
    """

    def __init__(
        self, d_model: int, positions: "Positions", dropout: float, *, scaled: bool = True
    ) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model) if scaled else 1.0
        self.positions = positions
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, position: int | None = None) -> Tensor:
        """(B, T, d_model), at positions 0 to T - 1 or all of them at one position."""
        first, n = (0, vectors.shape[1]) if position is None else (position, 1)
        return self.dropout(vectors * self.scale + self.positions(first, n))  # type: ignore[no-any-return]


class SinusoidalPositions(nn.Module):
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(same)."""

    table: Tensor

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.register_buffer("table", sinusoids(512, d_model), persistent=False)

    def forward(self, first: int, n: int) -> Tensor:
        """Rows `first` to `first + n - 1`: (n, d_model)."""
        if first + n > len(self.table):
            self.table = sinusoids(2 * (first + n), self.d_model).to(self.table)
        return self.table[first : first + n]


def sinusoids(n_positions: int, d_model: int) -> Tensor:
    """The table of section 3.5, sines and cosines interleaved: (n_positions, d_model)."""
    pos = torch.arange(n_positions, dtype=torch.float64)[:, None]
    two_i = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = pos / 10_000 ** (two_i / d_model)  # (n_positions, d_model / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1).float()


class LearnedPositions(nn.Module):
    """Table 3, row (E): a learned vector a position instead of sinusoids."""

    def __init__(self, d_model: int, max_positions: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_positions, d_model))
        nn.init.normal_(self.table, std=std)

    def forward(self, first: int, n: int) -> Tensor:
        """Rows `first` to `first + n - 1`: (n, d_model)."""
        return self.table[first : first + n]


Positions = SinusoidalPositions | LearnedPositions

# ---- from model/feedforward.py: Section 3.3: position-wise feed-forward networks.


class FeedForward(nn.Module):
    """Position-wise feed-forward network, section 3.3, Eq. 2: max(0, x W_1 + b_1) W_2 + b_2."""

    def __init__(self, *, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self._first, self._second = PackedLinear(), PackedLinear()

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        inner = self._first(x, self.inner.weight, self.inner.bias)
        return self._second(F.relu(inner), self.outer.weight, self.outer.bias)  # type: ignore[no-any-return]


# ---- from model/residual.py: Sections 3.1 and 5.4: what stands around each sublayer.

Sublayer = Callable[[Tensor], Tensor]


class PostNormResidual(nn.Module):
    """Sections 3.1 and 5.4: LayerNorm(x + Dropout(Sublayer(x)))."""

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        return self.norm(x + self.dropout(sublayer(x)))  # type: ignore[no-any-return]


class PreNormResidual(PostNormResidual):
    """x + Dropout(Sublayer(LayerNorm(x))): not the paper's, docs/decisions/0001."""

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        return x + self.dropout(sublayer(self.norm(x)))  # type: ignore[no-any-return]
