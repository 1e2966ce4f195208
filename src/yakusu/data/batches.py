"""Batches counted in tokens, section 5.1.

    a batch: pairs of similar length, with
             pairs * (length of the longest sentence of either side) <= batch_tokens
    a pass:  batches of a step that pass through the model together, padded to the same length
    a step:  the batches of one update of the weights, about `step_tokens` tokens on each side

The pairs of an epoch are shuffled, sorted by length and cut into batches, which are then shuffled.
A step of several batches contains sentences of several lengths (docs/decisions/0047). The order is
a pure function of (seed, epoch).

By default, a pass has several batches, except on a CPU for models that compute the padding
(docs/decisions/0051, 0060).

B batch, S source, T target.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from yakusu.config import Config
from yakusu.typed import setting

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from yakusu.data.pairs import CorpusPart, Ids, Pairs

Indices = npt.NDArray[np.int64]  # positions of pairs in a binarised corpus
CPU_TOKENS = 2**12  # of a batch on a CPU at most, unless a recipe sets its size: its caches
_PASS_TOKENS = 2**14  # of a pass on a GPU
_CPU_PASS_TOKENS = 2**13  # of a pass on a CPU


class BatchConfig(Config):
    """Sizes in tokens of the longer side; the size of a batch includes its padding."""

    step_tokens: int = setting(25_000, ge=1)
    batch_tokens: int = setting(0, ge=0)  # 0: an eighth of a step; on a CPU up to 4,096, its caches
    pass_tokens: int = setting(0, ge=0)  # 0: 16,384 on a GPU, 8,192 on a CPU; see `pass_tokens_on`

    def batch_tokens_on(self, device: str, *, per_step: int = 8) -> int:
        """Return `batch_tokens`, or the default for a device type ("cpu", "cuda").

        Args:
            device: Device type.
            per_step: Number of batches per step by default; runs of yakusu 0.1.0 have two.
        """
        share = max(1, self.step_tokens // per_step)
        default = min(share, CPU_TOKENS) if device == "cpu" else share
        return min(self.batch_tokens or default, self.step_tokens)

    def pass_tokens_on(self, device: str, *, packs: bool) -> int:
        """Return `pass_tokens`, or the default for a device type; 0: a batch per pass.

        Args:
            device: Device type.
            packs: Whether the model computes no padding on a CPU.
        """
        default = (_CPU_PASS_TOKENS if packs else 0) if device == "cpu" else _PASS_TOKENS
        return self.pass_tokens or (0 if self.batch_tokens else default)


def epoch_steps(
    pairs: "Pairs", *, step_tokens: int, batch_tokens: int, seed: int, epoch: int
) -> list[list[Indices]]:
    """Return the steps of one epoch, each a list of batches.

    Every pair occurs once, or as often as the weight of its part of the corpus specifies. The
    tokens of a step differ from their mean by at most those of the largest batch, so steps of four
    or more batches have similar sizes; steps of one batch may be twice as large as others.
    """
    rng = np.random.default_rng([seed, epoch])
    shuffled = rng.permutation(seen_in_epoch(pairs.parts, seed=seed, epoch=epoch))
    batches = cut_by_length(shuffled, pairs, batch_tokens)
    batches = [batches[i] for i in rng.permutation(len(batches))]
    src, tgt = pairs.src.lengths, pairs.tgt.lengths
    sizes = np.array([max(src[batch].sum(), tgt[batch].sum()) for batch in batches])
    ends = np.cumsum(sizes)
    n_steps = min(len(batches), max(1, round(int(ends[-1]) / step_tokens)))
    cuts = np.searchsorted(ends - sizes / 2, ends[-1] * np.arange(1, n_steps) / n_steps)
    bounds = [0, *cuts.tolist(), len(batches)]
    return [batches[a:b] for a, b in pairwise(bounds) if a < b]


def seen_in_epoch(parts: "Sequence[CorpusPart]", *, seed: int, epoch: int) -> Indices:
    """Return the sorted indices of the pairs seen in an epoch; a pair may occur repeatedly.

    For a part with n pairs and weight w, the first E epochs use the first floor(n w E) items of
    an endless sequence of permutations. After any number of epochs, the counts of any two pairs
    of a part differ by at most one.
    """
    shown, first = [], 0
    for number, part in enumerate(parts):
        n = part.n_pairs
        share = n * Fraction(str(part.weight))  # the decimal number, not its binary approximation
        places = np.arange(floor(epoch * share), floor((epoch + 1) * share))
        for lap in np.unique(places // n) if n else ():
            order = np.random.default_rng([seed, number, int(lap)]).permutation(n)
            shown.append(first + order[places[places // n == lap] % n])
        first += n
    return np.sort(np.concatenate(shown)).astype(np.int64)


def cut_by_length(order: Indices, pairs: "Pairs", batch_tokens: int) -> list[Indices]:
    """Cut pairs into batches of similar length, at most `batch_tokens` on the longer side.

    Pairs are sorted by their longer side, then by both lengths; pairs with equal lengths keep
    their order. A pair longer than `batch_tokens` is a batch of its own.
    """
    src, tgt = pairs.src.lengths_of(order), pairs.tgt.lengths_of(order)
    longer = np.maximum(src, tgt)
    # Every other group of equal `longer` is reversed, so that a batch across the border of two
    # groups has pairs with similar lengths.
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


def joined(batches: list[Indices], pairs: "Pairs", pass_tokens: int) -> list[Indices]:
    """Join batches, shortest sentences first, while they have at most `pass_tokens` with padding.

    Tokens are counted on the longer side. A batch with more tokens stays as it is.
    """
    if not pass_tokens:
        return batches
    passes: list[Indices] = []
    for batch in sorted(batches, key=lambda batch: longest(pairs, batch)):
        if passes and (len(passes[-1]) + len(batch)) * longest(pairs, batch) <= pass_tokens:
            passes[-1] = np.concatenate([passes[-1], batch])
        else:
            passes.append(batch)
    return passes


def longest(pairs: "Pairs", batch: Indices) -> int:
    """Return the number of tokens of the longest sentence of either side."""
    return int(max(pairs.src.lengths_of(batch).max(), pairs.tgt.lengths_of(batch).max()))


@dataclass(frozen=True)
class Batch:
    """Padded ids of one batch."""

    src: "Tensor"  # (B, S)
    tgt: "Tensor"  # (B, T)

    def to(self, device: "torch.device") -> "Batch":
        """Return a copy of the batch on a device."""
        return Batch(self.src.to(device, non_blocking=True), self.tgt.to(device, non_blocking=True))

    def split(self, n_positions: int) -> "Iterator[Batch]":
        """Split into batches of at most `n_positions` positions per side, and at least one pair.

        The padding is unchanged.
        """
        n_pairs = max(1, n_positions // max(self.src.shape[1], self.tgt.shape[1]))
        parts = zip(self.src.split(n_pairs), self.tgt.split(n_pairs), strict=True)
        return (Batch(src, tgt) for src, tgt in parts)


def collate(pairs: "Pairs", batch: Indices, *, src_pad: int, tgt_pad: int) -> Batch:
    """Read the pairs of a batch and pad them."""
    return Batch(
        pad([pairs.src[i] for i in batch], src_pad), pad([pairs.tgt[i] for i in batch], tgt_pad)
    )


def pad(sentences: "list[Ids] | list[list[int]]", value: int, *, multiple: int = 1) -> "Tensor":
    """Stack sentences, padded on the right to a common length.

    Args:
        sentences: Ids of each sentence.
        value: The pad id.
        multiple: The length is rounded up to a multiple of this number.

    Returns:
        Ids (B, S), int64.
    """
    import torch  # recipes and `prepare` do not need it

    longest = max(map(len, sentences))
    padded = np.full((len(sentences), -(-longest // multiple) * multiple), value, dtype=np.int64)
    for row, ids in zip(padded, sentences, strict=True):
        row[: len(ids)] = ids
    return torch.from_numpy(padded)  # (B, S)


def fullness(pairs: "Pairs", batches: list[Indices]) -> float:
    """Return the share of positions, over both sides, that are tokens and not padding."""
    n_tokens = sum(
        int(side.lengths_of(batch).sum()) for side in (pairs.src, pairs.tgt) for batch in batches
    )
    return n_tokens / n_positions(pairs, batches)


def n_positions(pairs: "Pairs", batches: list[Indices]) -> int:
    """Return the number of positions of batches over both sides, including padding."""
    return sum(
        len(batch) * int(side.lengths_of(batch).max())
        for side in (pairs.src, pairs.tgt)
        for batch in batches
    )
