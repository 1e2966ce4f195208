"""Entropy-coded integers: restored exactly, in as few bits as their entropy."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import examples
from yakusu.arrays import Shorts
from yakusu.compress import entropy as entropy_module
from yakusu.compress import kernels
from yakusu.compress.entropy import EntropyCodes, coded_bytes
from yakusu.compress.lattice import ONE_TIER, Tier, entropy, tiers_from
from yakusu.compress.rans import TOTAL, scaled
from yakusu.errors import DataError, ModelError


def random_integers(n_rows: int, *deviations: float) -> Shorts:
    rng = np.random.default_rng(n_rows)
    return (rng.standard_normal((n_rows, len(deviations))) * deviations).round().astype(np.int16)


def assert_restored(integers: Shorts, tiers: tuple[Tier, ...] = ONE_TIER) -> EntropyCodes:
    codes = EntropyCodes.of(integers, tiers)
    assert (len(codes), codes.n_components) == integers.shape
    assert (codes.rows(np.arange(len(integers))) == integers).all()
    return codes


@pytest.mark.parametrize("n_rows", [1, 2, 15, 16, 17, 32, 8193])
def test_any_number_of_rows_is_restored(n_rows: int) -> None:
    codes = assert_restored(random_integers(n_rows, 5, 0.4, 0, 60))
    assert len(codes.lengths) == -(-n_rows // 16)


@given(st.data())
@settings(deadline=None, max_examples=examples(40))
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


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("at_once", [1, 100, 10**6])
def test_random_rows_of_several_segments_are_restored(
    compiled: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entropy_module, "_SEGMENT", 100)
    monkeypatch.setattr(entropy_module, "_AT_ONCE", at_once)
    if not compiled:
        monkeypatch.setattr(kernels, "are_available", lambda: False)
    integers = random_integers(530, 3, 9)
    codes = EntropyCodes.of(integers, ONE_TIER)
    numbers = np.random.default_rng(1)
    for n in (1, 2, 3, 20, 200, 2000):
        wanted = numbers.integers(0, 530, n)
        assert (codes.rows(wanted) == integers[wanted]).all()


def test_a_row_is_read_alone_and_its_block_is_decoded_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    integers, decoded = random_integers(2000, 3, 9), []
    codes = EntropyCodes.of(integers, ONE_TIER)
    original = EntropyCodes._block

    def watched(self: EntropyCodes, segment: int, block: int) -> Shorts:
        decoded.append(block)
        return original(self, segment, block)

    monkeypatch.setattr(EntropyCodes, "_block", watched)
    for row in (1500, 1503, 1490):
        assert (codes.row(row) == integers[row]).all()
    assert decoded == [1500 // 16]


def test_a_matrix_of_several_segments_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy_module, "_SEGMENT", 100)
    monkeypatch.setattr(entropy_module, "_AT_ONCE", 200)
    integers = random_integers(450, 3, 9, 0)
    codes = assert_restored(integers)
    assert [segment.begin for segment in codes.segments] == [0, 100, 200, 300, 400]
    wanted = np.random.default_rng(1).integers(0, 450, 300)
    assert (codes.rows(wanted) == integers[wanted]).all()


@pytest.mark.parametrize("tiers", [(), (3000, 12_000)])
def test_the_size_is_close_to_the_entropy(tiers: tuple[int, ...]) -> None:
    parts = tiers_from(tiers)
    integers = random_integers(40_000, *np.geomspace(0.3, 50, 30))
    for tier in parts:
        integers[tier.begin :] = integers[tier.begin :] // tier.factor * tier.factor
    codes = EntropyCodes.of(integers, parts)
    size = sum(array.nbytes for array in codes.arrays.values())
    tables = sum(codes.arrays[name].nbytes for name in ("values", "counts", "sizes", "segments"))
    least = entropy(integers, parts) * len(integers) / 8
    assert least + tables < size < 1.04 * least + tables
    assert size <= coded_bytes(integers, parts) < 1.01 * size
    assert codes.bits == 8 * size / 40_000


def test_entropy_is_the_sum_of_minus_p_log2_p() -> None:
    integers = np.array([[0, 7], [0, 7], [1, 7], [3, 7]], dtype=np.int16)
    assert entropy(integers) == pytest.approx(1.5)
    # Separately, the first two rows have no entropy, and the last two one bit each.
    assert entropy(integers, (Tier(0, 1), Tier(2, 1))) == pytest.approx(0.5)


def test_no_block_spans_two_tiers() -> None:
    tiers = (Tier(0, 1), Tier(70, 2), Tier(71, 4))
    integers = random_integers(130, 30, 10)
    integers[70:71] = integers[70:71] // 2 * 2
    integers[71:] = integers[71:] // 4 * 4
    codes = assert_restored(integers, tiers)
    assert codes.segments == tiers
    assert len(codes.lengths) == 5 + 1 + 4


@pytest.mark.parametrize("counts", [[1], [1, 1, 1], [1] * 32_768, [10**6, 1, 1], [7, 3, 10**9]])
def test_frequencies_sum_to_a_power_of_two_and_are_at_least_one(counts: list[int]) -> None:
    found = scaled(np.array(counts))
    assert found.sum() == TOTAL and found.min() >= 1
    np.testing.assert_allclose(found, TOTAL * np.array(counts) / sum(counts), atol=len(counts))


def test_too_many_distinct_integers_are_rejected() -> None:
    integers = np.arange(-20_000, 20_000, dtype=np.int16)[:, None]
    with pytest.raises(DataError, match="a component has 40,000 distinct integers, more than"):
        EntropyCodes.of(integers, ONE_TIER)


@pytest.mark.parametrize("compiled", [True, False])
@given(data=st.data())
@settings(deadline=None, max_examples=examples(200))
def test_a_damaged_stream_is_rejected_or_yields_integers(
    compiled: bool, data: st.DataObject
) -> None:
    integers = random_integers(40, 3, 0.1, 90)
    codes = EntropyCodes.of(integers, ONE_TIER)
    stream = codes.stream.copy()
    place = data.draw(st.integers(0, len(stream) - 1))
    stream[place] ^= data.draw(st.integers(1, 2**16 - 1))
    damaged = replace(codes, stream=stream[: data.draw(st.integers(place + 1, len(stream)))])
    with pytest.MonkeyPatch.context() as patch, suppress(ModelError):
        if not compiled:
            patch.setattr(kernels, "are_available", lambda: False)
        assert damaged.rows(np.arange(40)).shape == (40, 3)


@pytest.mark.parametrize("tiers", [ONE_TIER, (Tier(0, 1), Tier(1001, 2))])
def test_compiled_code_gives_the_same_stream_and_integers(
    tiers: tuple[Tier, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    integers = random_integers(9000, 0.1, 40, 9, 3000)
    for tier in tiers:
        integers[tier.begin :] *= np.int16(tier.factor)
    codes = EntropyCodes.of(integers, tiers)
    rows = np.random.default_rng(5).integers(0, 9000, 500)
    assert (codes.rows(rows) == integers[rows]).all()
    monkeypatch.setattr(kernels, "are_available", lambda: False)
    assert (codes.rows(rows) == integers[rows]).all()
    for name, array in EntropyCodes.of(integers, tiers).arrays.items():
        assert (array == codes.arrays[name]).all(), name
