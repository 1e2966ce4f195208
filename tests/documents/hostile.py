"""A document format for tests: what a file says happens to the process that reads it."""

import os
import re
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from yakusu.documents.document import DocumentOptions
from yakusu.documents.isolated import template, worker
from yakusu.documents.suffixes import SUFFIXES

_START = "sys.argv[2:]; from tests.documents import hostile; hostile.install();"
TEMPLATE = template._CODE.replace("sys.argv[2:];", _START)  # what starts it with this format
MEASURED = TEMPLATE.replace(_START, _START + " hostile.without_system_limits();")
LIMITED = TEMPLATE.replace(_START, _START + " hostile.with_system_limits();")


class HostileDocument:
    """A document with one text, "text"."""

    texts, lines, skipped, reports_blank = ("text",), (1,), (), False

    def __init__(self, act: str) -> None:
        self._act = act

    def render(self, translations: Sequence[str]) -> bytes:
        """Do what the file says after "render"."""
        if self._act.startswith("render "):
            _do(self._act.removeprefix("render "))
        return translations[0].encode()


def read(data: bytes, options: DocumentOptions) -> HostileDocument:
    """Do what the file says."""
    if not data.startswith(b"render "):
        _do(data.decode())
    return HostileDocument(data.decode())


def _do(act: str) -> None:
    what, _, number = act.partition(" ")
    if what == "memory":  # MB, and then time
        found = b"x" * (1_000_000 * int(number))
        time.sleep(1)
        del found
    elif what == "cpu":  # under the interpreter's lock
        re.match(r"(a+)+$", "a" * 60 + "b")
    elif what == "wait":
        time.sleep(600)
    elif what == "crash":
        os.abort()
    elif what == "exit":
        os._exit(7)
    elif what == "deep":
        _do(act)
    elif what == "bug":
        raise KeyError("a secret text")
    elif what == "missing":
        __import__("no_such_library")


def install() -> None:
    """Let files with the suffix .vtt have this format."""
    sys.modules["yakusu.documents.hostile"] = sys.modules[__name__]
    SUFFIXES[".vtt"] = "hostile"


def without_system_limits() -> None:
    """Do not limit the memory, as on a system that cannot."""
    worker._set_limit = lambda which, wanted, margin=0: False


def with_system_limits() -> None:
    """Let the user's own limits allow 40 MB and a second."""
    limit = worker._limit

    def lower(memory: int, cpu_seconds: int) -> dict[str, str]:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + 40_000_000
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
        return limit(memory, cpu_seconds)

    worker._limit = lower
