"""Tensors on disk: round trips, permissions, averages, int8 rows."""

import os
import random
from itertools import permutations
from pathlib import Path

import pytest
import torch

from yakusu.errors import ModelError
from yakusu.folder import sha256
from yakusu.weights import average_tensors, from_int8, load_tensors, save_tensors, to_int8

# ---- safetensors ---------------------------------------------------------------------------------


def test_tensors_of_any_layout_round_trip_bit_for_bit(tmp_path: Path) -> None:
    tensors = {
        "transposed": torch.randn(3, 5).T,
        "parameter": torch.nn.Parameter(torch.randn(4)),
        "half": torch.randn(6).bfloat16(),
        "number": torch.tensor(7.0),
    }
    save_tensors(tmp_path / "t.safetensors", tensors)
    loaded = load_tensors(tmp_path / "t.safetensors")
    assert loaded.keys() == tensors.keys()
    assert all(torch.equal(loaded[name], tensors[name]) for name in tensors)
    assert all(loaded[name].dtype == tensors[name].dtype for name in tensors)


@pytest.mark.parametrize("content", [None, b"", b"no tensors here"])
def test_invalid_safetensors_file_is_reported_by_name(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "model.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.safetensors is not a valid safetensors file"):
        load_tensors(path)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_permissions_of_a_safetensors_file_follow_the_umask(
    tmp_path: Path, umask: int, mode: int
) -> None:
    path, before = tmp_path / "model.safetensors", os.umask(umask)
    try:
        save_tensors(path, {"w": torch.zeros(3)})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode


# ---- averages ------------------------------------------------------------------------------------


def test_average_equals_the_mean_by_hand() -> None:
    members = [{"w": torch.tensor([1.0, -2.0])}, {"w": torch.tensor([2.0, 5.0])}]
    assert average_tensors(members)["w"].tolist() == [1.5, 1.5]


def test_average_is_summed_in_float64() -> None:
    # In float32, 2^25 + 1 is rounded to 2^25.
    members = [
        {"w": torch.tensor([x])} for x in (2.0**25, 1.0, 1.0, 1.0, 1.0, -(2.0**25), 2.0, 2.0)
    ]
    average = average_tensors(members)["w"]
    assert average.dtype == torch.float32
    assert average.item() == 1.0


def test_average_of_one_checkpoint_equals_it() -> None:
    member = {"w": torch.randn(50), "b": torch.randn(3).bfloat16()}
    average = average_tensors([member])
    assert all(torch.equal(average[name], member[name]) for name in member)
    assert average["b"].dtype == torch.bfloat16


def test_average_has_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    torch.manual_seed(0)
    members = [{"w": torch.randn(64, 64), "b": torch.randn(64) * 1e-4} for _ in range(5)]
    shuffler, hashes = random.Random(0), set()
    for _ in range(20):
        shuffler.shuffle(members)
        save_tensors(tmp_path / "average.safetensors", average_tensors(members))
        hashes.add(sha256(tmp_path / "average.safetensors"))
    assert len(hashes) == 1


def test_average_of_very_different_magnitudes_is_order_independent() -> None:
    members = [{"w": torch.tensor([x])} for x in (1.0, 2.0**-60, -1.0)]
    averages = {average_tensors(order)["w"].item() for order in permutations(members)}
    assert len(averages) == 1


def test_average_of_different_models_is_an_error() -> None:
    one = {"w": torch.zeros(3)}
    for other in ({"w": torch.zeros(4)}, {"v": torch.zeros(3)}, {**one, "v": torch.zeros(3)}):
        with pytest.raises(ModelError, match="different models"):
            average_tensors([one, other])


# ---- int8 ----------------------------------------------------------------------------------------


def test_int8_error_is_at_most_half_a_step_of_the_row() -> None:
    rng = torch.Generator().manual_seed(0)
    matrix = torch.randn(40, 33, generator=rng) * torch.logspace(-20, 20, 40)[:, None]
    back = from_int8(to_int8({"w": matrix}))["w"]
    step = matrix.abs().amax(dim=1, keepdim=True) / 127
    assert ((back - matrix).abs() <= 0.50001 * step).all()
    assert back.dtype == torch.float32


def test_largest_value_of_a_row_becomes_127_or_minus_127() -> None:
    small = to_int8({"w": torch.tensor([[-4.0, 1.0], [0.5, 0.25]])})
    assert small["w"].dtype == torch.int8
    assert small["w"].tolist() == [[-127, 32], [127, 64]]  # 31.75 and 63.5, to the even one


def test_zeros_stay_zeros_in_int8() -> None:
    assert from_int8(to_int8({"w": torch.zeros(2, 3)}))["w"].tolist() == [[0] * 3] * 2


def test_only_matrices_of_floats_become_int8() -> None:
    weights = {
        "bias": torch.randn(5),
        "kernel": torch.randn(2, 3, 4),
        "packed": torch.ones(4, 2, dtype=torch.uint8),
    }
    small = to_int8(weights)
    assert small.keys() == weights.keys()
    assert all(small[name] is tensor for name, tensor in weights.items())
    assert from_int8(small).keys() == weights.keys()


def test_rounding_to_int8_twice_equals_rounding_once() -> None:
    weights = {"w": torch.randn(7, 9, generator=torch.Generator().manual_seed(1))}
    once = to_int8(weights)
    assert torch.equal(to_int8(from_int8(once))["w"], once["w"])
