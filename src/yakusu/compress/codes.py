"""Algorithm 1: discrete codes by principal component analysis and exact 1-D k-means.

V vectors, H dimensions, M components, K codes per component. All sums are in float64; there is no
seed and no random number.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Doubles
from yakusu.compress.axes import PrincipalAxes, check_components
from yakusu.compress.blocks import AnyMatrix, Matrix, blocks
from yakusu.compress.digits import Codes
from yakusu.compress.kmeans import Clusters, kmeans1d
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent

MOST_CODES = 2**16  # K
_COLUMNS, _SCORES = 10, 2**22  # components, or scores, that are in memory at a time


@dataclass(frozen=True, eq=False)
class Coded:
    """Result of Algorithm 1.

    codes: Codes from 0, (V, M); neighbouring scores have neighbouring codes.
    centroids: Mean score of each code, ascending, (M, K). K is at most max(2, V); NaN where a
        component has fewer than K codes.
    borders: Smallest score of each code except the first, (M, K - 1); infinity where a component
        has fewer than K codes.
    axes: Axes that map vectors to scores.
    """

    codes: Codes
    centroids: Doubles
    borders: Doubles
    axes: PrincipalAxes

    @classmethod
    def empty(cls, axes: PrincipalAxes, n_vectors: int, n_codes: int) -> "Coded":
        """Allocate the arrays; reduce K to the largest number of codes that V vectors can use."""
        n_components, most = axes.loadings.shape[1], min(n_codes, max(2, n_vectors))
        return cls(
            np.empty((n_vectors, n_components), dtype=np.min_scalar_type(most - 1)),
            np.full((n_components, most), np.nan),
            np.full((n_components, most - 1), np.inf),
            axes,
        )

    def clusters(self, score: Doubles) -> Clusters:
        """Cluster the scores (V,) of one component."""
        return kmeans1d(score, self.centroids.shape[1])

    def put(self, m: int, found: Clusters) -> None:
        """Store the clusters of component m."""
        self.codes[:, m] = found.codes
        self.centroids[m, : found.n_codes] = found.centroids
        self.borders[m, : found.n_codes - 1] = found.borders

    @property
    def n_codes(self) -> npt.NDArray[np.int64]:
        """Number of codes that each component uses, (M,)."""
        n: npt.NDArray[np.int64] = np.isfinite(self.centroids).sum(axis=1)
        return n

    def encode(
        self, vectors: AnyMatrix, *, threads: int = 2, progress: Progress | None = None
    ) -> Codes:
        """Return the codes (n, M) of new vectors (n, H)."""
        codes = np.empty((len(vectors), len(self.borders)), dtype=self.codes.dtype)

        def put(m: int) -> None:
            codes[rows, m] = np.searchsorted(self.borders[m], scores[m], side="right")

        with (
            (progress or Silent()).track("coding", "vectors", len(vectors)) as tracker,
            ThreadPoolExecutor(threads) as pool,
        ):
            for rows in blocks(len(vectors)):
                scores = self.axes.scores(vectors[rows], slice(None))  # (M, rows)
                list(pool.map(put, range(len(scores))))
                tracker.advance(rows.stop - rows.start)
        return codes


def code(
    vectors: Matrix,
    *,
    n_components: int,
    n_codes: int,
    threads: int = 2,
    progress: Progress | None = None,
) -> Coded:
    """Run Algorithm 1.

    Args:
        vectors: E, (V, H), finite.
        n_components: M, at most H.
        n_codes: K, from 2 to 65,536.
        threads: Number of threads; the result does not depend on it.
        progress: Progress reporter. It also receives a message if a component has fewer than K
            distinct values.

    Raises:
        DataError: M or K is out of range, or the vectors are not a finite matrix
            with a largest magnitude from 1e-30 to 1e30.
    """
    check_components(vectors, n_components)
    if not 2 <= n_codes <= MOST_CODES:
        raise DataError(f"K = {n_codes} is out of range: choose K from 2 to {MOST_CODES:,}")
    progress, axes = progress or Silent(), PrincipalAxes.of(vectors, n_components)
    coded = Coded.empty(axes, len(vectors), n_codes)
    at_once = max(_COLUMNS, _SCORES // len(vectors))
    with (
        progress.track("coding", "components", n_components) as tracker,
        ThreadPoolExecutor(threads) as pool,
    ):
        for begin in range(0, n_components, at_once):
            scores = axes.scores(vectors, slice(begin, begin + at_once))
            for m, found in enumerate(pool.map(coded.clusters, scores), begin):
                coded.put(m, found)
                tracker.advance()
    if (fewer := coded.n_codes[coded.n_codes < n_codes]).size:
        progress.say(
            f"{len(fewer)} of {n_components} components have fewer than K = {n_codes} distinct "
            f"values (the fewest: {fewer.min()}); there, each value has its own code"
        )
    return coded
