"""The functions for compressed vectors give the results of numpy, with every instruction set."""

from collections.abc import Sequence
from ctypes import c_char_p, c_int, c_int64, c_void_p
from typing import Any

import numpy as np
import pytest

from yakusu.native.library import Functions, instruction_sets

_SCORES = (c_void_p, c_int64, c_int, c_void_p, c_void_p)
FUNCTIONS = Functions(
    "test",
    {
        "yk_scans": (c_void_p, c_char_p),
        "yk_scan4": (None, c_void_p, *_SCORES),
        "yk_dot8": (None, c_void_p, *_SCORES),
        "yk_dot16": (None, c_void_p, *_SCORES),
        "yk_rans_encode": (c_int64, c_void_p, c_int64, *[c_int] * 3, *[c_void_p] * 5),
        "yk_rans_decode": (
            *(c_int, *[c_void_p] * 4, c_int64, c_int, c_int, c_int),
            *(c_void_p, c_void_p, c_void_p, c_int, c_void_p, c_void_p),
        ),
    },
)
ALL = instruction_sets()
WIDTHS = [1, 2, 3, 15, 16, 17, 100, 255, 256, 257, 511, 513, 2064, 4100]
ROWS = 96


def scans(isa: str) -> int:
    found: int = FUNCTIONS.library().yk_scans(isa.encode())
    assert found
    return found


def packed(codes: Any) -> Any:
    """Codes below 16 (rows, M) in blocks of 32 rows, (rows / 32, M, 16)."""
    blocks = codes.reshape(-1, 32, codes.shape[1]).transpose(0, 2, 1)
    return np.ascontiguousarray(blocks[:, :, :16] | blocks[:, :, 16:] << 4)


def scan4(isa: str, blocks: Any, tables: Any) -> Any:
    out = np.full(len(blocks) * 32, 7, np.uint32)
    sizes = len(blocks), blocks.shape[1]
    addresses = tables.ctypes.data, out.ctypes.data
    FUNCTIONS.library().yk_scan4(scans(isa), blocks.ctypes.data, *sizes, *addresses)
    return out


def dot(isa: str, integers: Any, weights: Any) -> Any:
    out = np.full(len(integers), 7, np.int64)
    function = getattr(FUNCTIONS.library(), f"yk_dot{8 * integers.itemsize}")
    addresses = weights.ctypes.data, out.ctypes.data
    function(scans(isa), integers.ctypes.data, *integers.shape, *addresses)
    return out


def looked_up(codes: Any, tables: Any) -> Any:
    return tables[np.arange(codes.shape[1]), codes].sum(axis=1, dtype=np.int64)


# ---- sums of table entries -----------------------------------------------------------------------


@pytest.mark.parametrize("isa", ALL)
def test_a_byte_of_a_block_has_the_codes_of_rows_j_and_j_plus_16(isa: str) -> None:
    block = np.array([[[j | (15 - j) << 4 for j in range(16)]]], np.uint8)
    squares = np.array([[n * n * 200 for n in range(16)]], np.uint16)
    assert scan4(isa, block, squares).tolist() == [*squares[0], *squares[0][::-1]]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("isa", ALL)
def test_scores_of_4_bit_codes_are_sums_of_table_entries(isa: str, width: int) -> None:
    numbers = np.random.default_rng(width)
    codes = numbers.integers(0, 16, (ROWS, width), np.uint8)
    tables = numbers.integers(0, 2**16, (width, 16), np.uint16)
    assert (scan4(isa, packed(codes), tables) == looked_up(codes, tables)).all()


@pytest.mark.parametrize("entry", [0, 255, 256, 65_280, 65_535])
@pytest.mark.parametrize("isa", ALL)
def test_sums_of_the_largest_entries_do_not_overflow(isa: str, entry: int) -> None:
    for width in 257, 1000, 65_537:
        codes = np.full((32, width), 15, np.uint8)
        tables = np.full((width, 16), entry, np.uint16)
        assert (scan4(isa, packed(codes), tables) == width * entry).all()


