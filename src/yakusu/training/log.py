"""The log of a run: JSON lines in a file, curves for TensorBoard, one line each for people."""

import json
from pathlib import Path
from types import TracebackType
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from yakusu.progress import Progress


class RunLog:
    """Appends events to `log.jsonl` and `tensorboard/` of a run folder."""

    def __init__(self, run: Path, progress: Progress) -> None:
        self._file = (run / "log.jsonl").open("a", encoding="utf-8")
        self._curves = SummaryWriter(str(run / "tensorboard"))
        self._progress = progress

    def __enter__(self) -> "RunLog":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._curves.close()

    def record(self, event: dict[str, Any]) -> None:
        """Write one event everywhere."""
        self._file.write(json.dumps(event) + "\n")
        self._file.flush()
        for name, value in event.items():
            if isinstance(value, int | float) and name != "step":
                self._curves.add_scalar(f"{event['event']}/{name}", value, event["step"])
        self._progress.say(describe(event))


def describe(event: dict[str, Any]) -> str:
    """One line of an event for people."""
    where = f"step {event['step']:,}  epoch {event['epoch']:.2f}"
    if event["event"] == "validate":
        best = "  (best so far)" if event["best_step"] == event["step"] else ""
        return (
            f"{where}  dev perplexity {event['dev_perplexity']:.2f}  "
            f"dev BLEU {event['dev_bleu']:.2f}{best}"
        )
    return (
        f"{where}  loss {event['loss']:.3f} (never below {event['loss_zero_point']:.3f})  "
        f"perplexity {event['perplexity']:.2f}  rate {event['learning_rate']:.2e}  "
        f"{event['tokens_per_second']:,.0f} target tokens/s"
    )
