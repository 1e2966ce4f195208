"""Files of version 1, which are read and converted when they are opened, but never written.

All numbers are little-endian; every array starts at a multiple of 8 bytes.

header    magic "YAKUSUV1"; version 1, flags, V, H, M, K, number of arrays: seven 64-bit integers
index     for each array: name and type (8 bytes each), columns (0: one-dimensional), start, bytes
arrays    mean, basis and, for codes, weights: float16 (flag 1) or float32;
          text, lengths, order of the words; packed codes, or an entropy-coded stream (flag 2)
SHA-256   hash of everything before it, 32 bytes

Integers (flag 2) need the package constriction. V words, H dimensions, M components, K codes per
component, T tiers; N values in all tables of frequencies.
"""

import hashlib
import struct
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from yakusu.arrays import Arrays, Shorts
from yakusu.compress.blocks import row_blocks
from yakusu.compress.codebook import Codebook
from yakusu.compress.container import ArrayType, damaged
from yakusu.compress.digits import DigitCodes
from yakusu.compress.entropy import EntropyCodes
from yakusu.compress.lattice import Lattice, Tier, spans
from yakusu.compress.packed import PackedCodes, bits_of, row_bytes
from yakusu.compress.storage import FLOATS, MOST_CODES, CompressedMatrix, FloatPrecision
from yakusu.errors import ModelError
from yakusu.folder import open_regular
from yakusu.vectors.keyed import CompressedVectors
from yakusu.vectors.words import Words

_MAGIC = b"YAKUSUV1"
_HEADER, _ENTRY = struct.Struct("<8s7Q"), struct.Struct("<8s8s3Q")
_HALF, _ENTROPY = 1, 2  # flags
_DIGEST = hashlib.sha256().digest_size
_BLOCK = 256  # rows
_TYPES = {name.encode(): np.dtype(name) for name in ("<f2", "<f4", "<i2", "|u1", "<u2", "<u4")}
_WIDEST = 2**32  # V, H and M are less than this


def is_first_version(path: Path) -> bool:
    """Return whether a file begins like one of version 1."""
    with open_regular(path) as file:
        return file.read(len(_MAGIC)) == _MAGIC


def open_first_version(path: Path) -> CompressedVectors:
    """Read a file of version 1.

    Raises:
        ModelError: The file is truncated or corrupted, or it contains integers and constriction is
            not installed.
    """
    with open_regular(path) as file:
        data: Any = np.memmap(file, dtype=np.uint8, mode="r")
    if len(data) < _HEADER.size + _DIGEST:
        raise damaged(path, "it is too short")
    _, version, flags, *sizes, n_arrays = _HEADER.unpack_from(data)
    if version != 1:
        raise damaged(path, f"it has version {version}")
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:].tobytes():
        raise damaged(path, "its SHA-256 differs")
    try:
        arrays = _arrays(data, n_arrays)
        _check(arrays, flags, sizes)
        words = _words(arrays)
        matrix = _by_integers(arrays, sizes) if flags & _ENTROPY else _by_codes(arrays, sizes)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise damaged(path, "its arrays do not fit each other") from error
    precision: FloatPrecision = "float16" if flags & _HALF else "float32"
    return CompressedVectors.joined(words, replace(matrix, precision=precision))


def _arrays(data: Any, n_arrays: int) -> Arrays:
    arrays, expected = {}, _HEADER.size + _ENTRY.size * n_arrays
    if n_arrays > 16 or expected > len(data) - _DIGEST:
        raise ValueError
    for i in range(n_arrays):
        name, kind, columns, begin, size = _ENTRY.unpack_from(data, _HEADER.size + i * _ENTRY.size)
        if begin != expected or size > len(data) - begin:
            raise ValueError
        flat = data[begin : begin + size].view(_TYPES[kind.rstrip(b"\0")])
        arrays[name.rstrip(b"\0").decode()] = flat.reshape(-1, columns) if columns else flat
        expected = begin + size + -size % 8
    if expected != len(data) - _DIGEST:
        raise ValueError
    return arrays


def _check(arrays: Arrays, flags: int, sizes: list[int]) -> None:
    """Raise ValueError unless the arrays have the types and shapes of the header."""
    v, h, m, k = sizes
    if len(arrays["lengths"]) != v:
        raise ValueError
    if not (flags < 4 and all(0 < size < _WIDEST for size in (v, h, m)) and k <= MOST_CODES):
        raise ValueError
    floats = FLOATS["float16" if flags & _HALF else "float32"]
    kinds = {"mean": ArrayType(floats, (h,)), "basis": ArrayType(floats, (m, h))}
    words = {
        "text": ArrayType(np.dtype("u1"), (int(arrays["lengths"].astype(np.int64).sum()),)),
        "lengths": ArrayType(np.dtype("<u2"), (v,)),
        "order": ArrayType(np.dtype("<u4"), (v,)),
    }
    if flags & _ENTROPY:
        kinds |= words | _kinds_of_integers(arrays, v, m)
    else:
        packed = ArrayType(np.dtype("u1"), (v, row_bytes(m, k)))
        kinds |= {"weights": ArrayType(floats, (m, k)), **words, "packed": packed}
    found = {name: ArrayType.of(array) for name, array in arrays.items()}
    if found != kinds or (k < 2) != bool(flags & _ENTROPY) or (flags & _ENTROPY and k):
        raise ValueError
    if not all(np.isfinite(arrays[name]).all() for name in kinds if arrays[name].dtype == floats):
        raise ValueError