# ---- dot products --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int8, np.int16])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("isa", ALL)
def test_dot_products_are_exact(isa: str, width: int, kind: Any) -> None:
    numbers, limits = np.random.default_rng(width), np.iinfo(kind)
    integers = numbers.integers(limits.min, limits.max, (ROWS, width), kind, endpoint=True)
    weights = numbers.integers(-(2**15), 2**15, width, np.int16)
    expected = integers.astype(np.int64) @ weights.astype(np.int64)
    assert (dot(isa, integers, weights) == expected).all()


@pytest.mark.parametrize("weight", [-(2**15), 2**15 - 1])
@pytest.mark.parametrize("kind", [np.int8, np.int16])
@pytest.mark.parametrize("isa", ALL)
def test_dot_products_of_the_largest_integers_do_not_overflow(
    isa: str, kind: Any, weight: int
) -> None:
    limits = np.iinfo(kind)
    for width in 2, 2048, 100_000:
        weights = np.full(width, weight, np.int16)
        for integer in map(int, (limits.min, limits.max)):
            integers = np.full((2, width), integer, kind)
            assert dot(isa, integers, weights).tolist() == [width * integer * weight] * 2


# ---- entropy coding ------------------------------------------------------------------------------

BITS, SHIFT = 12, 5


class Coder:
    """The tables of symbols whose counts add up to 2^BITS, for each component."""

    def __init__(self, counts: Sequence[Sequence[int]], values: Sequence[int]) -> None:
        own = [[0, *np.cumsum(each)] for each in counts]
        assert all(each[-1] == 1 << BITS for each in own)
        self.cumulative = np.concatenate(own).astype(np.uint16)
        self.starts = np.cumsum([0, *map(len, own)], dtype=np.int32)
        slots = np.arange(0, 1 << BITS, 1 << SHIFT)
        coarse = [np.searchsorted(each, slots, "right") - 1 for each in own]
        self.coarse = np.concatenate(coarse).astype(np.uint16)
        self.values = np.array(values, np.int16)

    def encoded(self, symbols: Any) -> Any:
        """The words of symbols (rows, M)."""
        x, words = 1 << 16, []
        for at in reversed(range(symbols.size)):
            first = self.starts[at % (len(self.starts) - 1)] + symbols.flat[at]
            low, high = map(int, self.cumulative[first : first + 2])
            if x >= (high - low) << (32 - BITS):
                words.append(x & 0xFFFF)
                x >>= 16
            x = (x // (high - low) << BITS) + x % (high - low) + low
        return np.array([*words, x & 0xFFFF, x >> 16][::-1], np.uint16)

    def encoded_blocks(self, integers: Any, block_rows: int) -> list[Any]:
        """The words of each block of integers (rows, M), by the compiled function."""
        n_blocks, n_components = -(-len(integers) // block_rows), integers.shape[1]
        words = np.empty(n_blocks * (block_rows * n_components + 2), np.uint16)
        lengths = np.empty(n_blocks, np.int32)
        arrays = self.cumulative, self.starts, self.values, words, lengths
        n_words = FUNCTIONS.library().yk_rans_encode(
            *(integers.ctypes.data, len(integers), block_rows, n_components, BITS),
            *(array.ctypes.data for array in arrays),
        )
        assert n_words == lengths.sum()
        return np.split(words[:n_words], np.cumsum(lengths)[:-1])

    def decoded(self, words: Any, n_rows: int) -> Any:
        """The integers (rows, M) of the words of one block, or None if they are refused."""
        return self.decoded_blocks([words], n_rows, max(n_rows, 1))

    def decoded_blocks(
        self, blocks: Sequence[Any], n_rows: int, block_rows: int, wanted: Sequence[int] = ()
    ) -> Any:
        """The integers (rows, M) of all blocks, or None if they are refused."""
        n_wanted = np.array(wanted or [block_rows] * len(blocks), np.int32)
        words, ends = np.concatenate(blocks), np.cumsum([*map(len, blocks)])
        begins = ends - [*map(len, blocks)]
        out = np.zeros((n_rows, len(self.starts) - 1), np.int16)
        tables = (each.ctypes.data for each in (self.cumulative, self.starts, self.coarse))
        done = FUNCTIONS.library().yk_rans_decode(
            *(words.ctypes.data, begins.ctypes.data, ends.ctypes.data, n_wanted.ctypes.data),
            *(n_rows, block_rows, out.shape[1], BITS, *tables, SHIFT),
            *(self.values.ctypes.data, out.ctypes.data),
        )
        assert done in (0, -1)
        return None if done else out


SKEWED = (-32_768, -5, 0, 1, 7, 10_922)  # integers of very different frequencies


def coder() -> Coder:
    """Components with equal counts, very different ones, and a single symbol."""
    equal, skewed = [1 << BITS - 4] * 16, [1, 1, 4000, 1, 92, 1]
    return Coder([equal, skewed, [1 << BITS]], values=[*range(-8, 8), *SKEWED, 300])


def symbols(n_rows: int) -> Any:
    numbers = np.random.default_rng(n_rows)
    return np.stack([numbers.integers(0, n, n_rows) for n in (16, 6, 1)], axis=1)


@pytest.mark.parametrize("n_rows", [1, 3, 4, 5, 1000])
def test_integers_are_encoded_as_the_formula_says(n_rows: int) -> None:
    given = symbols(n_rows)
    blocks = coder().encoded_blocks(integers(given).astype(np.int16), 4)
    expected = [coder().encoded(given[begin : begin + 4]) for begin in range(0, n_rows, 4)]
    assert [*map(list, blocks)] == [*map(list, expected)]


@pytest.mark.parametrize("n_rows", [1, 2, 1000])
def test_decoded_integers_are_those_that_were_encoded(n_rows: int) -> None:
    given = symbols(n_rows)
    assert (coder().decoded(coder().encoded(given), n_rows) == integers(given)).all()


def integers(given: Any) -> Any:
    """The integers of symbols."""
    return np.stack([given[:, 0] - 8, np.take(SKEWED, given[:, 1]), given[:, 2] + 300], axis=1)


@pytest.mark.parametrize("n_rows", [0, 1, 4, 5, 16, 19, 20, 31])
def test_blocks_are_decoded_one_after_the_other(n_rows: int) -> None:
    given = symbols(n_rows)
    blocks = [coder().encoded(given[begin : begin + 4]) for begin in range(0, n_rows, 4)]
    blocks.append(coder().encoded(symbols(2)))  # is not read
    assert (coder().decoded_blocks(blocks, n_rows, 4) == integers(given)).all()
    for damaged in range(-(-n_rows // 4)):
        other = [*blocks[:damaged], blocks[damaged][:-1], *blocks[damaged + 1 :]]
        assert coder().decoded_blocks(other, n_rows, 4) is None


def test_a_stream_that_does_not_end_where_its_rows_end_is_refused() -> None:
    words = coder().encoded(symbols(100))
    for n in range(len(words)):
        assert coder().decoded(words[:n], 100) is None
    assert coder().decoded(np.append(words, words[-1:]), 100) is None
    assert coder().decoded(words, 99) is None and coder().decoded(words, 101) is None


def test_other_words_are_refused() -> None:
    numbers = np.random.default_rng(0)
    for n in range(300):
        assert coder().decoded(numbers.integers(0, 2**16, n, np.uint16), 50) is None


def test_tables_that_lead_to_no_symbol_are_refused() -> None:
    words = coder().encoded(symbols(10))
    cases = (("coarse", 16), ("coarse", 65_535), ("cumulative", 0), ("cumulative", 9999))
    for name, value in cases:
        damaged = coder()
        getattr(damaged, name)[:] = value
        assert damaged.decoded(words, 10) is None


def test_only_the_wanted_rows_of_a_block_are_decoded() -> None:
    given = symbols(22)
    blocks = [coder().encoded(given[begin : begin + 4]) for begin in range(0, 22, 4)]
    decoded = coder().decoded_blocks(blocks, 22, 4, wanted := [1, 2, 2, 2, 2, 4])
    is_wanted = np.arange(22) % 4 < np.repeat(wanted, 4)[:22]
    assert (decoded[is_wanted] == integers(given)[is_wanted]).all()
    assert (decoded[~is_wanted] == 0).all()  # as before the call


def test_the_end_of_a_block_is_checked_if_all_its_rows_are_wanted() -> None:
    words = coder().encoded(symbols(4))
    longer = np.append(words, words[-1:])
    assert coder().decoded_blocks([longer], 4, 4, [3]) is not None
    assert coder().decoded_blocks([longer], 4, 4, [4]) is None
