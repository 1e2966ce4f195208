"""Matrices in files, read a few rows at a time: a file may be larger than the memory.

    .npy           float16, float32 or float64; in C order, or more slowly in Fortran order
    .safetensors   the same types, or bfloat16, which is read as float32; one tensor
    Parquet        one column of lists of H numbers; needs pyarrow

The format is recognised by the first bytes, and numbers of any byte order are read. Rows are read
into new arrays: the pages of a memory map would count as resident memory. V rows, H dimensions.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from yakusu.arrays import BROKEN_ARRAYS, Array, ArraysOnDisk
from yakusu.compress.blocks import Matrix, Rows
from yakusu.errors import DataError, ModelError
from yakusu.folder import open_regular, regular_name
from yakusu.vectors.matrixfile import MatrixFile, listed
from yakusu.vectors.parquet import ParquetMatrix

_SAFETENSORS = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "bfloat16"}
_BFLOAT16 = np.dtype("<u2")  # the upper half of a float32
_LONGEST_HEADER = 100_000_000  # bytes, the limit of safetensors itself


def open_matrix(path: str | Path, *, name: str | None = None) -> MatrixFile:
    """Open a matrix in one of the formats above; only its description is read.

    Args:
        path: The file.
        name: Name of the tensor or column; None: the only one.

    Raises:
        DataError: The file is missing, invalid or in another format, does not contain such a matrix
            or has several; or pyarrow is not installed. Rows and columns of messages are counted
            from 0.
    """
    path = Path(path)
    match matrix_format(first_bytes(path)):
        case ".safetensors":
            return _from_safetensors(path, name)
        case "Parquet":
            return ParquetMatrix(path, name)
        case ".npy" if name is None:
            return _from_npy(path)
        case ".npy":
            raise DataError(f"{path} has one array without a name: leave out the name '{name}'")
    raise DataError(f"{path} is not a .npy, .safetensors or Parquet file: save the matrix as .npy")


def first_bytes(path: Path) -> bytes:
    """Return the first bytes of a regular file that is not empty."""
    if path.exists() and not path.is_file():  # a folder or a pipe
        raise DataError(
            f"{path} is not a regular file: save the vectors to one, which can be read twice"
        )
    try:
        with open_regular(path) as file:
            head = file.read(16)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if not head:
        raise DataError(f"{path} is empty: choose a file with vectors")
    return head


def matrix_format(head: bytes) -> str | None:
    """Return the format of a file that `open_matrix` opens, by its first bytes; None: another."""
    if head.startswith(b"\x93NUMPY"):
        return ".npy"
    if head.startswith(b"PAR1"):
        return "Parquet"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= _LONGEST_HEADER:
        return ".safetensors"
    return None


def only_matrix(path: Path, shapes: Mapping[str, Sequence[int]]) -> str:
    """Return the name of the only matrix, or of the only one with a usual name."""
    matrices = [name for name, shape in shapes.items() if len(shape) == 2]
    usual = [n for n in matrices if n in ("vectors", "weight") or "embedding" in n.lower()]
    for names in (matrices, usual):
        if len(names) == 1:
            return names[0]
    if not matrices:
        raise DataError(f"{path} has no matrix: save a file with one matrix")
    raise DataError(
        f"{path} has {len(matrices)} matrices ({', '.join(matrices[:5])}), {len(usual) or 'none'} "
        "of them named vectors, weight or embedding: save a file with one matrix"
    )


def unreadable(path: Path, error: Exception) -> DataError:
    """Return the error for an invalid file of arrays."""
    reason = str(error).partition("\n")[0].rstrip(".")  # numpy advises programmers after it
    return DataError(
        f"{path} cannot be opened ({reason}): save it again, without Python objects, as float16, "
        "float32 or float64"
    )


class _Flat(MatrixFile):
    """Rows one after the other, from the byte `begin`; with `by_column`, columns."""

    def __init__(
        self,
        path: Path,
        shape: Sequence[int],
        stored: np.dtype[Any] | str,
        begin: int,
        *,
        by_column: bool,
    ) -> None:
        bfloat16 = stored == "bfloat16"
        super().__init__(path, shape, "float32" if bfloat16 else np.dtype(stored).newbyteorder("="))
        self._stored = _BFLOAT16 if bfloat16 else np.dtype(stored)
        self._begin, self._by_column = begin, by_column

    def _span(self, first: int, last: int) -> Matrix:
        n_rows, width = self.shape
        with open_regular(self.path) as file:
            if not self._by_column:
                found = np.empty((last - first, width), self._stored)
                self._fill(file, found, first * width)
                return self._native(found)
            columns = np.empty((width, last - first), self._stored)
            for number, column in enumerate(columns):
                self._fill(file, column, number * n_rows + first)
        return np.ascontiguousarray(self._native(columns).T)

    def _chosen(self, wanted: Rows) -> Matrix:
        if self._by_column:
            return super()._chosen(wanted)
        found = np.empty((len(wanted), self.shape[1]), self._stored)
        runs = [0, *(np.flatnonzero(np.diff(wanted) != 1) + 1).tolist(), len(wanted)]
        with open_regular(self.path) as file:
            for begin, end in pairwise(runs):
                self._fill(file, found[begin:end], int(wanted[begin]) * self.shape[1])
        return self._native(found)

    def _fill(self, file: BinaryIO, array: Array, first: int) -> None:
        """Read an array from its first number on."""
        file.seek(self._begin + first * self._stored.itemsize)
        if file.readinto(array) < array.nbytes:  # type: ignore[attr-defined]
            raise DataError(f"{self.path} is truncated: copy the file again")

    def _native(self, stored: Array) -> Matrix:
        if self._stored == _BFLOAT16:
            upper = stored.astype(np.uint32)
            return np.left_shift(upper, 16, out=upper).view(np.float32)
        return stored.astype(self.dtype, copy=False)


def _from_npy(path: Path) -> MatrixFile:
    try:
        with regular_name(path) as name:
            mapped = np.lib.format.open_memmap(name, mode="r")  # reads the header only
    except BROKEN_ARRAYS as error:
        if "greater than file size" in str(error):  # said by mmap
            raise DataError(f"{path} is truncated: copy the file again") from error
        raise unreadable(path, error) from error
    by_column = not mapped.flags.c_contiguous
    return _Flat(path, mapped.shape, mapped.dtype, mapped.offset, by_column=by_column)


def _from_safetensors(path: Path, name: str | None) -> MatrixFile:
    try:
        tensors = ArraysOnDisk(path)
    except ModelError as error:
        raise DataError(f"{path} cannot be opened ({error.__cause__}): save it again") from error
    if name is None:
        name = only_matrix(path, {each: tensors.shape(each) for each in tensors})
    elif name not in tensors:
        raise DataError(f"{path} has no tensor '{name}' (but {listed(tensors)}): choose one")
    stored, begin = tensors.place(name)
    if stored not in _SAFETENSORS:
        raise DataError(f"{path}: '{name}' has type {stored}: save it as F16, BF16, F32 or F64")
    return _Flat(path, tensors.shape(name), _SAFETENSORS[stored], begin, by_column=False)
