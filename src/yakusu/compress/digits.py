"""Codes as digits of numbers: about log2 K bits per code, and any row can be read on its own.

The codes of all rows, one row after the other, are the digits of numbers to the base K. Each number
has g digits, the first one being the least significant, and is stored in n bytes:

    number = sum over j < g of digit_j K^j,    K^g <= 256^n,    n <= 8

g and n are those that need the fewest bits per digit, 8 n / g. V rows, M components, K codes.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Integers

Codes = npt.NDArray[np.unsignedinteger]
Numbers = npt.NDArray[np.uint64]
_DIGITS = 2**22  # decoded at a time


class Radix(NamedTuple):
    """Layout of numbers with g digits to the base K in n bytes."""

    n_codes: int
    n_digits: int
    n_bytes: int

    @property
    def bits(self) -> float:
        """Stored bits per digit."""
        return 8 * self.n_bytes / self.n_digits

    @property
    def is_integer(self) -> bool:
        """Whether a number is stored as an integer of its size, otherwise as bytes."""
        return self.n_bytes in (1, 2, 4, 8)

    def n_numbers(self, n_digits: int) -> int:
        """Return how many numbers store this many digits."""
        return -(-n_digits // self.n_digits)


@cache
def radix(n_codes: int) -> Radix:
    """Return the layout of K codes with the fewest bits per digit; of several, the longest."""
    layouts = [Radix(n_codes, _most_digits(n_codes, n), n) for n in range(1, 9)]
    return min((each for each in layouts if each.n_digits), key=lambda it: (it.bits, -it.n_bytes))


def _most_digits(n_codes: int, n_bytes: int) -> int:
    """Return the largest g with K^g <= 256^n."""
    n_digits = 0
    while n_codes ** (n_digits + 1) <= 256**n_bytes:
        n_digits += 1
    return n_digits


@dataclass(frozen=True, eq=False)
class DigitCodes:
    """Codes of V rows.

    stored: The numbers, (N,), of 1, 2, 4 or 8 bytes; or their bytes, (N, n), the least significant
        one first.
    n_rows: V.
    n_components: M.
    n_codes: K.
    """

    stored: npt.NDArray[np.unsignedinteger]
    n_rows: int
    n_components: int
    n_codes: int

    @classmethod
    def of(cls, codes: Codes, n_codes: int) -> "DigitCodes":
        """Store codes (V, M), each less than K = `n_codes`."""
        size, digits = radix(n_codes), codes.reshape(-1)
        shape = size.n_numbers(len(digits)), size.n_bytes
        stored = np.empty(shape[:1], f"u{shape[1]}") if size.is_integer else np.empty(shape, "u1")
        at_once = _DIGITS // size.n_digits  # numbers
        for begin in range(0, len(stored), at_once):
            part = digits[begin * size.n_digits : (begin + at_once) * size.n_digits]
            stored[begin : begin + at_once] = _stored(_numbers(part, size), size)
        return cls(stored, len(codes), codes.shape[1], n_codes)

    def extended(self, codes: Codes) -> "DigitCodes":
        """Return the codes with further rows (n, M) at the end."""
        n_full, n_left = divmod(self.n_rows * self.n_components, self._radix.n_digits)
        left = self._digits(self.stored[n_full:]).reshape(-1)[:n_left].astype(codes.dtype)
        added = DigitCodes.of(np.concatenate([left, codes.reshape(-1)])[:, None], self.n_codes)
        stored = np.concatenate([self.stored[:n_full], added.stored])
        return replace(self, stored=stored, n_rows=self.n_rows + len(codes))

    def __len__(self) -> int:
        return self.n_rows

    @property
    def bits(self) -> float:
        """Stored bits per row."""
        return self._radix.bits * self.n_components

    def row(self, row: int) -> npt.NDArray[np.int64]:
        """Return the codes (M,) of one row."""
        first, begin = divmod(row * self.n_components, self._radix.n_digits)
        end = begin + self.n_components
        n_numbers = -(-end // self._radix.n_digits)
        return self._digits(self.stored[first : first + n_numbers]).reshape(-1)[begin:end]

    def rows(self, rows: Integers) -> Codes:
        """Return the codes (n, M) of the rows with these indices (n,)."""
        codes = np.empty((len(rows), self.n_components), np.min_scalar_type(self.n_codes - 1))
        at_once = max(1, _DIGITS // self.n_components)
        for begin in range(0, len(rows), at_once):
            part = rows[begin : begin + at_once]
            codes[begin : begin + at_once] = self._part(part.astype(np.int64))
        return codes

    def _part(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        m, n_digits = self.n_components, self._radix.n_digits
        if (np.diff(rows) == 1).all():
            first, begin = divmod(int(rows[0]) * m, n_digits)
            end = begin + len(rows) * m
            stored = self.stored[first : first - (-end // n_digits)]
            return self._digits(stored).reshape(-1)[begin:end].reshape(-1, m)
        firsts, begins = np.divmod(rows * m, n_digits)
        n_numbers = (n_digits + m - 2) // n_digits + 1
        numbers = np.minimum(firsts[:, None] + np.arange(n_numbers), len(self.stored) - 1)
        digits = self._digits(self.stored[numbers]).reshape(len(rows), -1)
        return np.take_along_axis(digits, begins[:, None] + np.arange(m), axis=1)

    def _digits(self, stored: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.int64]:
        """Return the digits (..., g) of stored numbers (...), or of their bytes (..., n)."""
        if not self._radix.is_integer:
            octets = np.zeros((*stored.shape[:-1], 8), dtype=np.uint8)
            octets[..., : self._radix.n_bytes] = stored
            stored = octets.view("<u8")[..., 0]
        numbers, (places, base) = stored.astype(np.uint64, copy=False)[..., None], self._places
        digits = numbers >> places & base if self._is_binary else numbers // places % base
        return digits.view(np.int64)

    @cached_property
    def _radix(self) -> Radix:
        return radix(self.n_codes)

    @cached_property
    def _is_binary(self) -> bool:
        return self.n_codes & (self.n_codes - 1) == 0

    @cached_property
    def _places(self) -> tuple[Numbers, np.uint64]:
        """Shifts and mask of the digits if K is a power of 2, otherwise the powers of K, and K."""
        places = np.arange(self._radix.n_digits, dtype=np.uint64)
        if self._is_binary:
            return places * np.uint64(self.n_codes.bit_length() - 1), np.uint64(self.n_codes - 1)
        return np.uint64(self.n_codes) ** places, np.uint64(self.n_codes)


def _numbers(digits: Codes, size: Radix) -> Numbers:
    """Return the numbers (N,) of digits, the last of which is filled with zeros."""
    n_numbers = size.n_numbers(len(digits))
    padded = np.zeros(n_numbers * size.n_digits, dtype=digits.dtype)
    padded[: len(digits)] = digits
    columns = padded.reshape(n_numbers, size.n_digits)
    numbers = np.zeros(n_numbers, dtype=np.uint64)
    for j in reversed(range(size.n_digits)):
        numbers *= np.uint64(size.n_codes)
        numbers += columns[:, j]
    return numbers


def _stored(numbers: Numbers, size: Radix) -> npt.NDArray[np.unsignedinteger]:
    if size.is_integer:
        return numbers.astype(f"u{size.n_bytes}")
    octets = numbers.astype("<u8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(octets[:, : size.n_bytes])
