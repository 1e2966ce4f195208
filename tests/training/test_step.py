"""The gradient of a step: many batches, running out of memory, the balance of experts."""

import gc
import re
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from yakusu.errors import RunError
from yakusu.model.base import Seq2Seq
from yakusu.training.step import ModelLoss
from yakusu.training.trainer import Trainer

MakeTrainer = Callable[..., Trainer]

SIZES: dict[str, Any] = {"n_experts": 4, "top_k": 2, "balance": 0.5, "dropout": 0.0}
PAD = 11
SRC = torch.tensor([[3, 4, 5, 6, 0], [7, 8, 0, PAD, PAD]])
TGT = torch.tensor([[9, 3, 4, 0], [5, 0, PAD, PAD]])
N = 6  # target tokens


# ---- batches and memory --------------------------------------------------------------------------


def weights(trainer: Trainer) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in trainer.model.weights().items()}


def test_gradient_of_many_batches_equals_that_of_one_batch(make_trainer: MakeTrainer) -> None:
    # With this epsilon Adam's step is proportional to the gradient, so rounding errors stay small.
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


def test_gradient_of_joined_batches_equals_that_of_separate_batches(
    make_trainer: MakeTrainer,
) -> None:
    options = {"sizes": {"dropout": 0.0}, "adam_epsilon": 1.0, "lr_scale": 10.0, "max_steps": 2}
    separate = make_trainer(step_tokens=60, batch_tokens=9, **options)
    joined = make_trainer(step_tokens=60, batch_tokens=9, pass_tokens=10_000, **options)
    n_passes = passes_of(joined)
    separate.run()
    joined.run()
    assert len(n_passes) == 2  # one per step
    for name, tensor in weights(separate).items():
        torch.testing.assert_close(weights(joined)[name], tensor, rtol=0, atol=1e-6)


def passes_of(trainer: Trainer) -> list[int]:
    """The number of pairs of each pass with a gradient, which the returned list collects."""
    loss, found = trainer.loss, []

    def counting(src: Tensor, tgt: Tensor) -> Any:
        if torch.is_grad_enabled():
            found.append(len(src))
        return loss(src, tgt)

    trainer.loss = counting  # type: ignore[assignment]
    return found


