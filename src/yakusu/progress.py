"""Reports the progress of long jobs; only the command line knows how it is displayed."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Tracker(Protocol):
    """Counts the units of one running job."""

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        """Count `n` more finished units.

        Args:
            n: Number of units.
            note: Text displayed next to the progress bar.
            total: New expected number of units; None leaves it unchanged.
        """


class Progress(Protocol):
    """Progress reporter: messages, and a tracker for each running job."""

    def say(self, text: str) -> None:
        """Display one line of text."""

    def track(self, what: str, unit: str, total: int | None) -> AbstractContextManager[Tracker]:
        """Start a job of `total` units (None: unknown)."""


class _SilentTracker:
    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        pass


class Silent:
    """Displays nothing; the default when yakusu is called from Python."""

    def say(self, text: str) -> None:
        """Display nothing."""

    def track(self, what: str, unit: str, total: int | None) -> AbstractContextManager[Tracker]:
        """A tracker that displays nothing."""
        return nullcontext(_SilentTracker())
