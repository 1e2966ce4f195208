"""Runs the server until a signal, and ends the process in a bounded time after it.

    SIGHUP                    settings are read again, in a thread of its own; if the process has a
                              terminal, it ends instead: the terminal was closed
    signal                    no new connections; open requests go on
    + shutdown_seconds        they are cancelled, and the processes of documents are killed
    + _GRACE                  files are removed and the process exits, whatever its threads do
    a second signal           the same at once

The server runs in a thread of its own, so that the main thread, which Python's signal handlers
need, is always free.
"""

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Thread
from types import FrameType

import uvicorn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE, _CLOSING = 0.6, 0.3  # seconds
Close = Callable[[], None]


def run_until_signal(
    server: uvicorn.Server,
    sock: socket.socket,
    *,
    seconds: float,
    reload: Callable[[], None],
    closing: Sequence[Close],
    last: Close,
) -> None:
    """Run a server until SIGTERM or SIGINT; then end the process.

    Args:
        server: The server.
        sock: The socket that accepts connections.
        seconds: Maximum time for open requests after the signal.
        reload: Is called after SIGHUP, once at a time.
        closing: Functions that end processes and remove files, for when the server does not.
        last: A function that is called before the process ends, in any case.

    Raises:
        BaseException: What the server has raised.
    """
    ended, failures = SimpleQueue[None](), list[BaseException]()

    def run() -> None:
        try:
            server.run(sockets=[sock])
        except BaseException as error:
            failures.append(error)
        finally:
            ended.put(None)

    thread = Thread(target=run, name="server", daemon=True)
    with _reloading(reload), _signals(ended, [*closing, last]) as received:
        thread.start()
        ended.get()
        if received:
            server.should_exit = True
            thread.join(seconds + _GRACE)
            _exit(received[0], [*(closing if thread.is_alive() else ()), last])
    for failure in failures:
        raise failure


@contextmanager
def _reloading(reload: Callable[[], None]) -> Iterator[None]:
    """Call a function for each SIGHUP, where there is one and no terminal."""
    if sys.platform == "win32" or (sys.stdin and sys.stdin.isatty()):
        yield
        return
    asked = SimpleQueue[None]()

    def work() -> None:
        while True:
            asked.get()
            reload()

    Thread(target=work, name="reload", daemon=True).start()
    before = signal.signal(signal.SIGHUP, lambda *_: asked.put(None))
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@contextmanager
def _signals(received_one: SimpleQueue[None], closing: Sequence[Close]) -> Iterator[list[int]]:
    """End a wait at the first signal, exit at the second; yields the signals so far.

    A handler may run inside `get`, where the lock of an Event could be held; `put` is reentrant.
    """
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            _exit(number, closing)
        received_one.put(None)

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(number: int, closing: Sequence[Close]) -> None:
    """End the process as the signal does, without waiting for threads."""
    threads = [Thread(target=close, daemon=True) for close in (*closing, _flush)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_CLOSING / len(threads))
    if number == signal.SIGTERM:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    os._exit(128 + number)  # the first process of a container ignores its own signals


def _flush() -> None:
    """Write what is buffered; it may block or fail if nobody reads it."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError, ValueError):
            stream.flush()
