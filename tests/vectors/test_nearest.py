"""Recall of nearest neighbours by word frequency."""

import numpy as np
import numpy.typing as npt
import pytest

from yakusu.compress import blocks
from yakusu.errors import DataError
from yakusu.progress import Silent
from yakusu.vectors.nearest import Neighbours, nearest, neighbours_by_band

Floats = npt.NDArray[np.float64]
N = 60


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Process candidates in blocks of seven."""
    monkeypatch.setattr(blocks, "ROWS", 7)


@pytest.fixture
def vectors() -> Floats:
    return np.random.default_rng(5).standard_normal((N, 5)) + 1


def by_sorting(vectors: Floats, row: int, n: int) -> list[int]:
    centred = vectors - vectors.mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    others = [i for i in range(len(vectors)) if i != row]
    return sorted(others, key=lambda i: -float(unit[row] @ unit[i]))[:n]


def test_the_nearest_words_match_a_sort_of_all_words(vectors: Floats) -> None:
    rows = np.array([0, 3, 59, 20, 21, 22, 7, 8, 9])
    with Silent().track("", "", None) as tracker:
        found = nearest(vectors.__getitem__, vectors.mean(axis=0), N, rows, 4, tracker)
    assert found.tolist() == [by_sorting(vectors, row, 4) for row in rows]


def test_blocks_without_a_nearer_word_change_nothing() -> None:
    near, far = np.eye(5) + 5, -np.eye(5)[np.arange(N - 5) % 5]
    (kept,) = Neighbours.of(np.concatenate([near, far]), sample=1, n=4).found.tolist()
    assert kept == [1, 2, 3, 4]


def test_scaling_about_the_mean_keeps_all_neighbours(vectors: Floats) -> None:
    scaled = 3 * vectors - 2 * vectors.mean(axis=0)
    (band,) = neighbours_by_band(vectors.__getitem__, scaled.__getitem__, N)
    assert (band.first, band.last, band.used, band.recall) == (1, N, N, 1)


def test_bands_separate_frequent_words_from_rare_ones() -> None:
    rng = np.random.default_rng(10)
    vectors = rng.standard_normal((300, 8))
    vectors[:100, 0] += 20  # far from the rare words, so that none of these is a neighbour
    vectors[100:, 0] -= 10
    spoilt = vectors.copy()
    spoilt[100:, 1:] = rng.permutation(spoilt[100:, 1:])  # the mean stays
    bands = neighbours_by_band(
        vectors.__getitem__, spoilt.__getitem__, 300, bands=(40, 100, 1000), sample=50, n=3
    )
    assert [(band.first, band.last, band.used) for band in bands] == [
        (1, 40, 40),
        (41, 100, 50),
        (101, 300, 50),
    ]
    assert min(band.recall for band in bands[:2]) > 0.99
    assert bands[2].recall < 0.2


def test_more_neighbours_than_other_words_are_rejected(vectors: Floats) -> None:
    with pytest.raises(DataError, match="n = 60 is out of range for 60 words"):
        neighbours_by_band(vectors.__getitem__, vectors.__getitem__, N, n=60)


def test_equal_vectors_keep_all_neighbours_and_the_origin_counts(vectors: Floats) -> None:
    kept = Neighbours.of(vectors, n=4)
    assert kept.name == "4 nearest kept"
    (same,) = kept.score(3 * vectors)
    assert (same.score, same.used, same.left_out) == (1, N, 0)
    (moved,) = kept.score(vectors - vectors.mean(axis=0))
    assert 0.3 < moved.score < 0.9


def test_neighbours_kept_match_brute_force(vectors: Floats) -> None:
    other = vectors + 0.5 * np.random.default_rng(1).standard_normal(vectors.shape)
    kept = Neighbours.of(vectors, sample=7, n=4)
    assert kept.rows.tolist() == [0, 10, 20, 30, 39, 49, 59]  # evenly spaced

    def by_cosine(of: Floats, row: int, n: int) -> set[int]:
        unit = of / np.linalg.norm(of, axis=1, keepdims=True)
        order = np.argsort(-(unit @ unit[row]))
        return {int(i) for i in order if i != row and i in order[: n + 1]}

    first, candidates = kept.score(other, among=(4, 12))
    for result, n in ((first, 4), (candidates, 12)):
        shares = [
            len(by_cosine(vectors, row, 4) & by_cosine(other, row, n)) / 4 for row in kept.rows
        ]
        assert result.score == pytest.approx(np.mean(shares))
    assert first.score < candidates.score < 1


def test_few_words_have_few_neighbours() -> None:
    kept = Neighbours.of(np.eye(3))
    assert kept.name == "2 nearest kept"
    assert kept.score(np.eye(3))[0].score == 1
