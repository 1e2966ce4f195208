"""Packed and entropy-coded rows: restored exactly, in as few bits as possible."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.compress.codes import Codes
from yakusu.compress.lattice import ONE_TIER, Integers, Tier, entropy, tiers_from
from yakusu.compress.storage import EntropyCodes, Frequencies, PackedCodes, bits_of, stored_bits

# ---- codes of a fixed size ----------------------------------------------------------------------


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
    assert packed.n_bytes == 3 * -(-7 * n_bits // 8)


@given(
    n_rows=st.integers(1, 40),
    n_components=st.integers(1, 19),
    n_codes=st.one_of(st.integers(2, 20), st.sampled_from([255, 256, 257, 1000, 65536, 65537])),
)
@settings(deadline=None, max_examples=60)
def test_codes_of_any_size_are_restored(n_rows: int, n_components: int, n_codes: int) -> None:
    codes = random_codes(n_rows, n_components, n_codes)
    packed = PackedCodes.of(codes, n_codes)
    assert (packed.rows(np.arange(n_rows)) == codes).all()


@pytest.mark.parametrize("n_rows", [8191, 8192, 8193, 20_000])
def test_more_rows_than_one_block_are_restored(n_rows: int) -> None:
    codes = random_codes(n_rows, 3, 5)
    packed = PackedCodes.of(codes, 5)
    assert len(packed) == n_rows
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


# ---- entropy-coded integers ---------------------------------------------------------------------


def random_integers(n_rows: int, *deviations: float) -> Integers:
    rng = np.random.default_rng(n_rows)
    return (rng.standard_normal((n_rows, len(deviations))) * deviations).round().astype(np.int16)


def assert_restored(integers: Integers, tiers: tuple[Tier, ...] = ONE_TIER) -> EntropyCodes:
    codes = EntropyCodes.of(integers, tiers)
    assert (len(codes), codes.n_components) == integers.shape
    assert (codes.rows(np.arange(len(integers))) == integers).all()
    return codes


@pytest.mark.parametrize("n_rows", [1, 2, 255, 256, 257, 512, 8193])
def test_any_number_of_rows_is_restored(n_rows: int) -> None:
    codes = assert_restored(random_integers(n_rows, 5, 0.4, 0, 60))
    assert len(codes.offsets) == -(-n_rows // 256) + 1


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_any_16_bit_integers_are_restored(data: st.DataObject) -> None:
    rows = data.draw(
        st.lists(st.tuples(*[st.integers(-32767, 32767)] * 2), min_size=1, max_size=20)
    )
    assert_restored(np.array(rows, dtype=np.int16))


def test_the_widest_range_of_integers_is_restored() -> None:
    """The width of the range exceeds 16 bits."""
    integers = np.array([[-32767], [32767]] * 300, dtype=np.int16)
    assert entropy(integers) == 1
    assert_restored(integers)


def test_rows_are_read_in_any_order_with_repeats() -> None:
    integers = random_integers(1000, 3, 9)
    codes = EntropyCodes.of(integers, ONE_TIER)
    wanted = np.array([999, 0, 255, 256, 0, 700, 257])
    assert (codes.rows(wanted) == integers[wanted]).all()
    assert codes.rows(wanted[:0]).shape == (0, 2)


def test_reading_one_row_decodes_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    integers, decoded = random_integers(2000, 3, 9), []
    codes = EntropyCodes.of(integers, ONE_TIER)
    original = EntropyCodes._block
    monkeypatch.setattr(
        EntropyCodes, "_block", lambda self, block: decoded.append(block) or original(self, block)
    )
    assert (codes.rows(np.array([1500])) == integers[1500]).all()
    assert decoded == [1500 // 256]


@pytest.mark.parametrize("tiers", [(), (3000, 12_000)])
def test_the_size_is_within_one_percent_of_the_entropy(tiers: tuple[int, ...]) -> None:
    parts = tiers_from(tiers)
    integers = random_integers(40_000, *np.geomspace(0.3, 50, 30))
    for tier in parts:
        integers[tier.begin :] = integers[tier.begin :] // tier.factor * tier.factor
    codes = EntropyCodes.of(integers, parts)
    known = codes.frequencies
    tables = known.lowest.nbytes + known.sizes.nbytes + known.counts.nbytes
    least = entropy(integers, parts) * len(integers) / 8
    assert least + tables < codes.n_bytes < 1.01 * least + tables
    assert stored_bits(integers, parts) == 8 * codes.n_bytes / 40_000


def test_entropy_is_the_sum_of_minus_p_log2_p() -> None:
    integers = np.array([[0, 7], [0, 7], [1, 7], [3, 7]], dtype=np.int16)
    assert entropy(integers) == pytest.approx(1.5)
    # Separately, the first two rows have no entropy, and the last two one bit each.
    assert entropy(integers, (Tier(0, 1), Tier(2, 1))) == pytest.approx(0.5)


def test_no_block_spans_two_tiers() -> None:
    tiers = (Tier(0, 1), Tier(300, 2), Tier(301, 4))
    integers = random_integers(900, 30, 10)
    integers[300:301] = integers[300:301] // 2 * 2
    integers[301:] = integers[301:] // 4 * 4
    codes = assert_restored(integers, tiers)
    ends = [0, 256, 300, 301, 557, 813, 900]
    assert [(begin, end) for begin, end, _ in codes._layout] == list(pairwise(ends))


def test_every_integer_in_the_range_has_a_frequency() -> None:
    integers = np.array([[-2], [0], [0], [0]], dtype=np.int16)
    found = Frequencies.of(integers, ONE_TIER)
    assert (found.lowest.tolist(), found.sizes.tolist()) == ([[-2]], [[3]])
    assert found.counts.tolist() == [
        2**13,
        1,
        3 * 2**13,
    ]  # an integer that does not occur can be coded, too
