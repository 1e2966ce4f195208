"""Scores of vectors on their principal axes, whose scales are partly or not evened out.

V vectors, H dimensions, M components.
"""

from dataclasses import dataclass

import numpy as np

from yakusu.arrays import Doubles
from yakusu.compress.axes import eigenvectors, moments
from yakusu.compress.blocks import CACHED, Matrix, blocks


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """Maps vectors x to scores (x - mean) @ axes.

    mean: Mean vector, (H,).
    axes: Axes in columns, (H, M).
    grid: Vectors are rounded to multiples of this power of 2 first; 0: they are not rounded.
    """

    mean: Doubles
    axes: Doubles
    grid: float = 0.0

    def scores(self, vectors: Matrix) -> Doubles:
        """Return the scores (n, M) of vectors (n, H)."""
        unit = self.grid or 1.0
        mean, axes = self.mean / unit, unit * self.axes
        scores = np.empty((len(vectors), axes.shape[1]))
        for rows in blocks(len(vectors), size=CACHED):
            given = vectors[rows].astype(np.float64)
            if self.grid:
                given /= unit
                np.rint(given, out=given)
            given -= mean
            np.matmul(given, axes, out=scores[rows])
        return scores


def whitening_projection(vectors: Matrix, n_components: int, whitening: float) -> ScoreMap:
    """Return the projection that divides scores with deviation s by s^p; p is the whitening."""
    mean, covariance = moments(vectors)
    values, axes = eigenvectors(covariance)
    deviations = np.sqrt(np.maximum(values[:n_components], 0))
    # A direction without variance gets the score 0 in every vector.
    divisors = np.where(deviations > 1e-9 * deviations[0], deviations, np.inf) ** whitening
    return ScoreMap(mean, axes[:, :n_components] / divisors)
