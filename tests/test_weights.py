"""Tensors on disk: round trips, permissions, averages, int8 rows."""

import os
from pathlib import Path

import pytest
import torch

from yakusu.weights import from_int8, save_tensors, to_int8


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


def test_no_number_is_off_by_more_than_half_a_step_of_its_row() -> None:
    rng = torch.Generator().manual_seed(0)
    matrix = torch.randn(40, 33, generator=rng) * torch.logspace(-20, 20, 40)[:, None]
    back = from_int8(to_int8({"w": matrix}))["w"]
    step = matrix.abs().amax(dim=1, keepdim=True) / 127
    assert ((back - matrix).abs() <= 0.50001 * step).all()
    assert back.dtype == torch.float32


def test_the_largest_of_a_row_is_127_whatever_its_sign() -> None:
    small = to_int8({"w": torch.tensor([[-4.0, 1.0], [0.5, 0.25]])})
    assert small["w"].dtype == torch.int8
    assert small["w"].tolist() == [[-127, 32], [127, 64]]  # 31.75 and 63.5, to the even one


def test_zeros_stay_zeros() -> None:
    assert from_int8(to_int8({"w": torch.zeros(2, 3)}))["w"].tolist() == [[0] * 3] * 2


def test_all_but_matrices_of_floats_stay_as_they_are() -> None:
    weights = {
        "bias": torch.randn(5),
        "kernel": torch.randn(2, 3, 4),
        "packed": torch.ones(4, 2, dtype=torch.uint8),
    }
    small = to_int8(weights)
    assert small.keys() == weights.keys()
    assert all(small[name] is tensor for name, tensor in weights.items())
    assert from_int8(small).keys() == weights.keys()


def test_once_rounded_it_stays_so() -> None:
    weights = {"w": torch.randn(7, 9, generator=torch.Generator().manual_seed(1))}
    once = to_int8(weights)
    assert torch.equal(to_int8(from_int8(once))["w"], once["w"])
