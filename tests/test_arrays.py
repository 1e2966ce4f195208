"""Files of tensors read as numpy arrays equal those read with torch."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from yakusu.arrays import ArraysOnDisk, Decoded
from yakusu.errors import ModelError
from yakusu.weights import from_int8, from_streams, save_tensors, to_int8, to_streams


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.safetensors"


def test_arrays_equal_the_tensors_that_were_written(path: Path) -> None:
    tensors = {
        "matrix": torch.randn(3, 5),
        "half": torch.randn(4).half(),
        "double": torch.randn(2, 1).double(),
        "bytes": torch.arange(6, dtype=torch.uint8).view(2, 3),
        "number": torch.tensor(7.0),
        "empty": torch.zeros(0, 4),
    }
    save_tensors(path, tensors)
    arrays = ArraysOnDisk(path)
    assert set(arrays) == set(tensors) and len(arrays) == len(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(arrays[name], tensor.numpy(), strict=True)


def test_bfloat16_becomes_float32(path: Path) -> None:
    tensors = {"a": torch.randn(3, 5), "b": torch.randn(2, 3, 4).bfloat16(), "c": torch.ones(3)}
    tensors["b"][0, 0, :3] = torch.tensor([torch.inf, -torch.inf, torch.nan])
    save_tensors(path, tensors)
    found = ArraysOnDisk(path)["b"]
    np.testing.assert_array_equal(found, tensors["b"].float().numpy(), strict=True)


def test_a_type_without_numpy_equivalent_is_named(path: Path) -> None:
    save_tensors(path, {"a": torch.ones(3).to(torch.float8_e4m3fn)})
    with pytest.raises(ModelError) as error:
        ArraysOnDisk(path)["a"]
    assert str(error.value) == f"{path}: 'a' has the type F8_E4M3: save it as F32, F16 or BF16"


def test_a_name_that_is_not_in_the_file_is_a_key_error(path: Path) -> None:
    save_tensors(path, {"a": torch.ones(3)})
    assert "b" not in ArraysOnDisk(path)
    assert "b" not in Decoded(ArraysOnDisk(path))


@pytest.mark.parametrize("content", [None, b"", b"no tensors here"])
def test_an_invalid_file_is_reported_by_name(path: Path, content: bytes | None) -> None:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=r"t\.safetensors is not a valid safetensors file"):
        ArraysOnDisk(path)


def test_int8_rows_and_integers_are_those_of_torch(path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    tensors = {
        "a.numbers": torch.randint(-127, 128, (90, 30), generator=generator).to(torch.int8),
        "b.numbers": torch.ones(9, 1, dtype=torch.int8),
        "w": torch.randn(40, 33, generator=generator),
        "bias": torch.randn(33, generator=generator),
    }
    stored = to_int8(to_streams(tensors))
    save_tensors(path, stored)
    arrays, expected = Decoded(ArraysOnDisk(path)), from_streams(from_int8(stored))
    assert set(arrays) == set(expected) == set(tensors) and len(arrays) == len(tensors)
    for name, tensor in expected.items():
        np.testing.assert_array_equal(arrays[name], tensor.numpy(), strict=True)


def test_a_corrupted_stream_is_named(path: Path) -> None:
    stored = to_streams({"a.numbers": torch.ones(9, 3, dtype=torch.int8)})
    for name, tensor in (
        ("a.numbers", stored["a.numbers"][:-3]),
        ("shape of a.numbers", torch.tensor([9, 4])),
        ("shape of a.numbers", torch.tensor([9])),
    ):
        save_tensors(path, stored | {name: tensor})
        with pytest.raises(ValueError, match=r"the stream 'a\.numbers' is corrupted"):
            Decoded(ArraysOnDisk(path))["a.numbers"]


def test_an_open_file_is_read_even_if_another_replaces_it(path: Path, tmp_path: Path) -> None:
    save_tensors(path, {"a": torch.ones(3)})
    arrays = ArraysOnDisk(path)
    save_tensors(tmp_path / "new", {"b": torch.zeros(5), "a": torch.zeros(3)})
    (tmp_path / "new").replace(path)
    np.testing.assert_array_equal(arrays["a"], np.ones(3, np.float32), strict=True)


def test_metadata_is_not_an_array(path: Path) -> None:
    save_file({"a": np.arange(3)}, path, metadata={"format": "np"})
    assert list(ArraysOnDisk(path)) == ["a"]
