"""The moving average of the weights equals its formula, is validated, saved and resumed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from yakusu.training.checkpoint import checkpoints
from yakusu.training.step import Step
from yakusu.training.trainer import Trainer
from yakusu.weights import load_tensors

MakeTrainer = Callable[..., Trainer]


def weights(trainer: Trainer) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in trainer.model.weights().items()}


def averaged(trainer: Trainer) -> dict[str, Tensor]:
    assert trainer.average
    return trainer.average.weights


def test_average_equals_the_formula(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_steps=4, ema_decay=0.3)
    seen = [weights(trainer)]
    update = trainer._update

    def watched(step: Step) -> None:
        update(step)
        seen.append(weights(trainer))

    trainer._update = watched  # type: ignore[method-assign]
    trainer.run()
    for name, tensor in averaged(trainer).items():
        expected = seen[0][name]
        for n, decay in enumerate((2 / 11, 3 / 12, 0.3, 0.3), start=1):
            expected = decay * expected + (1 - decay) * seen[n][name]
        torch.testing.assert_close(tensor, expected)


def test_average_does_not_change_training(make_trainer: MakeTrainer) -> None:
    found = []
    for decay in (0.0, 0.9):
        trainer = make_trainer(max_steps=6, validate_steps=2, ema_decay=decay)
        trainer.run()
        found.append(weights(trainer))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_validation_and_the_checkpoint_have_the_average(
    make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    validated: list[dict[str, Tensor]] = []

    def bleu(model: Any) -> float:
        validated.append({name: w.detach().clone() for name, w in model.weights().items()})
        return 0.0

    trainer = make_trainer(max_steps=3, ema_decay=0.9, bleu=bleu)
    trainer.run()
    saved = checkpoints(tmp_path / "checkpoints")[-1]
    stored = load_tensors(saved / "model.safetensors")
    trained = load_tensors(saved / "trained.safetensors")
    for name, tensor in averaged(trainer).items():
        assert torch.equal(validated[0][name], tensor)
        assert torch.equal(stored[name], tensor)
        assert torch.equal(trained[name], weights(trainer)[name])
    assert not all(torch.equal(stored[name], trained[name]) for name in stored)


@pytest.mark.parametrize("options", [{"ema_decay": 0.9}, {"r_drop": 5.0}], ids=str)
def test_resumed_run_has_the_same_bytes(
    make_trainer: MakeTrainer, tmp_path: Path, options: dict[str, float]
) -> None:
    straight = make_trainer(folder=tmp_path / "straight", max_steps=6, **options)
    straight.run()
    make_trainer(folder=tmp_path / "resumed", max_steps=3, **options).run()
    resumed = make_trainer(folder=tmp_path / "resumed", max_steps=6, **options)
    assert resumed.resume()
    resumed.run()
    for path in checkpoints(tmp_path / "straight")[-1].glob("*.safetensors"):
        (other,) = (tmp_path / "resumed" / "step-00000006").glob(path.name)
        assert path.read_bytes() == other.read_bytes()
