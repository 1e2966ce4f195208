"""Sampling: each hypothesis draws its next token, independently of all others.

K samples of a sentence, V vocabulary.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Longs
from yakusu.search.config import SamplingConfig, SearchConfig

if TYPE_CHECKING:
    from torch import Tensor


class Sampler:
    """Draws tokens by inverting the cumulative distribution at uniform random numbers.

    The random numbers of a sample are a function of (seed, source ids, number of the sample), so a
    sample does not depend on other sentences. The native engine draws the same tokens with these
    numbers (`native/sampling.c`).

    Args:
        config: Temperature, `top_k`, `top_p` and seed.
        source: The ids of the source sentence, without padding.
        n_samples: K.
        n_steps: Maximum number of tokens of a sample.
    """

    def __init__(
        self, config: SamplingConfig, source: Sequence[int], *, n_samples: int, n_steps: int
    ) -> None:
        self.config = config
        numbers = [
            _uniform(config.seed, list(source), sample, n_steps) for sample in range(n_samples)
        ]
        self.uniform = np.array(numbers)  # (K, n_steps)

    def draw(self, logits: NDArray[np.floating[Any]], step: int) -> Longs:
        """The tokens (K,) at a step, counted from 0.

        Args:
            logits: Of tokens that may follow each sample, -inf for others: (K, V - 1), or
                (1, V - 1) for all samples.
            step: The number of the step.
        """
        ids = np.argsort(-logits, axis=1, kind="stable")[:, : self.config.top_k]  # (K, n)
        best = np.take_along_axis(logits, ids, axis=1).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            best = np.exp((best - best[:, :1]) / self.config.temperature)  # at most 1
            p = best / best.sum(axis=1, keepdims=True)  # decreasing
        before = p.cumsum(axis=1) - p
        p[before >= self.config.top_p] = 0.0  # the first token always remains
        total = p.cumsum(axis=1)
        wanted = self.uniform[:, step, None] * total[:, -1:]
        places = (total <= wanted).sum(axis=1, keepdims=True).clip(max=p.shape[1] - 1)
        drawn: Longs = np.take_along_axis(ids, places, axis=1)[:, 0]
        return drawn

    def follow(self, beams: Longs) -> None:
        """Let the samples be sample beams[k]: (K',)."""
        self.uniform = self.uniform[beams]


def _uniform(seed: int, ids: list[int], sample: int, n_steps: int) -> NDArray[np.float64]:
    """The random numbers of a sample, in the interval [0, 1)."""
    digest = sha256(repr((seed, sample, ids)).encode()).digest()
    generator = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
    return generator.random(n_steps)


def samplers_of(
    config: SearchConfig, src: "Tensor", limits: Sequence[int], *, pad: int
) -> list[Sampler]:
    """The sampler of each sentence; [] if translations are searched and not sampled.

    Args:
        config: Settings of the search.
        src: The ids of the sentences (B, S), padded.
        limits: The maximum number of steps of each.
        pad: The padding id.
    """
    if config.sampling is None:
        return []
    return [
        Sampler(config.sampling, ids[ids != pad].tolist(), n_samples=config.n_slots, n_steps=most)
        for ids, most in zip(src, limits, strict=True)
    ]
