"""Integers with one step: rounding, tiers, and the best basis."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from yakusu.arrays import Doubles
from yakusu.compress.lattice import ONE_TIER, Tier, spans, tiers_from
from yakusu.compress.rounding import Rounding
from yakusu.errors import DataError


@pytest.fixture(scope="module")
def vectors() -> Doubles:
    rng = np.random.default_rng(8)
    return rng.standard_normal((9000, 6)) @ rng.standard_normal((6, 6)) + 3


@pytest.mark.parametrize("whitening", [0, 0.5, 1])
def test_integers_are_rounded_components_of_scikit_learns_pca(
    vectors: Doubles, whitening: float
) -> None:
    pca = PCA(6, svd_solver="full").fit(vectors)
    scores = pca.transform(vectors) / np.sqrt(pca.explained_variance_) ** whitening / 0.3
    integers = Rounding(vectors, n_components=6, whitening=whitening).integers(0.3)[:]
    largest = np.abs(pca.components_).argmax(axis=1)
    scores *= np.sign(pca.components_[np.arange(6), largest])
    near = np.abs(scores - integers)
    assert near.max() < 0.5 + (1e-6 if whitening else 1e-3) and integers.dtype == np.int16


def test_the_basis_is_the_least_squares_solution(vectors: Doubles) -> None:
    rounding = Rounding(vectors, n_components=4)
    integers = rounding.integers(0.7)[:]
    lattice = rounding.lattice(integers)
    expected, *_ = np.linalg.lstsq(integers.astype(float), vectors - vectors.mean(0), rcond=None)
    np.testing.assert_allclose(lattice.basis, expected, atol=1e-9)
    np.testing.assert_allclose(
        lattice.rebuild(integers), integers @ expected + vectors.mean(axis=0)
    )


def test_the_loss_grows_with_the_step(vectors: Doubles) -> None:
    rounding = Rounding(vectors, n_components=6)
    losses = []
    for step in (0.001, 0.01, 0.1, 1):
        integers = rounding.integers(step)[:]
        losses.append(np.square(vectors - rounding.lattice(integers).rebuild(integers)).mean())
    assert losses[0] < 1e-6 and losses == sorted(losses)


def test_integers_of_a_tier_are_multiples_of_its_factor(vectors: Doubles) -> None:
    tiers = tiers_from((100, 8500))
    assert tiers == (Tier(0, 1), Tier(100, 2), Tier(8500, 4))
    rounding = Rounding(vectors, n_components=6, tiers=tiers)
    integers, scores = rounding.integers(0.02)[:], rounding.projection.scores(vectors) / 0.02
    for begin, end, factor in spans(tiers, 9000):
        assert (integers[begin:end] % factor == 0).all()
        assert (integers[begin:end] % (2 * factor) != 0).any()
        assert np.abs(integers[begin:end] - scores[begin:end]).max() <= factor / 2 + 1e-9
    first = Rounding(vectors, n_components=6).integers(0.02)[:][:100]
    assert (integers[:100] == first).all()


def test_a_direction_without_variance_has_the_integer_0() -> None:
    vectors = np.random.default_rng(1).standard_normal((50, 3))
    flat = np.column_stack([vectors, vectors[:, 0] + vectors[:, 1]])
    rounding = Rounding(flat, n_components=4)
    integers = rounding.integers(0.001)[:]
    assert (integers[:, 3] == 0).all() and (integers[:, :3] != 0).any(axis=0).all()
    np.testing.assert_allclose(rounding.lattice(integers).rebuild(integers), flat, atol=1e-2)


def test_one_vector_is_its_own_mean() -> None:
    rounding = Rounding(np.array([[1.0, 2.0]]), n_components=2)
    integers = rounding.integers(0.1)[:]
    assert integers.tolist() == [[0, 0]]
    assert rounding.lattice(integers).rebuild(integers).tolist() == [[1, 2]]


def test_the_share_lost_is_the_squared_error_over_the_variance(vectors: Doubles) -> None:
    rounding = Rounding(vectors, n_components=6)
    integers = rounding.integers(1)[:]
    error = np.square(vectors - rounding.lattice(integers).rebuild(integers)).sum()
    variance = np.square(vectors - vectors.mean(axis=0)).sum()
    assert rounding.loss(integers).share == pytest.approx(error / variance, rel=1e-9)


def test_at_the_coarsest_step_every_integer_is_0(vectors: Doubles) -> None:
    rounding = Rounding(vectors, n_components=6)
    coarsest = rounding.coarsest()
    assert (rounding.integers(1.0001 * coarsest)[:] == 0).all()
    assert (rounding.integers(0.999 * coarsest)[:] != 0).any()


def test_a_sample_has_rows_of_each_tier_and_the_same_axes(vectors: Doubles) -> None:
    tiers = tiers_from((3, 1000))
    every = Rounding(vectors, n_components=6, tiers=tiers)
    sample = every.sampled(900)
    assert [tier.begin for tier in sample.tiers] == [0, 1, 1 + 99]  # 997 rows, of which 1 in 10
    assert (sample.vectors[:2] == vectors[[0, 3]]).all() and len(sample.vectors) == 1 + 99 + 800
    assert (sample.integers(0.1)[:][100:] == every.integers(0.1)[:][1000::10]).all()


@pytest.mark.parametrize("step", [0, -1, np.nan, np.inf])
def test_a_step_out_of_range_is_rejected(vectors: Doubles, step: float) -> None:
    with pytest.raises(DataError, match=f"step = {step} is out of range"):
        Rounding(vectors, n_components=6).integers(step)[:]


def test_integers_of_more_than_16_bits_are_rejected(vectors: Doubles) -> None:
    rounding = Rounding(vectors, n_components=6)
    greatest = rounding.coarsest() / 2 / 32767
    assert np.abs(rounding.integers(1.00001 * greatest)[:].astype(int)).max() == 32767
    with pytest.raises(DataError, match="integers of more than 16 bits"):
        rounding.integers(0.9999 * greatest)[:]


@pytest.mark.parametrize(
    ("tiers", "message"),
    [
        ((Tier(1, 1),), r"tiers at the ranks \[1\] do not fit 9000 vectors"),
        (tiers_from((50, 20)), r"\[50, 20\] do not fit"),
        (tiers_from((50, 50)), r"\[50, 50\] do not fit"),
        (tiers_from((0,)), r"\[0\] do not fit"),
        (tiers_from((9000,)), r"\[9000\] do not fit"),
        (tiers_from(range(1, 16)), "16 tiers exceed 16 bits: choose at most 14 ranks"),
    ],
)
def test_tiers_out_of_range_are_rejected(
    vectors: Doubles, tiers: tuple[Tier, ...], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Rounding(vectors, n_components=6, tiers=tiers)


@pytest.mark.parametrize("scale", [1e160, 1e-160])
def test_vectors_out_of_range_are_rejected(vectors: Doubles, scale: float) -> None:
    with pytest.raises(DataError, match=r"scale them to a largest magnitude from 1e-30 to 1e\+30"):
        Rounding(vectors * scale, n_components=6)


@pytest.mark.parametrize("whitening", [-0.1, 1.1, np.nan])
def test_a_whitening_out_of_range_is_rejected(vectors: Doubles, whitening: float) -> None:
    with pytest.raises(DataError, match="whitening = "):
        Rounding(vectors, n_components=6, whitening=whitening, tiers=ONE_TIER)
