"""A file of arrays in the safetensors format, read with numpy alone and not trusted.

    length of the header    8 bytes, little-endian
    header                  JSON, padded with spaces to a multiple of 64 bytes
    arrays                  without gaps, those of the largest numbers first
    SHA-256                 the last array, of everything before it

Opening a file reads the header only; the arrays are a memory map. `verify_container` checks the
SHA-256.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from yakusu.arrays import Array
from yakusu.errors import ModelError
from yakusu.folder import open_regular, write_file

Metadata = dict[str, str]
_TYPES = {
    name: np.dtype(kind)
    for name, kind in {
        **{"U8": "<u1", "U16": "<u2", "U32": "<u4", "U64": "<u8", "I16": "<i2"},
        **{"F16": "<f2", "F32": "<f4"},
    }.items()
}
_NAMES = {kind: name for name, kind in _TYPES.items()}
_STEP = 64  # bytes: lengths of headers are multiples of it
_LONGEST = 2**20  # bytes of a header
_HASH, _LENGTH = "sha256", hashlib.sha256().digest_size
_FIX = "copy it again, or compress the vectors again"


class ArrayType(NamedTuple):
    """Type and shape of an array."""

    dtype: "np.dtype[Any]"
    shape: tuple[int, ...]

    @classmethod
    def of(cls, array: Array) -> "ArrayType":
        """Return type and shape of an array, as stored."""
        return cls(array.dtype.newbyteorder("<"), array.shape)

    @property
    def n_bytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def file_bytes(metadata: Metadata, kinds: Mapping[str, ArrayType]) -> int:
    """Return the size of a file with these arrays."""
    return len(_header(metadata, kinds)) + sum(each.n_bytes for each in kinds.values()) + _LENGTH


def write_arrays(path: Path, metadata: Metadata, arrays: Mapping[str, Array]) -> None:
    """Write a file, completely or not at all."""
    little = {
        name: np.ascontiguousarray(array, dtype=ArrayType.of(array).dtype)
        for name, array in arrays.items()
    }
    header = _header(metadata, {name: ArrayType.of(array) for name, array in little.items()})

    def write(file: BinaryIO) -> None:
        digest = hashlib.sha256()
        parts: list[Any] = [little[name].reshape(-1).view(np.uint8) for name in _order(little)]
        for part in (header, *parts):
            digest.update(part)
            file.write(part)
        file.write(digest.digest())

    write_file(path, write)


def read_arrays(path: Path) -> tuple[Metadata, dict[str, Array]]:
    """Open a file; the arrays are a memory map.

    Raises:
        ModelError: The file cannot be read, or its header does not describe its arrays.
    """
    size, header = _read_header(path)
    try:
        metadata, kinds = _parsed(header)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise damaged(path, "its header is not valid") from error
    order = [name for name in kinds if name != _HASH]
    expected = file_bytes(metadata, {name: kinds[name] for name in order})
    if header != _header(metadata, {name: kinds[name] for name in order}) or size != expected:
        raise damaged(path, "its header does not describe its arrays")
    # Views of np.memmap itself would be memory maps, too, which are slow to slice.
    with open_regular(path) as file:
        data = np.memmap(file, dtype=np.uint8, mode="r").view(np.ndarray)
    arrays, begin = {}, len(header)
    for name in order:
        kind = kinds[name]
        arrays[name] = data[begin : begin + kind.n_bytes].view(kind.dtype).reshape(kind.shape)
        begin += kind.n_bytes
    return metadata, arrays


def verify_container(path: Path) -> None:
    """Raise ModelError unless the SHA-256 of a file is that of its contents."""
    digest, left = hashlib.sha256(), path.stat().st_size - _LENGTH
    with open_regular(path) as file:
        while left > 0 and (part := file.read(min(left, 2**20))):
            digest.update(part)
            left -= len(part)
        if digest.digest() != file.read():
            raise damaged(path, "its SHA-256 differs")


def damaged(path: Path, why: str) -> ModelError:
    """Return the error for a file that is not as it was written."""
    return ModelError(f"{path} is truncated or corrupted, {why}: {_FIX}")


def _order(arrays: Mapping[str, Array | ArrayType]) -> list[str]:
    """Return the names, arrays of the largest numbers first, so that each is aligned."""
    return sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)


def _header(metadata: Metadata, kinds: Mapping[str, ArrayType]) -> bytes:
    """Return length and header of a file with these arrays."""
    contents: dict[str, Any] = {"__metadata__": metadata}
    begin = 0
    for name in (*_order(kinds), _HASH):
        kind = kinds.get(name, ArrayType(np.dtype("u1"), (_LENGTH,)))
        end = begin + kind.n_bytes
        contents[name] = {
            "dtype": _NAMES[kind.dtype.newbyteorder("<")],
            "shape": list(kind.shape),
            "data_offsets": [begin, end],
        }
        begin = end
    text = json.dumps(contents, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % _STEP)
    return len(text).to_bytes(8, "little") + text


def _read_header(path: Path) -> tuple[int, bytes]:
    """Return the size of a file, and its length field and header."""
    try:
        size = path.stat().st_size
        with open_regular(path) as file:
            length = file.read(8)
            if (n_bytes := int.from_bytes(length, "little")) > min(_LONGEST, size):
                raise damaged(path, "its header is longer than the file")
            return size, length + file.read(n_bytes)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error


def _parsed(header: bytes) -> tuple[Metadata, dict[str, ArrayType]]:
    contents = json.loads(header[8:])
    metadata = contents.pop("__metadata__")
    if not isinstance(metadata, dict) or not all(isinstance(x, str) for x in metadata.values()):
        raise ValueError
    kinds = {}
    for name, entry in contents.items():
        shape = tuple(entry["shape"])
        if not all(type(length) is int and 0 <= length < 2**48 for length in shape):
            raise ValueError
        kinds[name] = ArrayType(_TYPES[entry["dtype"]], shape)
    return metadata, kinds
