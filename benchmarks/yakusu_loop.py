"""Our side of the training benchmark: yakusu's own trainer, stopped by a watch."""

import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import yakusu
from peers.common import WARMUP_STEPS, Throughput
from yakusu.data.batches import cut_by_length, fullness
from yakusu.data.pairs import Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.device import keep_freed_memory
from yakusu.metrics import Score
from yakusu.model.base import models
from yakusu.progress import Silent, Tracker
from yakusu.recipe import Recipe
from yakusu.training.trainer import Trainer, TrainingData, TrainingOutput


@dataclass(frozen=True)
class Job:
    """What is trained."""

    run: Path  # a run folder that holds its recipe and prepared data
    seconds: float
    seed: int

    @property
    def recipe(self) -> Recipe:
        """All settings."""
        return yakusu.load_recipe(self.run / "recipe.toml")

    @property
    def pairs(self) -> Pairs:
        """The training pairs."""
        return Pairs.open(self.run / "data", "train")

    @property
    def vocab_size(self) -> int:
        """V, padding included."""
        return Tokenizer.load(self.run / "data").src_vocab_size


class TimeUpError(Exception):
    """Ends a training run from outside, before it validates or saves anything."""


class Watch(Silent):
    """Times the steps of a trainer, as whose progress display it poses."""

    def __init__(self, seconds: float) -> None:
        self._limit = seconds
        self.trainer: Trainer | None = None
        self.steps = self.tokens = 0
        self.seconds = 0.0

    def track(self, what: str, unit: str, total: int | None) -> nullcontext[Tracker]:
        """Show nothing, and be told of each step."""
        return nullcontext(self)

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        """A step is done."""
        assert self.trainer
        state = self.trainer.state
        if state.step <= WARMUP_STEPS:
            self._start, self._tokens_before = time.perf_counter(), state.target_tokens
            return
        self.seconds = time.perf_counter() - self._start
        self.steps, self.tokens = self.steps + n, state.target_tokens - self._tokens_before
        if self.seconds >= self._limit:
            raise TimeUpError


def train(job: Job) -> Throughput:
    """Train with the real trainer, as `yakusu train` does."""
    keep_freed_memory()
    recipe, pairs, size = job.recipe, job.pairs, job.vocab_size
    torch.manual_seed(job.seed)
    watch = Watch(job.seconds)
    watch.trainer = Trainer(
        models["transformer"](recipe.model, src_vocab_size=size, tgt_vocab_size=size),
        TrainingData(pairs, Pairs.open(job.run / "data", "dev"), recipe.batches, job.seed),
        config=recipe.training,
        score=lambda model: Score("BLEU", 0.0, "not measured"),
        output=TrainingOutput(job.run / "never", record=lambda event: None, progress=watch),
    )
    with suppress(TimeUpError):
        watch.trainer.run()
    batch_tokens = recipe.batches.batch_tokens_on("cpu")
    padding = 1 - fullness(pairs, cut_by_length(np.arange(len(pairs)), pairs, batch_tokens))
    return Throughput(watch.tokens, watch.seconds, padding, watch.steps)
