"""Threads that decode sentences, each in its own session, while others are still prepared."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from queue import Empty, SimpleQueue
from threading import Event
from typing import Generic, TypeVar

from yakusu.engine.session import Session
from yakusu.search.hypothesis import Hypothesis

T = TypeVar("T")
Found = dict[int, list[Hypothesis]]  # by the keys of the sentences
_AHEAD = 16  # sentences that wait in a session, so that it decodes for a while without Python


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
        sentences: The sentences. If there are several threads, this one iterates over them while
            the others decode.
        add: Adds a sentence to a session.
        threads: Number of threads.
        batch: Maximum number of sentences that a thread decodes together.
        take: Makes a session, in the thread that uses it.
        give_back: Receives a session that has decoded all its sentences.
    """
    sentences = iter(sentences)
    first = list(islice(sentences, threads))
    stop = Event()
    waiting: _Waiting[T] = _Waiting(n_threads=max(1, len(first)), batch=batch)

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
        waiting.add_all(chain(first, sentences), stop)
        return work() if first else {}
    from concurrent.futures import ThreadPoolExecutor  # takes time to import

    with ThreadPoolExecutor(len(first)) as pool:
        try:
            workers = [pool.submit(work) for _ in first]
            waiting.add_all(chain(first, sentences), stop)
            parts = [worker.result() for worker in workers]
        finally:
            stop.set()  # after an interrupt, or an error in a worker
            waiting.close()
    return {key: best for part in parts for key, best in part.items()}


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
    session: Session, waiting: _Waiting[T], add: Callable[[Session, T], None], stop: Event
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Decode the sentences that one thread takes."""
    while not stop.is_set():
        for sentence in waiting.take(session.n_unfinished):
            add(session, sentence)
        if not session.n_unfinished:
            return
        yield from session.advance()
