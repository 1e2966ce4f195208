"""Signals: the first one saves a checkpoint after the current step, the second one exits."""

import os
import signal
import threading
from contextlib import suppress
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopSignal:
    """Context manager that stores SIGTERM, SIGINT and SIGHUP in `number` instead of ending.

    A signal that was ignored before, as SIGINT in a background job of a script or SIGHUP under
    nohup, stays ignored.
    """

    def __init__(self) -> None:
        self.number = 0  # 0: no signal received
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopSignal":
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._handlers[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.number = number
        for other in self._handlers:
            signal.signal(other, signal.SIG_DFL)
        name = signal.Signals(number).name
        # Not `print`: the signal may have interrupted another `print`.
        text = f"{name}: saving after this step; send the signal again to exit immediately\n"
        with suppress(OSError):  # the terminal may be closed, which is what SIGHUP says
            os.write(2, text.encode())
