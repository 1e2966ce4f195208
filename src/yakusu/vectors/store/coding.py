"""How the vectors of a block are coded, stored and scored.

Codes with K up to 16 are stored as the kernels read them, in half a byte each; integers as bytes,
or 16 bits where a block needs them, with a Huffman code. The product of a query with a rebuilt
vector is rounded (`compress/search.py`), and the error has a limit, so that no row is missed.

n rows, H dimensions, M components, K codes per component.
"""

import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from yakusu.arrays import Array, Doubles
from yakusu.compress import kernels
from yakusu.compress.blocks import Rows
from yakusu.compress.codebook import Codebook
from yakusu.compress.lattice import LARGEST, Lattice
from yakusu.compress.search import basis_products, rounded_table, rounded_words
from yakusu.sqlite import DamagedFileError

HALF_BYTE = 16  # K at most
_SLACK = 1e-11  # relative error of sums in float64


@dataclass(frozen=True, eq=False)
class PreparedQuery:
    """A query, as it is compared with codes.

    vector: (H,).
    products: Of the basis and the query, (M,).
    rest: Product of the query and the mean vector, which is added to the products with codes.
    square: Squared length of the query as it is compared.
    table: What the kernels add up, in multiples of `step`: (M, 16) or (M,).
    offset: What is added to a sum times `step`.
    slack: Error of sums in float64.
    """

    vector: Doubles
    products: Doubles
    rest: float
    square: float
    table: Array
    step: float
    offset: float
    slack: float


class RowCoder(ABC):
    """Codes vectors in the way of a codebook; the arrays of rows are "packed"."""

    book: Codebook | Lattice

    @abstractmethod
    def encode(self, vectors: Doubles) -> Array:
        """Return codes (n, M) of vectors (n, H), the nearest ones that there are."""

    @abstractmethod
    def dumped(self, codes: Array) -> bytes:
        """Return codes (n, M) as they are stored."""

    @abstractmethod
    def loaded(self, stored: bytes, n: int) -> Array:
        """Return stored codes, packed.

        Raises:
            DamagedFileError: They are not codes of n rows.
        """

    @abstractmethod
    def unpacked(self, packed: Array, rows: Rows) -> Array:
        """Return the codes (m, M) of some rows (m,)."""

    @abstractmethod
    def reach(self, packed: Array) -> int:
        """Return by how many steps, times two, a rounded product is wrong at most."""

    @abstractmethod
    def prepared(self, query: Doubles, *, centred: bool) -> PreparedQuery:
        """Prepare a query (H,); `centred`: the mean is subtracted from it and from the vectors."""

    @abstractmethod
    def rounded(self, packed: Array, n: int, query: PreparedQuery) -> Doubles:
        """Return rounded products of a query with n rebuilt vectors, (n,)."""

    def exact(self, packed: Array, rows: Rows, query: PreparedQuery) -> Doubles:
        """Return the products of a query with some rebuilt vectors (m,), the same in any block."""
        codes = self.unpacked(packed, rows)
        factors = self.book.chosen(codes) if isinstance(self.book, Codebook) else codes
        products: Doubles = np.einsum("nm,m->n", factors.astype(np.float64), query.products)
        products += query.rest
        return products


