"""scikit-learn's conventions, and what the compressors learn."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from yakusu.compress.codebook import compress
from yakusu.compress.compressor import CodebookCompressor, UniformCompressor
from yakusu.compress.lattice import Rounding, entropy
from yakusu.errors import DataError

Floats = npt.NDArray[np.float64]
COMPRESSORS = [CodebookCompressor(n_codes=4), UniformCompressor(step=0.3)]


@pytest.fixture(scope="module")
def vectors() -> Floats:
    rng = np.random.default_rng(5)
    return rng.standard_normal((3000, 10)) @ rng.standard_normal((10, 10))


@parametrize_with_checks(COMPRESSORS)  # type: ignore[untyped-decorator]
def test_scikit_learns_own_checks(estimator: BaseEstimator, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.parametrize("compressor", [CodebookCompressor(3, 5), UniformCompressor(0.2)])
def test_parameters_are_those_given_and_a_clone_has_them(compressor: Any) -> None:
    changed = clone(compressor).set_params(n_components=2)
    assert changed.get_params() == {**compressor.get_params(), "n_components": 2}
    assert clone(changed).get_params() == changed.get_params()
    assert CodebookCompressor(3, 5).get_params() == {
        "n_components": 3,
        "n_codes": 5,
        "rounds": 30,
        "n_jobs": 2,
    }


@pytest.mark.parametrize("rounds", [0, 30])
def test_the_codebook_is_the_papers(vectors: Floats, rounds: int) -> None:
    made = CodebookCompressor(6, 9, rounds=rounds).fit(vectors)
    coded, book = compress(vectors, n_components=6, n_codes=9, rounds=rounds)
    assert (made.transform(vectors) == coded.codes).all()
    assert (made.coded_.codes == coded.codes).all()
    assert (made.inverse_transform(coded.codes) == book.rebuild(coded.codes)).all()
    assert made.ratio_ == pytest.approx(
        32 * 3000 * 10 / (3000 * 6 * np.log2(9) + 32 * (6 * 10 + 6 * 9))
    )


@pytest.mark.parametrize("size", [1, 3, 100])
def test_vectors_have_the_same_codes_alone_and_together(vectors: Floats, size: int) -> None:
    made = CodebookCompressor(n_codes=16).fit(vectors)
    for begin in range(0, 900, 3 * size):
        part = made.transform(vectors[begin : begin + size])
        assert (part == made.coded_.codes[begin : begin + size]).all()


def test_other_vectors_take_the_nearest_centroid(vectors: Floats) -> None:
    """But in the gap before a border, which is the least score that was fitted."""
    made = CodebookCompressor(n_codes=7).fit(vectors)
    others = np.random.default_rng(1).standard_normal((200, 10)) * 5
    scores = made.coded_.axes.scores(others, slice(0, 10)).T  # (n, M)
    away = np.abs(scores[:, :, None] - made.coded_.centroids)  # (n, M, K)
    assert (made.transform(others) == away.argmin(axis=2)).mean() > 0.99


@pytest.mark.parametrize(
    "compressor", [CodebookCompressor(8, 5), UniformCompressor(0.2, n_components=8)]
)
def test_the_loss_is_the_squared_error_of_a_vector(vectors: Floats, compressor: Any) -> None:
    made = clone(compressor).fit(vectors)
    rebuilt = made.inverse_transform(made.transform(vectors))
    assert made.loss_ == pytest.approx(np.square(vectors - rebuilt).sum() / 3000, rel=1e-9)


def test_uniform_numbers_are_those_of_rounding(vectors: Floats) -> None:
    made = UniformCompressor(0.2, n_components=8, whitening=0.3).fit(vectors)
    numbers = Rounding(vectors, n_components=8, whitening=0.3).numbers(0.2)
    assert (made.transform(vectors) == numbers).all()
    assert made.bits_ == entropy(numbers)
    assert made.ratio_ == pytest.approx(32 * 3000 * 10 / (3000 * made.bits_ + 32 * (8 * 10 + 10)))


@pytest.mark.parametrize("compressor", [CodebookCompressor(10, 200), UniformCompressor(0.01)])
def test_in_a_pipeline_what_comes_back_is_what_went_in_but_for_the_loss(
    vectors: Floats, compressor: Any
) -> None:
    pipe = make_pipeline(StandardScaler(), clone(compressor))
    codes = pipe.fit_transform(vectors)
    assert np.issubdtype(codes.dtype, np.integer) and codes.shape == (3000, 10)
    back = pipe.inverse_transform(codes)
    scaled = (vectors - back) / vectors.std(axis=0)
    assert np.square(scaled).sum() / 3000 == pytest.approx(pipe[-1].loss_, rel=1e-9)
    assert pipe[-1].loss_ < 0.01


def test_numbers_of_more_than_16_bits_are_refused_not_wrapped(vectors: Floats) -> None:
    made = UniformCompressor(0.01).fit(vectors)
    with pytest.raises(DataError, match="numbers of more than 16 bits"):
        made.transform(vectors * 1e4)


def test_codes_of_another_shape_are_refused(vectors: Floats) -> None:
    made = CodebookCompressor(3, 4).fit(vectors)
    for codes in (np.zeros((5, 4), dtype=int), np.zeros(3, dtype=int)):
        with pytest.raises(DataError, match="do not fit 3 components"):
            made.inverse_transform(codes)
