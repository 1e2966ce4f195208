"""The memory that all requests together may use.

    reserved + measured <= most

What a request holds in this process (its body, an upload) is reserved before it is read. What the
worker processes of documents use is measured, several times a second.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from yakusu.serve.errors import RefusedError

_RETRY = 5  # seconds


class MemoryBudget:
    """Counts the bytes that requests hold; it may be used by several threads.

    Args:
        most: Maximum number of bytes: `limits.memory`.
    """

    def __init__(self, most: int) -> None:
        self._most, self._reserved, self._measured = most, 0, 0
        self._lock = Lock()

    @property
    def used(self) -> int:
        """Bytes that are reserved or measured."""
        return self._reserved + self._measured

    def has(self, n_bytes: int) -> bool:
        """Whether there are so many free bytes."""
        return self.used + n_bytes <= self._most

    def reserve(self, n_bytes: int) -> None:
        """Count bytes before a request takes them; `release` them later.

        Raises:
            RefusedError: There is no room for them now (503), or there never is (413).
        """
        if n_bytes > self._most:
            raise RefusedError(
                413,
                f"Request Entity Too Large: its {n_bytes} bytes exceed the memory limit of all "
                f"requests together ({self._limit})",
                reason="limits.memory",
            )
        with self._lock:
            if not self.has(n_bytes):
                raise self.refusal()
            self._reserved += n_bytes

    @contextmanager
    def held(self, n_bytes: int) -> Iterator[None]:
        """Count bytes inside the context.

        Raises:
            RefusedError: As for `reserve`.
        """
        self.reserve(n_bytes)
        try:
            yield
        finally:
            self.release(n_bytes)

    def release(self, n_bytes: int) -> None:
        """Free reserved bytes."""
        with self._lock:
            self._reserved -= n_bytes

    def measure(self, n_bytes: int) -> int:
        """Set the bytes that worker processes use, and return how many are too many, or 0."""
        with self._lock:
            self._measured = n_bytes
            return max(0, self.used - self._most)

    def refusal(self) -> RefusedError:
        """The error of a request for which there is no memory now."""
        return RefusedError(
            503,
            "The server is busy: all requests together have reached the memory limit "
            f"({self._limit}): try again later",
            retry_after=_RETRY,
            reason="limits.memory",
        )

    @property
    def _limit(self) -> str:
        return f"limits.memory = {self._most} bytes"
