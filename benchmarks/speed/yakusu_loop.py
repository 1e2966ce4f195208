"""Our side of the training benchmarks: yakusu's own trainer, with a limit of time or updates."""

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

import yakusu
from benchmarks.peers.common import LAST_STEPS, WARMUP_STEPS, Throughput
from yakusu.data.batches import cut_by_length, fullness
from yakusu.data.pairs import Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.device import disable_cudnn_attention, keep_freed_memory, pick_device
from yakusu.metrics import Score
from yakusu.model.architectures import build
from yakusu.progress import Silent, Tracker
from yakusu.recipe import Recipe
from yakusu.training.log import Event, TrainEvent
from yakusu.training.schedule import lrate
from yakusu.training.trainer import Trainer, TrainingData, TrainingOutput


@dataclass(frozen=True)
class Job:
    """What to train.

    run: Run folder with its recipe and prepared data.
    seconds: Time limit.
    seed: Seed of the weights and of dropout.
    updates: Number of updates, the last of which give the loss; 0: no limit.
    overrides: Keys of the recipe to override.
    warmup: Updates before the first measured one.
    """

    run: Path
    seconds: float
    seed: int
    updates: int = 0
    overrides: tuple[str, ...] = ()
    warmup: int = WARMUP_STEPS

    @property
    def recipe(self) -> Recipe:
        """The recipe of the run."""
        own = [f"training.log_steps={LAST_STEPS}", *self.overrides]
        return yakusu.load_recipe(self.run / "recipe.toml", own)

    @property
    def rates(self) -> list[float]:
        """The learning rate of each update, Eq. 3, if their number is given."""
        config, d_model = self.recipe.training, self.recipe.model.d_model
        warmup, scale = config.warmup_steps, config.lr_scale
        steps = range(1, self.updates + 1)
        return [lrate(step, d_model=d_model, warmup_steps=warmup, scale=scale) for step in steps]

    @property
    def pairs(self) -> Pairs:
        """The training pairs."""
        return Pairs.open(self.run / "data", "train")

    @property
    def vocab_size(self) -> int:
        """V, padding included."""
        return Tokenizer.load(self.run / "data").src_vocab_size


class TimeUpError(Exception):
    """Ends a training run before it validates or saves anything."""


class Watch(Silent):
    """Times the steps of a trainer, and ends it after some seconds or updates.

    Args:
        job: The limits.
        begin: Is called before the first measured step.
    """

    def __init__(self, job: Job, begin: Callable[[], object]) -> None:
        self._job, self._begin = job, begin
        self.trainer: Trainer | None = None
        self.steps = self.tokens = 0
        self.seconds = 0.0
        self.nll: float | None = None

    def track(self, what: str, unit: str, total: int | None) -> nullcontext[Tracker]:
        """Return itself as the tracker of the steps."""
        return nullcontext(self)

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        """Count a finished step."""
        assert self.trainer
        state = self.trainer.state
        if state.step <= self._job.warmup:
            if state.step == self._job.warmup:
                self._begin()
            self._start, self._tokens_before = time.perf_counter(), state.target_tokens
            return
        self.seconds = time.perf_counter() - self._start
        self.steps, self.tokens = self.steps + n, state.target_tokens - self._tokens_before
        if self.seconds >= self._job.seconds:
            raise TimeUpError

    def record(self, event: Event) -> None:
        """Keep the loss of the last steps."""
        if isinstance(event, TrainEvent) and event.step == self._job.updates:
            self.nll = math.log(event.perplexity)
            raise TimeUpError


def train(job: Job, measured: AbstractContextManager[object] | None = None) -> Throughput:
    """Train as `yakusu train` does.

    Args:
        job: What to train.
        measured: Is entered before the first measured step, and left after the last.
    """
    keep_freed_memory()
    disable_cudnn_attention()
    recipe, pairs, size = job.recipe, job.pairs, job.vocab_size
    device = pick_device(recipe.training.device)
    torch.manual_seed(job.seed)
    with ExitStack() as stack, suppress(TimeUpError):
        watch = Watch(job, partial(stack.enter_context, measured or nullcontext()))
        watch.trainer = Trainer(
            build(recipe.model, src_vocab_size=size, tgt_vocab_size=size).to(device),
            TrainingData(pairs, Pairs.open(job.run / "data", "dev"), recipe.batches, job.seed),
            config=recipe.training,
            score=lambda model: Score("BLEU", 0.0, "not measured"),
            output=TrainingOutput(job.run / "never", record=watch.record, progress=watch),
        )
        watch.trainer.run()
    batch_tokens = recipe.batches.batch_tokens_on(device.type)
    padding = 1 - fullness(pairs, cut_by_length(np.arange(len(pairs)), pairs, batch_tokens))
    return Throughput(watch.tokens, watch.seconds, padding, watch.steps, watch.nll)
