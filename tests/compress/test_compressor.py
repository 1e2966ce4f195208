"""The estimators: scikit-learn's conventions, and results compared with their parts."""

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from yakusu.compress.adam import fit_by_adam
from yakusu.compress.blocks import sampled
from yakusu.compress.budget import Budget, choose_codes, choose_step
from yakusu.compress.codebook import Codebook
from yakusu.compress.codes import code
from yakusu.compress.compressor import CodebookCompressor, LatticeCompressor, compressor_of
from yakusu.compress.config import CompressConfig
from yakusu.compress.fitting import fit_by_least_squares
from yakusu.compress.lattice import tiers_from
from yakusu.compress.rounding import Rounding
from yakusu.compress.storage import size_of_codes
from yakusu.errors import DataError

Floats = npt.NDArray[np.float64]
COMPRESSORS = [CodebookCompressor(n_codes=4), LatticeCompressor(step=0.3)]


@pytest.fixture(scope="module")
def vectors() -> Floats:
    rng = np.random.default_rng(5)
    return rng.standard_normal((3000, 10)) @ rng.standard_normal((10, 10))


@pytest.fixture(scope="module")
def few(vectors: Floats) -> Floats:
    return vectors[:700, :5].copy()


# ---- scikit-learn -------------------------------------------------------------------------------


