"""The memories of the service: what a client confirms is used by all requests that start later."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from yakusu.data.segments import MemorySegment
from yakusu.errors import DataError
from yakusu.memory.matches import MemoryMatch, find_matches
from yakusu.memory.memory import TranslationMemory
from yakusu.serve.errors import RefusedError

_log = logging.getLogger(__name__)
_RETRY = 10  # seconds after which a client may try again
MemoryFiles = Mapping[tuple[str, str], Sequence[Path]]  # by language pair


def memory_files(paths: Sequence[str]) -> MemoryFiles:
    """The memories of each language pair, in order.

    Raises:
        DataError: A file is not a memory.
    """
    found: dict[tuple[str, str], list[Path]] = {}
    for path in map(Path, paths):
        with TranslationMemory.open(path) as memory:
            found.setdefault(memory.languages, []).append(path)
    return found


class ServedMemories:
    """Adds to memories, searches and removes; any number of threads may use it.

    Args:
        files: The memories. The first one of a language pair is added to.
    """

    def __init__(self, files: MemoryFiles) -> None:
        self._files = files

    def __bool__(self) -> bool:
        return bool(self._files)

    def has(self, pair: tuple[str, str]) -> bool:
        """Whether a language pair has a memory."""
        return pair in self._files

    def add(self, pair: tuple[str, str], source: str, target: str) -> int:
        """Store a translation, synced to disk, and return its number.

        Raises:
            RefusedError: The pair has no memory (404), or it cannot be written (503).
        """
        segment = MemorySegment(
            source.strip(),
            target.strip(),
            origin="correction",
            time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
        with self._writing(pair) as memory:
            return memory.confirm(segment)

    def remove(self, pair: tuple[str, str], number: int) -> bool:
        """Remove a translation; return whether there was one.

        Raises:
            RefusedError: As for `add`.
        """
        with self._writing(pair) as memory:
            return bool(memory.remove([number]))

    def search(self, pair: tuple[str, str], text: str) -> list[MemoryMatch]:
        """What the memory that is added to offers for a text, best first.

        Raises:
            RefusedError: The pair has no memory (404).
        """
        with TranslationMemory.open(self._file(pair)) as memory, memory.snapshot():
            return find_matches(memory, text)

    def _file(self, pair: tuple[str, str]) -> Path:
        if not self.has(pair):
            raise RefusedError(404, f"There is no memory for {'-'.join(pair)} on this server.")
        return self._files[pair][0]

    @contextmanager
    def _writing(self, pair: tuple[str, str]) -> Iterator[TranslationMemory]:
        try:
            with TranslationMemory.open(self._file(pair), writable=True) as memory:
                yield memory
        except DataError as error:
            _log.warning("a translation cannot be stored: %s", error)
            message = "The memory cannot be written now: try again later"
            raise RefusedError(503, message, retry_after=_RETRY, reason="disk") from error
