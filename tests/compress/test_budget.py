"""Budgets: the choice equals that of brute force and meets the budget on all vectors."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from yakusu.compress import budget as budget_module
from yakusu.compress.budget import (
    Budget,
    SizeChoice,
    choose_codes,
    choose_step,
    losses_by_components,
    trade_off,
)
from yakusu.compress.codebook import Codebook
from yakusu.compress.codes import code
from yakusu.compress.digits import radix
from yakusu.compress.entropy import EntropyCodes
from yakusu.compress.fitting import fit_by_least_squares
from yakusu.compress.lattice import ONE_TIER, Tier, tiers_from
from yakusu.compress.rounding import Rounding
from yakusu.compress.storage import CompressedMatrix, size_of_codes
from yakusu.errors import DataError

Floats = npt.NDArray[np.float64]
ALL_CODES = (2, 4, 8, 16, 32, 64, 128, 256)


@pytest.fixture(scope="module")
def vectors() -> Floats:
    rng = np.random.default_rng(11)
    return rng.standard_t(5, (2000, 4)) @ rng.standard_normal((4, 4))


@pytest.fixture(scope="module")
def choices(vectors: Floats) -> list[SizeChoice]:
    """Every M and K, one at a time, measured by rebuilding the vectors."""
    found = []
    for k in ALL_CODES:
        for m in range(1, 5):
            coded = code(vectors, n_components=m, n_codes=k)
            loss = Codebook.closed(coded).loss(vectors, coded.codes).share
            ratio = size_of_codes(vectors.shape, m, k).ratio(vectors.shape)
            found.append(SizeChoice(m, k, radix(k).bits * m, ratio, loss))
    return found


def as_chosen(choice: SizeChoice) -> tuple[int, int]:
    return choice.n_components, choice.n_codes


def test_the_trade_off_matches_brute_force(vectors: Floats, choices: list[SizeChoice]) -> None:
    quick = list(trade_off(vectors))
    assert [as_chosen(choice) for choice in quick] == [as_chosen(choice) for choice in choices]
    for one, other in zip(quick, choices, strict=True):
        assert (one.bits, one.ratio) == (other.bits, other.ratio)
        assert one.loss == pytest.approx(other.loss, rel=1e-6)


def test_losses_by_components_match_separate_codebooks(vectors: Floats) -> None:
    losses = losses_by_components(vectors, code(vectors, n_components=4, n_codes=5))
    for m in range(1, 5):
        coded = code(vectors, n_components=m, n_codes=5)
        expected = Codebook.closed(coded).loss(vectors, coded.codes).share
        assert losses[m - 1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("bits", [1, 5, 8, 13, 20.5, 32])
def test_no_choice_within_the_bits_loses_less(
    vectors: Floats, choices: list[SizeChoice], bits: float
) -> None:
    best = min((c for c in choices if c.bits <= bits), key=lambda c: (c.loss, c.bits))
    assert as_chosen(choose_codes(vectors, Budget(bits=bits))) == as_chosen(best)


@pytest.mark.parametrize("times", [2, 6, 10.5, 30])
def test_no_choice_within_the_ratio_loses_less(
    vectors: Floats, choices: list[SizeChoice], times: float
) -> None:
    best = min((c for c in choices if c.ratio >= times), key=lambda c: (c.loss, c.bits))
    chosen = choose_codes(vectors, Budget(ratio=times))
    assert as_chosen(chosen) == as_chosen(best) and chosen.ratio >= times


@pytest.mark.parametrize("loss", [0.6, 0.2, 0.05, 0.001])
def test_no_choice_within_the_loss_is_smaller(
    vectors: Floats, choices: list[SizeChoice], loss: float
) -> None:
    best = max((c for c in choices if c.loss <= loss), key=lambda c: (c.ratio, -c.loss))
    chosen = choose_codes(vectors, Budget(max_loss=loss))
    assert as_chosen(chosen) == as_chosen(best)
    coded = code(vectors, n_components=chosen.n_components, n_codes=chosen.n_codes)
    book = fit_by_least_squares(Codebook.closed(coded), vectors, coded.codes)
    assert book.loss(vectors, coded.codes).share <= chosen.loss <= loss


@pytest.mark.parametrize("loss", [0.1, 0.0005, 0.0001])
def test_a_sample_easier_than_all_vectors_does_not_break_the_budget(
    vectors: Floats, monkeypatch: pytest.MonkeyPatch, loss: float
) -> None:
    """256 codes represent each of 250 vectors exactly."""
    monkeypatch.setattr(budget_module, "_SAMPLE", 250)
    monkeypatch.setattr(budget_module, "trade_off", partial(trade_off, most=250))
    chosen = choose_codes(vectors, Budget(max_loss=loss))
    coded = code(vectors, n_components=chosen.n_components, n_codes=chosen.n_codes)
    measured = Codebook.closed(coded).loss(vectors, coded.codes).share
    assert measured == pytest.approx(chosen.loss, rel=1e-9) and measured <= loss


# ---- steps ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """Size and loss of all vectors for one step."""

    bits: float
    ratio: float
    loss: float


def made(vectors: Floats, step: float, tiers: tuple[Tier, ...] = ONE_TIER) -> Made:
    rounding = Rounding(vectors, n_components=4, tiers=tiers)
    integers = rounding.integers(step)[:]
    matrix = CompressedMatrix(rounding.lattice(integers), EntropyCodes.of(integers, tiers))
    error = np.square(vectors - matrix.book.rebuild(integers)).sum()
    variance = np.square(vectors - vectors.mean(axis=0)).sum()
    return Made(matrix.size.bits, matrix.ratio, error / variance)


@pytest.mark.parametrize("tiers", [ONE_TIER, tiers_from((100, 900))], ids=["one", "three"])
@pytest.mark.parametrize("sample", [40_000, 300])
def test_a_step_uses_nearly_all_of_the_budget_on_all_vectors(
    vectors: Floats, monkeypatch: pytest.MonkeyPatch, sample: int, tiers: tuple[Tier, ...]
) -> None:
    monkeypatch.setattr(budget_module, "_SAMPLE", sample)
    near, rounding = 0.9 if sample > 2000 else 0.75, Rounding(vectors, n_components=4, tiers=tiers)
    for bits in (8, 20):
        found = made(vectors, choose_step(rounding, Budget(bits=bits)), tiers)
        assert near * bits < found.bits <= bits
    for times in (5, 12):
        found = made(vectors, choose_step(rounding, Budget(ratio=times)), tiers)
        assert times <= found.ratio < times / 0.75  # the header is a third of the smallest file
    for loss in (0.2, 0.003):
        found = made(vectors, choose_step(rounding, Budget(max_loss=loss)), tiers)
        assert near * loss < found.loss <= loss * (1 + 1e-9)


@pytest.mark.parametrize("share", [0.3, 0.05, 0.01])
def test_an_outlier_outside_the_sample_costs_no_bits(
    vectors: Floats, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """It has as much variance as all others together: the step on the sample is too fine."""
    monkeypatch.setattr(budget_module, "_SAMPLE", 300)
    odd = vectors.copy()
    odd[3] *= np.sqrt(np.square(vectors).sum() / np.square(vectors[3]).sum())
    assert np.square(odd[3]).sum() > 0.4 * np.square(odd - odd.mean(axis=0)).sum()
    found = made(odd, choose_step(Rounding(odd, n_components=4), Budget(max_loss=share)))
    assert 0.97 * share < found.loss <= share


def test_choices_are_deterministic(vectors: Floats) -> None:
    rounding, other = (
        Rounding(each, n_components=4) for each in (vectors, np.asfortranarray(vectors))
    )
    for limit in (Budget(bits=12), Budget(ratio=9), Budget(max_loss=0.02)):
        assert choose_codes(vectors, limit) == choose_codes(vectors.copy(), limit)
        assert choose_step(rounding, limit) == choose_step(other, limit)


# ---- errors --------------------------------------------------------------------------------------


def test_a_loss_that_needs_more_codes_names_the_setting(vectors: Floats) -> None:
    hint = "with K up to 256; for a larger K, set compress.k"
    with pytest.raises(DataError, match=rf"the minimum is [\d.]+ {hint}$"):
        choose_codes(vectors, Budget(max_loss=1e-9))
    with pytest.raises(DataError, match=r"the maximum is [\d.]+$"):
        choose_codes(vectors, Budget(ratio=1000))


def refused(limit: Budget, said: str, choose: Callable[[], Any]) -> Budget:
    """The closest budget that can be met, as named by the error."""
    with pytest.raises(DataError, match=f"{said} cannot be reached: the ") as caught:
        choose()
    [found] = re.findall(r"the m\w+imum is ([\d.]+)", str(caught.value))
    best = float(found)
    [(name, value)] = ((name, value) for name, value in vars(limit).items() if value)
    assert best < value if name == "ratio" else best > value
    return Budget(**{name: best})


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (Budget(bits=0.5), "0.5 bits per vector"),
        (Budget(ratio=1000), "a ratio of 1000"),
        (Budget(max_loss=1e-9), "a loss of 1e-09"),
    ],
)
def test_a_budget_no_choice_meets_is_rejected_with_the_closest_one(
    vectors: Floats, limit: Budget, said: str
) -> None:
    choose_codes(vectors, refused(limit, said, lambda: choose_codes(vectors, limit)))


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (Budget(bits=1e-3), "0.001 bits per vector"),
        (Budget(ratio=1000), "a ratio of 1000"),
        (Budget(max_loss=1e-12), "a loss of 1e-12"),
    ],
)
def test_a_budget_no_step_meets_is_rejected_with_the_closest_one(
    vectors: Floats, limit: Budget, said: str
) -> None:
    rounding = Rounding(vectors, n_components=4)
    choose_step(rounding, refused(limit, said, lambda: choose_step(rounding, limit)))


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"bits": 3, "ratio": 2},
        {"bits": -1},
        {"ratio": -2.0},
        {"max_loss": 1},
        {"max_loss": 0},
        {"bits": math.nan},
        {"ratio": math.inf},
    ],
)
def test_a_budget_has_exactly_one_limit_in_range(limits: dict[str, float]) -> None:
    with pytest.raises(
        DataError, match="give one of bits, ratio and max_loss, greater than 0, and max_loss"
    ):
        Budget(**limits)
