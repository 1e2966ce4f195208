"""The memories of the service: what a client confirms is used by all requests that start later."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from yakusu.data.segments import MemorySegment
from yakusu.memory.importing import LONGEST
from yakusu.memory.matches import MemoryMatch, find_matches
from yakusu.memory.memory import TranslationMemory
from yakusu.serve.access import Key
from yakusu.serve.errors import RefusedError, invalid_request

LanguagePair = tuple[str, str]
_ByPair = Mapping[LanguagePair, Sequence[Path]]


@dataclass(frozen=True)
class MemoryFiles:
    """The memories of a service by language pair.

    Attributes:
        shared: Those of all requests.
        own: Those of the requests with an API key, which are used first.
    """

    shared: _ByPair = field(default_factory=dict)
    own: Mapping[str, _ByPair] = field(default_factory=dict, repr=False)

    @classmethod
    def of_settings(cls, paths: Iterable[str], keys: Iterable[Key] = ()) -> "MemoryFiles":
        """The memories that settings name.

        Raises:
            DataError: A file is not a memory.
        """
        return cls(_by_pair(paths), {each.key: _by_pair(each.memory) for each in keys})

    def of(self, pair: LanguagePair, key: str = "") -> tuple[Path, ...]:
        """The memories of a language pair for requests with an API key, the first ones first."""
        return (*self.own.get(key, {}).get(pair, ()), *self.shared.get(pair, ()))

    def owners(self, pair: LanguagePair) -> Iterator[str]:
        """The API keys that have memories of a language pair."""
        return (key for key, files in self.own.items() if pair in files)

    def __iter__(self) -> Iterator[tuple[LanguagePair, Path]]:
        for files in (self.shared, *self.own.values()):
            yield from ((pair, path) for pair, paths in files.items() for path in paths)


def _by_pair(paths: Iterable[str]) -> _ByPair:
    found: dict[LanguagePair, list[Path]] = {}
    for path in map(Path, paths):
        with TranslationMemory.open(path) as memory:
            found.setdefault(memory.languages, []).append(path)
    return found


@dataclass(frozen=True)
class ServedMemory:
    """A memory.

    Attributes:
        path: Its file.
        pair: Codes of its languages.
    """

    path: Path
    pair: LanguagePair

    @property
    def number(self) -> str:
        """An identifier, which does not tell the path."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, self.path.absolute().as_uri()))


class ServedMemories:
    """Adds to memories, searches and removes; any number of threads may use it.

    Args:
        files: The memories. The first one of a language pair is added to, for an API key that has
            memories of its own the first of these.
    """

    def __init__(self, files: MemoryFiles) -> None:
        self._files = files

    def __bool__(self) -> bool:
        return any(self._files)

    def has(self, pair: LanguagePair, key: str = "") -> bool:
        """Whether requests with an API key use a memory of a language pair."""
        return bool(self._files.of(pair, key))

    def all(self, *, by: Key | None = None) -> list[ServedMemory]:
        """The memories of requests with an API key, those of the key first."""
        own = self._files.own.get(by.key, {}) if by else {}
        found = (
            ServedMemory(path, pair)
            for files in (own, self._files.shared)
            for pair, paths in files.items()
            for path in paths
        )
        return [*dict.fromkeys(found)]

    def numbered(self, number: str, *, by: Key | None = None) -> ServedMemory:
        """The memory with an identifier.

        Raises:
            RefusedError: Requests with this API key have none (404).
        """
        for memory in self.all(by=by):
            if memory.number == number:
                return memory
        raise RefusedError(404, "Translation memory not found")

    def add(self, pair: LanguagePair, source: str, target: str, *, by: Key | None = None) -> int:
        """Store a translation, synced to disk, and return its number.

        Args:
            pair: The languages.
            source: The text.
            target: Its translation.
            by: The API key of the client; None: it has none.

        Raises:
            RefusedError: A text is too long (400), or the pair has no memory (404).
            MemoryFileError: It cannot be written.
        """
        if max(len(source), len(target)) > LONGEST:
            raise invalid_request(f"a memory takes texts of at most {LONGEST:,} characters")
        segment = MemorySegment(
            source.strip(),
            target.strip(),
            origin="correction",
            time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            who=by.name if by else "",
        )
        with TranslationMemory.open(self._file(pair, by), writable=True) as memory:
            return memory.confirm(segment)

    def remove(self, pair: LanguagePair, number: int, *, by: Key | None = None) -> bool:
        """Remove a translation; return whether there was one.

        Raises:
            RefusedError: As for `add`.
            MemoryFileError: As for `add`.
        """
        with TranslationMemory.open(self._file(pair, by), writable=True) as memory:
            return bool(memory.remove([number]))

    def search(self, pair: LanguagePair, text: str, *, by: Key | None = None) -> list[MemoryMatch]:
        """What the memory that is added to offers for a text, best first.

        Raises:
            RefusedError: The pair has no memory (404).
            MemoryFileError: It cannot be read.
        """
        with TranslationMemory.open(self._file(pair, by)) as memory, memory.snapshot():
            return find_matches(memory, text)

    def _file(self, pair: LanguagePair, by: Key | None) -> Path:
        files = self._files.of(pair, by.key if by else "")
        if not files:
            raise RefusedError(404, f"There is no memory for {'-'.join(pair)} on this server.")
        return files[0]
