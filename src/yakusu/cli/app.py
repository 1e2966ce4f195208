"""Entry point of the command line: environment, overview, verbs."""

import atexit
import gc
import io
import logging
import os
import sys

from yakusu.cli.console import LogFormatter, LogHandler
from yakusu.cli.failures import FailureHandler
from yakusu.errors import RunError, SignalError

# Set before torch is loaded, unless the user has set them. torch's internal C++ warnings do not
# help users; pydantic reads the metadata of every installed package to find plugins.
_ENVIRONMENT = {
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
}

# A thread that waits for another one spins for a short time and then sleeps: docs/training.md,
# "Shared cores". The number of iterations is for GNU's OpenMP, which torch uses on Linux.
_WAITING = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "1000"}

# New objects between two runs of the garbage collector. With Python's default of 700, it takes a
# tenth of the time until the first translation and frees nothing.
_GARBAGE_THRESHOLD = 100_000

_SIGPIPE = 13  # the module signal lacks it on Windows


def set_environment() -> None:
    """Set the environment variables of the libraries that the user has not set."""
    waiting = {} if "OMP_WAIT_POLICY" in os.environ else _WAITING
    for name, value in (_ENVIRONMENT | waiting).items():
        os.environ.setdefault(name, value)


def main() -> None:
    """Run the command line; `failures.py` lists the exit codes."""
    with FailureHandler() as failures:
        set_environment()
        gc.set_threshold(_GARBAGE_THRESHOLD)
        atexit.register(gc.freeze)  # no search for cycles in what the process leaves
        log = LogHandler()
        log.setFormatter(LogFormatter())
        logging.basicConfig(level=logging.WARNING, handlers=[log])
        if sys.stdout is None:
            raise RunError("standard output is closed: redirect it, as in > FILE")
        _print_utf8()
        _run(failures)


def _print_utf8() -> None:
    """Print UTF-8 in every locale, as files are read; the names of files keep their bytes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")


def _run(failures: FailureHandler) -> None:
    """Run the verb; report a closed output as a signal, because Click hides it."""
    try:
        try:
            _call(failures)
        finally:
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as done:
        if not any(isinstance(each, BrokenPipeError) for each in (done, done.__context__)):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for Python's last flush
        raise SignalError("output closed, stopping", _SIGPIPE) from done


def _call(failures: FailureHandler) -> None:
    """Print the overview, or run the verb; only the latter imports Typer."""
    if sys.argv[1:] == ["--help"]:
        from yakusu.cli.overview import print_overview

        print_overview()
        return
    from yakusu.cli.verbs import app

    app(standalone_mode=True, obj=failures)
