"""Sorting by bits against numpy's sort."""

import numpy as np
import numpy.typing as npt
import pytest

from yakusu.compress.radix import ordered

RNG = np.random.default_rng(2)
CASES = {
    "none": np.empty(0),
    "one": np.array([3.5]),
    "both signs": RNG.standard_normal(9_999),
    "all magnitudes": RNG.choice([-1, 1], 9_999) * np.exp(RNG.uniform(-700, 700, 9_999)),
    "ties": RNG.integers(-3, 4, 5_000).astype(float),
    "the ends": np.array([0.0, 5e-324, -5e-324, 1.7e308, -1.7e308, 1.0, -1.0]),
}


@pytest.mark.parametrize("case", CASES)
def test_values_come_in_the_order_of_numpys_sort(case: str) -> None:
    values: npt.NDArray[np.float64] = CASES[case]
    before = values.copy()
    assert ordered(values).tobytes() == np.sort(values + 0.0).tobytes()
    assert (values == before).all()


def test_minus_zero_is_zero() -> None:
    assert not np.signbit(ordered(np.array([0.0, -0.0, -0.0]))).any()
