"""The training loop: `Trainer.run`.

All randomness of a step is a function of (seed, step, rank), and the order of the data a function
of (seed, epoch), so a resumed run gives the same bytes as one that was never interrupted
(docs/decisions/0006).
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from signal import Signals
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from yakusu.data.batches import BatchConfig, Indices, epoch_steps
from yakusu.data.pairs import Pairs
from yakusu.errors import SignalError
from yakusu.metrics import Score
from yakusu.model.base import Seq2Seq
from yakusu.progress import Progress, Tracker
from yakusu.training.checkpoint import RunCheckpoints
from yakusu.training.config import TrainingConfig
from yakusu.training.distributed import Group, full_model, full_tensor, wrap
from yakusu.training.environment import Environment, check_environment
from yakusu.training.log import Event, SkipEvent, TrainEvent, ValidateEvent
from yakusu.training.loss import zero_point
from yakusu.training.moving_average import MovingAverage
from yakusu.training.schedule import expected_steps, limit_reached, lrate
from yakusu.training.signals import StopSignal
from yakusu.training.state import (
    Clock,
    TrainerState,
    explained_out_of_memory,
    refuse_mostly_skipped,
    seed_step,
    skipped_too_often,
)
from yakusu.training.step import ModelLoss, Step, StepSums, dev_perplexity

_LOG_SECONDS = 60.0  # log at least this often
_LONG_STEP = 10.0  # seconds of a step that is not measured as a whole
_PROBED = 8  # pairs that are measured instead
LESS_MEMORY = "set search.beam=1 or training.engine=native"  # for translations of the dev set


@dataclass(frozen=True)
class TrainingData:
    """The pairs, and how they are divided into steps and batches."""

    train: Pairs
    dev: Pairs  # for validation
    batches: BatchConfig  # sizes of steps and batches
    seed: int  # of the data order and of dropout
    of_epoch: Callable[[int], Pairs] | None = None  # `train` as it is in an epoch; None: unchanged


@dataclass(frozen=True)
class TrainingOutput:
    """Where results go."""

    checkpoints: Path  # folder
    record: Callable[[Event], None]  # receives every event of the log
    progress: Progress


class Pace(NamedTuple):
    """The measured speed of training."""

    seconds: float  # of a step
    steps_per_epoch: int


class Trainer:
    """Trains a model on binarised pairs.

    Args:
        model: The model, on its device.
        data: Training and dev pairs.
        config: Settings of training.
        score: Scores the beam search output of the model on the dev set.
        output: Where results go.
        group: The processes that train together; None: only this process.
        stop: Stores the signal that stops training; None: signals are not handled.
    """

    def __init__(
        self,
        model: Seq2Seq,
        data: TrainingData,
        *,
        config: TrainingConfig,
        score: Callable[[Seq2Seq], Score],
        output: TrainingOutput,
        group: Group | None = None,
        stop: StopSignal | None = None,
    ) -> None:
        self.model, self.device = model, model.output_weight.device
        self.data, self.config, self.score, self.output = data, config, score, output
        self.group, self.stop = group or Group(), stop or StopSignal()
        self.bf16 = config.precision_on(self.device.type) == "bf16"
        self.loss = wrap(self._model_loss(), model, self.group, sharded=config.sharded)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            betas=(config.adam_beta1, config.adam_beta2),
            eps=config.adam_epsilon,
            fused=True,
        )
        self.average = MovingAverage(model, config.ema_decay) if config.ema_decay else None
        self.checkpoints = RunCheckpoints(
            output.checkpoints,
            model,
            self.optimizer,
            average=self.average,
            group=self.group,
            keep_last=config.keep_last,
            max_failed=config.max_failed_saves,
        )
        self.environment = Environment.of(self.device, bf16=self.bf16)
        self.state = TrainerState.new(
            config,
            data.batches,
            self.device,
            packs=model.config.packs,
            n_processes=self.group.size,
            environment=self.environment,
        )
        self._pairs = data.train  # of the current epoch
        self._since_log: list[StepSums] = []
        self._seconds_unsaved = 0.0

    def run(self) -> str:
        """Train until a limit of the recipe is reached, and return that limit.

        Raises:
            SignalError: SIGTERM, SIGINT or SIGHUP was received; a checkpoint was written.
            RunError: Memory ran out, a process was lost, or too many steps were skipped or saves
                failed.
        """
        state, clock = self.state, Clock(self.state)
        with (
            explained_out_of_memory(lambda: self.state),
            self.output.progress.track("training", "steps", self.config.max_steps) as tracker,
        ):
            tracker.advance(state.step)
            self._validate_and_save(clock)  # if a signal stopped the last run before this
            for batches in self._steps():
                step = self._begin_step(batches, self._pairs)
                while not step.done:  # repeated with smaller batches if memory runs out
                    self._backward(step)
                self._update(step)
                self._tick(clock, tracker)
                signal = self._agree(clock)
                self._log(clock)
                self._save_and_stop(signal)
                self._validate_and_save(clock)
                self._save_between_validations(clock)
        if signal := self._agree(clock):  # received during the last validation
            raise self._stopped(signal, "write the model")
        refuse_mostly_skipped(state)
        return limit_reached(self.config, state)

    def measure(self) -> Pace:
        """Compute the gradient of a step, discard it, and return the time.

        A few pairs are computed first; if a step would take long, their time is scaled up instead.
        No byte of the model changes: each step seeds its own random numbers.
        """
        steps = epoch_steps(
            self.data.train,
            step_tokens=self.data.batches.step_tokens,
            batch_tokens=self.state.batch_tokens,
            seed=self.data.seed,
            epoch=self.state.epoch,
        )
        few, whole = [steps[0][0][:_PROBED]], steps[-1]
        self._time(few)  # loads and compiles kernels
        share = self._n_tokens(few) / self._n_tokens(whole)
        seconds = self._time(few) / share / self.group.size
        return Pace(seconds if seconds > _LONG_STEP else self._time(whole), len(steps))

    def _time(self, batches: list[Indices]) -> float:
        """The seconds of the gradient of some batches, in the slowest process."""
        start, step = time.monotonic(), self._begin_step(batches, self.data.train)
        while not step.done:
            self._backward(step)
        self.model.zero_grad(set_to_none=True)
        return max(self.group.gather([time.monotonic() - start]))

    def _n_tokens(self, batches: list[Indices]) -> int:
        return int(sum(self.data.train.tgt.lengths_of(batch).sum() for batch in batches))

    def _model_loss(self) -> ModelLoss:
        config, on_gpu = self.config, self.device.type != "cpu"
        return ModelLoss(
            self.model,
            epsilon=config.label_smoothing,
            bf16=self.bf16,
            compiled=config.compile == "yes" or (config.compile == "auto" and on_gpu),
            r_drop=config.r_drop,
        )

    def _steps(self) -> Iterator[list[Indices]]:
        """Advance the state to each next step and yield its batches, until a limit is reached."""
        state, data = self.state, self.data
        while not limit_reached(self.config, state):
            self._pairs = data.of_epoch(state.epoch) if data.of_epoch else data.train
            steps = epoch_steps(
                self._pairs,
                step_tokens=data.batches.step_tokens,
                batch_tokens=self.state.batch_tokens,
                seed=data.seed,
                epoch=state.epoch,
            )
            for i in range(state.step_in_epoch, len(steps)):
                state.step += 1
                state.step_in_epoch, state.epoch_share = i + 1, (i + 1) / len(steps)
                yield steps[i]
                if limit_reached(self.config, state):
                    return
            state.epoch += 1
            state.step_in_epoch, state.epoch_share = 0, 0.0

    def _backward(self, step: Step) -> None:
        """Compute the gradient of a step, unless memory runs out."""
        with step.attempt() as loaded:
            for batch, weight in loaded:
                # Forward, loss, backward. Storing the loss in a variable would keep its graph in
                # memory when the step is repeated.
                step.mean(self.loss(batch.src, batch.tgt), weight).backward()

    def _begin_step(self, batches: list[Indices], pairs: Pairs) -> Step:
        self.model.train()
        seed = partial(seed_step, self.data.seed, self.state.step, self.group.rank)
        return Step(
            self.loss,
            self.model,
            pairs,
            batches,
            group=self.group,
            seed=seed,
            pass_tokens=self.state.pass_tokens,
        )

    def _update(self, step: Step) -> None:
        """Update the weights, unless the loss or the gradient is not finite."""
        self.state.pass_tokens = step.pass_tokens
        parameters = list(self.model.parameters())
        gradients = [p.grad for p in parameters if p.grad is not None]
        with self.group.collective():
            norm = full_tensor(nn.utils.get_total_norm(gradients))
        if math.isfinite(step.sums.smoothed) and math.isfinite(norm):
            if self.config.clip_norm:
                nn.utils.clip_grads_with_norm_(parameters, self.config.clip_norm, norm)
            for group in self.optimizer.param_groups:
                group["lr"] = self.learning_rate
            self.optimizer.step()
            if self.average:
                self.average.update(self.state.step - self.state.skipped)
            self.state.target_tokens += step.n_tokens
            self._since_log.append(step.sums)
        else:
            self._skip(step.batches)
        self.optimizer.zero_grad(set_to_none=True)

    @property
    def learning_rate(self) -> float:
        """Learning rate of the current step, Eq. 3."""
        return lrate(
            max(1, self.state.step),
            d_model=self.model.output_weight.shape[1],
            warmup_steps=self.config.warmup_steps,
            scale=self.config.lr_scale,
        )

    def _skip(self, batches: list[Indices]) -> None:
        """Record a skipped step; too many skipped steps end the run."""
        state, limit = self.state, self.config.max_skipped
        state.skipped += 1
        lines: list[int] = sorted(self.data.train.lines[np.concatenate(batches)].tolist())
        epoch = round(state.epochs, 3)
        event = SkipEvent(step=state.step, epoch=epoch, skipped=state.skipped, lines=lines)
        self.output.record(event)
        if state.skipped > limit:
            raise skipped_too_often(state, limit, lines, saved=self.checkpoints.save(state))

    def _tick(self, clock: Clock, tracker: Tracker) -> None:
        clock.tick()
        note = f"epoch {self.state.epoch + 1}"
        tracker.advance(1, note=note, total=expected_steps(self.config, self.state))

    def _agree(self, clock: Clock) -> int:
        """Use the times of rank 0; return the signal that any process received, or 0."""
        reports = self.group.gather([(self.stop.number, clock.since_save, self.state.seconds)])
        _, self._seconds_unsaved, self.state.seconds = reports[0]
        return max(number for number, _, _ in reports)

    def _log(self, clock: Clock) -> None:
        """Record the mean loss since the last event, if it is time to log."""
        state, config = self.state, self.config
        due = state.step % config.log_steps == 0 or clock.since_log > _LOG_SECONDS
        if not due or not self._since_log:
            return
        smoothed, nll, n_tokens = (sum(column) for column in zip(*self._since_log, strict=True))
        self._since_log.clear()
        n_outputs = len(self.model.output_weight) - 1
        self.output.record(
            TrainEvent(
                step=state.step,
                epoch=round(state.epochs, 3),
                loss=smoothed / n_tokens,
                loss_zero_point=zero_point(n_outputs, config.label_smoothing),
                perplexity=math.exp(min(nll / n_tokens, 100.0)),
                learning_rate=self.learning_rate,
                tokens_per_second=clock.tokens_per_second(),
                seconds=round(state.seconds, 1),
            )
        )

    def _validate_and_save(self, clock: Clock) -> None:
        """Validate and keep a checkpoint for averaging, if this is due and not done yet."""
        state = self.state
        at_limit = bool(limit_reached(self.config, state))
        if state.step % self.config.validate_steps and not at_limit:
            return
        if state.validated != state.step:
            self._validate(clock)
            self.checkpoints.save(state, milestone=True)
            clock.saved()

    def _validate(self, clock: Clock) -> None:
        state, start = self.state, time.monotonic()
        state.validated = state.step
        averaged = self.average.weights if self.average else None
        model = full_model(self.model, self.group, averaged).eval()
        perplexity = dev_perplexity(
            model, self.data.dev, self.group, batch_tokens=self.state.batch_tokens, bf16=self.bf16
        )
        with explained_out_of_memory(lambda: state, LESS_MEMORY):
            score = self.score(model)
        clock.tick()
        self._agree(clock)  # on the time, which may reach a limit
        value = score.value if self.config.best_by == "score" else -perplexity
        state.add_validation(value)
        self.output.record(
            ValidateEvent(
                step=state.step,
                epoch=round(state.epochs, 3),
                dev_perplexity=perplexity,
                score=score.name,
                dev_score=score.value,
                best_step=state.best_step,
                bad_validations=state.bad_validations,
                validation_seconds=round(time.monotonic() - start, 1),
                seconds=round(state.seconds, 1),
            )
        )

    def _save_between_validations(self, clock: Clock) -> None:
        """Save a checkpoint to resume from, if one is due by steps or by time."""
        step, config = self.state.step, self.config
        by_steps = config.checkpoint_steps and step % config.checkpoint_steps == 0
        by_time = 0 < 60 * config.checkpoint_minutes < self._seconds_unsaved
        if (by_steps or by_time) and self.checkpoints.last_step != step:
            self.checkpoints.save(self.state)
            clock.saved()

    def resume(self, *, exact: bool = False) -> bool:
        """Resume from the newest intact checkpoint.

        Args:
            exact: Refuse to continue if this environment may give other bytes.

        Returns:
            Whether there was one.

        Raises:
            YakusuError: See `RunCheckpoints.restore` and `check_environment`.
        """
        state = self.checkpoints.restore(self.output.progress.say, engine=self.config.engine)
        if state is None:
            return False
        size = state.batch_tokens or self.data.batches.batch_tokens_on(self.device.type, per_step=2)
        earlier, now = state.environments, self.environment
        if not limit_reached(self.config, state):
            where = self.checkpoints.folder / f"step-{state.step:08}"
            self.group.run_on_main(
                lambda: check_environment(earlier, now, where=where, exact=exact)
            )
        known = earlier or [Environment.of_earlier_version(state.made_by)]
        self.state = replace(
            state,
            batch_tokens=size,
            made_by=self.state.made_by,
            environments=known if known[-1] == now else [*known, now],
        )
        return True

    def _save_and_stop(self, signal: int) -> None:
        """Save a checkpoint and end the run if there was a signal."""
        if signal:
            saved = self.checkpoints.save(self.state)
            where = "there" if saved else "an earlier checkpoint"
            raise self._stopped(signal, f"resume from {where}")

    def _stopped(self, signal: int, next_: str) -> SignalError:
        return SignalError(
            f"{Signals(signal).name}: stopped after step {self.state.step:,}; rerun the same "
            f"command to {next_}",
            signal,
        )
