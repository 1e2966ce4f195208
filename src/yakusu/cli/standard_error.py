"""Standard error, on which a message that cannot be written is lost and ends nothing."""

import os
import sys
from typing import IO, cast


class _StandardError:
    """The stream for progress bars: the terminal may be closed while a run saves its checkpoint."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Write text, if it can be written."""
        try:
            sys.stderr.write(text)
        except BrokenPipeError:
            raise
        except OSError:
            discard_messages()
        return len(text)

    def flush(self) -> None:
        """Write what is in the buffer, if it can be written."""
        try:
            sys.stderr.flush()
        except BrokenPipeError:
            raise
        except OSError:
            discard_messages()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return sys.stderr.isatty()

    def fileno(self) -> int:
        """The descriptor."""
        return sys.stderr.fileno()


def standard_error() -> IO[str]:
    """Return standard error as a stream for progress bars."""
    return cast("IO[str]", _StandardError())


def discard_messages() -> None:
    """Write what is left in the buffer of standard error, and what follows, to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
