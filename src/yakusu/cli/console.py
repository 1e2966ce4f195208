"""Progress bars and messages of the command line, on standard error."""

import logging
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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

from yakusu.progress import Tracker

err = Console(stderr=True, highlight=False, soft_wrap=True)


def command() -> str:
    """Return the command that starts this program, for use in messages."""
    folder = Path(sys.executable).parent
    if (found := shutil.which("yakusu")) and Path(found).resolve().parent == folder:
        return "yakusu"
    if Path(sys.argv[0]).name == "yakusu":
        return shlex.quote(sys.argv[0])
    python = shutil.which("python")
    named = "python" if python and Path(python).parent == folder else sys.executable
    return f"{shlex.quote(named)} -m yakusu"


class LogHandler(logging.Handler):
    """Prints log records above the progress bars, one line each."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        err.print(escape(self.format(record)))


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


class ConsoleProgress:
    """Progress reporter: bars on a terminal, only messages in a pipe; always on stderr.

    Args:
        bars: Whether to show bars; False if standard output goes to the same terminal.
    """

    def __init__(self, *, bars: bool = True) -> None:
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
            console=err,
            transient=True,
            disable=not (bars and err.is_terminal),
            redirect_stdout=False,  # output printed to stdout stays there
            redirect_stderr=False,
        )

    def say(self, text: str) -> None:
        """Display one line of text."""
        err.print(escape(text))

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


def escape(text: str) -> str:
    """Return text that Rich prints unchanged."""
    return text.replace("[", r"\[")
