"""Words by number and numbers by word, read from a file's bytes without reading all of them."""

import bisect
from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from yakusu.errors import DataError

_LONGEST = 2**16 - 1  # bytes, which is what 16 bits of length can say


class Words(Sequence[str]):
    """V words in three arrays, which may lie in a memory map.

    Args:
        text: Their UTF-8, one after another, uint8.
        lengths: Bytes of each, (V,), uint16.
        order: Their numbers by the order of their bytes, (V,), uint32.
    """

    def __init__(
        self,
        text: npt.NDArray[np.uint8],
        lengths: npt.NDArray[np.uint16],
        order: npt.NDArray[np.uint32],
    ) -> None:
        self.text, self.lengths, self.order = text, lengths, order
        self._ends = np.cumsum(lengths, dtype=np.int64)

    @classmethod
    def of(cls, words: Iterable[str]) -> "Words":
        """Of different words.

        Raises:
            DataError: A word has more than 65,535 bytes, or no UTF-8.
        """
        encoded = [_encoded(word) for word in words]
        order = sorted(range(len(encoded)), key=encoded.__getitem__)
        return cls(
            np.frombuffer(b"".join(encoded), dtype=np.uint8),
            np.array([len(word) for word in encoded], dtype=np.uint16),
            np.array(order, dtype=np.uint32),
        )

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...

    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self._bytes(i).decode() for i in range(*number.indices(len(self)))]
        return self._bytes(range(len(self))[number]).decode()

    def find(self, word: str) -> int | None:
        """The number of a word, by bisection; None where it is not there."""
        wanted = word.encode(errors="surrogatepass")
        place = bisect.bisect_left(range(len(self)), wanted, key=lambda i: self._bytes(self._at(i)))
        if place < len(self) and self._bytes(self._at(place)) == wanted:
            return self._at(place)
        return None

    def _at(self, place: int) -> int:
        return int(self.order[place])

    def _bytes(self, number: int) -> bytes:
        end = int(self._ends[number])
        return self.text[end - int(self.lengths[number]) : end].tobytes()


def _encoded(word: str) -> bytes:
    try:
        text = word.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"the word {word[:20]!r} has no UTF-8: mend or remove it") from error
    if len(text) > _LONGEST:
        raise DataError(
            f"the word that begins {word[:20]!r} has {len(text)} bytes, more than {_LONGEST}: "
            "remove it"
        )
    return text
