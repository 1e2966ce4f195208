"""The words of compressed vectors: compressed text, and an index that is built when needed."""

import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from yakusu.errors import DataError, ModelError

_END = b"\xff"  # between words: no character of UTF-8 contains it
_MOST = 64  # times its compressed size: maximum size of the text, so a small file stays small
_FIX = "copy the file again, or compress the vectors again"


class Words(Sequence[str]):
    """V distinct words, decompressed when the first one is needed.

    Args:
        stored: UTF-8 of the words, separated by bytes 0xFF and compressed with zlib to no less than
            a 64th of its size, uint8.
        n_words: V.
    """

    def __init__(self, stored: npt.NDArray[np.uint8], n_words: int) -> None:
        self.stored, self._n_words = stored, n_words

    @classmethod
    def of(cls, words: Iterable[str]) -> "Words":
        """Store distinct words.

        Raises:
            DataError: A word cannot be encoded as UTF-8.
        """
        encoded = [_encoded(word) for word in words]
        text = _END.join(encoded)
        stored = zlib.compress(text, 9)
        if len(text) > _MOST * len(stored):
            stored = zlib.compress(text, 0)
        return cls(np.frombuffer(stored, dtype=np.uint8), len(encoded))

    def __len__(self) -> int:
        return self._n_words

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...

    def __getitem__(self, number: int | slice) -> str | list[str]:
        return self._listed[number]

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def find(self, word: str) -> int | None:
        """Return the index of a word; None if it is missing."""
        return self._index.get(word)

    @cached_property
    def _listed(self) -> list[str]:
        try:
            text = _decompressed(self.stored.tobytes())
            if (n_words := text.count(_END) + 1) != self._n_words:
                raise ModelError(f"there are {n_words} words for {self._n_words} vectors: {_FIX}")
            return [word.decode() for word in text.split(_END)]
        except (zlib.error, UnicodeDecodeError) as error:
            raise ModelError(f"the words are damaged, {error}: {_FIX}") from error

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self._listed)}


def _decompressed(stored: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(stored, _MOST * len(stored) + 1)
    if not unpacking.eof:
        raise ModelError(
            f"the words are truncated, or longer than {_MOST} times their compressed size: {_FIX}"
        )
    return text


def _encoded(word: str) -> bytes:
    try:
        return word.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"the word {word[:20]!r} cannot be encoded as UTF-8: correct or remove it"
        ) from error
