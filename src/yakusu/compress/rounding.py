"""Rounding of the scores of vectors to integers; `lattice.py` describes them.

V vectors, H dimensions, M components.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np

from yakusu.arrays import Shorts
from yakusu.compress.axes import check_components
from yakusu.compress.basis import best_basis
from yakusu.compress.blocks import CACHED, AnyMatrix, Matrix, ReconstructionLoss, blocks
from yakusu.compress.exact import best_scales, exact_projection
from yakusu.compress.lattice import (
    ONE_TIER,
    IntegerRows,
    Lattice,
    Tier,
    check_tiers,
    rounded,
    sampled_by_tier,
)
from yakusu.compress.projection import ScoreMap, whitening_projection
from yakusu.errors import DataError


class Rounding:
    """Scores of vectors, which can be rounded with any step.

    Args:
        vectors: (V, H), finite; sorted by descending frequency if there are tiers.
        n_components: M, at most H.
        whitening: p, from 0 to 1.
        tiers: Factors of the step by frequency.

    Raises:
        DataError: M, p or a tier is out of range, or the vectors are not a finite matrix
            with a largest magnitude from 1e-30 to 1e30.
    """

    def __init__(
        self,
        vectors: Matrix,
        *,
        n_components: int,
        whitening: float = 0.5,
        tiers: Sequence[Tier] = ONE_TIER,
    ) -> None:
        check_components(vectors, n_components)
        check_tiers(tiers, len(vectors))
        if not 0 <= whitening <= 1:
            raise DataError(f"whitening = {whitening} is out of range: choose a value from 0 to 1")
        self.vectors, self.tiers = vectors, tuple(tiers)
        self.projection = (
            whitening_projection(vectors, n_components, whitening)
            if whitening
            else exact_projection(vectors, n_components)
        )

    def sampled(self, most: int) -> "Rounding":
        """Return the same rounding for a sample of evenly spaced rows; see `sampled_by_tier`."""
        sample = copy(self)
        sample.vectors, sample.tiers = sampled_by_tier(self.vectors, self.tiers, most)
        return sample

    def coarsest(self) -> float:
        """Return the smallest step at which every integer is 0."""
        scores = (self.projection.scores(self.vectors[rows]) for rows in blocks(len(self.vectors)))
        return 2 * max(max(float(part.max()), -float(part.min())) for part in scores)

    def integers(self, step: float) -> "RoundedVectors":
        """Return the integers q, (V, M)."""
        return RoundedVectors(self.vectors, self.projection, step, self.tiers)

    def lattice(self, integers: IntegerRows) -> Lattice:
        """Return the lattice whose basis is the least-squares solution for integers (V, M)."""
        mean, axes = self.projection.mean, self.projection.axes
        if self.projection.grid:
            scales = best_scales(self.projection, self.vectors, integers)
            return Lattice(mean, scales[:, None] * axes.T)
        basis = best_basis(self.vectors, mean, lambda rows: integers[rows].astype(np.float64))
        return Lattice(mean, basis)

    def loss(self, integers: IntegerRows, lattice: Lattice | None = None) -> ReconstructionLoss:
        """Measure Eq. 2 for integers (V, M) and a lattice; None: the best one."""
        lattice = lattice or self.lattice(integers)
        return ReconstructionLoss.of(self.vectors, lambda rows: lattice.rebuild(integers[rows]))


class RoundedVectors:
    """The integers q (V, M) of vectors; they are computed when rows are read.

    Args:
        vectors: (V, H).
        projection: Returns the scores of vectors.
        step: Distance of the scores of neighbouring integers.
        tiers: Factors of the step.
    """

    def __init__(
        self, vectors: AnyMatrix, projection: ScoreMap, step: float, tiers: Sequence[Tier]
    ) -> None:
        self.vectors, self.projection, self.step = vectors, projection, step
        self.begins = [tier.begin for tier in tiers]
        self.factors = np.array([[tier.factor] for tier in tiers])
        self.shape = len(vectors), projection.axes.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Shorts:
        """Return the integers (n, M) of consecutive rows.

        Raises:
            DataError: The step is not a positive number, or an integer exceeds 16 bits.
        """
        begin, end, stride = rows.indices(len(self))
        end = max(begin, end)
        if stride != 1:
            raise IndexError(f"a row step of {stride} is not supported: read consecutive rows")
        integers = np.empty((end - begin, self.shape[1]), dtype=np.int16)
        for part in blocks(end, begin):
            given, made = self.vectors[part], integers[part.start - begin : part.stop - begin]
            tiers = np.searchsorted(self.begins, np.arange(part.start, part.stop), "right") - 1
            for some in blocks(len(given), size=CACHED):
                scores = self.projection.scores(given[some])
                made[some] = rounded(scores, self.step, self.factors[tiers[some]])
        return integers
