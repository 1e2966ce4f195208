"""The loop: accumulate, step, validate, save, resume.

All that is random in a step follows from (seed, step), and the order of the data from
(seed, epoch), so a run that was stopped goes on as if it never had been (docs/decisions/0006).
"""

import math
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from yakusu.batches import BatchConfig, Indices, collate, cut_by_length, epoch_steps
from yakusu.config import Config
from yakusu.data import Pairs
from yakusu.model.base import Seq2Seq
from yakusu.progress import Progress
from yakusu.training.checkpoint import (
    Tensors,
    checkpoints,
    load_tensors,
    read_json,
    save_folder,
    save_tensors,
    step_of,
    verify_folder,
    write_json,
)
from yakusu.training.device import pick_device
from yakusu.training.loss import Loss, smoothed_loss, zero_point
from yakusu.training.schedule import lrate

Event = dict[str, Any]


class TrainingConfig(Config):
    """How the weights are learnt; the defaults are the paper's (section 5)."""

    warmup_steps: int = Field(4000, ge=1)
    lr_scale: float = Field(1.0, gt=0)  # times Eq. 3
    adam_beta1: float = Field(0.9, ge=0, lt=1)
    adam_beta2: float = Field(0.98, ge=0, lt=1)
    adam_epsilon: float = Field(1e-9, gt=0)
    label_smoothing: float = Field(0.1, ge=0, lt=1)  # epsilon_ls
    clip_norm: float = Field(0.0, ge=0)  # 0: gradients are not clipped
    precision: Literal["auto", "fp32", "bf16"] = "auto"  # auto: bf16 autocast on a GPU
    compile: Literal["auto", "yes", "no"] = "auto"  # auto: torch.compile on a GPU
    device: str = "auto"  # auto: a GPU where there is one
    max_steps: int = Field(100_000, ge=1)
    max_epochs: float = Field(0.0, ge=0)  # 0: no limit
    max_hours: float = Field(0.0, ge=0)  # 0: no limit
    patience: int = Field(0, ge=0)  # validations without a new best before stopping; 0: no limit
    validate_steps: int = Field(1000, ge=1)  # validate, and keep a checkpoint to average
    keep_last: int = Field(5, ge=1)  # how many of these are kept and averaged
    checkpoint_minutes: float = Field(10.0, ge=0)  # also save this often; 0: not by time
    checkpoint_steps: int = Field(0, ge=0)  # also save this often; 0: not by steps
    best_by: Literal["bleu", "perplexity"] = "bleu"
    log_steps: int = Field(50, ge=1)


@dataclass
class TrainerState:
    """All that a run is besides its tensors."""

    step: int = 0
    epoch: int = 0
    step_in_epoch: int = 0
    epoch_share: float = 0.0  # how much of the epoch is done
    best: float | None = None  # higher is better: BLEU, or minus the perplexity
    best_step: int = 0
    bad_validations: int = 0
    seconds: float = 0.0
    target_tokens: int = 0
    milestones: list[int] = field(default_factory=list)  # steps whose checkpoints are averaged


