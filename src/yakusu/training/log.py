"""The log of a run: JSON lines in a file, curves for TensorBoard, one line each for people."""

import json
import logging
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from yakusu.progress import Progress

_log = logging.getLogger(__name__)


class RunLog:
    """Appends events to `log.jsonl` and `tensorboard/` of a run folder.

    A disk that is full costs lines of the log, never the run.
    """

    def __init__(self, run: Path, progress: Progress) -> None:
        self._file = (run / "log.jsonl").open("ab+", buffering=0)
        self._curves = SummaryWriter(str(run / "tensorboard"))
        self._progress = progress
        self._warned = False

    def __enter__(self) -> "RunLog":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        try:
            self._curves.close()
        except OSError as fault:
            self._warn(fault)

    def record(self, event: dict[str, Any]) -> None:
        """Write one event everywhere."""
        try:
            self._append(event)
            self._draw(event)
        except OSError as fault:
            self._warn(fault)
        self._progress.say(describe(event))

    def _append(self, event: dict[str, Any]) -> None:
        torn = False  # a run that was killed may have left half a line
        if self._file.seek(0, 2):
            self._file.seek(-1, 2)
            torn = self._file.read(1) != b"\n"
        self._file.write(b"\n" * torn + json.dumps(event).encode() + b"\n")

    def _draw(self, event: dict[str, Any]) -> None:
        for name, value in event.items():
            if isinstance(value, int | float) and name != "step":
                self._curves.add_scalar(f"{event['event']}/{name}", value, event["step"])

    def _warn(self, fault: OSError) -> None:
        if not self._warned:
            _log.warning("the log cannot be written (%s): training goes on", fault)
        self._warned = True


def describe(event: dict[str, Any]) -> str:
    """One line of an event for people."""
    where = f"step {event['step']:,}  epoch {event['epoch']:.2f}"
    if event["event"] == "skip":
        return (
            f"{where}  left out: its loss or gradient is not finite ({event['skipped']} such "
            f"steps so far; lines {', '.join(map(str, event['lines'][:10]))}, ...)"
        )
    if event["event"] == "validate":
        best = "  (best so far)" if event["best_step"] == event["step"] else ""
        key = f"dev_{event['score'].lower()}"
        return (
            f"{where}  dev perplexity {event['dev_perplexity']:.2f}  "
            f"dev {event['score']} {event[key]:.2f}{best}"
        )
    return (
        f"{where}  loss {event['loss']:.3f} (never below {event['loss_zero_point']:.3f})  "
        f"perplexity {event['perplexity']:.2f}  rate {event['learning_rate']:.2e}  "
        f"{event['tokens_per_second']:,.0f} target tokens/s"
    )
