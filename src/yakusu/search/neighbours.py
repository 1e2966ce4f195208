"""Nearest-neighbour predictions: what followed similar decoder states in similar segments.

    s       = (h - mean) A                                  scores of a hidden state h, (M,)
    d_i     = sum over m of (s_m - c[m, code_im])^2         its distance from stored state i
    N(y)    = sum of exp(-d_i / T) over the k nearest states that y followed, normalised
    w       = weight max(0, 1 - d_1 / reach) (1 - P(y_1))
    P'(y)   = (1 - w) P(y) + w N(y)

d_1 is the smallest distance, and y_1 the most probable of the tokens that may follow. Khandelwal et
al. 2021, with the states of the segments that are similar to the sentence (Dai et al. 2023) and a
weight that falls with the distance and with the model's certainty, so that useless neighbours
change nothing. States are stored as codes of 4 bits for each of M components (Algorithm 1 of the
second paper). Distances are rounded to integers, and equally near states are ordered by their
tokens: the result depends neither on the order of the segments nor on the instruction set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Floats, Longs

NEAREST = 8  # k
N_CODES = 16  # of a component
_UNIT, _FARTHEST = 256.0, 65535.0  # of the integers for squared differences

StateCodes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class StateCodebook:
    """What maps the hidden states of a model to codes; d_model H, components M.

    Attributes:
        mean: Mean state, (H,).
        axes: A, (H, M); M is a multiple of 16.
        centroids: c, (M, 16), ascending; NaN: not used.
        temperature: T.
        reach: Distance from which on a state has no weight.
        weight: The largest w.
        key: Identifies the model, its precision and its vocabulary, together with the rest of this.
    """

    mean: Floats
    axes: Floats
    centroids: Floats
    temperature: float
    reach: float
    weight: float
    key: int = 0

    @property
    def n_components(self) -> int:
        """M."""
        return int(self.axes.shape[1])

    def scores(self, hidden: Floats) -> Floats:
        """The scores (n, M) of hidden states (n, H)."""
        found: Floats = np.matmul(hidden - self.mean, self.axes, dtype=np.float32)
        return found

    def distances(self, scores: Floats, codes: StateCodes) -> Longs:
        """The distances of stored states, as integers: (n, M) and (N, M / 2) -> (n, N)."""
        away: Floats = scores[:, :, None] - self.centroids
        squares: Floats = away * away * np.float32(_UNIT) + np.float32(0.5)
        is_near = squares < _FARTHEST  # not NaN
        tables = np.where(is_near, squares, _FARTHEST).astype(np.int64)  # (n, M, 16)
        parts = np.stack([codes & 15, codes >> 4], axis=2).reshape(len(codes), -1)  # (N, M)
        found: Longs = sum(
            (tables[:, m][:, parts[:, m]] for m in range(self.n_components)),
            start=np.zeros((len(scores), len(codes)), np.int64),
        )
        return found


@dataclass(frozen=True, eq=False)
class SegmentStates:
    """The states of the segments that are similar to a sentence.

    Attributes:
        codes: The code of component m in the low 4 bits of byte m / 2 if m is even, in the high
            ones if it is odd: (N, M / 2).
        tokens: What followed each state, (N,).
    """

    codes: StateCodes
    tokens: NDArray[np.int32]

    @classmethod
    def of(cls, segments: Sequence["SegmentStates"]) -> "SegmentStates":
        """The states of several segments."""
        return cls(
            np.concatenate([each.codes for each in segments]),
            np.concatenate([each.tokens for each in segments]),
        )


class Nearest(NamedTuple):
    """What the states predict at a position: w without its last factor, and N(y) of each token."""

    weight: float
    probs: dict[int, float]


def predicted(codebook: StateCodebook, states: SegmentStates, hidden: Floats) -> list[Nearest]:
    """What states predict for hidden states (n, H)."""
    every = codebook.distances(codebook.scores(hidden), states.codes)
    return [_predicted(codebook, distances, states.tokens) for distances in every]


def _predicted(codebook: StateCodebook, distances: Longs, tokens: NDArray[np.int32]) -> Nearest:
    order = np.lexsort((tokens, distances))[:NEAREST]
    if not len(order):
        return Nearest(0.0, {})
    first = distances[order[0]]
    weight = codebook.weight * (1 - float(first) / _UNIT / codebook.reach)
    powers = np.exp(-(distances[order] - first) / _UNIT / codebook.temperature)
    probs = dict[int, float]()
    for token, prob in zip(tokens[order].tolist(), powers / powers.sum(), strict=True):
        probs[token] = probs.get(token, 0.0) + float(prob)
    return Nearest(max(0.0, weight), probs)
