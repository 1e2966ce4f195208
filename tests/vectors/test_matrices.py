"""Matrices in files: rows equal those of the array that was saved, in little memory."""

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet
import pytest
from safetensors.numpy import save_file

from yakusu.compress.blocks import blocks
from yakusu.compress.compressor import LatticeCompressor
from yakusu.compress.entropy import EntropyCodes
from yakusu.compress.lattice import ONE_TIER
from yakusu.compress.rounding import RoundedVectors
from yakusu.errors import DataError
from yakusu.vectors.formats import read_vectors
from yakusu.vectors.matrices import open_matrix
from yakusu.vectors.parquet import ParquetMatrix

Array = npt.NDArray[np.floating]
V, H = 20_003, 6  # more than two blocks
MATRIX = np.random.default_rng(2).standard_normal((V, H))


def parquet(path: Path, matrix: Array, kind: str = "float32", group: int = 7_000) -> None:
    """Write a column of lists beside a column of strings."""
    lists = pyarrow.array(list(matrix.astype(kind)), pyarrow.list_(pyarrow.from_numpy_dtype(kind)))
    table = pyarrow.table({"word": [str(i) for i in range(len(matrix))], "vector": lists})
    pyarrow.parquet.write_table(table, path, row_group_size=group)


def fixed_size(path: Path, matrix: Array) -> None:
    flat = pyarrow.array(matrix.astype(np.float32).ravel())
    column = pyarrow.FixedSizeListArray.from_arrays(flat, matrix.shape[1])
    pyarrow.parquet.write_table(pyarrow.table({"v": column}), path, row_group_size=len(matrix))


def newest_version(path: Path, matrix: Array) -> None:
    with path.open("wb") as file:
        np.lib.format.write_array(file, matrix, version=(3, 0))


def tensors(path: Path, **named: tuple[str, list[int], bytes]) -> None:
    """Write a safetensors file of types that numpy lacks: name=(type, shape, bytes)."""
    header, end = {}, 0
    for name, (kind, shape, data) in named.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    parts = (len(text).to_bytes(8, "little"), text, *(data for _, _, data in named.values()))
    path.write_bytes(b"".join(parts))


@pytest.mark.parametrize(
    ("save", "kind"),
    [
        *(
            (lambda path, m, k=kind: np.save(path, m.astype(k)), kind)
            for kind in ("f2", "f4", "f8")
        ),
        (lambda path, m: np.save(path, m.astype(">f4")), "f4"),
        (lambda path, m: np.save(path, np.asfortranarray(m.astype(">f2"))), "f2"),
        (newest_version, "f8"),
        *(
            (lambda path, m, k=kind: save_file({"x": m.astype(k)}, path), kind)
            for kind in ("f2", "f4", "f8")
        ),
        *((lambda path, m, k=k: parquet(path, m, k), k) for k in ("float16", "float32", "float64")),
        (lambda path, m: parquet(path, m, group=V), "f4"),
        (lambda path, m: parquet(path, m, group=1_000), "f4"),
        (fixed_size, "f4"),
    ],
)
def test_rows_equal_those_of_the_array(
    tmp_path: Path, save: Callable[[Path, Array], None], kind: str
) -> None:
    path, array = tmp_path / "m.npy", MATRIX.astype(kind)
    save(path, MATRIX)
    matrix = open_matrix(path)
    assert (matrix.shape, matrix.ndim, matrix.dtype, len(matrix)) == ((V, H), 2, array.dtype, V)
    for rows in blocks(V):
        np.testing.assert_array_equal(matrix[rows], array[rows], strict=True)
    some = np.array([V - 1, 3, 4, 4, -2, 15_000, 7_000, 0])
    for chosen in (
        *(slice(19_000, 19_002), slice(3, 5), slice(6_999, 7_001), slice(-2, None), slice(5, 5)),
        *(slice(9, 3), slice(None, None, 997), slice(None, None, -5_000)),
        *(some, np.sort(some), np.array([5]), np.array([], dtype=np.int64)),
    ):
        np.testing.assert_array_equal(matrix[chosen], array[chosen], strict=True)


def test_bfloat16_is_read_as_float32(tmp_path: Path) -> None:
    floats = MATRIX[:50].astype(np.float32).view(np.uint32) & 0xFFFF0000
    upper = (floats >> 16).astype("<u2")
    tensors(tmp_path / "m", a=("F32", [2], bytes(8)), b=("BF16", [50, H], upper.tobytes()))
    matrix = open_matrix(tmp_path / "m")
    np.testing.assert_array_equal(matrix[0:50], floats.view(np.float32), strict=True)
    chosen = np.array([49, 7])
    np.testing.assert_array_equal(matrix[chosen], floats.view(np.float32)[chosen], strict=True)


