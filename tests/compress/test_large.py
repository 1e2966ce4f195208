"""Matrices that are not in memory, and codebooks that are learnt from a sample of the rows."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from yakusu.compress import budget
from yakusu.compress.blocks import ROWS, Matrix, Rows, StoredMatrix, evenly_spaced, sampled
from yakusu.compress.budget import Budget
from yakusu.compress.codebook import Codebook
from yakusu.compress.codes import code
from yakusu.compress.compressor import CodebookCompressor, Compressor, LatticeCompressor
from yakusu.compress.fitting import fit_by_least_squares
from yakusu.compress.lattice import sampled_by_tier, tiers_from
from yakusu.errors import DataError
from yakusu.vectors import open_matrix

Floats = npt.NDArray[np.float64]


class Stored(StoredMatrix):
    """A matrix that counts the rows that are read at once."""

    def __init__(self, rows: Matrix) -> None:
        self.shape, self.dtype = rows.shape, rows.dtype
        self.most, self._rows = 0, rows

    def __getitem__(self, rows: slice | Rows) -> Matrix:
        found = self._rows[rows].copy()
        self.most = max(self.most, len(found))
        return found


@pytest.fixture(scope="module")
def vectors() -> Floats:
    rng = np.random.default_rng(8)
    return rng.standard_normal((20_000, 8)) @ rng.standard_normal((8, 8)) + 3


def compressors(**options: int) -> list[Compressor]:
    return [CodebookCompressor(n_codes=8, **options), LatticeCompressor(0.2, **options)]


def test_a_sample_is_evenly_spaced_and_all_rows_are_no_sample() -> None:
    assert evenly_spaced(10, 4).tolist() == [0, 2, 5, 7]
    assert evenly_spaced(3, 4).tolist() == [0, 1, 2]
    half = np.arange(20, dtype=np.float16).reshape(10, 2)
    assert sampled(half, 4).tolist() == [[0, 1], [4, 5], [10, 11], [14, 15]]
    assert sampled(half, 4).dtype == np.float32
    assert sampled(Stored(half), 10).tolist() == half.tolist()


def test_each_tier_has_a_row_in_a_sample(vectors: Floats) -> None:
    rows, tiers = sampled_by_tier(vectors, tiers_from((2, 3)), 10)
    assert [tier.begin for tier in tiers] == [0, 1, 2]
    assert [tier.factor for tier in tiers] == [1, 2, 4]
    assert rows[:3].tolist() == vectors[[0, 2, 3]].tolist() and len(rows) == 11


@pytest.mark.parametrize("number", [0, 1], ids=["codes", "integers"])
def test_a_stored_matrix_gives_the_result_of_the_same_array(vectors: Floats, number: int) -> None:
    stored = Stored(vectors)
    made, expected = compressors()[number].fit(stored), compressors()[number].fit(vectors)
    assert made.fitted_rows_ == expected.fitted_rows_ == 20_000
    assert made.loss_ == expected.loss_ and made.ratio_ == expected.ratio_
    for name, array in expected.compressed_.arrays.items():
        assert array.tobytes() == made.compressed_.arrays[name].tobytes()


@pytest.mark.parametrize("number", [0, 1], ids=["codes", "integers"])
def test_the_codebook_is_that_of_the_sample_and_all_rows_are_coded(
    vectors: Floats, number: int
) -> None:
    stored = Stored(vectors)
    made = compressors(sample=500)[number].fit(stored)
    alone = compressors()[number].fit(vectors[evenly_spaced(20_000, 500)])
    assert made.fitted_rows_ == 500 and made.loss_ == alone.loss_
    assert (made.compressed_.book.basis == alone.compressed_.book.basis).all()
    assert len(made.compressed_) == 20_000 and stored.most == ROWS
    coded = made.compressed_.codes.rows(np.arange(20_000))
    assert (coded == made.transform(vectors)).all()
    assert (coded == made.transform(stored)).all()


def test_a_small_sample_loses_little_more_than_all_rows(vectors: Floats) -> None:
    for part, full in zip(compressors(sample=2000), compressors(), strict=True):
        losses = []
        for compressor in (part, full):
            rebuilt = compressor.fit(vectors).compressed_.dense()
            losses.append(np.square(rebuilt - vectors).sum(axis=1).mean())
        assert losses[1] < losses[0] < 1.02 * losses[1]


def test_a_budget_of_a_sampled_matrix_counts_all_rows(vectors: Floats) -> None:
    for method in (CodebookCompressor, LatticeCompressor):
        made = method(budget=Budget(ratio=6), sample=4000).fit(vectors)
        assert 6 <= made.ratio_ < 8


def test_a_limit_on_the_loss_is_checked_on_all_fitted_vectors(
    vectors: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only 1 row in 10, all equal to one of two vectors, chooses the size first."""
    monkeypatch.setattr(budget, "_NUMBERS", 8 * 200)
    rows = vectors[:2000].copy()
    rows[::10] = rows[0]
    rows[::20] = rows[1]
    made = CodebookCompressor(budget=Budget(max_loss=0.05)).fit(rows)
    error = np.square(made.compressed_.dense() - rows).sum()
    assert error <= 0.05 * np.square(rows - rows.mean(axis=0)).sum()


