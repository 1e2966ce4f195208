"""Double-double arithmetic: a number as the unevaluated sum of two float64 values (Dekker 1971).

A pair (high, low) holds a value and its rounding error, about 32 significant digits.
"""

from typing import Any

import numpy as np
from numba import njit

_SPLIT = 134217729.0  # 2^27 + 1
# error_model "numpy" is twice as fast: it omits the check for division by 0, which never occurs.
compiled = njit(cache=True, nogil=True, error_model="numpy")


@compiled
def add(a: float, b: float) -> tuple[float, float]:
    """Return a + b as an exact pair."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


@compiled
def multiply(a: float, b: float) -> tuple[float, float]:
    """Return a b as an exact pair."""
    product = a * b
    a_high, b_high = _SPLIT * a, _SPLIT * b
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return product, a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )


@compiled
def add_pairs(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Return the sum of two pairs."""
    high, low = add(a, b)
    rest, rest_low = add(a_low, b_low)
    high, low = add(high, low + rest)
    return add(high, low + rest_low)


@compiled
def square_over(a: float, a_low: float, by: float) -> tuple[float, float]:
    """Return (a + a_low)^2 / by as a pair."""
    high, low = multiply(a, a)
    high, low = add(high, low + 2 * a * a_low)
    quotient = high / by
    product, error = multiply(quotient, by)
    return add(quotient, (((high - product) - error) + low) / by)


@compiled
def running_moments(values: Any, counts: Any, origin: float) -> Any:
    """Return cumulative sums of counts, distances from the origin and their squares, (3, n + 1).

    Rounding errors of distances are summed separately (Sum2 of Ogita, Rump and Oishi 2005), so that
    the main sum does not wait for them, and each result is rounded once.
    """
    sums = np.zeros((3, len(values) + 1))
    moment, errors = 0.0, 0.0
    for i in range(len(values)):
        count = counts[i]
        distance, low = add(values[i], -origin)
        part, part_low = multiply(distance, count)
        moment, error = add(moment, part)
        errors += error + (part_low + low * count)
        sums[0, i + 1], sums[1, i + 1] = sums[0, i] + count, moment + errors
        sums[2, i + 1] = sums[2, i] + distance * distance * count
    return sums


@compiled
def running_sums(gaps: Any, counts: Any) -> Any:
    """Return cumulative sums of counts, and of distances and their squares as pairs, (5, n + 1).

    Args:
        gaps: Distances between neighbouring values, (n - 1,); distances are from the first value.
        counts: Number of times each value occurs, (n,).
    """
    sums = np.zeros((5, len(counts) + 1))
    distance, low = 0.0, 0.0
    for i in range(len(counts)):
        count = counts[i]
        if i:
            distance, low = add_pairs(distance, low, gaps[i - 1], 0.0)
        moment, moment_low = multiply(distance, count)
        square, square_low = square_over(distance, low, 1.0)
        weighted, weighted_low = multiply(square, count)
        sums[0, i + 1] = sums[0, i] + count
        sums[1, i + 1], sums[2, i + 1] = add_pairs(
            sums[1, i], sums[2, i], moment, moment_low + low * count
        )
        sums[3, i + 1], sums[4, i + 1] = add_pairs(
            sums[3, i], sums[4, i], weighted, weighted_low + square_low * count
        )
    return sums
