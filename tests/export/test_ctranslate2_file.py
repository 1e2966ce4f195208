"""model.bin is read without believing any size in it."""

import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import examples
from tests.export.ctranslate2_models import (
    model_bin,
    opennmt_vocabulary,
    random_variables,
    write_model,
)
from yakusu.errors import ModelError
from yakusu.export.ctranslate2.file import Variables
from yakusu.export.importing import read_foreign

MEGABYTE = 2**20


def _read(tmp_path: Path, data: bytes) -> Variables:
    (tmp_path / "model.bin").write_bytes(data)
    return Variables(tmp_path / "model.bin")


def _error(tmp_path: Path, data: bytes) -> str:
    with pytest.raises(ModelError) as error:
        _read(tmp_path, data)
    return str(error.value)


@pytest.mark.parametrize("version", range(2, 7))
def test_all_versions_give_the_same_variables(tmp_path: Path, version: int) -> None:
    rows = np.array([[1.5, -2], [3, 4]], np.float32)
    found = _read(tmp_path, model_bin({"a/weight": rows, "n": np.int16(7)}, version=version))
    assert found.specification == "TransformerSpec" and found.revision == 7
    assert np.array_equal(found["a/weight"], rows) and found.number("n", 0) == 7


def test_integers_are_divided_by_the_scale_of_their_row(tmp_path: Path) -> None:
    variables = {
        "a/weight": np.array([[127, -64], [0, 2]], np.int8),
        "a/weight_scale": np.array([254, 0.5], np.float32),
        "b/weight": np.array([[100, -3]], np.int16),
        "b/weight_scale": np.float32(10),
        "c/weight": np.array([[2000]], np.int16),
    }
    found = _read(tmp_path, model_bin(variables, {"d/weight": "a/weight"}))
    expected = np.array([[0.5, -64 / 254], [0, 4]], np.float32)
    assert np.allclose(found["a/weight"], expected) and np.allclose(found["d/weight"], expected)
    assert np.allclose(found["b/weight"], [[10, -0.3]])
    assert np.allclose(found["c/weight"], [[2]])


def test_a_file_that_is_cut_off_anywhere_is_an_error(tmp_path: Path) -> None:
    data = model_bin({"a/weight": np.ones((2, 3), np.float32)}, {"b": "a/weight"})
    for size in range(len(data)):
        assert "is not a valid model of CTranslate2: it ends too early" in _error(
            tmp_path, data[:size]
        )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (model_bin({}, version=7), "version 7 instead of 2 to 6"),
        (model_bin({}, {"b": "a"}), "'b' cannot be another name of 'a'"),
        (model_bin({"a" * 9: np.float32(1)}).replace(b"\0\0\0\x04", b"\0\0\0\x09"), "bytes"),
    ],
)
def test_an_inconsistent_header_is_an_error(tmp_path: Path, data: bytes, message: str) -> None:
    assert message in _error(tmp_path, data)


def test_a_tensor_that_is_larger_than_the_file_is_an_error(tmp_path: Path) -> None:
    data = model_bin({"a": np.ones(3, np.float32)})
    huge = data.replace(b"\x01\x03\0\0\0\0\x0c\0\0\0", b"\x01\xff\xff\xff\x3f\0\xfc\xff\xff\xff")
    assert huge != data
    assert "it ends too early" in _error(tmp_path, huge)


def test_names_that_repeat_a_tensor_many_times_are_an_error(tmp_path: Path) -> None:
    aliases = {f"b{i}": "a" for i in range(100)}
    data = model_bin({"a": np.ones((50, 50), np.float32)}, aliases)
    assert "too many names for the same tensors" in _error(tmp_path, data)


@pytest.mark.parametrize("scale", [0, -1, np.nan, np.inf])
def test_a_scale_that_is_not_positive_is_an_error(tmp_path: Path, scale: float) -> None:
    variables = {"a": np.ones((1, 2), np.int8), "a_scale": np.array([scale], np.float32)}
    found = _read(tmp_path, model_bin(variables))
    with pytest.raises(ModelError, match="'a_scale' has a number that is not positive"):
        found["a"]


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.bin cannot be read"):
        Variables(tmp_path / "model.bin")


# ---- any bytes -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a valid model."""
    return write_model(tmp_path_factory.mktemp("fuzz") / "model")


_VALID = model_bin(random_variables(len(opennmt_vocabulary()), pre_norm=True))
_HEADERS = 4000  # bytes in which most headers begin


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_any_change_of_a_file_gives_an_error_or_a_model_in_bounded_memory(
    folder: Path, data: Any
) -> None:
    changed = bytearray(_VALID)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, _HEADERS))
        new = data.draw(st.binary(min_size=1, max_size=8))
        changed[place : place + len(new)] = new
    _check(folder, bytes(changed[: data.draw(st.sampled_from([None, 300, 5000]))]))


@settings(max_examples=examples(100), deadline=None)
@given(data=st.binary(max_size=400))
def test_any_bytes_give_an_error_in_bounded_memory(folder: Path, data: bytes) -> None:
    _check(folder, b"\x06\0\0\0\x10\0TransformerSpec\0\x07\0\0\0" + data)


def _check(folder: Path, data: bytes) -> None:
    (folder / "model.bin").write_bytes(data)
    tracemalloc.start()
    try:
        with suppress(ModelError):
            read_foreign(folder)
        assert tracemalloc.get_traced_memory()[1] < 16 * MEGABYTE
    finally:
        tracemalloc.stop()
