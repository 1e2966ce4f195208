"""Codes as digits: restored exactly, in about log2 K bits each."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import examples
from yakusu.compress import digits as digits_module
from yakusu.compress.digits import Codes, DigitCodes, radix


def random_codes(n_rows: int, n_components: int, n_codes: int) -> Codes:
    """Codes in the type that `code` uses; the largest code occurs."""
    kind = np.min_scalar_type(n_codes - 1)
    codes = np.random.default_rng(n_codes).integers(0, n_codes, (n_rows, n_components), dtype=kind)
    codes[-1, -1] = n_codes - 1
    return codes


@pytest.mark.parametrize("n_codes", [*range(2, 40), 64, 100, 128, 200, 256, 1000, 4096, 65536])
def test_a_code_takes_about_log2_k_bits(n_codes: int) -> None:
    size = radix(n_codes)
    assert n_codes**size.n_digits <= 256**size.n_bytes < n_codes ** (size.n_digits + 1) * 256
    assert math.log2(n_codes) <= size.bits < 1.06 * math.log2(n_codes)
    assert size.bits <= math.ceil(math.log2(n_codes))


def test_the_first_digit_is_the_least_significant() -> None:
    codes = np.array([[1, 2, 3], [4, 0, 1]], dtype=np.uint8)
    number = sum(digit * 5**j for j, digit in enumerate([1, 2, 3, 4, 0, 1]))
    assert DigitCodes.of(codes, 5).stored.tolist() == [list(number.to_bytes(7, "little"))]
    number = sum(digit * 16**j for j, digit in enumerate([1, 2, 3, 4, 0, 1]))
    assert DigitCodes.of(codes, 16).stored.tolist() == [number]


@given(
    n_rows=st.integers(1, 40),
    n_components=st.integers(1, 70),
    n_codes=st.one_of(st.integers(2, 20), st.sampled_from([100, 255, 256, 257, 1000, 65536])),
    data=st.data(),
)
@settings(deadline=None, max_examples=examples(100))
def test_codes_of_any_size_are_restored(
    n_rows: int, n_components: int, n_codes: int, data: st.DataObject
) -> None:
    codes = random_codes(n_rows, n_components, n_codes)
    digits = DigitCodes.of(codes, n_codes)
    assert (digits.rows(np.arange(n_rows)) == codes).all()
    wanted = np.array(data.draw(st.lists(st.integers(0, n_rows - 1), max_size=9)), dtype=np.int64)
    assert (digits.rows(wanted) == codes[wanted]).all()
    assert digits.rows(wanted).dtype == codes.dtype
    for row in wanted.tolist():
        assert (digits.row(row) == codes[row]).all()


@pytest.mark.parametrize("n_codes", [5, 16])
def test_more_codes_than_are_handled_at_a_time_are_restored(
    n_codes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digits_module, "_DIGITS", 300)
    codes = random_codes(500, 7, n_codes)
    digits = DigitCodes.of(codes, n_codes)
    assert (digits.rows(np.arange(500)) == codes).all()
    assert len(digits.stored) == -(-500 * 7 // radix(n_codes).n_digits)
