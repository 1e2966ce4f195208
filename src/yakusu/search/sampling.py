"""Sampling: each hypothesis draws its next token, independently of all others.

B sentences, K samples per sentence, V vocabulary.
"""

import copy
from hashlib import sha256
from typing import Self

import numpy as np
import torch
from torch import Tensor

from yakusu.model.base import SearchModel
from yakusu.search.config import SamplingConfig, SearchConfig


class Sampler:
    """Draws tokens by inverting the cumulative distribution at uniform random numbers.

    The random numbers of a sample are a function of (seed, source ids, number of the sample), so a
    sample does not depend on the batch.

    Args:
        config: Temperature, `top_k`, `top_p` and seed.
        sources: The ids of each source sentence, without padding.
        n_samples: K.
        n_steps: Maximum number of tokens of a sample.
    """

    def __init__(
        self, config: SamplingConfig, sources: list[list[int]], *, n_samples: int, n_steps: int
    ) -> None:
        self.config = config
        numbers = [
            [_uniform(config.seed, ids, sample, n_steps) for sample in range(n_samples)]
            for ids in sources
        ]
        self.uniform = torch.from_numpy(np.array(numbers))  # (B, K, n_steps)

    def draw(self, logits: Tensor, step: int) -> Tensor:
        """The tokens (B, K) at a step, counted from 0, for logits (B, K, V - 1)."""
        best, ids = logits.double().sort(descending=True, stable=True)  # (B, K, V - 1)
        best = (best - best[..., :1]) / self.config.temperature  # at most 0: it cannot overflow
        p = best[..., : self.config.top_k].softmax(dim=-1)  # (B, K, n), decreasing
        before = p.cumsum(dim=-1) - p
        p = p.masked_fill(before >= self.config.top_p, 0.0)  # the first token always remains
        total = p.cumsum(dim=-1)
        wanted = self.uniform[:, :, step : step + 1].to(total.device) * total[..., -1:]
        place = torch.searchsorted(total, wanted, right=True).clamp(max=p.shape[-1] - 1)
        return ids.gather(-1, place)[..., 0]

    def follow(self, beams: Tensor) -> None:
        """Let sample k of sentence b be sample beams[b, k]."""
        index = beams.to(self.uniform.device)[:, :, None].expand_as(self.uniform)
        self.uniform = self.uniform.gather(1, index)

    def keep(self, sentences: Tensor) -> Self:
        """The sampler of these sentences."""
        other = copy.copy(self)
        other.uniform = self.uniform[sentences.to(self.uniform.device)]
        return other


def _uniform(
    seed: int, ids: list[int], sample: int, n_steps: int
) -> "np.typing.NDArray[np.float64]":
    """The random numbers of a sample, in the interval [0, 1)."""
    digest = sha256(repr((seed, sample, ids)).encode()).digest()
    generator = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
    return generator.random(n_steps)


def sampler_of(
    model: SearchModel, src: Tensor, config: SearchConfig, n_steps: int
) -> Sampler | None:
    """The sampler, if the settings ask for samples."""
    if config.sampling is None:
        return None
    sources = [[i for i in ids if i != model.src_pad] for ids in src.tolist()]
    return Sampler(config.sampling, sources, n_samples=config.n_slots, n_steps=n_steps)
