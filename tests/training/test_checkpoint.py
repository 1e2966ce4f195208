"""Checkpoints: a resumed run equals an uninterrupted one, and the right checkpoints are kept."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from yakusu.errors import ModelError
from yakusu.folder import read_json, save_folder
from yakusu.training.checkpoint import checkpoints
from yakusu.training.state import read_state
from yakusu.training.trainer import Trainer
from yakusu.weights import load_tensors

MakeTrainer = Callable[..., Trainer]
INTERRUPTED = Path(__file__).parents[1] / "fixtures" / "format-1" / "interrupted" / "checkpoints"


def weights(trainer: Trainer) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in trainer.model.weights().items()}


def names(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("step-")) for path in checkpoints(folder)]


# ---- resuming ------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [3, 4, 5])  # the epoch has 4 steps: within, at and after its end
def test_resumed_run_equals_uninterrupted_run_bit_for_bit(
    make_trainer: MakeTrainer, tmp_path: Path, stop: int
) -> None:
    uninterrupted = make_trainer(folder=tmp_path / "uninterrupted", max_steps=9)
    uninterrupted.run()
    first = make_trainer(folder=tmp_path / "halves", max_steps=stop)
    assert not first.resume()
    first.run()
    torch.manual_seed(12345)  # must have no effect
    second = make_trainer(folder=tmp_path / "halves", max_steps=9, sizes={"seed": 7})
    assert second.resume()
    assert second.state.step == stop
    second.run()
    assert uninterrupted.state.epoch >= 1
    assert all(torch.equal(weights(second)[name], w) for name, w in weights(uninterrupted).items())
    for key in ("step", "epoch", "step_in_epoch", "epoch_share", "target_tokens"):
        assert getattr(second.state, key) == getattr(uninterrupted.state, key)


def test_optimizer_resumes_with_its_moments(make_trainer: MakeTrainer) -> None:
    first = make_trainer(max_steps=3)
    first.run()
    second = make_trainer(max_steps=3, sizes={"seed": 7})
    second.resume()
    ours, theirs = (t.optimizer.state_dict()["state"] for t in (second, first))
    assert ours.keys() == theirs.keys()
    for i in ours:
        assert all(torch.equal(ours[i][key], theirs[i][key]) for key in theirs[i])


@pytest.mark.parametrize("stored", [0, 77])
def test_the_size_of_batches_is_that_of_the_run(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch, stored: int
) -> None:
    """Runs of 0.1.0 did not store it: it was half a step by default."""
    make_trainer(max_steps=1).run()
    second = make_trainer(max_steps=1)
    restore, batches = second.checkpoints.restore, second.data.batches
    monkeypatch.setattr(
        second.checkpoints,
        "restore",
        lambda *given, **named: replace(restore(*given, **named), batch_tokens=stored),  # type: ignore[arg-type]
    )
    second.resume()
    assert second.state.batch_tokens == (stored or batches.batch_tokens_on("cpu", per_step=2))


def test_run_at_its_limit_changes_nothing(make_trainer: MakeTrainer) -> None:
    make_trainer(max_steps=3).run()
    again = make_trainer(max_steps=3)
    again.resume()
    before = weights(again)
    assert again.run() == "max_steps = 3"
    assert again.state.step == 3
    assert all(torch.equal(weights(again)[name], w) for name, w in before.items())


def test_corrupted_checkpoint_is_reported_and_not_resumed(
    make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    make_trainer(max_steps=2).run()
    path = tmp_path / "checkpoints" / "step-00000002" / "optimizer.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"step-00000002/optimizer\.safetensors is corrupt"):
        make_trainer(max_steps=2).resume()


# ---- which checkpoints are kept ------------------------------------------------------------------


def test_best_and_last_checkpoints_stay_on_disk(
    make_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([5.0, 9.0, 1.0, 1.0, 1.0, 1.0])
    on_disk: list[list[int]] = []
    trainer = make_trainer(max_steps=6, validate_steps=1, keep_last=2, bleu=lambda _: next(scores))
    save = trainer.checkpoints.save

    def save_and_look(*args: Any, **options: Any) -> bool:
        written = save(*args, **options)
        on_disk.append(names(tmp_path / "checkpoints"))
        return written

    monkeypatch.setattr(trainer.checkpoints, "save", save_and_look)
    trainer.run()
    assert on_disk == [[1], [1, 2], [2, 3], [2, 3, 4], [2, 4, 5], [2, 5, 6]]


def test_failed_save_of_a_new_best_keeps_the_older_checkpoints(
    make_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([5.0, 1.0, 9.0, 1.0])
    trainer = make_trainer(max_steps=4, validate_steps=1, keep_last=2, bleu=lambda _: next(scores))

    def full(folder: Path, fill: Callable[[Path], None]) -> None:
        if folder.name == "step-00000003":
            raise OSError("no space left")
        save_folder(folder, fill)

    monkeypatch.setattr("yakusu.training.checkpoint.save_folder", full)
    trainer.run()
    assert names(tmp_path / "checkpoints") == [1, 2, 4]
    assert (trainer.state.best_step, trainer.state.best_kept) == (3, 1)
    assert trainer.state.milestones == [2, 4]


def test_newer_checkpoints_replace_those_between_validations(
    make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    make_trainer(max_steps=7, validate_steps=3, checkpoint_steps=2, keep_last=5).run()
    assert names(tmp_path / "checkpoints") == [3, 6, 7]
    state = read_json(tmp_path / "checkpoints" / "step-00000007" / "state.json")
    assert state["milestones"] == [3, 6, 7]


def test_checkpoints_are_also_saved_by_time(
    make_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minutes = count(0, 60)  # each call of the clock is a minute later
    monkeypatch.setattr("yakusu.training.trainer.time.monotonic", lambda: float(next(minutes)))
    trainer = make_trainer(max_steps=3, checkpoint_minutes=1.5, keep_last=1)
    saved: list[int] = []
    save = trainer.checkpoints.save

    def watched(*args: Any, **options: Any) -> bool:
        saved.append(trainer.state.step)
        return save(*args, **options)

    trainer.checkpoints.save = watched  # type: ignore[method-assign]
    trainer.run()
    assert saved[0] < 3


def test_checkpoint_holds_the_weights_of_its_step(
    make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    trainer = make_trainer(max_steps=2)
    trainer.run()
    saved = load_tensors(tmp_path / "checkpoints" / "step-00000002" / "model.safetensors")
    assert saved.keys() == weights(trainer).keys()
    assert all(torch.equal(saved[name], w) for name, w in weights(trainer).items())


def test_checkpoints_are_sorted_by_step_beyond_eight_digits(tmp_path: Path) -> None:
    for step in (100_000_000, 20, 99_999_999, 3):
        (tmp_path / f"step-{step:08}").mkdir()
    (tmp_path / ".step-00000004-abc").mkdir()  # one that is being written
    names = [path.name for path in checkpoints(tmp_path)]
    assert names == ["step-00000003", "step-00000020", "step-99999999", "step-100000000"]


# ---- state.json ----------------------------------------------------------------------------------


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """A checkpoint of yakusu 0.1.0, whose state.json has no version."""
    return Path(shutil.copytree(INTERRUPTED / "step-00000090", tmp_path / "step-00000090"))


def rewrite(checkpoint: Path, **changes: Any) -> None:
    facts = read_json(checkpoint / "state.json")
    (checkpoint / "state.json").write_text(json.dumps({**facts, **changes}))


def test_state_without_a_version_is_read_as_version_1(interrupted: Path) -> None:
    state = read_state(interrupted)
    assert (state.version, state.step, state.milestones) == (1, 90, [60, 90])
    assert state.made_by.versions["yakusu"] == "0.1.0"
    assert state.made_by.hardware.threads == 1


def test_state_round_trips_and_keeps_the_keys_of_older_files(
    make_trainer: MakeTrainer, tmp_path: Path, interrupted: Path
) -> None:
    trainer = make_trainer(max_steps=2)
    trainer.run()
    checkpoint = tmp_path / "checkpoints" / "step-00000002"
    assert read_state(checkpoint) == trainer.state
    written, older = (read_json(path / "state.json") for path in (checkpoint, interrupted))
    assert list(written) == [
        *older,
        "batch_tokens",
        "pass_tokens",
        "engine",
        "environments",
        "version",
    ]
    for part in ("versions", "hardware"):
        assert written["made_by"][part].keys() == older["made_by"][part].keys()


def test_state_of_a_newer_version_is_an_error(interrupted: Path) -> None:
    rewrite(interrupted, version=2)
    with pytest.raises(
        ModelError, match=r"state\.json has version 2, but this version of yakusu reads 1: upd"
    ):
        read_state(interrupted)


def test_invalid_state_is_reported_with_its_key(interrupted: Path) -> None:
    rewrite(interrupted, step="many")
    with pytest.raises(ModelError, match=r"state\.json is not a valid training state: step: "):
        read_state(interrupted)
