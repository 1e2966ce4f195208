"""The file of compressed vectors: read as written, or rejected by an error that names it."""

import hashlib
import json
import re
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors import safe_open

from tests.cases import THOROUGH
from yakusu.compress.codebook import Codebook
from yakusu.compress.digits import DigitCodes
from yakusu.compress.entropy import EntropyCodes
from yakusu.compress.lattice import Lattice, tiers_from
from yakusu.compress.packed import PackedCodes
from yakusu.compress.storage import CompressedMatrix, FloatPrecision
from yakusu.errors import DataError, ModelError
from yakusu.vectors.file import open_compressed, open_words, write_compressed
from yakusu.vectors.keyed import CompressedVectors
from yakusu.vectors.words import Words

Floats = npt.NDArray[np.float64]
Make = Callable[..., CompressedVectors]


def single(rng: np.random.Generator, *shape: int) -> Floats:
    """Random numbers that float32 represents exactly."""
    return rng.standard_normal(shape).astype(np.float32).astype(np.float64)


def by_codes(n_words: int = 300, m: int = 5, k: int = 3, width: int = 6) -> CompressedVectors:
    rng = np.random.default_rng(n_words)
    codes = rng.integers(0, k, (n_words, m), dtype=np.min_scalar_type(k - 1))
    book = Codebook(single(rng, width), single(rng, m, width), single(rng, m, k))
    words = Words.of(f"ö{i}" for i in range(n_words))
    return CompressedVectors(book, DigitCodes.of(codes, k), words)


