"""Sections 3.1 and 3.3 to 3.5: feed-forward network, residual connections, embeddings, positions.

B batch, T positions.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.dropout import Dropout
from yakusu.model.linear import PackedLinear

Layer = TypeVar("Layer", bound=nn.Module)


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), the same bits wherever an element lies in memory.

    On a CPU, `torch.sigmoid` rounds the last elements of a tensor, or of a thread's part of it, in
    another way than the others, so the result for a sentence would depend on its batch. The same
    applies to `F.glu` and `torch.logaddexp`, but not to `exp`, `log1p` and `tanh`.
    """
    return 1 / (1 + x.neg().exp())


def silu(x: Tensor) -> Tensor:
    """x sigmoid(x), in inference with the same bits wherever an element lies in memory."""
    return x * sigmoid(x) if _in_inference() else F.silu(x)


def gelu(x: Tensor) -> Tensor:
    """x / 2 (1 + erf(x / sqrt(2))), not its approximation by tanh; see `silu`."""
    return x * 0.5 * (1 + (x * math.sqrt(0.5)).erf()) if _in_inference() else F.gelu(x)


def _in_inference() -> bool:
    # The second call would break the graph of torch.compile.
    return not torch.compiler.is_compiling() and torch.is_inference_mode_enabled()


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "silu": silu, "gelu": gelu}


class FeedForward(nn.Module):
    """Position-wise feed-forward network, section 3.3, Eq. 2: max(0, x W_1 + b_1) W_2 + b_2.

    Args:
        d_model: Width of x.
        d_ff: Width of the inner layer.
        activation: Name of the function in place of max(0, x), docs/decisions/0034.
        dropout: Probability that an inner value is dropped in training.
    """

    def __init__(
        self, d_model: int, d_ff: int, *, activation: str = "relu", dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.activation = ACTIVATIONS[activation]
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self._first, self._second = PackedLinear(), PackedLinear()

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        inner = self.activation(self._first(x, self.inner.weight, self.inner.bias))  # (..., d_ff)
        return self._second(self.dropout(inner), self.outer.weight, self.outer.bias)


class Residual(nn.Module):
    """The residual connection around a sublayer, sections 3.1 and 5.4.

    Post-norm, as in the paper: LayerNorm(x + Dropout(Sublayer(x))).
    Pre-norm (docs/decisions/0001):  x + Dropout(Sublayer(LayerNorm(x))).

    A layer calls `residual.add(x, sublayer(residual.input(x)))`.

    Args:
        d_model: Width of x.
        dropout: P_drop.
        pre_norm: Normalise the sublayer's input instead of the sum.
    """

    def __init__(self, d_model: int, dropout: float, *, pre_norm: bool = False) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)
        self.pre_norm = pre_norm

    def input(self, x: Tensor) -> Tensor:
        """The input of the sublayer: (..., d_model)."""
        if self.pre_norm:
            x = self.norm(x)
        return x

    def add(self, x: Tensor, sublayer: Tensor) -> Tensor:
        """Add the sublayer's output to x: (..., d_model)."""
        x = x + self.dropout(sublayer)
        if not self.pre_norm:
            x = self.norm(x)
        return x


class Embedding(nn.Module):
    """Sections 3.4 and 3.5: embeddings times sqrt(d_model), plus positions, then dropout.

    Args:
        d_model: Width of the embeddings.
        positions: The positional encoding.
        dropout: P_drop.
        scaled: Multiply by sqrt(d_model); ConvS2S and some imported models do not.
    """

    def __init__(
        self, d_model: int, positions: "Positions", dropout: float, *, scaled: bool = True
    ) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model) if scaled else 1.0
        self.positions = positions
        self.dropout = Dropout(dropout)

    def forward(
        self, vectors: Tensor, position: int | None = None, words: Tensor | None = None
    ) -> Tensor:
        """Embed vectors (B, T, d_model) at positions 0 to T - 1, or all of them at `position`.

        Args:
            vectors: The embeddings.
            position: The position of all vectors; None: they are in order.
            words: For `WordPositions`, the number of words at each vector: (B, T).
        """
        first, n = (0, vectors.shape[1]) if position is None else (position, 1)
        own = self.positions(first, n) if words is None else self.positions(first, n, words)
        x: Tensor = self.dropout(vectors * self.scale + own)
        return x


class SinusoidalPositions(nn.Module):
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / D)), PE(pos, 2i + 1) = cos(same).

    Args:
        d_model: The width.
        divisor: D; None: d_model, as in the paper.
    """

    table: Tensor

    def __init__(self, d_model: int, divisor: int | None = None) -> None:
        super().__init__()
        self.d_model, self.divisor = d_model, divisor
        self.register_buffer("table", sinusoids(512, d_model, divisor), persistent=False)

    def forward(self, first: int, n: int) -> Tensor:
        """Rows `first` to `first + n - 1`: (n, d_model)."""
        if first + n > len(self.table):
            n_positions = 2 * (first + n)
            self.table = sinusoids(n_positions, self.d_model, self.divisor).to(self.table)
        return self.table[first : first + n]


def sinusoids(n_positions: int, d_model: int, divisor: int | None = None) -> Tensor:
    """The table of `SinusoidalPositions`, sines and cosines interleaved: (n_positions, d_model)."""
    pos = torch.arange(n_positions, dtype=torch.float64)[:, None]
    two_i = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = pos / 10_000 ** (two_i / (divisor or d_model))  # (n_positions, d_model / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1).float()


class LearnedPositions(nn.Module):
    """Table 3, row (E): a learned vector per position instead of sinusoids."""

    def __init__(self, d_model: int, max_positions: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_positions, d_model))
        nn.init.normal_(self.table, std=std)

    def forward(self, first: int, n: int) -> Tensor:
        """Rows `first` to `first + n - 1`: (n, d_model)."""
        return self.table[first : first + n]


class WordPositions(SinusoidalPositions):
    """Sinusoids of section 3.5, every second pair of which counts words; docs/decisions/0066.

    PE(pos, w, 2i) = sin(p / 10000^(2i / d_model)), where p is pos if i is even, and w otherwise.
    """

    def forward(self, first: int, n: int, words: Tensor | None = None) -> Tensor:
        """Positions `first` to `first + n - 1` with numbers of words (B, n): (B, n, d_model)."""
        assert words is not None
        of_positions = super().forward(first, n)
        of_words = self.table[words]  # no more words than tokens
        pairs = torch.arange(self.d_model, device=words.device) // 2
        return torch.where(pairs % 2 == 0, of_positions, of_words)


Positions = SinusoidalPositions | LearnedPositions


class Layers(nn.ModuleList, Generic[Layer]):
    """A `ModuleList` whose elements are known to be of one type."""

    def __init__(self, layers: Iterable[Layer]) -> None:
        super().__init__(layers)

    def __iter__(self) -> Iterator[Layer]:
        return cast(Iterator[Layer], super().__iter__())
