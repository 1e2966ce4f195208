"""Nearest rows found on the codes, compared with all rebuilt vectors."""

import numpy as np
import numpy.typing as npt
import pytest

from yakusu.compress import kernels
from yakusu.compress.codebook import Codebook
from yakusu.compress.compressor import CodebookCompressor, LatticeCompressor
from yakusu.compress.digits import DigitCodes
from yakusu.compress.search import Index, largest
from yakusu.compress.storage import CompressedMatrix
from yakusu.errors import DataError

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def vectors() -> Floats:
    rng = np.random.default_rng(3)
    return rng.standard_normal((5000, 12)) @ rng.standard_normal((12, 12)) + 0.3


@pytest.fixture(
    scope="module",
    params=[
        CodebookCompressor(n_codes=16),
        CodebookCompressor(7, 5),
        CodebookCompressor(n_codes=200),
        CodebookCompressor(5, 300),
        LatticeCompressor(0.3),
        LatticeCompressor(0.004),
    ],
    ids=["K=16", "K=5", "K=200", "K=300", "8 bits", "16 bits"],
)
def matrix(request: pytest.FixtureRequest, vectors: Floats) -> CompressedMatrix:
    made: CompressedMatrix = request.param.fit(vectors).compressed_
    return made


def by_brute_force(dense: Floats, queries: Floats, n: int) -> tuple[Rows, Floats]:
    units = dense / np.linalg.norm(dense, axis=1)[:, None]
    cosines = queries / np.linalg.norm(queries, axis=1)[:, None] @ units.T
    rows: Rows = np.argsort(-cosines, axis=1, kind="stable")[:, :n]
    return rows, np.take_along_axis(cosines, rows, axis=1)


@pytest.mark.parametrize("compiled", [True, False])
def test_the_nearest_rows_are_those_of_all_rebuilt_vectors(
    matrix: CompressedMatrix, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(kernels, "are_available", lambda: False)
    elif not kernels.are_available():
        pytest.skip("the library was not compiled")
    queries = np.random.default_rng(4).standard_normal((40, 12))
    rows, cosines = Index.of(matrix).search(queries, 10)
    everything = np.arange(len(matrix))
    dense = matrix.book.rebuild(matrix.codes.rows(everything))
    expected, best = by_brute_force(dense, queries, 10)
    np.testing.assert_allclose(cosines, best, atol=1e-6)
    # Vectors with equal codes have equal cosines, up to rounding errors.
    assert (rows == expected).mean() > 0.99


def test_candidates_are_scored_with_the_original_vectors(
    matrix: CompressedMatrix, vectors: Floats
) -> None:
    queries = vectors[:60] + 0.01
    rows, cosines = Index.of(matrix).search(queries, 5, originals=vectors)
    expected, best = by_brute_force(vectors, queries, 5)
    kept = (rows[:, :, None] == expected[:, None]).any(axis=2)
    np.testing.assert_allclose(cosines[:, 0][kept[:, 0]], best[:, 0][kept[:, 0]], atol=1e-6)
    assert kept.mean() > 0.85
    rebuilt, _ = Index.of(matrix).search(queries, 5)
    assert kept.mean() >= (rebuilt[:, :, None] == expected[:, None]).any(axis=2).mean()


def test_a_vector_of_length_zero_is_never_near() -> None:
    codes = np.array([[1, 0], [0, 0], [0, 1]] * 20, dtype=np.uint8)
    book = Codebook(np.zeros(2), np.eye(2), np.array([[0.0, 1.0], [0.0, 1.0]]))
    index = Index.of(CompressedMatrix(book, DigitCodes.of(codes, 2)))
    rows, cosines = index.search([[1.0, 0.0], [0.0, 0.0]], 60)
    assert (rows[0, :20] % 3 == 0).all() and not cosines[0, 20:].any()
    assert not cosines[1].any() and (rows[1] == np.arange(60)).all()


def test_fewer_rows_than_wanted_are_all_returned(matrix: CompressedMatrix) -> None:
    rows, _ = Index.of(matrix).search(np.ones((1, 12)), 10_000)
    assert sorted(rows[0]) == list(range(5000))


@pytest.mark.parametrize("queries", [np.ones(12), np.ones((2, 11)), np.full((1, 12), np.nan)])
def test_other_queries_are_rejected(matrix: CompressedMatrix, queries: Floats) -> None:
    with pytest.raises(DataError, match="queries"):
        Index.of(matrix).search(queries)


@pytest.mark.parametrize("n", [1, 10, 600, 9999, 10_001])
@pytest.mark.parametrize("size", [1, 100, 4096, 10_000])
def test_the_largest_scores_are_those_of_a_sort(size: int, n: int) -> None:
    scores = np.random.default_rng(size).permutation(size).astype(np.float32)
    assert sorted(scores[largest(scores, n)]) == sorted(scores)[-n:]
