"""Runs functions on the event loop that wait for other threads there, without blocking it.

Such a function is written like any other. It runs in a greenlet, and while it waits, the event loop
runs what else there is to do. For short texts this takes less time than a thread for each request.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

from yakusu.engine.pool import Waitable

T = TypeVar("T")


class _OnLoop(greenlet):
    """A function that runs on the event loop."""


async def on_loop(function: Callable[[], T]) -> T:
    """Run a function that may wait for what `event` returns."""
    running = _OnLoop(function)
    found: Any = running.switch()  # a future that it waits for, or its result
    while not running.dead:
        try:
            await found
        except BaseException as error:  # the task is cancelled
            found = running.throw(error)
        else:
            found = running.switch()
    result: T = found
    return result


class _LoopEvent:
    """An event that a function on the event loop waits for."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future = self._loop.create_future()

    def set(self) -> None:
        """End the wait."""
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._end)

    def wait(self) -> None:
        """Run the event loop until `set` is called."""
        event_loop = getcurrent().parent
        assert event_loop
        event_loop.switch(self._future)

    def _end(self) -> None:
        if not self._future.done():
            self._future.set_result(None)


def event() -> Waitable:
    """What the calling function waits for: blocking, except on the event loop."""
    return _LoopEvent() if isinstance(getcurrent(), _OnLoop) else Event()
