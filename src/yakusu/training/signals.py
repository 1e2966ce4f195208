"""Signals: the first asks for a checkpoint at the next step boundary, the second leaves at once."""

import os
import signal
import threading
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """While it is open, SIGTERM and SIGINT are noted in `signal` instead of obeyed.

    A signal that was ignored before (a job in the background of a script) stays ignored.
    """

    def __init__(self) -> None:
        self.signal = 0  # its number; 0 for none
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.signal = number
        for other in self._before:
            signal.signal(other, signal.SIG_DFL)
        name = signal.Signals(number).name
        # Not `print`, which the signal may have interrupted.
        os.write(2, f"{name}: a checkpoint after this step; once more leaves at once\n".encode())
