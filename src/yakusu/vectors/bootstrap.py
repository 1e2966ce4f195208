"""Paired bootstrap resampling (Koehn 2004) of the difference between two results of a task.

Both systems are scored on the same resamples of the items. As in `yakusu.metrics`, there are 1,000
resamples with a fixed seed, so the interval is deterministic. B resamples, N items.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from yakusu.arrays import Doubles
from yakusu.errors import DataError
from yakusu.vectors.outcomes import TaskResult

_TOGETHER = 2**20  # items of resamples held in memory at a time


@dataclass(frozen=True)
class Interval:
    """Difference of two scores, and its 95% bootstrap interval from `low` to `high`."""

    difference: float
    low: float
    high: float


def paired_difference(
    before: TaskResult, after: TaskResult, *, n_samples: int = 1000, seed: int = 12345
) -> Interval:
    """Return the score of `after` minus that of `before`, with its 95% interval.

    The interval is from the 2.5th to the 97.5th percentile. If the results are means over
    several test sets, each set is resampled on its own. Resamples in which a score is undefined,
    such as a correlation of equal values, are left out.

    Args:
        before, after: Results of two systems on the same items.
        n_samples: Number of resamples.
        seed: Seed of the resampling.

    Raises:
        DataError: The results have different items.
    """
    if before.how != after.how:  # means over different sets: one system has no score on a set
        return Interval(math.nan, math.nan, math.nan)
    sizes, others = ([len(each) for each in result.outcomes] for result in (before, after))
    if sizes != others:
        raise DataError(
            f"{before.name} has {sizes} items and {after.name} {others}: compare results of the "
            "same items"
        )
    difference = after.score - before.score
    if not sizes or math.isnan(difference):
        return Interval(math.nan, math.nan, math.nan)
    rng = np.random.default_rng(seed)
    total = np.zeros(n_samples)
    for first, second in zip(before.outcomes, after.outcomes, strict=True):
        parts = [
            second.scores(times) - first.scores(times)
            for times in _resamples(len(first), n_samples, rng)
        ]
        total += np.concatenate(parts)
    found = total[~np.isnan(total)] / len(sizes)
    low, high = np.percentile(found, [2.5, 97.5]) if len(found) else (math.nan, math.nan)
    return Interval(difference, float(low), float(high))


def _resamples(n_items: int, n_samples: int, rng: np.random.Generator) -> Iterator[Doubles]:
    """Yield how often each resample contains each item, (B, N), some resamples at a time."""
    size = max(1, _TOGETHER // n_items)
    for begin in range(0, n_samples, size):
        n = min(size, n_samples - begin)
        picked = rng.integers(n_items, size=(n, n_items)) + n_items * np.arange(n)[:, None]
        times = np.bincount(picked.ravel(), minlength=n * n_items).reshape(n, n_items)
        yield times.astype(np.float64)
