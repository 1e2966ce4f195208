"""Reads documents in worker processes, and ends those that exceed a limit or are not needed."""

import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Event, Lock, Thread
from typing import Any, BinaryIO, Literal, Protocol

from yakusu.documents.document import Document, DocumentOptions, Known
from yakusu.documents.isolated.limits import (
    DocumentLimitError,
    DocumentLimits,
    LimitName,
    LimitSettings,
)
from yakusu.documents.isolated.memory import process_memory
from yakusu.documents.isolated.template import Template
from yakusu.documents.isolated.worker import NO_MEMORY
from yakusu.documents.registry import open_file, unreadable_file
from yakusu.documents.suffixes import CONVERTED
from yakusu.errors import DataError, RunError, YakusuError

_SECONDS = 0.1  # between two checks of the workers
_LEAST, _FACTOR = 4_000_000, 25  # bytes that a worker is expected to take, and for each of its file
# What ended a document: a limit, that of the room, a fault, or nobody needs it.
Ended = LimitName | Literal["room", "crash", "cancelled"]
_BY_STATUS: dict[int, Ended] = {NO_MEMORY: "memory", -signal.SIGXCPU: "cpu_seconds"}
Identify = Callable[[Sequence[str]], DocumentOptions]  # given the first texts


class StoppedError(YakusuError):
    """A document was not read to its end, because its result is not needed."""


class Room(Protocol):
    """Memory that documents share with others."""

    def has(self, n_bytes: int) -> bool:
        """Whether there are so many free bytes."""

    def measure(self, n_bytes: int) -> int:
        """Set what all documents use, and return how many bytes of it are too many, or 0."""

    def refusal(self) -> YakusuError:
        """The error of the document that uses most, if it is too much."""


class _Worker:
    """A worker process and its document.

    Args:
        template: What started it.
        name: The name of the document.
        cancelled: Set when the document is not needed.
        expected: Bytes of memory that the document probably takes.

    Raises:
        EOFError: The template has ended.
        RunError: It cannot start a process.

    Attributes:
        growth: Bytes of memory that the document takes, when they were last measured.
        lower: The limits that the system sets itself and that are lower, with the command of each.
        since: When it began to compute; None: it waits for translations.
    """

    def __init__(
        self, template: Template, name: str, cancelled: Event | None, expected: int
    ) -> None:
        self._template, self.name, self.cancelled = template, name, cancelled
        self.process, self.connection = template.start()
        self._shared, self.expected, self.growth = template.memory, expected, 0
        self.lower: dict[str, str] = {}
        self.since: float | None = None
        self.why: Ended | None = None
        self._lock = Lock()
        self._status: int | None = None

    def measure(self) -> None:
        """Measure the memory of the document in both processes."""
        growth = max(0, process_memory(self.process) - self._shared)
        self.growth = growth + self.connection.n_held

    def end(self, why: Ended | None = None) -> int:
        """End the process, for a reason, unless it has ended, and return its status."""
        with self._lock:
            if self._status is None:
                self._status = self._template.end(self.process)
                self.why = why if self._status == -signal.SIGKILL else None
            return self._status


