"""The log is written by a thread of its own: the service goes on if nobody reads it.

    a log record -> a queue of _LINES records -> the thread -> the handlers that were set before

Records are dropped while the queue is full, and after the reader of a pipe has ended.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging.handlers import QueueHandler, QueueListener
from queue import Full, Queue
from threading import Thread

_LINES = 1000
_SECONDS = 0.2  # until the end of the thread is not waited for


class _DroppingHandler(QueueHandler):
    """Adds records to the queue, if it has room."""

    def enqueue(self, record: logging.LogRecord) -> None:
        """Add a record."""
        with suppress(Full):
            self.queue.put_nowait(record)


class _Listener(QueueListener):
    """Writes records, if they can be written."""

    def handle(self, record: logging.LogRecord) -> None:
        """Write a record."""
        with suppress(OSError):
            super().handle(record)


@contextmanager
def log_in_thread() -> Iterator[None]:
    """Let a thread write the log."""
    root, queue = logging.getLogger(), Queue[logging.LogRecord](_LINES)
    before = root.handlers[:]
    listener = _Listener(queue, *before)
    root.handlers = [_DroppingHandler(queue)]
    listener.start()
    try:
        yield
    finally:
        root.handlers = before
        ending = Thread(target=listener.stop, daemon=True)
        ending.start()
        ending.join(_SECONDS)
