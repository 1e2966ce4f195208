"""Reads model.bin of CTranslate2.

    version  specification  revision  number of variables
    name  rank  shape  type  number of bytes  values      for each variable
    number of aliases
    alias  name                                           for each alias

Numbers are little-endian, and names end with a zero byte. The reader believes no size: a variable
must have the bytes that its shape needs, and they must be in the file.
"""

import math
import struct
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from yakusu.arrays import Array
from yakusu.errors import ModelError
from yakusu.folder import downloaded, open_regular

VERSIONS = range(2, 7)
_TYPES = ("<f4", "<i1", "<i2", "<i4", "<f2", "bfloat16")
_TYPES_BY_SIZE = {4: 0, 2: 2, 1: 1}  # before version 4
_MOST_VARIABLES = 100_000
_MOST_DIMENSIONS = 8
_MOST_REPEATED = 3  # numbers of aliases per stored number; tables have at most three names
_OLD_INT16_SCALE = 1000.0  # of files without scales


class _Entry(NamedTuple):
    shape: tuple[int, ...]
    kind: int
    offset: int

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Variables(Mapping[str, Array]):
    """The variables of a file, each read when it is accessed; matrices of integers as float32.

    Args:
        path: The file.

    Attributes:
        version: Version of the format.
        specification: The kind of model.
        revision: Version of its names.

    Raises:
        ModelError: The file cannot be read, or is not a valid model.bin.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file: BinaryIO = open_regular(downloaded(path))
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error.strerror}") from error
        weakref.finalize(self, self._file.close)
        self._size = path.stat().st_size
        self._entries: dict[str, _Entry] = {}
        (self.version,) = self._unpack("<I")
        if self.version not in VERSIONS:
            raise self._invalid(f"version {self.version} instead of 2 to {VERSIONS[-1]}")
        self.specification = self._name()
        (self.revision,) = self._unpack("<I")
        for _ in range(self._count("variables")):
            self._read_entry()
        if self.version >= 3:
            self._read_aliases()

    def __getitem__(self, name: str) -> Array:
        entry = self._entries[name]
        found = self._values(entry)
        if found.dtype.kind == "i" and found.ndim:
            return self._dequantised(name, found)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a variable.

        Raises:
            ModelError: It is missing.
        """
        if name not in self._entries:
            raise ModelError(f"the tensor '{name}' is missing")
        return self._entries[name].shape

    def number(self, name: str, default: float) -> float:
        """Return a setting.

        Raises:
            ModelError: It is not a number.
        """
        if name not in self._entries:
            return default
        if self._entries[name].size != 1:
            raise ModelError(f"'{name}' is not a number")
        return float(self._values(self._entries[name]).reshape(()))

    def text(self, name: str, default: str) -> str:
        """Return a setting that is text."""
        if name not in self._entries:
            return default
        return self._values(self._entries[name]).astype(np.uint8).tobytes().decode(errors="replace")

    # ---- values ----------------------------------------------------------------------------------

    def _values(self, entry: _Entry) -> Array:
        self._file.seek(entry.offset)
        kind = _TYPES[entry.kind]
        if kind != "bfloat16":
            return np.fromfile(self._file, kind, entry.size).reshape(entry.shape)
        upper = np.fromfile(self._file, "<u2", entry.size).astype(np.uint32)
        return (upper << np.uint32(16)).view(np.float32).reshape(entry.shape)

    def _dequantised(self, name: str, integers: Array) -> Array:
        entry = self._entries.get(f"{name}_scale")
        if entry is None and integers.dtype != np.int16:
            raise ModelError(f"the tensor '{name}_scale' is missing")
        scale = np.float32(_OLD_INT16_SCALE) if entry is None else self._values(entry)
        if scale.size not in (1, len(integers)):
            raise ModelError(f"the tensor '{name}_scale' does not fit '{name}'")
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            raise ModelError(f"the tensor '{name}_scale' has a number that is not positive")
        columns = (-1,) + (1,) * (integers.ndim - 1)
        dense: Array = integers.astype(np.float32) / scale.reshape(columns)
        return dense

    # ---- header ----------------------------------------------------------------------------------

    def _read_entry(self) -> None:
        name, (rank,) = self._name(), self._unpack("<B")
        if rank > _MOST_DIMENSIONS:
            raise self._invalid(f"'{name}' has {rank} dimensions")
        shape = self._unpack(f"<{rank}I")
        kind, n_bytes = self._unpack("<BI")
        if self.version < 4:
            kind, n_bytes = _TYPES_BY_SIZE.get(kind, len(_TYPES)), n_bytes * kind
        if kind >= len(_TYPES):
            raise self._invalid(f"'{name}' has an unknown type")
        entry = _Entry(shape, kind, self._file.tell())
        width = 2 if _TYPES[kind] == "bfloat16" else np.dtype(_TYPES[kind]).itemsize
        if entry.size * width != n_bytes:
            raise self._invalid(f"'{name}' has {n_bytes:,} bytes, and the shape {shape}")
        if entry.offset + n_bytes > self._size:
            raise self._incomplete()
        if name in self._entries:
            raise self._invalid(f"'{name}' occurs twice")
        self._entries[name] = entry
        self._file.seek(n_bytes, 1)

    def _read_aliases(self) -> None:
        stored = sum(entry.size for entry in self._entries.values())
        repeated, scales = 0, dict[str, _Entry]()
        for _ in range(self._count("aliases")):
            alias, name = self._name(), self._name()
            if name not in self._entries or alias in self._entries:
                raise self._invalid(f"'{alias}' cannot be another name of '{name}'")
            repeated += self._entries[name].size
            self._entries[alias] = self._entries[name]
            if (scale := f"{name}_scale") in self._entries:
                scales[f"{alias}_scale"] = self._entries[scale]
        self._entries = scales | self._entries
        if repeated > _MOST_REPEATED * stored:
            raise self._invalid("too many names for the same tensors")

    def _count(self, what: str) -> int:
        (count,) = self._unpack("<I")
        if count > _MOST_VARIABLES:
            raise self._invalid(f"{count:,} {what}")
        return int(count)

    def _name(self) -> str:
        (length,) = self._unpack("<H")
        return self._read(length).partition(b"\0")[0].decode(errors="replace")

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self._read(struct.calcsize(layout)))

    def _read(self, n_bytes: int) -> bytes:
        data = self._file.read(n_bytes)
        if len(data) < n_bytes:
            raise self._incomplete()
        return data

    def _incomplete(self) -> ModelError:
        return self._invalid("it ends too early")

    def _invalid(self, why: str) -> ModelError:
        return ModelError(f"{self._path} is not a valid model of CTranslate2: {why}")
