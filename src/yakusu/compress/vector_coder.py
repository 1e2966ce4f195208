"""What the estimators for compression share: the checks of their input, and `inverse_transform`.

n vectors, H dimensions, M components.
"""

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from yakusu.arrays import Doubles
from yakusu.compress.axes import check_vectors
from yakusu.compress.blocks import AnyMatrix, Matrix, StoredMatrix
from yakusu.compress.storage import CompressedMatrix
from yakusu.errors import DataError


class VectorCoder(TransformerMixin, BaseEstimator):
    """Base of the estimators: codes are integers, whatever the type of the vectors."""

    compressed_: CompressedMatrix

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def inverse_transform(self, X: npt.ArrayLike) -> Doubles:  # noqa: N803
        """Return the vectors (n, H) of codes (n, M).

        Raises:
            DataError: The codes do not have M columns, or a code is out of range.
        """
        check_is_fitted(self)
        codes, book = np.asarray(X), self.compressed_.book
        n_codes = self.compressed_.n_codes
        if n_codes and codes.size and not 0 <= codes.min() <= codes.max() < n_codes:
            raise DataError(f"a code is out of range: give codes from 0 to {n_codes - 1}")
        if codes.ndim != 2 or codes.shape[1] != len(book.basis):
            raise DataError(f"codes of shape {codes.shape} do not fit {len(book.basis)} components")
        return book.rebuild(codes)

    def _vectors(self, X: npt.ArrayLike | StoredMatrix, *, fitting: bool = True) -> AnyMatrix:  # noqa: N803
        """Return X as a finite matrix (n, H) of floats; for fitting, of two or more rows.

        A matrix in a file and one of half precision are not converted as a whole.
        """
        if isinstance(X, StoredMatrix) or (isinstance(X, np.ndarray) and X.dtype == np.float16):
            return self._large(X, fitting=fitting)
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn adds up all values
            vectors: Matrix = validate_data(
                self,
                X,
                dtype=[np.float64, np.float32],
                ensure_min_samples=2 if fitting else 1,
                reset=fitting,
            )
        return vectors

    def _large(self, vectors: AnyMatrix, *, fitting: bool) -> AnyMatrix:
        """Check the shape of a matrix, and the numbers unless a file checks them on reading."""
        if isinstance(vectors, np.ndarray):
            check_vectors(vectors)
        if len(vectors) < 1 + fitting:
            raise DataError(f"vectors of shape {vectors.shape} are too few: give two or more")
        if fitting:
            self.n_features_in_ = vectors.shape[1]
        elif vectors.shape[1] != self.n_features_in_:
            raise DataError(
                f"vectors of shape {vectors.shape} do not have {self.n_features_in_} dimensions"
            )
        return vectors
