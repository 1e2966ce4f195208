"""Algorithm 1 and the codebook of Eqs. 1 and 2."""

import os
import platform
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest

from tests.cases import THOROUGH
from yakusu.compress.axes import PrincipalAxes
from yakusu.compress.codebook import Codebook
from yakusu.compress.codes import code
from yakusu.compress.fitting import SufficientStatistics, fit, loss_by
from yakusu.errors import DataError

Floats = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def vectors() -> Floats:
    """Correlated columns of different scales; the last one is constant."""
    rng = np.random.default_rng(3)
    mixed = rng.standard_normal((9000, 12)) @ rng.standard_normal((12, 12))
    return np.column_stack([mixed * np.arange(1, 13), np.full(9000, 0.1)])


def test_scores_match_a_singular_value_decomposition(vectors: Floats) -> None:
    axes = PrincipalAxes.of(vectors, 5)
    deviation = vectors.std(axis=0, ddof=1)
    normalised = (vectors - vectors.mean(axis=0)) / np.where(deviation > 1e-12, deviation, 1)
    assert axes.scale[-1] == 1
    _, _, right = np.linalg.svd(normalised, full_matrices=False)
    expected = right[:5].T
    expected *= np.sign(expected[np.abs(expected).argmax(axis=0), np.arange(5)])
    np.testing.assert_allclose(axes.loadings, expected, atol=1e-9)
    np.testing.assert_allclose(
        axes.scores(vectors, slice(0, 5)).T, normalised @ expected, atol=1e-8
    )


def test_the_loading_with_the_largest_magnitude_is_positive(vectors: Floats) -> None:
    loadings = PrincipalAxes.of(vectors, 12).loadings
    assert (loadings[np.abs(loadings).argmax(axis=0), np.arange(12)] > 0).all()


def test_codes_do_not_depend_on_threads_or_memory_order(vectors: Floats) -> None:
    one = code(vectors, n_components=6, n_codes=16, threads=1)
    two = code(np.asfortranarray(vectors), n_components=6, n_codes=16, threads=2)
    assert (one.codes == two.codes).all()
    assert one.codes.dtype == np.uint8


PROGRAM = """
import sys
import numpy as np
from yakusu.compress.codes import code
from yakusu.compress.kmeans import kmeans1d

v = np.random.default_rng(7).standard_normal((10_000, 20)).cumsum(axis=1)
double = code(v, n_components=20, n_codes=32).codes

v = v.astype(np.float32)  # the same steps in single precision
x = (v - v.mean(axis=0)) / v.std(axis=0, ddof=1)
axes = np.linalg.eigh(x.T @ x)[1][:, ::-1]
axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(20)])
scores = (x @ axes).T
assert scores.dtype == np.float32
single = np.stack([kmeans1d(score.astype(float), 32).codes for score in scores], axis=1)
sys.stdout.buffer.write(double.astype(np.uint8).tobytes() + single.astype(np.uint8).tobytes())
"""


@pytest.fixture(scope="module")
def codes_by_kernel() -> dict[str, npt.NDArray[np.uint8]]:
    """Codes of 200,000 values in double and in single precision, (2, n), by matrix kernel."""
    found = {}
    for kernel in ("Haswell", "Nehalem", *(["Prescott"] if THOROUGH else [])):
        environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), "OPENBLAS_CORETYPE": kernel}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, check=True, env=environment
        )
        found[kernel] = np.frombuffer(done.stdout, dtype=np.uint8).reshape(2, 200_000)
    return found


def test_codes_do_not_depend_on_the_matrix_kernels(
    codes_by_kernel: dict[str, npt.NDArray[np.uint8]],
) -> None:
    first, *others = (codes[0] for codes in codes_by_kernel.values())
    assert all((codes == first).all() for codes in others)


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64")
    or "openblas" not in np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"],  # type: ignore[call-overload, index]
    reason="needs the kernels of OpenBLAS for x86-64",
)
def test_codes_in_single_precision_depend_on_the_matrix_kernels(
    codes_by_kernel: dict[str, npt.NDArray[np.uint8]],
) -> None:
    different = codes_by_kernel["Haswell"][1] != codes_by_kernel["Nehalem"][1]
    assert 0 < different.sum() < 20_000


