"""Functions of another process, or of another environment, called by JSON lines.

Peers have environments of their own. A module that serves functions imports only what its
environment has, and ends with `serve({...})`. This module needs the standard library only.
"""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class Service:
    """A process that serves functions, and sleeps between calls.

    Args:
        command: How it is started, from the root of the repository.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        # Its output is UTF-8 in any locale, and Python's warnings are not for the reader.
        environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            cwd=ROOT,
            env=environment,
        )

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __call__(self, function: str, **arguments: Any) -> Any:
        """Call a function in the process and wait for its result.

        Raises:
            RuntimeError: The function failed, or the process died.
        """
        assert self._process.stdin and self._process.stdout
        name = " ".join(self.command)
        try:
            self._process.stdin.write(json.dumps([function, arguments]) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # its exit code says more
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{name} died with exit code {self._process.wait()}")
        result, error = json.loads(answer)
        if error:
            raise RuntimeError(f"{function} of {name} failed:\n{error}")
        return result


def serve(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Answer calls until standard input ends. What the functions print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            answer = functions[name](**arguments), ""
        except Exception:
            answer = None, traceback.format_exc()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
