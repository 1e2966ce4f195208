"""The balance of experts reaches training with its stated weight, and nothing else does."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from yakusu.model.base import Seq2Seq
from yakusu.training.step import ModelLoss
from yakusu.training.trainer import Trainer

SIZES: dict[str, Any] = {"n_experts": 4, "top_k": 2, "balance": 0.5, "dropout": 0.0}
PAD = 11
SRC = torch.tensor([[3, 4, 5, 6, 0], [7, 8, 0, PAD, PAD]])
TGT = torch.tensor([[9, 3, 4, 0], [5, 0, PAD, PAD]])
N = 6  # target tokens


def gradients(model: Seq2Seq) -> dict[str, Tensor]:
    found = {name: w.grad.clone() for name, w in model.weights().items() if w.grad is not None}
    model.zero_grad()
    return found


def explicit(model: Seq2Seq) -> tuple[Tensor, Tensor]:
    """The mean loss of the target tokens, and the imbalance over all layers, by hand."""
    hidden = model(SRC, TGT)
    logits = model.logits(hidden)[TGT != PAD]
    mean = torch.nn.functional.cross_entropy(logits, TGT[TGT != PAD], label_smoothing=0.1)
    layers = model.routing_layers()
    assert [len(those) for those in layers.values()] == [2, 2]
    terms = [layer.balance_loss(SRC != PAD) for layer in layers["source"]]
    terms += [layer.balance_loss(TGT != PAD) for layer in layers["target"]]
    return mean, torch.stack(terms).sum()


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        torch.testing.assert_close(one[name], other[name], atol=1e-6, rtol=1e-4, msg=name)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_gradient_is_that_of_the_mean_loss_plus_the_weighted_imbalance(
    tiny: Callable[..., Seq2Seq], norm: str
) -> None:
    model = tiny(**SIZES, norm=norm).train()
    sum(explicit(model)).backward()  # type: ignore[union-attr]
    expected = gradients(model)
    loss = ModelLoss(model, epsilon=0.1, bf16=False, compiled=False)(SRC, TGT)
    (loss.smoothed / N).backward()
    same(gradients(model), expected)


def test_the_loss_that_is_logged_is_that_of_the_tokens(tiny: Callable[..., Seq2Seq]) -> None:
    model = tiny(**SIZES).train()
    loss = ModelLoss(model, epsilon=0.1, bf16=False, compiled=False)(SRC, TGT)
    mean, _ = explicit(model)
    torch.testing.assert_close(loss.smoothed / N, mean)


def test_a_loss_times_zero_has_no_gradient(tiny: Callable[..., Seq2Seq]) -> None:
    """As processes without a batch compute it, so that their gradients meet."""
    model = tiny(**SIZES).train()
    loss = ModelLoss(model, epsilon=0.1, bf16=False, compiled=False)(SRC, TGT)
    (loss.smoothed * 0).backward()
    found = gradients(model)
    assert found.keys() == model.weights().keys()
    assert all((gradient == 0).all() for gradient in found.values())


def test_a_pass_that_failed_holds_nothing(
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


def test_training_with_experts_is_learning(make_trainer: Callable[..., Trainer]) -> None:
    events: list[dict[str, Any]] = []
    sizes = {**SIZES, "balance": 0.01}
    make_trainer(sizes=sizes, max_steps=60, log_steps=20, record=events.append).run()
    losses = [event["loss"] for event in events if event["event"] == "train"]
    assert losses[-1] < losses[0] - 0.1
