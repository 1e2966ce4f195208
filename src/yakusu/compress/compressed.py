"""A compressed matrix: how rows are rebuilt, and the codes of each.

V rows, H dimensions, M components.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import numbered
from yakusu.compress.codebook import Codebook, ratio
from yakusu.compress.lattice import Ints, Lattice
from yakusu.compress.lattice import ratio as ratio_of_integers
from yakusu.compress.storage import EntropyCodes, PackedCodes

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class CompressedMatrix:
    """V vectors (V, H), compressed.

    book: How a vector is made of codes.
    codes: Of each row; packed ones for a `Codebook`, entropy-coded ones for a `Lattice`.
    """

    book: Codebook | Lattice
    codes: PackedCodes | EntropyCodes

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def width(self) -> int:
        """H."""
        return len(self.book.mean)

    @property
    def ratio(self) -> float:
        """Bits of V x H float32 over those of codes and codebook: the paper's formula for codes."""
        shape = (len(self), self.width)
        if isinstance(self.book, Codebook):
            return ratio(shape, *self.book.weights.shape)
        bits = 8 * self.codes.n_bytes / len(self)
        return ratio_of_integers(shape, self.codes.n_components, bits)

    def rows(self, words: Ints) -> Vectors:
        """The rebuilt vectors (n, H) of the words with these numbers (n,)."""
        return self.book.rebuild(self.codes.rows(words)).astype(np.float32)

    def code_rows(self, words: Ints) -> Vectors:
        """The codes (n, M) as vectors: the paper's "Code", to be centred before it is compared."""
        return self.codes.rows(words).astype(np.float32)

    def dense(self) -> Vectors:
        """All rebuilt vectors, (V, H)."""
        return self._all(self.rows, self.width)

    def dense_codes(self) -> Vectors:
        """All codes as vectors, (V, M)."""
        return self._all(self.code_rows, self.codes.n_components)

    def _all(self, part: Callable[[Ints], Vectors], width: int) -> Vectors:
        whole = np.empty((len(self), width), dtype=np.float32)
        for rows in numbered(len(self)):
            whole[rows] = part(rows)
        return whole