def test_a_tensor_or_a_column_is_chosen_by_its_name(tmp_path: Path) -> None:
    one, other = MATRIX[:3], MATRIX[3:5]
    save_file({"a": one, "b": other}, tmp_path / "s")
    lists = {name: pyarrow.array(list(m)) for name, m in (("a", one), ("b", one + 1))}
    pyarrow.parquet.write_table(pyarrow.table(lists), tmp_path / "p")
    np.testing.assert_array_equal(open_matrix(tmp_path / "s", name="b")[0:2], other)
    np.testing.assert_array_equal(open_matrix(tmp_path / "p", name="b")[0:3], one + 1)


@pytest.mark.parametrize("save", [np.save, lambda path, m: parquet(path, m, "float64")])
def test_a_matrix_with_a_list_of_words_is_read_as_word_vectors(
    tmp_path: Path, save: Callable[[Path, Array], None]
) -> None:
    save(tmp_path / "m.npy", MATRIX)
    (tmp_path / "words").write_text("".join(f"w{i}\n" for i in range(V)))
    read = read_vectors(tmp_path / "m.npy", words=tmp_path / "words")
    np.testing.assert_array_equal(read.vectors, MATRIX.astype(np.float32), strict=True)
    assert read.words[V - 1] == f"w{V - 1}"


READ_ALL = """
import sys
from pathlib import Path
from yakusu.compress.blocks import blocks
from yakusu.vectors.matrices import open_matrix

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024

matrix = open_matrix(sys.argv[1])
matrix[0:1]
before = peak()
total = sum(len(matrix[rows]) for rows in blocks(len(matrix)))
print(total, peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_a_file_is_read_in_less_memory_than_its_size(tmp_path: Path, kind: str) -> None:
    path, n_rows, width = tmp_path / "m", 400_000, 256
    if kind == "npy":  # 200 MB
        np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=(n_rows, width))
    else:  # 100 MB in one row group
        flat = pyarrow.array(np.zeros(n_rows // 4 * width, np.float32))
        column = pyarrow.FixedSizeListArray.from_arrays(flat, width)
        options = {"compression": "none", "use_dictionary": False}
        pyarrow.parquet.write_table(pyarrow.table({"v": column}), path, **options)
    command = [sys.executable, "-c", READ_ALL, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    total, grown = map(int, done.stdout.split())
    assert total == n_rows // (1 if kind == "npy" else 4)
    assert grown < path.stat().st_size / 2


def test_compressing_decodes_each_row_of_a_parquet_file_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading backwards decodes a row group from its beginning."""
    monkeypatch.setattr("yakusu.compress.entropy._SEGMENT", 2**13)
    original, decoded = ParquetMatrix._matrix, []

    def counted(self: ParquetMatrix, lists: Any, begin: int) -> Array:
        decoded.append(len(lists))
        return original(self, lists, begin)

    parquet(tmp_path / "m", MATRIX, group=V)
    matrix = open_matrix(tmp_path / "m")
    fitted = LatticeCompressor(0.1).fit(MATRIX[:3000].astype(np.float32))
    every = RoundedVectors(matrix, fitted.projection_, 0.1, ONE_TIER)
    monkeypatch.setattr(ParquetMatrix, "_matrix", counted)
    EntropyCodes.of(every, ONE_TIER)
    assert V <= sum(decoded) <= 2 * V


# --- refusals ------------------------------------------------------------------------------


def refusal(path: Path, name: str | None = None) -> str:
    """The message of the error when a file is opened and read, without the folder."""
    with pytest.raises(DataError) as caught:
        open_matrix(path, name=name)[0:V]
    message = str(caught.value).replace(f"{path.parent}/", "")
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(3), "m.npy has an array of shape (3,) and type float64: save a matrix (V, H) of"),
        (np.ones((2, 2, 2)), "m.npy has an array of shape (2, 2, 2) and type float64: save a"),
        (np.ones((0, 3)), "m.npy has no rows: choose a file with vectors"),
        (np.ones((3, 0)), "m.npy has an array of shape (3, 0) and type float64: save a matrix"),
        (np.ones((2, 2), int), "m.npy has an array of shape (2, 2) and type int64: save a matrix"),
        (np.ones((2, 2), complex), "m.npy has an array of shape (2, 2) and type complex128: save"),
        (np.array([["a"]]), "m.npy has an array of shape (1, 1) and type <U1: save a matrix"),
        (np.array([[{}]]), "m.npy cannot be opened (Array can't be memory-mapped: Python objects"),
    ],
)
def test_an_array_that_is_no_matrix_of_floats_is_refused(
    tmp_path: Path, array: npt.NDArray[np.generic], message: str
) -> None:
    np.save(tmp_path / "m.npy", array)
    assert refusal(tmp_path / "m.npy").startswith(message)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("save", [np.save, parquet])
