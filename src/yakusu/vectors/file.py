"""The .ykv file: compressed word vectors, opened as a memory map and read one word at a time.

All numbers are little-endian; every array starts at a multiple of 8 bytes.

header    magic "YAKUSUV1"; version, flags, V, H, M, K, number of arrays: seven 64-bit integers
index     for each array: name and type (8 bytes each), columns (0: one-dimensional), start, bytes
arrays    mean, basis and, for a `Codebook`, weights: float16 (flag 1) or float32;
          text, lengths, order of the words; packed codes, or an entropy-coded stream (flag 2)
SHA-256   hash of everything before it, 32 bytes
"""

import hashlib
import struct
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from yakusu.compress.codebook import Codebook
from yakusu.compress.lattice import Lattice
from yakusu.compress.storage import EntropyCodes, PackedCodes, bits_of
from yakusu.errors import DataError, ModelError
from yakusu.folder import write_file
from yakusu.vectors.keyed import CompressedVectors, Words

Arrays = dict[str, npt.NDArray[Any]]
Precision = Literal["float32", "float16"]

MAGIC, VERSION = b"YAKUSUV1", 1
_HEADER, _ENTRY = struct.Struct("<8s7Q"), struct.Struct("<8s8s3Q")
_HALF, _ENTROPY = 1, 2
_DIGEST = hashlib.sha256().digest_size
_FIX = "copy it again, or compress the vectors again"


def write_compressed(
    path: str | Path, vectors: CompressedVectors, *, precision: Precision = "float32"
) -> CompressedVectors:
    """Write a file atomically.

    Args:
        path: File to write.
        vectors: Vectors to write.
        precision: Type of mean, basis and weights.

    Returns:
        The vectors as read from the file.

    Raises:
        DataError: A value of the codebook is too large for float16.
    """
    path, arrays = Path(path), _arrays(vectors, np.dtype(precision))
    if not all(np.isfinite(array).all() for array in arrays.values() if array.dtype.kind == "f"):
        raise DataError(f"{path}: the codebook exceeds the range of float16: write it as float32")
    flags = _HALF * (precision == "float16") | _ENTROPY * isinstance(vectors.book, Lattice)
    n_codes = vectors.book.weights.shape[1] if isinstance(vectors.book, Codebook) else 0
    sizes = (len(vectors), vectors.width, vectors.codes.n_components, n_codes)
    header = _HEADER.pack(MAGIC, VERSION, flags, *sizes, len(arrays))
    write_file(path, lambda file: _write(file, header, arrays))
    return open_compressed(path)


def is_compressed(path: Path) -> bool:
    """Return whether the file begins with the magic of `write_compressed`."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def open_compressed(path: str | Path) -> CompressedVectors:
    """Open a file as a memory map, after checking its hash.

    Raises:
        ModelError: The file is missing, in another format, truncated, corrupted, or of another
            version.
    """
    try:
        data: Any = np.memmap(path, dtype=np.uint8, mode="r")
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError:  # an empty file cannot be mapped
        data = np.empty(0, dtype=np.uint8)
    if len(data) < _HEADER.size + _DIGEST or data[: len(MAGIC)].tobytes() != MAGIC:
        raise ModelError(
            f"{path} is not a file of compressed vectors: create one with 'yakusu vectors compress'"
        )
    _, version, flags, n_words, _, n_components, n_codes, n_arrays = _HEADER.unpack_from(data)
    if version != VERSION:
        raise ModelError(
            f"{path} has format version {version}, but this yakusu reads {VERSION}: update yakusu"
        )
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:].tobytes():
        raise ModelError(f"{path} is truncated or corrupted, its SHA-256 differs: {_FIX}")
    arrays = _views(data, n_arrays)
    words = Words(arrays["text"], arrays["lengths"], arrays["order"])
    mean, basis = (arrays[name].astype(np.float64) for name in ("mean", "basis"))
    if flags & _ENTROPY:
        codes = EntropyCodes.from_arrays(arrays, n_words)
        return CompressedVectors(Lattice(mean, basis), codes, words)
    book = Codebook(mean, basis, arrays["weights"].astype(np.float64))
    packed = PackedCodes(arrays["packed"], n_components, bits_of(n_codes))
    return CompressedVectors(book, packed, words)


def _arrays(vectors: CompressedVectors, floats: "np.dtype[Any]") -> Arrays:
    book, codes, words = vectors.book, vectors.codes, vectors.words
    with np.errstate(over="ignore"):
        arrays: Arrays = {"mean": book.mean.astype(floats), "basis": book.basis.astype(floats)}
        if isinstance(book, Codebook):
            arrays["weights"] = book.weights.astype(floats)
    arrays |= {"text": words.text, "lengths": words.lengths, "order": words.order}
    return arrays | ({"packed": codes.packed} if isinstance(codes, PackedCodes) else codes.arrays)


def _write(file: BinaryIO, header: bytes, arrays: Arrays) -> None:
    begin = _HEADER.size + _ENTRY.size * len(arrays)
    contents, parts = header, []
    for name, array in arrays.items():
        little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        kind, columns = little.dtype.str.encode(), array.shape[1] if array.ndim == 2 else 0
        contents += _ENTRY.pack(name.encode(), kind, columns, begin, little.nbytes)
        padding = -little.nbytes % 8
        parts += [little.tobytes(), bytes(padding)]
        begin += little.nbytes + padding
    digest = hashlib.sha256()
    for part in (contents, *parts):
        digest.update(part)
        file.write(part)
    file.write(digest.digest())


def _views(data: Any, n_arrays: int) -> Arrays:
    arrays = {}
    for i in range(n_arrays):
        entry = _ENTRY.unpack_from(data, _HEADER.size + i * _ENTRY.size)
        name, kind, columns, begin, size = entry
        flat = data[begin : begin + size].view(kind.rstrip(b"\0").decode())
        arrays[name.rstrip(b"\0").decode()] = flat.reshape(-1, columns) if columns else flat
    return arrays
