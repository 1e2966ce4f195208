"""The memories that a client sees: its own, and those of the operator that its requests use."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from yakusu.serve.access import Key
from yakusu.serve.created import CreatedMemory
from yakusu.serve.errors import RefusedError, invalid_request
from yakusu.serve.memories import LanguagePair
from yakusu.serve.service import Service

_OPERATORS = 2**30  # the numbers of the operator's memories, so that they are never those of others


@dataclass(frozen=True)
class OperatorMemory:
    """A memory that the settings of the service name.

    Attributes:
        number: Its number, which depends on its path only.
        pair: Its languages.
        path: Its file.
    """

    number: int
    pair: LanguagePair
    path: Path


Visible = CreatedMemory | OperatorMemory


class VisibleMemories:
    """The memories of a client; iteration reads the disk.

    Args:
        service: The service.
        key: The API key of the client; None: it has none.
    """

    def __init__(self, service: Service, key: Key | None) -> None:
        self._service, self._key = service, key

    def __iter__(self) -> Iterator[Visible]:
        for each in self._service.memories.all(by=self._key):
            yield OperatorMemory(_number(each.path), each.pair, each.path)
        yield from self._service.created.of(self._key)

    def __getitem__(self, number: int) -> Visible:
        """The memory with a number; see `named`."""
        return self.named([number])[0]

    def named(self, numbers: Sequence[int]) -> list[Visible]:
        """The memories with some numbers.

        Raises:
            RefusedError: The client has no memory with this id (404).
        """
        known = {memory.number: memory for memory in self}
        for number in numbers:
            if number not in known:
                raise RefusedError(404, f"There is no memory {number}")
        return [known[number] for number in numbers]

    def created(self, number: int) -> CreatedMemory:
        """The memory with a number, which the client has created.

        Raises:
            RefusedError: The client has none (404), or it is the operator's (403).
        """
        if isinstance(memory := self[number], OperatorMemory):
            message = f"The operator has set up memory {number}: only its segments can be changed"
            raise RefusedError(403, message)
        return memory

    def file(self, memory: Visible, pair: LanguagePair) -> Path | None:
        """The file that has the segments of a memory in a language pair; None: there is none."""
        if isinstance(memory, OperatorMemory):
            return memory.path if memory.pair == pair else None
        path = self._service.created.segments(memory.number, pair)
        return path if path.exists() else None

    def writing(self, memory: Visible, pair: LanguagePair) -> AbstractContextManager[Path]:
        """The file to which segments of a language pair are added inside the context.

        Raises:
            RefusedError: It is the operator's, and has other languages (400), or it is the
                client's, which has deleted it (404).
        """
        if isinstance(memory, CreatedMemory):
            return self._service.created.writing(memory.number, pair)
        if memory.pair != pair:
            codes = "-".join(memory.pair)
            raise invalid_request(f"memory {memory.number} has segments of {codes} only")
        return nullcontext(memory.path)


def memory_object(memory: Visible) -> dict[str, int | str]:
    """A memory as clients read it."""
    if isinstance(memory, CreatedMemory):
        name, about, time = memory.name, memory.description, memory.time
    else:
        name, about = memory.path.stem, "-".join(memory.pair)
        time = _changed(memory.path).isoformat(timespec="seconds")
    return {"id": memory.number, "name": name, "description": about, "creationDate": time}


def _changed(path: Path) -> datetime:
    """When a file was changed; the beginning of 1970 if it is gone."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return datetime.fromtimestamp(0, UTC)


def _number(path: Path) -> int:
    found = hashlib.blake2b(str(path.absolute()).encode(), digest_size=8).digest()
    return _OPERATORS + int.from_bytes(found) % _OPERATORS
