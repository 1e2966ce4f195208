"""Integer codes: one step for all principal components, to be entropy-coded.

A component with deviation s is divided by s^p (partial whitening) and by the step, then rounded:
q(w) = round(U^T (e_w - mean) / s^p / step). Vectors are rebuilt as mean + q(w) B, where B (M, H) is
the least-squares solution. For the same squared error, an entropy coder needs fewer bits for q than
for the paper's codes. p = 0 minimises the squared error, keeps most neighbours and is computed
exactly (`exact.py`); p = 1 whitens completely; 0.5 is the only value tried that did not harm word
tasks on either size of GloVe.

V vectors, H dimensions, M components.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from yakusu.arrays import Doubles, Integers, Shorts
from yakusu.compress.blocks import (
    AnyMatrix,
    Matrix,
    as_floats,
    blocks,
    evenly_spaced,
    sample_size,
    sampled,
)
from yakusu.errors import DataError

LARGEST = 2**15 - 1  # largest magnitude of a 16-bit integer


class IntegerRows(Protocol):
    """Integers (V, M): an array, or `RoundedVectors`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(V, M)."""

    def __len__(self) -> int:
        """Return V."""

    def __getitem__(self, rows: slice, /) -> Shorts:
        """Return the integers (n, M) of consecutive rows."""


@dataclass(frozen=True)
class Tier:
    """Rows from index `begin` on; their integers are multiples of `factor`: a coarser step."""

    begin: int
    factor: int


ONE_TIER = (Tier(0, 1),)


def tiers_from(ranks: Sequence[int]) -> tuple[Tier, ...]:
    """Return tiers that begin at row 0 and at each rank; each doubles the step of the previous."""
    return tuple(Tier(begin, 2**i) for i, begin in enumerate([0, *ranks]))


def spans(tiers: Sequence[Tier], n_rows: int) -> Iterator[tuple[int, int, int]]:
    """Yield begin, end and factor of each tier of V rows."""
    ends = [*(tier.begin for tier in tiers[1:]), n_rows]
    for tier, end in zip(tiers, ends, strict=True):
        yield tier.begin, end, tier.factor


@dataclass(frozen=True, eq=False)
class Lattice:
    """Rebuilds vectors: e_w = mean + q(w) B.

    mean: Mean vector, (H,).
    basis: B, (M, H).
    """

    mean: Doubles
    basis: Doubles

    def rebuild(self, integers: Integers) -> Doubles:
        """Return the vectors (n, H) of integers (n, M)."""
        vectors: Doubles = integers @ self.basis
        vectors += self.mean
        return vectors

    def encode(self, vectors: AnyMatrix, factor: int = 1) -> Shorts:
        """Return integers (n, M) of new vectors (n, H), multiples of a factor.

        Raises:
            DataError: An integer exceeds 16 bits.
        """
        inverse = np.linalg.pinv(self.basis)
        integers = np.empty((len(vectors), len(self.basis)), dtype=np.int16)
        for rows in blocks(len(vectors)):
            integers[rows] = rounded((vectors[rows] - self.mean) @ inverse, 1.0, factor)
        return integers


def rounded(scores: Doubles, step: float, factor: int | Integers = 1) -> Shorts:
    """Divide scores (n, M) by the step and round to multiples of a factor, which may be (n, 1).

    The scores are overwritten.

    Raises:
        DataError: The step is not a positive number, or an integer exceeds 16 bits.
    """
    if not 0 < step < np.inf:
        raise DataError(f"step = {step} is out of range: choose a number greater than 0")
    nearest = np.divide(scores, step * factor, out=scores)
    np.rint(nearest, out=nearest)
    if np.any(factor != 1):
        nearest *= factor
    if max(nearest.max(), -nearest.min()) > LARGEST:
        raise DataError(
            f"step = {step:.3g} yields integers of more than 16 bits: choose a larger step, or a "
            "larger sample if a budget chooses it"
        )
    integers: Shorts = nearest.astype(np.int16)
    return integers


def integers_ratio(shape: tuple[int, ...], n_components: int, bits: float) -> float:
    """Return the bits of float32 vectors over the bits of integers, mean and basis.

    Args:
        shape: (V, H).
        n_components: M.
        bits: Bits per vector of the integers.
    """
    n_vectors, width = shape
    return 32 * width / (bits + 32 * width * (n_components + 1) / n_vectors)


def entropy(integers: Shorts, tiers: Sequence[Tier] = ONE_TIER) -> float:
    """Return the entropy of integers (V, M), by component and tier, in bits per vector."""
    bits = 0.0
    for begin, end, factor in spans(tiers, len(integers)):
        for column in integers[begin:end].T // factor:
            counts = np.bincount(column.astype(np.int32) - column.min())
            share = counts[counts > 0] / len(column)
            bits -= len(column) * float(share @ np.log2(share))
    return bits / len(integers)


def sampled_by_tier(
    vectors: AnyMatrix, tiers: Sequence[Tier], most: int | None
) -> tuple[Matrix, tuple[Tier, ...]]:
    """Return a sample of evenly spaced rows, at least one of each tier, and the tiers of its rows.

    Args:
        vectors: (V, H).
        tiers: Tiers of the vectors.
        most: Maximum number of rows, about; see `blocks.sampled`.
    """
    if len(tiers) == 1:
        return sampled(vectors, most), tuple(tiers)
    share = sample_size(vectors, most) / len(vectors)
    parts = [
        begin + evenly_spaced(end - begin, max(1, int(share * (end - begin))))
        for begin, end, _ in spans(tiers, len(vectors))
    ]
    begins = np.cumsum([0, *map(len, parts)]).tolist()
    rows = as_floats(vectors[np.concatenate(parts)])
    return rows, tuple(replace(tier, begin=at) for tier, at in zip(tiers, begins, strict=False))


def check_tiers(tiers: Sequence[Tier], n_rows: int) -> None:
    """Raise DataError unless tiers fit V rows."""
    begins = [tier.begin for tier in tiers]
    if tiers[-1].factor > LARGEST:
        raise DataError(f"{len(tiers)} tiers exceed 16 bits: choose at most 14 ranks")
    if begins[0] or sorted(set(begins)) != begins or begins[-1] >= n_rows:
        raise DataError(
            f"tiers at the ranks {begins[not begins[0] :]} do not fit {n_rows} vectors: choose "
            f"ascending ranks from 1 to {n_rows - 1}"
        )
