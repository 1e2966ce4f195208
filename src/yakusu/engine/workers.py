"""Threads that decode sentences, each in its own session, while others are still prepared."""

from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, Self, TypeVar

from yakusu.engine.session import Session
from yakusu.search.hypothesis import Hypothesis

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
Add = Callable[[Session, int, T], None]  # adds a sentence to a session under a key
Found = list[list[Hypothesis]]  # in the order of the sentences
_AHEAD = 16  # sentences that wait in a session, so that it decodes for a while without Python


class Sessions(Protocol):
    """Sessions of the same models and settings. Equal objects have the same sessions."""

    def __hash__(self) -> int:
        """Return the hash; sessions in use are the keys of a dictionary."""

    def take(self) -> Session:
        """Return a session without sentences, for the thread that calls."""

    def give_back(self, session: Session) -> None:
        """Take back a session that has decoded all its sentences."""


class Decoding(Protocol[T_contra]):
    """Sentences that workers decode, a context manager.

    An error that occurs while a sentence is decoded ends the work; `submit` or `results` raises it.
    """

    def submit(self, sentence: T_contra) -> None:
        """Add a sentence."""

    def results(self) -> Found:
        """Wait for the results of all sentences. The last call."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(self, *error: object) -> None:
        """End; sentences that have not been decoded are dropped."""


class Workers(Protocol):
    """Threads that decode sentences."""

    def begin(self, add: Add[T], sessions: Sessions, *, batch: int) -> Decoding[T]:
        """Begin to decode sentences.

        Args:
            add: Adds a sentence to a session.
            sessions: The sessions to decode with.
            batch: Maximum number of sentences that a thread decodes together.
        """


class Threads(NamedTuple):
    """Threads that one call starts and ends.

    If there are several, they decode while the calling thread submits further sentences.

    Args:
        n: Maximum number of threads.
    """

    n: int = 1

    def begin(self, add: Add[T], sessions: Sessions, *, batch: int) -> Decoding[T]:
        """See `Workers.begin`."""
        return _ThreadedWork(add, sessions, n_threads=self.n, batch=batch)


class _ThreadedWork(Generic[T]):
    """Work of threads that are started one by one, from the second sentence on.

    The calling thread decodes a single sentence, and all sentences if there is one thread only.
    """

    def __init__(self, add: Add[T], sessions: Sessions, *, n_threads: int, batch: int) -> None:
        self._add, self._sessions, self._n_threads = add, sessions, n_threads
        self._waiting: _Waiting[T] = _Waiting(n_threads=n_threads, batch=batch)
        self._stop = Event()
        self._pool: ThreadPoolExecutor | None = None
        self._threads: list[Future[dict[int, list[Hypothesis]]]] = []

    def __enter__(self) -> Self:
        return self

    def submit(self, sentence: T) -> None:
        """See `Decoding.submit`."""
        if self._stop.is_set():
            self._waiting.close()
            for thread in self._threads:
                thread.result()  # raises its error
        self._waiting.add(sentence)
        while len(self._threads) < min(self._n_threads, self._waiting.n_added) > 1:
            if self._pool is None:
                from concurrent.futures import ThreadPoolExecutor  # takes time to import

                self._pool = ThreadPoolExecutor(self._n_threads)
            self._threads.append(self._pool.submit(self._decode))

    def results(self) -> Found:
        """See `Decoding.results`."""
        self._waiting.close()
        if self._threads:
            parts = [thread.result() for thread in self._threads]
        else:
            parts = [self._decode()] if self._waiting.n_added else []
        found = {key: best for part in parts for key, best in part.items()}
        return [found[key] for key in range(self._waiting.n_added)]

    def __exit__(self, *error: object) -> None:
        self._stop.set()  # after an interrupt, or an error in a thread
        self._waiting.close()
        if self._pool:
            self._pool.shutdown()

    def _decode(self) -> dict[int, list[Hypothesis]]:
        """Decode the sentences that one thread takes."""
        found: dict[int, list[Hypothesis]] = {}
        try:
            session = self._sessions.take()
            while not self._stop.is_set():
                for key, sentence in self._waiting.take(session.n_unfinished):
                    self._add(session, key, sentence)
                if not session.n_unfinished:
                    break
                found.update(session.advance())
                for error in session.take_errors().values():
                    raise error
        except BaseException:
            self._stop.set()
            raise
        if not session.n_unfinished:
            self._sessions.give_back(session)
        return found


class _Waiting(Generic[T]):
    """A queue that one thread fills; each of the others takes at most its share of it."""

    def __init__(self, *, n_threads: int, batch: int) -> None:
        self._n_threads, self._batch, self.n_added = n_threads, batch, 0
        self._sentences: SimpleQueue[tuple[int, T] | None] = SimpleQueue()  # None: the end

    def add(self, sentence: T) -> None:
        """Add a sentence."""
        self._sentences.put((self.n_added, sentence))
        self.n_added += 1

    def close(self) -> None:
        """Add no further sentences."""
        self._sentences.put(None)

    def take(self, n_held: int) -> Iterator[tuple[int, T]]:
        """Yield sentences for a thread that holds some; one that holds none waits for the first."""
        ahead = min(_AHEAD, self._sentences.qsize() // self._n_threads)
        share = min(self._batch + ahead, -(-self.n_added // self._n_threads))
        for n in range(n_held, max(1, share)):
            try:
                found = self._sentences.get(block=n == 0)
            except Empty:
                return
            if found is None:
                return self.close()  # for the other threads
            yield found
