"""Weights in 8 bits: nothing is further off than half a step of its row."""

import torch

from yakusu.weights import from_int8, to_int8


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
