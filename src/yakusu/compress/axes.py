"""Moments and principal axes of a matrix.

V vectors, H dimensions, M components. All sums are in float64.
"""

from dataclasses import dataclass

import numpy as np

from yakusu.arrays import Doubles
from yakusu.compress.blocks import Matrix, as_floats, blocks
from yakusu.errors import DataError

_SMALLEST, _LARGEST = 1e-30, 1e30  # largest magnitude of a matrix: in float32, and its squares too
_NARROWEST = 1e-140  # range of a column that is not constant: its variance is a normal number


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """Normalisation and rotation of Algorithm 1.

    mean, scale: Mean and standard deviation (ddof 1) of each column, (H,); the scale of a constant
        column is 1.
    loadings: Unit eigenvectors in columns, largest variance first, (H, M). In each, the entry with
        the largest magnitude is positive.
    """

    mean: Doubles
    scale: Doubles
    loadings: Doubles

    @classmethod
    def of(cls, vectors: Matrix, n_components: int) -> "PrincipalAxes":
        """Compute the first M axes of vectors (V, H) from their correlation matrix.

        Raises:
            DataError: The variance of a column is too small for a float.
        """
        mean, covariance = moments(vectors)
        least, most = (as_floats(end(axis=0)) for end in (vectors.min, vectors.max))
        extent = most - least  # 0 if constant, unlike the variance
        if (narrow := (extent > 0) & (extent < _NARROWEST)).any():
            column = int(narrow.argmax())
            raise DataError(
                f"the values of column {column} are within {extent[column]:.3g} of each other: "
                f"make them equal, or scale the column to a range of {_NARROWEST:g} or more"
            )
        scale = np.where(extent == 0, 1.0, np.sqrt(np.diag(covariance)))
        _, loadings = eigenvectors(covariance / np.outer(scale, scale))
        return cls(mean, scale, np.ascontiguousarray(loadings[:, :n_components]))

    def scores(self, vectors: Matrix, columns: slice) -> Doubles:
        """Compute the scores (m, V) of vectors (V, H) on m of the components."""
        axes = self.loadings[:, columns] / self.scale[:, None]  # (H, m)
        scores = np.empty((axes.shape[1], len(vectors)))
        for rows in blocks(len(vectors)):
            part = vectors[rows].astype(np.float64)
            scores[:, rows] = ((part - self.mean) @ axes).T
        return scores


def moments(vectors: Matrix) -> tuple[Doubles, Doubles]:
    """Compute the mean (H,) and the covariance (H, H), with ddof 1, of vectors (V, H)."""
    n_vectors, n_columns = vectors.shape
    total = sum(vectors[rows].astype(np.float64).sum(axis=0) for rows in blocks(n_vectors))
    mean = total / n_vectors
    squares = np.zeros((n_columns, n_columns))
    for rows in blocks(n_vectors):
        part = vectors[rows] - mean
        squares += part.T @ part
    return mean, squares / max(1, n_vectors - 1)


def eigenvectors(covariance: Doubles) -> tuple[Doubles, Doubles]:
    """Compute eigenvalues (H,), descending, and unit eigenvectors in columns, (H, H).

    In each vector, the entry with the largest magnitude is positive.
    """
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    return values, vectors * np.sign(vectors[largest, np.arange(len(values))])


def check_components(vectors: Matrix, n_components: int) -> None:
    """Raise DataError unless the vectors are a finite matrix with at least M columns."""
    check_vectors(vectors)
    if not 1 <= n_components <= vectors.shape[1]:
        raise DataError(
            f"M = {n_components} is out of range for vectors of {vectors.shape[1]} dimensions: "
            f"choose M from 1 to {vectors.shape[1]}"
        )


def check_vectors(vectors: Matrix) -> None:
    """Raise DataError unless the vectors are a finite matrix that is not empty, in range."""
    if vectors.ndim != 2 or not vectors.size:
        raise DataError(f"vectors have shape {vectors.shape}: expected a matrix of shape (V, H)")
    largest = 0.0
    for rows in blocks(len(vectors)):
        largest = max(largest, float(np.abs(vectors[rows]).max()))
        bad = ~np.isfinite(vectors[rows]).all(axis=1)
        if bad.any():
            row = rows.start + int(bad.argmax())
            raise DataError(f"row {row} is not finite: remove NaN and infinity")
    if largest and not _SMALLEST <= largest <= _LARGEST:
        raise DataError(
            f"the largest magnitude of the vectors is {largest:.3g}: scale them to a largest "
            f"magnitude from {_SMALLEST:g} to {_LARGEST:g}"
        )