class _HalfBytes(RowCoder):
    """Codes with K up to 16; packed: (L, M, 16), uint8."""

    def __init__(self, book: Codebook) -> None:
        self.book: Codebook = book

    def encode(self, vectors: Doubles) -> Array:
        return self.book.encode(vectors)

    def dumped(self, codes: Array) -> bytes:
        return kernels.in_blocks(codes).tobytes()

    def loaded(self, stored: bytes, n: int) -> Array:
        shape = -(-n // kernels.ROWS), len(self.book.basis), kernels.ROWS // 2
        if len(stored) != shape[0] * shape[1] * shape[2]:
            raise DamagedFileError("its codes do not have the size of their rows")
        packed = np.frombuffer(stored, np.uint8).reshape(shape)
        most = self.book.n_codes - 1
        if most < HALF_BYTE - 1 and ((packed & 15).max() > most or (packed >> 4).max() > most):
            raise DamagedFileError("a code is out of range")
        return packed

    def unpacked(self, packed: Array, rows: Rows) -> Array:
        block, row = np.divmod(rows, kernels.ROWS)
        half, row = np.divmod(row, kernels.ROWS // 2)
        codes: Array = packed[block, :, row] >> (4 * half[:, None]).astype(np.uint8) & 15
        return codes

    def reach(self, packed: Array) -> int:
        return len(self.book.basis)

    def prepared(self, query: Doubles, *, centred: bool) -> PreparedQuery:
        compared = query - self.book.mean if centred else query
        rest = 0.0 if centred else float(query @ self.book.mean)
        products, square = basis_products(self.book, compared), float(compared @ compared)
        sums = self.book.weights * products[:, None]  # (M, K)
        table, step, least = rounded_table(sums)
        slack = _SLACK * (float(np.abs(sums).max(axis=1).sum()) + abs(rest))
        return PreparedQuery(query, products, rest, square, table, step, rest + least, slack)

    def rounded(self, packed: Array, n: int, query: PreparedQuery) -> Doubles:
        return kernels.scan4(packed, query.table)[:n] * np.float64(query.step) + query.offset


class _Integers(RowCoder):
    """Integers; packed: (n, M), int8 or int16."""

    def __init__(self, book: Lattice) -> None:
        self.book: Lattice = book

    def encode(self, vectors: Doubles) -> Array:
        nearest = np.rint((vectors - self.book.mean) @ self._inverse)
        return nearest.clip(-LARGEST, LARGEST).astype(np.int16)

    @cached_property
    def _inverse(self) -> Doubles:
        """Pseudo-inverse of the basis, (H, M)."""
        inverse: Doubles = np.linalg.pinv(self.book.basis).astype(np.float64, copy=False)
        return inverse

    def dumped(self, codes: Array) -> bytes:
        is_narrow = max(codes.max(), -int(codes.min())) < 128
        coding = zlib.compressobj(strategy=zlib.Z_HUFFMAN_ONLY)
        stored = coding.compress(codes.astype("<i1" if is_narrow else "<i2").tobytes())
        return stored + coding.flush()

    def loaded(self, stored: bytes, n: int) -> Array:
        size = n * len(self.book.basis)
        try:
            numbers = zlib.decompressobj().decompress(stored, 2 * size + 1)
        except zlib.error as error:
            raise DamagedFileError("its integers cannot be decompressed") from error
        if len(numbers) not in (size, 2 * size):
            raise DamagedFileError("its integers do not have the size of their rows")
        kind = "<i1" if len(numbers) == size else "<i2"
        return np.frombuffer(numbers, kind).reshape(n, -1)

    def unpacked(self, packed: Array, rows: Rows) -> Array:
        found: Array = packed[rows]
        return found

    def reach(self, packed: Array) -> int:
        return int(np.abs(packed, dtype=np.int32).sum(axis=1).max())

    def prepared(self, query: Doubles, *, centred: bool) -> PreparedQuery:
        compared = query - self.book.mean if centred else query
        rest = 0.0 if centred else float(query @ self.book.mean)
        products, square = basis_products(self.book, compared), float(compared @ compared)
        table, step = rounded_words(products)
        slack = _SLACK * (2**15 * float(np.abs(products).sum()) + abs(rest))
        return PreparedQuery(query, products, rest, square, table, step, rest, slack)

    def rounded(self, packed: Array, n: int, query: PreparedQuery) -> Doubles:
        return kernels.dot(packed, query.table) * np.float64(query.step) + query.offset


def coder_of(book: Codebook | Lattice) -> RowCoder:
    """Return what codes vectors with a codebook of K up to 16, or with integers."""
    return _HalfBytes(book) if isinstance(book, Codebook) else _Integers(book)
