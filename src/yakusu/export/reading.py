"""Reads the files of other toolkits."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import sentencepiece as spm
from pydantic import BaseModel, TypeAdapter, ValidationError

from yakusu.arrays import Array
from yakusu.errors import ModelError

_Read = TypeVar("_Read", bound=BaseModel)
_VOCABULARY: TypeAdapter[dict[str, int]] = TypeAdapter(dict[str, int])


def read_json_as(kind: type[_Read], path: Path) -> _Read:
    """Read a JSON file.

    Raises:
        ModelError: The file cannot be read, or a value is missing or invalid.
    """
    try:
        return kind.model_validate_json(_bytes(path))
    except ValidationError as error:
        raise _invalid(path, error) from error


def pieces_by_row(path: Path) -> list[str]:
    """Read a vocabulary in JSON, {piece: row}.

    Raises:
        ModelError: The file cannot be read or is invalid, or the rows are not 0, 1, 2, ...
    """
    try:
        rows = _VOCABULARY.validate_json(_bytes(path))
    except ValidationError as error:
        raise _invalid(path, error) from error
    if sorted(rows.values()) != list(range(len(rows))):
        raise ModelError(
            f"{path}: the ids of its {len(rows):,} tokens are not 0 to {len(rows) - 1:,}"
        )
    return sorted(rows, key=rows.__getitem__)


def read_segmenter(path: Path) -> spm.SentencePieceProcessor:
    """Read a SentencePiece model.

    Raises:
        ModelError: The file cannot be read, or is not a SentencePiece model.
    """
    try:
        return spm.SentencePieceProcessor(model_proto=_bytes(path))
    except RuntimeError as error:
        raise ModelError(f"{path} is not a valid SentencePiece model") from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error


def _invalid(path: Path, error: ValidationError) -> ModelError:
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    return ModelError(f"{path}: {key}: {first['msg']}" if key else f"{path}: {first['msg']}")


class Renamed(Mapping[str, Array]):
    """Tensors under other names, each read when it is accessed.

    Args:
        stored: The tensors.
        names: The name in `stored` of each tensor.
    """

    def __init__(self, stored: Mapping[str, Array], names: Mapping[str, str]) -> None:
        self._stored, self._names = stored, names

    def __getitem__(self, name: str) -> Array:
        return self._stored[self._names[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
