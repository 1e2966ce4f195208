"""The ways to compress, against their parts."""

import numpy as np
import numpy.typing as npt
import pytest

from yakusu.compress.adam import fit_by_adam
from yakusu.compress.budget import Budget, choose_codes, choose_step
from yakusu.compress.codebook import Codebook, compress
from yakusu.compress.codes import code
from yakusu.compress.lattice import Rounding, tiers_from
from yakusu.compress.method import (
    ByCodes,
    ByNumbers,
    CodesWithin,
    Fitting,
    Method,
    NumbersWithin,
)
from yakusu.errors import DataError
from yakusu.progress import Silent

Floats = npt.NDArray[np.float32]
WORDS = [f"w{i}" for i in range(700)]


@pytest.fixture(scope="module")
def vectors() -> Floats:
    rng = np.random.default_rng(12)
    mixed = rng.standard_normal((700, 5)) @ rng.standard_normal((5, 5))
    return mixed.astype(np.float32)


def test_codes_are_those_of_the_paper_and_m_is_h_unless_given(vectors: Floats) -> None:
    for given, m in ((0, 5), (3, 3)):
        coded, book = compress(vectors, n_components=m, n_codes=6)
        made = ByCodes(given, 6)(vectors, Silent())
        assert (made.dense_codes() == coded.codes).all()
        np.testing.assert_allclose(made.dense(), book.rebuild(coded.codes), atol=1e-6)
        assert list(made) == WORDS


def test_a_codebook_is_fitted_as_it_is_named_and_its_mean_folded_if_wanted(
    vectors: Floats,
) -> None:
    coded = code(vectors, n_components=3, n_codes=6)
    closed = Codebook.closed(coded)
    _, fitted = compress(vectors, n_components=3, n_codes=6)
    by_adam = fit_by_adam(closed, vectors, coded.codes)
    for fit, expected in (("closed", closed), ("least-squares", fitted), ("adam", by_adam)):
        for mean, book in (("stored", expected), ("folded", expected.folded())):
            made = ByCodes(3, 6, Fitting(fit, mean))(vectors, Silent())
            assert (made.book.mean == book.mean).all()
            np.testing.assert_allclose(made.dense(), book.rebuild(coded.codes), atol=1e-6)


@pytest.mark.parametrize("names", [("exact", "stored"), ("closed", "left out")])
def test_a_codebook_cannot_be_fitted_otherwise(names: tuple[str, str]) -> None:
    with pytest.raises(DataError, match=r"is no way to a codebook: choose (closed|stored) or "):
        Fitting(*names)


def test_numbers_are_those_of_rounding(vectors: Floats) -> None:
    rounding = Rounding(vectors, n_components=5, whitening=0.3, tiers=tiers_from((50, 300)))
    made = ByNumbers(0.1, 0.3, (50, 300))(vectors, Silent())
    assert (made.dense_codes() == rounding.numbers(0.1)).all()


@pytest.mark.parametrize(
    "budget", [Budget(bits=9), Budget(ratio=6), Budget(max_loss=0.04)], ids=str
)
def test_within_a_budget_is_by_what_is_chosen_for_it(vectors: Floats, budget: Budget) -> None:
    choice = choose_codes(vectors, budget)
    step = choose_step(vectors, budget, whitening=0.3, tiers=tiers_from((50,)))
    pairs: list[tuple[Method, Method]] = [
        (CodesWithin(budget), ByCodes(choice.n_components, choice.n_codes)),
        (NumbersWithin(budget, 0.3, (50,)), ByNumbers(step, 0.3, (50,))),
    ]
    for within, by in pairs:
        one, other = (method(vectors, Silent()) for method in (within, by))
        assert (one.dense_codes() == other.dense_codes()).all()
        assert (one.dense() == other.dense()).all()


@pytest.mark.parametrize("method", [ByCodes(6), ByCodes(2, 1), ByNumbers(0.0), ByNumbers(-1.0)])
def test_what_does_not_suit_is_refused(vectors: Floats, method: Method) -> None:
    with pytest.raises(DataError):
        method(vectors, Silent())
