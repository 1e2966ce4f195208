"""Messages and progress of the command line, on standard error.

Rich is imported only where standard error is a terminal: importing it takes a tenth of the time
until the first translation.
"""

import logging
import shlex
import shutil
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from yakusu.cli.standard_error import discard_messages
from yakusu.progress import Silent, Tracker

if TYPE_CHECKING:
    from yakusu.cli.bars import Bars


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


def say(text: str, label: str = "") -> None:
    """Print one line to standard error, above the progress bars.

    A line that cannot be written, for example because the disk of a log file is full, is lost; the
    command continues, unless standard error is a closed pipe.

    Args:
        text: The line.
        label: Printed before it, in red on a terminal.
    """
    if _on_terminal():
        from yakusu.cli.bars import print_above

        print_above(text, label)
    elif sys.stderr is not None:  # None: the caller has closed it
        try:
            print(*filter(None, (label, text)), file=sys.stderr)
        except BrokenPipeError:
            raise
        except OSError:
            discard_messages()


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


class LogHandler(logging.Handler):
    """Prints log records above the progress bars."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        say(self.format(record))


class LogFormatter(logging.Formatter):
    """Puts the level before a message: "warning: ..."."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        return f"{record.levelname.lower()}: {super().format(record)}"


class ConsoleProgress:
    """Progress reporter: bars on a terminal, only messages in a pipe; always on stderr.

    Args:
        bars: Whether to show bars; False if standard output goes to the same terminal.
    """

    def __init__(self, *, bars: bool = True) -> None:
        self._shown = _bars() if bars and _on_terminal() else Silent()

    def say(self, text: str) -> None:
        """Display one line of text."""
        say(text)

    def track(self, what: str, unit: str, total: int | None) -> AbstractContextManager[Tracker]:
        """Show a bar for a job of `total` units (None: unknown)."""
        return self._shown.track(what, unit, total)


def _bars() -> "Bars":
    from yakusu.cli.bars import Bars

    return Bars()