@parametrize_with_checks(COMPRESSORS)  # type: ignore[untyped-decorator]
def test_scikit_learns_own_checks_pass(estimator: BaseEstimator, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.parametrize("compressor", [CodebookCompressor(3, 5), LatticeCompressor(0.2)])
def test_a_clone_has_the_same_parameters(compressor: Any) -> None:
    changed = clone(compressor).set_params(n_components=2)
    assert changed.get_params() == {**compressor.get_params(), "n_components": 2}
    assert clone(changed).get_params() == changed.get_params()


@pytest.mark.parametrize("compressor", [CodebookCompressor(10, 200), LatticeCompressor(0.01)])
def test_a_pipeline_restores_its_input_up_to_the_loss(vectors: Floats, compressor: Any) -> None:
    pipe = make_pipeline(StandardScaler(), clone(compressor))
    codes = pipe.fit_transform(vectors)
    assert np.issubdtype(codes.dtype, np.integer) and codes.shape == (3000, 10)
    back = pipe.inverse_transform(codes)
    scaled = (vectors - back) / vectors.std(axis=0)
    assert np.square(scaled).sum() / 3000 == pytest.approx(pipe[-1].loss_, rel=1e-9)
    assert pipe[-1].loss_ < 0.01


@pytest.mark.parametrize(
    "compressor", [CodebookCompressor(8, 5), LatticeCompressor(0.2, n_components=8)]
)
def test_the_loss_is_the_squared_error_per_vector(vectors: Floats, compressor: Any) -> None:
    made = clone(compressor).fit(vectors)
    rebuilt = made.inverse_transform(made.transform(vectors))
    assert made.loss_ == pytest.approx(np.square(vectors - rebuilt).sum() / 3000, rel=1e-9)
    np.testing.assert_allclose(made.compressed_.dense(), rebuilt, atol=1e-5)
    assert (made.compressed_.dense_codes() == made.transform(vectors)).all()


@pytest.mark.parametrize("size", [1, 3, 100])
def test_codes_of_a_vector_do_not_depend_on_the_others(vectors: Floats, size: int) -> None:
    made = CodebookCompressor(n_codes=16).fit(vectors)
    for begin in range(0, 900, 3 * size):
        part = made.transform(vectors[begin : begin + size])
        assert (part == made.coded_.codes[begin : begin + size]).all()


def test_new_vectors_get_the_code_of_the_nearest_centroid(vectors: Floats) -> None:
    """Scores just below a border, the smallest fitted score of a code, are the exception."""
    made = CodebookCompressor(n_codes=7).fit(vectors)
    others = np.random.default_rng(1).standard_normal((200, 10)) * 5
    scores = made.coded_.axes.scores(others, slice(0, 10)).T  # (n, M)
    away = np.abs(scores[:, :, None] - made.coded_.centroids)  # (n, M, K)
    assert (made.transform(others) == away.argmin(axis=2)).mean() > 0.99


def test_integers_of_more_than_16_bits_are_rejected(vectors: Floats) -> None:
    made = LatticeCompressor(0.01).fit(vectors)
    with pytest.raises(DataError, match="integers of more than 16 bits"):
        made.transform(vectors * 1e4)


@pytest.mark.parametrize(
    "compressor", [CodebookCompressor(3, 4), LatticeCompressor(0.1, n_components=3)]
)
def test_codes_of_another_shape_are_rejected(vectors: Floats, compressor: Any) -> None:
    made = clone(compressor).fit(vectors)
    for codes in (np.zeros((5, 4), dtype=int), np.zeros(3, dtype=int)):
        with pytest.raises(DataError, match="do not fit 3 components"):
            made.inverse_transform(codes)


# ---- results against their parts ----------------------------------------------------------------


@pytest.mark.parametrize("m", [None, 3])
def test_codes_match_algorithm_1_and_m_defaults_to_h(few: Floats, m: int | None) -> None:
    coded = code(few, n_components=m or 5, n_codes=6)
    book = fit_by_least_squares(Codebook.closed(coded), few, coded.codes)
    made = CodebookCompressor(m, 6).fit(few)
    assert (made.coded_.codes == coded.codes).all()
    assert (made.codebook_.weights == book.weights).all()
    size = size_of_codes((700, 5), m or 5, 6)
    assert made.ratio_ == made.compressed_.ratio == size.ratio((700, 5))


def test_solver_and_mean_choose_the_codebook(vectors: Floats) -> None:
    few = vectors[:60, :5]
    coded = code(few, n_components=3, n_codes=6)
    closed = Codebook.closed(coded)
    fitted = fit_by_least_squares(closed, few, coded.codes)
    by_adam = fit_by_adam(closed, few, coded.codes)
    for solver, expected in (("closed", closed), ("least-squares", fitted), ("adam", by_adam)):
        for mean, book in (("stored", expected), ("folded", expected.folded())):
            made = CodebookCompressor(3, 6, solver=solver, mean=mean).fit(few)
            assert (made.codebook_.mean == book.mean).all()
            np.testing.assert_allclose(
                made.compressed_.dense(), book.rebuild(coded.codes), atol=1e-5
            )


def test_integers_match_rounding(few: Floats) -> None:
    rounding = Rounding(few, n_components=5, whitening=0.3, tiers=tiers_from((50, 300)))
    made = LatticeCompressor(0.1, whitening=0.3, ranks=(50, 300)).fit(few)
    assert (made.compressed_.dense_codes() == rounding.integers(0.1)[:]).all()
    assert made.ratio_ == made.compressed_.ratio


@pytest.mark.parametrize(
    "budget", [Budget(bits=9), Budget(ratio=6), Budget(max_loss=0.04)], ids=str
)
def test_a_budget_chooses_the_sizes(few: Floats, budget: Budget) -> None:
    choice = choose_codes(few, budget)
    rounding = Rounding(few, n_components=5, whitening=0.3, tiers=tiers_from((50,)))
    step = choose_step(rounding, budget)
    for one, other in (
        (
            CodebookCompressor(budget=budget),
            CodebookCompressor(choice.n_components, choice.n_codes),
        ),
        (
            LatticeCompressor(whitening=0.3, ranks=(50,), budget=budget),
            LatticeCompressor(step, whitening=0.3, ranks=(50,)),
        ),
    ):
        found, expected = one.fit(few).compressed_, other.fit(few).compressed_
        assert (found.dense_codes() == expected.dense_codes()).all()
        assert (found.dense() == expected.dense()).all()


@pytest.mark.parametrize("budget", [Budget(ratio=6), Budget(bits=40)], ids=str)
def test_integers_fit_the_budget_although_a_sample_promises_more(budget: Budget) -> None:
    vectors = np.random.default_rng(0).standard_t(3, (20_000, 8)).astype(np.float32)
    compressor = LatticeCompressor(budget=budget, sample=300)
    made = compressor.fit(vectors).compressed_
    assert budget.allows(made.ratio if budget.ratio else made.size.bits)
    sample = Rounding(sampled(vectors, 300), n_components=8)
    assert compressor.step_ > choose_step(sample, budget, n_rows=len(vectors))


def test_without_step_or_budget_5_percent_of_the_variance_is_lost(few: Floats) -> None:
    made = LatticeCompressor().fit(few)
    assert made.step_ == choose_step(Rounding(few, n_components=5), Budget(max_loss=0.05))


@pytest.mark.parametrize(
    ("compressor", "message"),
    [
        (CodebookCompressor(6), "M = 6 is out of range"),
        (CodebookCompressor(2, 1), "K = 1 is out of range"),
        (CodebookCompressor(solver="exact"), "solver = 'exact' is unknown: choose least-squares"),
        (CodebookCompressor(mean="left out"), "mean = 'left out' is unknown: choose stored or"),
        (CodebookCompressor(3, budget=Budget(bits=9)), "a budget chooses M and K"),
        (CodebookCompressor(mean="folded", budget=Budget(bits=9)), "for a stored mean"),
        (LatticeCompressor(0.0), "step = 0.0 is out of range"),
        (LatticeCompressor(-1.0), "step = -1.0 is out of range"),
        (LatticeCompressor(1.0, budget=Budget(bits=9)), "a budget chooses the step"),
        (LatticeCompressor(n_components=3), "n_components = 3 needs a step"),
    ],
    ids=str,
)
def test_invalid_parameters_are_rejected_by_fit(few: Floats, compressor: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        compressor.fit(few)


@pytest.mark.parametrize(
    "compressor",
    [
        CodebookCompressor(n_codes=4),
        CodebookCompressor(n_codes=4, solver="closed", mean="folded"),
        CodebookCompressor(budget=Budget(max_loss=0.2)),
        LatticeCompressor(),
    ],
    ids=str,
)
@pytest.mark.parametrize("exponent", [-90, 90])
def test_compression_does_not_depend_on_the_scale_within_its_range(
    few: Floats, compressor: Any, exponent: int
) -> None:
    near, far = clone(compressor).fit(few), clone(compressor).fit(np.ldexp(few, exponent))
    assert (near.compressed_.dense_codes() == far.compressed_.dense_codes()).mean() > 0.999
    assert far.loss_ == pytest.approx(np.ldexp(near.loss_, 2 * exponent), rel=1e-3, abs=0)
    assert np.isfinite(far.compressed_.dense()).all()


@pytest.mark.parametrize("compressor", COMPRESSORS, ids=str)
@pytest.mark.parametrize(
    ("scale", "largest"),
    [(1e160, "1e+160"), (1.7e308, "1.7e+308"), (1e-160, "1e-160"), (5e-324, "4.94e-324")],
)
def test_vectors_whose_squares_exceed_the_range_are_rejected(
    few: Floats, compressor: Any, scale: float, largest: str
) -> None:
    vectors = few / np.abs(few).max() * scale
    message = f"the largest magnitude of the vectors is {largest}: scale them to a largest"
    with pytest.raises(DataError, match=re.escape(message)):
        clone(compressor).fit(vectors)


@pytest.mark.parametrize("compressor", COMPRESSORS, ids=str)
def test_vectors_of_single_precision_near_its_maximum_are_rejected(
    few: Floats, compressor: Any
) -> None:
    vectors = (few / np.abs(few).max() * 3.4e38).astype(np.float32)
    with pytest.raises(DataError, match=r"the vectors is 3\.4e\+38: scale them"):
        clone(compressor).fit(vectors)


def test_adam_rejects_vectors_whose_gradients_exceed_single_precision(few: Floats) -> None:
    with pytest.raises(DataError, match="too large for gradients in float32: scale them to 1e"):
        CodebookCompressor(n_codes=4, solver="adam").fit(few * 1e20)


def test_settings_become_parameters() -> None:
    codes = compressor_of(CompressConfig(m=3, k=5, fit="closed", mean="folded")).get_params()
    assert codes == CodebookCompressor(3, 5, solver="closed", mean="folded").get_params()
    budget = compressor_of(CompressConfig(ratio=4)).get_params()
    assert budget == CodebookCompressor(budget=Budget(ratio=4)).get_params()
    config = CompressConfig(method="integers", step=0.2, whitening=1, tiers=(3, 4))
    expected = LatticeCompressor(0.2, whitening=1, ranks=(3, 4)).get_params()
    assert compressor_of(config).get_params() == expected
