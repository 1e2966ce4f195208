"""Compressed vectors of words, as a read-only mapping that users of gensim recognise.

V words, H dimensions, M components.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import numbered
from yakusu.compress.codebook import Codebook, ratio
from yakusu.compress.entropy import EntropyCodes
from yakusu.compress.neighbours import unit
from yakusu.compress.packing import PackedCodes
from yakusu.compress.uniform import Ints, Lattice
from yakusu.compress.uniform import ratio as ratio_of_numbers
from yakusu.compress.words import Words
from yakusu.errors import DataError

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class CompressedVectors(Mapping[str, Vectors]):
    """word -> its rebuilt vector (H,), in the order of the words' numbers.

    words: The most frequent first, if the vectors that were compressed began so.
    book: How a vector is made of codes.
    codes: Of each word; packed ones for a `Codebook`, entropy-coded ones for a `Lattice`.
    """

    words: Words
    book: Codebook | Lattice
    codes: PackedCodes | EntropyCodes

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

    @property
    def width(self) -> int:
        """H."""
        return len(self.book.mean)

    @property
    def ratio(self) -> float:
        """Bits of V x H float32 over those of codes and codebook: the paper's formula for codes."""
        shape = (len(self), self.width)
        if isinstance(self.book, Codebook):
            return ratio(shape, *self.book.weights.shape)
        bits = 8 * self.codes.n_bytes / len(self)
        return ratio_of_numbers(shape, self.codes.n_components, bits)

    def rows(self, words: Ints) -> Vectors:
        """The rebuilt vectors (n, H) of the words with these numbers (n,)."""
        return self.book.rebuild(self.codes.rows(words)).astype(np.float32)

    def code_rows(self, words: Ints) -> Vectors:
        """The codes (n, M) as vectors: the paper's "Code", to be centred before it is compared."""
        return self.codes.rows(words).astype(np.float32)

    def dense(self) -> Vectors:
        """All rebuilt vectors, (V, H)."""
        return self._all(self.rows, self.width)

    def dense_codes(self) -> Vectors:
        """All codes as vectors, (V, M)."""
        return self._all(self.code_rows, self.codes.n_components)

    def most_similar(
        self, positive: str | Sequence[str], negative: str | Sequence[str] = (), topn: int = 10
    ) -> list[tuple[str, float]]:
        """The other words whose rebuilt vectors have the greatest cosine with a sum, as gensim's.

        The first call rebuilds all vectors, and keeps them.

        Args:
            positive: A word or words, whose unit vectors are added.
            negative: Such whose unit vectors are taken away.
            topn: How many words, at least 1.

        Raises:
            KeyError: A word has no vector; the message proposes the nearest one.
            DataError: `topn` is less than 1, or no word is given.
        """
        plus, minus = (self._numbers(words) for words in (positive, negative))
        if topn < 1 or not plus + minus:
            raise DataError(f"{topn} words nearest to {positive!r}: give a word, and 1 or more")
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

    def _all(self, part: Callable[[Ints], Vectors], width: int) -> Vectors:
        whole = np.empty((len(self), width), dtype=np.float32)
        for rows in numbered(len(self)):
            whole[rows] = part(rows)
        return whole

    def _hint(self, word: str) -> str:
        if word.lower() in self:
            return f": did you mean '{word.lower()}'?"
        close = get_close_matches(word, self.words[:50_000], n=1)
        return f": did you mean '{close[0]}'?" if close else ""
