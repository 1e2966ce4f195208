"""Entropy coding of integers: asymmetric numeral systems (rANS; Duda 2013).

An integer s with frequency f(s) out of T = 2^15 and cumulative frequency c(s) is added to a state
x by

    x' = (x // f(s)) T + c(s) + x mod f(s)

and read back by finding the s with c(s) <= x' mod T < c(s) + f(s). The state is kept from 2^16 to
2^32 by moving 16 bits to or from the stream. Each component of each segment of rows has its own
frequencies; each block of 16 rows has its own state and can be read without the others.

V rows, M components, L blocks that are coded side by side.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Integers, Shorts
from yakusu.errors import DataError, ModelError

StreamWords = npt.NDArray[np.uint16]
States = npt.NDArray[np.uint64]
BLOCK = 16  # rows
BITS = 15
TOTAL = 2**BITS  # T
COARSE = 7  # lower bits of a number from 0 to T that `coarse` leaves out
_LOWEST = 2**16  # of a state
DAMAGED = "the entropy-coded integers are damaged: copy the file again, or compress again"


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Frequencies of the integers of a segment.

    values: Distinct integers of each component, ascending, one component after the other.
    cumulative: Sum of the frequencies of smaller integers, for each of them, and T at the end.
    starts: Start of each component in `cumulative`, and its end, (M + 1,).
    """

    values: npt.NDArray[np.int16]
    cumulative: npt.NDArray[np.uint16]
    starts: npt.NDArray[np.int32]

    @classmethod
    def of(cls, parts: Iterable[Shorts]) -> "Frequencies":
        """Count integers; see `column_counts`."""
        values, counts = zip(*column_counts(parts), strict=True)
        sizes = np.array([*map(len, values)])
        return cls.from_counts(
            np.concatenate(values), np.concatenate([*map(scaled, counts)]), sizes
        )

    @classmethod
    def from_counts(
        cls, values: npt.NDArray[np.int16], counts: Integers, sizes: Integers
    ) -> "Frequencies":
        """Build the tables.

        Args:
            values: Distinct integers of each component, one component after the other.
            counts: Frequency of each of them; those of a component sum to T.
            sizes: Number of distinct integers of each component, (M,).
        """
        components = np.arange(len(sizes))
        of = np.repeat(components, sizes + 1)  # component of each entry of `cumulative`
        sums = np.concatenate([[0], np.cumsum(counts)])
        cumulative = sums[np.arange(len(of)) - of] - of * TOTAL
        starts = np.concatenate([[0], np.cumsum(sizes + 1)])
        return cls(values, cumulative.astype(np.uint16), starts.astype(np.int32))

    @property
    def n_components(self) -> int:
        """M."""
        return len(self.starts) - 1

    @property
    def counts(self) -> list[npt.NDArray[np.int64]]:
        """Frequencies of each component."""
        return [np.diff(cumulative) for _, cumulative in self.tables]

    @cached_property
    def coarse(self) -> npt.NDArray[np.uint16]:
        """The first integer of each component whose range has a number with these upper bits."""
        n_slots = TOTAL >> COARSE
        slots = -(-self.cumulative.astype(np.int64) >> COARSE)  # the first that each entry precedes
        of = np.repeat(np.arange(self.n_components), np.diff(self.starts)) * (n_slots + 1)
        n_before = np.bincount(of + slots, minlength=self.n_components * (n_slots + 1))
        n_before = np.cumsum(n_before.reshape(-1, n_slots + 1), axis=1)[:, :-1]
        return (n_before - 1).astype(np.uint16, order="C")

    @cached_property
    def addresses(self) -> tuple[list[int], tuple[npt.NDArray[Any], ...]]:
        """Addresses of `cumulative`, `starts`, `coarse` and `values`, and these arrays."""
        tables = self.cumulative, self.starts, self.coarse, self.values
        return [table.ctypes.data for table in tables], tables

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without caches

    @cached_property
    def tables(self) -> list[tuple[npt.NDArray[np.int16], npt.NDArray[np.int64]]]:
        """Distinct integers and cumulative frequencies of each component."""
        starts, cumulative = self.starts.tolist(), self.cumulative.astype(np.int64)
        return [
            (self.values[begin - m : end - m - 1], cumulative[begin:end])
            for m, (begin, end) in enumerate(pairwise(starts))
        ]


def column_counts(parts: Iterable[Shorts]) -> Iterator[tuple[Shorts, Integers]]:
    """Yield the distinct integers of each component, ascending, and their counts.

    Args:
        parts: Integers (V, M), some rows at a time.

    Raises:
        DataError: A component has more than 2^15 distinct integers.
    """
    for found in zip(*map(_counted, parts), strict=True):
        values, counts = map(np.concatenate, zip(*found, strict=True))
        if len(found) > 1:
            values, counts = _distinct(values, counts)
        if len(values) > TOTAL:
            raise DataError(
                f"a component has {len(values):,} distinct integers, more than {TOTAL:,}: choose a "
                "larger step"
            )
        yield values, counts


def _counted(integers: Shorts) -> list[tuple[Shorts, Integers]]:
    """Return the distinct integers of each component (n, M) and their counts."""
    return [_distinct(column) for column in np.ascontiguousarray(integers.T)]


def _distinct(integers: Shorts, times: Integers | None = None) -> tuple[Shorts, Integers]:
    """Return the distinct values of integers (n,), ascending, and how often each occurs.

    Args:
        integers: (n,).
        times: How often each of them counts, (n,); None: once.
    """
    least = int(integers.min())
    counts = np.bincount(integers.astype(np.intp) - least, times)  # does not sort, unlike np.unique
    values = np.flatnonzero(counts)
    return (values + least).astype(np.int16), counts[values].astype(np.int64)


