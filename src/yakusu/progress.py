"""What a long job tells whoever watches it; only the command line knows how it is drawn."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Task(Protocol):
    """One job under way."""

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        """Count `n` more units done.

        Args:
            n: How many.
            note: Shown beside the bar.
            total: Where another number of units is to be expected than before.
        """


class Progress(Protocol):
    """Shows jobs under way, and remarks."""

    def say(self, text: str) -> None:
        """Show one line of text."""

    def task(self, what: str, unit: str, total: int | None) -> AbstractContextManager[Task]:
        """Open a job of `total` units (None: not known)."""


class _SilentTask:
    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        pass


class Silent:
    """Shows nothing: the default for those who call yakusu from Python."""

    def say(self, text: str) -> None:
        """Say nothing."""

    def task(self, what: str, unit: str, total: int | None) -> AbstractContextManager[Task]:
        """A job that shows nothing."""
        return nullcontext(_SilentTask())
