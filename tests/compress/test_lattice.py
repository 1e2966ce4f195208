"""Whole numbers by one step: rounding, tiers, and the best basis."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from yakusu.compress.codes import Floats
from yakusu.compress.lattice import ONE_TIER, Rounding, Tier, spans, tiers_from
from yakusu.errors import DataError


@pytest.fixture(scope="module")
def vectors() -> Floats:
    rng = np.random.default_rng(8)
    return rng.standard_normal((9000, 6)) @ rng.standard_normal((6, 6)) + 3


@pytest.mark.parametrize("whitening", [0, 0.5, 1])
def test_numbers_are_rounded_components_of_sklearns_pca(vectors: Floats, whitening: float) -> None:
    pca = PCA(6, svd_solver="full").fit(vectors)
    scores = pca.transform(vectors) / np.sqrt(pca.explained_variance_) ** whitening / 0.3
    numbers = Rounding(vectors, n_components=6, whitening=whitening).numbers(0.3)
    largest = np.abs(pca.components_).argmax(axis=1)
    scores *= np.sign(pca.components_[np.arange(6), largest])
    near = np.abs(scores - numbers)
    assert near.max() < 0.5 + 1e-6 and numbers.dtype == np.int16


def test_the_basis_is_that_of_least_squares(vectors: Floats) -> None:
    rounding = Rounding(vectors, n_components=4)
    numbers = rounding.numbers(0.7)
    lattice = rounding.lattice(numbers)
    expected, *_ = np.linalg.lstsq(numbers.astype(float), vectors - vectors.mean(0), rcond=None)
    np.testing.assert_allclose(lattice.basis, expected, atol=1e-9)
    np.testing.assert_allclose(lattice.rebuild(numbers), numbers @ expected + vectors.mean(axis=0))


def test_a_small_step_loses_next_to_nothing_and_a_larger_one_more(vectors: Floats) -> None:
    rounding = Rounding(vectors, n_components=6)
    losses = []
    for step in (0.001, 0.01, 0.1, 1):
        numbers = rounding.numbers(step)
        losses.append(np.square(vectors - rounding.lattice(numbers).rebuild(numbers)).mean())
    assert losses[0] < 1e-6 and losses == sorted(losses)


def test_numbers_of_a_tier_are_multiples_of_its_factor(vectors: Floats) -> None:
    tiers = tiers_from((100, 8500))
    assert tiers == (Tier(0, 1), Tier(100, 2), Tier(8500, 4))
    rounding = Rounding(vectors, n_components=6, tiers=tiers)
    numbers, scores = rounding.numbers(0.02), (vectors - rounding.mean) @ rounding.axes / 0.02
    for begin, end, factor in spans(tiers, 9000):
        assert (numbers[begin:end] % factor == 0).all()
        assert (numbers[begin:end] % (2 * factor) != 0).any()
        assert np.abs(numbers[begin:end] - scores[begin:end]).max() <= factor / 2 + 1e-9
    first = Rounding(vectors, n_components=6).numbers(0.02)[:100]
    assert (numbers[:100] == first).all()


def test_a_direction_without_variance_has_the_number_0() -> None:
    vectors = np.random.default_rng(1).standard_normal((50, 3))
    flat = np.column_stack([vectors, vectors[:, 0] + vectors[:, 1]])
    rounding = Rounding(flat, n_components=4)
    numbers = rounding.numbers(0.001)
    assert (numbers[:, 3] == 0).all() and (numbers[:, :3] != 0).any(axis=0).all()
    np.testing.assert_allclose(rounding.lattice(numbers).rebuild(numbers), flat, atol=1e-2)


def test_one_word_is_its_own_mean() -> None:
    rounding = Rounding(np.array([[1.0, 2.0]]), n_components=2)
    numbers = rounding.numbers(0.1)
    assert numbers.tolist() == [[0, 0]]
    assert rounding.lattice(numbers).rebuild(numbers).tolist() == [[1, 2]]


def test_the_share_lost_is_the_squared_error_over_the_variance(vectors: Floats) -> None:
    rounding = Rounding(vectors, n_components=6)
    numbers = rounding.numbers(1)
    error = np.square(vectors - rounding.lattice(numbers).rebuild(numbers)).sum()
    variance = np.square(vectors - vectors.mean(axis=0)).sum()
    assert rounding.lost(numbers).share == pytest.approx(error / variance, rel=1e-9)


def test_the_coarsest_step_leaves_nothing_and_a_finer_one_does(vectors: Floats) -> None:
    rounding = Rounding(vectors, n_components=6)
    coarsest = rounding.coarsest()
    assert (rounding.numbers(1.0001 * coarsest) == 0).all()
    assert (rounding.numbers(0.999 * coarsest) != 0).any()


def test_a_sample_has_words_of_each_tier_and_the_same_axes(vectors: Floats) -> None:
    tiers = tiers_from((3, 1000))
    whole = Rounding(vectors, n_components=6, tiers=tiers)
    sample = whole.sampled(900)
    assert [tier.begin for tier in sample.tiers] == [0, 1, 1 + 100]
    assert (sample.vectors[:2] == vectors[[0, 3]]).all() and len(sample.vectors) == 1 + 100 + 800
    assert (sample.numbers(0.1)[101:] == whole.numbers(0.1)[1000::10]).all()


@pytest.mark.parametrize("step", [0, -1, np.nan, np.inf])
def test_a_step_that_cannot_be_is_refused(vectors: Floats, step: float) -> None:
    with pytest.raises(DataError, match=f"a step of {step} is not possible"):
        Rounding(vectors, n_components=6).numbers(step)


def test_a_step_whose_numbers_need_more_than_16_bits_is_refused(vectors: Floats) -> None:
    rounding = Rounding(vectors, n_components=6)
    greatest = rounding.coarsest() / 2 / 32767
    assert np.abs(rounding.numbers(1.00001 * greatest).astype(int)).max() == 32767
    with pytest.raises(DataError, match="numbers of more than 16 bits"):
        rounding.numbers(0.9999 * greatest)


@pytest.mark.parametrize(
    ("tiers", "message"),
    [
        ((Tier(1, 1),), r"tiers that begin at the ranks \[1\] do not fit 9000 words"),
        (tiers_from((50, 20)), r"\[50, 20\] do not fit"),
        (tiers_from((50, 50)), r"\[50, 50\] do not fit"),
        (tiers_from((0,)), r"\[0\] do not fit"),
        (tiers_from((9000,)), r"\[9000\] do not fit"),
        (tiers_from(range(1, 16)), "16 tiers are too many for 16 bits: give at most 15"),
    ],
)
def test_tiers_that_do_not_fit_are_refused(
    vectors: Floats, tiers: tuple[Tier, ...], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Rounding(vectors, n_components=6, tiers=tiers)


@pytest.mark.parametrize("whitening", [-0.1, 1.1, np.nan])
def test_a_whitening_out_of_range_is_refused(vectors: Floats, whitening: float) -> None:
    with pytest.raises(DataError, match="a whitening of"):
        Rounding(vectors, n_components=6, whitening=whitening, tiers=ONE_TIER)
