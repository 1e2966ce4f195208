"""Outcomes of a task item by item, so that two systems can be compared on the same items.

B resamples, N items, U distinct values.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Doubles


class Outcomes(Protocol):
    """Outcomes of the items of a test set."""

    def __len__(self) -> int:
        """Return the number of items."""
        ...

    def scores(self, times: Doubles) -> Doubles:
        """Return the score of each resample, (B,); NaN if it is undefined.

        Args:
            times: How often each resample contains each item, (B, N).
        """
        ...


@dataclass(frozen=True, eq=False)
class Shares:
    """The score is the mean of values from 0 to 1, (N,), such as right (1) or wrong (0)."""

    values: Doubles

    def __len__(self) -> int:
        return len(self.values)

    def scores(self, times: Doubles) -> Doubles:
        """Return the mean value of each resample."""
        with np.errstate(invalid="ignore"):
            means: Doubles = times @ self.values / times.sum(axis=1)
        return means


@dataclass(frozen=True, eq=False)
class RankCorrelation:
    """The score is Spearman's rho of human scores and cosines, (N,) each; equal values tie."""

    human: Doubles
    cosines: Doubles

    def __len__(self) -> int:
        return len(self.human)

    def scores(self, times: Doubles) -> Doubles:
        """Return the rank correlation within each resample, with mean ranks for equal values."""
        middle = (times.sum(axis=1, keepdims=True) + 1) / 2  # (B, 1), the mean rank
        x, y = (ties.ranks(times) - middle for ties in self._ties)  # (B, N)
        weighted = times * x
        product = np.einsum("bn,bn->b", weighted, y)
        squares = np.einsum("bn,bn->b", weighted, x) * np.einsum("bn,bn,bn->b", times, y, y)
        rho = np.full(len(times), math.nan)
        np.divide(product, np.sqrt(squares), out=rho, where=squares > 0)
        return rho

    @cached_property
    def _ties(self) -> tuple["_Ties", "_Ties"]:
        return _Ties.of(self.human), _Ties.of(self.cosines)


@dataclass(frozen=True, eq=False)
class _Ties:
    """Items in the order of their values, and the groups of equal values.

    order: Items, smallest value first, (N,).
    starts: Position in `order` of the first item of each distinct value, (U,).
    group: Distinct value of each item, (N,).
    """

    order: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: Doubles) -> "_Ties":
        _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
        return cls(np.argsort(group, kind="stable"), np.cumsum(sizes) - sizes, group)

    def ranks(self, times: Doubles) -> Doubles:
        """Return the rank of each item in each resample, (B, N), from 1."""
        if not len(self.group):
            return times
        sizes = np.add.reduceat(times[:, self.order], self.starts, axis=1)  # (B, U)
        ranks: Doubles = (np.cumsum(sizes, axis=1) - (sizes - 1) / 2)[:, self.group]
        return ranks


@dataclass(frozen=True)
class TaskResult:
    """Result of a task.

    name: Name of the test set, or of a part of it.
    score: Spearman's rho, or the share of correct answers from 0 to 1; NaN if it is undefined.
    used, left_out: Number of items scored, and of items left out because a vector is missing.
    how: Description of the method.
    parts: Results of the sections of analogies; Google's also have semantic and syntactic parts.
    outcomes: Of the items used, for each test set; `score` is the unweighted mean over the sets.
    """

    name: str
    score: float
    used: int
    left_out: int
    how: str
    parts: tuple["TaskResult", ...] = ()
    outcomes: tuple[Outcomes, ...] = field(default=(), repr=False, compare=False)


def result_of(
    name: str,
    outcomes: Outcomes,
    left_out: int,
    how: str,
    parts: tuple[TaskResult, ...] = (),
) -> TaskResult:
    """Score the outcomes of one test set."""
    score = float(outcomes.scores(np.ones((1, len(outcomes))))[0])
    return TaskResult(name, score, len(outcomes), left_out, how, parts, (outcomes,))


def mean_of(results: Sequence[TaskResult]) -> TaskResult:
    """Average over test sets, unweighted; sets without a score are left out and named."""
    scored = [result for result in results if not math.isnan(result.score)]
    without = [result.name for result in results if math.isnan(result.score)]
    return TaskResult(
        "mean similarity",
        sum(result.score for result in scored) / len(scored) if scored else math.nan,
        sum(result.used for result in results),
        sum(result.left_out for result in results),
        f"unweighted mean of {', '.join(result.name for result in scored) or 'nothing'}"
        + (f"; without a score: {', '.join(without)}" if without else ""),
        outcomes=tuple(each for result in scored for each in result.outcomes),
    )
