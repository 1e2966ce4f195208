"""Compressed word vectors as a read-only mapping with an interface like gensim's.

V words, H dimensions, M components.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np

from yakusu.compress.search import Index
from yakusu.compress.storage import CompressedMatrix, Vectors
from yakusu.errors import DataError
from yakusu.vectors.nearest import unit
from yakusu.vectors.words import Words


@dataclass(frozen=True, eq=False, repr=False)
class CompressedVectors(CompressedMatrix, Mapping[str, Vectors]):
    """Mapping from words to rebuilt vectors (H,).

    words: In the order of the rows; most frequent first if the original vectors were.
    """

    words: Words

    @classmethod
    def of(cls, words: Iterable[str], made: CompressedMatrix) -> "CompressedVectors":
        """Combine a compressed matrix with the words of its rows."""
        return cls.joined(Words.of(words), made)

    @classmethod
    def joined(cls, words: Words, made: CompressedMatrix) -> "CompressedVectors":
        """Combine a compressed matrix with stored words.

        Raises:
            DataError: There is not one word per row.
        """
        if len(words) != len(made):
            raise DataError(
                f"{len(words)} words do not fit {len(made)} rows: give one word per row"
            )
        return cls(made.book, made.codes, words, precision=made.precision)

    def __getitem__(self, word: str) -> Vectors:
        number = self.words.find(word)
        if number is None:
            raise KeyError(word)
        return self.row(number)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.words

    def most_similar(
        self, positive: str | Sequence[str], negative: str | Sequence[str] = (), topn: int = 10
    ) -> list[tuple[str, float]]:
        """Return the words with the largest cosine to a sum of vectors, as in gensim.

        The first call builds the `index`, which is kept in memory.

        Args:
            positive: Word or words whose unit vectors are added.
            negative: Word or words whose unit vectors are subtracted.
            topn: Number of words, at least 1.

        Returns:
            Pairs of word and cosine, largest cosine first, without the given words.

        Raises:
            KeyError: A word has no vector; the message suggests a similar one.
            DataError: `topn` is less than 1, no word is given, or a vector is given.
        """
        plus, minus = (self._numbers(words) for words in (positive, negative))
        if topn < 1 or not plus + minus:
            raise DataError(
                f"most_similar({positive!r}, topn={topn}): give at least one word and topn >= 1"
            )
        given = {*plus, *minus}
        units = unit(self.rows(np.array(plus + minus)))
        wanted = units[: len(plus)].sum(axis=0) - units[len(plus) :].sum(axis=0)
        rows, cosines = self.index.search(wanted[None], topn + len(given))
        found = zip(rows[0].tolist(), cosines[0].tolist(), strict=True)
        return [(self.words[row], cosine) for row, cosine in found if row not in given][:topn]

    def _numbers(self, words: Any) -> list[int]:
        numbers = []
        for word in [words] if isinstance(words, str) else words:
            if not isinstance(word, str):
                raise DataError(
                    f"most_similar takes words, not {type(word).__name__}: search for a vector "
                    "with index.search"
                )
            if (number := self.words.find(word)) is None:
                raise KeyError(f"'{word}' has no vector{self._hint(word)}")
            numbers.append(number)
        return numbers

    @cached_property
    def index(self) -> Index:
        """The codes in memory, for searching; built when it is first needed."""
        return Index.of(self)

    def _hint(self, word: str) -> str:
        if word.lower() in self:
            return f": did you mean '{word.lower()}'?"
        close = get_close_matches(word, self.words[:50_000], n=1)
        return f": did you mean '{close[0]}'?" if close else ""