def _kinds_of_integers(arrays: Arrays, n_rows: int, n_components: int) -> dict[str, ArrayType]:
    n_tiers = len(arrays["tiers"])
    sizes = arrays["sizes"].astype(np.int64)
    n_blocks = len(_blocks(_tiers(arrays, n_rows), n_rows))
    offsets = arrays["offsets"].astype(np.int64)
    if offsets[0] or (np.diff(offsets) < 0).any() or sizes.min() < 1 or arrays["counts"].min() < 1:
        raise ValueError
    return {
        "lowest": ArrayType(np.dtype("<i2"), (n_tiers, n_components)),
        "sizes": ArrayType(np.dtype("<u2"), (n_tiers, n_components)),
        "counts": ArrayType(np.dtype("<u2"), (int(sizes.sum()),)),
        "tiers": ArrayType(np.dtype("<u4"), (n_tiers, 2)),
        "offsets": ArrayType(np.dtype("<u4"), (n_blocks + 1,)),
        "stream": ArrayType(np.dtype("<u4"), (int(offsets[-1]),)),
    }


def _words(arrays: Arrays) -> Words:
    ends, text = np.cumsum(arrays["lengths"], dtype=np.int64), arrays["text"].tobytes()
    return Words.of(text[begin:end].decode() for begin, end in pairwise([0, *ends.tolist()]))


def _by_codes(arrays: Arrays, sizes: list[int]) -> CompressedMatrix:
    v, _, m, k = sizes
    book = {name: arrays[name].astype(np.float64) for name in ("mean", "basis", "weights")}
    packed = PackedCodes(arrays["packed"], m, bits_of(k))
    codes = np.empty((v, m), np.min_scalar_type(k - 1))
    for rows in row_blocks(v):
        part = packed.rows(rows)
        if int(part.max()) >= k:
            raise ValueError
        codes[rows] = part
    return CompressedMatrix(Codebook(**book), DigitCodes.of(codes, k))


def _by_integers(arrays: Arrays, sizes: list[int]) -> CompressedMatrix:
    mean, basis = (arrays[name].astype(np.float64) for name in ("mean", "basis"))
    tiers = _tiers(arrays, sizes[0])
    codes = EntropyCodes.of(_integers(arrays, tiers, sizes[0]), tiers)
    return CompressedMatrix(Lattice(mean, basis), codes)


def _tiers(arrays: Arrays, n_rows: int) -> tuple[Tier, ...]:
    tiers = tuple(Tier(int(begin), int(factor)) for begin, factor in arrays["tiers"])
    begins = [tier.begin for tier in tiers]
    if begins[0] or sorted(set(begins)) != begins or begins[-1] >= n_rows:
        raise ValueError
    if not all(0 < tier.factor < 2**15 for tier in tiers):
        raise ValueError
    return tiers


def _blocks(tiers: tuple[Tier, ...], n_rows: int) -> list[tuple[int, int, int]]:
    """Return begin, end and tier number of each block; a block never spans two tiers."""
    return [
        (first, min(first + _BLOCK, end), tier)
        for tier, (begin, end, _) in enumerate(spans(tiers, n_rows))
        for first in range(begin, end, _BLOCK)
    ]


def _integers(arrays: Arrays, tiers: tuple[Tier, ...], n_rows: int) -> Shorts:
    """Decode all integers, (V, M)."""
    models, lowest, offsets = _models(arrays), arrays["lowest"], arrays["offsets"]
    coder_of = _constriction().stream.stack.AnsCoder
    integers = np.empty((n_rows, lowest.shape[1]), dtype=np.int16)
    for block, (begin, end, tier) in enumerate(_blocks(tiers, n_rows)):
        coder = coder_of(np.array(arrays["stream"][offsets[block] : offsets[block + 1]]))
        for m, model in enumerate(models[tier]):
            symbols = coder.decode(model, end - begin) if model else 0
            integers[begin:end, m] = (symbols + lowest[tier, m]) * np.int16(tiers[tier].factor)
    return integers


def _models(arrays: Arrays) -> list[list[Any]]:
    """Return the entropy model of each component of each tier; None if it has only one integer."""
    categorical = _constriction().stream.model.Categorical
    ends = np.cumsum(arrays["sizes"].ravel(), dtype=np.int64)
    parts = iter(np.split(arrays["counts"].astype(np.float64), ends[:-1]))
    return [
        [
            categorical(part / part.sum(), perfect=False) if len(part) > 1 else None
            for part in (next(parts) for _ in of_tier)
        ]
        for of_tier in arrays["sizes"]
    ]


def _constriction() -> Any:
    try:
        import constriction
    except ImportError as error:
        raise ModelError(
            "a file of version 1 that contains integers needs constriction: pip install "
            "constriction, or compress the vectors again"
        ) from error
    return constriction
