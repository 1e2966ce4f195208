"""The compiled functions for compressed vectors, for numpy arrays; see native/codes.h.

V rows, M components, L blocks of rows.
"""

from ctypes import c_char_p, c_int, c_int64, c_void_p
from functools import cache

import numpy as np
import numpy.typing as npt

from yakusu.compress.rans import BITS, BLOCK, COARSE, DAMAGED, Frequencies
from yakusu.errors import ModelError
from yakusu.native.library import Functions, instruction_set

_P, _N = c_void_p, c_int64
_FUNCTIONS = Functions(
    "compiled code for compressed vectors",
    {
        "yk_scans": (c_void_p, c_char_p),
        "yk_scan4": (None, _P, _P, _N, c_int, _P, _P),
        "yk_dot8": (None, _P, _P, _N, c_int, _P, _P),
        "yk_dot16": (None, _P, _P, _N, c_int, _P, _P),
        "yk_sum_rows": (None, _P, _N, _P, _P, _N, _P),
        "yk_rans_encode": (c_int64, _P, _N, *[c_int] * 3, *[_P] * 5),
        "yk_rans_decode": (c_int, *[_P] * 4, _N, *[c_int] * 3, *[_P] * 3, c_int, _P, _P),
    },
)
ROWS = 32  # per block of `scan4`


def are_available() -> bool:
    """Return whether the library was compiled and can be used."""
    return _FUNCTIONS.why_unavailable() is None


def in_blocks(codes: npt.NDArray[np.integer]) -> npt.NDArray[np.uint8]:
    """Return codes (V, M) below 16 in the layout of `scan4`, (L, M, 16); missing rows are 0."""
    n_blocks = -(-len(codes) // ROWS)
    padded = np.zeros((n_blocks * ROWS, codes.shape[1]), dtype=np.uint8)
    padded[: len(codes)] = codes
    rows = padded.reshape(n_blocks, 2, ROWS // 2, -1)
    return np.ascontiguousarray((rows[:, 0] | rows[:, 1] << 4).transpose(0, 2, 1))


def scan4(blocks: npt.NDArray[np.uint8], tables: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint32]:
    """Return the sum of the table entries of each row, (32 L,); tables are (M, 16)."""
    sums = np.empty(len(blocks) * ROWS, dtype=np.uint32)
    n_components = blocks.shape[1]
    at = blocks.ctypes.data, len(blocks), n_components, tables.ctypes.data, sums.ctypes.data
    _FUNCTIONS.library().yk_scan4(_scans(), *at)
    return sums


def dot(
    integers: npt.NDArray[np.int8 | np.int16], weights: npt.NDArray[np.int16]
) -> npt.NDArray[np.int64]:
    """Return the product of each row of integers (V, M) with the weights (M,)."""
    sums = np.empty(len(integers), dtype=np.int64)
    library = _FUNCTIONS.library()
    function = library.yk_dot8 if integers.dtype == np.int8 else library.yk_dot16
    function(_scans(), integers.ctypes.data, *integers.shape, weights.ctypes.data, sums.ctypes.data)
    return sums


def sums_of_rows(
    rows: npt.NDArray[np.float32], numbers: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32]:
    """Return the sum of the rows of each group, (n, M).

    Args:
        rows: Rows, (any, M), C-contiguous.
        numbers: Numbers of the rows of all groups, one group after the other; not checked.
        lengths: How many numbers each group has, (n,).
    """
    sums = np.zeros((len(lengths), rows.shape[1]), dtype=np.float32)
    if are_available():
        groups = numbers.ctypes.data, lengths.ctypes.data, len(lengths)
        _FUNCTIONS.library().yk_sum_rows(rows.ctypes.data, rows.shape[1], *groups, sums.ctypes.data)
    elif len(numbers):
        some = np.flatnonzero(lengths)
        begins = np.cumsum(lengths[some]) - lengths[some]
        sums[some] = np.add.reduceat(rows[numbers], begins)
    return sums


def encode_blocks(
    integers: npt.NDArray[np.int16], frequencies: Frequencies
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int32]]:
    """Return the joined words of blocks of integers (n_rows, M), and their lengths."""
    n_rows, n_components = integers.shape
    integers = np.ascontiguousarray(integers, dtype=np.int16)
    lengths = np.empty(-(-n_rows // BLOCK), dtype=np.int32)
    words = np.empty(len(lengths) * (BLOCK * n_components + 2), dtype=np.uint16)
    (cumulative, starts, _, values), _ = frequencies.addresses
    n_words = _FUNCTIONS.library().yk_rans_encode(
        *(integers.ctypes.data, n_rows, BLOCK, n_components, BITS),
        *(cumulative, starts, values, words.ctypes.data, lengths.ctypes.data),
    )
    return words[:n_words], lengths


def decode_blocks(
    stream: npt.NDArray[np.uint16],
    begins: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    wanted: npt.NDArray[np.int32],
    n_rows: int,
    frequencies: Frequencies,
) -> npt.NDArray[np.int16]:
    """Return the integers (n_rows, M) of L blocks, as `rans.decode`."""
    integers = np.empty((n_rows, frequencies.n_components), dtype=np.int16)
    (cumulative, starts, coarse, values), _ = frequencies.addresses
    failed = _FUNCTIONS.library().yk_rans_decode(
        *(array.ctypes.data for array in (stream, begins, ends, wanted)),
        *(n_rows, BLOCK),
        *(frequencies.n_components, BITS, cumulative, starts, coarse, COARSE, values),
        integers.ctypes.data,
    )
    if failed:
        raise ModelError(DAMAGED)
    return integers


@cache
def _scans() -> int:
    """Return the address of the functions of the instruction set."""
    found: int = _FUNCTIONS.library().yk_scans(instruction_set().encode())
    return found
