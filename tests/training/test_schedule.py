"""The learning rate equals Eq. 3 computed by hand."""

import pytest

from yakusu.training.schedule import lrate


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (1, 1.746928107e-7),  # 512^-0.5 * 4000^-1.5
        (4000, 6.987712430e-4),  # 512^-0.5 * 4000^-0.5
        (100_000, 1.397542486e-4),  # 512^-0.5 * 100000^-0.5
    ],
)
def test_rates_of_the_base_model_equal_equation_3_by_hand(step: int, expected: float) -> None:
    assert lrate(step, d_model=512, warmup_steps=4000) == pytest.approx(expected, rel=1e-9)


def test_rate_grows_linearly_to_its_peak_at_the_end_of_warmup() -> None:
    rates = [lrate(step, d_model=512, warmup_steps=100) for step in range(1, 1001)]
    assert rates.index(max(rates)) + 1 == 100
    assert [rate / rates[0] for rate in rates[:100]] == pytest.approx(list(range(1, 101)))


def test_rate_halves_when_the_step_number_quadruples() -> None:
    one, other = (lrate(step, d_model=512, warmup_steps=4000) for step in (10_000, 40_000))
    assert one / other == pytest.approx(2)


def test_scale_multiplies_the_rate() -> None:
    scaled = lrate(7, d_model=64, warmup_steps=10, scale=2.5)
    assert scaled == pytest.approx(2.5 * lrate(7, d_model=64, warmup_steps=10))
