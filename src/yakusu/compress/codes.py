"""Algorithm 1: discrete codes of words, by principal components and exact 1-D k-means.

V words, H dimensions, M components, K codes a component. All in float64; no seed, no random number.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import blocks
from yakusu.compress.kmeans import Clusters, kmeans1d
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.unsignedinteger]
Matrix = npt.NDArray[np.floating]
MOST_CODES = 2**16  # K
_COLUMNS = 10  # components whose scores are there at a time


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """Normalisation and rotation of Algorithm 1.

    mean, scale: Of each column, (H,); the standard deviation has ddof 1, and is 1 where it was 0.
    loadings: Unit vectors, the largest variance first, (H, M); the entry of each that is largest
        in magnitude is positive.
    """

    mean: Floats
    scale: Floats
    loadings: Floats

    @classmethod
    def of(cls, vectors: Matrix, n_components: int) -> "PrincipalAxes":
        """The first M axes of V vectors (V, H), by the eigenvectors of their correlations."""
        mean, covariance = moments(vectors)
        constant = vectors.min(axis=0) == vectors.max(axis=0)  # else only up to rounding
        scale = np.where(constant, 1.0, np.sqrt(np.diag(covariance)))
        _, loadings = eigenvectors(covariance / np.outer(scale, scale))
        return cls(mean, scale, np.ascontiguousarray(loadings[:, :n_components]))

    def scores(self, vectors: Matrix, columns: slice) -> Floats:
        """Of some components, (m, V)."""
        axes = self.loadings[:, columns] / self.scale[:, None]  # (H, m)
        scores = np.empty((axes.shape[1], len(vectors)))
        for rows in blocks(len(vectors)):
            part = vectors[rows].astype(np.float64)
            scores[:, rows] = ((part - self.mean) @ axes).T
        return scores


@dataclass(frozen=True, eq=False)
class Coded:
    """What Algorithm 1 gives.

    codes: (V, M), from 0; of neighbouring numbers, for neighbouring scores.
    centroids: Of the scores, ascending, (M, K), where K is at most V (but 2 at least); NaN where a
        component has fewer than K values.
    borders: The least score of each code but the first, (M, K - 1); infinite where there are fewer.
    axes: How scores are made of vectors.
    """

    codes: Codes
    centroids: Floats
    borders: Floats
    axes: PrincipalAxes

    @classmethod
    def empty(cls, axes: PrincipalAxes, n_words: int, n_codes: int) -> "Coded":
        """Without clusters yet; K is no more than what V words have a use for."""
        n_components, most = axes.loadings.shape[1], min(n_codes, max(2, n_words))
        return cls(
            np.empty((n_words, n_components), dtype=np.min_scalar_type(most - 1)),
            np.full((n_components, most), np.nan),
            np.full((n_components, most - 1), np.inf),
            axes,
        )

    def clusters(self, score: Floats) -> Clusters:
        """The best ones of a component with these scores (V,)."""
        return kmeans1d(score, self.centroids.shape[1])

    def put(self, m: int, found: Clusters) -> None:
        """Let component m have these clusters."""
        self.codes[:, m] = found.codes
        self.centroids[m, : found.n_codes] = found.centroids
        self.borders[m, : found.n_codes - 1] = found.borders

    @property
    def n_codes(self) -> npt.NDArray[np.int64]:
        """The effective K of each component, (M,)."""
        n: npt.NDArray[np.int64] = np.isfinite(self.centroids).sum(axis=1)
        return n

    def encode(self, vectors: Matrix) -> Codes:
        """The codes (n, M) of other vectors (n, H)."""
        codes = np.empty((len(vectors), len(self.borders)), dtype=self.codes.dtype)
        for begin in range(0, len(self.borders), _COLUMNS):
            scores = self.axes.scores(vectors, slice(begin, begin + _COLUMNS))
            for m, score in enumerate(scores, begin):
                codes[:, m] = np.searchsorted(self.borders[m], score, side="right")
        return codes


def code(
    vectors: Matrix,
    *,
    n_components: int,
    n_codes: int,
    threads: int = 2,
    progress: Progress | None = None,
) -> Coded:
    """Algorithm 1.

    Args:
        vectors: E, (V, H), finite.
        n_components: M, at most H.
        n_codes: K, from 2 to 65,536.
        threads: Components at a time; the result does not depend on it.
        progress: Watches, and is told where a component has fewer than K distinct values.

    Raises:
        DataError: M or K does not suit the vectors, or these are not finite.
    """
    refuse_unfit(vectors, n_components)
    _refuse_codes(n_codes)
    progress, axes = progress or Silent(), PrincipalAxes.of(vectors, n_components)
    coded = Coded.empty(axes, len(vectors), n_codes)
    with (
        progress.track("coding", "components", n_components) as tracker,
        ThreadPoolExecutor(threads) as pool,
    ):
        for begin in range(0, n_components, _COLUMNS):
            scores = axes.scores(vectors, slice(begin, begin + _COLUMNS))
            for m, found in enumerate(pool.map(coded.clusters, scores), begin):
                coded.put(m, found)
                tracker.advance()
    if (fewer := coded.n_codes[coded.n_codes < n_codes]).size:
        progress.say(
            f"{len(fewer)} of {n_components} components have fewer than K = {n_codes} distinct "
            f"values, the least {fewer.min()}: these have as many codes as values"
        )
    return coded


def moments(vectors: Matrix) -> tuple[Floats, Floats]:
    """Mean (H,) and covariance (H, H), with ddof 1, of vectors (V, H)."""
    n_words, n_columns = vectors.shape
    mean = sum(vectors[rows].astype(np.float64).sum(axis=0) for rows in blocks(n_words)) / n_words
    squares = np.zeros((n_columns, n_columns))
    for rows in blocks(n_words):
        part = vectors[rows] - mean
        squares += part.T @ part
    return mean, squares / max(1, n_words - 1)


def eigenvectors(covariance: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues (H,), descending, and unit eigenvectors (H, H), a column each.

    The entry of each vector that is largest in magnitude is positive.
    """
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    return values, vectors * np.sign(vectors[largest, np.arange(len(values))])


def refuse_unfit(vectors: Matrix, n_components: int) -> None:
    """Raise a DataError where vectors are no finite matrix, or have no M components."""
    refuse_no_matrix(vectors)
    if not 1 <= n_components <= vectors.shape[1]:
        raise DataError(
            f"M = {n_components} components cannot be taken of {vectors.shape[1]} dimensions: "
            f"choose M from 1 to {vectors.shape[1]}"
        )


def _refuse_codes(n_codes: int) -> None:
    if n_codes < 2:
        raise DataError(f"K = {n_codes} codes tell nothing apart: choose K of 2 or more")
    if n_codes > MOST_CODES:
        raise DataError(f"K = {n_codes} codes are too many: choose K of at most {MOST_CODES:,}")


def refuse_no_matrix(vectors: Matrix) -> None:
    """Raise a DataError where vectors are no matrix, or not finite."""
    if vectors.ndim != 2 or not vectors.size:
        raise DataError(
            f"vectors of shape {vectors.shape} are no matrix of words: give V rows of H"
        )
    for rows in blocks(len(vectors)):
        bad = ~np.isfinite(vectors[rows]).all(axis=1)
        if bad.any():
            row = rows.start + int(bad.argmax())
            raise DataError(f"row {row} is not finite: remove NaN and infinity")
