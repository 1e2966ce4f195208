"""Exact k-means in one dimension, in time nearly flat in K.

The best K intervals of the sorted values minimise a sum of costs: of the interval (i, j] its
squared error, or -W m^2, which is less by a constant (W weight, m mean). The least sum D(k) is
convex in k, so a price on each interval replaces the number of intervals; for one price the best
path is found in a single sweep, for candidates overtake one another only once (Aggarwal, Schieber
and Tokuyama 1994; Gronlund et al. 2017). The price that gives K intervals is looked for on coarse
data first. Where none gives exactly K, two best paths of that price are spliced.
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
from yakusu.compress.radix import ordered
from yakusu.errors import DataError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_COARSE = 4096  # groups on which the price is looked for first, and 16 more for each interval
_DOUBTFUL = 1e-10  # share of all squares up to which errors of rounding could decide
_FAR = 200  # exponent of 2 from which on values are scaled
_NEAR = 3  # counts of intervals between which the chord is tried
_TRIES = 200  # of which each fourth halves the distance at the worst


@dataclass(frozen=True, eq=False)
class Clusters:
    """What `kmeans1d` found.

    codes: Which cluster each value belongs to, (n,), from 0.
    centroids: The mean of each cluster, ascending, (K,).
    borders: Where each cluster but the first begins, (K - 1,): halfway between centroids.
    """

    codes: npt.NDArray[np.int64]
    centroids: Floats
    borders: Floats

    @property
    def n_codes(self) -> int:
        """K, or the number of distinct values where that is less."""
        return len(self.centroids)


def kmeans1d(x: npt.ArrayLike, k: int) -> Clusters:
    """Split values into the K clusters with the least sum of squared distances to their means.

    There is no random number in it, and no starting point. Equal values share a cluster; among
    equally good splits the leftmost is taken.

    Args:
        x: Values, (n,).
        k: Number of clusters; if there are fewer distinct values, each is a cluster.

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
    every = ordered(values)
    first = np.flatnonzero(np.concatenate([[True], every[1:] != every[:-1]]))
    distinct = every[first]
    counts = np.diff(np.append(first, len(every))).astype(np.float64)
    sums = _Sums.of(distinct, counts)
    starts = _best_starts(sums, min(k, len(distinct)), distinct, counts)
    centroids = sums.means(starts)
    # Best clusters are split halfway, but for rounding.
    after, upto = np.nextafter(distinct[starts[1:] - 1], np.inf), distinct[starts[1:]]
    borders = np.clip((centroids[1:] + centroids[:-1]) / 2, after, upto)
    return Clusters(
        _codes(borders, values), np.ldexp(centroids, exponent), np.ldexp(borders, exponent)
    )


def _far_exponent(values: Floats) -> int:
    """Of 2, if the squares of values could vanish or overflow; else 0."""
    exponent = int(np.frexp(max(values.max(), -values.min()))[1])
    return exponent if abs(exponent) > _FAR else 0


class _Sums(NamedTuple):
    """Distinct values, ascending, as running sums."""

    rows: Floats  # (2, n + 1), by `running_moments`; (5, n + 1, 1), by `running_sums`, if precise
    origin: float

    @classmethod
    def of(cls, distinct: Floats, counts: Floats) -> "_Sums":
        mean = float(distinct @ counts) / float(counts.sum())
        above = min(int(np.searchsorted(distinct, mean)), len(distinct) - 1)
        origin = float(distinct[above])  # near the mean, and a value: integers stay exact
        return cls(running_moments(distinct, counts, origin), origin)

    @property
    def n(self) -> int:
        return int(self.rows.shape[1]) - 1

    def at(self, ends: Ints) -> "_Sums":
        """The same of groups of neighbours."""
        return self._replace(rows=np.ascontiguousarray(self.rows[:, ends]))

    def sweep(self, price: float) -> Ints:
        """The cheapest path from 0 to n where an interval costs `price` more: where each begins."""
        starts: Ints = _sweep(self.rows, price)
        return starts

    def cost(self, starts: Ints) -> float:
        """D of a path."""
        return float(_path_cost(self.rows, np.append(starts, self.n)))

    def leftmost(self, starts: Ints) -> Ints:
        """Of paths that cost the same, one whose borders cannot move to the left one by one."""
        ends = np.append(starts, self.n)
        while _move_left(self.rows, ends):
            pass
        return ends[:-1]

    def means(self, starts: Ints) -> Floats:
        weight, moment = np.diff(self.rows[:2, np.append(starts, self.n)])
        means: Floats = self.origin + moment / weight
        return means


def _best_starts(sums: _Sums, k: int, distinct: Floats, counts: Floats) -> Ints:
    """Where each of the best k intervals begins."""
    if k in (1, sums.n):
        return np.arange(sums.n)[:: sums.n if k == 1 else 1]
    n_groups = 16 * k + _COARSE
    price = _rough_price(sums, k, n_groups) if sums.n > 4 * n_groups else 0.0
    starts, price = _Search(sums, k).run(price)
    squares = float(np.square(distinct - sums.origin) @ counts)
    if squares + sums.cost(starts) < _DOUBTFUL * (squares + sums.cost(starts[:1])):
        precise = running_sums(distinct, counts, sums.origin)
        starts, _ = _Search(sums._replace(rows=precise[..., None]), k).run(price)
    return starts


