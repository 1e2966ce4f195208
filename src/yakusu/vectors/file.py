"""The .ykv file: compressed word vectors or a compressed matrix, opened as a memory map.

A safetensors file (`compress/container.py`) of the arrays of a compressed matrix
(`compress/storage.py`) and of `words`, if the vectors have words (`vectors/words.py`). Files of
version 1 can be read (`vectors/legacy.py`).
"""

import re
from pathlib import Path
from typing import overload

import numpy as np

from yakusu.compress.container import damaged, read_arrays, verify_container, write_arrays
from yakusu.compress.storage import FORMAT, VERSION, CompressedMatrix, restored
from yakusu.errors import DataError, ModelError
from yakusu.folder import open_regular
from yakusu.vectors import legacy
from yakusu.vectors.keyed import CompressedVectors
from yakusu.vectors.words import Words

_START = re.compile(
    rb".{8}\{\"__metadata__\":\{\"format\":\"%b\",\"version\":\"(\d{1,9})\"" % FORMAT.encode(), re.S
)
_LONGEST = 128  # bytes that contain `_START`


@overload
def write_compressed(path: str | Path, vectors: CompressedVectors) -> CompressedVectors: ...
@overload
def write_compressed(path: str | Path, vectors: CompressedMatrix) -> CompressedMatrix: ...


def write_compressed(path: str | Path, vectors: CompressedMatrix) -> CompressedMatrix:
    """Write a file atomically.

    Args:
        path: File to write.
        vectors: Word vectors, or a matrix without words.

    Returns:
        The vectors as read from the file.

    Raises:
        DataError: A value of the codebook is too large for float16.
    """
    path, arrays = Path(path), vectors.arrays
    if not all(np.isfinite(array).all() for array in arrays.values() if array.dtype.kind == "f"):
        raise DataError(
            f"{path}: the codebook exceeds the range of {vectors.precision}: write it as float32"
        )
    if isinstance(vectors, CompressedVectors):
        arrays["words"] = vectors.words.stored
    write_arrays(path, vectors.metadata, arrays)
    return open_compressed(path)


def is_compressed(path: Path) -> bool:
    """Return whether the file begins like one of `write_compressed`, in any version."""
    return legacy.is_first_version(path) or _version(path) is not None


def open_words(path: str | Path, *, verified: bool = False) -> CompressedVectors:
    """Open a file of compressed word vectors; see `open_compressed`.

    Raises:
        ModelError: As for `open_compressed`.
        DataError: The file contains a plain matrix, without words.
    """
    made = open_compressed(path, verified=verified)
    if not isinstance(made, CompressedVectors):
        raise DataError(
            f"{path} has row numbers instead of words: compress the vectors again with their words"
        )
    return made


def open_compressed(path: str | Path, *, verified: bool = False) -> CompressedMatrix:
    """Open a file as a memory map, reading its header and codebook only.

    Args:
        path: The file.
        verified: Read the whole file and check its SHA-256. Files of version 1 are always checked.

    Returns:
        `CompressedVectors` if the file has words; otherwise a matrix with row numbers only.

    Raises:
        ModelError: The file is missing, in another format, truncated, corrupted, or of another
            version.
    """
    path = Path(path)
    try:
        if legacy.is_first_version(path):
            return legacy.open_first_version(path)
        version = _version(path)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    if version is None:
        raise ModelError(
            f"{path} is not a file of compressed vectors: create one with 'yakusu vectors compress'"
        )
    if version > VERSION:
        raise ModelError(
            f"{path} has format version {version}, but this yakusu reads {VERSION}: update yakusu"
        )
    metadata, arrays = read_arrays(path)
    try:
        words = arrays.pop("words", None)
        matrix = restored(metadata, arrays)
    except KeyError as error:
        raise damaged(path, f"it lacks {error}") from error
    except ValueError as error:
        raise damaged(path, str(error)) from error
    if verified:
        verify_container(path)
    return matrix if words is None else CompressedVectors.joined(Words(words, len(matrix)), matrix)


def _version(path: Path) -> int | None:
    """Return the version in the header of a file; None if it is in another format."""
    with open_regular(path) as file:
        found = _START.match(file.read(_LONGEST))
    return int(found[1]) if found else None