def scaled(counts: Integers) -> npt.NDArray[np.int64]:
    """Scale counts, which are at least 1, to frequencies that sum to T and are at least 1."""
    exact = counts * (TOTAL / counts.sum())
    scaled: npt.NDArray[np.int64] = np.maximum(np.rint(exact).astype(np.int64), 1)
    while excess := int(scaled.sum()) - TOTAL:
        # Change the frequencies for which one step matters least.
        can_change = np.flatnonzero(scaled > (excess > 0))
        error = np.sign(excess) * (scaled - exact)[can_change] / scaled[can_change]
        chosen = can_change[np.argsort(-error, kind="stable")[: abs(excess)]]
        scaled[chosen] -= np.sign(excess)
    return scaled


def encode(integers: Integers, frequencies: Frequencies) -> tuple[StreamWords, Integers]:
    """Return the joined streams of consecutive blocks of integers (V, M), and their lengths."""
    n_rows, n_components = integers.shape
    n_blocks = -(-n_rows // BLOCK)
    states = np.full(n_blocks, _LOWEST, dtype=np.uint64)
    words = np.empty((n_blocks, BLOCK * n_components + 2), dtype=np.uint16)
    free = np.full(n_blocks, words.shape[1])  # streams are written from the end
    ranks = _ranks(integers, frequencies)
    for row in reversed(range(BLOCK)):
        of = slice(len(integers[row::BLOCK]))  # the last block may be shorter
        for m in reversed(range(n_components)):
            _, cumulative = frequencies.tables[m]
            symbols = ranks[m, row::BLOCK]
            begin = cumulative[symbols].astype(np.uint64)
            frequency = cumulative[1:][symbols].astype(np.uint64) - begin
            full = np.flatnonzero(states[of] >= frequency << np.uint64(32 - BITS))
            free[full] -= 1
            words[full, free[full]] = states[full] & np.uint64(0xFFFF)
            states[full] >>= np.uint64(16)
            quotient, rest = np.divmod(states[of], frequency)
            states[of] = (quotient << np.uint64(BITS)) + begin + rest
    words[np.arange(n_blocks), free - 1] = states & np.uint64(0xFFFF)
    words[np.arange(n_blocks), free - 2] = states >> np.uint64(16)
    lengths = words.shape[1] - (free - 2)
    return words[np.arange(words.shape[1]) >= (free - 2)[:, None]], lengths


def _ranks(integers: Integers, frequencies: Frequencies) -> npt.NDArray[np.uint16]:
    """Return the index of each integer (n, M) among the distinct ones of its component, (M, n)."""
    ranks = np.empty(integers.shape[::-1], dtype=np.uint16)
    for m, (values, _) in enumerate(frequencies.tables):
        least, most = int(values[0]), int(values[-1])
        rank_of = np.zeros(most - least + 1, dtype=np.uint16)
        rank_of[values.astype(np.intp) - least] = np.arange(len(values))
        ranks[m] = rank_of[integers[:, m].astype(np.intp) - least]
    return ranks


def decode(
    stream: StreamWords,
    begins: Integers,
    ends: Integers,
    wanted: Integers,
    n_rows: int,
    frequencies: Frequencies,
) -> Shorts:
    """Return the integers (n_rows, M) of L blocks, one block after the other.

    Args:
        stream: Streams of the blocks and of others.
        begins, ends: Start and end of each block in the stream, (L,).
        wanted: Number of rows to decode of each block, (L,): the others are not defined.
        n_rows: Number of rows of all blocks; each but the last one has 16.
        frequencies: Frequencies with which the blocks were coded.

    Raises:
        ModelError: A stream does not contain the integers of its rows. The end of a stream is
            checked if all of its rows are wanted.
    """
    integers = np.empty((len(begins), BLOCK, frequencies.n_components), dtype=np.int16)
    states, at = _begun(stream, begins, ends)
    sizes = np.minimum(BLOCK, n_rows - BLOCK * np.arange(len(begins)))
    n_decoded = np.minimum(wanted, sizes)
    for row in range(n_decoded.max()):
        of = np.flatnonzero(n_decoded > row)
        for m, (values, cumulative) in enumerate(frequencies.tables):
            slots = (states[of] & np.uint64(TOTAL - 1)).astype(np.int64)
            symbols = np.searchsorted(cumulative, slots, side="right") - 1
            frequency = (cumulative[symbols + 1] - cumulative[symbols]).astype(np.uint64)
            rest = (slots - cumulative[symbols]).astype(np.uint64)
            states[of] = frequency * (states[of] >> np.uint64(BITS)) + rest
            empty = of[states[of] < _LOWEST]
            if (at[empty] >= ends[empty]).any():
                raise ModelError(DAMAGED)
            states[empty] = (states[empty] << np.uint64(16)) | stream[at[empty]]
            at[empty] += 1
            integers[of, row, m] = values[symbols]
    if ((n_decoded == sizes) & ((states != _LOWEST) | (at != ends))).any():
        raise ModelError(DAMAGED)
    return integers.reshape(-1, frequencies.n_components)[:n_rows]


def _begun(
    stream: StreamWords, begins: Integers, ends: Integers
) -> tuple[States, npt.NDArray[np.int64]]:
    """Return the state at the start of each block, and the place of its next word."""
    if begins.min() < 0 or (begins + 2 > ends).any() or ends.max() > len(stream):
        raise ModelError(DAMAGED)
    states = (stream[begins].astype(np.uint64) << np.uint64(16)) | stream[begins + 1]
    return states, begins.astype(np.int64) + 2