def test_a_value_that_is_not_finite_is_named(
    tmp_path: Path, save: Callable[[Path, Array], None], value: float
) -> None:
    array = MATRIX.copy()
    array[19_000, 4] = value
    save(tmp_path / "m.npy", array)
    expected = f"m.npy, row 19000, column 4: {value} is not a finite number: correct or remove"
    assert refusal(tmp_path / "m.npy").startswith(expected)
    matrix = open_matrix(tmp_path / "m.npy")
    assert len(matrix[18_000:19_000]) == 1_000 and len(matrix[np.array([0, 19_001])]) == 2
    for rows in (np.array([19_001, 19_000]), slice(None, None, 1_000)):
        with pytest.raises(DataError, match="row 19000, column 4"):
            matrix[rows]


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m"
    assert refusal(tmp_path / "none").startswith("none cannot be read: No such file or directory")
    assert "is not a regular file" in refusal(tmp_path)
    for data, message in (
        (b"", "m is empty: choose a file with vectors"),
        (b"a 1 2\n", "m is not a .npy, .safetensors or Parquet file: save the matrix as .npy"),
        (b"PAR1 and more", "m is not a valid Parquet file ("),
        (b"\x93NUMPY\x07\x00", "m cannot be opened ("),
        (
            b"\x93NUMPY\x01\x00" + struct.pack("<H", 60_000) + b" " * 60_000,
            "m cannot be opened (Header info length (60000) is large and may not be safe to load "
            "securely): save it again, without Python objects",
        ),
        (b"\x08" + bytes(7) + b"{not it}", "m cannot be opened ("),
    ):
        path.write_bytes(data)
        assert refusal(path).startswith(message)


def test_names_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", MATRIX)
    save_file({"a": MATRIX, "b": MATRIX}, tmp_path / "s")
    table = pyarrow.table({"a": [[1.0]], "b": [[2.0]], "c": [[3]], "d": [4.0]})
    pyarrow.parquet.write_table(table, tmp_path / "p")
    pyarrow.parquet.write_table(table.select(["c", "d"]), tmp_path / "q")
    assert refusal(tmp_path / "m.npy", "x").endswith("without a name: leave out the name 'x'")
    assert refusal(tmp_path / "s", "x") == "s has no tensor 'x' (but 'a', 'b'): choose one"
    assert refusal(tmp_path / "s").startswith("s has 2 matrices (a, b), none of them named")
    expected = "p has no column 'c' of lists of floats (but 'a', 'b'): choose one"
    assert refusal(tmp_path / "p", "c") == expected
    assert refusal(tmp_path / "p").startswith("p has 2 columns of lists of float16, float32 or f")
    assert refusal(tmp_path / "q") == (
        "q has no column of lists of float16, float32 or float64: save a file with one such column"
    )


def test_tensors_of_other_types_are_refused(tmp_path: Path) -> None:
    tensors(tmp_path / "m", a=("I64", [2, 1], bytes(16)))
    assert refusal(tmp_path / "m") == "m: 'a' has type I64: save it as F16, BF16, F32 or F64"
    tensors(tmp_path / "m", a=("BF16", [2], bytes(4)))
    assert refusal(tmp_path / "m", "a").startswith("m has an array of shape (2,) and type float32")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (None, "m, row 2: the list of 'v' is null: correct or remove the row"),
        ([1.0], "m, row 2: the list of 'v' does not have 2 numbers like the first: correct or"),
        ([1.0, None], "m, row 2, column 1: the number is null: correct or remove the row"),
    ],
)
@pytest.mark.parametrize("group", [1, 10])
def test_lists_that_are_no_matrix_are_refused(
    tmp_path: Path, row: list[float | None] | None, message: str, group: int
) -> None:
    table = pyarrow.table({"v": [[1.0, 2.0], [3.0, 4.0], row]})
    pyarrow.parquet.write_table(table, tmp_path / "m", row_group_size=group)
    assert refusal(tmp_path / "m").startswith(message)


def test_a_parquet_file_without_rows_is_refused(tmp_path: Path) -> None:
    table = pyarrow.table({"v": pyarrow.array([], pyarrow.list_(pyarrow.float32()))})
    pyarrow.parquet.write_table(table, tmp_path / "m")
    assert refusal(tmp_path / "m") == "m has no rows: choose a file with vectors"


def test_a_parquet_file_says_that_it_needs_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet(tmp_path / "m", MATRIX[:2])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(tmp_path / "m") == "m needs pyarrow: install it with 'pip install pyarrow'"


def test_a_file_that_becomes_shorter_is_an_error(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", MATRIX)
    matrix = open_matrix(tmp_path / "m.npy")
    with (tmp_path / "m.npy").open("r+b") as file:
        file.truncate(1_000)
    with pytest.raises(DataError, match=r"m\.npy is truncated: copy the file again"):
        matrix[9_000:9_001]


@pytest.mark.parametrize("rows", [[V], [-V - 1], [0.5], [[1]], [True]])
def test_indices_that_are_no_rows_are_refused(tmp_path: Path, rows: list[float]) -> None:
    np.save(tmp_path / "m.npy", MATRIX)
    with pytest.raises(IndexError):
        open_matrix(tmp_path / "m.npy")[np.array(rows)]
