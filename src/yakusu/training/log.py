"""The log of a run: JSON lines in a file, and curves for TensorBoard.

Every line of log.jsonl has the keys `event`, `step`, `epoch` and `version`, followed by the keys of
its kind of event. Lines without `version` have version 1.
"""

import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from yakusu.training.state import some_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line of log.jsonl.

    Attributes:
        name: Kind of event.
        step: Steps done, including skipped ones.
        epoch: Epochs done, including the completed share of the current one.
        version: Version of the format.
    """

    name: ClassVar[str]
    step: int
    epoch: float
    version: int = 1

    def fields(self) -> dict[str, Any]:
        """Return the keys and values of the line."""
        return {"event": self.name, **asdict(self)}

    def __str__(self) -> str:
        return f"step {self.step:,}  epoch {self.epoch:.2f}"


@dataclass(frozen=True, kw_only=True)
class TrainEvent(Event):
    """Training since the last event of this kind.

    Attributes:
        loss: Smoothed loss per target token, in nats.
        loss_zero_point: Lowest value that the smoothed loss can have.
        perplexity: Perplexity per target token, without smoothing.
        learning_rate: Learning rate of the step, Eq. 3.
        tokens_per_second: Target tokens per second.
        seconds: Wall time, including validation and saving, over all resumptions.
    """

    name: ClassVar[str] = "train"
    loss: float
    loss_zero_point: float
    perplexity: float
    learning_rate: float
    tokens_per_second: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"{super().__str__()}  loss {self.loss:.3f} (lower bound {self.loss_zero_point:.3f})  "
            f"perplexity {self.perplexity:.2f}  rate {self.learning_rate:.2e}  "
            f"{self.tokens_per_second:,.0f} target tokens/s"
        )


@dataclass(frozen=True, kw_only=True)
class ValidateEvent(Event):
    """Result of a validation.

    Attributes:
        dev_perplexity: Perplexity per target token of the dev set.
        score: Name of the score, such as BLEU.
        dev_score: Its value on the dev set; its key in log.jsonl is `dev_bleu` for BLEU.
        dev_chrf: chrF on the dev set; None, and no key, for a parser.
        best_step: Step of the best validation so far.
        bad_validations: Number of validations since then.
        validation_seconds: Duration of this validation.
        seconds: Wall time, including validation and saving, over all resumptions.
    """

    name: ClassVar[str] = "validate"
    dev_perplexity: float
    score: str
    dev_score: float
    best_step: int
    bad_validations: int
    validation_seconds: float
    seconds: float
    dev_chrf: float | None = None

    def fields(self) -> dict[str, Any]:
        """Return the keys and values of the line."""
        key = f"dev_{self.score.lower()}"
        fields = {key if k == "dev_score" else k: v for k, v in super().fields().items()}
        return {k: v for k, v in fields.items() if v is not None}

    def __str__(self) -> str:
        best = "  (best so far)" if self.best_step == self.step else ""
        return (
            f"{super().__str__()}  dev perplexity {self.dev_perplexity:.2f}  "
            f"dev {self.score} {self.dev_score:.2f}{best}"
        )


@dataclass(frozen=True, kw_only=True)
class SkipEvent(Event):
    """A step that was skipped because its loss or gradient was not finite.

    Attributes:
        skipped: Skipped steps of the run so far, including this one.
        lines: Line numbers of the training text in the step.
    """

    name: ClassVar[str] = "skip"
    skipped: int
    lines: list[int]

    def __str__(self) -> str:
        return (
            f"{super().__str__()}  skipped: its loss or gradient is not finite ({self.skipped} "
            f"skipped so far; lines {some_of(self.lines)})"
        )


class RunLog:
    """Appends events to `log.jsonl` and `tensorboard/` of a run folder.

    When the disk is full, lines of the log are lost but training continues.

    Args:
        run: The run folder.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self._warned = False

    def __enter__(self) -> "RunLog":
        """Open the log; nothing is written before."""
        from torch.utils.tensorboard import SummaryWriter  # takes long to import

        self._file = (self._run / "log.jsonl").open("ab+", buffering=0)
        self._tensorboard = SummaryWriter(str(self._run / "tensorboard"))
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        try:
            self._tensorboard.close()
        except OSError as failure:
            self._warn(failure)

    def record(self, event: Event) -> None:
        """Write one event to the file and to TensorBoard."""
        fields = event.fields()
        try:
            self._append(json.dumps(fields))
            for name, value in fields.items():
                if isinstance(value, int | float) and name not in ("step", "version"):
                    self._tensorboard.add_scalar(f"{event.name}/{name}", value, event.step)
            self._tensorboard.flush()  # its own intervals follow the clock of the system
        except OSError as failure:
            self._warn(failure)

    def _append(self, line: str) -> None:
        is_cut = False  # a killed run may have left an incomplete last line
        if self._file.seek(0, 2):
            self._file.seek(-1, 2)
            is_cut = self._file.read(1) != b"\n"
        self._file.write(b"\n" * is_cut + line.encode() + b"\n")

    def _warn(self, failure: OSError) -> None:
        if not self._warned:
            _log.warning("cannot write the log (%s): training continues", failure)
        self._warned = True
