"""The balance of a model's experts, learnt beside the loss of its tokens.

What training minimises is, over the target tokens of a step, the mean of their loss plus the
imbalance of the batch that each belongs to, summed over layers. A batch's gradient is that of a sum
over its N target tokens, which the trainer divides by those of the step; so to the gradient of the
loss's sum is added N times that of the imbalance. The loss that is logged stays that of the tokens.
"""

from typing import Any

import torch
from torch import Tensor

from yakusu.model.base import Seq2Seq


def balanced(smoothed: Tensor, model: Seq2Seq, src: Tensor, tgt: Tensor) -> Tensor:
    """The same number, whose gradient is also that of the imbalance of the last pass.

    Args:
        smoothed: The loss of a batch, a sum over its target tokens.
        model: What computed it, in training.
        src: Source ids (B, S), padded.
        tgt: Target ids (B, T), padded.
    """
    real = {"source": src != model.src_pad, "target": tgt != model.tgt_pad}
    layers = model.routing_layers().items()
    terms = [layer.balance_loss(real[side]) for side, those in layers for layer in those]
    if not terms:
        return smoothed
    beside = real["target"].sum() * torch.stack(terms).sum()
    return _Beside.apply(smoothed, beside)  # type: ignore[no-any-return,no-untyped-call]


def forget(model: Seq2Seq) -> None:
    """Let go of the last pass, which holds all its tensors where it did not come to its end."""
    for layers in model.routing_layers().values():
        for layer in layers:
            layer.forget()


class _Beside(torch.autograd.Function):
    """The first of two numbers, with the gradient of their sum."""

    @staticmethod
    def forward(ctx: Any, shown: Tensor, beside: Tensor) -> Tensor:
        return shown.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        return gradient, gradient
