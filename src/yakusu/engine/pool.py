"""Threads that decode the sentences of several callers together, as a service needs.

A sentence joins those that its thread is decoding as soon as there is room. Callers take turns, so
that a long text does not delay a short one. The result of a sentence does not depend on the others.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from threading import Condition, Event, Lock, Thread
from typing import Any, Generic, NamedTuple, Protocol, Self

from yakusu.engine.session import Session
from yakusu.engine.workers import Add, Decoding, Found, Sessions, T
from yakusu.search.hypothesis import Hypothesis

_SECONDS = 0.002  # between two checks of the queue


class Waitable(Protocol):
    """What a caller waits for, like `threading.Event`."""

    def set(self) -> None:
        """End the wait; a thread of the pool or the caller calls it, perhaps before `wait`."""

    def wait(self) -> object:
        """Wait for `set`."""


@dataclass(eq=False)
class _Caller(Generic[T]):
    """The work of a caller: its sentences that wait, and the results of the others."""

    add: Add[T]
    sessions: Sessions
    finished: Waitable
    queue: "_Queue"
    n_sentences: int = 0
    has_more: bool = True  # sentences to add
    waiting: deque["_Sentence"] = field(default_factory=deque)
    found: dict[int, list[Hypothesis]] = field(default_factory=dict)
    n_decoding: int = 0
    error: BaseException | None = None

    @property
    def is_finished(self) -> bool:
        return not (self.has_more or self.waiting or self.n_decoding)

    def __enter__(self) -> Self:
        return self

    def submit(self, sentence: T) -> None:
        """Add a sentence.

        Raises:
            RuntimeError: The pool is closed.
        """
        self.queue.put(_Sentence(self, self.n_sentences, sentence))
        self.n_sentences += 1

    def results(self) -> Found:
        """Wait for the results of all sentences."""
        self.queue.end(self)
        self.finished.wait()
        if self.error:
            raise self.error
        return [self.found[number] for number in range(self.n_sentences)]

    def __exit__(self, *error: object) -> None:
        self.queue.end(self, drops=True)


class _Sentence(NamedTuple):
    caller: _Caller[Any]
    number: int
    sentence: Any


class _Queue:
    """The sentences that wait, of all callers."""

    def __init__(self, n_threads: int, batch: int) -> None:
        self._n_threads, self._batch, self._closed = n_threads, batch, False
        self._n_unfinished = 0  # sentences that wait or are decoded
        self._callers: deque[_Caller[Any]] = deque()  # with waiting sentences; the next one first
        self._lock = Lock()
        self._idle: list[Condition] = []  # of the threads that wait, the last one last

    def put(self, item: _Sentence) -> None:
        """Add a sentence, unless another sentence of the caller has failed."""
        caller = item.caller
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            if caller.error:
                return
            if not caller.waiting:
                self._callers.append(caller)
            caller.waiting.append(item)
            self._n_unfinished += 1
            if self._idle:
                self._idle.pop().notify()  # the caches of its core are the most recent

    def take(self, n_held: int) -> list[_Sentence] | None:
        """Sentences for a thread that holds some, up to its share; None: the pool is closed."""
        with self._lock:
            while not (n_held or self._callers or self._closed):
                self._idle.append(Condition(self._lock))
                self._idle[-1].wait()
            if not (n_held or self._callers):
                return None
            share = min(self._batch, -(-self._n_unfinished // self._n_threads))
            taken: list[_Sentence] = []
            while self._callers and n_held + len(taken) < share:
                caller = self._callers.popleft()
                taken.append(caller.waiting.popleft())
                caller.n_decoding += 1
                if caller.waiting:
                    self._callers.append(caller)
            return taken

    def finish(self, item: _Sentence, best: list[Hypothesis]) -> None:
        """Store the result of a sentence that was taken."""
        with self._lock:
            item.caller.found[item.number] = best
            self._leave(item.caller)

    def fail(self, item: _Sentence, error: BaseException) -> None:
        """End the work of a sentence that was taken."""
        with self._lock:
            item.caller.error = item.caller.error or error
            self._drop(item.caller)
            self._leave(item.caller)

    def end(self, caller: _Caller[Any], *, drops: bool = False) -> None:
        """Accept no further sentences of a caller; drop those that wait if it reads no results."""
        with self._lock:
            caller.has_more = False
            if drops:
                self._drop(caller)
            if caller.is_finished:
                caller.finished.set()

    def close(self) -> None:
        """Accept no further sentences."""
        with self._lock:
            self._closed = True
            for idle in self._idle:
                idle.notify()

    def _leave(self, caller: _Caller[Any]) -> None:
        caller.n_decoding -= 1
        self._n_unfinished -= 1
        if caller.is_finished:
            caller.finished.set()

    def _drop(self, caller: _Caller[Any]) -> None:
        """Remove the waiting sentences of a caller."""
        if caller.waiting:
            self._callers.remove(caller)
            self._n_unfinished -= len(caller.waiting)
            caller.waiting.clear()


@dataclass(eq=False)
class _Group:
    """The sentences that a thread decodes in one session."""

    session: Session
    keys: Iterator[int] = field(default_factory=count)
    decoding: dict[int, _Sentence] = field(default_factory=dict)

    def add(self, item: _Sentence) -> None:
        key = next(self.keys)
        item.caller.add(self.session, key, item.sentence)
        self.decoding[key] = item

    def advance(self, queue: _Queue) -> None:
        """Decode for a moment. An error in the constraints of a sentence is its own; after any
        other one, the session is not used again.
        """
        try:
            for key, best in self.session.advance(_SECONDS):
                queue.finish(self.decoding.pop(key), best)
            for key, error in self.session.take_errors().items():
                queue.fail(self.decoding.pop(key), error)
        except BaseException as error:
            for item in self.decoding.values():
                queue.fail(item, error)
            self.decoding.clear()


class Pool:
    """Threads that decode the sentences of all callers, whatever their models.

    Args:
        threads: Number of threads.
        batch: Maximum number of sentences that a thread decodes together.
        finished: Returns what a caller waits for.
    """

    def __init__(
        self, threads: int, *, batch: int = 64, finished: Callable[[], Waitable] = Event
    ) -> None:
        self._finished = finished
        self._queue = _Queue(threads, batch)
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def begin(self, add: Add[T], sessions: Sessions, *, batch: int) -> Decoding[T]:
        """See `Workers.begin`; `batch` has no effect: all callers share the batches of the pool."""
        return _Caller(add, sessions, self._finished(), self._queue)

    def close(self) -> None:
        """Decode the waiting sentences, and end the threads."""
        self._queue.close()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        groups: dict[Sessions, _Group] = {}
        while self._step(groups):
            pass

    def _step(self, groups: dict[Sessions, _Group]) -> bool:
        """Take sentences, and decode for a moment; False: the pool is closed."""
        taken = self._queue.take(sum(len(group.decoding) for group in groups.values()))
        for item in taken or ():
            self._begin(item, groups)
        for sessions in (*groups,):
            groups[sessions].advance(self._queue)
            if not groups[sessions].decoding:
                session = groups.pop(sessions).session
                if not session.n_unfinished:
                    sessions.give_back(session)
        return taken is not None

    def _begin(self, item: _Sentence, groups: dict[Sessions, _Group]) -> None:
        """Add a sentence to the session of its kind."""
        sessions = item.caller.sessions
        try:
            if sessions not in groups:
                groups[sessions] = _Group(sessions.take())
            groups[sessions].add(item)
        except BaseException as error:
            self._queue.fail(item, error)
