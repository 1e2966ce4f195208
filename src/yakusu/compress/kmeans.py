"""Exact k-means in one dimension, in a time that hardly depends on K.

The best clusters are K intervals of the sorted values with the smallest sum of squared errors; see
`paths`. For any finite values in float64, whatever the ratio of the largest to the smallest:

- There are K clusters, or as many as distinct values if there are fewer.
- Centroids are ascending, and the code of each value is the number of borders up to it.
- The sum of squared distances from the exact means of the clusters exceeds the smallest possible
  one by less than 1 part in 10^9, for up to 10^6 values and K = 1000. Bounds on rounding errors
  grow with the square of K.

Cumulative sums in float64 suffice unless the smallest sum is below a few millionths of the sum of
squares. It is then refined in double-double arithmetic, which takes longer: 0.5 s for 400,000
normal values and K = 8192, and up to a minute for 400,000 values that span hundreds of orders of
magnitude.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Doubles, Longs
from yakusu.compress.doubledouble import running_sums
from yakusu.compress.paths import CumulativeSums, PriceFinder, best_path
from yakusu.errors import DataError

_TOLERANCE = 1e-9  # share of the smallest cost by which the cost of the result may exceed it
_FAR = 200  # exponent of 2 above which values are scaled


@dataclass(frozen=True, eq=False)
class Clusters:
    """Result of `kmeans1d`.

    codes: Index of the cluster of each value, (n,), from 0.
    centroids: Mean of each cluster, ascending, (K,).
    borders: Lower end of each cluster except the first, halfway between centroids, (K - 1,);
        `np.searchsorted(borders, values, side="right")` are the codes.
    """

    codes: npt.NDArray[np.int64]
    centroids: Doubles
    borders: Doubles

    @property
    def n_codes(self) -> int:
        """K, or the number of distinct values if there are fewer."""
        return len(self.centroids)


def kmeans1d(x: npt.ArrayLike, k: int) -> Clusters:
    """Split values into K clusters with the smallest sum of squared distances to their means.

    The result is exact, up to 1 part in 10^9 of the smallest sum, and does not depend on a random
    number or a starting point. Equal values share a cluster. Among equally good splits the leftmost
    is returned, if their costs are computed without rounding errors, as for small integers.

    Args:
        x: Values, (n,).
        k: Number of clusters. If there are fewer distinct values, each is a cluster.

    Raises:
        DataError: `x` is empty, not one-dimensional or not finite, or `k` is not an integer of at
            least 1.
    """
    values, k = np.ascontiguousarray(x, dtype=np.float64), _integer(k)
    if values.ndim != 1 or not len(values) or k < 1:
        raise DataError(f"values of shape {values.shape} cannot be split into {k} clusters")
    if not np.isfinite(values).all():
        raise DataError("the values are not all finite: remove NaN and infinity")
    distinct, multiples = np.unique(values + 0.0, return_counts=True)  # -0.0 becomes 0.0
    counts = multiples.astype(np.float64)
    starts, centroids = _best(distinct, counts, min(k, len(distinct)))
    # Optimal borders are halfway between centroids, up to rounding errors.
    after, upto = np.nextafter(distinct[starts[1:] - 1], np.inf), distinct[starts[1:]]
    borders = np.clip(centroids[1:] / 2 + centroids[:-1] / 2, after, upto)
    codes = np.searchsorted(borders, values, side="right")
    return Clusters(codes, centroids, borders)


def _integer(k: object) -> int:
    if not isinstance(k, int | np.integer) or isinstance(k, bool):
        raise DataError(f"k = {k!r} is not a number of clusters: choose an integer")
    return int(k)


def _best(distinct: Doubles, counts: Doubles, k: int) -> tuple[Longs, Doubles]:
    """Return the starts of the best k intervals of the distinct values, and their means."""
    if k == len(distinct):
        return np.arange(k), distinct
    exponent = _far_exponent(distinct)
    scaled = np.ldexp(distinct, -exponent) if exponent else distinct
    sums = CumulativeSums.of(scaled, counts)
    starts, price = best_path(sums, k)
    rounding = sums.rounding(k, price, float(scaled[-1] - scaled[0]))
    if k == 1 or sums.cost(starts) * _TOLERANCE >= rounding:
        return starts, np.ldexp(sums.means(starts), exponent)
    splits = (_Split.of(distinct, counts, each) for each in (starts, _at_gaps(distinct, k)))
    bound = min(splits, key=_Split.order)
    price = max(_scaled(price, exponent - bound.exponent), 0.0)  # negative by rounding errors
    best = _refined(distinct, counts, bound, price=price)
    return best.starts, best.means


def _far_exponent(distinct: Doubles) -> int:
    """Return the exponent of 2 to scale by if squares could underflow or overflow, else 0."""
    exponent = int(np.frexp(max(distinct[-1], -distinct[0]))[1])
    return exponent if abs(exponent) > _FAR else 0


# ---- costs that are small compared with the sum of squares --------------------------------------


@dataclass(frozen=True, eq=False)
class _Split:
    """Intervals of the values and their cost, fraction times 4^exponent.

    Means and cost of an interval are computed from its own values, in its own scale: values
    elsewhere affect neither their precision nor their range.
    """

    starts: Longs
    means: Doubles
    exponent: int
    fraction: float  # from 1/4 to 1

    @classmethod
    def of(cls, distinct: Doubles, counts: Doubles, starts: Longs) -> "_Split":
        """Compute means and cost of the intervals with these starts, one of two values or more."""
        ends = np.append(starts[1:], len(distinct))
        sizes, weights = ends - starts, np.add.reduceat(counts, starts)
        largest = np.maximum(np.abs(distinct[starts]), np.abs(distinct[ends - 1]))
        exponents = np.frexp(largest)[1]
        scaled = np.ldexp(distinct, -np.repeat(exponents, sizes))
        offsets = scaled - np.repeat(scaled[starts], sizes)
        shifts = np.add.reduceat(offsets * counts, starts) / weights
        squares = np.square(offsets - np.repeat(shifts, sizes)) * counts
        fractions, powers = np.frexp(np.add.reduceat(squares, starts))
        powers += 2 * exponents
        top = int(powers[fractions > 0].max())
        fraction, power = np.frexp(np.ldexp(fractions, powers - top).sum())
        exponent = -(-(top + int(power)) // 2)
        return cls(
            starts,
            np.ldexp(scaled[starts] + shifts, exponents),
            exponent,
            float(np.ldexp(fraction, top + int(power) - 2 * exponent)),
        )

    def order(self) -> tuple[int, float]:
        """Return a key by which splits are sorted by cost."""
        return self.exponent, self.fraction


def _at_gaps(distinct: Doubles, k: int) -> Longs:
    """Return the starts of k intervals that are separated by the largest gaps."""
    gaps = np.diff(distinct / 2)  # which cannot overflow
    return np.append(0, 1 + np.sort(np.argpartition(gaps, -(k - 1))[-(k - 1) :]))


def _refined(distinct: Doubles, counts: Doubles, bound: _Split, *, price: float) -> _Split:
    """Return the best split, given any split and an estimate of the price.

    An interval across a gap g costs g^2 / 2 or more. No gap for which this exceeds the cost of
    `bound` is therefore inside an interval of the best split, whatever its width. If these gaps are
    narrowed to one width, all distances are of the order of the bound, so that the error of
    double-double arithmetic is a tiny share of the bound. A split whose cost is far below the bound
    is the next bound.

    Args:
        distinct: Values in ascending order, (n,).
        counts: Number of times that each value occurs, (n,).
        bound: Any split.
        price: Estimated price of an interval over 4^exponent of the bound; 0 for none.
    """
    while True:
        gaps = _narrowed(distinct, bound.exponent, 2 * bound.fraction**0.5)
        finder = PriceFinder(
            CumulativeSums(running_sums(gaps, counts)[..., None], 0.0), len(bound.starts)
        )
        # Twice the cost of k intervals exceeds what one more interval can save.
        starts, price = finder.run(price, most=2 * bound.fraction)
        found = _Split.of(distinct, counts, starts)
        if found.exponent >= bound.exponent:
            return min(bound, found, key=_Split.order)
        price = _scaled(price, bound.exponent - found.exponent)
        bound = found


def _scaled(price: float, exponent: int) -> float:
    """Return a price times 4^exponent, which may be infinite."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(price, 2 * exponent))


def _narrowed(distinct: Doubles, exponent: int, most: float) -> Doubles:
    """Return the gaps between the values over 2^exponent, but at most `most`; (n - 1,)."""
    with np.errstate(over="ignore"):
        down = np.ldexp(distinct, -max(exponent, 0))
        return np.minimum(np.ldexp(np.diff(down), -min(exponent, 0)), most)
