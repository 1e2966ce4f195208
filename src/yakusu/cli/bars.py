"""Progress bars on a terminal, on standard error; only imported where they are displayed."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Task as RichTask
from rich.text import Text

from yakusu.cli.standard_error import standard_error
from yakusu.progress import Tracker

_terminal = Console(file=standard_error(), highlight=False, soft_wrap=True)


def print_above(text: str, label: str = "") -> None:
    """Print one line above the bars, with a label in red before it."""
    _terminal.print(Text.assemble((f"{label} " if label else "", "bold red"), text))


class _Rate(ProgressColumn):
    """Column with the units per second."""

    def render(self, task: RichTask) -> Text:
        return Text(f"{_short(task.speed or 0)} {task.fields['unit']}/s")


def _short(rate: float) -> str:
    return f"{rate:,.1f}" if rate < 100 else f"{rate:,.0f}"


class _Bar:
    def __init__(self, bars: Progress, task: TaskID) -> None:
        self._bars, self._task = bars, task

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        self._bars.update(self._task, advance=n, note=note, total=total)


class Bars:
    """One bar for each running job."""

    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=8),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self._bars = Progress(
            *columns,
            console=_terminal,
            transient=True,
            redirect_stdout=False,  # output printed to stdout stays there
            redirect_stderr=False,
        )

    @contextmanager
    def track(self, what: str, unit: str, total: int | None) -> Iterator[Tracker]:
        """Show a bar for a job of `total` units (None: unknown)."""
        if first := not self._bars.tasks:
            self._bars.start()
        task = self._bars.add_task(what, total=total, unit=unit, note="")
        try:
            yield _Bar(self._bars, task)
        finally:
            self._bars.remove_task(task)
            if first:
                self._bars.stop()
