"""Uploaded documents and their translations, which can be downloaded for some time."""

import re
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import mkdtemp

from yakusu.documents.registry import SNIFFED, SUFFIXES
from yakusu.serve.errors import RefusedError, invalid_request

ACCEPTED = tuple(sorted({*SUFFIXES, *SNIFFED}))  # suffixes of documents
_SECONDS = 1800.0  # for which a translation is kept
_UNSAFE = re.compile(r"[^\w .()-]+")
_LONGEST = 100  # bytes of a name, without its suffix


class Files:
    """A folder with translated documents, each under a random name.

    Args:
        most: Maximum number of translations that are kept; the oldest ones are removed.
        seconds: Time after which a document is removed.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, most: int, *, seconds: float = _SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = Path(mkdtemp(prefix="yakusu-serve-"))
        self._most, self._seconds, self._clock = most, seconds, clock
        self._made: dict[str, tuple[float, Path]] = {}

    def new(self) -> tuple[str, Path]:
        """An empty folder for one document, and its random name."""
        self.remove_old()
        name = secrets.token_urlsafe(18)
        folder = self._folder / name
        folder.mkdir(mode=0o700)
        return name, folder

    def keep(self, name: str, path: Path) -> None:
        """Keep a document in the folder of this name, so that it can be downloaded."""
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
        shutil.rmtree(self._folder / name, ignore_errors=True)

    def remove_old(self) -> None:
        """Remove the documents that have expired."""
        now = self._clock()
        for name, (since, _) in (*self._made.items(),):
            if now - since > self._seconds:
                self.discard(name)

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self._folder, ignore_errors=True)


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
    if suffix not in ACCEPTED:
        raise invalid_request(f"file format not supported: use one of {', '.join(ACCEPTED)}")
    stem = path.stem.encode()[:_LONGEST].decode(errors="ignore").strip()
    return (stem or "document") + suffix
