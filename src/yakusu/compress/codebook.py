"""Eqs. 1 and 2: vectors from codes, with M basis vectors and one weight per code.

V vectors, H dimensions, M components, K codes per component.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Doubles
from yakusu.compress.blocks import AnyMatrix, Matrix, ReconstructionLoss, blocks

if TYPE_CHECKING:
    from yakusu.compress.codes import Coded
    from yakusu.compress.digits import Codes


@dataclass(frozen=True, eq=False)
class Codebook:
    """Rebuilds vectors: e_w = mean + sum_m weights[m, c_m(w)] basis[m] (Eq. 1).

    mean: mu, (H,). The paper has no mean; its losses are those of centred vectors.
    basis: A, (M, H); the paper misprints M x K.
    weights: alpha, (M, K); 0 for codes that a component does not use.
    """

    mean: Doubles
    basis: Doubles
    weights: Doubles

    @property
    def n_codes(self) -> int:
        """K."""
        return int(self.weights.shape[1])

    @classmethod
    def closed(cls, coded: "Coded") -> "Codebook":
        """Build the closed form: centroids as weights, loadings times deviations as basis."""
        axes = coded.axes
        return cls(
            axes.mean, (axes.loadings * axes.scale[:, None]).T, np.nan_to_num(coded.centroids)
        )

    def folded(self) -> "Codebook":
        """Fold the mean into the weights, which yields the paper's form without a mean.

        Exact if M = H. If M < H, the part of the mean outside the span of the basis is lost.
        """
        shares, *_ = np.linalg.lstsq(self.basis.T, self.mean)
        return Codebook(np.zeros_like(self.mean), self.basis, self.weights + shares[:, None])

    def rebuild(self, codes: npt.NDArray[np.integer]) -> Doubles:
        """Return the vectors (n, H) of codes (n, M), or the vector (H,) of codes (M,)."""
        vectors: Doubles = self.chosen(codes) @ self.basis
        vectors += self.mean
        return vectors

    def chosen(self, codes: npt.NDArray[np.integer]) -> Doubles:
        """Return the weights (..., M) of codes (..., M)."""
        weights: Doubles = self._weights[codes + self._begins]
        return weights

    @cached_property
    def _weights(self) -> Doubles:
        """Weights of all components, one after the other, (M K,)."""
        weights: Doubles = self.weights.ravel()
        return weights

    @cached_property
    def _begins(self) -> npt.NDArray[np.int64]:
        """Start of each component in `_weights`, (M,)."""
        return np.arange(0, self.weights.size, self.weights.shape[1])

    def encode(self, vectors: AnyMatrix) -> "Codes":
        """Return codes (n, M) of new vectors (n, H).

        The coordinates of a vector are the least-squares solution for the basis; each gets the code
        with the nearest weight. For the fitted vectors, nearly all codes are those of Algorithm 1.
        """
        order = np.argsort(self.weights, axis=1, kind="stable")  # (M, K)
        sorted_weights = np.take_along_axis(self.weights, order, axis=1)
        borders = (sorted_weights[:, 1:] + sorted_weights[:, :-1]) / 2
        codes = np.empty((len(vectors), len(self.basis)), np.min_scalar_type(self.n_codes - 1))
        for rows in blocks(len(vectors)):
            coordinates = (vectors[rows] - self.mean) @ self._inverse  # (n, M)
            for m, column in enumerate(coordinates.T):
                codes[rows, m] = order[m, np.searchsorted(borders[m], column)]
        return codes

    @cached_property
    def _inverse(self) -> Doubles:
        """Pseudo-inverse of the basis, (H, M)."""
        inverse: Doubles = np.linalg.pinv(self.basis).astype(np.float64, copy=False)
        return inverse

    def loss(self, vectors: Matrix, codes: "Codes") -> ReconstructionLoss:
        """Measure Eq. 2 for vectors (V, H) and their codes (V, M)."""
        return ReconstructionLoss.of(vectors, lambda rows: self.rebuild(codes[rows]))


def codes_ratio(shape: tuple[int, ...], n_components: int, n_codes: int) -> float:
    """Return the compression ratio: bits of float32 vectors over bits of codes and codebook.

    The paper's formula, 32 V H / (V M log2 K + 32 (M H + M K)), counts fractions of bits and omits
    the mean vector.

    Args:
        shape: (V, H).
        n_components: M.
        n_codes: K.
    """
    n_vectors, n_columns = shape
    codes = n_vectors * n_components * np.log2(n_codes)
    book = 32 * n_components * (n_columns + n_codes)
    return float(32 * n_vectors * n_columns / (codes + book))
