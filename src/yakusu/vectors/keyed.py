"""Compressed word vectors as a read-only mapping with an interface like gensim's.

V words, H dimensions, M components.
"""

import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from yakusu.compress.storage import CompressedMatrix, Vectors
from yakusu.errors import DataError
from yakusu.vectors.nearest import unit

_LONGEST = 2**16 - 1  # bytes of a word: lengths are stored in 16 bits


class Words(Sequence[str]):
    """V words in three arrays, which may be memory-mapped.

    Args:
        text: UTF-8 of all words, concatenated, uint8.
        lengths: Length of each word in bytes, (V,), uint16.
        order: Indices that sort the words by their bytes, (V,), uint32.
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
        """Build the arrays of distinct words.

        Raises:
            DataError: A word has more than 65,535 bytes, or cannot be encoded as UTF-8.
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
        """Return the index of a word, by bisection; None if it is missing."""
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
        raise DataError(
            f"the word {word[:20]!r} cannot be encoded as UTF-8: correct or remove it"
        ) from error
    if len(text) > _LONGEST:
        raise DataError(
            f"the word that starts with {word[:20]!r} has {len(text)} bytes, more than {_LONGEST}: "
            "remove it"
        )
    return text


@dataclass(frozen=True, eq=False)
class CompressedVectors(CompressedMatrix, Mapping[str, Vectors]):
    """Mapping from words to rebuilt vectors (H,).

    words: In the order of the rows; most frequent first if the original vectors were.
    """

    words: Words

    @classmethod
    def of(cls, words: Iterable[str], made: CompressedMatrix) -> "CompressedVectors":
        """Combine a compressed matrix with the words of its rows."""
        return cls(made.book, made.codes, Words.of(words))

    def __getitem__(self, word: str) -> Vectors:
        number = self.words.find(word)
        if number is None:
            raise KeyError(word)
        vector: Vectors = self.rows(np.array([number]))[0]
        return vector

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.words.find(word) is not None

    def most_similar(
        self, positive: str | Sequence[str], negative: str | Sequence[str] = (), topn: int = 10
    ) -> list[tuple[str, float]]:
        """Return the words with the largest cosine to a sum of vectors, as in gensim.

        The first call rebuilds all vectors and keeps them in memory.

        Args:
            positive: Word or words whose unit vectors are added.
            negative: Word or words whose unit vectors are subtracted.
            topn: Number of words, at least 1.

        Returns:
            Pairs of word and cosine, largest cosine first, without the given words.

        Raises:
            KeyError: A word has no vector; the message suggests a similar one.
            DataError: `topn` is less than 1, or no word is given.
        """
        plus, minus = (self._numbers(words) for words in (positive, negative))
        if topn < 1 or not plus + minus:
            raise DataError(
                f"most_similar({positive!r}, topn={topn}): give at least one word and topn >= 1"
            )
        wanted = self._unit[plus].sum(axis=0) - self._unit[minus].sum(axis=0)
        length = np.linalg.norm(wanted)
        cosines = self._unit @ (wanted / length if length else wanted)
        cosines[plus + minus] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(topn, len(self) - len({*plus, *minus}))]
        return [(self.words[int(i)], float(cosines[i])) for i in best]

    def _numbers(self, words: str | Sequence[str]) -> list[int]:
        numbers = []
        for word in [words] if isinstance(words, str) else words:
            if (number := self.words.find(word)) is None:
                raise KeyError(f"'{word}' has no vector{self._hint(word)}")
            numbers.append(number)
        return numbers

    @cached_property
    def _unit(self) -> Vectors:
        return unit(self.dense())

    def _hint(self, word: str) -> str:
        if word.lower() in self:
            return f": did you mean '{word.lower()}'?"
        close = get_close_matches(word, self.words[:50_000], n=1)
        return f": did you mean '{close[0]}'?" if close else ""
