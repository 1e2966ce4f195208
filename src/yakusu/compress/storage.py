"""Whole numbers in as few bits as their frequencies allow: asymmetric numeral systems (rANS).

Each component of each tier has its own frequencies. Words are coded in blocks, each readable alone.

V words, M components, T tiers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import constriction
import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import blocks
from yakusu.compress.lattice import Ints, Numbers, Tier, spans

Categorical, AnsCoder = constriction.stream.model.Categorical, constriction.stream.stack.AnsCoder
_BLOCK = 256  # words
_WHOLE = 2**15  # what the frequencies of a component are scaled to, at least 1 each


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How often each number is in each component of each tier.

    lowest, sizes: The least number, and how many from there to the greatest, (T, M).
    counts: Of all numbers, in the order of tiers, components and numbers.
    """

    lowest: npt.NDArray[np.int16]
    sizes: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, numbers: Numbers, tiers: Sequence[Tier]) -> "Frequencies":
        """Of numbers (V, M), each over the factor of its tier."""
        lowest, sizes, counts = [], [], []
        for begin, end, factor in spans(tiers, len(numbers)):
            part = numbers[begin:end] // factor
            lowest.append(part.min(axis=0))
            sizes.append(part.max(axis=0).astype(np.int32) - lowest[-1] + 1)
            for column, least in zip(part.T, lowest[-1], strict=True):
                count = np.bincount(column.astype(np.int32) - least)
                counts.append(np.maximum(count * _WHOLE // len(part), 1))
        return cls(
            np.stack(lowest),
            np.stack(sizes).astype(np.uint16),
            np.concatenate(counts).astype(np.uint16),
        )

    @cached_property
    def models(self) -> list[list[Any]]:
        """A model for each component of each tier; None where there is but one number."""
        ends = np.cumsum(self.sizes.ravel(), dtype=np.int64)
        parts = np.split(self.counts.astype(np.float64), ends[:-1])
        models = [
            Categorical(part / part.sum(), perfect=False) if len(part) > 1 else None
            for part in parts
        ]
        n_components = self.sizes.shape[1]
        return [models[i : i + n_components] for i in range(0, len(models), n_components)]


@dataclass(frozen=True, eq=False)
class EntropyCodes:
    """Numbers of V words.

    stream: The blocks' 32-bit words, one block after another.
    offsets: Where each block begins in the stream, and the end.
    frequencies: By which they were coded.
    tiers: Which words have which factor.
    n_words: V.
    """

    stream: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.uint32]
    frequencies: Frequencies
    tiers: tuple[Tier, ...]
    n_words: int

    @classmethod
    def of(cls, numbers: Numbers, tiers: Sequence[Tier]) -> "EntropyCodes":
        """Code numbers (V, M)."""
        frequencies = Frequencies.of(numbers, tiers)
        streams = [
            _coded(numbers[begin:end] // tiers[tier].factor, frequencies, tier)
            for begin, end, tier in _blocks(tiers, len(numbers))
        ]
        offsets = np.cumsum([0, *map(len, streams)]).astype(np.uint32)
        return cls(np.concatenate(streams), offsets, frequencies, tuple(tiers), len(numbers))

    def __len__(self) -> int:
        return self.n_words

    @property
    def n_components(self) -> int:
        """M."""
        return int(self.frequencies.sizes.shape[1])

    @property
    def n_bytes(self) -> int:
        """Of all words, with what is needed to read them."""
        own = (self.stream, self.offsets)
        known = (self.frequencies.lowest, self.frequencies.sizes, self.frequencies.counts)
        return sum(array.nbytes for array in (*own, *known))

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All that `from_arrays` needs beside V."""
        return {
            "lowest": self.frequencies.lowest,
            "sizes": self.frequencies.sizes,
            "counts": self.frequencies.counts,
            "tiers": np.array([(t.begin, t.factor) for t in self.tiers], dtype=np.uint32),
            "offsets": self.offsets,
            "stream": self.stream,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_words: int) -> "EntropyCodes":
        """The numbers of V words, as they were before `arrays`."""
        return cls(
            stream=arrays["stream"],
            offsets=arrays["offsets"],
            frequencies=Frequencies(arrays["lowest"], arrays["sizes"], arrays["counts"]),
            tiers=tuple(Tier(int(begin), int(factor)) for begin, factor in arrays["tiers"]),
            n_words=n_words,
        )

    def rows(self, words: Ints) -> Numbers:
        """The numbers (n, M) of words (n,)."""
        numbers = np.empty((len(words), self.n_components), dtype=np.int16)
        first = np.array([begin for begin, _, _ in self._layout])
        block_of = np.searchsorted(first, words, side="right") - 1
        order = np.argsort(block_of, kind="stable")
        blocks, begins = np.unique(block_of[order], return_index=True)
        for block, begin, end in zip(blocks, begins, [*begins[1:], len(order)], strict=False):
            places = order[begin:end]
            numbers[places] = self._block(int(block))[words[places] - first[block]]
        return numbers

    @cached_property
    def _layout(self) -> list[tuple[int, int, int]]:
        return list(_blocks(self.tiers, self.n_words))

    def _block(self, block: int) -> Numbers:
        begin, end, tier = self._layout[block]
        numbers = np.empty((self.n_components, end - begin), dtype=np.int16)
        coder = AnsCoder(np.array(self.stream[self.offsets[block] : self.offsets[block + 1]]))
        for m, model in enumerate(self.frequencies.models[tier]):
            symbols = coder.decode(model, end - begin) if model else 0
            numbers[m] = symbols + self.frequencies.lowest[tier, m]
        return numbers.T * np.int16(self.tiers[tier].factor)


def stored_bits(numbers: Numbers, tiers: Sequence[Tier]) -> float:
    """Bits a word of numbers (V, M) as they are stored, with what is needed to read them."""
    return 8 * EntropyCodes.of(numbers, tiers).n_bytes / len(numbers)


def _blocks(tiers: Sequence[Tier], n_words: int) -> Iterator[tuple[int, int, int]]:
    """Begin, end and number of the tier of each block; no block has words of two tiers."""
    for tier, (begin, end, _) in enumerate(spans(tiers, n_words)):
        for first in range(begin, end, _BLOCK):
            yield first, min(first + _BLOCK, end), tier


def _coded(numbers: Numbers, frequencies: Frequencies, tier: int) -> npt.NDArray[np.uint32]:
    coder = AnsCoder()
    symbols = np.ascontiguousarray(
        (numbers.astype(np.int32) - frequencies.lowest[tier]).T  # (M, n)
    )
    for m in range(len(symbols) - 1, -1, -1):  # a stack: what goes in last comes out first
        if model := frequencies.models[tier][m]:
            coder.encode_reverse(symbols[m], model)
    stream: npt.NDArray[np.uint32] = coder.get_compressed()
    return stream


# ---- from compress/packing.py: Codes in as few bits as they need; each word begins at a byte, so that one can be read alone.

Codes = npt.NDArray[np.unsignedinteger]
Rows = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class PackedCodes:
    """Codes of V words, the least significant bit of the first component first.

    packed: (V, bytes of a word), uint8.
    n_components: M.
    n_bits: Of each code.
    """

    packed: npt.NDArray[np.uint8]
    n_components: int
    n_bits: int

    @classmethod
    def of(cls, codes: Codes, n_codes: int) -> "PackedCodes":
        """Pack codes (V, M), each less than K = `n_codes`."""
        n_bits = bits_of(n_codes)
        packed = np.empty((len(codes), bytes_of_word(codes.shape[1], n_bits)), dtype=np.uint8)
        for rows in blocks(len(codes)):
            part = codes[rows]
            bits = (part[:, :, None] >> np.arange(n_bits, dtype=part.dtype)) & part.dtype.type(1)
            packed[rows] = np.packbits(
                bits.astype(np.uint8).reshape(len(part), -1), axis=1, bitorder="little"
            )
        return cls(packed, codes.shape[1], n_bits)

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def n_bytes(self) -> int:
        """Of all words."""
        return self.packed.nbytes

    def rows(self, words: Rows) -> Codes:
        """The codes (n, M) of the words with these numbers (n,)."""
        n_used = self.n_components * self.n_bits
        bits = np.unpackbits(self.packed[words], axis=1, bitorder="little", count=n_used)
        of_code = bits.reshape(len(words), self.n_components, self.n_bits)
        whole = np.dtype(np.uint8 if self.n_bits <= 8 else np.uint32)
        shifts = np.arange(self.n_bits, dtype=whole)
        codes: Codes = (of_code.astype(whole) << shifts).sum(axis=2, dtype=whole)
        return codes


def bits_of(n_codes: int) -> int:
    """How many bits tell K codes apart."""
    return max(1, (n_codes - 1).bit_length())


def bytes_of_word(n_components: int, n_bits: int) -> int:
    """Of M codes, filled up to whole bytes."""
    return (n_components * n_bits + 7) // 8