def by_integers(n_words: int = 300, m: int = 5, width: int = 6) -> CompressedVectors:
    rng = np.random.default_rng(n_words)
    tiers = tiers_from((n_words // 2,) if n_words > 1 else ())
    integers = 2 * (9 * rng.standard_normal((n_words, m))).round().astype(np.int16)
    lattice = Lattice(single(rng, width), single(rng, m, width))
    words = Words.of(f"ö{i}" for i in range(n_words))
    return CompressedVectors(lattice, EntropyCodes.of(integers, tiers), words)


def plain(vectors: CompressedMatrix) -> CompressedMatrix:
    """The same vectors without words."""
    return CompressedMatrix(vectors.book, vectors.codes, precision=vectors.precision)


def signed(data: bytes) -> bytes:
    """The data with a matching SHA-256 at its end."""
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


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
    half = write_compressed(tmp_path / "half", replace(vectors, precision="float16"))
    for name in ("mean", "basis"):
        rounded = getattr(vectors.book, name).astype(np.float16)
        assert (getattr(half.book, name) == rounded).all()
    assert half.precision == "float16"
    assert (half.dense_codes() == vectors.dense_codes()).all()
    assert (tmp_path / "half").stat().st_size < (tmp_path / "whole").stat().st_size
    np.testing.assert_allclose(half.dense(), vectors.dense(), rtol=0.01, atol=0.1)


@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("n_words", [1, 300])
def test_the_stated_size_is_the_size_of_the_file(
    make: Make, tmp_path: Path, precision: FloatPrecision, n_words: int
) -> None:
    vectors = replace(make(n_words), precision=precision)
    write_compressed(tmp_path / "v", vectors)
    stored = (tmp_path / "v").stat().st_size - vectors.words.stored.nbytes
    assert 0 <= stored - vectors.size.total <= 128  # the entry of the words in the header


def test_the_file_is_a_safetensors_file(make: Make, tmp_path: Path) -> None:
    vectors = make()
    write_compressed(tmp_path / "v", vectors)
    with safe_open(tmp_path / "v", framework="numpy") as file:
        found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        assert file.metadata()["n_vectors"] == "300"
    digest = hashlib.sha256((tmp_path / "v").read_bytes()[:-32]).digest()
    assert found.pop("sha256").tobytes() == digest
    assert found.pop("words").tobytes() == vectors.words.stored.tobytes()
    assert found.keys() == vectors.arrays.keys()
    for name, array in vectors.arrays.items():
        assert (found[name] == array).all() and found[name].dtype == array.dtype


def test_a_changed_byte_is_detected_by_verification(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "v.ykv"
    write_compressed(path, make(40))
    whole = path.read_bytes()
    open_compressed(path, verified=True)
    for place in {*range(0, 80, 3), *range(0, len(whole), len(whole) // 40), len(whole) - 1}:
        altered = bytearray(whole)
        altered[place] ^= 1 << (place % 8)
        path.write_bytes(altered)
        with pytest.raises(ModelError, match=r"v\.ykv"):
            open_compressed(path, verified=True)


def test_opening_reads_the_header_and_the_codebook_only(make: Make, tmp_path: Path) -> None:
    """Damage elsewhere is not noticed before it is read."""
    path = tmp_path / "v.ykv"
    write_compressed(path, make(40))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert len(open_compressed(path)) == 40


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
    data = path.read_bytes().replace(b'"version":"2"', b'"version":"3"')
    path.write_bytes(signed(data))
    with pytest.raises(
        ModelError, match=r"v.ykv has format version 3, but this yakusu reads 2: update"
    ):
        open_compressed(path)


# ---- headers that do not fit the arrays ---------------------------------------------------------


def changed(data: bytes, rng: Random) -> bytes:
    """A file whose header was changed at random, with matching length and SHA-256."""
    length = int.from_bytes(data[:8], "little")
    header, rest = data[8 : 8 + length], data[8 + length :]
    kind = rng.randrange(4)
    if kind == 0:  # a byte
        place = rng.randrange(len(header))
        header = header[:place] + bytes([rng.randrange(256)]) + header[place + 1 :]
    elif kind == 1:  # a number
        numbers = [*re.finditer(rb"\d+", header)]
        found = rng.choice(numbers)
        number = str(rng.choice([0, 1, 2, 3, 17, 255, 2**31, 2**48, 2**63, 10**30])).encode()
        header = header[: found.start()] + number + header[found.end() :]
    elif kind == 2:  # a type, or the name of an array
        names = [b"U8", b"U16", b"U32", b"U64", b"I16", b"F16", b"F32", b"mean", b"codes", b"words"]
        old = rng.choice([name for name in names if name in header])
        header = header.replace(b'"%b"' % old, b'"%b"' % rng.choice(names), 1)
    else:  # the value of a key
        contents = json.loads(header)
        entry = contents[rng.choice([*contents])]
        value: Any = rng.choice([None, [], {}, [-1], [1.5], "x", True, [[[1]]], "NaN"])
        entry[rng.choice([*entry])] = value
        header = json.dumps(contents, separators=(",", ":")).encode()
    return signed(len(header).to_bytes(8, "little") + header + rest)


@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("has_words", [True, False])
def test_a_changed_header_is_rejected_or_changes_no_vector(
    make: Make, tmp_path: Path, precision: FloatPrecision, has_words: bool
) -> None:
    path, rng, words = tmp_path / "v", Random(7), None
    vectors: CompressedMatrix = replace(make(40), precision=precision)
    if isinstance(vectors, CompressedVectors) and has_words:
        words = list(vectors.words)
    vectors = write_compressed(path, vectors if has_words else plain(vectors))
    whole, expected = path.read_bytes(), vectors.dense()
    path = tmp_path / "changed"
    for _ in range(1250 if THOROUGH else 400):
        path.write_bytes(changed(whole, rng))
        with suppress(ModelError):
            found = open_compressed(path, verified=True)
            assert (found.dense() == expected).all()
            assert (list(found.words) if isinstance(found, CompressedVectors) else None) == words


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"n_codes":"3"', b'"n_codes":"-1"'),
        (b'"n_codes":"3"', b'"n_codes":"99999"'),
        (b'"n_vectors":"40"', b'"n_vectors":"41"'),
        (b'"mean":{', b'"__metadata__":5,"mean":{'),
    ],
)
def test_sizes_that_are_not_possible_are_rejected(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = tmp_path / "v"
    write_compressed(path, by_codes(40))
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length].replace(old, new).strip()
    assert new in header
    header += b" " * (-(len(header) + 8) % 64)
    path.write_bytes(signed(len(header).to_bytes(8, "little") + header + data[8 + length :]))
    with pytest.raises(ModelError, match="truncated or corrupted"):
        open_compressed(path)


@pytest.mark.parametrize("name", ["mean", "basis", "weights"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_codebook_that_is_not_finite_is_rejected(tmp_path: Path, name: str, value: float) -> None:
    path, vectors = tmp_path / "v", by_codes()
    write_compressed(path, vectors)
    data, array = path.read_bytes(), vectors.arrays[name].tobytes()
    damaged = np.float32(value).tobytes() + array[4:]
    path.write_bytes(signed(data.replace(array, damaged)))
    with pytest.raises(ModelError, match="the codebook is not finite"):
        open_compressed(path)


@pytest.mark.parametrize("name", ["segments", "sizes", "values", "counts", "lengths", "stream"])
def test_damaged_tables_of_integers_are_rejected_or_yield_integers(
    tmp_path: Path, name: str
) -> None:
    path, vectors, rng = tmp_path / "v", by_integers(70), Random(name)
    write_compressed(path, vectors)
    whole, array = path.read_bytes(), vectors.arrays[name].tobytes()
    begin = whole.index(array)
    for _ in range(300):
        place = begin + rng.randrange(len(array))
        data = whole[:place] + bytes([rng.randrange(256)]) + whole[place + 1 :]
        path.write_bytes(signed(data))
        with suppress(ModelError):
            assert open_compressed(path).dense().shape == (70, 6)


# ---- files without words -----------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [1, 2, 257, 8193])
def test_a_matrix_without_words_is_opened_as_one(make: Make, tmp_path: Path, n_rows: int) -> None:
    matrix = plain(make(n_rows))
    read = write_compressed(tmp_path / "v.ykv", matrix)
    assert not isinstance(read, CompressedVectors) and len(read) == n_rows
    assert (read.dense() == matrix.dense()).all()
    np.testing.assert_allclose(read.row(n_rows - 1), matrix.dense()[-1], rtol=1e-6, atol=1e-6)
    assert (tmp_path / "v.ykv").stat().st_size == matrix.size.total
    write_compressed(tmp_path / "again", read)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "v.ykv").read_bytes()


def test_a_file_without_words_is_that_with_words_less_one_array(make: Make, tmp_path: Path) -> None:
    write_compressed(tmp_path / "with", make())
    write_compressed(tmp_path / "without", plain(make()))
    found = []
    for name in ("with", "without"):
        with safe_open(tmp_path / name, framework="numpy") as file:
            arrays = {each: file.get_tensor(each) for each in file.keys()}  # noqa: SIM118
            found.append((file.metadata(), arrays))
    (metadata, arrays), (other, fewer) = found
    assert metadata == other and metadata["version"] == "2"
    assert arrays.keys() - fewer.keys() == {"words"}
    for name in fewer.keys() - {"sha256"}:
        assert (arrays[name] == fewer[name]).all()


def test_numpy_alone_reads_a_file_without_words_as_documented(tmp_path: Path) -> None:
    vectors = by_codes(300, m=5, k=16)
    write_compressed(tmp_path / "v.ykv", plain(vectors))
    data = (tmp_path / "v.ykv").read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    names = {"F32": "<f4", "U64": "<u8", "U8": "u1"}
    arrays = {}
    for name, entry in header.items():
        if name != "__metadata__":
            first, last = (begin + offset for offset in entry["data_offsets"])
            flat = np.frombuffer(data[first:last], names[entry["dtype"]])
            arrays[name] = flat.reshape(entry["shape"])
    assert arrays.keys() == {"mean", "basis", "weights", "codes", "sha256"}
    digits = arrays["codes"][:, None] >> np.arange(0, 64, 4, dtype=np.uint64) & np.uint64(15)
    codes = digits.reshape(-1)[: 300 * 5].reshape(300, 5).astype(int)
    chosen = arrays["weights"][np.arange(5), codes]
    dense = arrays["mean"] + chosen @ arrays["basis"]
    np.testing.assert_allclose(dense, vectors.dense(), rtol=1e-4, atol=1e-5)


def test_changed_bytes_of_a_file_without_words_are_detected(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "v.ykv"
    write_compressed(path, plain(make(40)))
    whole = path.read_bytes()
    for place in {*range(0, len(whole), len(whole) // 60), len(whole) - 1}:
        altered = bytearray(whole)
        altered[place] ^= 1 << (place % 8)
        path.write_bytes(altered)
        with pytest.raises(ModelError, match=r"v\.ykv"):
            open_compressed(path, verified=True)
    for end in {0, 1, 8, 63, 96, *range(0, len(whole), len(whole) // 60)}:
        path.write_bytes(whole[:end])
        with pytest.raises(ModelError, match=r"v\.ykv"):
            open_compressed(path)


def test_random_bytes_are_rejected(make: Make, tmp_path: Path) -> None:
    path, rng = tmp_path / "v.ykv", Random(3)
    write_compressed(path, plain(make(40)))
    start = path.read_bytes()
    for _ in range(500):
        path.write_bytes(start[: rng.choice([0, 8, 120, 400])] + rng.randbytes(rng.randrange(700)))
        with pytest.raises(ModelError, match=r"v\.ykv"):
            open_compressed(path)


def test_words_are_required_where_they_are_needed(make: Make, tmp_path: Path) -> None:
    write_compressed(tmp_path / "plain", plain(make(40)))
    with pytest.raises(DataError, match="plain has row numbers instead of words: compress the"):
        open_words(tmp_path / "plain")
    write_compressed(tmp_path / "words", make(40))
    assert list(open_words(tmp_path / "words", verified=True))[:2] == ["ö0", "ö1"]


def test_a_file_whose_words_are_a_bomb_opens_and_its_words_are_rejected(tmp_path: Path) -> None:
    bomb = Words(np.frombuffer(zlib.compress(b"a" * 2**26, 9), np.uint8), 40)
    vectors = by_codes(40)
    write_compressed(tmp_path / "v", CompressedVectors.joined(bomb, vectors))
    read = open_words(tmp_path / "v", verified=True)
    assert (read.dense() == vectors.dense()).all()
    with pytest.raises(ModelError, match="longer than 64 times their compressed size: copy the"):
        read.get("a")


# ---- files of version 1 -------------------------------------------------------------------------


def first_version(n_words: int, m: int, k: int, width: int) -> tuple[bytes, CompressedVectors]:
    """A file of version 1 with codes, as described in `legacy`, and its contents."""
    vectors = by_codes(n_words, m, k, width)
    words = [word.encode() for word in vectors.words]
    codes = vectors.codes.rows(np.arange(n_words)).astype(np.uint8)
    arrays: dict[str, tuple[str, npt.NDArray[Any]]] = {
        **{name: ("<f4", getattr(vectors.book, name)) for name in ("mean", "basis", "weights")},
        "text": ("|u1", np.frombuffer(b"".join(words), np.uint8)),
        "lengths": ("<u2", np.array([len(word) for word in words])),
        "order": ("<u4", np.arange(n_words)),
        "packed": ("|u1", PackedCodes.of(codes, k).packed),
    }
    begin = 64 + 40 * len(arrays)
    index, body = b"", b""
    for name, (kind, array) in arrays.items():
        data = array.astype(kind).tobytes()
        columns = array.shape[1] if array.ndim == 2 else 0
        index += struct.pack(
            "<8s8s3Q", name.encode(), kind.encode(), columns, begin + len(body), len(data)
        )
        body += data + bytes(-len(data) % 8)
    header = struct.pack("<8s7Q", b"YAKUSUV1", 1, 0, n_words, width, m, k, len(arrays))
    whole = header + index + body
    return whole + hashlib.sha256(whole).digest(), vectors


def test_version_1_is_converted_without_unpacking_all_codes_at_once(tmp_path: Path) -> None:
    data, expected = first_version(40_000, m=256, k=16, width=2)
    (tmp_path / "v").write_bytes(data)
    tracemalloc.start()
    found = open_words(tmp_path / "v")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.dense_codes() == expected.dense_codes()).all()
    assert list(found.words) == list(expected.words)
    assert (found.dense() == expected.dense()).all()
    assert peak < 12 * len(data)  # the bits of all codes alone would take 16 times as much


def test_a_code_out_of_range_in_version_1_is_rejected(tmp_path: Path) -> None:
    data, _ = first_version(9_000, m=3, k=9, width=2)
    last = len(data) - 32 - 1  # the last byte of the last row
    data = data[:last] + bytes([15]) + data[last + 1 :]
    (tmp_path / "v").write_bytes(signed(data))
    with pytest.raises(ModelError, match="its arrays do not fit each other"):
        open_compressed(tmp_path / "v")


# ---- other files ---------------------------------------------------------------------------------


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
        write_compressed(tmp_path / "v", replace(large, precision="float16"))
    assert not list(tmp_path.iterdir())
    assert (write_compressed(tmp_path / "v", large).book.mean == large.book.mean).all()


def test_if_writing_fails_only_the_old_file_remains(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write_compressed(tmp_path / "v", by_codes(10)).dense()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("yakusu.compress.container.hashlib.sha256", full)
    with pytest.raises(OSError, match="No space left"):
        write_compressed(tmp_path / "v", make())
    assert [path.name for path in tmp_path.iterdir()] == ["v"]
    assert (open_compressed(tmp_path / "v").dense() == old).all()


def test_opening_decodes_no_row_and_reading_a_word_decodes_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_compressed(tmp_path / "v", by_codes(5000))
    asked: list[int] = []
    whole = DigitCodes.row
    monkeypatch.setattr(DigitCodes, "row", lambda self, row: asked.append(row) or whole(self, row))
    read = open_compressed(tmp_path / "v")
    assert "ö4321" in read and not asked
    assert read["ö4321"].shape == (6,)
    assert asked == [4321]
