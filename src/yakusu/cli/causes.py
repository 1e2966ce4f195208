"""What to tell the user about an exception, in one sentence.

An exception without a sentence here is an internal error, which the user is asked to report.
"""

import errno
import os
import re
import sys
from pathlib import Path

from yakusu.errors import DataError, ModelError, YakusuError

_EXTRAS = {  # module -> the extra that installs it
    **dict.fromkeys(("torch", "tensorboard", "numba"), "train"),
    **dict.fromkeys(("constriction", "matplotlib", "scipy", "sklearn"), "compress"),
    **dict.fromkeys(("markdown_it", "mdit_py_plugins", "yaml"), "documents"),
    "pypdfium2": "pdf",
    **dict.fromkeys(("lxml", "py3langid", "zstandard"), "corpora"),
    **dict.fromkeys(("MeCab", "mecab_ko"), "mecab"),
    **dict.fromkeys(("ray", "pandas", "pyarrow"), "ray"),
    **dict.fromkeys(("onnx", "onnxruntime", "onnxscript"), "onnx"),
    **{"google": "web", "transformers": "hf", "ctranslate2": "ctranslate2"},
    **dict.fromkeys(("starlette", "h11", "uvicorn", "greenlet"), "serve"),
    **dict.fromkeys(("prometheus_client", "language_data"), "serve"),
}
_EXTRAS_OF_VERBS = {  # with "train"
    **{verb: verb for verb in ("compress", "demo", "import")},
    "vectors": "compress",
}
_OF_UNIX = ("fcntl", "resource", "termios")  # modules that Windows lacks

_FULL = (errno.ENOSPC, errno.EDQUOT)

# What libraries say if the system gives them no memory or no thread.
_NO_MEMORY = re.compile(
    r"(cannot|can't|could not|unable to) allocate|not enough memory|out of memory|std::bad_alloc|"
    r"bad allocation|_ALLOC_FAILED|failed to map segment|can't start new thread",
    re.IGNORECASE,
)
_MECAB = "Failed initializing MeCab"
_MISSING_LIBRARY = re.compile(r"cannot open shared object|undefined symbol|version `|dlopen")
_CORRUPT = {  # exceptions of decoders, as `_names` names them
    *("zlib.error", "_lzma.LZMAError", "gzip.BadGzipFile", "zipfile.BadZipFile"),
    *("zstandard.ZstdError", "safetensors.SafetensorError", "sqlite3.DatabaseError"),
    *("tokenize.TokenError", "builtins.UnicodeDecodeError"),  # TokenError: headers of .npy
}
_ENDED = "concurrent.BrokenProcessPool"  # one of a pool of processes has ended; also joblib's
_LONGEST = 300  # characters of what a library says


def known_cause(error: BaseException) -> str | None:
    """The sentence for an error whose cause is known; None: an internal error.

    If memory is missing, a reader may take what a library says for a fault of the file, and a
    library may fail in an unknown way, such as "could not create a primitive". Both are errors of
    memory.
    """
    earlier = error.__cause__ or error.__context__
    if earlier and lacks_memory(earlier) and isinstance(error, ModelError | DataError):
        return known_cause(earlier)
    if isinstance(error, YakusuError):
        return str(error)
    if known := _own_cause(error):
        return known
    if earlier and lacks_memory(earlier):
        return known_cause(earlier)
    return _no_memory(f" ({described(error)})") if _is_at_limit() else None


def _own_cause(error: BaseException) -> str | None:
    if lacks_memory(error):
        return _no_memory(_of_memory(error))
    if isinstance(error, ModuleNotFoundError):
        return _missing_module(error)
    if isinstance(error, OSError) and error.errno is not None:
        return _reason(error)
    return _of_library(error) or (_reason(error) if isinstance(error, OSError) else None)


