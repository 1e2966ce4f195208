"""Codes in as few bits as they need; each word begins at a byte, so that one can be read alone.

V words, M components, K codes a component.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import blocks

Codes = npt.NDArray[np.unsignedinteger]
Rows = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class PackedCodes:
    """Codes of V words, the least significant bit of the first component first.

    packed: (V, bytes of a word), uint8.
    n_components: M.
    n_bits: Of each code.
    """

    packed: npt.NDArray[np.uint8]
    n_components: int
    n_bits: int

    @classmethod
    def of(cls, codes: Codes, n_codes: int) -> "PackedCodes":
        """Pack codes (V, M), each less than K = `n_codes`."""
        n_bits = bits_of(n_codes)
        packed = np.empty((len(codes), bytes_of_word(codes.shape[1], n_bits)), dtype=np.uint8)
        for rows in blocks(len(codes)):
            part = codes[rows]
            bits = (part[:, :, None] >> np.arange(n_bits, dtype=part.dtype)) & part.dtype.type(1)
            packed[rows] = np.packbits(
                bits.astype(np.uint8).reshape(len(part), -1), axis=1, bitorder="little"
            )
        return cls(packed, codes.shape[1], n_bits)

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def n_bytes(self) -> int:
        """Of all words."""
        return self.packed.nbytes

    def rows(self, words: Rows) -> Codes:
        """The codes (n, M) of the words with these numbers (n,)."""
        n_used = self.n_components * self.n_bits
        bits = np.unpackbits(self.packed[words], axis=1, bitorder="little", count=n_used)
        of_code = bits.reshape(len(words), self.n_components, self.n_bits)
        whole = np.dtype(np.uint8 if self.n_bits <= 8 else np.uint32)
        shifts = np.arange(self.n_bits, dtype=whole)
        codes: Codes = (of_code.astype(whole) << shifts).sum(axis=2, dtype=whole)
        return codes


def bits_of(n_codes: int) -> int:
    """How many bits tell K codes apart."""
    return max(1, (n_codes - 1).bit_length())


def bytes_of_word(n_components: int, n_bits: int) -> int:
    """Of M codes, filled up to whole bytes."""
    return (n_components * n_bits + 7) // 8
