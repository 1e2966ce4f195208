"""The file of compressed vectors: read as written, or rejected by an error that names it."""

import hashlib
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from yakusu.compress.codebook import Codebook
from yakusu.compress.lattice import Lattice, tiers_from
from yakusu.compress.storage import EntropyCodes, PackedCodes
from yakusu.errors import DataError, ModelError
from yakusu.vectors.file import open_compressed, write_compressed
from yakusu.vectors.keyed import CompressedVectors, Words

Floats = npt.NDArray[np.float64]
Make = Callable[..., CompressedVectors]
HEADER, ENTRY = struct.Struct("<8s7Q"), struct.Struct("<8s8s3Q")


def single(rng: np.random.Generator, *shape: int) -> Floats:
    """Random numbers that float32 represents exactly."""
    return rng.standard_normal(shape).astype(np.float32).astype(np.float64)


def by_codes(n_words: int = 300, m: int = 5, k: int = 3, width: int = 6) -> CompressedVectors:
    rng = np.random.default_rng(n_words)
    codes = rng.integers(0, k, (n_words, m), dtype=np.min_scalar_type(k - 1))
    book = Codebook(single(rng, width), single(rng, m, width), single(rng, m, k))
    return CompressedVectors(book, packed(codes, k), Words.of(f"ö{i}" for i in range(n_words)))


def packed(codes: Any, k: int) -> PackedCodes:
    return PackedCodes.of(codes, k)