class Trainer:
    """Trains a model on binarised pairs.

    Args:
        model: What to train.
        train: Training pairs.
        dev: Pairs to validate on.
        config: How.
        batches: Sizes of steps and batches.
        seed: Of the order of the data and of dropout.
        folder: Where checkpoints go.
        bleu: BLEU of real beam output on the dev set.
        record: Receives each event of the log.
        progress: Watches.
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
        bleu: Callable[[Seq2Seq], float],
        record: Callable[[Event], None],
        progress: Progress,
    ) -> None:
        self.config, self.seed, self.folder = config, seed, folder
        self.train_pairs, self.dev_pairs = train, dev
        self.bleu, self.record, self.progress = bleu, record, progress
        self.device = pick_device(config.device)
        self.model = model.to(self.device)
        on_gpu = self.device.type != "cpu"
        self.step_tokens = batches.step_tokens
        self.batch_tokens = batches.batch_tokens_on(self.device.type)
        self.bf16 = config.precision == "bf16" or (config.precision == "auto" and on_gpu)
        compiled = config.compile == "yes" or (config.compile == "auto" and on_gpu)
        self.forward: nn.Module = torch.compile(model, dynamic=True) if compiled else model  # type: ignore[assignment]
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            betas=(config.adam_beta1, config.adam_beta2),
            eps=config.adam_epsilon,
            fused=True,
        )
        self.state = TrainerState()
        self._since_log: list[tuple[Tensor, Tensor, int]] = []

    def run(self) -> str:
        """Train until a limit of the recipe is reached; return which one."""
        clock = _Clock(self.state)
        with self.progress.task("training", "steps", self.config.max_steps) as task:
            task.advance(self.state.step)
            while not (reason := self.limit_reached()):
                for batches in self._epoch():
                    self._step(batches)
                    clock.tick()
                    task.advance(1, note=f"epoch {self.state.epoch + 1}, {clock.note}")
                    self._after_step(clock)
                    if reason := self.limit_reached():
                        return reason
                self.state.epoch += 1
                self.state.step_in_epoch, self.state.epoch_share = 0, 0.0
        return reason

    def limit_reached(self) -> str:
        """Which limit of the recipe ends the run now; "" if none does."""
        state, config = self.state, self.config
        if state.step >= config.max_steps:
            return f"max_steps = {config.max_steps}"
        if config.max_epochs and state.epoch + state.epoch_share >= config.max_epochs:
            return f"max_epochs = {config.max_epochs:g}"
        if config.max_hours and state.seconds >= 3600 * config.max_hours:
            return f"max_hours = {config.max_hours:g}"
        if config.patience and state.bad_validations >= config.patience:
            return f"patience = {config.patience} validations without a better {config.best_by}"
        return ""

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
        seed_step(self.seed, state.step)
        self.model.train()
        n_tokens = int(sum(self.train_pairs.tgt.lengths_of(batch).sum() for batch in batches))
        smoothed = nll = torch.zeros((), device=self.device)
        for batch in batches:
            loss = self._loss(self.train_pairs, batch)
            (loss.smoothed / n_tokens).backward()
            smoothed, nll = smoothed + loss.smoothed.detach(), nll + loss.nll
        if config.clip_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), config.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        state.target_tokens += n_tokens
        self._since_log.append((smoothed, nll, n_tokens))

    @property
    def learning_rate(self) -> float:
        """Eq. 3 at the state's step."""
        return lrate(
            max(1, self.state.step),
            d_model=self.model.output_weight.shape[1],
            warmup_steps=self.config.warmup_steps,
            scale=self.config.lr_scale,
        )

    def _loss(self, pairs: Pairs, batch: Indices) -> Loss:
        padded = collate(pairs, batch, src_pad=self.model.src_pad, tgt_pad=self.model.tgt_pad)
        padded = padded.to(self.device)
        real = padded.tgt != self.model.tgt_pad  # (B, T)
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            hidden = self.forward(padded.src, padded.tgt)[real]  # (N, D)
            return smoothed_loss(
                hidden,
                self.model.output_weight,
                padded.tgt[real],
                epsilon=self.config.label_smoothing,
            )

    def _after_step(self, clock: "_Clock") -> None:
        """Log, validate and save where they are due."""
        step, config = self.state.step, self.config
        if step % config.log_steps == 0:
            self._log(clock)
        milestone = step % config.validate_steps == 0 or bool(self.limit_reached())
        if milestone:
            self._validate()
            self.state.milestones.append(step)
        by_steps = config.checkpoint_steps and step % config.checkpoint_steps == 0
        by_time = config.checkpoint_minutes and clock.since_save > 60 * config.checkpoint_minutes
        if milestone or by_steps or by_time:
            self.save()
            clock.saved()

    def _log(self, clock: "_Clock") -> None:
        smoothed, nll, n = (sum(float(x[i]) for x in self._since_log) for i in range(3))
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
        self.model.eval()
        perplexity, bleu = self.dev_perplexity(), self.bleu(self.model)
        value = bleu if self.config.best_by == "bleu" else -perplexity
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
                "dev_bleu": bleu,
                "best_step": state.best_step,
                "bad_validations": state.bad_validations,
                "validation_seconds": round(time.monotonic() - began, 1),
                "seconds": round(state.seconds, 1),
            }
        )

    def dev_perplexity(self) -> float:
        """Plain perplexity a token on the dev set, eos counted."""
        order = np.arange(len(self.dev_pairs))
        nll = 0.0
        with torch.no_grad():
            for batch in cut_by_length(order, self.dev_pairs, self.batch_tokens):
                nll += float(self._loss(self.dev_pairs, batch).nll)
        return math.exp(min(nll / int(self.dev_pairs.tgt.lengths.sum()), 100.0))

    def save(self) -> Path:
        """Write a checkpoint of this step; let go of those that nobody needs any more."""
        folder = self.folder / f"step-{self.state.step:08}"
        self.state.milestones = self.state.milestones[-self.config.keep_last :]

        def fill(temporary: Path) -> None:
            save_tensors(temporary / "model.safetensors", self.model.weights())
            save_tensors(temporary / "optimizer.safetensors", self._optimizer_tensors())
            write_json(temporary / "state.json", asdict(self.state))

        save_folder(folder, fill)
        needed = {*self.state.milestones, self.state.best_step, self.state.step}
        for other in checkpoints(self.folder):
            if step_of(other) not in needed:
                shutil.rmtree(other)
        return folder

    def resume(self) -> bool:
        """Go on from the newest checkpoint; False where there is none.

        Raises:
            ModelError: The checkpoint is corrupt.
        """
        saved = checkpoints(self.folder)
        if not saved:
            return False
        verify_folder(saved[-1])
        self.model.load_weights(load_tensors(saved[-1] / "model.safetensors"))
        self._load_optimizer(load_tensors(saved[-1] / "optimizer.safetensors"))
        self.state = TrainerState(**read_json(saved[-1] / "state.json"))
        return True

    def _optimizer_tensors(self) -> Tensors:
        return {
            f"{key}/{name}": tensor
            for name, parameter in self.model.named_parameters()
            for key, tensor in self.optimizer.state[parameter].items()
        }

    def _load_optimizer(self, tensors: Tensors) -> None:
        for name, parameter in self.model.named_parameters():
            self.optimizer.state[parameter] = {
                key: tensors[f"{key}/{name}"].to(parameter.device)
                for key in ("step", "exp_avg", "exp_avg_sq")
            }


