"""Entropy-coded integers of a matrix: segments of rows with their own frequencies, in blocks.

A segment begins with each tier and after 65,536 rows at most. Its blocks of 16 rows can be read
without the others. V rows, M components, S segments, L blocks.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Integers, Shorts, distinct_numbers
from yakusu.compress import kernels
from yakusu.compress.blocks import blocks as row_slices
from yakusu.compress.lattice import IntegerRows, Tier, spans
from yakusu.compress.rans import (
    BITS,
    BLOCK,
    TOTAL,
    Frequencies,
    column_counts,
    decode,
    encode,
    scaled,
)
from yakusu.progress import Progress, Silent

_SEGMENT = 2**16  # rows
_CACHED = 1024  # blocks
_AT_ONCE = 2**22  # integers that are decoded together


@dataclass(frozen=True, eq=False)
class EntropyCodes:
    """Entropy-coded integers of V rows.

    stream: 16-bit words of the blocks, one block after the other.
    lengths: Number of words of each block, (L,).
    segments: First row and factor of each segment.
    frequencies: Frequencies of each segment.
    n_rows: V.
    """

    stream: npt.NDArray[np.uint16]
    lengths: npt.NDArray[np.unsignedinteger]
    segments: tuple[Tier, ...]
    frequencies: tuple[Frequencies, ...]
    n_rows: int

    @classmethod
    def of(
        cls, integers: IntegerRows, tiers: Sequence[Tier], progress: Progress | None = None
    ) -> "EntropyCodes":
        """Code integers (V, M), whose rows are read twice.

        Args:
            integers: Multiples of the factors of their tiers.
            tiers: Tiers of the rows.
            progress: Progress reporter.

        Raises:
            DataError: A component has more than 32,768 distinct integers.
        """
        n_rows, progress = len(integers), progress or Silent()
        segments, frequencies = _segments(tiers, n_rows), []
        with progress.track("counting", "vectors", n_rows) as tracker:
            for begin, end, factor in spans(segments, n_rows):
                frequencies.append(Frequencies.of(_parts(integers, begin, end, factor)))
                tracker.advance(end - begin)
        stream, lengths, n_coded = _Stream(), [], 0
        encoded = kernels.encode_blocks if kernels.are_available() else encode
        with progress.track("coding", "vectors", n_rows) as tracker:
            for (begin, end, factor), table in zip(
                spans(segments, n_rows), frequencies, strict=True
            ):
                for part in _parts(integers, begin, end, factor):
                    words, n_words = encoded(part, table)
                    n_coded += len(part)
                    stream.append(words, n_coded / n_rows)
                    lengths.append(n_words)
                    tracker.advance(len(part))
        sizes = np.concatenate(lengths)
        return cls(
            stream.words,
            sizes.astype(np.uint16 if sizes.max() < 2**16 else np.uint32),
            segments,
            tuple(frequencies),
            n_rows,
        )

    def extended(self, integers: Shorts) -> "EntropyCodes":
        """Return the codes with further rows (n, M) at the end, in the last tier.

        Raises:
            DataError: A component has too many distinct integers.
        """
        added = EntropyCodes.of(integers, (Tier(0, self.segments[-1].factor),))
        moved = (replace(each, begin=each.begin + self.n_rows) for each in added.segments)
        lengths = [self.lengths, added.lengths]
        return EntropyCodes(
            np.concatenate([self.stream, added.stream]),
            np.concatenate(lengths, dtype=np.result_type(*lengths)),
            (*self.segments, *moved),
            (*self.frequencies, *added.frequencies),
            self.n_rows + added.n_rows,
        )

    def __len__(self) -> int:
        return self.n_rows

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without the cache

    @property
    def n_components(self) -> int:
        """M."""
        return self.frequencies[0].n_components

    @property
    def largest(self) -> int:
        """Largest magnitude of an integer."""
        tables = zip(self.segments, self.frequencies, strict=True)
        return max(t.factor * int(np.abs(f.values.astype(int)).max()) for t, f in tables)

    @property
    def bits(self) -> float:
        """Stored bits per row, including lengths and frequencies."""
        return 8 * sum(array.nbytes for array in self.arrays.values()) / self.n_rows

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays from which `from_arrays` restores the codes, given V."""
        counts = [each.counts for each in self.frequencies]
        return {
            "segments": np.array([(t.begin, t.factor) for t in self.segments], dtype=np.uint64),
            "sizes": np.array([[len(count) for count in of] for of in counts], dtype=np.uint16),
            "values": np.concatenate([each.values for each in self.frequencies]),
            "counts": np.concatenate([count for of in counts for count in of]).astype(np.uint16),
            "lengths": self.lengths,
            "stream": self.stream,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], n_rows: int) -> "EntropyCodes":
        """Restore the codes of V rows from `arrays`.

        Raises:
            ValueError: The arrays do not fit each other.
        """
        segments = tuple(Tier(int(begin), int(factor)) for begin, factor in arrays["segments"])
        _check_segments(segments, n_rows)
        sizes, counts = arrays["sizes"].astype(np.int64), arrays["counts"].astype(np.int64)
        values, ends = arrays["values"], np.cumsum(sizes.ravel())
        if sizes.min() < 1 or not ends[-1] == len(counts) == len(values) or counts.min() < 1:
            raise ValueError("there is not one frequency per integer")
        begins = ends - sizes.ravel()
        if (np.add.reduceat(counts, begins) != TOTAL).any():
            raise ValueError("the frequencies have another sum")
        ascending = np.diff(values.astype(np.int64)) > 0
        ascending[begins[1:] - 1] = True
        if not ascending.all() or len(arrays["lengths"]) != _n_blocks(segments, n_rows):
            raise ValueError("the integers or the blocks do not fit")
        if int(arrays["lengths"].sum(dtype=np.uint64)) != len(arrays["stream"]):
            raise ValueError("the blocks do not have the length of the stream")
        per_segment = ends[len(sizes[0]) - 1 : -1 : len(sizes[0])]
        parts = np.split(values, per_segment), np.split(counts, per_segment), sizes
        frequencies = tuple(map(Frequencies.from_counts, *parts))
        return cls(arrays["stream"], arrays["lengths"], segments, frequencies, n_rows)

    def row(self, row: int) -> Shorts:
        """Return the integers (M,) of one row."""
        segment = bisect_right(self._begins, row) - 1
        block, place = divmod(row - self._begins[segment], BLOCK)
        integers: Shorts = self._cached(segment, block)[place]
        return integers

    def rows(self, rows: Integers) -> Shorts:
        """Return the integers (n, M) of the rows with these indices (n,).

        Raises:
            ModelError: The stream is damaged, in a block that is decoded to its end.
        """
        integers = np.empty((len(rows), self.n_components), dtype=np.int16)
        segment_of = np.searchsorted(self._begins[:-1], rows, side="right") - 1
        for segment in np.flatnonzero(np.bincount(segment_of)).tolist():
            places = np.flatnonzero(segment_of == segment)
            block_of, row_of = np.divmod(rows[places] - self._begins[segment], BLOCK)
            blocks, wanted, rank_of = self._by_depth(block_of, row_of)
            at_once = max(1, _AT_ONCE // (BLOCK * self.n_components))
            for begin in range(0, len(blocks), at_once):
                part = slice(begin, begin + at_once)
                of = np.flatnonzero((rank_of >= part.start) & (rank_of < part.stop))
                decoded = self._decoded(segment, blocks[part], wanted[part])
                integers[places[of]] = decoded[(rank_of[of] - begin) * BLOCK + row_of[of]]
        return integers

    @staticmethod
    def _by_depth(
        block_of: Integers, row_of: Integers
    ) -> tuple[Integers, npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the blocks of rows, how many of their first rows are needed, and each row's block.

        Args:
            block_of: Block of each row, (n,).
            row_of: Place of each row in its block, (n,).

        Returns:
            The distinct blocks (L,) in the order in which they are decoded, by the number of rows;
            the numbers of rows (L,); and the index in both of the block of each row, (n,).
        """
        blocks, number_of = distinct_numbers(block_of, int(block_of.max()) + 1)
        wanted = np.zeros(len(blocks), dtype=np.int32)
        np.maximum.at(wanted, number_of, row_of.astype(np.int32) + 1)
        wanted[-1] = BLOCK  # stays the last one, because it may be shorter
        order = np.argsort(wanted, kind="stable")
        return blocks[order], wanted[order], np.argsort(order)[number_of]

    def _decoded(self, segment: int, blocks: Integers, wanted: npt.NDArray[np.int32]) -> Shorts:
        """Return the integers of blocks (L,) of a segment: 16 rows for each.

        The last block of a segment may have fewer, and must be the last one of these.

        Args:
            segment: Number of the segment.
            blocks: Numbers of the blocks in the segment.
            wanted: Number of rows that are decoded of each block; the others are not defined.

        Raises:
            ModelError: The stream is damaged.
        """
        first, last = self._begins[segment : segment + 2]
        n_rows = min(len(blocks) * BLOCK, last - first - int(blocks[-1] + 1 - len(blocks)) * BLOCK)
        at = self._first_blocks[segment] + blocks
        begins, ends = self._offsets[at], self._offsets[at + 1]
        decoded = kernels.decode_blocks if kernels.are_available() else decode
        integers = decoded(self.stream, begins, ends, wanted, n_rows, self.frequencies[segment])
        if (factor := self.segments[segment].factor) > 1:
            integers *= np.int16(factor)
        return integers

    def _block(self, segment: int, block: int) -> Shorts:
        """Return the integers of one block of a segment."""
        integers = self._decoded(segment, np.array([block]), np.array([BLOCK], dtype=np.int32))
        integers.flags.writeable = False  # rows are views of cached blocks
        return integers

    @cached_property
    def _cached(self) -> Any:
        return lru_cache(_CACHED)(self._block)

    @cached_property
    def _begins(self) -> list[int]:
        """First row of each segment, and the number of rows."""
        return [*(segment.begin for segment in self.segments), self.n_rows]

    @cached_property
    def _offsets(self) -> npt.NDArray[np.int64]:
        """Start of each block in the stream, and the end of the stream, (L + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])

    @cached_property
    def _first_blocks(self) -> list[int]:
        """Number of blocks before each segment."""
        sizes = [-(-(end - begin) // BLOCK) for begin, end, _ in spans(self.segments, self.n_rows)]
        return [0, *np.cumsum(sizes).tolist()]


class _Stream:
    """Words in an array with room for as many as are expected, so that it is seldom copied."""

    def __init__(self) -> None:
        self._room, self._end = np.empty(0, dtype=np.uint16), 0

    @property
    def words(self) -> npt.NDArray[np.uint16]:
        """All words."""
        return self._room[: self._end]

    def append(self, words: npt.NDArray[np.uint16], share: float) -> None:
        """Append words, after which this share of the rows is coded."""
        end = self._end + len(words)
        if end > len(self._room):
            larger = np.empty(int(1.05 * end / share), dtype=np.uint16)
            larger[: self._end] = self.words
            self._room = larger
        self._room[self._end : end] = words
        self._end = end


def coded_bytes(integers: IntegerRows, tiers: Sequence[Tier], n_rows: int | None = None) -> int:
    """Estimate the size of `EntropyCodes`; an upper limit if the integers are not a sample.

    Args:
        integers: (n, M).
        tiers: Tiers of the integers.
        n_rows: Number of rows of which the integers are a sample; None: n.
    """
    n_bits, n_bytes, share = 0.0, 4.0, (n_rows or len(integers)) / len(integers)
    for begin, end, factor in spans(_segments(tiers, len(integers)), len(integers)):
        n_segments = ceil(share * (end - begin) / _SEGMENT)
        for _, counts in column_counts(_parts(integers, begin, end, factor)):
            n_bits += share * float(counts @ (BITS - np.log2(scaled(counts))))
            n_bytes += n_segments * (4 * len(counts) + 2)  # values, counts, size
        n_blocks = ceil(share * (end - begin) / BLOCK)
        n_bytes += 16 * n_segments + 6 * n_blocks  # each block has a length and a last state
    return int(n_bits / 8 + n_bytes)


def _parts(integers: IntegerRows, begin: int, end: int, factor: int) -> Iterator[Shorts]:
    """Yield the integers of rows divided by their factor, some rows at a time: whole blocks."""
    for rows in row_slices(end, begin):
        part = integers[rows]
        yield part // np.int16(factor) if factor > 1 else part


def _segments(tiers: Sequence[Tier], n_rows: int) -> tuple[Tier, ...]:
    return tuple(
        Tier(first, factor)
        for begin, end, factor in spans(tiers, n_rows)
        for first in range(begin, end, _SEGMENT)
    )


def _n_blocks(segments: Sequence[Tier], n_rows: int) -> int:
    return sum(-(-(end - begin) // BLOCK) for begin, end, _ in spans(segments, n_rows))


def _check_segments(segments: Sequence[Tier], n_rows: int) -> None:
    begins = [segment.begin for segment in segments]
    if not begins or begins[0] or sorted(set(begins)) != begins or begins[-1] >= n_rows:
        raise ValueError("the segments do not fit the rows")
    if not all(0 < segment.factor < TOTAL for segment in segments):
        raise ValueError("a factor is out of range")
