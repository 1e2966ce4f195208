"""The loop: accumulate, step, validate, save, resume.

All that is random in a step follows from (seed, step), and the order of the data from
(seed, epoch), so a run that was stopped goes on as if it never had been (docs/decisions/0006).
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from signal import Signals
from typing import Any

import numpy as np
import torch
from torch import nn

from yakusu.data.batches import BatchConfig, Indices, cut_by_length, epoch_steps
from yakusu.data.pairs import Pairs
from yakusu.device import made_by, out_of_memory
from yakusu.errors import RunError, SignalError
from yakusu.metrics import Score
from yakusu.model.base import Seq2Seq
from yakusu.progress import Progress, Tracker
from yakusu.training.checkpoint import Saving, restore
from yakusu.training.config import TrainingConfig
from yakusu.training.distributed import Group, whole, whole_model
from yakusu.training.loss import zero_point
from yakusu.training.schedule import expected_steps, limit_reached, lrate
from yakusu.training.signals import Stop
from yakusu.training.state import Clock, TrainerState, seed_step
from yakusu.training.step import Gradient, ModelLoss, Sums, loss_of

_LOG_SECONDS = 60.0  # something is to be seen this often
Event = dict[str, Any]


class Trainer:
    """Trains a model on binarised pairs.

    Args:
        model: What to train, on its device.
        train: Training pairs.
        dev: Pairs to validate on.
        config: How.
        batches: Sizes of steps and batches.
        seed: Of the order of the data and of dropout.
        folder: Where checkpoints go.
        score: Of real beam output on the dev set.
        record: Receives each event of the log.
        progress: Watches.
        group: The processes that train together.
        stop: Says when a signal has come.
    """

    def __init__(
        self,
        model: Seq2Seq,
        *,
        train: Pairs,
        dev: Pairs,
        config: TrainingConfig,
        batches: BatchConfig,
        seed: int,
        folder: Path,
        score: Callable[[Seq2Seq], Score],
        record: Callable[[Event], None],
        progress: Progress,
        group: Group | None = None,
        stop: Stop | None = None,
    ) -> None:
        self.config, self.seed = config, seed
        self.train_pairs, self.dev_pairs = train, dev
        self.score, self.record, self.progress = score, record, progress
        self.group, self.stop = group or Group(), stop or Stop()
        self.model, self.device = model, model.output_weight.device
        self.step_tokens = batches.step_tokens
        self.batch_tokens = batches.batch_tokens_on(self.device.type)
        on_gpu = self.device.type != "cpu"
        self.bf16 = config.precision == "bf16" or (config.precision == "auto" and on_gpu)
        compiled = config.compile == "yes" or (config.compile == "auto" and on_gpu)
        loss = ModelLoss(model, epsilon=config.label_smoothing, bf16=self.bf16, compiled=compiled)
        self.gradient = Gradient(loss, self.group, sharded=config.sharded)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            betas=(config.adam_beta1, config.adam_beta2),
            eps=config.adam_epsilon,
            fused=True,
        )
        self.state = TrainerState(n_processes=self.group.size, made_by=made_by(self.device))
        self.saving = Saving(folder, self.group, max_failed=config.max_failed_saves)
        self._since_log: list[Sums] = []
        self._saved_step, self._unsaved = -1, 0.0

    def run(self) -> str:
        """Train until a limit of the recipe is reached; return which one.

        Raises:
            SignalError: SIGTERM or SIGINT came; a checkpoint was written.
            RunError: Memory ran out, too many steps were not finite, too many checkpoints could
                not be written, or a process was lost.
        """
        clock = Clock(self.state)
        try:
            with self.progress.track("training", "steps", self.config.max_steps) as tracker:
                tracker.advance(self.state.step)
                self._validate_and_save(clock)  # what a signal had put off
                reason = self._train(clock, tracker)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            raise RunError(
                f"out of memory at step {self.state.step}: set "
                f"batches.batch_tokens={self.batch_tokens // 2} in a new run"
            ) from error
        if signal := self._agree(clock):  # it came during the last validation
            raise SignalError(
                f"{Signals(signal).name}: stopped after step {self.state.step:,}, the last; the "
                "same command makes the model",
                signal,
            )
        return reason

    def _train(self, clock: Clock, tracker: Tracker) -> str:
        while not (reason := limit_reached(self.config, self.state)):
            for batches in self._epoch():
                self._step(batches)
                clock.tick()
                note = f"epoch {self.state.epoch + 1}, {clock.note}"
                tracker.advance(1, note=note, total=expected_steps(self.config, self.state))
                self._after_step(clock)
                if reason := limit_reached(self.config, self.state):
                    return reason
            self.state.epoch += 1
            self.state.step_in_epoch, self.state.epoch_share = 0, 0.0
        return reason

    def _epoch(self) -> Iterator[list[Indices]]:
        """What is left of the state's epoch."""
        steps = epoch_steps(
            self.train_pairs,
            step_tokens=self.step_tokens,
            batch_tokens=self.batch_tokens,
            seed=self.seed,
            epoch=self.state.epoch,
        )
        for i in range(self.state.step_in_epoch, len(steps)):
            self.state.step_in_epoch, self.state.epoch_share = i + 1, (i + 1) / len(steps)
            yield steps[i]

    def _step(self, batches: list[Indices]) -> None:
        """One update: the gradient of the mean loss over all target tokens of the batches."""
        state, config = self.state, self.config
        state.step += 1
        self.model.train()
        sums = self.gradient.accumulate(
            self.train_pairs,
            batches,
            seed=lambda: seed_step(self.seed, state.step, self.group.rank),
        )
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        with self.group.exchange():
            norm = whole(nn.utils.get_total_norm(gradients))
        if math.isfinite(sums.smoothed) and math.isfinite(norm):
            if config.clip_norm:
                nn.utils.clip_grads_with_norm_(self.model.parameters(), config.clip_norm, norm)
            for group in self.optimizer.param_groups:
                group["lr"] = self.learning_rate
            self.optimizer.step()
            state.target_tokens += sums.n_tokens
            self._since_log.append(sums)
        else:
            self._skip(batches)
        self.optimizer.zero_grad(set_to_none=True)

    def _skip(self, batches: list[Indices]) -> None:
        """Leave the weights as they are; too many such steps end the run."""
        state, limit = self.state, self.config.max_skipped
        state.skipped += 1
        lines = sorted(self.train_pairs.lines[np.concatenate(batches)].tolist())
        self.record(
            {
                "event": "skip",
                "step": state.step,
                "epoch": round(state.epoch + state.epoch_share, 3),
                "skipped": state.skipped,
                "lines": lines,
            }
        )
        if state.skipped <= limit:
            return
        saved = "whole" if self.save() else "of an earlier step"
        shown = ", ".join(map(str, lines[:10])) + (", ..." if len(lines) > 10 else "")
        raise RunError(
            f"step {state.step:,}: loss or gradient is not finite, for more than "
            f"training.max_skipped = {limit} steps; lines {shown} of the training text (all in "
            f"log.jsonl); the checkpoint is {saved}: look at those lines, or lower "
            "training.lr_scale or set training.clip_norm=1.0 in a new run"
        )

    @property
    def learning_rate(self) -> float:
        """Eq. 3 at the state's step."""
        return lrate(
            max(1, self.state.step),
            d_model=self.model.output_weight.shape[1],
            warmup_steps=self.config.warmup_steps,
            scale=self.config.lr_scale,
        )

    def _after_step(self, clock: Clock) -> None:
        """Log, validate and save where they are due."""
        step, config = self.state.step, self.config
        signal = self._agree(clock)
        due = step % config.log_steps == 0 or clock.since_log > _LOG_SECONDS
        if due and self._since_log:
            self._log(clock)
        if not signal:
            self._validate_and_save(clock)
        by_steps = config.checkpoint_steps and step % config.checkpoint_steps == 0
        by_time = config.checkpoint_minutes and self._unsaved > 60 * config.checkpoint_minutes
        if signal:
            where = "there" if self.save() else "an earlier checkpoint"
            raise SignalError(
                f"{Signals(signal).name}: stopped after step {step:,}; the same command goes on "
                f"from {where}",
                signal,
            )
        if (by_steps or by_time) and self._saved_step != step:
            self.save()
            clock.saved()

    def _agree(self, clock: Clock) -> int:
        """Let rank 0's clock be everyone's; return the signal that came to any process, or 0."""
        all_ = self.group.join([(self.stop.signal, clock.since_save, self.state.seconds)])
        _, self._unsaved, self.state.seconds = all_[0]
        return max(signal for signal, _, _ in all_)

    def _validate_and_save(self, clock: Clock) -> None:
        """Make a milestone of this step, if it is to be one and is not yet."""
        state = self.state
        due = state.step % self.config.validate_steps == 0 or bool(
            limit_reached(self.config, self.state)
        )
        if not due or state.validated == state.step:
            return
        self._validate()
        self.save(milestone=True)
        clock.saved()

    def _log(self, clock: Clock) -> None:
        smoothed, nll, n = (sum(values) for values in zip(*self._since_log, strict=True))
        self._since_log.clear()
        state = self.state
        self.record(
            {
                "event": "train",
                "step": state.step,
                "epoch": round(state.epoch + state.epoch_share, 3),
                "loss": smoothed / n,
                "loss_zero_point": zero_point(
                    len(self.model.output_weight) - 1, self.config.label_smoothing
                ),
                "perplexity": math.exp(min(nll / n, 100.0)),
                "learning_rate": self.learning_rate,
                "tokens_per_second": clock.tokens_per_second(),
                "seconds": round(state.seconds, 1),
            }
        )

    def _validate(self) -> None:
        state, began = self.state, time.monotonic()
        state.validated = state.step
        model = whole_model(self.model, self.group).eval()
        perplexity, score = self.dev_perplexity(model), self.score(model)
        value = score.value if self.config.best_by == "score" else -perplexity
        if state.best is None or value > state.best:
            state.best, state.best_step, state.bad_validations = value, state.step, 0
        else:
            state.bad_validations += 1
        self.record(
            {
                "event": "validate",
                "step": state.step,
                "epoch": round(state.epoch + state.epoch_share, 3),
                "dev_perplexity": perplexity,
                "score": score.name,
                f"dev_{score.name.lower()}": score.value,
                "best_step": state.best_step,
                "bad_validations": state.bad_validations,
                "validation_seconds": round(time.monotonic() - began, 1),
                "seconds": round(state.seconds, 1),
            }
        )

    def dev_perplexity(self, model: Seq2Seq) -> float:
        """Plain perplexity a token on the dev set, eos counted."""
        loss = ModelLoss(model, epsilon=0.0, bf16=self.bf16, compiled=False)
        order = np.arange(len(self.dev_pairs))
        batches = cut_by_length(order, self.dev_pairs, self.batch_tokens)
        nll = 0.0
        with torch.no_grad():
            for batch in self.group.share(batches):
                nll += float(loss_of(loss, model, self.dev_pairs, batch).nll)
        (nll,) = self.group.sums(nll)
        return math.exp(min(nll / int(self.dev_pairs.tgt.lengths.sum()), 100.0))

    def save(self, *, milestone: bool = False) -> bool:
        """Write a checkpoint, one to average if it is a milestone; return whether that succeeded.

        Raises:
            RunError: It failed too often in a row.
        """
        state = self.state
        before = state.milestones, state.best_kept
        if milestone:
            state.milestones = [*state.milestones, state.step][-self.config.keep_last :]
            state.best_kept = state.step if state.best_step == state.step else state.best_kept
        self._saved_step = state.step
        written = self.saving.save(self.model, self.optimizer, state)
        if not written:  # the older ones are still needed
            state.milestones, state.best_kept = before
        return written

    def resume(self) -> bool:
        """Go on from the newest whole checkpoint; False where there is none.

        Raises:
            ModelError: There are checkpoints, and all are corrupt.
            RunError: They were made by another number of processes.
        """
        found = self.saving.newest(self.progress.say)
        if not found:
            return False
        checkpoint, state = found
        restore(checkpoint, self.model, self.optimizer)
        self.state = replace(state, made_by=self.state.made_by)
        self._saved_step = state.step
        return True
