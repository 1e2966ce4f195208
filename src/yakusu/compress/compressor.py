"""Compressors in scikit-learn's manner: `fit` learns a codebook, `transform` gives codes.

V vectors, H dimensions, M components, K codes a component.
"""

from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from yakusu.compress.codebook import compress, ratio
from yakusu.compress.codes import Codes, Floats
from yakusu.compress.lattice import Numbers, Rounding, entropy, rounded
from yakusu.compress.lattice import ratio as ratio_of_numbers
from yakusu.errors import DataError


class _Coder(TransformerMixin, BaseEstimator):
    """Gives whole numbers, whatever it is given."""

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class CodebookCompressor(_Coder):
    """The paper's method: Algorithm 1, then the codebook of Eqs. 1 and 2.

    Args:
        n_components: M; None for H.
        n_codes: K.
        rounds: Of fitting the codebook, at most; 0 leaves the closed form, as do more than 10,000
            weights (M K).
        n_jobs: Threads; the result does not depend on them.

    Attributes:
        codebook_: Mean, basis and weights.
        coded_: What Algorithm 1 gave, the codes of the vectors that were fitted among it.
        loss_: Eq. 2 of these vectors.
        ratio_: Their bits over those of codes and codebook, by the paper's formula.
    """

    def __init__(
        self,
        n_components: int | None = None,
        n_codes: int = 16,
        *,
        rounds: int = 30,
        n_jobs: int = 2,
    ) -> None:
        self.n_components = n_components
        self.n_codes = n_codes
        self.rounds = rounds
        self.n_jobs = n_jobs

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: N803
        """Learn codes and codebook of vectors (V, H).

        Raises:
            DataError: M or K does not suit the vectors.
            ValueError: They are no finite matrix.
        """
        vectors = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        n_components = vectors.shape[1] if self.n_components is None else self.n_components
        self.coded_, self.codebook_ = compress(
            vectors,
            n_components=n_components,
            n_codes=self.n_codes,
            rounds=self.rounds,
            threads=self.n_jobs,
        )
        self.loss_ = self.codebook_.lost(vectors, self.coded_.codes).a_word
        self.ratio_ = ratio(vectors.shape, *self.codebook_.weights.shape)
        return self

    def transform(self, X: npt.ArrayLike) -> Codes:  # noqa: N803
        """The codes (n, M) of vectors (n, H): of each score, that of the nearest centroid."""
        check_is_fitted(self)
        vectors = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self.coded_.encode(vectors)

    def inverse_transform(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """The vectors (n, H) of codes (n, M)."""
        check_is_fitted(self)
        codes = np.asarray(X)
        if codes.ndim != 2 or codes.shape[1] != len(self.codebook_.basis):
            raise DataError(
                f"codes of shape {codes.shape} do not fit {len(self.codebook_.basis)} components"
            )
        return self.codebook_.rebuild(codes)


class UniformCompressor(_Coder):
    """Whole numbers by one step for all components, to be entropy-coded; see `uniform`.

    Args:
        step: In units of a whitened component.
        n_components: M; None for H.
        whitening: p.

    Attributes:
        lattice_: Mean and basis.
        bits_: Of entropy a vector.
        loss_: Eq. 2 of the vectors that were fitted.
        ratio_: Their bits over those of numbers, mean and basis.
    """

    def __init__(
        self, step: float = 0.5, *, n_components: int | None = None, whitening: float = 0.5
    ) -> None:
        self.step = step
        self.n_components = n_components
        self.whitening = whitening

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: N803
        """Learn axes and basis of vectors (V, H).

        Raises:
            DataError: M, p or the step does not suit the vectors.
            ValueError: They are no finite matrix.
        """
        vectors = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        rounding = Rounding(
            vectors,
            n_components=vectors.shape[1] if self.n_components is None else self.n_components,
            whitening=self.whitening,
        )
        numbers = rounding.numbers(self.step)
        self.mean_, self.axes_ = rounding.mean, rounding.axes
        self.lattice_, self.bits_ = rounding.lattice(numbers), entropy(numbers)
        self.loss_ = rounding.lost(numbers).a_word
        self.ratio_ = ratio_of_numbers(vectors.shape, numbers.shape[1], self.bits_)
        return self

    def transform(self, X: npt.ArrayLike) -> Numbers:  # noqa: N803
        """The numbers (n, M) of vectors (n, H)."""
        check_is_fitted(self)
        vectors = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return rounded((vectors - self.mean_) @ self.axes_, self.step)

    def inverse_transform(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """The vectors (n, H) of numbers (n, M)."""
        check_is_fitted(self)
        return self.lattice_.rebuild(np.asarray(X))
