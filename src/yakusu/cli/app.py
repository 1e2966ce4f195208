"""Entry point of the command line: verbs, errors, exit codes, version."""

import errno
import gc
import io
import logging
import os
import sys
from signal import SIGPIPE
from typing import Annotated

import typer

from yakusu.cli.console import LogHandler, say
from yakusu.cli.verbs import MARKUP, Verbs
from yakusu.errors import RunError, SignalError, YakusuError
from yakusu.version import __version__

_HELP = "Train, run, score and compress translators and parsers."


app = typer.Typer(
    name="yakusu",
    help=_HELP,
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
)

_EXTRAS = {  # module -> the extra that installs it
    **dict.fromkeys(("torch", "tensorboard"), "train"),
    **dict.fromkeys(("constriction", "matplotlib", "numba", "scipy", "sklearn"), "compress"),
    **dict.fromkeys(("markdown_it", "mdit_py_plugins"), "documents"),
    **dict.fromkeys(("lxml", "py3langid", "zstandard"), "corpora"),
    **dict.fromkeys(("MeCab", "mecab_ko"), "mecab"),
    "yaml": "import",
    **dict.fromkeys(("ray", "pandas", "pyarrow"), "ray"),
    **dict.fromkeys(("onnx", "onnxruntime", "onnxscript"), "onnx"),
    **{"transformers": "hf", "ctranslate2": "ctranslate2"},
    **dict.fromkeys(("fastapi", "starlette", "uvicorn", "greenlet"), "serve"),
    **dict.fromkeys(("prometheus_client", "language_data"), "serve"),
}
_EXTRAS_OF_VERBS = {  # with "train"
    **{verb: verb for verb in ("compress", "demo", "import")},
    "vectors": "compress",
}

_FULL = (errno.ENOSPC, errno.EDQUOT)

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


def set_environment() -> None:
    """Set the environment variables of the libraries that the user has not set."""
    waiting = {} if "OMP_WAIT_POLICY" in os.environ else _WAITING
    for name, value in (_ENVIRONMENT | waiting).items():
        os.environ.setdefault(name, value)


def main() -> None:
    """Run the command line.

    Exit code 2: an error, described in one sentence; 128 + N: stopped by signal N.
    """
    set_environment()
    gc.set_threshold(_GARBAGE_THRESHOLD)
    logging.basicConfig(
        level=logging.WARNING,
        format="%(levelname)s: %(message)s",
        handlers=[LogHandler()],
    )
    try:
        if sys.stdout is None:
            raise RunError("standard output is closed: redirect it, as in > FILE")
        _print_utf8()
        _run()
    except SignalError as error:
        try:
            say(str(error))
        finally:  # if standard error is the closed pipe too
            sys.exit(128 + error.signal)
    except YakusuError as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _EXTRAS:
            raise
        extra = _extra_for(module)
        _fail(
            f"this command needs {module}: install yakusu with its extra '{extra}', as in pip "
            f"install '.[{extra}]'"
        )
    except OSError as error:
        _fail(_reason(error))


def _print_utf8() -> None:
    """Print UTF-8 in every locale, as files are read; the names of files keep their bytes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")


def _extra_for(module: str) -> str:
    """Return the extra that installs a module and everything else that the verb needs."""
    extra = _EXTRAS[module]
    verb = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    return _EXTRAS_OF_VERBS.get(verb, extra) if extra == "train" else extra


def _reason(error: OSError) -> str:
    """Return what the operating system refused, and the fix if it is known."""
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        output = error.filename or "the output"
        return f"{output} cannot be written ({reason}): free some space, or write to another disk"
    if not error.filename:
        return reason
    match error.errno:
        case errno.EROFS | errno.ENOTDIR | errno.EEXIST:
            fix = "choose a folder that you can write to"
            return f"{error.filename} cannot be written ({reason}): {fix}"
        case errno.EACCES | errno.EPERM:
            fix = "change its permissions or those of its folder, or choose another path"
            return f"{error.filename} is not accessible ({reason}): {fix}"
    return f"{error.filename}: {reason}"


def _fail(message: str) -> None:
    say(message, label="error:")
    sys.exit(2)


def _run() -> None:
    """Run the verb; report a closed output as a signal, because Click hides it."""
    try:
        try:
            app(standalone_mode=True)
        finally:
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as done:
        if not any(isinstance(each, BrokenPipeError) for each in (done, done.__context__)):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for Python's last flush
        raise SignalError("output closed, stopping", SIGPIPE) from done


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if show:
        print(f"yakusu {__version__}")
