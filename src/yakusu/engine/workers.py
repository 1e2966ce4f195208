"""Threads that decode sentences while others are still being prepared, each in a session."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from threading import Condition, Event
from typing import Generic, TypeVar

from yakusu.engine.session import Session
from yakusu.search.hypothesis import Hypothesis

T = TypeVar("T")
_AHEAD = 16  # sentences that wait in a session, so that it decodes for a while without Python
Found = dict[int, list[Hypothesis]]  # by the keys of the sentences


def decode(
    sentences: Iterable[T],
    add: Callable[[Session, T], None],
    *,
    threads: int,
    batch: int,
    take: Callable[[], Session],
    give_back: Callable[[Session], None],
) -> Found:
    """Decode sentences in up to `threads` threads.

    Args:
        sentences: The sentences. This thread iterates over them while the others decode.
        add: Adds a sentence to a session.
        threads: Number of threads.
        batch: Maximum number of sentences that a thread decodes together.
        take: Makes a session, in the thread that uses it.
        give_back: Receives a session that has decoded all its sentences.
    """
    sentences = iter(sentences)
    first = list(islice(sentences, threads))
    waiting: _Waiting[T] = _Waiting(n_threads=max(1, len(first)), batch=batch)
    stop = Event()

    def work() -> Found:
        try:
            session = take()
            found = dict(_decoded(session, waiting, add, stop))
        except BaseException:
            stop.set()
            raise
        if not session.n_unfinished:
            give_back(session)
        return found

    if len(first) <= 1:
        waiting.add_all(chain(first, sentences))
        return work() if first else {}
    from concurrent.futures import ThreadPoolExecutor  # takes time to import

    with ThreadPoolExecutor(len(first)) as pool:
        try:
            workers = [pool.submit(work) for _ in first]
            waiting.add_all(chain(first, sentences))
            parts = [worker.result() for worker in workers]
        finally:
            stop.set()  # after an interrupt, or an error in a worker
            waiting.close()
    return {key: best for part in parts for key, best in part.items()}


class _Waiting(Generic[T]):
    """Sentences that one thread adds and others take, each at most its share of those so far."""

    def __init__(self, *, n_threads: int, batch: int) -> None:
        self._n_threads, self._batch = n_threads, batch
        self._sentences: deque[T] = deque()
        self._n_added, self._closed, self._changed = 0, False, Condition()

    def add_all(self, sentences: Iterable[T]) -> None:
        for sentence in sentences:
            with self._changed:
                self._sentences.append(sentence)
                self._n_added += 1
                self._changed.notify()
        self.close()

    def close(self) -> None:
        """Add no further sentences."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def take(self, n_held: int) -> list[T]:
        """Sentences for a thread; one that holds none waits for one, and gets [] at the end."""
        with self._changed:
            while not (n_held or self._sentences or self._closed):
                self._changed.wait()
            share = min(self._batch + _AHEAD, -(-self._n_added // self._n_threads))
            n = min(share - n_held, len(self._sentences))
            return [self._sentences.popleft() for _ in range(n)]


def _decoded(
    session: Session, waiting: _Waiting[T], add: Callable[[Session, T], None], stop: Event
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Decode the sentences that one thread takes."""
    while not stop.is_set():
        for sentence in waiting.take(session.n_unfinished):
            add(session, sentence)
        if not session.n_unfinished:
            return
        yield from session.advance()
