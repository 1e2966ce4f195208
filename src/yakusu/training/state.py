"""The state of a run apart from its tensors: position, best result, time and random numbers."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from pydantic import TypeAdapter, ValidationError

from yakusu.data.batches import BatchConfig
from yakusu.device import MadeBy, made_by, out_of_memory
from yakusu.errors import ModelError, RunError
from yakusu.folder import read_json, write_json
from yakusu.training.config import TrainingConfig, TrainingEngine
from yakusu.training.environment import Environment

VERSION = 1  # of state.json


@dataclass(kw_only=True)
class TrainerState:
    """What a checkpoint stores as state.json.

    Attributes:
        step: Steps done, including skipped ones.
        epoch: Completed epochs.
        step_in_epoch: Steps done in the current epoch.
        epoch_share: Completed share of the current epoch, from 0 to 1.
        best: Best validation result: the score, or the negative perplexity; higher is better.
        best_step: Step of the best validation.
        best_kept: Step of the best checkpoint that was written successfully.
        bad_validations: Number of validations since the best one.
        seconds: Wall time, including validation and saving, over all resumptions.
        target_tokens: Target tokens of all steps that were not skipped.
        validated: Step of the last validation.
        skipped: Steps whose loss or gradient was not finite.
        n_processes: Number of processes.
        milestones: Steps whose checkpoints are averaged.
        made_by: Software versions and hardware.
        batch_tokens: Size of a batch; 0 in older files.
        pass_tokens: Size of a pass; 0, as in older files: a batch per pass.
        engine: The engine that translates the dev set; torch in older files.
        environments: The environments that the run was trained in, the last one last; none in
            older files.
        version: Version of state.json; a file without one has version 1.
    """

    step: int = 0
    epoch: int = 0
    step_in_epoch: int = 0
    epoch_share: float = 0.0
    best: float | None = None
    best_step: int = 0
    best_kept: int = 0
    bad_validations: int = 0
    seconds: float = 0.0
    target_tokens: int = 0
    validated: int = 0
    skipped: int = 0
    n_processes: int = 1
    milestones: list[int] = field(default_factory=list)
    made_by: MadeBy
    batch_tokens: int = 0
    pass_tokens: int = 0
    engine: TrainingEngine = "torch"
    environments: list[Environment] = field(default_factory=list)
    version: int = VERSION

    @classmethod
    def new(
        cls,
        config: TrainingConfig,
        batches: BatchConfig,
        device: torch.device,
        *,
        packs: bool,
        n_processes: int,
        environment: Environment,
    ) -> "TrainerState":
        """Return the state of a run before its first step."""
        return cls(
            n_processes=n_processes,
            batch_tokens=batches.batch_tokens_on(device.type),
            pass_tokens=batches.pass_tokens_on(device.type, packs=packs),
            engine=config.engine,
            made_by=made_by(device),
            environments=[environment],
        )

    @property
    def epochs(self) -> float:
        """Epochs done, including the completed share of the current one."""
        return self.epoch + self.epoch_share

    def add_validation(self, value: float) -> None:
        """Record the result of a validation at this step; higher is better."""
        if self.best is None or value > self.best:
            self.best, self.best_step, self.bad_validations = value, self.step, 0
        else:
            self.bad_validations += 1


def write_state(checkpoint: Path, state: TrainerState) -> None:
    """Write state.json into the folder of a checkpoint."""
    write_json(checkpoint / "state.json", asdict(state))


def read_state(checkpoint: Path) -> TrainerState:
    """Read state.json from the folder of a checkpoint.

    Raises:
        ModelError: The file is missing, is not valid, or is of a newer version.
    """
    path = checkpoint / "state.json"
    try:
        state = TypeAdapter(TrainerState).validate_python(read_json(path))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} is not a valid training state: {_reason(error)}") from error
    if state.version > VERSION:
        raise ModelError(
            f"{path} has version {state.version}, but this version of yakusu reads {VERSION}: "
            "update yakusu"
        )
    return state


def _reason(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


class Clock:
    """The wall time of a run, kept in the state across resumptions, and the training speed.

    The time includes validation and saving; the speed does not.
    """

    def __init__(self, state: TrainerState) -> None:
        self.state = state
        now = time.monotonic()
        self._start, self._saved, self._logged = now - state.seconds, now, now
        self._mark = (now, state.target_tokens)

    def tick(self) -> None:
        """Update the time in the state."""
        self.state.seconds = time.monotonic() - self._start

    @property
    def since_save(self) -> float:
        """Seconds since the last checkpoint."""
        return time.monotonic() - self._saved

    @property
    def since_log(self) -> float:
        """Seconds since the last call of `tokens_per_second`."""
        return time.monotonic() - self._logged

    def saved(self) -> None:
        """Record that a checkpoint was written; the speed is measured from now on."""
        self._saved = time.monotonic()
        self._mark = (time.monotonic(), self.state.target_tokens)

    def tokens_per_second(self) -> float:
        """Target tokens per second since the last call, or since the last checkpoint."""
        (before, tokens), now = self._mark, time.monotonic()
        self._mark, self._logged = (now, self.state.target_tokens), now
        speed = (self.state.target_tokens - tokens) / max(now - before, 1e-9)
        return round(speed, 1)


def seed_step(seed: int, step: int, rank: int = 0) -> None:
    """Make torch's random numbers a pure function of (seed, step, rank), docs/decisions/0006."""
    entropy = np.random.SeedSequence([seed, step, rank])
    torch.manual_seed(int(entropy.generate_state(1, np.uint64)[0]))


@contextmanager
def explained_out_of_memory(state: Callable[[], TrainerState], fix: str = "") -> Iterator[None]:
    """Turn an error of missing memory into one that names the step and what to do.

    Args:
        state: Returns the state of the run at the time of the error.
        fix: What to do in a new run; "": use smaller batches.

    Raises:
        RunError: Memory ran out.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        fix = fix or f"set batches.batch_tokens={state().batch_tokens // 2}"
        raise RunError(f"out of memory at step {state().step}: {fix} in a new run") from error


def some_of(lines: Sequence[int]) -> str:
    """Return the first ten line numbers as text, with ", ..." if there are more."""
    return ", ".join(map(str, lines[:10])) + (", ..." if len(lines) > 10 else "")


def skipped_too_often(
    state: TrainerState, limit: int, lines: Sequence[int], *, saved: bool
) -> RunError:
    """Return the error of a run with more than `limit` skipped steps.

    Args:
        state: The state after the last of them.
        limit: `training.max_skipped`.
        lines: Lines of the training text in the last of them.
        saved: Whether a checkpoint of this step was written.
    """
    step = "this step" if saved else "an earlier step"
    return RunError(
        f"step {state.step:,}: loss or gradient is not finite, in more than "
        f"training.max_skipped = {limit} steps; the last checkpoint is from {step}: check "
        f"lines {some_of(lines)} of the training text (all are in log.jsonl), or lower "
        "training.lr_scale or set training.clip_norm=1.0 in a new run"
    )


def refuse_mostly_skipped(state: TrainerState) -> None:
    """Raise an error if a run, at its end, has skipped more than half of its steps.

    Raises:
        RunError: It has.
    """
    if state.skipped > state.step / 2:
        raise RunError(
            f"{state.skipped:,} of {state.step:,} steps were skipped because their loss or "
            "gradient is not finite: lower training.lr_scale or set training.clip_norm=1.0 "
            "in a new run"
        )
