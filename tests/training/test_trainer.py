"""The loop learns, resumes as if never stopped, and keeps what it must."""

import json
import math
import os
import re
import shutil
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from yakusu.data.batches import pad
from yakusu.errors import ModelError, RunError, SignalError
from yakusu.folder import read_json, save_folder
from yakusu.model.base import models
from yakusu.search import SearchConfig, beam_search
from yakusu.training.checkpoint import checkpoints
from yakusu.training.state import seed_step
from yakusu.training.trainer import Trainer
from yakusu.weights import load_tensors

GOLDEN = Path(__file__).parents[1] / "golden" / "tiny_losses.json"
MakeTrainer = Callable[..., Trainer]


def weights(trainer: Trainer) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in trainer.model.weights().items()}


def names(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("step-")) for path in checkpoints(folder)]


# ---- it learns -----------------------------------------------------------------------------------


def test_it_learns_to_copy_sequences_that_it_never_saw(copy_task: Any) -> None:
    src = pad(copy_task.unseen, copy_task.model.src_pad)
    greedy = SearchConfig(beam=1, alpha=0)
    copies = [[*found[0].tokens, 0] for found in beam_search(copy_task.model, src, greedy)]
    assert len(copies) > 100
    exact = sum(copy == ids for copy, ids in zip(copies, copy_task.unseen, strict=True))
    assert exact >= 0.98 * len(copies)


def test_its_loss_ends_just_above_the_zero_point(copy_task: Any) -> None:
    logged = [event for event in copy_task.events if event["event"] == "train"]
    assert logged[0]["loss"] > 1.5
    last = logged[-1]
    assert last["loss_zero_point"] <= last["loss"] < last["loss_zero_point"] + 0.03


def test_its_dev_perplexity_ends_near_that_of_the_smoothed_targets(copy_task: Any) -> None:
    validated = [event for event in copy_task.events if event["event"] == "validate"]
    ideal = 1 / (0.9 + 0.1 / (copy_task.vocab_size - 1))
    assert validated[-1]["dev_perplexity"] == pytest.approx(ideal, rel=0.03)


# ---- a step --------------------------------------------------------------------------------------


def test_gradient_accumulation_over_many_batches_equals_one_batch(
    make_trainer: MakeTrainer,
) -> None:
    # With this epsilon Adam's step is proportional to the gradient, so that noise stays noise.
    options = {"sizes": {"dropout": 0.0}, "adam_epsilon": 1.0, "lr_scale": 10.0, "max_steps": 1}
    one = make_trainer(step_tokens=10_000, batch_tokens=10_000, **options)
    many = make_trainer(step_tokens=10_000, batch_tokens=9, **options)
    before = weights(one)
    one.run()
    many.run()
    assert one.state.target_tokens == many.state.target_tokens
    assert max((weights(one)[name] - before[name]).abs().max() for name in before) > 1e-2
    for name, tensor in weights(one).items():
        torch.testing.assert_close(weights(many)[name], tensor, rtol=0, atol=1e-6)


def test_the_rate_of_each_step_is_equation_3(make_trainer: MakeTrainer) -> None:
    events: list[dict[str, Any]] = []
    make_trainer(record=events.append, log_steps=1, max_steps=12, lr_scale=2.0).run()
    rates = [event["learning_rate"] for event in events if event["event"] == "train"]
    expected = [2 * 16**-0.5 * min(step**-0.5, step * 10**-1.5) for step in range(1, 13)]
    assert rates == pytest.approx(expected)


