"""Whole numbers for codes: one step for all principal components, entropy-coded afterwards.

A component of deviation s is divided by s^p (partial whitening), then by the step, and rounded:
q(w) = round(U^T (e_w - mean) / s^p / step). Vectors are rebuilt as mean + q(w) B, where B (M, H) is
the best in least squares. For the same squared error an entropy coder needs fewer bits for q than
for the codes of the paper (docs/compress.md). p = 0 is best for the squared error, p = 1 whitens
wholly; 0.5 is the only value that did no harm to word tasks on both sizes of GloVe that were tried.

V words, H dimensions, M components.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import Lost, blocks
from yakusu.compress.codes import Floats, Matrix, eigenvectors, moments, refuse_unfit
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent

Numbers = npt.NDArray[np.int16]
Ints = npt.NDArray[np.integer]
GREATEST = 2**15 - 1


@dataclass(frozen=True)
class Tier:
    """Words from number `begin` on, whose numbers are multiples of `factor`: a coarser step."""

    begin: int
    factor: int


ONE_TIER = (Tier(0, 1),)


@dataclass(frozen=True, eq=False)
class Lattice:
    """Rebuilds vectors: e_w = mean + q(w) B.

    mean: (H,).
    basis: B, (M, H).
    """

    mean: Floats
    basis: Floats

    def rebuild(self, numbers: Ints) -> Floats:
        """The vectors (n, H) of numbers (n, M)."""
        vectors: Floats = numbers @ self.basis
        vectors += self.mean
        return vectors


class Rounding:
    """The scores of vectors, to be rounded by any step.

    Args:
        vectors: (V, H), finite; the most frequent word first where there are tiers.
        n_components: M, at most H.
        whitening: p, from 0 to 1.
        tiers: Steps by frequency.

    Raises:
        DataError: M or p does not suit, or the vectors are not finite.
    """

    def __init__(
        self,
        vectors: Matrix,
        *,
        n_components: int,
        whitening: float = 0.5,
        tiers: Sequence[Tier] = ONE_TIER,
    ) -> None:
        refuse_unfit(vectors, n_components)
        begins = [tier.begin for tier in tiers]
        if tiers[-1].factor > GREATEST:
            raise DataError(f"{len(tiers)} tiers are too many for 16 bits: give at most 15")
        if begins[0] or sorted(set(begins)) != begins or begins[-1] >= len(vectors):
            raise DataError(
                f"tiers that begin at the ranks {begins[not begins[0] :]} do not fit "
                f"{len(vectors)} words: give ranks within them, in ascending order"
            )
        if not 0 <= whitening <= 1:
            raise DataError(f"a whitening of {whitening} is not possible: choose one from 0 to 1")
        self.vectors, self.tiers = vectors, tuple(tiers)
        self.mean, covariance = moments(vectors)
        values, axes = eigenvectors(covariance)
        deviations = np.sqrt(np.maximum(values[:n_components], 0))
        # A direction in which nothing varies has the number 0 for every word.
        divisors = np.where(deviations > 1e-9 * deviations[0], deviations, np.inf) ** whitening
        self.axes = axes[:, :n_components] / divisors  # (H, M)

    def sampled(self, most: int) -> "Rounding":
        """The same for at most so many of the words, evenly taken of each tier."""
        stride = -(-len(self.vectors) // most)
        sample = copy(self)
        parts = [
            self.vectors[begin:end:stride] for begin, end, _ in spans(self.tiers, len(self.vectors))
        ]
        begins = np.cumsum([0, *map(len, parts)])
        sample.vectors = np.concatenate(parts)
        sample.tiers = tuple(
            Tier(int(begin), tier.factor) for begin, tier in zip(begins, self.tiers, strict=False)
        )
        return sample

    def coarsest(self) -> float:
        """The least step by which every number is 0."""
        return max(
            2 * float(np.abs((self.vectors[rows] - self.mean) @ self.axes).max())
            for rows in blocks(len(self.vectors))
        )

    def numbers(self, step: float, progress: Progress | None = None) -> Numbers:
        """q, (V, M).

        Raises:
            DataError: The step is not greater than 0, or 16 bits do not hold the numbers.
        """
        numbers = np.empty((len(self.vectors), self.axes.shape[1]), dtype=np.int16)
        with (progress or Silent()).track("rounding", "words", len(numbers)) as tracker:
            for begin, end, factor in spans(self.tiers, len(numbers)):
                for rows in blocks(end, begin):
                    part = self.vectors[rows].astype(np.float64)
                    numbers[rows] = rounded((part - self.mean) @ self.axes, step, factor)
                    tracker.advance(rows.stop - rows.start)
        return numbers

    def lost(self, numbers: Numbers) -> Lost:
        """Eq. 2, and its share of the variance, for numbers (V, M) and their best basis."""
        lattice = self.lattice(numbers)
        return Lost.of(self.vectors, lambda rows: lattice.rebuild(numbers[rows]))

    def lattice(self, numbers: Numbers) -> Lattice:
        """The best basis for numbers, in least squares."""
        n_components = numbers.shape[1]
        normal = np.zeros((n_components, n_components))
        target = np.zeros((n_components, len(self.mean)))
        for rows in blocks(len(numbers)):
            part = numbers[rows].astype(np.float64)
            normal += part.T @ part
            target += part.T @ (self.vectors[rows] - self.mean)
        ridge = 1e-12 * np.trace(normal) + np.finfo(np.float64).tiny
        basis = np.linalg.solve(normal + ridge * np.eye(n_components), target)
        return Lattice(self.mean, basis)


def rounded(scores: Floats, step: float, factor: int = 1) -> Numbers:
    """Scores over the step, rounded to multiples of the factor.

    Raises:
        DataError: The step is not greater than 0, or 16 bits do not hold the numbers.
    """
    if not 0 < step < np.inf:
        raise DataError(f"a step of {step} is not possible: choose one greater than 0")
    whole = factor * np.rint(scores / (step * factor))
    if np.abs(whole).max() > GREATEST:
        raise DataError(
            f"a step of {step:.3g} gives numbers of more than 16 bits: take a larger step, or "
            "fewer bits for a word"
        )
    numbers: Numbers = whole.astype(np.int16)
    return numbers


def tiers_from(boundaries: Sequence[int]) -> tuple[Tier, ...]:
    """Tiers that begin at 0 and at each boundary; each has twice the step of the one before."""
    return tuple(Tier(begin, 2**i) for i, begin in enumerate([0, *boundaries]))


def spans(tiers: Sequence[Tier], n_words: int) -> Iterator[tuple[int, int, int]]:
    """Begin, end and factor of each tier of V words."""
    ends = [*(tier.begin for tier in tiers[1:]), n_words]
    for tier, end in zip(tiers, ends, strict=True):
        yield tier.begin, end, tier.factor


def ratio(shape: tuple[int, ...], n_components: int, bits: float) -> float:
    """Bits of vectors of `shape` (V, H) in float32 over those of numbers, mean and basis.

    Args:
        shape: (V, H).
        n_components: M.
        bits: Of numbers a word.
    """
    n_words, width = shape
    return 32 * width / (bits + 32 * width * (n_components + 1) / n_words)


def entropy(numbers: Numbers, tiers: Sequence[Tier] = ONE_TIER) -> float:
    """Bits a word of numbers (V, M), each component and tier coded by its own frequencies."""
    bits = 0.0
    for begin, end, factor in spans(tiers, len(numbers)):
        for column in numbers[begin:end].T // factor:
            counts = np.bincount(column.astype(np.int32) - column.min())
            share = counts[counts > 0] / len(column)
            bits -= len(column) * float(share @ np.log2(share))
    return bits / len(numbers)