def test_a_component_has_no_more_codes_than_distinct_values(
    vectors: Floats, capsys: pytest.CaptureFixture[str]
) -> None:
    few = np.random.default_rng(1).integers(0, 2, (500, 1)).astype(float)
    coded = code(few, n_components=1, n_codes=4)
    assert coded.n_codes.tolist() == [2]
    assert set(coded.codes.ravel().tolist()) == {0, 1}


def test_all_components_and_codes_rebuild_the_vectors() -> None:
    vectors = np.random.default_rng(2).integers(0, 3, (40, 3)).astype(float)
    coded = code(vectors, n_components=3, n_codes=40)
    np.testing.assert_allclose(Codebook.closed(coded).rebuild(coded.codes), vectors, atol=1e-9)


def test_fitting_lowers_the_loss_computed_from_the_statistics(vectors: Floats) -> None:
    coded = code(vectors, n_components=6, n_codes=4)
    closed = Codebook.closed(coded)
    statistics = SufficientStatistics.of(vectors, coded.codes, closed.mean, 4)
    fitted = fit(closed, statistics)
    before, after = (book.loss(vectors, coded.codes).per_vector for book in (closed, fitted))
    assert after < before
    assert loss_by(statistics, fitted.basis, fitted.weights) == pytest.approx(after, rel=1e-9)
    assert loss_by(statistics, closed.basis, closed.weights) == pytest.approx(before, rel=1e-9)


def test_no_change_of_basis_or_weights_improves_a_fitted_codebook(vectors: Floats) -> None:
    coded = code(vectors[:800], n_components=3, n_codes=4)
    statistics = SufficientStatistics.of(vectors[:800], coded.codes, coded.axes.mean, 4)
    fitted = fit(Codebook.closed(coded), statistics, rounds=2000)
    least, rng = loss_by(statistics, fitted.basis, fitted.weights), np.random.default_rng(0)
    for scale in (1e-1, 1e-2):
        basis = fitted.basis + scale * rng.standard_normal(fitted.basis.shape)
        weights = fitted.weights + scale * rng.standard_normal(fitted.weights.shape)
        assert loss_by(statistics, basis, fitted.weights) > least
        assert loss_by(statistics, fitted.basis, weights) > least


@pytest.mark.parametrize(
    ("m", "k", "message"),
    [
        (14, 4, "from 1 to 13"),
        (0, 4, "from 1 to 13"),
        (3, 1, "K = 1 is"),
        (3, 0, "K = 0 is"),
        (3, 65_537, "K = 65537 is"),
    ],
)
def test_m_or_k_out_of_range_is_rejected(vectors: Floats, m: int, k: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        code(vectors, n_components=m, n_codes=k)


def test_an_error_names_the_row_that_is_not_finite(vectors: Floats) -> None:
    broken = vectors.copy()
    broken[8500, 3] = np.nan
    with pytest.raises(DataError, match="row 8500 is not finite"):
        code(broken, n_components=3, n_codes=4)


@pytest.mark.parametrize("scale", [1e160, 1e-160, 5e-324])
def test_vectors_out_of_range_are_rejected(vectors: Floats, scale: float) -> None:
    with pytest.raises(DataError, match=r"scale them to a largest magnitude from 1e-30 to 1e\+30"):
        code(vectors * scale, n_components=3, n_codes=4)


@pytest.mark.parametrize("scale", [1e-160, 1e-320])
def test_a_column_whose_variance_is_too_small_is_named(vectors: Floats, scale: float) -> None:
    narrow = vectors * np.array([1, 1, scale, *[1] * 10])
    with pytest.raises(DataError, match=r"the values of column 2 are within \S+ of each other"):
        code(narrow, n_components=3, n_codes=4)


def test_zeros_have_one_code() -> None:
    assert (code(np.zeros((9, 2)), n_components=2, n_codes=4).n_codes == 1).all()


def test_folding_the_mean_loses_only_its_part_outside_the_basis(
    vectors: Floats,
) -> None:
    for n_components, same in ((13, True), (6, False)):
        coded = code(vectors + 5, n_components=n_components, n_codes=8)
        book = Codebook.closed(coded)
        folded = book.folded()
        assert (folded.mean == 0).all()
        lost = (
            folded.loss(vectors + 5, coded.codes).per_vector
            - book.loss(vectors + 5, coded.codes).per_vector
        )
        outside = book.mean - book.basis.T @ np.linalg.lstsq(book.basis.T, book.mean)[0]
        assert (lost < 1e-6) == same
        assert lost == pytest.approx(float(outside @ outside), rel=0.05, abs=1e-6)
