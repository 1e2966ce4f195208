"""scikit-learn's conventions, and what the compressors learn."""

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from yakusu.compress.compressor import CodebookCompressor, UniformCompressor

Floats = npt.NDArray[np.float64]
COMPRESSORS = [CodebookCompressor(n_codes=4), UniformCompressor(step=0.3)]


@pytest.fixture(scope="module")
def vectors() -> Floats:
    rng = np.random.default_rng(5)
    return rng.standard_normal((3000, 10)) @ rng.standard_normal((10, 10))


@parametrize_with_checks(COMPRESSORS)  # type: ignore[untyped-decorator]
def test_scikit_learns_own_checks(estimator: BaseEstimator, check: object) -> None:
    check(estimator)  # type: ignore[operator]
