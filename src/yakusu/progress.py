"""Reports the progress of long jobs; only the command line knows how it is displayed."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


def duration(seconds: float) -> str:
    """An estimated time in words, such as "about 2 h 10 min"."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    if minutes < 60:
        return f"about {minutes} min"
    minutes = 10 * round(minutes / 10)
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"about {hours} h {minutes} min" if minutes else f"about {hours} h"
    days = round(seconds / 86400)
    if days > 730:
        return f"about {days / 365:.0f} years"
    return f"about {days} day{'s' * (days > 1)}"


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


class Unsaid:
    """Tracks jobs like another reporter, and displays no lines."""

    def __init__(self, progress: Progress) -> None:
        self.track = progress.track

    def say(self, text: str) -> None:
        """Display nothing."""


class Silent:
    """Displays nothing; the default when yakusu is called from Python."""

    def say(self, text: str) -> None:
        """Display nothing."""

    def track(self, what: str, unit: str, total: int | None) -> AbstractContextManager[Tracker]:
        """A tracker that displays nothing."""
        return nullcontext(_SilentTracker())
