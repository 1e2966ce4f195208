"""BPE-dropout (Provilkov et al. 2020): in each epoch, words are divided differently.

A word starts as characters. As long as a merge is possible, the one that gives the piece with the
lowest id is applied:

    (a, b) -> the piece a b, if it is in the vocabulary

but before each merge, each pair (a, b) is dropped from the candidates with probability p. With
p = 0, the result is the usual segmentation. The segmentation is a pure function of (seed, epoch).

V pieces, n symbols of a window of sentences: characters at first, and pieces at the end.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from yakusu.data.pairs import Ids, Pairs, Sentences
from yakusu.data.pieces import SPACE, Pieces
from yakusu.data.tokenizer import Tokenizer

_WINDOW = 8192  # sentences
_PURPOSE = 0xB9E  # distinguishes these random numbers from those of the order of an epoch
_Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BpeDropout:
    """Divides the words of binarised pairs into different pieces in each epoch.

    Attributes:
        pairs: The pairs in their usual segmentation.
        tokenizer: The vocabularies, learned by BPE.
        p: Probability that a pair of symbols is dropped before a merge, in [0, 1).
        seed: Seed of the random numbers.
        symbols: Pieces that are never divided.
        sides: Sides to divide: "src", "tgt".
        max_tokens: A sentence that would have more tokens keeps its usual segmentation.
    """

    pairs: Pairs
    tokenizer: Tokenizer
    p: float
    seed: int
    symbols: Collection[str] = ()
    sides: Collection[str] = ("src", "tgt")
    max_tokens: int = 512

    def epoch(self, epoch: int) -> Pairs:
        """The pairs in the segmentation of an epoch."""
        pairs = self.pairs
        if "src" in self.sides:
            pairs = replace(pairs, src=self._divided(pairs.src, self.tokenizer.src, epoch, 0))
        if "tgt" in self.sides:
            pairs = replace(pairs, tgt=self._divided(pairs.tgt, self.tokenizer.tgt, epoch, 1))
        return pairs

    def _divided(self, side: Sentences, pieces: Pieces, epoch: int, number: int) -> Sentences:
        merges, kept = Merges(pieces, self.symbols), list[Any]()
        for begin in range(0, len(side), _WINDOW):
            rng = np.random.default_rng([self.seed, epoch, number, begin, _PURPOSE])
            window = [side[i] for i in range(begin, min(begin + _WINDOW, len(side)))]
            divided = merges.divide(window, self.p, rng)
            kept += [
                new.astype(usual.dtype) if len(new) - 1 <= self.max_tokens else usual
                for new, usual in zip(divided, window, strict=True)
            ]
        return Sentences.joined(kept)


class Merges:
    """The merges of a vocabulary: the pairs of pieces whose concatenation is a piece.

    Args:
        pieces: The vocabulary, in the order in which BPE learned its pieces.
        symbols: Pieces that are never divided.
    """

    def __init__(self, pieces: Pieces, symbols: Collection[str] = ()) -> None:
        self._size = len(pieces)
        ids = {pieces.piece(i): i for i in range(self._size) if pieces.is_text(i)}
        ids = {piece: i for piece, i in ids.items() if piece not in symbols}
        table = {
            ids[piece[:cut]] * self._size + ids[piece[cut:]]: i
            for piece, i in ids.items()
            for cut in range(1, len(piece))
            if piece[:cut] in ids and piece[cut:] in ids
        }
        self._pairs = np.array([*sorted(table), np.iinfo(np.int64).max])
        self._merged = np.array([*(table[pair] for pair in sorted(table)), self._size])
        self._characters = [[i] for i in range(self._size)]
        for piece, i in ids.items():
            if all(character in ids for character in piece):
                self._characters[i] = [ids[character] for character in piece]
        self._starts = np.array([pieces.piece(i).startswith(SPACE) for i in range(self._size)])

    def divide(self, sentences: list[Ids], p: float, rng: np.random.Generator) -> list[_Array]:
        """Divide the words of sentences; a pair is dropped with probability p before each merge."""
        spelled = [[c for i in ids for c in self._characters[i]] for ids in sentences]
        symbols = np.array([c for characters in spelled for c in characters])  # (n)
        ends = np.cumsum([len(characters) for characters in spelled])
        first = self._starts[symbols]  # (n), whether a word begins here
        first[np.concatenate([[0], ends[:-1]])] = True
        divided = self._merge(symbols, first, p, rng)
        counts = np.cumsum(divided >= 0)
        return np.split(divided[divided >= 0], counts[ends[:-1] - 1])

    def _merge(
        self, symbols: _Array, first: npt.NDArray[np.bool_], p: float, rng: np.random.Generator
    ) -> _Array:
        """Apply one merge at a time to each word, until no merge is left.

        Args:
            symbols: Ids of characters (n).
            first: Whether a word begins at a character (n).
            p: Probability that a pair is dropped, at each merge.
            rng: Source of the random numbers.

        Returns:
            The piece that begins at each character (n); -1 if none does.
        """
        result, place = np.full(len(symbols), -1), np.arange(len(symbols))
        while len(symbols):
            n = len(symbols)
            merged = self._pieces_of(symbols[:-1], symbols[1:])
            possible = (merged < self._size) & ~first[1:] & (rng.random(n - 1) >= p)
            rank = np.where(possible, merged * n + np.arange(n - 1), self._size * n)
            starts = np.flatnonzero(first)
            best = np.minimum.reduceat(np.append(rank, self._size * n), starts)  # of each word
            active = best < self._size * n
            left = best[active] % n
            symbols[left] = merged[left]
            stays = np.repeat(active, np.diff(starts, append=n))
            result[place[~stays]] = symbols[~stays]
            stays[left + 1] = False
            symbols, first, place = symbols[stays], first[stays], place[stays]
        return result

    def _pieces_of(self, left: _Array, right: _Array) -> _Array:
        """The piece that each pair becomes; V if there is none."""
        wanted = left * self._size + right
        found = np.searchsorted(self._pairs, wanted)
        return np.where(self._pairs[found] == wanted, self._merged[found], self._size)
