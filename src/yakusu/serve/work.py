"""Runs translations: a bounded number, for a bounded time, while the client waits."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Event, Semaphore
from typing import Any, Literal, TypeVar

from starlette.requests import Request

from yakusu.serve.config import Limits
from yakusu.serve.errors import RefusedError, over_limit
from yakusu.serve.greenlets import on_loop

T = TypeVar("T")
TimeLimit = Literal["seconds", "file_seconds"]  # settings
_AHEAD = 100  # items of a stream that wait for the client to read them
_PATIENCE = 0.05  # seconds until a request notices that its client has closed the connection


class AbandonedError(Exception):
    """The client has closed the connection, or the time limit is exceeded."""


class RunningRequests:
    """Translations that are running, in threads or on the event loop.

    Args:
        limits: The limits.

    Attributes:
        n: Their number now.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits, self.n = limits, 0
        self._threads = ThreadPoolExecutor(limits.waiting, thread_name_prefix="request")

    async def run(
        self,
        request: Request,
        do: Callable[[Event], T],
        *,
        limit: TimeLimit = "seconds",
        is_short: bool = False,
    ) -> T:
        """Run a function, and wait for it.

        Args:
            request: The request, whose body has been read.
            do: Gets an event that is set when the result is no longer needed.
            limit: The setting of the maximum time.
            is_short: Whether it takes little time, apart from waiting for the engine: it runs on
                the event loop, otherwise in a thread.

        Raises:
            RefusedError: Too many requests wait, or the time limit is exceeded (503).
            AbandonedError: The client has closed the connection.
        """
        cancelled = Event()
        work = partial(do, cancelled)
        client = _Client(request)
        try:
            async with asyncio.timeout(getattr(self._limits, limit)) as timeout:
                with client.watched(timeout):
                    if is_short:
                        return await self._on_loop(work)
                    return await asyncio.shield(self._in_thread(work))
        except TimeoutError as error:
            raise AbandonedError if client.is_gone else self._too_long(limit) from error
        finally:
            cancelled.set()

    def start(self, do: Callable[[Event], T], *, limit: TimeLimit) -> asyncio.Task[T]:
        """Run a function in a thread for a client that does not wait; see `run`.

        Raises:
            RefusedError: Too many requests wait. The task raises it after the time limit.
        """
        cancelled = Event()
        result = self._in_thread(partial(do, cancelled))

        async def finished() -> T:
            try:
                async with asyncio.timeout(getattr(self._limits, limit)):
                    return await asyncio.shield(result)
            except TimeoutError as error:
                raise self._too_long(limit) from error
            finally:
                cancelled.set()

        return asyncio.create_task(finished())

    def stream(self, do: Callable[[Event], Iterator[T]]) -> AsyncIterator[T]:
        """Run a generator in a thread, and yield what it yields.

        The generator waits while the client has not read some items.

        Raises:
            RefusedError: Too many requests wait; while iterating, the time limit is exceeded.
        """
        loop, found = asyncio.get_running_loop(), asyncio.Queue[tuple[T] | None]()
        free = Semaphore(_AHEAD)

        def work(cancelled: Event) -> None:
            try:
                for item in do(cancelled):
                    while not free.acquire(timeout=_PATIENCE):
                        if cancelled.is_set():
                            raise AbandonedError
                    loop.call_soon_threadsafe(found.put_nowait, (item,))
            finally:
                loop.call_soon_threadsafe(found.put_nowait, None)

        cancelled = Event()
        result = self._in_thread(partial(work, cancelled))
        end = loop.time() + self._limits.seconds
        loop.call_at(end, cancelled.set)

        async def items() -> AsyncIterator[T]:
            try:
                while True:
                    async with asyncio.timeout_at(end):  # not while the client reads
                        item = await found.get()
                    if item is None:
                        break
                    free.release()
                    yield item[0]
                await result
            except (TimeoutError, AbandonedError) as error:
                raise self._too_long("seconds") from error
            finally:
                cancelled.set()

        return items()

    async def _on_loop(self, work: Callable[[], T]) -> T:
        self._begin()
        try:
            return await on_loop(work)
        finally:
            self.n -= 1

    def _in_thread(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """The result, which counts as work until the thread has finished."""
        self._begin()
        result = asyncio.get_running_loop().run_in_executor(self._threads, work)
        result.add_done_callback(self._finish)
        return result

    def _begin(self) -> None:
        if self.n >= (most := self._limits.waiting):
            message = "The server is busy: try again later"
            raise over_limit("waiting", most, 503, message, retry_after=1)
        self.n += 1

    def _finish(self, result: asyncio.Future[Any]) -> None:
        self.n -= 1
        if not result.cancelled():
            result.exception()  # otherwise, asyncio logs errors that nobody waits for

    def _too_long(self, limit: TimeLimit) -> RefusedError:
        seconds: float = getattr(self._limits, limit)
        message = f"The translation took longer than {seconds:g} s: shorten the text"
        return over_limit(limit, seconds, 503, message)

    def close(self) -> None:
        """End the threads, as soon as they have nothing to do."""
        self._threads.shutdown(wait=False)


class _Client:
    """The client of a request.

    Attributes:
        is_gone: Whether it has closed the connection, after the first moments of the work.
    """

    def __init__(self, request: Request) -> None:
        self._request, self.is_gone = request, False

    @contextmanager
    def watched(self, limit: asyncio.Timeout) -> Iterator[None]:
        """End the time limit when the client closes the connection."""
        tasks: list[asyncio.Task[None]] = []  # most requests need none, which saves time

        def begin() -> None:
            tasks.append(asyncio.create_task(self._watch(limit)))

        timer = asyncio.get_running_loop().call_later(_PATIENCE, begin)
        try:
            yield
        finally:
            timer.cancel()
            for task in tasks:
                task.cancel()

    async def _watch(self, limit: asyncio.Timeout) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self.is_gone = True
        limit.reschedule(asyncio.get_running_loop().time())
