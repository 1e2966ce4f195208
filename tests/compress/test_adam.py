"""The codebook fitted with Adam, compared with least squares and a step computed by hand."""

import numpy as np
import numpy.typing as npt
import pytest

from yakusu.compress.adam import fit_by_adam
from yakusu.compress.codebook import Codebook
from yakusu.compress.codes import Coded, code
from yakusu.compress.fitting import SufficientStatistics, fit

Floats = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def vectors() -> Floats:
    rng = np.random.default_rng(3)
    return rng.standard_normal((600, 8)) @ rng.standard_normal((8, 8)) + 2


@pytest.fixture(scope="module")
def coded(vectors: Floats) -> Coded:
    return code(vectors, n_components=5, n_codes=4)


def test_the_first_step_follows_the_gradient_by_the_learning_rate(
    vectors: Floats, coded: Coded
) -> None:
    """The first step of Adam is the learning rate times the sign of the gradient."""
    start = Codebook.closed(coded)
    rate = 1e-3
    found = fit_by_adam(start, vectors, coded.codes, epochs=1, learning_rate=rate, batch=600)
    chosen = start.weights[np.arange(5), coded.codes]
    error = start.rebuild(coded.codes) - vectors
    to_basis = chosen.T @ error  # (M, H)
    along = error @ start.basis.T  # (V, M)
    to_weights = np.zeros((5, 4))
    np.add.at(to_weights, (np.arange(5), coded.codes), along)
    for before, after, gradient in (
        (start.basis, found.basis, to_basis),
        (start.weights, found.weights, to_weights),
    ):
        clear = np.abs(gradient) > 1e-2
        assert clear.mean() > 0.9
        expected = (before - rate * np.sign(gradient))[clear]
        np.testing.assert_allclose(after[clear], expected, atol=1e-6)
    assert (found.mean == start.mean).all()


def test_adam_approaches_the_least_squares_solution_from_above(
    vectors: Floats, coded: Coded
) -> None:
    closed = Codebook.closed(coded)
    statistics = SufficientStatistics.of(vectors, coded.codes, closed.mean, 4)
    least = fit(closed, statistics, rounds=2000).loss(vectors, coded.codes).per_vector
    begin = closed.loss(vectors, coded.codes).per_vector
    by_epochs = [
        fit_by_adam(closed, vectors, coded.codes, epochs=n, learning_rate=1e-3, batch=64)
        .loss(vectors, coded.codes)
        .per_vector
        for n in (5, 20, 60)
    ]
    assert begin > by_epochs[0] > by_epochs[1] > by_epochs[2] >= least * (1 - 1e-6)
    assert by_epochs[2] - least < 0.1 * (begin - least)


def test_the_same_seed_gives_the_same_bytes(vectors: Floats, coded: Coded) -> None:
    start = Codebook.closed(coded)
    one, same, other = (
        fit_by_adam(start, vectors, coded.codes, epochs=2, batch=100, seed=seed)
        for seed in (0, 0, 1)
    )
    assert one.basis.tobytes() == same.basis.tobytes() != other.basis.tobytes()
    assert one.weights.tobytes() == same.weights.tobytes() != other.weights.tobytes()
