"""What to tell the user about an exception, in one sentence.

An exception without a sentence here is an internal error, which the user is asked to report.
"""

import errno
import os
import re
import sys

from yakusu.errors import YakusuError

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

# What libraries say if the system gives them no memory or no thread.
_NO_MEMORY = re.compile(
    r"(cannot|can't|could not|unable to) allocate|not enough memory|out of memory|std::bad_alloc|"
    r"bad allocation|_ALLOC_FAILED|failed to map segment|can't start new thread",
    re.IGNORECASE,
)
_MECAB = "Failed initializing MeCab"
_MISSING_LIBRARY = re.compile(r"cannot open shared object|undefined symbol|version `|dlopen")
_CORRUPT = {  # exceptions of decoders, by module and name
    *("zlib.error", "_lzma.LZMAError", "zipfile.BadZipFile"),
    *("tokenize.TokenError", "sqlite3.DatabaseError", "safetensors_rust.SafetensorError"),
    *("gzip.BadGzipFile", "zstd.ZstdError"),
}
_ENDED = {  # exceptions of pools of processes, of which one has ended
    "joblib.externals.loky.process_executor.TerminatedWorkerError",
    "joblib.externals.loky.process_executor.BrokenProcessPool",
    "concurrent.futures.process.BrokenProcessPool",
}
_LONGEST = 300  # characters of what a library says


def known_cause(error: BaseException) -> str | None:
    """The sentence for an error whose cause is known; None: an internal error."""
    if isinstance(error, YakusuError):
        return str(error)
    if lacks_memory(error):
        return (
            f"there is not enough memory ({described(error)}): free some, raise the limit of the "
            "process, or use smaller files or batches"
        )
    if isinstance(error, ModuleNotFoundError):
        return _missing_module(error)
    if isinstance(error, OSError):
        return _reason(error)
    return _of_library(error)


def lacks_memory(error: BaseException) -> bool:
    """Whether an error means that the system gave no memory, or no thread."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno == errno.ENOMEM
    says = isinstance(error, RuntimeError | ImportError | OSError) or _names(error) & _CORRUPT
    return isinstance(error, MemoryError) or bool(says and _NO_MEMORY.search(str(error)))


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
    if _names(error) & _ENDED:
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
    """The full names of the types of an exception; naming them does not import their modules."""
    return {f"{each.__module__}.{each.__qualname__}" for each in type(error).__mro__}


def _missing_module(error: ModuleNotFoundError) -> str | None:
    module = (error.name or "").partition(".")[0]
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