class Readers:
    """Reads documents in processes with limits; any number of threads may use it.

    Args:
        limits: What each document may use.
        settings: What messages say about the limits.
        room: The memory that all documents may use; None: no limit.

    Attributes:
        ended: Number of documents that were not finished, by what ended them.
    """

    def __init__(
        self, limits: DocumentLimits, settings: LimitSettings, room: Room | None = None
    ) -> None:
        self._limits, self._settings, self._room = limits, settings, room
        self._template: Template | None = None
        self._workers: list[_Worker] = []
        self._waiting = deque[object]()  # a ticket for each document that waits, in order
        self._starting = 0  # bytes that documents take whose workers are being started
        self._changed, self._is_closed = Condition(), False
        self._loading = Lock()  # of the template
        self._watching: Thread | None = None
        self.ended = Counter[Ended]()

    def start(self) -> None:
        """Start to load the libraries, so that the first document need not wait for them."""
        self._running_template()

    @contextmanager
    def open(
        self,
        name: str,
        file: BinaryIO,
        options: DocumentOptions | Identify,
        *,
        size: int = 0,
        cancelled: Event | None = None,
    ) -> Iterator[Document]:
        """Read a document; its process ends with the context.

        Args:
            name: The name of the file, whose suffix is its format, for messages.
            file: Its content.
            options: How it is read; or a function that returns that, given the first texts.
            size: Bytes of the file, which decide whether there is room for it; 0: unknown. Files
                for which there is none wait, and are read in the order in which they arrived.
            cancelled: Ends the document within a second when it is set.

        Raises:
            DataError: It is not valid; also from `render`.
            DocumentLimitError: It exceeds a limit; also from `render`.
            StoppedError: It is not needed, or the readers were closed; also from `render`.
            YakusuError: The refusal of the room; also from `render`.
        """
        worker = self._begin(name, size, cancelled)
        try:
            with self._computing(worker):
                _send(worker, self._limits, file, options)
                worker.lower = _answer(worker)
            if not isinstance(options, DocumentOptions):
                with self._computing(worker):
                    texts = _answer(worker)["texts"]
                found = options(texts)
                with self._computing(worker):
                    worker.connection.send_json(_as_json(found))
            with self._computing(worker):
                document = _IsolatedDocument(worker, self._computing)
            yield document
        finally:
            self._finish(worker)

    @contextmanager
    def read(self, path: Path, options: DocumentOptions) -> Iterator[Document]:
        """Read a file, as `open` does.

        Raises:
            DataError: As for `open`, or the file does not exist.
        """
        with open_file(path) as file, self.open(str(path), file, options) as document:
            yield document

    def close(self) -> None:
        """End all workers at once; their documents raise `StoppedError`."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        with self._loading:
            template, self._template = self._template, None
        if template:
            template.close()

    # ---- workers ---------------------------------------------------------------------------

    def _begin(self, name: str, size: int, cancelled: Event | None) -> _Worker:
        """Wait until there is room, and start a worker."""
        expected = _LEAST + _FACTOR * size
        if self._limits.memory:
            expected = min(expected, self._limits.memory)
        self._take_room(name, cancelled, expected)
        try:
            worker = self._started(name, cancelled, expected)
            with self._changed:
                self._workers.append(worker)
        finally:
            with self._changed:
                self._starting -= expected
                self._changed.notify_all()
        return worker

    def _take_room(self, name: str, cancelled: Event | None, expected: int) -> None:
        """Wait until there is room for a document and for those that wait longer, and reserve it.

        Raises:
            StoppedError: It is no longer needed.
        """
        with self._changed:
            self._waiting.append(ticket := object())
            try:
                while self._waiting[0] is not ticket or not self._has_room(expected):
                    self._changed.wait(_SECONDS)
                    if self._is_closed or (cancelled and cancelled.is_set()):
                        raise StoppedError(f"{name}: not read, because it is no longer needed")
                self._starting += expected
                if not self._watching:
                    self._watching = Thread(target=self._watch, name="documents", daemon=True)
                    self._watching.start()
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()

    def _started(self, name: str, cancelled: Event | None, expected: int) -> _Worker:
        try:
            return _Worker(self._running_template(), name, cancelled, expected)
        except EOFError:  # it was killed after the check, or by `close`
            pass
        try:
            return _Worker(self._running_template(), name, cancelled, expected)
        except EOFError as error:
            raise RunError(
                "the process that reads documents was ended from outside: try again"
            ) from error

    def _running_template(self) -> Template:
        """The template, which may have to be started.

        Raises:
            StoppedError: The readers are closed.
            OSError: It cannot be started.
        """
        with self._loading:
            if self._is_closed:
                raise StoppedError("documents are no longer read")
            if self._template and not self._template.is_running:
                self._template.close()
                self._template = None
            self._template = self._template or Template()
            return self._template

    def _has_room(self, expected: int) -> bool:
        """Whether a document fits, if those that are open grow as expected."""
        if not self._room or not (self._workers or self._starting):
            return True
        growing = sum(max(0, each.expected - each.growth) for each in self._workers)
        return self._room.has(self._starting + growing + expected)

    def _finish(self, worker: _Worker) -> None:
        worker.end()
        worker.connection.close()
        with self._changed:
            self._workers.remove(worker)
            self._measure()
            self._changed.notify_all()

    # ---- limits ----------------------------------------------------------------------------

    @contextmanager
    def _computing(self, worker: _Worker) -> Iterator[None]:
        """Count the time of a worker, and raise the reason for which it ends."""
        worker.since = time.monotonic()
        try:
            yield
        except EOFError as error:
            status = worker.end()
            raise self._reason(worker, status) from error
        finally:
            worker.since = None

    def _reason(self, worker: _Worker, status: int) -> YakusuError:
        """The error of a worker that has ended: its status, then who ended it, says why."""
        stopped: Ended = "cancelled" if self._is_closed else "crash"
        why = _BY_STATUS.get(status) or worker.why or stopped
        if status == -signal.SIGABRT and Path(worker.name).suffix.lower() in CONVERTED:
            why = "memory"  # PDFium aborts if it gets none
        with self._changed:
            self.ended[why] += 1
        if why == "cancelled":
            return StoppedError(f"{worker.name}: not finished, because it is no longer needed")
        if why == "room" and self._room:
            return self._room.refusal()
        if why in ("memory", "cpu_seconds", "seconds"):
            command = worker.lower.get(why, "") if why == _BY_STATUS.get(status) else ""
            message = self._settings.refusal(why, command)
            return DocumentLimitError(f"{worker.name}: {message}", why)
        if status == -signal.SIGKILL:
            return DataError(
                f"{worker.name}: the system ended the process that read it, probably because the "
                "machine ran out of memory: split the file, or stop other programs"
            )
        return DataError(
            f"{worker.name}: the process that read it failed (status {status}): report it with "
            "the file"
        )

    def _watch(self) -> None:
        """End workers that exceed a limit or are not needed, until the readers are closed."""
        while True:
            with self._changed:
                while not (self._workers or self._is_closed):
                    self._changed.wait()
                self._changed.wait(_SECONDS)
                if self._is_closed:
                    return
                excess, workers = self._measure(), [*self._workers]
            for worker in workers:
                if why := self._excess_of(worker):
                    worker.end(why)
            if excess and workers:
                max(workers, key=lambda each: each.growth).end("room")

    def _measure(self) -> int:
        """Measure all workers, and return how many bytes they use too many."""
        for worker in self._workers:
            worker.measure()
        used = sum(worker.growth for worker in self._workers)
        return self._room.measure(used) if self._room else 0

    def _excess_of(self, worker: _Worker) -> Ended | None:
        """Why a worker must end, if it must."""
        if worker.cancelled and worker.cancelled.is_set():
            return "cancelled"
        if 0 < self._limits.memory < worker.growth - worker.connection.n_held:
            return "memory"
        since = worker.since  # another thread may end the computation
        if since and 0 < self._limits.seconds < time.monotonic() - since:
            return "seconds"
        return None


class _IsolatedDocument:
    """A document in a worker process; see `Document`."""

    def __init__(self, worker: _Worker, computing: Callable[[_Worker], Any]) -> None:
        self._worker, self._computing = worker, computing
        described = _answer(worker)
        self.reports_blank: bool = described["reports_blank"]
        self._states_origin: bool = described["states_origin"]
        self._known: Mapping[int, Known] = {}
        self.lines: Sequence[int] = described["lines"]
        self.skipped: Sequence[str] = described["skipped"]
        self.checks: Sequence[str] = ()
        self.texts: Sequence[str] = worker.connection.receive_texts()
        has_keys: bool = described["has_keys"]
        n = len(self.texts)
        self.keys: Sequence[str] = worker.connection.receive_texts() if has_keys else [""] * n

    def tell(self, known: Mapping[int, Known]) -> None:
        """See `StatesOrigin.tell`."""
        self._known = known

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        with self._computing(self._worker):
            if self._states_origin:
                self._worker.connection.send_known(self._known)
            self._worker.connection.send_texts(translations)
            answer = _answer(self._worker)
            self.skipped, self.checks = answer["skipped"], answer["checks"]
            return self._worker.connection.receive_file()


def _send(
    worker: _Worker,
    limits: DocumentLimits,
    file: BinaryIO,
    options: DocumentOptions | Identify,
) -> None:
    """Send a document to its worker."""
    known = options if isinstance(options, DocumentOptions) else DocumentOptions()
    order = {
        "name": worker.name,
        "memory": limits.memory,
        "cpu_seconds": limits.cpu_seconds,
        "options": _as_json(known),
        "identify": known is not options,
    }
    worker.connection.send_json(order)
    try:
        worker.connection.send_file(file)
    except OSError as error:
        raise unreadable_file(Path(worker.name), error) from error


def _as_json(options: DocumentOptions) -> dict[str, Any]:
    return {
        "languages": options.languages,
        "retranslate": options.retranslate,
        "columns": options.columns,
        "suffix": options.suffix,
        "sheet_names": options.sheet_names,
    }


def _answer(worker: _Worker) -> dict[str, Any]:
    """The next answer of a worker.

    Raises:
        DataError: It cannot read or write the document.
        ModuleNotFoundError: A library is not installed.
    """
    answer: dict[str, Any] = worker.connection.receive_json()
    if "missing" in answer:
        raise ModuleNotFoundError(answer["error"], name=answer["missing"])
    if "problem" in answer:
        raise DataError(f"{worker.name}: {answer['problem']}")
    if "error" in answer:
        raise DataError(answer["error"])
    return answer
