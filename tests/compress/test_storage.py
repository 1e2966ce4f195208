"""Entropy coding: every number comes back, in as few bits as its frequency allows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.compress.lattice import ONE_TIER, Numbers, Tier, entropy, tiers_from
from yakusu.compress.storage import EntropyCodes, Frequencies, stored_bits


def drawn(n_words: int, *deviations: float) -> Numbers:
    rng = np.random.default_rng(n_words)
    return (rng.standard_normal((n_words, len(deviations))) * deviations).round().astype(np.int16)


def assert_comes_back(numbers: Numbers, tiers: tuple[Tier, ...] = ONE_TIER) -> EntropyCodes:
    codes = EntropyCodes.of(numbers, tiers)
    assert (len(codes), codes.n_components) == numbers.shape
    assert (codes.rows(np.arange(len(numbers))) == numbers).all()
    return codes


@pytest.mark.parametrize("n_words", [1, 2, 255, 256, 257, 512, 8193])
def test_any_number_of_words_comes_back(n_words: int) -> None:
    codes = assert_comes_back(drawn(n_words, 5, 0.4, 0, 60))
    assert len(codes.offsets) == -(-n_words // 256) + 1


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_any_numbers_of_16_bits_come_back(data: st.DataObject) -> None:
    rows = data.draw(
        st.lists(st.tuples(*[st.integers(-32767, 32767)] * 2), min_size=1, max_size=20)
    )
    assert_comes_back(np.array(rows, dtype=np.int16))


def test_the_widest_range_of_numbers_has_its_entropy_and_comes_back() -> None:
    """Its width is no number of 16 bits."""
    numbers = np.array([[-32767], [32767]] * 300, dtype=np.int16)
    assert entropy(numbers) == 1
    assert_comes_back(numbers)


def test_rows_come_in_the_order_asked_for_even_twice_or_none() -> None:
    numbers = drawn(1000, 3, 9)
    codes = EntropyCodes.of(numbers, ONE_TIER)
    wanted = np.array([999, 0, 255, 256, 0, 700, 257])
    assert (codes.rows(wanted) == numbers[wanted]).all()
    assert codes.rows(wanted[:0]).shape == (0, 2)


def test_one_word_decodes_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, decoded = drawn(2000, 3, 9), []
    codes = EntropyCodes.of(numbers, ONE_TIER)
    whole = EntropyCodes._block
    monkeypatch.setattr(
        EntropyCodes, "_block", lambda self, block: decoded.append(block) or whole(self, block)
    )
    assert (codes.rows(np.array([1500])) == numbers[1500]).all()
    assert decoded == [1500 // 256]


@pytest.mark.parametrize("tiers", [(), (3000, 12_000)])
def test_the_size_is_entropy_and_frequencies_to_one_percent(tiers: tuple[int, ...]) -> None:
    parts = tiers_from(tiers)
    numbers = drawn(40_000, *np.geomspace(0.3, 50, 30))
    for tier in parts:
        numbers[tier.begin :] = numbers[tier.begin :] // tier.factor * tier.factor
    codes = EntropyCodes.of(numbers, parts)
    known = codes.frequencies
    tables = known.lowest.nbytes + known.sizes.nbytes + known.counts.nbytes
    least = entropy(numbers, parts) * len(numbers) / 8
    assert least + tables < codes.n_bytes < 1.01 * least + tables
    assert stored_bits(numbers, parts) == 8 * codes.n_bytes / 40_000


def test_entropy_is_the_sum_of_minus_p_log2_p() -> None:
    numbers = np.array([[0, 7], [0, 7], [1, 7], [3, 7]], dtype=np.int16)
    assert entropy(numbers) == pytest.approx(1.5)
    # Apart, the first two words have no entropy, and the last two one bit each.
    assert entropy(numbers, (Tier(0, 1), Tier(2, 1))) == pytest.approx(0.5)


def test_no_block_has_words_of_two_tiers() -> None:
    tiers = (Tier(0, 1), Tier(300, 2), Tier(301, 4))
    numbers = drawn(900, 30, 10)
    numbers[300:301] = numbers[300:301] // 2 * 2
    numbers[301:] = numbers[301:] // 4 * 4
    codes = assert_comes_back(numbers, tiers)
    ends = [0, 256, 300, 301, 557, 813, 900]
    assert [(begin, end) for begin, end, _ in codes._layout] == list(pairwise(ends))


def test_frequencies_are_of_every_number_that_is_there() -> None:
    numbers = np.array([[-2], [0], [0], [0]], dtype=np.int16)
    found = Frequencies.of(numbers, ONE_TIER)
    assert (found.lowest.tolist(), found.sizes.tolist()) == ([[-2]], [[3]])
    assert found.counts.tolist() == [2**13, 1, 3 * 2**13]  # a number in between can be told too
