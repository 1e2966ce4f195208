"""The gradient of the mean loss over all target tokens of a step.

The batches of a step are shared out among the processes. Where memory runs out the step is
computed again in smaller batches, which give the same gradient, but for the balance of experts
(docs/decisions/0022).
"""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from yakusu.data.batches import Indices, collate
from yakusu.data.pairs import Pairs
from yakusu.device import out_of_memory
from yakusu.errors import RunError
from yakusu.model.base import Seq2Seq
from yakusu.training.distributed import Group, apart, is_sharded, spread
from yakusu.training.loss import Loss, smoothed_loss

_log = logging.getLogger(__name__)


class ModelLoss(nn.Module):
    """A model with its loss: ids in, sums over target tokens out."""

    def __init__(self, model: Seq2Seq, *, epsilon: float, bf16: bool, compiled: bool) -> None:
        super().__init__()
        self.model, self.epsilon, self.bf16 = model, epsilon, bf16
        self._hidden: Callable[..., Tensor] = (
            torch.compile(model, dynamic=True) if compiled and model.compiles else model
        )

    def forward(self, src: Tensor, tgt: Tensor) -> Loss:
        """Of source ids (B, S) and target ids (B, T), both padded."""
        try:
            loss = self._of_tokens(src, tgt)
            return loss._replace(smoothed=balanced(loss.smoothed, self.model, src, tgt))
        finally:
            forget(self.model)

    def _of_tokens(self, src: Tensor, tgt: Tensor) -> Loss:
        real = tgt != self.model.tgt_pad  # (B, T)
        with torch.autocast(src.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            hidden = self._hidden(src, tgt)[real]  # (N, D)
            weight = self.model.output_weight
            return smoothed_loss(hidden, weight, tgt[real], epsilon=self.epsilon)


def loss_of(loss: nn.Module, model: Seq2Seq, pairs: Pairs, batch: Indices) -> Loss:
    """The loss of one batch by a `ModelLoss`, or by what it was spread into."""
    padded = collate(pairs, batch, src_pad=model.src_pad, tgt_pad=model.tgt_pad)
    padded = padded.to(model.output_weight.device)
    return Loss(*loss(padded.src, padded.tgt))


class Sums(NamedTuple):
    """Over the target tokens of a step and all processes, in nats."""

    smoothed: float
    nll: float
    n_tokens: int


class Gradient:
    """Computes losses and gradients of one model, together with the other processes.

    Args:
        loss: The model and its loss, on its device.
        group: The processes.
        sharded: Each process keeps a part of the weights, not a copy.
    """

    def __init__(self, loss: ModelLoss, group: Group, *, sharded: bool) -> None:
        self.model, self.group = loss.model, group
        self.device = loss.model.output_weight.device
        self._loss = spread(loss, loss.model, group, sharded=sharded)

    def loss(self, pairs: Pairs, batch: Indices) -> Loss:
        """The loss of one batch."""
        return loss_of(self._loss, self.model, pairs, batch)

    def accumulate(self, pairs: Pairs, step: list[Indices], *, seed: Callable[[], None]) -> Sums:
        """Leave the gradient of a step in the parameters, where there was none.

        Args:
            pairs: The corpus.
            step: Its batches, those of all processes.
            seed: Sets the random numbers; called again if the step is computed again.

        Raises:
            RunError: Not even one pair at a time fits into memory.
        """
        parts = 1
        while (sums := self._try(pairs, step, parts, seed)) is None:
            self.model.zero_grad(set_to_none=True)
            longest = max(_longest(pairs, batch) for batch in step)
            if parts >= max(map(len, step)):
                raise RunError(
                    f"out of memory with one pair of {longest} tokens at a time: set "
                    f"filters.max_tokens={longest // 2}, or take a smaller model"
                )
            parts *= 2
            tokens = max(_longest(pairs, batch) * len(batch) for batch in step) // parts
            _log.warning(
                "out of memory: the step is computed again in smaller batches; "
                "batches.batch_tokens=%d in a new run spares that",
                max(tokens, longest),
            )
        return sums

    def _try(
        self, pairs: Pairs, step: list[Indices], parts: int, seed: Callable[[], None]
    ) -> Sums | None:
        """One computation, each batch in `parts`; None where memory ran out."""
        n_tokens = int(sum(pairs.tgt.lengths_of(batch).sum() for batch in step))
        sums, filler, failed = torch.zeros(2, device=self.device), step[0][:1], False
        seed()
        try:
            with apart(self._loss, self.group):
                for batch in self._work(step, parts):
                    loss = self.loss(pairs, batch if len(batch) else filler)
                    # Processes average their gradients, and a filler counts for nothing.
                    weight = self.group.size if len(batch) else 0
                    (loss.smoothed * weight / n_tokens).backward()
                    if len(batch):
                        sums += torch.stack(loss).detach()
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error) or is_sharded(self._loss):
                raise  # parts of a layer cannot meet again
            failed = True
        n_failed, smoothed, nll = self.group.sums(failed, *sums.tolist())
        if n_failed:
            return None
        if self.group.size > 1 and not is_sharded(self._loss):
            with self.group.exchange():  # no more than the occasion for the gradients to meet
                (self.loss(pairs, filler).smoothed * 0).backward()
        return Sums(smoothed, nll, n_tokens)

    def _work(self, step: list[Indices], parts: int) -> list[Indices]:
        """This process's share; each process has as many batches, some of them empty."""
        share = self.group.share(step)
        share += [step[0][:0]] * (-(-len(step) // self.group.size) - len(share))
        return [part for batch in share for part in np.array_split(batch, parts)]


def _longest(pairs: Pairs, batch: Indices) -> int:
    return int(max(pairs.src.lengths_of(batch).max(), pairs.tgt.lengths_of(batch).max()))


# ---- from training/balance.py: The balance of a model's experts, learnt beside the loss of its tokens.


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
