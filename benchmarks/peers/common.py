"""What all peers share: model sizes, batches, and one way of counting and timing.

Token ids: end of sentence is 0, unknown is 1, padding is ``vocab_size - 1``. Every source and
every target sentence ends in 0. A throughput counts real target tokens: the end of a sentence is
counted, padding and the decoder's start symbol are not. The time covers all that a training run
repeats: drawing the batch, padding it, forward, backward and the optimizer step. With given
learning rates, the loss of the last steps is reported too, in nats and without label smoothing.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import DataLoader

EOS = 0
UNK = 1
LABEL_SMOOTHING = 0.1
WARMUP_STEPS = 2
LAST_STEPS = 20

Pair = tuple[list[int], list[int]]
Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Sizes:
    """The shape of a Transformer; encoder and decoder have ``n_layers`` layers each."""

    vocab_size: int
    n_layers: int
    d_model: int
    d_ff: int
    n_heads: int
    dropout: float
    pre_norm: bool = False
    """Normalise the input of each sublayer, not the sum; only ``torch.nn.Transformer`` can."""

    @property
    def pad(self) -> int:
        """The id of the padding symbol."""
        return self.vocab_size - 1


@dataclass(frozen=True)
class Throughput:
    """Result of a timed training run."""

    target_tokens: int
    seconds: float
    padding: float
    """Share of the positions of the source and target tensors that hold padding."""
    steps: int
    nll: float | None = None
    """Negative log-likelihood per target token over the last steps; None: not measured."""

    @property
    def tokens_per_second(self) -> float:
        """Real target tokens per second."""
        return self.target_tokens / self.seconds


class Stopwatch:
    """Timer of training steps for a number of seconds, after a few warm-up steps.

    With ``rates``, a learning rate for each step, training also ends after the last of them, and
    the loss of the last ``LAST_STEPS`` steps is measured.
    """

    def __init__(self, seconds: float, rates: Sequence[float] = ()) -> None:
        self._limit, self._rates = seconds, rates
        self._done = 0
        self._warmup_left = WARMUP_STEPS
        self._start = time.perf_counter()
        self._elapsed = 0.0
        self._steps = self._tokens = self._real = self._positions = 0
        self._nll, self._nll_tokens = 0.0, 0

    def set_rate(self, optimizer: torch.optim.Optimizer) -> None:
        """Set the learning rate of the next step, if rates were given."""
        if self._rates:
            for group in optimizer.param_groups:
                group["lr"] = self._rates[self._done]

    def add_loss(self, logits: Tensor, target: Tensor, pad: int) -> None:
        """Add up the loss of a step if it is one of the last, before it is counted."""
        if self._rates and self._done >= len(self._rates) - LAST_STEPS:
            scores, labels = logits.detach().flatten(0, 1), target.flatten()
            self._nll += F.cross_entropy(scores, labels, ignore_index=pad, reduction="sum").item()
            self._nll_tokens += int((labels != pad).sum())

    def step_done(self, source: Tensor, target: Tensor, pad: int) -> bool:
        """Count a finished step by its padded id matrices; return whether training ends."""
        self._done += 1
        if self._warmup_left > 0:
            self._warmup_left -= 1
            self._start = time.perf_counter()
            return False
        self._elapsed = time.perf_counter() - self._start
        tokens = int((target != pad).sum())
        self._steps += 1
        self._tokens += tokens
        self._real += tokens + int((source != pad).sum())
        self._positions += source.numel() + target.numel()
        return self._elapsed >= self._limit or self._done == len(self._rates)

    def result(self) -> Throughput:
        """Return the throughput of the steps counted so far."""
        if self._steps == 0:
            raise ValueError("no step was timed: the data ended during the warm-up")
        padding = 1.0 - self._real / self._positions
        nll = self._nll / self._nll_tokens if self._nll_tokens else None
        return Throughput(self._tokens, self._elapsed, padding, self._steps, nll)


def pad_rows(rows: list[list[int]], pad: int) -> Tensor:
    """Stack sentences into one matrix, padded with ``pad`` on the right."""
    width = max(map(len, rows))
    return torch.tensor([row + [pad] * (width - len(row)) for row in rows])


def endless_batches(
    pairs: list[Pair],
    collate: Callable[[list[Pair]], Batch],
    *,
    tokens_per_batch: int,
    seed: int,
    batches: list[list[int]] | None = None,
) -> Iterator[Batch]:
    """Yield padded batches without end, epoch after epoch.

    By default sentences are shuffled in each epoch and cut into batches with a fixed number of
    sentences, which have ``tokens_per_batch`` target tokens on average. ``batches``, lists of
    indices into ``pairs``, replaces these by other batches, for example of similar length; then
    only their order is shuffled, once.
    """
    loader: DataLoader[Pair]
    if batches is None:
        mean_length = sum(len(target) for _, target in pairs) / len(pairs)
        loader = DataLoader(
            pairs,  # type: ignore[arg-type]  # a list serves as a map-style data set
            batch_size=max(1, round(tokens_per_batch / mean_length)),
            shuffle=True,
            collate_fn=collate,
            generator=torch.Generator().manual_seed(seed),
        )
    else:
        order = random.Random(seed).sample(batches, len(batches))
        loader = DataLoader(pairs, batch_sampler=order, collate_fn=collate)  # type: ignore[arg-type]
    while True:
        yield from loader
