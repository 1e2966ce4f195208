"""What ends a command: one sentence on standard error, and an exit code.

    2        an error with a known cause
    1        an internal error; its traceback is in a file that the sentence names
    128 + N  stopped by signal N

The sentence is printed even if memory is exhausted. The option --debug prints the traceback too.
"""

import gc
import os
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from signal import SIGINT
from types import TracebackType

from yakusu.cli.causes import described, known_cause, lacks_memory
from yakusu.cli.console import say
from yakusu.cli.standard_error import discard_messages
from yakusu.errors import SignalError
from yakusu.version import __version__

_RESERVE = 4 << 20  # bytes of address space for the last sentence: four arenas of Python
_NO_MEMORY = b"error: there is not enough memory: free some, or raise the limit of the process\n"
_UNWRITABLE = (OSError, ValueError)  # standard error is closed: for its reader, or for Python


class FailureHandler:
    """Context manager that ends the process if an exception leaves it.

    An exception that nobody catches in a thread is reported, too. It ends the process, because the
    main thread may wait for that thread forever; but not if the operating system refused something
    to the thread of TensorBoard, which passes the error on.

    Attributes:
        debug: Whether to print tracebacks.
    """

    def __init__(self) -> None:
        self.debug = False
        self._reserve = bytes(_RESERVE)  # not resident: unlike a bytearray, it is not written

    def __enter__(self) -> "FailureHandler":
        self._thread_hook, threading.excepthook = threading.excepthook, self._end_of_thread
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        threading.excepthook = self._thread_hook
        if error is not None and not isinstance(error, SystemExit):
            sys.exit(self._report(error))

    def _report(self, error: BaseException) -> int:
        """Describe an exception to the user; return the exit code."""
        self._reserve = b""
        code = 1
        try:
            if lacks_memory(error):
                traceback.clear_frames(error.__traceback__)  # their variables hold most of it
                gc.collect()
            code, label, sentence = self._ending(error)
            if sentence:
                say(sentence, label)
        except (MemoryError, ImportError):  # ImportError: a library could not be mapped
            code = 2
            with suppress(OSError):
                os.write(2, _NO_MEMORY)
        except KeyboardInterrupt:
            code = 128 + SIGINT
        except _UNWRITABLE:
            with suppress(*_UNWRITABLE):
                discard_messages()
        return code

    def _ending(self, error: BaseException) -> tuple[int, str, str]:
        """Return the exit code and what to print: a label and a sentence, or nothing."""
        if isinstance(error, KeyboardInterrupt):
            return 128 + SIGINT, "", ""
        if isinstance(error, SignalError):
            return 128 + error.signal, "", str(error)
        known = known_cause(error)
        details = "" if known and not self.debug else "".join(traceback.format_exception(error))
        if self.debug:
            with suppress(*_UNWRITABLE):
                say(details.rstrip())
        if known:
            return 2, "error:", known
        return 1, "internal error:", f"{described(error)}, {_kept(details)}: please report it"

    def _end_of_thread(self, ended: threading.ExceptHookArgs) -> None:
        """Report an exception that ended a thread."""
        error = ended.exc_value or ended.exc_type()
        if isinstance(error, SystemExit):
            return
        if isinstance(error, OSError) and type(ended.thread).__module__.startswith("tensorboard"):
            return
        os._exit(self._report(error))  # flushing standard output may block


def _kept(details: str) -> str:
    """Write a traceback to a new file that only its owner can read; say where it is."""
    import tempfile  # these modules take time to import
    from platform import platform, python_version

    head = f"yakusu {__version__}, Python {python_version()}, {platform()}\n\n"
    folders: tuple[Callable[[], str], ...] = (tempfile.gettempdir, os.getcwd)
    for folder in folders:
        with suppress(OSError):
            descriptor, name = tempfile.mkstemp(".txt", "yakusu-error-", folder())
            try:
                with os.fdopen(
                    descriptor, "w", encoding="utf-8", errors="backslashreplace"
                ) as file:
                    file.write(head + details)
            except OSError:
                Path(name).unlink()
                raise
            return f"the details are in {name}"
    return "the details cannot be written to a file, but --debug prints them"
