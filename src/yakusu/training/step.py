"""The gradient of one update: the mean loss over all target tokens of a step, section 5.1.

    gradient = sum over the batches of d(smoothed loss) / number of target tokens of the step

The batches of a step are distributed over the processes. A single process joins small batches. If
memory runs out, the step is repeated with smaller batches. All of this gives the same gradient,
except for the random numbers of dropout and the balance loss of experts (docs/decisions/0022).

B batch, S source, T target, N target tokens without padding, D width of the hidden states.
"""

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from yakusu.data.batches import Batch, Indices, collate, cut_by_length, joined, longest
from yakusu.data.pairs import Pairs
from yakusu.device import out_of_memory
from yakusu.errors import RunError
from yakusu.model.base import Seq2Seq
from yakusu.training.distributed import Group, is_sharded, no_sync, sync_gradients
from yakusu.training.loss import Loss, smoothed_loss
from yakusu.training.r_drop import interleaved

_log = logging.getLogger(__name__)


class ModelLoss(nn.Module):
    """A model and its loss: token ids in, sums over target tokens out.

    Args:
        model: The model, on its device.
        epsilon: Label smoothing.
        bf16: Run the model under bfloat16 autocast.
        compiled: Run the model with torch.compile if it supports that.
        r_drop: alpha of R-Drop, in training mode; 0: no R-Drop.
    """

    def __init__(
        self, model: Seq2Seq, *, epsilon: float, bf16: bool, compiled: bool, r_drop: float = 0.0
    ) -> None:
        super().__init__()
        self.model, self.epsilon, self.bf16, self.r_drop = model, epsilon, bf16, r_drop
        self._compiled = torch.compile(model, dynamic=True) if compiled and model.compiles else None

    def forward(self, src: Tensor, tgt: Tensor) -> Loss:
        """Return the loss of padded source ids (B, S) and target ids (B, T)."""
        try:
            if self.r_drop and self.model.training:
                loss = self._loss(torch.cat([src, src]), torch.cat([tgt, tgt]), self.r_drop)
                return Loss(loss.smoothed / 2, loss.nll / 2)
            return self._loss(src, tgt, 0.0)
        finally:
            forget_routing(self.model)

    def _loss(self, src: Tensor, tgt: Tensor, r_drop: float) -> Loss:
        """Return the loss; with R-Drop, that of both halves of the batch, which are equal."""
        with torch.autocast(src.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            hidden, target = self._states(src, tgt), tgt[tgt != self.model.tgt_pad]  # (N, D), (N,)
            if r_drop:
                hidden, target = interleaved(hidden), interleaved(target)
            loss = smoothed_loss(
                hidden,
                self.model.output_weight,
                target,
                epsilon=self.epsilon,
                bias=self.model.output_bias,
                r_drop=r_drop,
            )
        return loss._replace(smoothed=with_balance_loss(loss.smoothed, self.model, src, tgt))

    def _states(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Hidden states (N, D) of the target tokens."""
        if self._compiled is None:
            return self.model.token_states(src, tgt)
        states: Tensor = self._compiled(src, tgt)[tgt != self.model.tgt_pad]
        return states


def load_batch(pairs: Pairs, batch: Indices, model: Seq2Seq) -> Batch:
    """Read and pad the pairs of a batch, on the device of the model."""
    padded = collate(pairs, batch, src_pad=model.src_pad, tgt_pad=model.tgt_pad)
    return padded.to(model.output_weight.device)


def dev_perplexity(
    model: Seq2Seq, dev: Pairs, group: Group, *, batch_tokens: int, bf16: bool
) -> float:
    """Return the perplexity per target token of the dev set, eos included, without smoothing.

    Args:
        model: The model, in evaluation mode.
        dev: The dev pairs.
        group: The processes, which share the work.
        batch_tokens: Maximum number of tokens in a batch; batches are halved if memory runs out.
        bf16: Run the model under bfloat16 autocast.
    """
    loss = ModelLoss(model, epsilon=0.0, bf16=bf16, compiled=False)
    nll = 0.0
    with torch.no_grad():
        for indices in group.shard(cut_by_length(np.arange(len(dev)), dev, batch_tokens)):
            nll += _nll(loss, model, dev, indices)
    (nll,) = group.sum(nll)
    return math.exp(min(nll / int(dev.tgt.lengths.sum()), 100.0))


def _nll(loss: ModelLoss, model: Seq2Seq, pairs: Pairs, indices: Indices) -> float:
    """The sum over a batch; if memory runs out, over its halves."""
    try:
        batch = load_batch(pairs, indices, model)
        return float(loss(batch.src, batch.tgt).nll)
    except (RuntimeError, MemoryError) as error:
        if len(indices) == 1 or not out_of_memory(error):
            raise
    return sum(_nll(loss, model, pairs, half) for half in np.array_split(indices, 2))


class StepSums(NamedTuple):
    """Sums over the target tokens of a step and all processes, in nats."""

    smoothed: float
    nll: float
    n_tokens: int


class Step:
    """The batches of one update, which are split and repeated when memory runs out.

        step = Step(loss, model, pairs, batches, group=group, seed=seed)
        while not step.done:
            with step.attempt() as loaded:
                for batch, weight in loaded:
                    step.mean(loss(batch.src, batch.tgt), weight).backward()

    Afterwards the gradients are in the parameters, equal in all processes, and `sums` is set.

    Args:
        loss: A `ModelLoss`, wrapped for all processes.
        model: The model that it calls; its gradients must be empty.
        pairs: The training pairs.
        batches: Batches of the step, of all processes.
        group: The processes.
        seed: Seeds the random numbers; called at the start of each attempt.
        pass_tokens: Batches are joined up to this size, with padding; 0: they are not. It becomes
            0 when memory runs out.
    """

    def __init__(
        self,
        loss: nn.Module,
        model: Seq2Seq,
        pairs: Pairs,
        batches: list[Indices],
        *,
        group: Group,
        seed: Callable[[], None],
        pass_tokens: int = 0,
    ) -> None:
        self.pairs, self._separate = pairs, batches
        self.pass_tokens = pass_tokens if group.size == 1 else 0
        self.batches = joined(batches, pairs, self.pass_tokens)
        self.n_tokens = int(sum(pairs.tgt.lengths_of(batch).sum() for batch in batches))
        self.sums = StepSums(0.0, 0.0, self.n_tokens)
        self.done = False
        self._loss, self._model, self._group, self._seed = loss, model, group, seed
        self._n_parts = 1  # each batch is computed in this many parts
        self._local_sums = torch.zeros(2, device=model.output_weight.device)

    @contextmanager
    def attempt(self) -> Iterator[Iterator[tuple[Batch, int]]]:
        """Compute the step once; `done` is then True unless a process ran out of memory.

        Yields:
            Each batch of this process with its weight, for `mean`.

        Raises:
            RunError: Memory runs out even with one pair at a time.
        """
        self._local_sums.zero_()
        failed = False
        self._seed()
        try:
            with no_sync(self._loss, self._group):
                yield self._load()
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error) or is_sharded(self._loss):
                raise  # the other processes wait for this one's shards
            failed = True
        n_failed, smoothed, nll = self._group.sum(failed, *self._local_sums.tolist())
        if n_failed:
            self._model.zero_grad(set_to_none=True)
            self._use_smaller_batches()
            return
        if self._group.size > 1 and not is_sharded(self._loss):
            filler = self._filler
            sync_gradients(self._loss, self._group, filler.src, filler.tgt)
        self.sums, self.done = StepSums(smoothed, nll, self.n_tokens), True

    def mean(self, loss: Loss, weight: int) -> Tensor:
        """Return the contribution of a batch to the mean loss of the step, and add up its sums.

        Args:
            loss: Sums over the target tokens of the batch.
            weight: As yielded by `attempt`.
        """
        smoothed, nll = loss
        if weight:
            self._local_sums += torch.stack((smoothed, nll)).detach()
        return smoothed * weight / self.n_tokens

    def _load(self) -> Iterator[tuple[Batch, int]]:
        """Load the batches of this process; every process loads the same number.

        Gradients are averaged over the processes, so the weight of a batch is the number of
        processes. A batch that only makes the numbers equal has weight 0.
        """
        batches = self._group.shard(self.batches)
        n_missing = -(-len(self.batches) // self._group.size) - len(batches)
        for batch in batches + [self.batches[0][:0]] * n_missing:
            for part in np.array_split(batch, self._n_parts):
                if len(part):
                    yield load_batch(self.pairs, part, self._model), self._group.size
                else:
                    yield self._filler, 0

    @property
    def _filler(self) -> Batch:
        return load_batch(self.pairs, self.batches[0][:1], self._model)

    def _use_smaller_batches(self) -> None:
        joined_tokens, self.pass_tokens = self.pass_tokens, 0
        if len(self.batches) < len(self._separate):
            _log.warning(
                "out of memory: batches are not joined any more; set batches.pass_tokens=%d in a "
                "new run to join fewer",
                joined_tokens // 2,
            )
            self.batches = self._separate
            return
        lengths = [longest(self.pairs, batch) for batch in self.batches]
        if self._n_parts >= max(map(len, self.batches)):
            raise RunError(
                f"out of memory with one pair of {max(lengths)} tokens at a time: set "
                f"filters.max_tokens={max(lengths) // 2}, or use a smaller model"
            )
        self._n_parts *= 2
        sizes = [length * len(batch) for length, batch in zip(lengths, self.batches, strict=True)]
        _log.warning(
            "out of memory: repeating the step with smaller batches; set "
            "batches.batch_tokens=%d in a new run to avoid this",
            max(max(sizes) // self._n_parts, *lengths),
        )


# ---- the balance of experts ----------------------------------------------------------------------


def with_balance_loss(smoothed: Tensor, model: Seq2Seq, src: Tensor, tgt: Tensor) -> Tensor:
    """Return the loss with the same value, plus the gradient of the experts' balance loss.

    The balance loss of a token is added for each target token, so that both are sums.

    Args:
        smoothed: Loss of a batch, a sum over its target tokens.
        model: The model that computed it, in training mode.
        src: Source ids (B, S), padded.
        tgt: Target ids (B, T), padded.
    """
    is_token = {"source": src != model.src_pad, "target": tgt != model.tgt_pad}
    terms = [
        layer.balance_loss(is_token[side])
        for side, layers in model.routing_layers().items()
        for layer in layers
    ]
    if not terms:
        return smoothed
    balance = is_token["target"].sum() * torch.stack(terms).sum()
    return _AddGradient.apply(smoothed, balance)  # type: ignore[no-any-return,no-untyped-call]


def forget_routing(model: Seq2Seq) -> None:
    """Release the tensors that the experts keep from the last pass for the balance loss."""
    for layers in model.routing_layers().values():
        for layer in layers:
            layer.forget()


class _AddGradient(torch.autograd.Function):
    """The value of the first of two numbers, with the gradient of their sum."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, other: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        return gradient, gradient