class _Clock:
    """Time spent training, kept in the state across interruptions, and the speed since the log."""

    def __init__(self, state: TrainerState) -> None:
        self.state, self.note = state, ""
        self._begin = time.monotonic() - state.seconds
        self._saved = time.monotonic()
        self._mark = (time.monotonic(), state.target_tokens)

    def tick(self) -> None:
        """A step is done."""
        self.state.seconds = time.monotonic() - self._begin

    @property
    def since_save(self) -> float:
        """Seconds since the last checkpoint."""
        return time.monotonic() - self._saved

    def saved(self) -> None:
        """A checkpoint was written; what it took is not counted as training speed."""
        self._saved = time.monotonic()
        self._mark = (time.monotonic(), self.state.target_tokens)

    def tokens_per_second(self) -> float:
        """Target tokens a second since this was last asked or a checkpoint was written."""
        (before, tokens), now = self._mark, time.monotonic()
        self._mark = (now, self.state.target_tokens)
        speed = (self.state.target_tokens - tokens) / max(now - before, 1e-9)
        self.note = f"{speed:,.0f} target tokens/s"
        return round(speed, 1)


def seed_step(seed: int, step: int) -> None:
    """Make torch's random numbers a pure function of (seed, step)."""
    torch.manual_seed(int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0]))
