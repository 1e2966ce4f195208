"""Types of numpy arrays; tensors on disk as arrays: safetensors, int8 rows, entropy-coded streams.

This module does not import torch. `weights.py` writes these files and reads them as torch tensors.
"""

import json
import struct
import weakref
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from yakusu.errors import ModelError
from yakusu.folder import downloaded, regular_name

Array = NDArray[Any]
Arrays = dict[str, Array]
Flags = NDArray[np.bool_]
Integers = NDArray[np.integer]
Shorts = NDArray[np.int16]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

# What numpy and zipfile raise for a damaged .npy or .npz file: they trust its header
BROKEN_ARRAYS = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError),
    *(SyntaxError, TypeError, ValueError, BadZipFile, TokenError, struct.error, zlib.error),
)

SCALE = "scale of "  # prefix of the name of a matrix of int8 rows, for its scales
SHAPE = "shape of "  # prefix of the name of a matrix of encoded integers, for its shape
INTEGERS = ".numbers"  # suffix of the names of matrices that are encoded


def distinct_numbers(numbers: Integers, n: int) -> tuple[Longs, Longs]:
    """Return the distinct ones of numbers from 0 to n - 1, and the place of each number in these.

    Unlike `np.unique`, it does not import `numpy.ma`, which takes 30 ms.
    """
    places = np.zeros(n, np.int64)
    places[numbers] = 1
    found = np.flatnonzero(places)
    places[found] = np.arange(len(found))
    return found, places[numbers]


# ---- safetensors ---------------------------------------------------------------------------------


# The types of safetensors that numpy supports.
_TYPES = {
    **{"BOOL": "?", "F16": "<f2", "F32": "<f4", "F64": "<f8", "C64": "<c8"},
    **{f"I{8 * n}": f"<i{n}" for n in (1, 2, 4, 8)},
    **{f"U{8 * n}": f"<u{n}" for n in (1, 2, 4, 8)},
}


class _Entry(NamedTuple):
    """What the header of a file says of an array: a tuple, which the garbage collector passes over.

    Attributes:
        kind: Its type, as safetensors names it.
        shape: Its shape.
        begin: Its first byte after the header.
        end: The byte after its last one.
    """

    kind: str
    shape: tuple[int, ...]
    begin: int
    end: int


def _entry(read: dict[str, Any]) -> Any:
    """An entry of a header, or another object as it was read."""
    if not isinstance(offsets := read.get("data_offsets"), list):
        return read
    return _Entry(read["dtype"], tuple(read["shape"]), *offsets)


class ArraysOnDisk(Mapping[str, Array]):
    """The named arrays of a safetensors file, each read when it is accessed; bfloat16 as float32.

    An array is a copy: `safe_open` maps the file, and its pages would stay in memory.

    Raises:
        ModelError: The file is missing or is not a valid safetensors file, or numpy has no type for
            an array.
    """

    def __init__(self, path: Path) -> None:
        try:
            with regular_name(downloaded(path)) as name:
                safe_open(name, "np")  # checks the header
                self._path, self._file = path, name.open("rb")
        except (OSError, SafetensorError) as error:
            raise invalid_safetensors(path) from error
        weakref.finalize(self, self._file.close)
        size = int.from_bytes(self._file.read(8), "little")
        self._entries: dict[str, Any] = json.loads(self._file.read(size), object_hook=_entry)
        self._entries.pop("__metadata__", None)
        self._begin = 8 + size

    def __getitem__(self, name: str) -> Array:
        kind, shape, begin, end = self._entries[name]
        if kind == "BF16":  # the upper half of a float32
            upper = self._read("<u2", begin, end).astype(np.uint32)
            return np.left_shift(upper, 16, out=upper).view(np.float32).reshape(shape)
        if kind not in _TYPES:
            raise ModelError(
                f"{self._path}: '{name}' has the type {kind}: save it as F32, F16 or BF16"
            )
        return self._read(_TYPES[kind], begin, end).reshape(shape)

    def __contains__(self, name: object) -> bool:
        return name in self._entries  # without reading it

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array, without reading it."""
        entry: _Entry = self._entries[name]
        return entry.shape

    def place(self, name: str) -> tuple[str, int]:
        """Return the type of an array, as safetensors names it, and its first byte in the file."""
        entry: _Entry = self._entries[name]
        return entry.kind, self._begin + entry.begin

    def _read(self, kind: str, begin: int, end: int) -> Array:
        self._file.seek(self._begin + begin)
        return np.fromfile(self._file, kind, (end - begin) // np.dtype(kind).itemsize)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def invalid_safetensors(path: Path) -> ModelError:
    """Return the error for a file that is missing or is not valid."""
    return ModelError(f"{path} is not a valid safetensors file: copy the folder again")


# ---- int8 rows and streams -----------------------------------------------------------------------


class Decoded(Mapping[str, Array]):
    """The arrays of a file: rows of floats and matrices of integers, decoded when accessed.

    Args:
        stored: The arrays as they are stored.

    Raises:
        ValueError: A stream is not valid.
    """

    def __init__(self, stored: Mapping[str, Array]) -> None:
        self._stored = stored
        self._names = [name for name in stored if not name.startswith((SCALE, SHAPE))]

    def __getitem__(self, name: str) -> Array:
        if name.endswith(INTEGERS):
            return integers_of(self._stored, name)
        rows, scale = self._stored[name], self._stored.get(SCALE + name)
        if scale is None:
            return rows
        floats = rows.astype(scale.dtype)  # three times as fast as int8 x float32
        floats *= scale
        return floats

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def integers_of(stored: Mapping[str, Any], name: str) -> NDArray[np.int8]:
    """Decode the integers (V, M) of a stream, an array or a tensor.

    Raises:
        ValueError: The stream is not valid.
    """
    stream = np.ascontiguousarray(stored[name])
    try:
        n_rows, n_columns = stored[SHAPE + name].tolist()
        decoder = zlib.decompressobj()
        # No more than the shape needs, and one byte to reach the end and its checksum.
        columns = np.frombuffer(decoder.decompress(stream.data, n_rows * n_columns + 1), np.int8)
        if not decoder.eof:
            raise ValueError("it is incomplete, or longer than its shape")
        return columns.reshape(n_columns, n_rows).T.copy()
    except (zlib.error, KeyError, ValueError) as error:
        raise ValueError(f"the stream '{name}' is corrupted: {error}") from error
