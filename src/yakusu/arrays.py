"""Tensors on disk as numpy arrays: safetensors, int8 rows, entropy-coded streams. Not with torch.

`weights.py` writes these files, and reads them as tensors of torch.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from yakusu.errors import ModelError

Array = NDArray[Any]

SCALE = "scale of "  # prefix of the name of a matrix of int8 rows, for its scales
SHAPE = "shape of "  # prefix of the name of a matrix of encoded integers, for its shape
INTEGERS = ".numbers"  # suffix of the names of matrices that are encoded

# ---- safetensors ---------------------------------------------------------------------------------


class ArraysOnDisk(Mapping[str, Array]):
    """The named arrays of a safetensors file, each read when it is accessed; bfloat16 as float32.

    Raises:
        ModelError: The file is missing or is not a valid safetensors file, or numpy has no type for
            an array.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, open_safetensors(path, "np")
        self._names: list[str] = self._file.keys()

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        if self._file.get_slice(name).get_dtype() == "BF16":
            return self._bfloat16(name)
        try:
            array: Array = self._file.get_tensor(name)
        except (AttributeError, KeyError, TypeError) as error:  # types that numpy does not have
            kind = self._file.get_slice(name).get_dtype()
            raise ModelError(
                f"{self._path}: '{name}' has the type {kind}: save it as F32, F16 or BF16, or use "
                "--engine torch"
            ) from error
        return array

    def _bfloat16(self, name: str) -> Array:
        """The upper half of a float32: safetensors has no numpy type for it."""
        with self._path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            entry = json.loads(file.read(size))[name]
            begin, end = entry["data_offsets"]
            file.seek(8 + size + begin)
            upper = np.fromfile(file, dtype="<u2", count=(end - begin) // 2)
        return (upper.astype(np.uint32) << 16).view(np.float32).reshape(entry["shape"])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def open_safetensors(path: Path, framework: str) -> Any:  # safetensors ships no types
    """Open a safetensors file, for "np" or "pt".

    Raises:
        ModelError: The file is missing or is not a valid safetensors file.
    """
    try:
        return safe_open(path, framework)
    except (OSError, SafetensorError) as error:
        raise invalid(path) from error


def invalid(path: Path) -> ModelError:
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
        columns = np.frombuffer(zlib.decompress(stream.data), dtype=np.int8)
        return columns.reshape(n_columns, n_rows).T.copy()
    except (zlib.error, KeyError, ValueError) as error:
        raise ValueError(f"the stream '{name}' is corrupted: {error}") from error
