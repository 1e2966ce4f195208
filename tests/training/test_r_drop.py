"""R-Drop in chunks equals its formula in plain torch, in value and gradient."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from yakusu.errors import RecipeError
from yakusu.model.base import Seq2Seq
from yakusu.recipe import load_recipe
from yakusu.training import loss as loss_module
from yakusu.training.loss import smoothed_loss
from yakusu.training.step import ModelLoss
from yakusu.training.trainer import Trainer

N, D, V = 9, 8, 11  # V outputs, and pad
ALPHA = 5.0


def formula(logits: Tensor, target: Tensor, epsilon: float) -> Tensor:
    """Eq. 4 of Liang et al. 2021, summed over tokens; logits (2, N, V)."""
    one, two = logits.log_softmax(dim=-1)
    ce = sum(F.cross_entropy(z, target, label_smoothing=epsilon, reduction="sum") for z in logits)
    kl = [F.kl_div(b, a, log_target=True, reduction="sum") for a, b in ((one, two), (two, one))]
    return ce + ALPHA / 2 * (kl[0] + kl[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("chunk", [1, 3, 4, 1000])  # rows
def test_value_and_gradients_equal_the_formula_in_torch(
    dtype: torch.dtype, epsilon: float, biased: bool, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss_module, "_CHUNK", chunk)
    rng = torch.Generator().manual_seed(0)
    hidden = torch.randn(2, N, D, generator=rng).to(dtype).requires_grad_()
    weight = torch.randn(V + 1, D, generator=rng).to(dtype).requires_grad_()
    bias = torch.randn(V, generator=rng).to(dtype).requires_grad_() if biased else None
    target = torch.randint(V, (N,), generator=rng)
    loss = smoothed_loss(
        hidden.transpose(0, 1).flatten(0, 1),
        weight,
        target.repeat_interleave(2),
        epsilon=epsilon,
        bias=bias,
        r_drop=ALPHA,
    )
    logits = hidden @ weight[:-1].T + (0 if bias is None else bias)
    expected = formula(logits, target, epsilon)
    torch.testing.assert_close(loss.smoothed.to(dtype), expected, rtol=2e-5, atol=2e-5)
    leaves = [x for x in (hidden, weight, bias) if x is not None]
    ours = torch.autograd.grad(loss.smoothed / N, leaves)
    theirs = torch.autograd.grad(expected / N, leaves)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=2e-5, atol=5e-6)


@pytest.mark.parametrize("sizes", [{}, {"n_experts": 3}], ids=str)
def test_without_dropout_the_loss_and_its_gradient_equal_those_of_one_pass(
    tiny: Callable[..., Seq2Seq], sizes: dict[str, Any]
) -> None:
    src = torch.tensor([[3, 4, 5, 0], [7, 0, 11, 11]])
    tgt = torch.tensor([[9, 3, 4, 0], [5, 0, 11, 11]])
    found = []
    for alpha in (0.0, ALPHA):
        model = tiny(**sizes, dropout=0.0).train()
        loss = ModelLoss(model, epsilon=0.1, bf16=False, compiled=False, r_drop=alpha)(src, tgt)
        loss.smoothed.backward()
        found.append((loss.smoothed, loss.nll, *(w.grad for w in model.parameters())))
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(two, one, rtol=1e-4, atol=1e-5)


def test_dropout_makes_the_loss_exceed_the_cross_entropy(tiny: Callable[..., Seq2Seq]) -> None:
    ids, sums = torch.tensor([[3, 4, 5, 0]]), []
    for alpha in (1e-9, ALPHA):  # the same random numbers
        torch.manual_seed(0)
        loss = ModelLoss(
            tiny(dropout=0.5).train(), epsilon=0.1, bf16=False, compiled=False, r_drop=alpha
        )
        torch.manual_seed(1)
        sums.append(loss(ids, ids).smoothed.item())
    assert sums[1] > sums[0] + 0.1


def test_r_drop_is_not_used_in_evaluation_mode(tiny: Callable[..., Seq2Seq]) -> None:
    ids, model = torch.tensor([[3, 4, 5, 0]]), tiny(dropout=0.5)
    one, two = (
        ModelLoss(model, epsilon=0.1, bf16=False, compiled=False, r_drop=alpha).eval()(ids, ids)
        for alpha in (0.0, ALPHA)
    )
    assert one.smoothed == two.smoothed


def test_training_with_r_drop_lowers_the_loss(make_trainer: Callable[..., Trainer]) -> None:
    events: list[dict[str, Any]] = []
    make_trainer(r_drop=ALPHA, max_steps=30, log_steps=10, record=events.append).run()
    losses = [event["loss"] for event in events if event["event"] == "train"]
    assert losses[-1] < losses[0] - 0.1


def test_r_drop_without_dropout_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"training\.r_drop = 5 has no effect without dropout"):
        load_recipe("tiny", ["training.r_drop=5", "model.dropout=0.0"])
