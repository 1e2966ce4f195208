"""Threads that decode sentences, each in its own session, while others are still prepared."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from queue import Empty, SimpleQueue
from threading import Event
from typing import Generic, Protocol, TypeVar

from yakusu.engine.session import Session
from yakusu.search.hypothesis import Hypothesis

T = TypeVar("T")
Add = Callable[[Session, int, T], None]  # adds a sentence to a session under a key
Found = list[list[Hypothesis]]  # in the order of the sentences
_AHEAD = 16  # sentences that wait in a session, so that it decodes for a while without Python


class Sessions(Protocol):
    """Sessions of the same models and settings. Equal objects have the same sessions."""

    def __hash__(self) -> int:
        """For dictionaries of sessions that are in use."""

    def take(self) -> Session:
        """Return a session without sentences, for the thread that calls."""

    def give_back(self, session: Session) -> None:
        """Receive a session that has decoded all its sentences."""


class Workers(Protocol):
    """What decodes sentences."""

    def decode(
        self, sentences: Iterable[T], add: Add[T], sessions: Sessions, *, batch: int
    ) -> Found:
        """Decode sentences.

        Args:
            sentences: The sentences.
            add: Adds one of them to a session.
            sessions: The sessions to decode with.
            batch: Maximum number of sentences that a thread decodes together.
        """


@dataclass(frozen=True)
class Threads:
    """Threads that one call starts and ends.

    If there are several, the calling thread iterates over the sentences while they decode.

    Args:
        n: Maximum number of threads.
    """

    n: int = 1

    def decode(
        self, sentences: Iterable[T], add: Add[T], sessions: Sessions, *, batch: int
    ) -> Found:
        """See `Workers.decode`."""
        numbered = enumerate(sentences)
        first = list(islice(numbered, self.n))
        stop = Event()
        waiting: _Waiting[tuple[int, T]] = _Waiting(n_threads=max(1, len(first)), batch=batch)

        def work() -> dict[int, list[Hypothesis]]:
            try:
                session = sessions.take()
                found = dict(_decoded(session, waiting, add, stop))
            except BaseException:
                stop.set()
                raise
            if not session.n_unfinished:
                sessions.give_back(session)
            return found

        if len(first) <= 1:
            waiting.add_all(chain(first, numbered), stop)
            return _in_order([work()] if first else [])
        from concurrent.futures import ThreadPoolExecutor  # takes time to import

        with ThreadPoolExecutor(len(first)) as pool:
            try:
                workers = [pool.submit(work) for _ in first]
                waiting.add_all(chain(first, numbered), stop)
                return _in_order([worker.result() for worker in workers])
            finally:
                stop.set()  # after an interrupt, or an error in a worker
                waiting.close()


def _in_order(parts: Iterable[dict[int, list[Hypothesis]]]) -> Found:
    found = {key: best for part in parts for key, best in part.items()}
    return [found[key] for key in range(len(found))]


class _Waiting(Generic[T]):
    """A queue that one thread fills; each of the others takes at most its share of it."""

    def __init__(self, *, n_threads: int, batch: int) -> None:
        self._n_threads, self._batch, self._n_added = n_threads, batch, 0
        self._sentences: SimpleQueue[tuple[T] | None] = SimpleQueue()  # None: the end

    def add_all(self, sentences: Iterable[T], stop: Event) -> None:
        """Add sentences until `stop` is set, and close."""
        for sentence in sentences:
            if stop.is_set():
                break
            self._n_added += 1
            self._sentences.put((sentence,))
        self.close()

    def close(self) -> None:
        """Add no further sentences."""
        self._sentences.put(None)

    def take(self, n_held: int) -> Iterator[T]:
        """Sentences for a thread that holds some; one that holds none waits for the first."""
        ahead = min(_AHEAD, self._sentences.qsize() // self._n_threads)
        share = min(self._batch + ahead, -(-self._n_added // self._n_threads))
        for n in range(n_held, max(1, share)):
            try:
                found = self._sentences.get(block=n == 0)
            except Empty:
                return
            if found is None:
                return self.close()  # for the other threads
            yield found[0]


def _decoded(
    session: Session, waiting: _Waiting[tuple[int, T]], add: Add[T], stop: Event
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Decode the sentences that one thread takes."""
    while not stop.is_set():
        for key, sentence in waiting.take(session.n_unfinished):
            add(session, key, sentence)
        if not session.n_unfinished:
            return
        yield from session.advance()
