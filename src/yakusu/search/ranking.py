"""The order of candidates in a search that must generate certain tokens.

N candidates of a sentence.
"""

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Longs

BONUS = 6.0  # of `alternate`, in nats


def alternate(log_probs: NDArray[np.float64], progress: Longs) -> Longs:
    """The order of candidates that gives each stage of progress the same number of places.

    First the best candidate of each stage, then the second best of each, and so on. Within a round,
    candidates are sorted by log-probability plus BONUS for each token of progress, because tokens
    that are still missing will lower the log-probability later.

    Args:
        log_probs: (N,).
        progress: The stage of each candidate (N,).

    Returns:
        Indices (N,).
    """
    order = np.argsort(-(log_probs + BONUS * progress), kind="stable")
    stage = progress[order]
    by_stage = np.argsort(stage, kind="stable")
    grouped, places = stage[by_stage], np.arange(len(stage))
    is_first = np.append(True, grouped[1:] != grouped[:-1])[: len(stage)]
    in_stage = places - np.maximum.accumulate(np.where(is_first, places, 0))
    round_ = np.empty_like(places)
    round_[by_stage] = in_stage
    round_[log_probs[order] == -np.inf] = len(places)  # impossible candidates are last
    return order[np.argsort(round_, kind="stable")]
