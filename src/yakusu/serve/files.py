"""Uploaded documents and their translations, which can be downloaded for some time."""

import logging
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import gettempdir, mkdtemp

from filelock import FileLock, Timeout

from yakusu.documents.suffixes import CONVERTED, SNIFFED, SUFFIXES, TABLES
from yakusu.serve.errors import RefusedError, invalid_request

ACCEPTED = tuple(sorted({*SUFFIXES, *SNIFFED} - TABLES - CONVERTED.keys()))  # suffixes of documents
_log = logging.getLogger(__name__)
_PREFIX, _LOCK = "yakusu-serve-", "lock"  # of the folder of a service; of a file in it
_SECONDS = 1800.0  # for which a translation is kept
_UNSAFE = re.compile(r"[^\w .()-]+")
_LONGEST = 100  # bytes of a name, without its suffix


class Files:
    """A folder with translated documents, each under a random name.

    Nobody else can read it. It has a file that is locked while the process runs: the folders of
    processes that were killed are removed.

    Args:
        most: Maximum number of translations that are kept; the oldest ones are removed.
        seconds: Time after which a document is removed.
        clock: Returns the time in seconds.

    Attributes:
        folder: The folder.
    """

    def __init__(
        self, most: int, *, seconds: float = _SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        _remove_stale(Path(gettempdir()))
        self.folder, self._lock = _locked_folder()
        self._most, self._seconds, self._clock = most, seconds, clock
        self._made: dict[str, tuple[float, Path]] = {}

    def new(self) -> tuple[str, Path]:
        """An empty folder for one document, and its random name."""
        self.remove_old()
        name = secrets.token_urlsafe(18)
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        return name, folder

    def keep(self, name: str, path: Path) -> None:
        """Keep a document in the folder of this name, so that it can be downloaded."""
        with suppress(FileNotFoundError):  # it was removed at the same time
            path.chmod(0o600)
        self._made[name] = (self._clock(), path)
        while len(self._made) > self._most:
            self.discard(next(iter(self._made)))

    def find(self, name: str) -> Path:
        """The document with a random name.

        Raises:
            RefusedError: There is none, or it was removed.
        """
        self.remove_old()
        if name not in self._made:
            raise RefusedError(404, "Invalid filename: the file does not exist, or has expired")
        return self._made[name][1]

    def discard(self, name: str) -> None:
        """Remove a folder."""
        self._made.pop(name, None)
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def remove_old(self) -> None:
        """Remove the documents that have expired."""
        now = self._clock()
        for name, (since, _) in (*self._made.items(),):
            if now - since > self._seconds:
                self.discard(name)

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.release()


def _locked_folder() -> tuple[Path, FileLock]:
    """A new folder with a locked file."""
    while True:
        folder = Path(mkdtemp(prefix=_PREFIX))
        lock = FileLock(folder / _LOCK, mode=0o600, thread_local=False)
        with suppress(OSError):  # another process has removed the folder before it was locked
            lock.acquire()
            if (folder / _LOCK).exists():
                return folder, lock


def _remove_stale(root: Path) -> None:
    """Remove the folders of processes of this user that have ended without removing them."""
    if sys.platform == "win32":
        return
    for folder in root.glob(f"{_PREFIX}*"):
        with suppress(OSError, Timeout):  # it is not ours, or the process runs
            found = folder.lstat()
            is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            if not is_own or not stat.S_ISREG((folder / _LOCK).lstat().st_mode):
                continue
            with FileLock(folder / _LOCK, mode=0o600, timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
            _log.debug("removed the documents of a process that was killed: %s", folder.name)


def safe_name(given: str | None) -> str:
    """A file name without folders and without characters that have a special meaning.

    Raises:
        RefusedError: There is no name, or its suffix is not that of a document format.
    """
    if not given:
        raise invalid_request("empty file")
    name = PureWindowsPath(PurePosixPath(given).name).name
    path = PurePosixPath(_UNSAFE.sub("_", name).lstrip("."))
    suffix = path.suffix.lower()
    if suffix in CONVERTED:
        raise invalid_request(
            f"{suffix} files are not translated by the service: use the command line (yakusu "
            f"translate MODEL in{suffix} --out out{CONVERTED[suffix][0]})"
        )
    if suffix not in ACCEPTED:
        raise invalid_request(f"file format not supported: use one of {', '.join(ACCEPTED)}")
    stem = path.stem.encode()[:_LONGEST].decode(errors="ignore").strip()
    return (stem or "document") + suffix
