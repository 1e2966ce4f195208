"""Tensors round-trip, averages do not depend on the order, and checkpoints are sorted by step."""

import random
from itertools import permutations
from pathlib import Path

import pytest
import torch

from yakusu.errors import ModelError
from yakusu.folder import sha256
from yakusu.training.checkpoint import checkpoints
from yakusu.weights import average_tensors, load_tensors, save_tensors


def test_tensors_round_trip_bit_for_bit_whatever_their_layout(tmp_path: Path) -> None:
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
def test_a_file_that_holds_no_tensors_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.safetensors is no whole safetensors file"):
        load_tensors(path)


def test_the_average_is_the_mean_by_hand() -> None:
    members = [{"w": torch.tensor([1.0, -2.0])}, {"w": torch.tensor([2.0, 5.0])}]
    assert average_tensors(members)["w"].tolist() == [1.5, 1.5]


def test_the_average_is_summed_in_float64() -> None:
    # In float32 each 1 would be lost beside 2^25.
    members = [
        {"w": torch.tensor([x])} for x in (2.0**25, 1.0, 1.0, 1.0, 1.0, -(2.0**25), 2.0, 2.0)
    ]
    average = average_tensors(members)["w"]
    assert average.dtype == torch.float32
    assert average.item() == 1.0


def test_the_average_of_one_is_itself() -> None:
    member = {"w": torch.randn(50), "b": torch.randn(3).bfloat16()}
    average = average_tensors([member])
    assert all(torch.equal(average[name], member[name]) for name in member)
    assert average["b"].dtype == torch.bfloat16


def test_the_average_has_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    torch.manual_seed(0)
    members = [{"w": torch.randn(64, 64), "b": torch.randn(64) * 1e-4} for _ in range(5)]
    shuffler, hashes = random.Random(0), set()
    for _ in range(20):
        shuffler.shuffle(members)
        save_tensors(tmp_path / "average.safetensors", average_tensors(members))
        hashes.add(sha256(tmp_path / "average.safetensors"))
    assert len(hashes) == 1


def test_the_average_has_the_same_bytes_in_any_order_of_far_apart_magnitudes() -> None:
    members = [{"w": torch.tensor([x])} for x in (1.0, 2.0**-60, -1.0)]
    averages = {average_tensors(order)["w"].item() for order in permutations(members)}
    assert len(averages) == 1


def test_checkpoints_of_different_models_are_refused() -> None:
    one = {"w": torch.zeros(3)}
    for other in ({"w": torch.zeros(4)}, {"v": torch.zeros(3)}, {**one, "v": torch.zeros(3)}):
        with pytest.raises(ModelError, match="different models"):
            average_tensors([one, other])


def test_checkpoints_come_oldest_first_even_past_eight_digits(tmp_path: Path) -> None:
    for step in (100_000_000, 20, 99_999_999, 3):
        (tmp_path / f"step-{step:08}").mkdir()
    (tmp_path / ".step-00000004-abc").mkdir()  # one that is being written
    names = [path.name for path in checkpoints(tmp_path)]
    assert names == ["step-00000003", "step-00000020", "step-99999999", "step-100000000"]
