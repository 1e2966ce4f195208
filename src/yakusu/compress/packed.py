"""Codes in rows of whole bytes, as the tables of translators store them.

V rows, M components, K codes per component.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Integers
from yakusu.compress.blocks import blocks
from yakusu.compress.digits import Codes


@dataclass(frozen=True, eq=False)
class PackedCodes:
    """Codes of V rows, starting with the least significant bit of the first component.

    packed: Bytes of each row, (V, bytes), uint8.
    n_components: M.
    n_bits: Bits per code.
    """

    packed: npt.NDArray[np.uint8]
    n_components: int
    n_bits: int

    @classmethod
    def of(cls, codes: Codes, n_codes: int) -> "PackedCodes":
        """Pack codes (V, M), each less than K = `n_codes`."""
        n_bits = bits_of(n_codes)
        packed = np.empty((len(codes), row_bytes(codes.shape[1], n_codes)), dtype=np.uint8)
        for rows in blocks(len(codes)):
            part = codes[rows]
            bits = (part[:, :, None] >> np.arange(n_bits, dtype=part.dtype)) & part.dtype.type(1)
            packed[rows] = np.packbits(
                bits.astype(np.uint8).reshape(len(part), -1), axis=1, bitorder="little"
            )
        return cls(packed, codes.shape[1], n_bits)

    def rows(self, rows: Integers) -> Codes:
        """Return the codes (n, M) of the rows with these indices (n,)."""
        n_used = self.n_components * self.n_bits
        bits = np.unpackbits(self.packed[rows], axis=1, bitorder="little", count=n_used)
        of_code = bits.reshape(len(rows), self.n_components, self.n_bits)
        kind = np.dtype(np.uint8 if self.n_bits <= 8 else np.uint32)
        shifts = np.arange(self.n_bits, dtype=kind)
        codes: Codes = (of_code.astype(kind) << shifts).sum(axis=2, dtype=kind)
        return codes


def bits_of(n_codes: int) -> int:
    """Return the number of bits that distinguish K codes."""
    return max(1, (n_codes - 1).bit_length())


def row_bytes(n_components: int, n_codes: int) -> int:
    """Return the size of a row in bytes."""
    return (n_components * bits_of(n_codes) + 7) // 8
