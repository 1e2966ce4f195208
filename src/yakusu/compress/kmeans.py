"""Exact k-means in one dimension, in a time that hardly depends on K.

The best clusters are K intervals of the sorted values that minimise a sum of costs: the cost of the
interval (i, j] is its squared error or, up to a constant, -W m^2 (W weight, m mean). The minimum
D(k) is convex in k, so the number of intervals can be replaced by a price per interval. For
a fixed price, one sweep finds the best path from 0 to n, because a candidate for the start of the
last interval overtakes another at most once (Aggarwal, Schieber and Tokuyama 1994; Gronlund et al.
2017). The price that yields K intervals is estimated on coarse data first. If no price yields
exactly K, two optimal paths of the same price are spliced.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from yakusu.compress.doubledouble import (
    add_pairs,
    compiled,
    running_moments,
    running_sums,
    square_over,
)
from yakusu.errors import DataError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_COARSE = 4096  # groups on which the price is estimated first, plus 16 per interval
_DOUBTFUL = 1e-10  # share of all squares below which rounding errors could change the result
_FAR = 200  # exponent of 2 above which values are scaled
_NEAR = 3  # largest difference of two numbers of intervals for which the chord is tried
_TRIES = 200  # prices at most; every fourth is the chord, which at worst halves the distance


@dataclass(frozen=True, eq=False)
class Clusters:
    """Result of `kmeans1d`.

    codes: Index of the cluster of each value, (n,), from 0.
    centroids: Mean of each cluster, ascending, (K,).
    borders: Lower end of each cluster except the first, halfway between centroids, (K - 1,).
    """

    codes: npt.NDArray[np.int64]
    centroids: Floats
    borders: Floats

    @property
    def n_codes(self) -> int:
        """K, or the number of distinct values if there are fewer."""
        return len(self.centroids)


def kmeans1d(x: npt.ArrayLike, k: int) -> Clusters:
    """Split values into K clusters with the smallest sum of squared distances to their means.

    The result is exact and does not depend on a random number or a starting point. Equal values
    share a cluster; among equally good splits the leftmost is returned.

    Args:
        x: Values, (n,).
        k: Number of clusters. If there are fewer distinct values, each is a cluster.

    Raises:
        DataError: `x` is empty, not one-dimensional or not finite, or `k` is less than 1.
    """
    values = np.ascontiguousarray(x, dtype=np.float64)
    if values.ndim != 1 or not len(values) or k < 1:
        raise DataError(f"values of shape {values.shape} cannot be split into {k} clusters")
    if not np.isfinite(values).all():
        raise DataError("the values are not all finite: remove NaN and infinity")
    if exponent := _far_exponent(values):
        values = np.ldexp(values, -exponent)
    distinct, multiples = np.unique(values + 0.0, return_counts=True)  # -0.0 becomes 0.0
    counts = multiples.astype(np.float64)
    sums = _Sums.of(distinct, counts)
    starts = _best_starts(sums, min(k, len(distinct)), distinct, counts)
    centroids = sums.means(starts)
    # Optimal borders are halfway between centroids, up to rounding errors.
    after, upto = np.nextafter(distinct[starts[1:] - 1], np.inf), distinct[starts[1:]]
    borders = np.clip((centroids[1:] + centroids[:-1]) / 2, after, upto)
    codes = np.searchsorted(borders, values, side="right")
    return Clusters(codes, np.ldexp(centroids, exponent), np.ldexp(borders, exponent))


def _far_exponent(values: Floats) -> int:
    """Return the exponent of 2 to scale by if squares could underflow or overflow, else 0."""
    exponent = int(np.frexp(max(values.max(), -values.min()))[1])
    return exponent if abs(exponent) > _FAR else 0


class _Sums(NamedTuple):
    """Cumulative sums of the distinct values in ascending order."""

    rows: Floats  # (2, n + 1) of `running_moments`, or (5, n + 1, 1) of `running_sums`
    origin: float

    @classmethod
    def of(cls, distinct: Floats, counts: Floats) -> "_Sums":
        mean = float(distinct @ counts) / float(counts.sum())
        above = min(int(np.searchsorted(distinct, mean)), len(distinct) - 1)
        origin = float(distinct[above])  # a value near the mean: integers stay exact
        return cls(running_moments(distinct, counts, origin), origin)

    @property
    def n(self) -> int:
        return int(self.rows.shape[1]) - 1

    def at(self, ends: Ints) -> "_Sums":
        """Return the sums of groups of neighbouring values."""
        return self._replace(rows=np.ascontiguousarray(self.rows[:, ends]))

    def sweep(self, price: float) -> Ints:
        """Return the starts of the intervals of the cheapest path, at `price` per interval."""
        starts: Ints = _sweep(self.rows, price)
        return starts

    def cost(self, starts: Ints) -> float:
        """Return the cost of a path, without prices."""
        return float(_path_cost(self.rows, np.append(starts, self.n)))

    def leftmost(self, starts: Ints) -> Ints:
        """Move borders to the left as long as the cost does not increase."""
        ends = np.append(starts, self.n)
        while _move_left(self.rows, ends):
            pass
        return ends[:-1]

    def means(self, starts: Ints) -> Floats:
        weight, moment = np.diff(self.rows[:2, np.append(starts, self.n)])
        means: Floats = self.origin + moment / weight
        return means


def _best_starts(sums: _Sums, k: int, distinct: Floats, counts: Floats) -> Ints:
    """Return the starts of the best k intervals."""
    if k in (1, sums.n):
        return np.arange(sums.n)[:: sums.n if k == 1 else 1]
    n_groups = 16 * k + _COARSE
    price = _rough_price(sums, k, n_groups) if sums.n > 4 * n_groups else 0.0
    starts, price = _PriceFinder(sums, k).run(price)
    squares = float(np.square(distinct - sums.origin) @ counts)
    if squares + sums.cost(starts) < _DOUBTFUL * (squares + sums.cost(starts[:1])):
        precise = running_sums(distinct, counts, sums.origin)
        starts, _ = _PriceFinder(sums._replace(rows=precise[..., None]), k).run(price)
    return starts


def _rough_price(sums: _Sums, k: int, n_groups: int) -> float:
    """Estimate the price of k intervals on groups: even groups first, then parts of intervals.

    The price is the slope of D over a span around k, wide enough to reduce errors of the groups.
    """
    n, parts = sums.n, max(32, 2 * _COARSE // k)
    ends = np.linspace(0, n, n_groups + 1).astype(np.int64)
    path, price = _PriceFinder(sums.at(ends), k).run()
    borders = np.append(ends[path], n)
    inner = np.diff(borders)[:, None] * np.arange(parts) // parts
    rough = sums.at(np.unique(np.append(borders[:-1, None] + inner, n)))
    _, price = _PriceFinder(rough, k).run(price)
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


class _PriceFinder:
    """Root finder for the price of k intervals, bracketed by paths of fewer and more intervals."""

    def __init__(self, sums: _Sums, k: int) -> None:
        self.sums, self.k = sums, k
        self.few = np.zeros(1, dtype=np.int64)  # the path of one interval
        self.many = np.arange(sums.n)  # and of all
        self.price_few = self.price_many = 0.0  # unknown

    def run(self, price: float = 0.0) -> tuple[Ints, float]:
        """Return the path of k intervals and its price; `price` is the first to try, 0 for none."""
        for attempt in range(1, _TRIES):
            on_chord = not price
            price = price or self._chord()
            path = self.sums.sweep(price)
            if len(path) == self.k:
                return path, price
            if on_chord and not len(self.few) < len(path) < len(self.many):
                break  # D is linear from few to many
            self._narrow(path, price)
            price = self._guess(price, len(path)) if attempt % 4 else 0.0
        return self.sums.leftmost(_splice(self.few, self.many, self.k)), price

    def _narrow(self, path: Ints, price: float) -> None:
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


def _splice(few: Ints, many: Ints, k: int) -> Ints:
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


@compiled
def _precise_cost(sums: Any, i: int, j: int) -> Any:
    """Return the squared error of the interval (i, j] in double-double arithmetic."""
    part, part_low = add_pairs(sums[1, j, 0], sums[2, j, 0], -sums[1, i, 0], -sums[2, i, 0])
    whole, whole_low = add_pairs(sums[3, j, 0], sums[4, j, 0], -sums[3, i, 0], -sums[4, i, 0])
    mean, mean_low = square_over(part, part_low, sums[0, j, 0] - sums[0, i, 0])
    error, _ = add_pairs(whole, whole_low, -mean, -mean_low)
    return max(error, 0.0)


@compiled
def _cost(sums: Any, i: int, j: int) -> Any:
    """Return -W m^2 of the interval (i, j], or its squared error if the sums are precise."""
    if sums.ndim == 3:  # decided by numba at compile time
        return _precise_cost(sums, i, j)
    moment = sums[1, j] - sums[1, i]
    return -moment * moment / (sums[0, j] - sums[0, i])


@compiled
def _path_cost(sums: Any, ends: Any) -> Any:
    total = 0.0
    for i in range(len(ends) - 1):
        total += _cost(sums, ends[i], ends[i + 1])
    return total


@compiled
def _move_left(sums: Any, ends: Any) -> bool:
    """Move each border to the leftmost place between its neighbours that does not cost more."""
    moved = False
    for t in range(len(ends) - 2, 0, -1):
        left, here, right = ends[t - 1], ends[t], ends[t + 1]
        now = _cost(sums, left, here) + _cost(sums, here, right)
        for place in range(left + 1, here):
            if _cost(sums, left, place) + _cost(sums, place, right) <= now:
                ends[t], moved = place, True
                break
    return moved


@compiled
def _sweep(sums: Any, price: float) -> Any:
    n = sums.shape[1] - 1
    best, before = np.empty(n + 1), np.empty(n + 1, dtype=np.int32)
    # Candidates for the start of the last interval; each is the best one from its place on.
    candidate, place = np.empty(n + 1, dtype=np.int32), np.empty(n + 1, dtype=np.int32)
    best[0], candidate[0], place[0] = 0.0, 0, 1
    head, tail = 0, 0
    for j in range(1, n + 1):
        while head < tail and place[head + 1] <= j:
            head += 1
        before[j] = candidate[head]
        best[j] = best[before[j]] + _cost(sums, before[j], j) + price
        if j == n:
            break
        # Candidates that j beats from their place on are never needed.
        while tail > head and _beats(sums, best, j, candidate[tail], place[tail]):
            tail -= 1
        begin = max(place[tail], j + 1)
        overtakes = _first_beaten(sums, best, j, candidate[tail], begin)
        if overtakes <= n:
            tail += 1
            candidate[tail], place[tail] = j, overtakes
    return _trace_back(before)


@compiled
def _beats(sums: Any, best: Any, new: int, old: int, at: int) -> Any:
    return best[new] + _cost(sums, new, at) < best[old] + _cost(sums, old, at)


@compiled
def _first_beaten(sums: Any, best: Any, new: int, old: int, begin: int) -> Any:
    """Return the first place from `begin` on where `new` beats `old`, or n + 1."""
    n = sums.shape[1] - 1
    if _beats(sums, best, new, old, begin):
        return begin
    worse, stride = begin, 1
    while worse + stride <= n and not _beats(sums, best, new, old, worse + stride):
        worse += stride
        stride *= 2
    better = min(worse + stride, n + 1)
    while better - worse > 1:
        middle = (worse + better) // 2
        if _beats(sums, best, new, old, middle):
            better = middle
        else:
            worse = middle
    return better


@compiled
def _trace_back(before: Any) -> Any:
    """Return the starts of the intervals of the path that ends in n, in order."""
    n = len(before) - 1
    count, at = 0, n
    while at > 0:
        at = before[at]
        count += 1
    starts, at = np.empty(count, dtype=np.int64), n
    for i in range(count):
        at = before[at]
        starts[count - 1 - i] = at
    return starts
