"""Functions of another process, or of another environment, called by JSON lines.

Peers have environments of their own. A module that serves functions imports only what its
environment has, and ends with `serve({...})`. This module needs the standard library only.
"""

import json
import os
import shlex
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class Service:
    """A process that serves functions, and sleeps between calls.

    Args:
        command: How it is started, from the root of the repository.

    Raises:
        RunError: It cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        # Its output is UTF-8 in any locale, and it may import yakusu if it has the libraries.
        path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONPATH": path}
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                cwd=ROOT,
                env=environment,
            )
        except OSError as error:
            raise _failed(f"{command[0]} cannot be started: {error.strerror}") from error

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin and self._process.stdout
        with suppress(BrokenPipeError):  # it has ended
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __call__(self, function: str, **arguments: Any) -> Any:
        """Call a function in the process and wait for its result.

        Raises:
            RunError: The function failed, or the process ended.
        """
        assert self._process.stdin and self._process.stdout
        name = shlex.join(self.command)
        with suppress(BrokenPipeError):  # its exit code says more
            self._process.stdin.write(json.dumps([function, arguments]) + "\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            code = self._process.wait()
            raise _failed(f"{name} ended with exit code {code}; its last message is above")
        result, error = json.loads(answer)
        if error:
            raise _failed(f"'{function}' of {name} failed: {error}")
        return result


def _failed(message: str) -> Exception:
    from yakusu.errors import RunError  # peers do not have it

    return RunError(message)


def serve(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Answer calls until standard input ends. What the functions print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            answer = functions[name](**arguments), ""
        except Exception as error:
            traceback.print_exc()
            answer = None, f"{type(error).__name__}: {error}"
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
