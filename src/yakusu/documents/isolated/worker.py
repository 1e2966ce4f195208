"""The worker processes: a template that starts them, and what each does with its document."""

import ctypes
import gc
import math
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from yakusu.documents.document import (
    Document,
    DocumentOptions,
    NamesTexts,
    NeedsChecks,
    StatesOrigin,
)
from yakusu.documents.isolated.connection import Connection
from yakusu.documents.registry import parse_document
from yakusu.documents.suffixes import SUFFIXES
from yakusu.errors import DataError

START, END = b"s", b"e"  # orders to the template, each with a number of _NUMBER bytes
_NUMBER = 8
NO_MEMORY = 3  # exit status of a worker that exceeds its limit
_SAMPLE, _SAMPLE_CHARACTERS = 200, 5000  # texts that are sent if they decide the options
_LONGEST_KEY = 1000  # characters of the name of a text
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the parent decides
_UNIT = b'<trans-unit id="1"><source>a <x id="1"/></source></trans-unit>'
_SAMPLES = {  # documents that load libraries and compile patterns when they are read and written
    ".html": b"<html><h1>A</h1><p>a <b>b</b> &amp; <a href='c'>c</a></p><pre>d</pre></html>",
    ".json": b'{"a": "b <b>c</b> {d}"}',
    ".md": b"# A *b*\n\n- c `d` [e](f)\n\n> <b>g</b>\n",
    ".po": b'msgid ""\nmsgstr "Language: de\\n"\n\n#: a.c\nmsgid "a %s"\nmsgstr ""\n',
    ".properties": b"a=b {0}\n",
    ".srt": b"1\n00:01 --> 00:02\na <i>b</i>\n",
    ".strings": b'"a" = "b %@";\n',
    ".stringsdict": b"<plist><dict><key>other</key><string>b</string></dict></plist>",
    ".txt": b"a\n",
    ".xcstrings": b'{"strings": {"a %@": {}}}',
    ".xlf": b'<xliff version="1.2"><file><body>' + _UNIT + b"</body></file></xliff>",
    ".xml": b"<resources><string name='a'>b <b>c</b></string></resources>",
    ".yml": b"a: b c\n",
}
_REPEATED = 3  # after which the interpreter has adapted the code that they run
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_GARBAGE_THRESHOLD = 100_000  # as in the command line


# ---- the template ----------------------------------------------------------------------------


def template(descriptor: int) -> None:
    """Start and end workers, as ordered over a socket, until it is closed.

        START 0   with a socket for the worker -> its process id; 0: the system has no room for it
        END id    -> how it ended, as `os.waitstatus_to_exitcode`

    A worker that ended stays a zombie until END, so its id is not that of another process.
    """
    for each in _IGNORED:
        signal.signal(each, signal.SIG_IGN)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _load()
    control, workers = socket.socket(fileno=descriptor), set[int]()
    try:
        while True:
            order, descriptors, _, _ = socket.recv_fds(control, 1 + _NUMBER, 1)
            if not order:
                return
            if order[:1] == START:
                found = _start(control, descriptors[0])
                workers |= {found} - {0}
            else:
                found = _end(int.from_bytes(order[1:]))
                workers.discard(int.from_bytes(order[1:]))
            control.sendall(found.to_bytes(_NUMBER, signed=True))
    except OSError:  # the parent has ended
        pass
    finally:
        for process in workers:
            os.kill(process, signal.SIGKILL)


def order_of(kind: bytes, number: int = 0) -> bytes:
    """The bytes of an order to the template."""
    return kind + number.to_bytes(_NUMBER)


def answer_of(data: bytes) -> int:
    """The answer of the template.

    Raises:
        EOFError: It has ended.
    """
    if len(data) < _NUMBER:
        raise EOFError
    return int.from_bytes(data, signed=True)


def _load() -> None:
    """Load what workers need."""
    for name in sorted({*SUFFIXES.values()}):
        import_module(f"yakusu.documents.{name}")
    for suffix, data in _REPEATED * [*_SAMPLES.items()]:
        with suppress(DataError, ModuleNotFoundError):
            document = parse_document(Path(f"a{suffix}"), data, DocumentOptions(("en", "de")))
            document.render(document.texts)
    gc.set_threshold(_GARBAGE_THRESHOLD)
    gc.collect()
    gc.freeze()  # the pages of these objects stay shared


def _start(control: socket.socket, descriptor: int) -> int:
    """Start a worker, and return its id; 0: it cannot be started."""
    parent = os.getpid()
    try:
        process = os.fork()
    except OSError:  # too many processes, or too little memory
        os.close(descriptor)
        return 0
    if process:
        os.close(descriptor)
        return process
    try:
        control.close()
        _end_with(parent)
        _work(Connection(socket.socket(fileno=descriptor)))
    except MemoryError:
        os._exit(NO_MEMORY)
    finally:
        os._exit(1)