def test_gradients_are_clipped_to_clip_norm_and_only_then(
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


def test_a_step_holds_no_more_than_step_tokens_where_batch_tokens_is_not_given(
    make_trainer: MakeTrainer,
) -> None:
    trainer = make_trainer(n_pairs=400, step_tokens=200, batch_tokens=0, max_steps=1)
    trainer.run()
    assert trainer.state.target_tokens <= 250


def test_all_that_is_random_follows_from_seed_and_step() -> None:
    def draw(seed: int, step: int) -> list[float]:
        seed_step(seed, step)
        return torch.rand(3).tolist()

    assert draw(1, 5) == draw(1, 5)
    assert len({tuple(draw(*at)) for at in ((1, 5), (1, 6), (2, 5), (5, 1))}) == 4


# ---- resuming ------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [3, 4, 5])  # the epoch has 4 steps: within, at and after its end
def test_stopped_and_resumed_equals_never_stopped_bit_for_bit(
    make_trainer: MakeTrainer, tmp_path: Path, stop: int
) -> None:
    straight = make_trainer(folder=tmp_path / "straight", max_steps=9)
    straight.run()
    first = make_trainer(folder=tmp_path / "halves", max_steps=stop)
    assert not first.resume()
    first.run()
    torch.manual_seed(12345)  # whatever happened in between
    second = make_trainer(folder=tmp_path / "halves", max_steps=9, sizes={"seed": 7})
    assert second.resume()
    assert second.state.step == stop
    second.run()
    assert straight.state.epoch >= 1
    assert all(torch.equal(weights(second)[name], w) for name, w in weights(straight).items())
    for key in ("step", "epoch", "step_in_epoch", "epoch_share", "target_tokens"):
        assert getattr(second.state, key) == getattr(straight.state, key)


def test_the_optimizer_resumes_with_its_moments(make_trainer: MakeTrainer) -> None:
    first = make_trainer(max_steps=3)
    first.run()
    second = make_trainer(max_steps=3, sizes={"seed": 7})
    second.resume()
    ours, theirs = (t.optimizer.state_dict()["state"] for t in (second, first))
    assert ours.keys() == theirs.keys()
    for i in ours:
        assert all(torch.equal(ours[i][key], theirs[i][key]) for key in theirs[i])


def test_a_run_at_its_limit_does_nothing_more(make_trainer: MakeTrainer) -> None:
    make_trainer(max_steps=3).run()
    again = make_trainer(max_steps=3)
    again.resume()
    before = weights(again)
    assert again.run() == "max_steps = 3"
    assert again.state.step == 3
    assert all(torch.equal(weights(again)[name], w) for name, w in before.items())


def test_a_corrupt_checkpoint_is_named_and_not_resumed(
    make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    make_trainer(max_steps=2).run()
    path = tmp_path / "checkpoints" / "step-00000002" / "optimizer.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"step-00000002/optimizer\.safetensors is corrupt"):
        make_trainer(max_steps=2).resume()


# ---- limits --------------------------------------------------------------------------------------


def test_max_epochs_ends_after_so_many_epochs(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_epochs=2)
    assert trainer.run() == "max_epochs = 2"
    tokens_per_epoch = int(trainer.train_pairs.tgt.lengths.sum())
    assert trainer.state.target_tokens == 2 * tokens_per_epoch


def test_max_epochs_may_be_a_fraction(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_epochs=0.5)
    assert trainer.run() == "max_epochs = 0.5"
    assert 0.5 <= trainer.state.epoch_share <= 0.75


def test_max_hours_ends_a_run(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_hours=1e-9)
    assert trainer.run() == "max_hours = 1e-09"
    assert trainer.state.step == 1


def test_patience_counts_validations_without_a_better_bleu(make_trainer: MakeTrainer) -> None:
    scores = iter([5.0, 7.0, 7.0, 6.0, 6.9, 100.0])
    trainer = make_trainer(validate_steps=2, patience=3, bleu=lambda _: next(scores))
    assert trainer.run() == "patience = 3 validations without a better score"
    assert (trainer.state.step, trainer.state.best_step, trainer.state.best) == (10, 4, 7.0)


def test_patience_may_count_perplexity(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(validate_steps=1, patience=2, best_by="perplexity")
    perplexities = iter([9.0, 4.0, 5.0, 4.0])
    monkeypatch.setattr(trainer, "dev_perplexity", lambda _: next(perplexities))
    assert trainer.run() == "patience = 2 validations without a better perplexity"
    assert (trainer.state.step, trainer.state.best_step, trainer.state.best) == (4, 2, -4.0)


# ---- what is written -----------------------------------------------------------------------------


def test_the_best_and_the_last_checkpoints_stay_on_disk(
    make_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([5.0, 9.0, 1.0, 1.0, 1.0, 1.0])
    on_disk: list[list[int]] = []
    trainer = make_trainer(max_steps=6, validate_steps=1, keep_last=2, bleu=lambda _: next(scores))
    save = trainer.saving.save

    def save_and_look(*of: Any) -> bool:
        written = save(*of)
        on_disk.append(names(tmp_path / "checkpoints"))
        return written

    monkeypatch.setattr(trainer.saving, "save", save_and_look)
    trainer.run()
    assert on_disk == [[1], [1, 2], [2, 3], [2, 3, 4], [2, 4, 5], [2, 5, 6]]


def test_a_best_that_could_not_be_written_costs_no_older_one(
    make_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([5.0, 1.0, 9.0, 1.0])
    trainer = make_trainer(max_steps=4, validate_steps=1, keep_last=2, bleu=lambda _: next(scores))

    def full(folder: Path, fill: Callable[[Path], None]) -> None:
        if folder.name == "step-00000003":
            raise OSError("no room")
        save_folder(folder, fill)

    monkeypatch.setattr("yakusu.training.checkpoint.save_folder", full)
    trainer.run()
    assert names(tmp_path / "checkpoints") == [1, 2, 4]
    assert (trainer.state.best_step, trainer.state.best_kept) == (3, 1)
    assert trainer.state.milestones == [2, 4]


def test_checkpoints_between_validations_are_dropped_for_newer_ones(
    make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    make_trainer(max_steps=7, validate_steps=3, checkpoint_steps=2, keep_last=5).run()
    assert names(tmp_path / "checkpoints") == [3, 6, 7]
    state = read_json(tmp_path / "checkpoints" / "step-00000007" / "state.json")
    assert state["milestones"] == [3, 6, 7]


def test_checkpoints_are_saved_by_time_too(
    make_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minutes = count(0, 60)  # each look at the clock is a minute later
    monkeypatch.setattr("yakusu.training.trainer.time.monotonic", lambda: float(next(minutes)))
    trainer = make_trainer(max_steps=3, checkpoint_minutes=1.5, keep_last=1)
    saved: list[int] = []
    save = trainer.saving.save
    trainer.saving.save = lambda *of: (saved.append(trainer.state.step), save(*of))[1]  # type: ignore[method-assign]
    trainer.run()
    assert saved[0] < 3


def test_a_checkpoint_holds_the_weights_of_its_step(
    make_trainer: MakeTrainer, tmp_path: Path
) -> None:
    trainer = make_trainer(max_steps=2)
    trainer.run()
    saved = load_tensors(tmp_path / "checkpoints" / "step-00000002" / "model.safetensors")
    assert saved.keys() == weights(trainer).keys()
    assert all(torch.equal(saved[name], w) for name, w in weights(trainer).items())


def test_slow_steps_are_logged_each_minute(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, events = count(0, 10), []  # each look at the clock is ten seconds later
    monkeypatch.setattr("yakusu.training.state.time.monotonic", lambda: float(next(seconds)))
    make_trainer(record=events.append, log_steps=1000, max_steps=20).run()
    logged = [event["step"] for event in events if event["event"] == "train"]
    assert 2 <= len(logged) < 20


def test_events_say_all_that_a_curve_needs(make_trainer: MakeTrainer) -> None:
    events: list[dict[str, Any]] = []
    make_trainer(
        record=events.append, log_steps=2, validate_steps=3, max_steps=4, bleu=lambda _: 12.5
    ).run()
    assert [(event["event"], event["step"]) for event in events] == [
        ("train", 2),
        ("validate", 3),
        ("train", 4),
        ("validate", 4),
    ]
    assert list(events[0]) == [
        "event",
        "step",
        "epoch",
        "loss",
        "loss_zero_point",
        "perplexity",
        "learning_rate",
        "tokens_per_second",
        "seconds",
    ]
    assert list(events[1]) == [
        "event",
        "step",
        "epoch",
        "dev_perplexity",
        "score",
        "dev_bleu",
        "best_step",
        "bad_validations",
        "validation_seconds",
        "seconds",
    ]
    assert events[1]["dev_bleu"] == 12.5
    json.dumps(events)


def test_dev_perplexity_is_that_of_the_whole_dev_set_token_by_token(
    make_trainer: MakeTrainer,
) -> None:
    trainer = make_trainer()
    trainer.model.eval()
    nll, n = 0.0, 0
    for i in range(len(trainer.dev_pairs)):
        src, tgt = (
            torch.tensor(side[i].tolist())[None]
            for side in (trainer.dev_pairs.src, trainer.dev_pairs.tgt)
        )
        logits = trainer.model.logits(trainer.model(src, tgt))
        nll -= logits.log_softmax(-1).gather(2, tgt[:, :, None]).sum().item()
        n += tgt.numel()
    assert trainer.dev_perplexity(trainer.model) == pytest.approx(math.exp(nll / n), rel=1e-5)


def test_validation_is_done_without_dropout(make_trainer: MakeTrainer) -> None:
    seen: list[bool] = []

    def bleu(model: torch.nn.Module) -> float:
        seen.append(model.training)
        return 0.0

    trainer = make_trainer(max_steps=2, validate_steps=1, bleu=bleu)
    trainer.run()
    assert seen == [False, False]


# ---- frozen values -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(models))
def test_golden_losses_of_five_steps(make_trainer: MakeTrainer, name: str) -> None:
    events: list[dict[str, Any]] = []
    sizes = {"name": name, "dropout": 0.0}
    make_trainer(sizes=sizes, max_steps=5, log_steps=1, record=events.append).run()
    losses = [event["loss"] for event in events if event["event"] == "train"]
    if os.environ.get("YAKUSU_RENEW_GOLDEN"):
        golden = json.loads(GOLDEN.read_text())
        golden["losses"][name] = losses
        GOLDEN.write_text(json.dumps(golden, indent=2) + "\n")
    assert losses == pytest.approx(json.loads(GOLDEN.read_text())["losses"][name], rel=1e-5)


# ---- trouble in the middle -----------------------------------------------------------------------


def spoil(trainer: Trainer, steps: set[int], value: float) -> None:
    """Let the gradient of some steps hold a number that is not finite."""
    accumulate = trainer.gradient.accumulate

    def spoilt(*args: Any, **options: Any) -> Any:
        sums = accumulate(*args, **options)
        if trainer.state.step in steps:
            next(trainer.model.parameters()).grad[0, 0] = value  # type: ignore[index]
        return sums

    trainer.gradient.accumulate = spoilt  # type: ignore[method-assign]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_step_that_is_not_finite_leaves_the_weights_alone(
    make_trainer: MakeTrainer, value: float
) -> None:
    events: list[dict[str, Any]] = []
    trainer = make_trainer(max_steps=3, record=events.append)
    seen: list[dict[str, Tensor]] = []
    step = trainer._step

    def watched(batches: Any) -> None:
        seen.append(weights(trainer))
        step(batches)

    trainer._step = watched  # type: ignore[method-assign]
    spoil(trainer, {2}, value)
    trainer.run()
    assert all(torch.equal(seen[1][name], seen[2][name]) for name in seen[1])
    assert not all(torch.equal(seen[0][name], seen[1][name]) for name in seen[0])
    (skip,) = [event for event in events if event["event"] == "skip"]
    assert (skip["step"], skip["skipped"], trainer.state.skipped) == (2, 1, 1)
    assert skip["lines"] == sorted(skip["lines"]) and set(skip["lines"]) <= set(range(1, 25))


def test_too_many_such_steps_end_the_run_with_a_good_checkpoint(
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


def test_a_signal_says_where_the_run_goes_on(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for free, where in ((2**40, "from there"), (0, "from an earlier checkpoint")):
        trainer = make_trainer(max_steps=9)
        trainer.stop.signal = int(signal.SIGTERM)
        usage = shutil._ntuple_diskusage(2**40, 0, free)  # type: ignore[attr-defined]
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        with pytest.raises(SignalError, match=f"SIGTERM: stopped after step 1; .* goes on {where}"):
            trainer.run()


def test_a_signal_during_the_last_validation_is_obeyed_when_all_is_saved(
    make_trainer: MakeTrainer,
) -> None:
    trainer = make_trainer(max_steps=3)
    score = trainer.score

    def interrupted(model: Any) -> Any:
        trainer.stop.signal = int(signal.SIGTERM)
        return score(model)

    trainer.score = interrupted
    with pytest.raises(SignalError, match="SIGTERM: stopped after step 3, the last; the same"):
        trainer.run()
    again = make_trainer(max_steps=3)
    assert again.resume() and again.state.validated == 3
    assert again.run() == "max_steps = 3"


def run_out(trainer: Trainer, most: int, error: Exception) -> None:
    """Let memory run out where a batch has more than `most` pairs."""
    loss = trainer.gradient.loss

    def limited(pairs: Any, batch: Any) -> Any:
        if len(batch) > most and torch.is_grad_enabled():
            loss(pairs, batch).smoothed.backward()  # something is there already
            raise error
        return loss(pairs, batch)

    trainer.gradient.loss = limited  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate ..."),
        MemoryError(),
    ],
)
def test_where_memory_runs_out_smaller_batches_give_the_same_step(
    make_trainer: MakeTrainer, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"sizes": {"dropout": 0.0}, "adam_epsilon": 1.0, "lr_scale": 10.0, "max_steps": 2}
    roomy = make_trainer(step_tokens=60, batch_tokens=60, **options)
    small = make_trainer(step_tokens=60, batch_tokens=60, **options)
    run_out(small, 3, error)
    roomy.run()
    small.run()
    for name, tensor in weights(roomy).items():
        torch.testing.assert_close(weights(small)[name], tensor, rtol=0, atol=1e-6)
    assert "out of memory: the step is computed again in smaller batches" in caplog.text
    assert re.search(r"batches\.batch_tokens=\d+ in a new run", caplog.text)


def test_no_room_for_one_pair_is_told(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_steps=1)
    run_out(trainer, 0, MemoryError())
    with pytest.raises(RunError, match=r"one pair of \d+ tokens at a time: set filters\.max_tok"):
        trainer.run()


def test_another_error_is_not_taken_for_memory(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_steps=1)
    run_out(trainer, 0, RuntimeError("something else"))
    with pytest.raises(RuntimeError, match="something else"):
        trainer.run()
