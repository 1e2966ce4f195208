"""The process that starts the workers of this process."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from threading import Lock

from yakusu.documents.isolated.connection import Connection
from yakusu.documents.isolated.memory import process_memory
from yakusu.documents.isolated.worker import END, START, answer_of, order_of
from yakusu.errors import RunError

_ANSWER = 4096  # more than the bytes of an answer
_SECONDS = 0.5  # until a template that was told to end is killed
# -P and the search path of this process: both import the same files, wherever it was started.
_CODE = (
    "import sys; sys.path[:] = sys.argv[2:]; from yakusu.documents.isolated.worker import "
    "template; template(int(sys.argv[1]))"
)


class Template:
    """A process with the libraries of documents, which starts and ends workers.

    It loads the libraries while this process goes on, and ends when this process does.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._control, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE, str(number), *map(os.path.abspath, sys.path)],
                pass_fds=[number],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                process_group=0,  # signals of the terminal are for this process
            )

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def memory(self) -> int:
        """The memory that a new worker shares with it, in bytes."""
        return process_memory(self._process.pid)

    def start(self) -> tuple[int, Connection]:
        """Start a worker.

        Returns:
            Its process id, and the connection to it.

        Raises:
            EOFError: The template has ended.
            RunError: It cannot load the libraries, or the system cannot start a process.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = self._ask(order_of(START), theirs)
            if process:
                return process, Connection(ours)
            ours.close()
            raise RunError(
                "the system cannot start a process for a document: stop other programs, or raise "
                "the limit on processes (ulimit -u)"
            )
        except EOFError:
            ours.close()
            with suppress(subprocess.TimeoutExpired):
                if self._process.wait(_SECONDS) > 0:
                    raise RunError(
                        "the process that reads documents cannot start, for the reason printed "
                        "above"
                    ) from None
            raise

    def end(self, process: int) -> int:
        """End a worker, if it has not ended.

        Returns:
            How it ended, as `os.waitstatus_to_exitcode`.
        """
        try:
            return self._ask(order_of(END, process))
        except EOFError:  # workers end with the template
            return -signal.SIGKILL

    def _ask(self, order: bytes, *sockets: socket.socket) -> int:
        try:
            with self._lock:
                descriptors = [each.fileno() for each in sockets]
                socket.send_fds(self._control, [order], descriptors)
                return answer_of(self._control.recv(_ANSWER))
        except OSError as error:
            raise EOFError from error

    def close(self) -> None:
        """End all workers and the template."""
        with suppress(OSError):  # it has ended
            self._control.shutdown(socket.SHUT_RDWR)  # wakes who waits for an answer
        try:
            self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._lock:
            self._control.close()
