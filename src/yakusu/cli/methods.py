"""What the options of compression ask for: a method, the same for word vectors and translators."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import yakusu
from yakusu.errors import DataError

if TYPE_CHECKING:
    from yakusu.compress.budget import Budget
    from yakusu.compress.method import Method


@dataclass(frozen=True)
class CodeOptions:
    """The options of the paper's codes."""

    m: int = 0
    k: int = 0
    fit: str = "least-squares"
    mean: str = "stored"

    def method(self, budget: "Budget | None") -> "Method":
        fitting = yakusu.compress.Fitting(self.fit, self.mean)
        if not budget:
            return yakusu.compress.ByCodes(self.m, self.k or 16, fitting)
        if self.m or self.k:
            raise DataError("--bits, --ratio and --max-loss choose M and K: leave out --m and --k")
        return yakusu.compress.CodesWithin(budget, fitting)


@dataclass(frozen=True)
class NumberOptions:
    """The options of whole numbers."""

    step: float | None = None
    whitening: float | None = None
    tiers: str = ""

    def method(self, budget: "Budget | None") -> "Method":
        try:
            boundaries = tuple(int(rank) for rank in self.tiers.split(",") if rank)
        except ValueError as error:
            raise DataError(
                f"--tiers {self.tiers}: give ranks with commas between, as 10000,50000"
            ) from error
        whitening = 0.5 if self.whitening is None else self.whitening
        if self.step is None:
            budget = budget or yakusu.compress.Budget(max_loss=0.05)
            return yakusu.compress.NumbersWithin(budget, whitening, boundaries)
        if budget:
            raise DataError("--bits, --ratio and --max-loss choose the step: leave out --step")
        return yakusu.compress.ByNumbers(self.step, whitening, boundaries)


def method_of(
    uniform: bool,
    codes: CodeOptions,
    numbers: NumberOptions,
    *,
    wishes: tuple[float | None, float | None, float | None],
) -> "Method":
    """What the options ask for; wishes are --bits, --ratio and --max-loss."""
    if uniform and codes != CodeOptions():
        named = "--m and --k" if codes.m or codes.k else "--fit and --mean"
        raise DataError(f"{named} belong to the paper's codes: leave them or --uniform out")
    if not uniform and numbers != NumberOptions():
        named = next(
            f"--{name}" for name, own in vars(NumberOptions()).items() if own != vars(numbers)[name]
        )
        raise DataError(f"{named} belongs to --uniform: add it, or leave {named} out")
    given = any(wish is not None for wish in wishes)
    budget = yakusu.compress.Budget(*wishes) if given else None
    return (numbers if uniform else codes).method(budget)
