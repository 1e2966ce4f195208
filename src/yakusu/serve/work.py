"""Runs translations in threads: a bounded number, for a bounded time, while the client waits."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, TypeVar

from starlette.requests import Request

from yakusu.serve.errors import RefusedError

T = TypeVar("T")
Result = asyncio.Future[T]


class AbandonedError(Exception):
    """The client has closed the connection, or the time limit is exceeded."""


class Work:
    """Threads for requests.

    Args:
        most: Maximum number of requests that are being translated or waiting.

    Attributes:
        n: Their number now.
    """

    def __init__(self, most: int) -> None:
        self._most, self.n = most, 0
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="request")

    async def run(self, request: Request, do: Callable[[Event], T], *, seconds: float) -> T:
        """Run a function in a thread, and wait for it.

        Args:
            request: The request, whose body has been read.
            do: Gets an event that is set when the result is no longer needed.
            seconds: Maximum time.

        Raises:
            RefusedError: Too many requests wait, or the time limit is exceeded (503).
            AbandonedError: The client has closed the connection.
        """
        result, cancelled = self._start(do)
        gone: Result[None] = asyncio.create_task(_disconnected(request))
        both: list[Result[Any]] = [result, gone]
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait(both, timeout=seconds, return_when=first)
            if result.done():
                return result.result()
            if gone.done():
                raise AbandonedError
            raise _too_long(seconds)
        finally:
            cancelled.set()
            gone.cancel()

    def stream(self, do: Callable[[Event], Iterator[T]], *, seconds: float) -> AsyncIterator[T]:
        """Run a generator in a thread, and yield what it yields.

        Raises:
            RefusedError: Too many requests wait; while iterating, the time limit is exceeded.
        """
        loop, found = asyncio.get_running_loop(), asyncio.Queue[tuple[T] | None]()

        def work(cancelled: Event) -> None:
            try:
                for item in do(cancelled):
                    loop.call_soon_threadsafe(found.put_nowait, (item,))
            finally:
                loop.call_soon_threadsafe(found.put_nowait, None)

        result, cancelled = self._start(work)
        end = loop.time() + seconds
        loop.call_at(end, cancelled.set)

        async def items() -> AsyncIterator[T]:
            try:
                while True:
                    async with asyncio.timeout_at(end):  # not while the client reads
                        item = await found.get()
                    if item is None:
                        break
                    yield item[0]
                await result
            except (TimeoutError, AbandonedError) as error:
                raise _too_long(seconds) from error
            finally:
                cancelled.set()

        return items()

    def _start(self, do: Callable[[Event], T]) -> tuple[Result[T], Event]:
        if self.n >= self._most:
            raise RefusedError(503, "The server is busy: try again later", retry_after=1)
        cancelled = Event()
        result = asyncio.get_running_loop().run_in_executor(self._threads, do, cancelled)
        self.n += 1
        result.add_done_callback(self._finish)
        return result, cancelled

    def _finish(self, result: Result[Any]) -> None:
        self.n -= 1
        if not result.cancelled():
            result.exception()  # otherwise, asyncio logs errors that nobody waits for

    def close(self) -> None:
        """End the threads, as soon as they have nothing to do."""
        self._threads.shutdown(wait=False)


def _too_long(seconds: float) -> RefusedError:
    message = f"The translation took longer than {seconds:g} s: shorten the text"
    return RefusedError(503, message)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
