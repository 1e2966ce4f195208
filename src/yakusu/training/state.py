"""All that a run is besides its tensors: where it is, the time it takes, its random numbers."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch


@dataclass
class TrainerState:
    """Saved with each checkpoint as state.json."""

    step: int = 0
    epoch: int = 0
    step_in_epoch: int = 0
    epoch_share: float = 0.0  # how much of the epoch is done
    best: float | None = None  # higher is better: BLEU, or minus the perplexity
    best_step: int = 0
    best_kept: int = 0  # the step of the best checkpoint that could be written
    bad_validations: int = 0
    seconds: float = 0.0
    target_tokens: int = 0
    validated: int = 0  # the step of the last validation
    skipped: int = 0  # steps whose loss or gradient was not finite
    n_processes: int = 1
    milestones: list[int] = field(default_factory=list)  # steps whose checkpoints are averaged
    made_by: dict[str, Any] = field(default_factory=dict)  # versions and hardware


class Clock:
    """Time spent training, kept in the state across interruptions, and the speed since the log."""

    def __init__(self, state: TrainerState) -> None:
        self.state, self.note = state, ""
        now = time.monotonic()
        self._begin, self._saved, self._logged = now - state.seconds, now, now
        self._mark = (now, state.target_tokens)

    def tick(self) -> None:
        """A step is done."""
        self.state.seconds = time.monotonic() - self._begin

    @property
    def since_save(self) -> float:
        """Seconds since the last checkpoint."""
        return time.monotonic() - self._saved

    @property
    def since_log(self) -> float:
        """Seconds since the speed was last asked for."""
        return time.monotonic() - self._logged

    def saved(self) -> None:
        """A checkpoint was written; what it took is not counted as training speed."""
        self._saved = time.monotonic()
        self._mark = (time.monotonic(), self.state.target_tokens)

    def tokens_per_second(self) -> float:
        """Target tokens a second since this was last asked or a checkpoint was written."""
        (before, tokens), now = self._mark, time.monotonic()
        self._mark, self._logged = (now, self.state.target_tokens), now
        speed = (self.state.target_tokens - tokens) / max(now - before, 1e-9)
        self.note = f"{speed:,.0f} target tokens/s"
        return round(speed, 1)


def seed_step(seed: int, step: int, rank: int = 0) -> None:
    """Make torch's random numbers a pure function of (seed, step, rank)."""
    entropy = np.random.SeedSequence([seed, step, rank])
    torch.manual_seed(int(entropy.generate_state(1, np.uint64)[0]))