def by_integers(n_words: int = 300, m: int = 5, width: int = 6) -> CompressedVectors:
    rng = np.random.default_rng(n_words)
    tiers = tiers_from((n_words // 2,) if n_words > 1 else ())
    integers = 2 * (9 * rng.standard_normal((n_words, m))).round().astype(np.int16)
    lattice = Lattice(single(rng, width), single(rng, m, width))
    words = Words.of(f"ö{i}" for i in range(n_words))
    return CompressedVectors(lattice, EntropyCodes.of(integers, tiers), words)


def entries(data: bytes) -> dict[str, tuple[str, int, bytes]]:
    """Type, columns and bytes of each array, read by the documented format."""
    found = {}
    for i in range(HEADER.unpack_from(data)[-1]):
        name, kind, columns, begin, size = ENTRY.unpack_from(data, HEADER.size + i * ENTRY.size)
        assert begin % 8 == 0
        found[name.rstrip(b"\0").decode()] = (
            kind.rstrip(b"\0").decode(),
            columns,
            data[begin : begin + size],
        )
    return found


def signed(data: bytearray) -> bytes:
    """The data with a matching SHA-256 at its end."""
    return bytes(data[:-32]) + hashlib.sha256(data[:-32]).digest()


@pytest.fixture(params=[by_codes, by_integers])
def make(request: pytest.FixtureRequest) -> Make:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize("n_words", [1, 2, 255, 257, 8193])
def test_opening_returns_what_was_written(make: Make, tmp_path: Path, n_words: int) -> None:
    vectors = make(n_words)
    read = write_compressed(tmp_path / "v.ykv", vectors)
    assert list(read) == list(vectors)
    assert (read.dense() == vectors.dense()).all()
    assert (read.dense_codes() == vectors.dense_codes()).all()
    assert (read.width, read.codes.n_components) == (6, 5)


@pytest.mark.parametrize("k", [2, 3, 16, 256, 257, 1000])
@pytest.mark.parametrize("m", [1, 3, 8])
def test_any_number_of_codes_and_components_is_restored(tmp_path: Path, k: int, m: int) -> None:
    vectors = by_codes(20, m, k)
    read = write_compressed(tmp_path / "v.ykv", vectors)
    assert (read.dense() == vectors.dense()).all()


def test_the_same_vectors_give_the_same_bytes_even_after_reading(
    make: Make, tmp_path: Path
) -> None:
    read = write_compressed(tmp_path / "a", make())
    write_compressed(tmp_path / "b", make())
    write_compressed(tmp_path / "c", read)
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1


def test_half_precision_rounds_only_the_codebook(make: Make, tmp_path: Path) -> None:
    vectors = make()
    write_compressed(tmp_path / "whole", vectors)
    half = write_compressed(tmp_path / "half", vectors, precision="float16")
    for name in ("mean", "basis"):
        rounded = getattr(vectors.book, name).astype(np.float16)
        assert (getattr(half.book, name) == rounded).all()
    assert (half.dense_codes() == vectors.dense_codes()).all()
    assert (tmp_path / "half").stat().st_size < (tmp_path / "whole").stat().st_size
    np.testing.assert_allclose(half.dense(), vectors.dense(), rtol=0.01, atol=0.1)


def test_the_header_is_as_documented(tmp_path: Path) -> None:
    vectors = by_codes(20, m=5, k=257)
    write_compressed(tmp_path / "v", vectors, precision="float16")
    data = (tmp_path / "v").read_bytes()
    assert HEADER.unpack_from(data) == (b"YAKUSUV1", 1, 1, 20, 6, 5, 257, 7)
    assert data[8:16] == b"\x01" + bytes(7)  # little-endian on any machine
    assert data[-32:] == hashlib.sha256(data[:-32]).digest()
    arrays = entries(data)
    assert {name: (kind, columns) for name, (kind, columns, _) in arrays.items()} == {
        "mean": ("<f2", 0),
        "basis": ("<f2", 6),
        "weights": ("<f2", 257),
        "text": ("|u1", 0),
        "lengths": ("<u2", 0),
        "order": ("<u4", 0),
        "packed": ("|u1", 6),  # 5 codes of 9 bits
    }
    mean = vectors.book.mean
    assert arrays["mean"][2] == struct.pack("<6e", *mean)
    assert arrays["lengths"][2] == struct.pack("<20H", *[3] * 10, *[4] * 10)
    assert arrays["text"][2] == "".join(vectors).encode()


def test_the_header_of_integers_is_as_documented(tmp_path: Path) -> None:
    vectors = by_integers(600, m=5)
    write_compressed(tmp_path / "v", vectors)
    data = (tmp_path / "v").read_bytes()
    assert HEADER.unpack_from(data) == (b"YAKUSUV1", 1, 2, 600, 6, 5, 0, 11)
    arrays = entries(data)
    assert arrays["mean"][2] == struct.pack("<6f", *vectors.book.mean)
    assert arrays["tiers"][1:] == (2, struct.pack("<4I", 0, 1, 300, 2))
    assert struct.unpack("<5I", arrays["offsets"][2])[0] == 0
    assert arrays["stream"][0] == "<u4"


def test_a_changed_byte_is_detected(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "v.ykv"
    write_compressed(path, make(40))
    whole = path.read_bytes()
    for place in {*range(0, 80, 3), *range(0, len(whole), len(whole) // 40), len(whole) - 1}:
        altered = bytearray(whole)
        altered[place] ^= 1 << (place % 8)
        path.write_bytes(altered)
        with pytest.raises(ModelError, match=r"v\.ykv"):
            open_compressed(path)
    path.write_bytes(whole)
    open_compressed(path)


def test_a_truncated_or_extended_file_is_detected(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "v.ykv"
    write_compressed(path, make(40))
    whole = path.read_bytes()
    for end in {0, 1, 7, 8, 63, 64, 95, 96, *range(0, len(whole), len(whole) // 50)}:
        path.write_bytes(whole[:end])
        with pytest.raises(ModelError, match=r"v\.ykv"):
            open_compressed(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(ModelError, match=r"v.ykv is truncated or corrupted.*: copy it again"):
        open_compressed(path)


def test_a_newer_version_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "v.ykv"
    write_compressed(path, by_codes())
    data = bytearray(path.read_bytes())
    data[8] = 2
    path.write_bytes(signed(data))
    with pytest.raises(
        ModelError, match=r"v.ykv has format version 2, but this yakusu reads 1: update"
    ):
        open_compressed(path)


def test_other_files_are_rejected_by_an_error_that_names_them(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("king 1 2 3\n" * 20)
    for path, message in [
        (other, "other.txt is not a file of compressed vectors: create one with"),
        (tmp_path / "none", "none cannot be read"),
        (tmp_path, "cannot be read"),
    ]:
        with pytest.raises(ModelError, match=message):
            open_compressed(path)


@pytest.mark.parametrize("field", ["mean", "basis"])
def test_a_codebook_too_large_for_float16_is_rejected_before_writing(
    make: Make, tmp_path: Path, field: str
) -> None:
    vectors = make()
    large = replace(vectors, book=replace(vectors.book, **{field: 70_000 + 0 * vectors.book.mean}))
    if field == "basis":
        large = replace(vectors, book=replace(vectors.book, basis=70_000 + vectors.book.basis))
    with pytest.raises(
        DataError, match=r"v: the codebook exceeds the range of float16: write it as"
    ):
        write_compressed(tmp_path / "v", large, precision="float16")
    assert not list(tmp_path.iterdir())
    assert (write_compressed(tmp_path / "v", large).book.mean == large.book.mean).all()


def test_if_writing_fails_only_the_old_file_remains(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write_compressed(tmp_path / "v", by_codes(10)).dense()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("yakusu.vectors.file._write", full)
    with pytest.raises(OSError, match="No space left"):
        write_compressed(tmp_path / "v", make())
    assert [path.name for path in tmp_path.iterdir()] == ["v"]
    assert (open_compressed(tmp_path / "v").dense() == old).all()


def test_opening_decodes_no_row_and_reading_a_word_decodes_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_compressed(tmp_path / "v", by_codes(5000))
    asked: list[int] = []
    whole = PackedCodes.rows
    monkeypatch.setattr(
        PackedCodes, "rows", lambda self, words: asked.extend(words) or whole(self, words)
    )
    read = open_compressed(tmp_path / "v")
    assert isinstance(read.codes, PackedCodes) and isinstance(read.codes.packed, np.memmap)
    assert "ö4321" in read and not asked
    assert read["ö4321"].shape == (6,)
    assert asked == [4321]