def lacks_memory(error: BaseException) -> bool:
    """Whether an error means that the system gave no memory, or no thread."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno == errno.ENOMEM
    says = isinstance(error, RuntimeError | ImportError | OSError) or _names(error) & _CORRUPT
    return isinstance(error, MemoryError) or bool(says and _NO_MEMORY.search(str(error)))


def _is_at_limit() -> bool:
    """Whether the process has used nine tenths of the address space that `ulimit -v` allows."""
    try:
        import resource  # not on Windows
    except ModuleNotFoundError:
        return False
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    status = Path("/proc/self/status")  # Linux
    if limit == resource.RLIM_INFINITY or not status.exists():
        return False
    peak = re.search(rb"^VmPeak:\s*(\d+) kB", status.read_bytes(), re.MULTILINE)
    return peak is not None and 1024 * int(peak[1]) > 0.9 * limit


def _no_memory(why: str) -> str:
    return (
        f"there is not enough memory{why}: free some, raise the limit of the process, or use "
        "smaller files or batches"
    )


def _of_memory(error: BaseException) -> str:
    """The line of a message that is about memory, in parentheses: numpy's has a page."""
    lines = str(error).splitlines()
    line = next(filter(_NO_MEMORY.search, lines), lines[0] if lines else "")
    return f" ({line.strip()[:_LONGEST]})" if line else ""


def described(error: BaseException) -> str:
    """What an exception says, in one line, with its type if that says more."""
    text = " ".join(str(error).split())
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} ..."
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def _of_library(error: BaseException) -> str | None:
    if isinstance(error, RecursionError):
        return (
            "an input is nested too deeply (RecursionError): find it with --debug, and simplify it "
            "or leave it out"
        )
    if isinstance(error, OverflowError):
        return (
            f"a number is too large ({described(error)}): choose a smaller one, or find the file "
            "that contains it with --debug"
        )
    if isinstance(error, ImportError) and _MISSING_LIBRARY.search(str(error)):
        return f"a library cannot be loaded ({described(error)}): reinstall its package"
    if isinstance(error, RuntimeError) and _MECAB in str(error):
        return (
            "MeCab cannot open its dictionary: check that there is enough memory, or reinstall "
            "yakusu with its extra 'mecab'"
        )
    if _ENDED in _names(error):
        return (
            "a worker process was ended from outside, probably because there is not enough memory: "
            "free some, or use fewer processes"
        )
    if _names(error) & _CORRUPT:
        return (
            f"a file is truncated or corrupted ({described(error)}): find it with --debug, and "
            "copy it again"
        )
    return None


def _names(error: BaseException) -> set[str]:
    """The package and name of each type of an exception, without importing the package."""
    return {f"{each.__module__.partition('.')[0]}.{each.__name__}" for each in type(error).__mro__}


def _missing_module(error: ModuleNotFoundError) -> str | None:
    module = (error.name or "").partition(".")[0]
    if module in _OF_UNIX:
        return "this command needs Linux or macOS: on Windows, use WSL (docs/windows-and-macos.md)"
    if module not in _EXTRAS:
        return None
    extra = _extra_for(module)
    return (
        f"this command needs {module}: install yakusu with its extra '{extra}', as in pip "
        f"install '.[{extra}]'"
    )


def _extra_for(module: str) -> str:
    """Return the extra that installs a module and everything else that the verb needs."""
    extra = _EXTRAS[module]
    verb = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    return _EXTRAS_OF_VERBS.get(verb, extra) if extra == "train" else extra


def _reason(error: OSError) -> str:
    """Return what the operating system refused, and the fix if it is known."""
    reason = error.strerror or str(error)
    name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    if error.errno in _FULL:
        output = name or "the output"
        return f"{output} cannot be written ({reason}): free some space, or write to another disk"
    if not name:
        return reason
    match error.errno:
        case errno.EROFS | errno.ENOTDIR | errno.EEXIST:
            fix = "choose a folder that you can write to"
            return f"{name} cannot be written ({reason}): {fix}"
        case errno.EACCES | errno.EPERM:
            fix = "change its permissions or those of its folder, or choose another path"
            return f"{name} is not accessible ({reason}): {fix}"
    return f"{name}: {reason}"
