"""The training loop: learning, limits, validation, skipped steps, signals."""

import json
import math
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from yakusu.data.batches import pad
from yakusu.errors import RunError, SignalError
from yakusu.model.base import models
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.training.checkpoint import checkpoints
from yakusu.training.loss import Loss
from yakusu.training.state import read_state, seed_step
from yakusu.training.step import ModelLoss, Step, dev_perplexity
from yakusu.training.trainer import Trainer
from yakusu.weights import load_tensors

GOLDEN = Path(__file__).parents[1] / "golden" / "tiny_losses.json"
MakeTrainer = Callable[..., Trainer]


def weights(trainer: Trainer) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in trainer.model.weights().items()}


# ---- learning ------------------------------------------------------------------------------------


def test_model_learns_to_copy_unseen_sequences(copy_task: Any) -> None:
    src = pad(copy_task.unseen, copy_task.model.src_pad)
    greedy = SearchConfig(beam=1, alpha=0)
    copies = [[*found[0].tokens, 0] for found in beam_search(copy_task.model, src, greedy)]
    assert len(copies) > 100
    exact = sum(copy == ids for copy, ids in zip(copies, copy_task.unseen, strict=True))
    assert exact >= 0.98 * len(copies)


def test_loss_ends_just_above_its_zero_point(copy_task: Any) -> None:
    logged = [event for event in copy_task.events if event["event"] == "train"]
    assert logged[0]["loss"] > 1.5
    last = logged[-1]
    assert last["loss_zero_point"] <= last["loss"] < last["loss_zero_point"] + 0.03


def test_dev_perplexity_ends_near_that_of_the_smoothed_targets(copy_task: Any) -> None:
    validated = [event for event in copy_task.events if event["event"] == "validate"]
    ideal = 1 / (0.9 + 0.1 / (copy_task.vocab_size - 1))
    assert validated[-1]["dev_perplexity"] == pytest.approx(ideal, rel=0.03)


# ---- steps ---------------------------------------------------------------------------------------


def test_learning_rate_of_each_step_follows_equation_3(make_trainer: MakeTrainer) -> None:
    events: list[dict[str, Any]] = []
    make_trainer(record=events.append, log_steps=1, max_steps=12, lr_scale=2.0).run()
    rates = [event["learning_rate"] for event in events if event["event"] == "train"]
    expected = [2 * 16**-0.5 * min(step**-0.5, step * 10**-1.5) for step in range(1, 13)]
    assert rates == pytest.approx(expected)


