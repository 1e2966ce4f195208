"""Folders are whole or absent, damage is named, and averages depend on no order."""

import json
import random
from itertools import permutations
from pathlib import Path

import pytest
import torch

from yakusu.errors import ModelError
from yakusu.folder import FORMAT, save_folder, sha256, verify_folder
from yakusu.training.checkpoint import checkpoints
from yakusu.weights import average_tensors, load_tensors, save_tensors


def fill(folder: Path) -> None:
    save_tensors(folder / "model.safetensors", {"w": torch.arange(100.0)})
    (folder / "config.json").write_text("{}")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_folder(tmp_path / "model", fill)
    return tmp_path / "model"


def test_a_manifest_lists_every_file_with_size_and_hash(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["format"] == FORMAT
    assert manifest["files"] == {
        name: {"size": (saved / name).stat().st_size, "sha256": sha256(saved / name)}
        for name in ("config.json", "model.safetensors")
    }
    # echo -n '{}' | sha256sum
    assert manifest["files"]["config.json"]["sha256"].startswith("44136fa355b3678a1146ad16f7e8649e")


def test_a_saved_folder_passes_and_leaves_nothing_beside_it(saved: Path) -> None:
    verify_folder(saved)
    assert [path.name for path in saved.parent.iterdir()] == ["model"]
    assert saved.stat().st_mode & 0o777 == 0o755


def test_missing_parents_are_made(tmp_path: Path) -> None:
    save_folder(tmp_path / "a" / "b" / "model", fill)
    verify_folder(tmp_path / "a" / "b" / "model")


def test_a_fill_that_fails_leaves_no_folder_and_no_litter(tmp_path: Path) -> None:
    def half(folder: Path) -> None:
        fill(folder)
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        save_folder(tmp_path / "model", half)
    assert list(tmp_path.iterdir()) == []


def test_a_fill_that_is_interrupted_leaves_the_old_folder_as_it_was(saved: Path) -> None:
    before = {path.name: path.read_bytes() for path in saved.iterdir()}

    def interrupted(folder: Path) -> None:
        (folder / "config.json").write_text("new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_folder(saved, interrupted)
    verify_folder(saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_a_new_folder_replaces_an_old_one_as_a_whole(saved: Path) -> None:
    save_folder(saved, lambda folder: (folder / "other.json").write_text("{}") and None)
    verify_folder(saved)
    assert sorted(path.name for path in saved.iterdir()) == ["manifest.json", "other.json"]
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("position", [0, 8, 200, -1])
def test_a_flipped_byte_is_found_and_its_file_named(saved: Path, position: int) -> None:
    path = saved / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"model\.safetensors is corrupt"):
        verify_folder(saved)


def test_a_file_cut_short_is_named_with_both_sizes(saved: Path) -> None:
    path = saved / "model.safetensors"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(ModelError, match=rf"safetensors is corrupt \({size - 7} bytes, {size} "):
        verify_folder(saved)


def test_a_missing_file_is_named(saved: Path) -> None:
    (saved / "config.json").unlink()
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        verify_folder(saved)


@pytest.mark.parametrize(
    "manifest", [None, "", "{", "[]", "{}", '{"format": 1}', '{"format": 1, "files": 7}']
)
def test_a_folder_without_a_whole_manifest_is_refused(saved: Path, manifest: str | None) -> None:
    if manifest is None:
        (saved / "manifest.json").unlink()
    else:
        (saved / "manifest.json").write_text(manifest)
    with pytest.raises(ModelError, match=r"has no whole manifest\.json"):
        verify_folder(saved)


@pytest.mark.parametrize("facts", ["7", "{}", "null"])
def test_a_manifest_that_says_nothing_of_a_file_is_refused(saved: Path, facts: str) -> None:
    text = f'{{"format": {FORMAT}, "files": {{"config.json": {facts}}}}}'
    (saved / "manifest.json").write_text(text)
    with pytest.raises(ModelError, match=r"manifest\.json"):
        verify_folder(saved)


def test_a_newer_format_is_refused_with_both_versions(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps({**manifest, "format": FORMAT + 1}))
    with pytest.raises(ModelError, match=rf"has format {FORMAT + 1}, this yakusu reads {FORMAT}"):
        verify_folder(saved)


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a model folder: check the path"):
        verify_folder(tmp_path / "nowhere")


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
    with pytest.raises(ModelError, match=r"model\.safetensors is not a valid safetensors file"):
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
