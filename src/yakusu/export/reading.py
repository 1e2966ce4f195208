"""Reads the files of other toolkits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from yakusu.arrays import Array
from yakusu.errors import ModelError
from yakusu.folder import downloaded, read_regular

_Read = TypeVar("_Read", bound=BaseModel)
_VOCABULARY: TypeAdapter[dict[str, int]] = TypeAdapter(dict[str, int])


def read_json_as(kind: type[_Read], path: Path) -> _Read:
    """Read a JSON file.

    Raises:
        ModelError: The file cannot be read, or a value is missing or invalid.
    """
    try:
        return kind.model_validate_json(read_bytes(path))
    except ValidationError as error:
        raise _invalid(path, error) from error


def read_rows(path: Path) -> dict[str, int]:
    """Read a vocabulary in JSON, {piece: row}.

    Raises:
        ModelError: The file cannot be read or is invalid.
    """
    try:
        return _VOCABULARY.validate_json(read_bytes(path))
    except ValidationError as error:
        raise _invalid(path, error) from error


def in_order(rows: Mapping[str, int], path: Path) -> list[str]:
    """Return the pieces of a vocabulary in the order of their rows.

    Raises:
        ModelError: The rows are not 0, 1, 2, ...
    """
    if sorted(rows.values()) != list(range(len(rows))):
        raise ModelError(
            f"{path}: the ids of its {len(rows):,} tokens are not 0 to {len(rows) - 1:,}"
        )
    return sorted(rows, key=rows.__getitem__)


def row_of(piece: str, pieces: Sequence[str], vocabulary: object) -> int:
    """Return the row of a special token.

    Args:
        piece: The token.
        pieces: That of each row.
        vocabulary: Its name in messages.

    Raises:
        ModelError: The token is not in the vocabulary.
    """
    if piece not in pieces:
        raise ModelError(f"{vocabulary} has no token '{piece}'")
    return pieces.index(piece)


def read_bytes(path: Path) -> bytes:
    """Read a file.

    Raises:
        ModelError: The file cannot be read, or is a Git LFS pointer.
    """
    try:
        return read_regular(downloaded(path))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error


def first_error(error: ValidationError) -> str:
    """Return what is wrong with the first invalid value."""
    first = error.errors(include_input=False)[0]
    key = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    return f"{key}: {message}" if key else message


def _invalid(path: Path, error: ValidationError) -> ModelError:
    return ModelError(f"{path}: {first_error(error)}")


class Renamed(Mapping[str, Array]):
    """Tensors under other names, each read and converted when it is accessed.

    Args:
        stored: The tensors.
        names: The name in `stored` of each tensor; `stored` may lack some of them.
        convert: Returns a tensor, from its new name and the stored one.
    """

    def __init__(
        self,
        stored: Mapping[str, Array],
        names: Mapping[str, str],
        convert: Callable[[str, Array], Array] = lambda _, array: array,
    ) -> None:
        self._stored, self._names, self._convert = stored, names, convert

    def original(self, name: str) -> str:
        """Return the name that a tensor has in the file."""
        return self._names.get(name, name)

    def __getitem__(self, name: str) -> Array:
        return self._convert(name, self._stored[self._names[name]])

    def __contains__(self, name: object) -> bool:
        return self._names.get(str(name)) in self._stored

    def __iter__(self) -> Iterator[str]:
        return (name for name, original in self._names.items() if original in self._stored)

    def __len__(self) -> int:
        return sum(1 for _ in self)
