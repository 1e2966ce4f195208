"""Codes in rows of whole bytes: restored exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import examples
from yakusu.compress.digits import Codes
from yakusu.compress.packed import PackedCodes, bits_of, row_bytes


def random_codes(n_rows: int, n_components: int, n_codes: int) -> Codes:
    """Codes in the type that `code` uses; the largest code occurs."""
    kind = np.min_scalar_type(n_codes - 1)
    codes = np.random.default_rng(n_codes).integers(0, n_codes, (n_rows, n_components), dtype=kind)
    codes[-1, -1] = n_codes - 1
    return codes


@pytest.mark.parametrize(
    ("n_codes", "n_bits"), [(2, 1), (3, 2), (4, 2), (5, 3), (256, 8), (257, 9), (1000, 10)]
)
def test_codes_take_the_fewest_bits_that_distinguish_them(n_codes: int, n_bits: int) -> None:
    assert bits_of(n_codes) == n_bits
    packed = PackedCodes.of(random_codes(3, 7, n_codes), n_codes)
    assert (
        packed.packed.shape == (3, -(-7 * n_bits // 8))
        and row_bytes(7, n_codes) == packed.packed.shape[1]
    )


@given(
    n_rows=st.integers(1, 40),
    n_components=st.integers(1, 19),
    n_codes=st.one_of(st.integers(2, 20), st.sampled_from([255, 256, 257, 1000, 65536, 65537])),
)
@settings(deadline=None, max_examples=examples(60))
def test_codes_of_any_size_are_restored(n_rows: int, n_components: int, n_codes: int) -> None:
    codes = random_codes(n_rows, n_components, n_codes)
    packed = PackedCodes.of(codes, n_codes)
    assert (packed.rows(np.arange(n_rows)) == codes).all()


@pytest.mark.parametrize("n_rows", [8191, 8192, 8193, 20_000])
def test_more_rows_than_one_block_are_restored(n_rows: int) -> None:
    codes = random_codes(n_rows, 3, 5)
    packed = PackedCodes.of(codes, 5)
    assert (packed.rows(np.arange(n_rows)) == codes).all()


def test_rows_of_codes_are_read_in_any_order_with_repeats() -> None:
    codes = random_codes(50, 5, 257)
    packed = PackedCodes.of(codes, 257)
    wanted = np.array([49, 0, 7, 7, 48])
    assert (packed.rows(wanted) == codes[wanted]).all()
    assert packed.rows(wanted[:0]).shape == (0, 5)


def test_the_first_component_is_in_the_lowest_bits() -> None:
    codes = np.array([[1, 2, 3]], dtype=np.uint8)
    assert PackedCodes.of(codes, 8).packed.tolist() == [[0b11_010_001, 0b0]]
    codes = np.array([[257, 1]], dtype=np.uint16)
    assert PackedCodes.of(codes, 512).packed.tolist() == [[0b1, 0b11, 0b0]]
