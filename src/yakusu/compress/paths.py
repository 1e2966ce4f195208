"""Paths of exactly k intervals over sorted values, by the price per interval that yields them.

D(k), the smallest cost of k intervals, is convex in k, so the number of intervals can be replaced
by a price per interval, at which one sweep finds the cheapest path. If no price yields exactly k
intervals, two optimal paths of the same price are spliced.
"""

from typing import NamedTuple

import numpy as np

from yakusu.arrays import Doubles, Longs
from yakusu.compress.doubledouble import running_moments
from yakusu.compress.sweeps import move_left, path_cost, sweep

_COARSE = 4096  # groups on which the price is estimated first, plus 16 per interval
_NEAR = 3  # largest difference of two numbers of intervals for which the chord is tried
_TRIES = 200  # prices at most; every fourth is the chord, which at worst halves the distance


class CumulativeSums(NamedTuple):
    """Cumulative sums of the distinct values in ascending order."""

    rows: Doubles  # (3, n + 1) of `running_moments`, or (5, n + 1, 1) of `running_sums`
    origin: float

    @classmethod
    def of(cls, distinct: Doubles, counts: Doubles) -> "CumulativeSums":
        mean = float(distinct @ counts) / float(counts.sum())
        above = min(int(np.searchsorted(distinct, mean)), len(distinct) - 1)
        origin = float(distinct[above])  # a value near the mean: integers stay exact
        return cls(running_moments(distinct, counts, origin), origin)

    @property
    def n(self) -> int:
        return int(self.rows.shape[1]) - 1

    def at(self, ends: Longs) -> "CumulativeSums":
        """Return the sums of groups of neighbouring values."""
        return self._replace(rows=np.ascontiguousarray(self.rows[:, ends]))

    def sweep(self, price: float) -> Longs:
        """Return the starts of the intervals of the cheapest path, at `price` per interval."""
        starts: Longs = sweep(self.rows, price)
        return starts

    def cost(self, starts: Longs) -> float:
        """Return the cost of a path, without prices."""
        return float(path_cost(self.rows, np.append(starts, self.n)))

    def rounding(self, k: int, price: float, width: float) -> float:
        """Return a bound on the rounding errors of the difference between the costs of two paths.

        Only for `running_moments`. A path adds errors of its k intervals, together at most 5 units
        in the last place of the sum of squares; of the moments at its borders, each rounded once
        and multiplied by the distance of two means; and of k partial sums of prices. `width` is
        the distance between the least and the greatest value.
        """
        moment, squares = np.abs(self.rows[1:, -1])
        errors = 8 * squares + 2 * width * moment + k * k * abs(price)
        return float(np.finfo(np.float64).eps * errors)

    def leftmost(self, starts: Longs) -> Longs:
        """Move borders to the left as long as the cost does not increase."""
        ends = np.append(starts, self.n)
        while move_left(self.rows, ends):
            pass
        return ends[:-1]

    def means(self, starts: Longs) -> Doubles:
        weight, moment = np.diff(self.rows[:2, np.append(starts, self.n)])
        means: Doubles = self.origin + moment / weight
        return means


def best_path(sums: CumulativeSums, k: int) -> tuple[Longs, float]:
    """Return the path of k intervals with the smallest cost, and its price.

    For many values, the price is estimated on coarse data first.
    """
    if k == 1:
        return np.zeros(1, dtype=np.int64), 0.0
    n_groups = 16 * k + _COARSE
    price = _rough_price(sums, k, n_groups) if sums.n > 4 * n_groups else 0.0
    return PriceFinder(sums, k).run(price)


def _rough_price(sums: CumulativeSums, k: int, n_groups: int) -> float:
    """Estimate the price of k intervals on groups: even groups first, then parts of intervals.

    The price is the slope of D over a span around k, wide enough to reduce errors of the groups.
    """
    n, parts = sums.n, max(32, 2 * _COARSE // k)
    ends = np.linspace(0, n, n_groups + 1).astype(np.int64)
    path, price = PriceFinder(sums.at(ends), k).run()
    borders = np.append(ends[path], n)
    inner = np.diff(borders)[:, None] * np.arange(parts) // parts
    rough = sums.at(np.unique(np.append(borders[:-1, None] + inner, n)))
    _, price = PriceFinder(rough, k).run(price)
    apart = max(1, int(k**0.5) // 4)
    few, many = (rough.sweep(_extrapolated(price, k, k + d)) for d in (-apart, apart))
    if len(few) == len(many):
        return price
    slope = (rough.cost(few) - rough.cost(many)) / (len(many) - len(few))
    return _extrapolated(slope, (len(few) + len(many)) / 2, k)


def _extrapolated(price: float, k: float, wanted: float) -> float:
    """Extrapolate the price of `wanted` intervals from the price of k.

    Errors of smooth data fall with the square of k, hence prices with its cube.
    """
    return price * float(k / wanted) ** 3


class PriceFinder:
    """Root finder for the price of k intervals, bracketed by paths of fewer and more intervals."""

    def __init__(self, sums: CumulativeSums, k: int) -> None:
        self.sums, self.k = sums, k
        self.few = np.zeros(1, dtype=np.int64)  # the path of one interval
        self.many = np.arange(sums.n)  # and of all
        self.price_few = self.price_many = 0.0  # unknown

    def run(self, price: float = 0.0, most: float = np.inf) -> tuple[Longs, float]:
        """Return the path of k intervals and its price.

        Args:
            price: First price to try; 0 for none.
            most: A price at which the cheapest path has no more than k intervals.
        """
        for attempt in range(1, _TRIES):
            on_chord = not price
            price = price or self._chord()
            price, on_chord = min(price, most), on_chord and price <= most
            path = self.sums.sweep(price)
            if len(path) == self.k:
                return path, price
            if on_chord and not len(self.few) < len(path) < len(self.many):
                break  # D is linear from few to many
            self._narrow(path, price)
            price = self._guess(price, len(path)) if attempt % 4 else 0.0
        return self.sums.leftmost(_splice(self.few, self.many, self.k)), price

    def _narrow(self, path: Longs, price: float) -> None:
        if len(self.few) <= len(path) < self.k:
            self.few, self.price_few = path, price
        elif self.k < len(path) <= len(self.many):
            self.many, self.price_many = path, price

    def _chord(self) -> float:
        """Return the price at which `few` and `many` cost the same."""
        saved = self.sums.cost(self.few) - self.sums.cost(self.many)
        return saved / (len(self.many) - len(self.few))

    def _guess(self, price: float, found: int) -> float:
        """Return the next price to try; 0 for the chord, which finds k or ends the search."""
        if not self.price_few > 0 < self.price_many:
            return _extrapolated(price, found, self.k)
        if len(self.many) - len(self.few) <= _NEAR:
            return 0.0
        few, many = np.log([len(self.few), len(self.many)])
        share = (np.log(self.k) - few) / (many - few)
        return float(self.price_few ** (1 - share) * self.price_many**share)


def _splice(few: Longs, many: Longs, k: int) -> Longs:
    """Join two optimal paths of the same price, one of fewer and one of more, into k intervals.

    The path switches where an interval of `many` is contained in an interval of `few`.
    """
    shift = k - len(few)
    few_ends = np.append(few, np.iinfo(np.int64).max)
    nested = (many[shift : shift + len(few)] >= few) & (
        many[shift + 1 : shift + 1 + len(few)] <= few_ends[1:]
    )
    i = int(nested.argmax())
    return np.concatenate([many[: i + shift + 1], few[i + 1 :]])