def test_batches_are_not_joined_any_more_after_out_of_memory(
    make_trainer: MakeTrainer, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = make_trainer(step_tokens=60, batch_tokens=9, pass_tokens=1_000, max_steps=3)
    n_pairs = passes_of(trainer)
    run_out(trainer, 5, MemoryError())
    trainer.run()
    assert max(n_pairs[1:]) <= 5 and len(n_pairs) > 10
    assert caplog.text.count("out of memory") == 1
    assert "set batches.pass_tokens=500 in a new run" in caplog.text


def test_batches_that_were_not_joined_are_split_at_once(
    make_trainer: MakeTrainer, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = make_trainer(step_tokens=60, batch_tokens=60, pass_tokens=1, max_steps=1)
    run_out(trainer, 5, MemoryError())
    trainer.run()
    assert "pass_tokens" not in caplog.text
    assert trainer.state.pass_tokens == 0


def run_out(trainer: Trainer, most: int, error: Exception) -> None:
    """Let memory run out for a batch of more than `most` pairs."""
    loss = trainer.loss

    def limited(src: Tensor, tgt: Tensor) -> Any:
        if len(src) > most and torch.is_grad_enabled():
            loss(src, tgt).smoothed.backward()  # leaves a gradient behind
            raise error
        return loss(src, tgt)

    trainer.loss = limited  # type: ignore[assignment]


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate ..."),
        MemoryError(),
    ],
)
def test_smaller_batches_after_out_of_memory_give_the_same_step(
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
    assert "out of memory: repeating the step with smaller batches" in caplog.text
    assert re.search(r"batches\.batch_tokens=\d+ in a new run", caplog.text)


class FailingBackward(torch.autograd.Function):
    """Runs out of memory in the backward pass; `graph` tells whether the graph still exists."""

    graph: Any = None

    class Marker:
        pass

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.marker = FailingBackward.Marker()
        FailingBackward.graph = weakref.ref(ctx.marker)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        raise MemoryError


def test_out_of_memory_in_backward_releases_the_graph(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_steps=1, step_tokens=60, batch_tokens=60)
    loss, graphs = trainer.loss, []

    def failing_once(src: Tensor, tgt: Tensor) -> Any:
        found = loss(src, tgt)
        if not graphs:
            graphs.append("the first attempt")
            return found._replace(smoothed=FailingBackward.apply(found.smoothed))
        graphs.append(FailingBackward.graph())
        return found

    trainer.loss = failing_once  # type: ignore[assignment]
    gc.disable()  # no reference cycle may hold the graph either
    try:
        trainer.run()
    finally:
        gc.enable()
    assert len(graphs) > 2 and set(graphs[1:]) == {None}


def test_out_of_memory_with_one_pair_ends_the_run(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_steps=1)
    run_out(trainer, 0, MemoryError())
    with pytest.raises(RunError, match=r"one pair of \d+ tokens at a time: set filters\.max_tok"):
        trainer.run()


def test_other_errors_are_not_treated_as_out_of_memory(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(max_steps=1)
    run_out(trainer, 0, RuntimeError("something else"))
    with pytest.raises(RuntimeError, match="something else"):
        trainer.run()


# ---- the balance of experts ----------------------------------------------------------------------


def gradients(model: Seq2Seq) -> dict[str, Tensor]:
    found = {name: w.grad.clone() for name, w in model.weights().items() if w.grad is not None}
    model.zero_grad()
    return found


def explicit(model: Seq2Seq) -> tuple[Tensor, Tensor]:
    """Return the mean loss per target token and the balance loss of all layers, by hand."""
    hidden = model(SRC, TGT)
    logits = model.logits(hidden)[TGT != PAD]
    mean = torch.nn.functional.cross_entropy(logits, TGT[TGT != PAD], label_smoothing=0.1)
    layers = model.routing_layers()
    assert [len(experts) for experts in layers.values()] == [2, 2]
    terms = [layer.balance_loss(SRC != PAD) for layer in layers["source"]]
    terms += [layer.balance_loss(TGT != PAD) for layer in layers["target"]]
    return mean, torch.stack(terms).sum()


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        torch.testing.assert_close(one[name], other[name], atol=1e-6, rtol=1e-4, msg=name)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_gradient_equals_that_of_mean_loss_plus_weighted_balance_loss(
    tiny: Callable[..., Seq2Seq], norm: str
) -> None:
    model = tiny(**SIZES, norm=norm).train()
    sum(explicit(model)).backward()  # type: ignore[union-attr]
    expected = gradients(model)
    loss = ModelLoss(model, epsilon=0.1, bf16=False, compiled=False)(SRC, TGT)
    (loss.smoothed / N).backward()
    same(gradients(model), expected)


def test_loss_value_excludes_the_balance_loss(tiny: Callable[..., Seq2Seq]) -> None:
    model = tiny(**SIZES).train()
    loss = ModelLoss(model, epsilon=0.1, bf16=False, compiled=False)(SRC, TGT)
    mean, _ = explicit(model)
    torch.testing.assert_close(loss.smoothed / N, mean)


def test_loss_times_zero_gives_zero_gradients(tiny: Callable[..., Seq2Seq]) -> None:
    # A process without a batch computes this, to take part in averaging the gradients.
    model = tiny(**SIZES).train()
    loss = ModelLoss(model, epsilon=0.1, bf16=False, compiled=False)(SRC, TGT)
    (loss.smoothed * 0).backward()
    found = gradients(model)
    assert found.keys() == model.weights().keys()
    assert all((gradient == 0).all() for gradient in found.values())


def test_failed_pass_leaves_no_routing_behind(
    tiny: Callable[..., Seq2Seq], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny(**SIZES).train()

    def fail(*args: Any, **options: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("yakusu.training.step.smoothed_loss", fail)
    with pytest.raises(MemoryError):
        ModelLoss(model, epsilon=0.1, bf16=False, compiled=False)(SRC, TGT)
    assert all(
        layer.balance_loss(SRC != PAD) == 0
        for layers in model.routing_layers().values()
        for layer in layers
    )


def test_training_with_experts_lowers_the_loss(make_trainer: Callable[..., Trainer]) -> None:
    events: list[dict[str, Any]] = []
    sizes = {**SIZES, "balance": 0.01}
    make_trainer(sizes=sizes, max_steps=30, log_steps=10, record=events.append).run()
    losses = [event["loss"] for event in events if event["event"] == "train"]
    assert losses[-1] < losses[0] - 0.1