def _end(process: int) -> int:
    """End a worker, if it has not ended, and return how it ended."""
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _end_with(parent: int) -> None:
    """Let the system end this process when the template is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


# ---- a worker --------------------------------------------------------------------------------


def _work(connection: Connection) -> NoReturn:
    """Read a document, and write it with each list of translations that arrives."""
    try:
        _translate(connection)
    except MemoryError:
        raise
    except EOFError:  # nobody needs it
        pass
    except DataError as error:
        connection.send_json({"error": str(error)})
    except RecursionError:
        problem = "it is nested too deeply: simplify it"
        connection.send_json({"problem": problem})
    except ModuleNotFoundError as error:
        connection.send_json({"missing": error.name, "error": str(error)})
    except Exception as error:
        connection.send_json({"problem": _described(error)})
    os._exit(0)


def _translate(connection: Connection) -> None:
    order = connection.receive_json()
    connection.send_json(_limit(order["memory"], order["cpu_seconds"]))
    path, data = Path(order["name"]), connection.receive_file()
    options = _options(order["options"])
    document = parse_document(path, data, options)
    if order["identify"]:
        connection.send_json({"texts": _sample(document.texts)})
        found = _options(connection.receive_json())
        document = document if found == options else parse_document(path, data, found)
    del data
    described = {
        "lines": [*document.lines],
        "reports_blank": document.reports_blank,
        "states_origin": isinstance(document, StatesOrigin),
        "has_keys": isinstance(document, NamesTexts),
    }
    connection.send_json({**described, "skipped": [*document.skipped]})
    connection.send_texts(document.texts)
    if isinstance(document, NamesTexts):
        # A long name may be that of many texts.
        connection.send_texts([key if len(key) <= _LONGEST_KEY else "" for key in document.keys])
    while True:
        if isinstance(document, StatesOrigin):
            document.tell(connection.receive_known())
        _write(connection, document, connection.receive_texts())


def _sample(texts: Sequence[str]) -> list[str]:
    """The first texts, cut after some characters."""
    found, left = list[str](), _SAMPLE_CHARACTERS
    for text in texts[:_SAMPLE]:
        if left <= 0:
            break
        found.append(text[:left])
        left -= len(text) + 1  # with a line break
    return found


def _write(connection: Connection, document: Document, translations: list[str]) -> None:
    written = document.render(translations)
    checks = document.checks if isinstance(document, NeedsChecks) else ()
    connection.send_json({"skipped": [*document.skipped], "checks": [*checks]})
    connection.send_bytes(written)


def _options(values: dict[str, Any]) -> DocumentOptions:
    source, target = values["languages"]
    own = (values[name] for name in ("retranslate", "columns", "suffix", "sheet_names"))
    retranslate, columns, suffix, sheet_names = own
    return DocumentOptions((source, target), retranslate, tuple(columns), suffix, sheet_names)


def _limit(memory: int, cpu_seconds: int) -> dict[str, str]:
    """Limit the memory and the processor time from now on; 0: no limit.

    Returns:
        For each limit that the system had before, if that is lower, the command that sets it.
    """
    lower = {}
    if sys.platform == "linux":  # elsewhere, the parent measures the memory
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + memory if memory else math.inf
        if _set_limit(resource.RLIMIT_AS, most):
            lower["memory"] = "ulimit -v"
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = used.ru_utime + used.ru_stime + cpu_seconds if cpu_seconds else math.inf
    if _set_limit(resource.RLIMIT_CPU, seconds, margin=1):
        lower["cpu_seconds"] = "ulimit -t"
    return lower


def _set_limit(which: int, wanted: float, *, margin: int = 0) -> bool:
    """Lower a limit of the system, and return whether it was lower before.

    Args:
        which: The limit.
        wanted: Its value.
        margin: How much lower it must be than the hard limit, at which a process ends without a
            reason.
    """
    soft, hard = resource.getrlimit(which)
    before = min(_or_infinite(soft), _or_infinite(hard) - margin)
    if (most := min(wanted, before)) < sys.maxsize:  # what `setrlimit` accepts
        resource.setrlimit(which, (max(1, int(most)), hard))
    return before < wanted


def _or_infinite(limit: int) -> float:
    return math.inf if limit == resource.RLIM_INFINITY else limit


def _described(error: Exception) -> str:
    """An error that no reader expects, without texts of the document."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    return f"its reader failed ({type(error).__name__} in {where}): report it with the file"
