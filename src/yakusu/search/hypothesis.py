"""What a search returns, and the numbers that define it: the length penalty and the limit."""

import math
from dataclasses import dataclass
from itertools import pairwise

from yakusu.search.config import SearchConfig


@dataclass(frozen=True)
class Hypothesis:
    """A translation as ids, without eos."""

    tokens: tuple[int, ...]
    log_prob: float  # log P(Y | X) in nats, including eos
    score: float  # log_prob / lp(Y), plus the coverage penalty
    path: tuple[float, ...] = ()  # the log-probability after each token and eos; (): unknown

    @property
    def token_log_probs(self) -> list[float]:
        """The log-probability of each token and of eos; []: unknown."""
        return [after - before for before, after in pairwise((0.0, *self.path))]


NOTHING = Hypothesis((), -math.inf, -math.inf)  # of a search without a result


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^alpha, Wu et al. 2016; |Y| includes eos."""
    return float(((5 + length) / 6) ** alpha)


def limit(config: SearchConfig, *, n_source: int, n_prefix: int, max_length: int) -> int:
    """The maximum number of tokens of a translation, without eos.

    Args:
        config: Settings of the search.
        n_source: Number of source tokens, without eos.
        n_prefix: Number of tokens of the prefix.
        max_length: Maximum number of tokens that the model can process, including eos.
    """
    most = max(n_source, n_prefix) + config.max_extra
    if config.max_length is not None:
        most = min(most, max(config.max_length, n_prefix))
    return min(most, max_length - 1)
