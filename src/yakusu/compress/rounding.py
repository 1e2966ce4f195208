"""Rounding of the scores of vectors to integers; `lattice.py` describes them.

V vectors, H dimensions, M components.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np

from yakusu.arrays import Shorts
from yakusu.compress.axes import check_components
from yakusu.compress.basis import best_basis
from yakusu.compress.blocks import AnyMatrix, Matrix, ReconstructionLoss, blocks
from yakusu.compress.exact import best_scales, exact_projection
from yakusu.compress.lattice import (
    ONE_TIER,
    Lattice,
    Tier,
    check_tiers,
    rounded,
    sampled_by_tier,
    spans,
)
from yakusu.compress.projection import whitening_projection
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent, Tracker


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
        return max(
            2 * float(np.abs(self.projection.scores(self.vectors[rows])).max())
            for rows in blocks(len(self.vectors))
        )

    def integers(self, step: float, progress: Progress | None = None) -> Shorts:
        """Return the integers q, (V, M).

        Raises:
            DataError: The step is not a positive number, or an integer exceeds 16 bits.
        """
        with (progress or Silent()).track("rounding", "vectors", len(self.vectors)) as tracker:
            parts = [
                self.rounded(self.vectors, begin, end, step, factor, tracker)
                for begin, end, factor in spans(self.tiers, len(self.vectors))
            ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def rounded(
        self,
        vectors: AnyMatrix,
        begin: int,
        end: int,
        step: float,
        factor: int,
        tracker: Tracker,
    ) -> Shorts:
        """Return the integers (n, M) of the rows from `begin` to `end` of any vectors (V, H)."""
        integers = np.empty((end - begin, self.projection.axes.shape[1]), dtype=np.int16)
        for rows in blocks(end, begin):
            scores = self.projection.scores(vectors[rows])
            integers[rows.start - begin : rows.stop - begin] = rounded(scores, step, factor)
            tracker.advance(rows.stop - rows.start)
        return integers

    def lattice(self, integers: Shorts) -> Lattice:
        """Return the lattice whose basis is the least-squares solution for integers (V, M)."""
        mean, axes = self.projection.mean, self.projection.axes
        if self.projection.grid:
            scales = best_scales(self.projection, self.vectors, integers)
            return Lattice(mean, scales[:, None] * axes.T)
        basis = best_basis(self.vectors, mean, lambda rows: integers[rows].astype(np.float64))
        return Lattice(mean, basis)

    def loss(self, integers: Shorts, lattice: Lattice | None = None) -> ReconstructionLoss:
        """Measure Eq. 2 for integers (V, M) and a lattice; None: the best one."""
        lattice = lattice or self.lattice(integers)
        return ReconstructionLoss.of(self.vectors, lambda rows: lattice.rebuild(integers[rows]))
