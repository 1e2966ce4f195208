"""The log is written by a thread of its own: the service goes on if nobody reads it.

    a log record -> up to _LINES records that wait -> the thread -> the handlers set before

The thread writes several times a second what has come meanwhile: a switch between threads costs as
much as many lines. Records are dropped while too many wait, and after the reader of a pipe has
ended.
"""

import json
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from threading import Event, Thread

_LINES = 1000
_SECONDS = 0.1  # between two times of writing
_LAST_SECONDS = 0.2  # until the end of the thread is not waited for


class JsonLines(logging.Formatter):
    """Makes a line of JSON from a record, with what the record has in its attribute `fields`."""

    def format(self, record: logging.LogRecord) -> str:
        """See `Formatter`."""
        time = datetime.fromtimestamp(record.created, UTC)
        values = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            values["exception"] = self.formatException(record.exc_info)
        return json.dumps(values, ensure_ascii=False)


class _Waiting(logging.Handler):
    """Keeps records until the thread writes them; drops those for which there is no room."""

    def __init__(self) -> None:
        super().__init__()
        self.records: deque[logging.LogRecord] = deque()
        self.arrived = Event()

    def handle(self, record: logging.LogRecord) -> bool:
        """Add a record; `deque` needs no lock."""
        if has_room := len(self.records) < _LINES:
            try:
                record.msg, record.args = record.getMessage(), None  # its arguments may change
            except Exception:
                self.handleError(record)
                return False
            self.records.append(record)
            self.arrived.set()
        return has_room

    def write(self, handlers: Sequence[logging.Handler]) -> None:
        """Write the records that wait, if they can be written."""
        self.arrived.clear()
        for _ in range(len(self.records)):
            record = self.records.popleft()
            with suppress(OSError):
                for handler in handlers:
                    if record.levelno >= handler.level:
                        handler.handle(record)


@contextmanager
def log_in_thread() -> Iterator[Callable[[], None]]:
    """Let a thread write the log; yields a function that writes the rest and ends the thread."""
    root, waiting, ended = logging.getLogger(), _Waiting(), Event()
    before = root.handlers[:]

    def work() -> None:
        while not ended.is_set():
            waiting.arrived.wait()
            ended.wait(_SECONDS)
            waiting.write(before)
        waiting.write(before)

    def end() -> None:
        ended.set()
        waiting.arrived.set()
        thread.join(_LAST_SECONDS)

    thread = Thread(target=work, daemon=True)
    root.handlers = [waiting]
    thread.start()
    try:
        yield end
    finally:
        root.handlers = before
        end()