def _rough_price(sums: _Sums, k: int, n_groups: int) -> float:
    """The price of k intervals of groups: of even ones first, then of even parts of intervals.

    It is the slope of D, taken far enough around k for errors of the groups to matter little.
    """
    n, parts = sums.n, max(32, 2 * _COARSE // k)
    ends = np.linspace(0, n, n_groups + 1).astype(np.int64)
    path, price = _Search(sums.at(ends), k).run()
    borders = np.append(ends[path], n)
    inner = np.diff(borders)[:, None] * np.arange(parts) // parts
    rough = sums.at(np.unique(np.append(borders[:-1, None] + inner, n)))
    _, price = _Search(rough, k).run(price)
    apart = max(1, int(k**0.5) // 4)
    few, many = (rough.sweep(_dearer(price, k, k + d)) for d in (-apart, apart))
    if len(few) == len(many):
        return price
    slope = (rough.cost(few) - rough.cost(many)) / (len(many) - len(few))
    return _dearer(slope, (len(few) + len(many)) / 2, k)


def _dearer(price: float, k: float, wanted: float) -> float:
    """The price of `wanted` intervals, by that of k.

    Errors of smooth data fall with the square of k, so prices with the cube.
    """
    return price * float(k / wanted) ** 3


class _Search:
    """For the price that gives k intervals, with paths of fewer and of more closing in on it."""

    def __init__(self, sums: _Sums, k: int) -> None:
        self.sums, self.k = sums, k
        self.few = np.zeros(1, dtype=np.int64)  # the path of one interval
        self.many = np.arange(sums.n)  # and of all
        self.price_few = self.price_many = 0.0  # not known

    def run(self, price: float = 0.0) -> tuple[Ints, float]:
        """The path of k intervals and its price, tried first at `price`."""
        for attempt in range(1, _TRIES):
            on_chord = not price
            price = price or self._chord()
            path = self.sums.sweep(price)
            if len(path) == self.k:
                return path, price
            if on_chord and not len(self.few) < len(path) < len(self.many):
                break  # D is straight from few to many
            self._close_in(path, price)
            price = self._guess(price, len(path)) if attempt % 4 else 0.0
        return self.sums.leftmost(_splice(self.few, self.many, self.k)), price

    def _close_in(self, path: Ints, price: float) -> None:
        if len(self.few) <= len(path) < self.k:
            self.few, self.price_few = path, price
        elif self.k < len(path) <= len(self.many):
            self.many, self.price_many = path, price

    def _chord(self) -> float:
        """The price at which `few` and `many` cost the same: no other shuts out both."""
        saved = self.sums.cost(self.few) - self.sums.cost(self.many)
        return saved / (len(self.many) - len(self.few))

    def _guess(self, price: float, found: int) -> float:
        """The next price to try; 0 for the chord, which hits or ends the search if few are left."""
        if not self.price_few > 0 < self.price_many:
            return _dearer(price, found, self.k)
        if len(self.many) - len(self.few) <= _NEAR:
            return 0.0
        few, many = np.log([len(self.few), len(self.many)])
        share = (np.log(self.k) - few) / (many - few)
        return float(self.price_few ** (1 - share) * self.price_many**share)


def _splice(few: Ints, many: Ints, k: int) -> Ints:
    """k intervals from two best paths of one price, with fewer and with more.

    An interval of `many` that lies within one of `few` lets a path change over.
    """
    shift = k - len(few)
    few_ends = np.append(few, np.iinfo(np.int64).max)
    nested = (many[shift : shift + len(few)] >= few) & (
        many[shift + 1 : shift + 1 + len(few)] <= few_ends[1:]
    )
    i = int(nested.argmax())
    return np.concatenate([many[: i + shift + 1], few[i + 1 :]])


@compiled
def _codes(borders: Any, values: Any) -> Any:
    """How many borders are no greater than each value: a bisection of all values side by side."""
    codes, left = np.zeros(len(values), dtype=np.int64), len(borders)
    while left > 0:
        half = (left + 1) // 2
        for i in range(len(values)):
            codes[i] += half * (borders[codes[i] + half - 1] <= values[i])
        left -= half
    return codes


@compiled
def _precise_cost(sums: Any, i: int, j: int) -> Any:
    """The squared error of the interval (i, j], with twice the digits."""
    part, part_low = add_pairs(sums[1, j, 0], sums[2, j, 0], -sums[1, i, 0], -sums[2, i, 0])
    whole, whole_low = add_pairs(sums[3, j, 0], sums[4, j, 0], -sums[3, i, 0], -sums[4, i, 0])
    mean, mean_low = square_over(part, part_low, sums[0, j, 0] - sums[0, i, 0])
    error, _ = add_pairs(whole, whole_low, -mean, -mean_low)
    return max(error, 0.0)


@compiled
def _cost(sums: Any, i: int, j: int) -> Any:
    """-W m^2 of the interval (i, j]: no squares that cancel; or its squared error, if precise."""
    if sums.ndim == 3:  # numba decides it when it compiles
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
    """Move each border to the first place between its neighbours that costs no more."""
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
    # Candidates for the last interval's begin; each is the best one from its place on.
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
        # Candidates that j beats from the beginning are never needed.
        while tail > head and _beats(sums, best, j, candidate[tail], place[tail]):
            tail -= 1
        begin = max(place[tail], j + 1)
        overtakes = _first_beaten(sums, best, j, candidate[tail], begin)
        if overtakes <= n:
            tail += 1
            candidate[tail], place[tail] = j, overtakes
    return _way_back(before)


@compiled
def _beats(sums: Any, best: Any, new: int, old: int, at: int) -> Any:
    return best[new] + _cost(sums, new, at) < best[old] + _cost(sums, old, at)


@compiled
def _first_beaten(sums: Any, best: Any, new: int, old: int, begin: int) -> Any:
    """The first place from `begin` on where `new` beats `old`, by doubling strides; else n + 1."""
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
def _way_back(before: Any) -> Any:
    """The begins of the intervals that end in n, in order."""
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
