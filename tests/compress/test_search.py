"""Nearest rows found on the codes, compared with all rebuilt vectors."""

import numpy as np
import numpy.typing as npt
import pytest

from tests.cases import THOROUGH
from yakusu.compress import kernels
from yakusu.compress.codebook import Codebook
from yakusu.compress.compressor import CodebookCompressor, Compressor, LatticeCompressor
from yakusu.compress.digits import DigitCodes
from yakusu.compress.entropy import EntropyCodes
from yakusu.compress.lattice import ONE_TIER
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


@pytest.mark.parametrize("compiled", [True, False] if THOROUGH else [True])
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


@pytest.mark.parametrize("compiled", [True, False])
def test_of_equal_vectors_those_with_the_lowest_indices_come_first(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(kernels, "are_available", lambda: False)
    codes = np.array([[1, 0], [0, 1], [1, 1]] * 7, dtype=np.uint8)
    book = Codebook(np.zeros(2), np.eye(2), np.array([[0.0, 1.0], [0.0, 1.0]]))
    index = Index.of(CompressedMatrix(book, DigitCodes.of(codes, 2)))
    rows, cosines = index.search([[1.0, 0.0], [3.0, 3.0]], 10)
    assert rows.tolist() == [
        [*range(0, 21, 3), 2, 5, 8],  # 7 rows of cosine 1, then those of cosine 1 / sqrt(2)
        [*range(2, 21, 3), 0, 1, 3],
    ]
    np.testing.assert_allclose(cosines, [[1] * 7 + [0.5**0.5] * 3] * 2, atol=1e-6)


def test_more_equal_vectors_than_candidates_are_all_as_near(matrix: CompressedMatrix) -> None:
    codes = matrix.codes.rows(np.zeros(300, dtype=np.int64))
    if isinstance(matrix.book, Codebook):
        stored: DigitCodes | EntropyCodes = DigitCodes.of(codes, matrix.book.n_codes)
    else:
        stored = EntropyCodes.of(codes, ONE_TIER)
    index = Index.of(CompressedMatrix(matrix.book, stored))
    rows, cosines = index.search(matrix.rows(np.array([0])), 100)
    assert len(set(rows[0].tolist())) == 100
    np.testing.assert_allclose(cosines, np.ones((1, 100)), atol=1e-6)


def test_no_queries_have_no_neighbours(matrix: CompressedMatrix) -> None:
    rows, cosines = Index.of(matrix).search(np.empty((0, 12)), 7)
    assert rows.shape == cosines.shape == (0, 7)
    assert (rows.dtype, cosines.dtype) == (np.int64, np.float32)


@pytest.mark.parametrize("compiled", [True, False])
def test_neighbours_depend_neither_on_threads_nor_on_other_queries(
    matrix: CompressedMatrix, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(kernels, "are_available", lambda: False)
    queries = np.random.default_rng(8).standard_normal((40, 12))
    index = Index.of(matrix)
    rows, cosines = index.search(queries, 5, n_jobs=1)
    for n_jobs in (2, 5):
        for found, expected in zip(
            index.search(queries, 5, n_jobs=n_jobs), (rows, cosines), strict=True
        ):
            assert (found == expected).all()
    alone = [index.search(query[None], 5)[0][0] for query in queries[:3]]
    assert (np.array(alone) == rows[:3]).all()


def test_vectors_are_rebuilt_once_for_many_queries(
    matrix: CompressedMatrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "are_available", lambda: False)
    index, read = Index.of(matrix), []
    original = type(matrix.codes).rows
    monkeypatch.setattr(
        type(matrix.codes),
        "rows",
        lambda self, rows: read.append(len(rows)) or original(self, rows),
    )
    index.search(np.ones((16, 12)), 1)
    assert sum(read) == 5000 + 16 * 33  # all rows once, and the candidates of each query


@pytest.mark.parametrize("scale", [1e-28, 1e28])
@pytest.mark.parametrize("made", [CodebookCompressor(), LatticeCompressor(0.3, whitening=1)])
def test_the_scale_of_the_vectors_does_not_matter(
    made: Compressor, scale: float, vectors: Floats
) -> None:
    queries = vectors[:5] + 0.01
    expected, _ = Index.of(made.fit(vectors).compressed_).search(queries)
    found, cosines = Index.of(made.fit(vectors * scale).compressed_).search(queries)
    assert (found == expected).mean() > 0.9 and (cosines > 0.5).all()


def test_fewer_rows_than_wanted_are_all_returned(matrix: CompressedMatrix) -> None:
    rows, _ = Index.of(matrix).search(np.ones((1, 12)), 10_000)
    assert sorted(rows[0]) == list(range(5000))


@pytest.mark.parametrize("queries", [np.ones(12), np.ones((2, 11)), np.full((1, 12), np.nan)])
def test_other_queries_are_rejected(matrix: CompressedMatrix, queries: Floats) -> None:
    with pytest.raises(DataError, match="queries"):
        Index.of(matrix).search(queries)


def test_no_threads_and_no_neighbours_are_rejected(matrix: CompressedMatrix) -> None:
    index = Index.of(matrix)
    with pytest.raises(DataError, match="n_jobs = 0 is out of range"):
        index.search(np.ones((1, 12)), n_jobs=0)
    with pytest.raises(DataError, match="n = 0: give queries"):
        index.search(np.ones((1, 12)), 0)


@pytest.mark.parametrize("n", [1, 10, 600, 9999, 10_001])
@pytest.mark.parametrize("size", [1, 100, 4096, 10_000])
def test_the_largest_scores_are_those_of_a_sort(size: int, n: int) -> None:
    scores = np.random.default_rng(size).permutation(size).astype(np.float32)
    assert sorted(scores[largest(scores, n)]) == sorted(scores)[-n:]


@pytest.mark.parametrize("factor", [1e-300, 1e-44, 1e43, 1e200])
def test_the_length_of_a_query_does_not_matter(matrix: CompressedMatrix, factor: float) -> None:
    queries = np.random.default_rng(6).standard_normal((5, 12))
    index = Index.of(matrix)
    for found, expected in zip(index.search(queries * factor), index.search(queries), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_originals_of_another_shape_are_rejected(matrix: CompressedMatrix, vectors: Floats) -> None:
    for originals in (vectors[1:], vectors[:, 1:]):
        with pytest.raises(DataError, match="are not the vectors before compression"):
            Index.of(matrix).search(vectors[:1], originals=originals)


def test_rows_out_of_range_are_rejected(matrix: CompressedMatrix) -> None:
    for rows in ([-1], [0, 5000]):
        with pytest.raises(IndexError, match="there are 5000 rows"):
            matrix.rows(np.array(rows))
    with pytest.raises(IndexError, match="row 5000 is out of range"):
        matrix.row(5000)
    assert matrix.rows(np.array([], dtype=np.int64)).shape == (0, 12)
