"""A compressed matrix: codes stored in few bits, and the codebook that rebuilds vectors.

`PackedCodes` stores codes with a fixed number of bits; each row starts at a byte boundary, so that
it can be read on its own. `EntropyCodes` stores integers in as few bits as their frequencies allow,
by asymmetric numeral systems (rANS): each component of each tier has its own frequencies, and each
block of rows can be read on its own.

V rows, H dimensions, M components, K codes per component, T tiers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import constriction
import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import blocks, numbered
from yakusu.compress.codebook import Codebook, codes_ratio
from yakusu.compress.codes import Codes
from yakusu.compress.lattice import Integers, Ints, Lattice, Tier, integers_ratio, spans

Vectors = npt.NDArray[np.float32]
Categorical, AnsCoder = constriction.stream.model.Categorical, constriction.stream.stack.AnsCoder
_BLOCK = 256  # rows
_TOTAL = 2**15  # sum of the scaled frequencies of a component, each at least 1


# ---- codes of a fixed size ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PackedCodes:
    """Codes of V rows, starting with the least significant bit of the first component.

    packed: Bytes of each row, (V, bytes), uint8.
    n_components: M.
    n_bits: Bits per code.
    """

    packed: npt.NDArray[np.uint8]
    n_components: int
    n_bits: int

    @classmethod
    def of(cls, codes: Codes, n_codes: int) -> "PackedCodes":
        """Pack codes (V, M), each less than K = `n_codes`."""
        n_bits = bits_of(n_codes)
        n_bytes = (codes.shape[1] * n_bits + 7) // 8
        packed = np.empty((len(codes), n_bytes), dtype=np.uint8)
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
        """Size of all rows in bytes."""
        return self.packed.nbytes

    def rows(self, rows: Ints) -> Codes:
        """Return the codes (n, M) of the rows with these indices (n,)."""
        n_used = self.n_components * self.n_bits
        bits = np.unpackbits(self.packed[rows], axis=1, bitorder="little", count=n_used)
        of_code = bits.reshape(len(rows), self.n_components, self.n_bits)
        kind = np.dtype(np.uint8 if self.n_bits <= 8 else np.uint32)
        shifts = np.arange(self.n_bits, dtype=kind)
        codes: Codes = (of_code.astype(kind) << shifts).sum(axis=2, dtype=kind)
        return codes


def bits_of(n_codes: int) -> int:
    """Return the number of bits that distinguish K codes."""
    return max(1, (n_codes - 1).bit_length())


# ---- entropy-coded integers ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Frequency of each integer in each component of each tier.

    lowest: Smallest integer, (T, M).
    sizes: Number of integers from the smallest to the largest, (T, M).
    counts: Scaled frequencies, in the order of tiers, components and integers.
    """

    lowest: npt.NDArray[np.int16]
    sizes: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.uint16]

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without models

    @classmethod
    def of(cls, integers: Integers, tiers: Sequence[Tier]) -> "Frequencies":
        """Count integers (V, M), each divided by the factor of its tier."""
        lowest, sizes, counts = [], [], []
        for begin, end, factor in spans(tiers, len(integers)):
            part = integers[begin:end] // factor
            lowest.append(part.min(axis=0))
            sizes.append(part.max(axis=0).astype(np.int32) - lowest[-1] + 1)
            for column, least in zip(part.T, lowest[-1], strict=True):
                count = np.bincount(column.astype(np.int32) - least)
                counts.append(np.maximum(count * _TOTAL // len(part), 1))
        return cls(
            np.stack(lowest),
            np.stack(sizes).astype(np.uint16),
            np.concatenate(counts).astype(np.uint16),
        )

    @cached_property
    def models(self) -> list[list[Any]]:
        """Entropy model of each component of each tier; None if it has only one integer."""
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
    """Entropy-coded integers of V rows.

    stream: 32-bit words of the blocks, one block after the other.
    offsets: Start of each block in the stream, then the end of the stream.
    frequencies: Frequencies with which the integers were coded.
    tiers: Tiers of the rows.
    n_rows: V.
    """

    stream: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.uint32]
    frequencies: Frequencies
    tiers: tuple[Tier, ...]
    n_rows: int

    @classmethod
    def of(cls, integers: Integers, tiers: Sequence[Tier]) -> "EntropyCodes":
        """Code integers (V, M)."""
        frequencies = Frequencies.of(integers, tiers)
        streams = [
            _coded(integers[begin:end] // tiers[tier].factor, frequencies, tier)
            for begin, end, tier in _blocks(tiers, len(integers))
        ]
        offsets = np.cumsum([0, *map(len, streams)]).astype(np.uint32)
        return cls(np.concatenate(streams), offsets, frequencies, tuple(tiers), len(integers))

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_components(self) -> int:
        """M."""
        return int(self.frequencies.sizes.shape[1])

    @property
    def n_bytes(self) -> int:
        """Size of all rows in bytes, including offsets and frequencies."""
        own = (self.stream, self.offsets)
        known = (self.frequencies.lowest, self.frequencies.sizes, self.frequencies.counts)
        return sum(array.nbytes for array in (*own, *known))

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays from which `from_arrays` restores the codes, given V."""
        return {
            "lowest": self.frequencies.lowest,
            "sizes": self.frequencies.sizes,
            "counts": self.frequencies.counts,
            "tiers": np.array([(t.begin, t.factor) for t in self.tiers], dtype=np.uint32),
            "offsets": self.offsets,
            "stream": self.stream,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_rows: int) -> "EntropyCodes":
        """Restore the codes of V rows from `arrays`."""
        return cls(
            stream=arrays["stream"],
            offsets=arrays["offsets"],
            frequencies=Frequencies(arrays["lowest"], arrays["sizes"], arrays["counts"]),
            tiers=tuple(Tier(int(begin), int(factor)) for begin, factor in arrays["tiers"]),
            n_rows=n_rows,
        )

    def rows(self, rows: Ints) -> Integers:
        """Return the integers (n, M) of the rows with these indices (n,)."""
        integers = np.empty((len(rows), self.n_components), dtype=np.int16)
        first = np.array([begin for begin, _, _ in self._layout])
        block_of = np.searchsorted(first, rows, side="right") - 1
        order = np.argsort(block_of, kind="stable")
        blocks, begins = np.unique(block_of[order], return_index=True)
        for block, begin, end in zip(blocks, begins, [*begins[1:], len(order)], strict=False):
            places = order[begin:end]
            integers[places] = self._block(int(block))[rows[places] - first[block]]
        return integers

    @cached_property
    def _layout(self) -> list[tuple[int, int, int]]:
        return list(_blocks(self.tiers, self.n_rows))

    def _block(self, block: int) -> Integers:
        begin, end, tier = self._layout[block]
        integers = np.empty((self.n_components, end - begin), dtype=np.int16)
        coder = AnsCoder(np.array(self.stream[self.offsets[block] : self.offsets[block + 1]]))
        for m, model in enumerate(self.frequencies.models[tier]):
            symbols = coder.decode(model, end - begin) if model else 0
            integers[m] = symbols + self.frequencies.lowest[tier, m]
        return integers.T * np.int16(self.tiers[tier].factor)


def stored_bits(integers: Integers, tiers: Sequence[Tier]) -> float:
    """Return the bits per row that `EntropyCodes` of integers (V, M) take."""
    return 8 * EntropyCodes.of(integers, tiers).n_bytes / len(integers)


def _blocks(tiers: Sequence[Tier], n_rows: int) -> Iterator[tuple[int, int, int]]:
    """Yield begin, end and tier number of each block; a block never spans two tiers."""
    for tier, (begin, end, _) in enumerate(spans(tiers, n_rows)):
        for first in range(begin, end, _BLOCK):
            yield first, min(first + _BLOCK, end), tier


def _coded(integers: Integers, frequencies: Frequencies, tier: int) -> npt.NDArray[np.uint32]:
    coder = AnsCoder()
    symbols = np.ascontiguousarray(
        (integers.astype(np.int32) - frequencies.lowest[tier]).T  # (M, n)
    )
    for m in range(len(symbols) - 1, -1, -1):  # a stack: last in, first out
        if model := frequencies.models[tier][m]:
            coder.encode_reverse(symbols[m], model)
    stream: npt.NDArray[np.uint32] = coder.get_compressed()
    return stream


# ---- the compressed matrix ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CompressedMatrix:
    """A compressed matrix of vectors, (V, H).

    book: Rebuilds vectors from codes.
    codes: Codes of each row: packed for a `Codebook`, entropy-coded for a `Lattice`.
    """

    book: Codebook | Lattice
    codes: PackedCodes | EntropyCodes

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def width(self) -> int:
        """H."""
        return len(self.book.mean)

    @property
    def bits(self) -> float:
        """Bits per row of the codes, as stored."""
        return 8 * self.codes.n_bytes / len(self)

    @property
    def ratio(self) -> float:
        """Bits of float32 vectors over bits of codes and codebook; for codes, by the paper."""
        shape = (len(self), self.width)
        if isinstance(self.book, Codebook):
            return codes_ratio(shape, *self.book.weights.shape)
        return integers_ratio(shape, self.codes.n_components, self.bits)

    def rows(self, rows: Ints) -> Vectors:
        """Return the rebuilt vectors (n, H) of the rows with these indices (n,)."""
        return self.book.rebuild(self.codes.rows(rows)).astype(np.float32)

    def code_rows(self, rows: Ints) -> Vectors:
        """Return the codes (n, M) as floats: the paper's "Code"; centre them before comparing."""
        return self.codes.rows(rows).astype(np.float32)

    def dense(self) -> Vectors:
        """Return all rebuilt vectors, (V, H)."""
        return self._all(self.rows, self.width)

    def dense_codes(self) -> Vectors:
        """Return all codes as floats, (V, M)."""
        return self._all(self.code_rows, self.codes.n_components)

    def _all(self, part: Callable[[Ints], Vectors], width: int) -> Vectors:
        matrix = np.empty((len(self), width), dtype=np.float32)
        for rows in numbered(len(self)):
            matrix[rows] = part(rows)
        return matrix
