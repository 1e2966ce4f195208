"""A compressed matrix: stored codes, and the codebook that rebuilds vectors.

V rows, H dimensions, M components, K codes per component.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from operator import index
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Arrays, Integers
from yakusu.compress.blocks import AnyMatrix, row_blocks
from yakusu.compress.codebook import Codebook, codes_ratio
from yakusu.compress.container import ArrayType, file_bytes
from yakusu.compress.digits import DigitCodes, radix
from yakusu.compress.entropy import EntropyCodes, coded_bytes
from yakusu.compress.lattice import IntegerRows, Lattice, Tier, integers_ratio
from yakusu.errors import DataError

Vectors = npt.NDArray[np.float32]
MatrixShape = tuple[int, ...]  # (V, H)
FloatPrecision = Literal["float32", "float16"]
FORMAT, VERSION = "yakusu compressed vectors", 2
MOST_CODES = 2**16  # K
_HEADER = 1024  # bytes that the header and the hash of a file with integers take at most
_SIZES = ("n_vectors", "width", "n_components", "n_codes")
_BOOK = ("mean", "basis", "weights")
FLOATS: dict[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2")}


class Size(NamedTuple):
    """Size of a stored matrix.

    bits: Bits per vector of codes, or of entropy-coded integers with their tables.
    total: Bytes of codes, codebook, and everything else that is needed to rebuild the matrix.
    """

    bits: float
    total: int

    def ratio(self, shape: MatrixShape) -> float:
        """Size of float32 vectors (V, H) divided by the total."""
        return 4 * shape[0] * shape[1] / self.total


@dataclass(frozen=True, eq=False, repr=False)
class CompressedMatrix:
    """A compressed matrix of vectors, (V, H).

    book: Rebuilds vectors from codes.
    codes: Codes of each row: digits for a `Codebook`, entropy-coded integers for a `Lattice`.
    precision: Type in which the codebook is stored.
    """

    book: Codebook | Lattice
    codes: DigitCodes | EntropyCodes
    precision: FloatPrecision = field(default="float32", kw_only=True)

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        kind = f"M = {self.codes.n_components}, K = {self.n_codes}" if self.n_codes else "integers"
        return f"{type(self).__name__}(V = {len(self)}, H = {self.width}, {kind})"

    @property
    def width(self) -> int:
        """H."""
        return len(self.book.mean)

    @property
    def n_codes(self) -> int | None:
        """K; None for integers."""
        return self.book.weights.shape[1] if isinstance(self.book, Codebook) else None

    @property
    def size(self) -> Size:
        """Size of the file without words."""
        kinds = {name: ArrayType.of(array) for name, array in self.arrays.items()}
        return Size(self.codes.bits, file_bytes(self.metadata, kinds))

    @property
    def ratio(self) -> float:
        """Size of the float32 vectors divided by that of the file without words."""
        return self.size.ratio((len(self), self.width))

    @property
    def codes_ratio(self) -> float:
        """Compression ratio of codes and codebook alone, without header; see `codes_ratio`."""
        shape = (len(self), self.width)
        if isinstance(self.book, Codebook):
            return codes_ratio(shape, *self.book.weights.shape)
        return integers_ratio(shape, self.codes.n_components, self.size.bits)

    @property
    def metadata(self) -> dict[str, str]:
        """Sizes, as the file stores them."""
        return metadata_of((len(self), self.width), self.codes.n_components, self.n_codes)

    @property
    def arrays(self) -> Arrays:
        """Arrays that the file stores."""
        floats: dict[str, npt.NDArray[Any]] = {"mean": self.book.mean, "basis": self.book.basis}
        if isinstance(self.book, Codebook):
            floats["weights"] = self.book.weights
        with np.errstate(over="ignore"):  # infinite values are rejected when the file is written
            arrays = {name: array.astype(FLOATS[self.precision]) for name, array in floats.items()}
        if isinstance(self.codes, DigitCodes):
            return arrays | {"codes": self.codes.stored}
        return arrays | self.codes.arrays

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without caches

    def row(self, row: int) -> Vectors:
        """Return the rebuilt vector (H,) of one row.

        Raises:
            DataError: The row is not an integer.
            IndexError: The row is not from 0 to V - 1.
        """
        try:
            number = index(row)
        except TypeError as error:
            raise self._not_integers(f"a row of type {type(row).__name__}") from error
        self._check(number, number)
        vector: Vectors = self.book.rebuild(self.codes.row(number)).astype(np.float32)
        return vector

    def rows(self, rows: npt.ArrayLike) -> Vectors:
        """Return the rebuilt vectors (n, H) of the rows with these indices (n,).

        Raises:
            DataError: The indices are not integers (n,).
            IndexError: An index is not from 0 to V - 1.
        """
        return self.book.rebuild(self.codes.rows(self._checked(rows))).astype(np.float32)

    def _checked(self, rows: npt.ArrayLike) -> Integers:
        """Return the indices of rows as integers (n,)."""
        numbers = np.asarray(rows)
        if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and numbers.size):
            what = f"type {numbers.dtype}" if numbers.ndim == 1 else f"shape {numbers.shape}"
            raise self._not_integers(f"rows of {what}")
        if numbers.size:
            self._check(int(numbers.min()), int(numbers.max()))
        return numbers.astype(np.int64, copy=False)

    def _not_integers(self, found: str) -> DataError:
        return DataError(f"{found}: give integers from 0 to {len(self) - 1}")

    def _check(self, least: int, most: int) -> None:
        if least < 0 or most >= len(self):
            row = least if least < 0 else most
            raise IndexError(f"row {row} is out of range: there are {len(self)} rows")

    def code_rows(self, rows: npt.ArrayLike) -> Vectors:
        """Return the codes (n, M) as floats: the paper's "Code"; centre them before comparing.

        Raises:
            DataError, IndexError: As for `rows`.
        """
        return self.codes.rows(self._checked(rows)).astype(np.float32)

    def dense(self) -> Vectors:
        """Return all rebuilt vectors, (V, H)."""
        return self._all(self.rows, self.width)

    def dense_codes(self) -> Vectors:
        """Return all codes as floats, (V, M)."""
        return self._all(self.code_rows, self.codes.n_components)

    def _all(self, part: Callable[[Integers], Vectors], width: int) -> Vectors:
        matrix = np.empty((len(self), width), dtype=np.float32)
        for rows in row_blocks(len(self)):
            matrix[rows] = part(rows)
        return matrix


def size_of_integers(shape: MatrixShape, integers: IntegerRows, tiers: Sequence[Tier]) -> Size:
    """Estimate the size of integers for vectors (V, H): an upper limit unless sampled.

    Args:
        shape: (V, H).
        integers: Integers of all vectors or of a sample of them, (n, M).
        tiers: Tiers of the integers.
    """
    n_components = integers.shape[1]
    codes = coded_bytes(integers, tiers, shape[0])
    return Size(8 * codes / shape[0], codes + 4 * shape[1] * (n_components + 1) + _HEADER)


def restored(metadata: dict[str, str], arrays: Arrays) -> CompressedMatrix:
    """Restore a matrix from its metadata and arrays.

    Raises:
        ValueError: They do not fit each other.
    """
    v, h, m, k = (int(metadata[name]) for name in _SIZES)
    is_possible = min(v, h, m) >= 1 and (k == 0 or 2 <= k <= MOST_CODES)
    if metadata != metadata_of((v, h), m, k) or not is_possible:
        raise ValueError("the sizes are out of range")
    precision: FloatPrecision = (
        "float16" if arrays["mean"].dtype == FLOATS["float16"] else "float32"
    )
    floats = FLOATS[precision]
    if k:
        expected = kinds_of_codes((v, h), m, k, floats)
    else:
        expected = _kinds_of_integers((v, h), m, floats, arrays)
    if expected != {name: ArrayType.of(array) for name, array in arrays.items()}:
        raise ValueError("the arrays do not have the sizes of the header")
    book = {name: arrays[name].astype(np.float64) for name in _BOOK if name in arrays}
    if not all(np.isfinite(array).all() for array in book.values()):
        raise ValueError("the codebook is not finite")
    if k:
        codes = DigitCodes(arrays["codes"], v, m, k)
        return CompressedMatrix(Codebook(**book), codes, precision=precision)
    integers = EntropyCodes.from_arrays(arrays, v)
    return CompressedMatrix(Lattice(**book), integers, precision=precision)


def extended(matrix: CompressedMatrix, vectors: AnyMatrix) -> CompressedMatrix:
    """Return a matrix with further vectors (n, H) at the end, coded with the same codebook.

    Raises:
        DataError: The vectors do not have H dimensions, or an integer exceeds 16 bits.
    """
    if vectors.ndim != 2 or vectors.shape[1] != matrix.width:
        raise DataError(
            f"vectors of shape {vectors.shape} do not fit {matrix.width} dimensions: give vectors "
            "of the kind that was compressed"
        )
    book, codes = matrix.book, matrix.codes
    if isinstance(book, Codebook) and isinstance(codes, DigitCodes):
        longer: DigitCodes | EntropyCodes = codes.extended(book.encode(vectors))
    else:
        assert isinstance(book, Lattice) and isinstance(codes, EntropyCodes)
        longer = codes.extended(book.encode(vectors, codes.segments[-1].factor))
    return CompressedMatrix(book, longer, precision=matrix.precision)


def size_of_codes(shape: MatrixShape, n_components: int, n_codes: int) -> Size:
    """Return the size of M codes to the base K for each of V vectors of H dimensions."""
    kinds = kinds_of_codes(shape, n_components, n_codes, FLOATS["float32"])
    total = file_bytes(metadata_of(shape, n_components, n_codes), kinds)
    return Size(radix(n_codes).bits * n_components, total)


def kinds_of_codes(
    shape: MatrixShape, n_components: int, n_codes: int, floats: "np.dtype[Any]"
) -> dict[str, ArrayType]:
    """Return types and shapes of the arrays of codes."""
    (n_vectors, width), size = shape, radix(n_codes)
    n_numbers = size.n_numbers(n_vectors * n_components)
    codes = (
        ArrayType(np.dtype(f"<u{size.n_bytes}"), (n_numbers,))
        if size.is_integer
        else ArrayType(np.dtype(np.uint8), (n_numbers, size.n_bytes))
    )
    return {
        "mean": ArrayType(floats, (width,)),
        "basis": ArrayType(floats, (n_components, width)),
        "weights": ArrayType(floats, (n_components, n_codes)),
        "codes": codes,
    }


def _kinds_of_integers(
    shape: MatrixShape, n_components: int, floats: "np.dtype[Any]", arrays: Arrays
) -> dict[str, ArrayType]:
    """Return types and shapes of the arrays of integers; some lengths are those of `arrays`."""
    per_segment = (len(arrays["segments"]), n_components)
    wide = np.dtype("<u4") if arrays["lengths"].dtype == "<u4" else np.dtype("<u2")
    return {
        "mean": ArrayType(floats, (shape[1],)),
        "basis": ArrayType(floats, (n_components, shape[1])),
        "segments": ArrayType(np.dtype("<u8"), (per_segment[0], 2)),
        "sizes": ArrayType(np.dtype("<u2"), per_segment),
        "values": ArrayType(np.dtype("<i2"), (arrays["values"].size,)),
        "counts": ArrayType(np.dtype("<u2"), (arrays["counts"].size,)),
        "lengths": ArrayType(wide, (arrays["lengths"].size,)),
        "stream": ArrayType(np.dtype("<u2"), (arrays["stream"].size,)),
    }


def metadata_of(shape: MatrixShape, n_components: int, n_codes: int | None) -> dict[str, str]:
    """Return the metadata of a file; K is None for integers."""
    sizes = zip(_SIZES, (*shape, n_components, n_codes or 0), strict=True)
    return {
        "format": FORMAT,
        "version": str(VERSION),
        **{name: str(size) for name, size in sizes},
    }