def test_only_gradients_above_clip_norm_are_clipped(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def norm_of_first_step(clip_norm: float) -> float:
        trainer = make_trainer(max_steps=1, clip_norm=clip_norm)
        norms: list[float] = []
        step = trainer.optimizer.step

        def spy() -> None:
            grads = [p.grad for p in trainer.model.parameters() if p.grad is not None]
            norms.append(math.sqrt(sum(float(grad.square().sum()) for grad in grads)))
            step()

        monkeypatch.setattr(trainer.optimizer, "step", spy)
        trainer.run()
        return norms[0]

    free = norm_of_first_step(0.0)
    assert free > 0.1
    assert norm_of_first_step(free / 4) == pytest.approx(free / 4, rel=1e-4)
    assert norm_of_first_step(free * 4) == pytest.approx(free, rel=1e-6)


def test_default_batch_tokens_keep_a_step_within_step_tokens(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(n_pairs=400, step_tokens=200, batch_tokens=0, max_steps=1)
    trainer.run()
    assert trainer.state.target_tokens <= 250


def test_random_numbers_depend_only_on_seed_and_step() -> None:
    def draw(seed: int, step: int) -> list[float]:
        seed_step(seed, step)
        return torch.rand(3).tolist()

    assert draw(1, 5) == draw(1, 5)
    assert len({tuple(draw(*at)) for at in ((1, 5), (1, 6), (2, 5), (5, 1))}) == 4


# ---- limits --------------------------------------------------------------------------------------


def test_max_epochs_ends_a_run_after_that_many_epochs(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_epochs=2)
    assert trainer.run() == "max_epochs = 2"
    tokens_per_epoch = int(trainer.data.train.tgt.lengths.sum())
    assert trainer.state.target_tokens == 2 * tokens_per_epoch


def test_max_epochs_can_be_a_fraction(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_epochs=0.5)
    assert trainer.run() == "max_epochs = 0.5"
    assert 0.5 <= trainer.state.epoch_share <= 0.75


def test_max_hours_ends_a_run(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_hours=1e-9)
    assert trainer.run() == "max_hours = 1e-09"
    assert trainer.state.step == 1


def test_patience_counts_validations_without_a_better_score(make_trainer: MakeTrainer) -> None:
    scores = iter([5.0, 7.0, 7.0, 6.0, 6.9, 100.0])
    trainer = make_trainer(validate_steps=2, patience=3, bleu=lambda _: next(scores))
    assert trainer.run() == "patience = 3 validations without a better score"
    assert (trainer.state.step, trainer.state.best_step, trainer.state.best) == (10, 4, 7.0)


def test_patience_can_count_perplexity(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(validate_steps=1, patience=2, best_by="perplexity")
    perplexities = iter([9.0, 4.0, 5.0, 4.0])
    monkeypatch.setattr(
        "yakusu.training.trainer.dev_perplexity", lambda *_, **__: next(perplexities)
    )
    assert trainer.run() == "patience = 2 validations without a better perplexity"
    assert (trainer.state.step, trainer.state.best_step, trainer.state.best) == (4, 2, -4.0)


# ---- time ----------------------------------------------------------------------------------------


@pytest.fixture
def an_hour(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], float]:
    """A score that takes an hour; nothing else takes any time."""
    now = 0.0

    def score(_: Any) -> float:
        nonlocal now
        now += 3600
        return 0.0

    monkeypatch.setattr("yakusu.training.state.time.monotonic", lambda: now)
    return score


def test_validation_counts_as_time(
    make_trainer: MakeTrainer, an_hour: Callable[[Any], float], tmp_path: Path
) -> None:
    events: list[dict[str, Any]] = []
    trainer = make_trainer(validate_steps=2, max_hours=2, bleu=an_hour, record=events.append)
    assert trainer.run() == "max_hours = 2"
    validated = [each for each in events if each["event"] == "validate"]
    assert [(each["step"], each["seconds"]) for each in validated] == [(2, 3600), (4, 7200)]
    saved = checkpoints(tmp_path / "checkpoints")
    assert [read_state(each).seconds for each in saved] == [3600, 7200]


def test_resumed_run_takes_as_long_as_an_uninterrupted_one(
    make_trainer: MakeTrainer, an_hour: Callable[[Any], float], tmp_path: Path
) -> None:
    def seconds(folder: str, *limits: int) -> float:
        for max_steps in limits:
            trainer = make_trainer(
                folder=tmp_path / folder, max_steps=max_steps, validate_steps=2, bleu=an_hour
            )
            trainer.resume()
            trainer.run()
        return trainer.state.seconds

    assert seconds("halves", 2, 4) == seconds("uninterrupted", 4) == 7200


# ---- validation ----------------------------------------------------------------------------------


def test_dev_perplexity_equals_that_of_each_sentence_alone(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer()
    trainer.model.eval()
    nll, n = 0.0, 0
    dev = trainer.data.dev
    for i in range(len(dev)):
        src, tgt = (torch.tensor(side[i].tolist())[None] for side in (dev.src, dev.tgt))
        logits = trainer.model.logits(trainer.model(src, tgt))
        nll -= logits.log_softmax(-1).gather(2, tgt[:, :, None]).sum().item()
        n += tgt.numel()
    found = dev_perplexity(trainer.model, dev, trainer.group, batch_tokens=20, bf16=False)
    assert found == pytest.approx(math.exp(nll / n), rel=1e-5)


def test_dev_perplexity_is_the_same_with_halved_batches_after_out_of_memory(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer()
    trainer.model.eval()

    def perplexity() -> float:
        group = trainer.group
        return dev_perplexity(trainer.model, trainer.data.dev, group, batch_tokens=20, bf16=False)

    expected, forward, sizes = perplexity(), ModelLoss.forward, list[int]()

    def limited(self: ModelLoss, src: torch.Tensor, tgt: torch.Tensor) -> Loss:
        if len(src) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        sizes.append(len(src))
        return forward(self, src, tgt)

    monkeypatch.setattr(ModelLoss, "forward", limited)
    assert perplexity() == pytest.approx(expected, rel=1e-5)
    assert len(sizes) == len(trainer.data.dev)


def test_out_of_memory_in_the_search_names_its_settings(make_trainer: MakeTrainer) -> None:
    def bleu(model: torch.nn.Module) -> float:
        raise torch.OutOfMemoryError("CUDA out of memory")

    message = "out of memory at step 2: set search.beam=1 or training.engine=native in a new run"
    with pytest.raises(RunError, match=message):
        make_trainer(bleu=bleu, validate_steps=2).run()


def test_validation_runs_without_dropout(make_trainer: MakeTrainer) -> None:
    seen: list[bool] = []

    def bleu(model: torch.nn.Module) -> float:
        seen.append(model.training)
        return 0.0

    trainer = make_trainer(max_steps=2, validate_steps=1, bleu=bleu)
    trainer.run()
    assert seen == [False, False]


# ---- golden values -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(models))
def test_losses_of_five_steps_equal_the_golden_values(make_trainer: MakeTrainer, name: str) -> None:
    events: list[dict[str, Any]] = []
    sizes = {"name": name, "dropout": 0.0}
    make_trainer(sizes=sizes, max_steps=5, log_steps=1, record=events.append).run()
    losses = [event["loss"] for event in events if event["event"] == "train"]
    if os.environ.get("YAKUSU_RENEW_GOLDEN"):
        golden = json.loads(GOLDEN.read_text())
        golden["losses"][name] = losses
        GOLDEN.write_text(json.dumps(golden, indent=2) + "\n")
    assert losses == pytest.approx(json.loads(GOLDEN.read_text())["losses"][name], rel=1e-5)


# ---- skipped steps -------------------------------------------------------------------------------


def spoil(trainer: Trainer, steps: set[int], value: float) -> None:
    """Put a number that is not finite into the gradient of some steps."""
    update = trainer._update

    def spoiled(step: Step) -> None:
        if trainer.state.step in steps:
            next(trainer.model.parameters()).grad[0, 0] = value  # type: ignore[index]
        update(step)

    trainer._update = spoiled  # type: ignore[method-assign]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_step_that_is_not_finite_leaves_weights_unchanged(
    make_trainer: MakeTrainer, value: float
) -> None:
    events: list[dict[str, Any]] = []
    trainer = make_trainer(max_steps=3, record=events.append)
    seen: list[dict[str, Tensor]] = []
    spoil(trainer, {2}, value)
    update = trainer._update

    def watched(step: Step) -> None:
        seen.append(weights(trainer))
        update(step)

    trainer._update = watched  # type: ignore[method-assign]
    trainer.run()
    assert all(torch.equal(seen[1][name], seen[2][name]) for name in seen[1])
    assert not all(torch.equal(seen[0][name], seen[1][name]) for name in seen[0])
    (skip,) = [event for event in events if event["event"] == "skip"]
    assert (skip["step"], skip["skipped"], trainer.state.skipped) == (2, 1, 1)
    assert skip["lines"] == sorted(skip["lines"]) and set(skip["lines"]) <= set(range(1, 25))


def test_too_many_skipped_steps_end_the_run_with_a_finite_checkpoint(
    make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    trainer = make_trainer(max_steps=9, max_skipped=2)
    spoil(trainer, {2, 3, 4}, math.nan)
    with pytest.raises(RunError, match=r"step 4: loss or gradient is not finite.*lines \d+, "):
        trainer.run()
    (saved,) = checkpoints(tmp_path / "checkpoints")
    assert saved.name == "step-00000004"
    tensors = load_tensors(saved / "model.safetensors")
    assert all(tensor.isfinite().all() for tensor in tensors.values())


def test_run_that_skipped_most_of_its_steps_fails(make_trainer: MakeTrainer) -> None:
    fix = r"lower training\.lr_scale or set training\.clip_norm=1\.0 in a new run"
    trainer = make_trainer(max_steps=6, lr_scale=1e9, warmup_steps=1)
    with pytest.raises(RunError, match=rf"^5 of 6 steps were skipped because .*: {fix}$"):
        trainer.run()
    again = make_trainer(max_steps=6, lr_scale=1e9, warmup_steps=1)
    assert again.resume()
    with pytest.raises(RunError, match=r"^5 of 6 steps were skipped"):
        again.run()


def test_run_that_skipped_half_of_its_steps_succeeds(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_steps=6)
    spoil(trainer, {2, 3, 4}, math.nan)
    assert trainer.run() == "max_steps = 6"


# ---- signals -------------------------------------------------------------------------------------


def test_signal_error_tells_where_the_run_will_resume(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for free, where in ((2**40, "from there"), (0, "from an earlier checkpoint")):
        trainer = make_trainer(max_steps=9)
        trainer.stop.number = int(signal.SIGTERM)
        usage = shutil._ntuple_diskusage(2**40, 0, free)  # type: ignore[attr-defined]
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        with pytest.raises(SignalError, match=f"SIGTERM: stopped after step 1; .* resume {where}"):
            trainer.run()


def test_signal_during_the_last_validation_stops_after_saving(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_steps=3)
    score = trainer.score

    def interrupted(model: Any) -> Any:
        trainer.stop.number = int(signal.SIGTERM)
        return score(model)

    trainer.score = interrupted
    with pytest.raises(SignalError, match=r"SIGTERM: stopped after step 3; .* to write the model"):
        trainer.run()
    again = make_trainer(max_steps=3)
    assert again.resume() and again.state.validated == 3
    assert again.run() == "max_steps = 3"