@pytest.mark.parametrize("sample", [1, 0, -3])
def test_a_sample_of_fewer_than_two_vectors_is_rejected(vectors: Floats, sample: int) -> None:
    for compressor in compressors(sample=sample):
        with pytest.raises(DataError, match=f"sample = {sample} is too small: choose 2 or more"):
            compressor.fit(vectors)


def test_tiers_of_a_sampled_matrix_begin_at_their_ranks(vectors: Floats) -> None:
    made = LatticeCompressor(0.1, ranks=(15_001,), sample=1000).fit(vectors)
    integers = made.compressed_.codes.rows(np.arange(20_000))
    assert (integers[15_001:] % 2 == 0).all() and (integers[15_000] % 2 != 0).any()


@pytest.mark.parametrize("number", [0, 1], ids=["codes", "integers"])
def test_half_precision_gives_the_result_of_the_same_numbers_in_double(
    vectors: Floats, number: int
) -> None:
    half = vectors[:3000].astype(np.float16)
    made, expected = (compressors()[number].fit(each) for each in (half, half.astype(np.float64)))
    assert (made.compressed_.dense() == expected.compressed_.dense()).all()
    half[17, 3] = np.nan
    with pytest.raises(DataError, match="row 17 is not finite"):
        compressors()[number].fit(half)


@pytest.mark.parametrize("number", [0, 1], ids=["codes", "integers"])
def test_a_stored_matrix_of_another_shape_is_rejected(vectors: Floats, number: int) -> None:
    with pytest.raises(DataError, match=r"shape \(1, 8\) are too few"):
        compressors()[number].fit(Stored(vectors[:1]))
    made = compressors()[number].fit(vectors[:100])
    with pytest.raises(DataError, match=r"shape \(9, 3\) do not have 8 dimensions"):
        made.transform(Stored(vectors[:9, :3]))


def test_a_file_of_half_precision_is_compressed_like_its_array(
    vectors: Floats, tmp_path: Path
) -> None:
    half = vectors.astype(np.float16)
    np.save(tmp_path / "half.npy", half)
    for read, kept in zip(compressors(sample=900), compressors(sample=900), strict=True):
        read.fit(open_matrix(tmp_path / "half.npy"))
        assert (read.compressed_.dense() == kept.fit(half).compressed_.dense()).all()


def test_above_10_000_weights_the_basis_is_the_best_one() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((3000, 20)) @ rng.standard_normal((20, 20))
    coded = code(vectors, n_components=20, n_codes=512)
    closed = Codebook.closed(coded)
    made = fit_by_least_squares(closed, vectors, coded.codes)
    assert (made.weights == closed.weights).all() and (made.mean == closed.mean).all()
    best = made.loss(vectors, coded.codes).per_vector
    assert best < closed.loss(vectors, coded.codes).per_vector
    for _ in range(5):
        moved = made.basis + 1e-3 * rng.standard_normal(made.basis.shape)
        other = Codebook(made.mean, moved, made.weights)
        assert other.loss(vectors, coded.codes).per_vector > best
