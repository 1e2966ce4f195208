"""Token batches, section 5.1: pairs of like length together, about N source and N target tokens.

A step is what one update of the weights sees, a batch what goes through the model at once; a step
is several batches. The order is a pure function of (seed, epoch).

B batch, S source, T target.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from torch import Tensor

from yakusu.config import Config
from yakusu.data.pairs import Ids, Pairs, Part

Indices = npt.NDArray[np.int64]


class BatchConfig(Config):
    """Sizes in tokens, of the longer side; a batch counts its padding too."""

    step_tokens: int = Field(25_000, ge=1)
    batch_tokens: int = Field(0, ge=0)  # 0: half a step; on a CPU, whose caches it fits, <= 4,096

    def batch_tokens_on(self, device: str) -> int:
        """`batch_tokens`, or what suits a type of device."""
        half = max(1, self.step_tokens // 2)
        fitting = min(half, 4096) if device == "cpu" else half
        return min(self.batch_tokens or fitting, self.step_tokens)


@dataclass(frozen=True)
class Batch:
    """Padded ids of one batch."""

    src: Tensor  # (B, S)
    tgt: Tensor  # (B, T)

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        return Batch(self.src.to(device, non_blocking=True), self.tgt.to(device, non_blocking=True))

    def split(self, n_positions: int) -> "Iterator[Batch]":
        """The same pairs, as padded, so few at a time that a side has at most `n_positions`.

        A pair that has more is alone.
        """
        n_pairs = max(1, n_positions // max(self.src.shape[1], self.tgt.shape[1]))
        parts = zip(self.src.split(n_pairs), self.tgt.split(n_pairs), strict=True)
        return (Batch(src, tgt) for src, tgt in parts)


def cut_by_length(order: Indices, pairs: Pairs, batch_tokens: int) -> list[Indices]:
    """Cut pairs into batches of like length, the longer padded side at most `batch_tokens`.

    Sorted by the longer side, then by either side, neighbours are alike on both. Pairs of equal
    lengths stay in the order given; a pair longer than `batch_tokens` is a batch by itself.
    """
    src, tgt = pairs.src.lengths_of(order), pairs.tgt.lengths_of(order)
    longer = np.maximum(src, tgt)
    # Every other group of equal `longer` runs backwards, so that a batch which straddles two
    # groups joins pairs that are alike.
    turn = np.where(longer % 2 == 0, 1, -1)
    by_length = np.lexsort((turn * tgt, turn * src, longer))
    order, longer = order[by_length], longer[by_length]
    batches, begin = [], 0
    while begin < len(order):
        end = begin + max(1, batch_tokens // int(longer[begin]))
        end = min(end, len(order))
        while end > begin + 1 and (end - begin) * longer[end - 1] > batch_tokens:
            end = begin + max(1, batch_tokens // int(longer[end - 1]))
        batches.append(order[begin:end])
        begin = end
    return batches


def epoch_steps(
    pairs: Pairs, *, step_tokens: int, batch_tokens: int, seed: int, epoch: int
) -> list[list[Indices]]:
    """The steps of one epoch, each a list of batches of pair numbers.

    Every pair occurs once, or as often as the weight of its part of the corpus says. The epoch is
    shared out evenly, so that no step is a small remainder.
    """
    rng = np.random.default_rng([seed, epoch])
    seen = rng.permutation(seen_in_epoch(pairs.parts, seed=seed, epoch=epoch))
    batches = cut_by_length(seen, pairs, batch_tokens)
    batches = [batches[i] for i in rng.permutation(len(batches))]
    src, tgt = pairs.src.lengths, pairs.tgt.lengths
    sizes = np.array([max(src[batch].sum(), tgt[batch].sum()) for batch in batches])
    ends = np.cumsum(sizes)
    n_steps = min(len(batches), max(1, round(int(ends[-1]) / step_tokens)))
    cuts = np.searchsorted(ends - sizes / 2, ends[-1] * np.arange(1, n_steps) / n_steps)
    bounds = [0, *cuts.tolist(), len(batches)]
    return [batches[a:b] for a, b in pairwise(bounds) if a < b]


def seen_in_epoch(parts: Sequence[Part], *, seed: int, epoch: int) -> Indices:
    """The numbers of the pairs that an epoch shows, in order; a pair may occur more than once.

    Of a part with n pairs and weight w, E epochs show the first n w E, rounded down, of an endless
    row of permutations: over any number of epochs all pairs are seen equally often, give or take
    one.
    """
    shown, first = [], 0
    for number, part in enumerate(parts):
        n = part.n_pairs
        share = n * Fraction(str(part.weight))  # as it was written, not as its binary digits are
        places = np.arange(floor(epoch * share), floor((epoch + 1) * share))
        for lap in np.unique(places // n) if n else ():
            order = np.random.default_rng([seed, number, int(lap)]).permutation(n)
            shown.append(first + order[places[places // n == lap] % n])
        first += n
    return np.sort(np.concatenate(shown)).astype(np.int64)


def fullness(pairs: Pairs, batches: list[Indices]) -> float:
    """The share of positions, over both sides, that hold tokens and not padding."""
    real = sum(
        int(side.lengths_of(batch).sum()) for side in (pairs.src, pairs.tgt) for batch in batches
    )
    return real / n_positions(pairs, batches)


def n_positions(pairs: Pairs, batches: list[Indices]) -> int:
    """How many positions batches have over both sides, padding included."""
    return sum(
        len(batch) * int(side.lengths_of(batch).max())
        for side in (pairs.src, pairs.tgt)
        for batch in batches
    )


def collate(pairs: Pairs, batch: Indices, *, src_pad: int, tgt_pad: int) -> Batch:
    """Read a batch of pairs and pad it."""
    return Batch(
        pad([pairs.src[i] for i in batch], src_pad), pad([pairs.tgt[i] for i in batch], tgt_pad)
    )


def pad(sentences: list[Ids] | list[list[int]], value: int, *, multiple: int = 1) -> Tensor:
    """Stack sentences of ids, filled up with `value` to the longest (B, S).

    Args:
        sentences: Ids of each sentence.
        value: The pad id.
        multiple: The common length is rounded up to a multiple of this.
    """
    longest = max(map(len, sentences))
    padded = np.full((len(sentences), -(-longest // multiple) * multiple), value, dtype=np.int64)
    for row, ids in zip(padded, sentences, strict=True):
        row[: len(ids)] = ids
    return torch.from_numpy(padded)  # (B, S)
