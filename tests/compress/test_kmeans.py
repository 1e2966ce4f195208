"""Exact 1-D k-means, compared with dynamic programming in exact arithmetic."""

import re
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import examples
from yakusu.compress.kmeans import kmeans1d
from yakusu.errors import DataError

Floats = npt.NDArray[np.float64]
DRAWS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "small integers": lambda rng, n: rng.integers(0, 10, n).astype(float),
    "grid": lambda rng, n: np.arange(n) * 1.0,
    "sevenths": lambda rng, n: rng.integers(0, 200, n) / 7,
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "Cauchy cubed": lambda rng, n: rng.standard_cauchy(n) ** 3,
    "Pareto": lambda rng, n: rng.pareto(0.5, n),
    "log-normal": lambda rng, n: np.exp(8 * rng.standard_normal(n)),
    "far from zero": lambda rng, n: 1e9 + rng.standard_normal(n),
    "very far from zero": lambda rng, n: 1e12 + rng.standard_normal(n),
}


# Values of very different magnitudes, which sums in float64 or double-double do not resolve.
WIDE_DRAWS = {
    "outlier 1e14": lambda rng, n: np.append(rng.standard_normal(n), 1e14),
    "outliers 1e16 and 1e18": lambda rng, n: np.append(rng.standard_normal(n), [1e16, -1e18]),
    "log-normal, 20": lambda rng, n: np.exp(20 * rng.standard_normal(n)),
    "log-normal, 60": lambda rng, n: np.exp(60 * rng.standard_normal(n)),
    "signed": lambda rng, n: np.exp(60 * rng.standard_normal(n)) * rng.choice([-1, 1], n),
    "repeated": lambda rng, n: rng.choice(np.exp(30 * rng.standard_normal(n // 3 + 1)), n),
    "groups": lambda rng, n: (
        np.repeat(10.0 ** rng.uniform(-300, 300, 4), n) * (1 + 1e-9 * rng.standard_normal(4 * n))
    )[rng.permutation(4 * n)[:n]],
    "1e300": lambda rng, n: 1e300 * rng.standard_normal(n),
    "greatest": lambda rng, n: np.finfo(float).max * rng.uniform(-1, 1, n),
    "1e-300": lambda rng, n: 1e-300 * rng.standard_normal(n),
    "1e-300 and 1e300": lambda rng, n: rng.choice([1e-300, 1e300], n) * rng.standard_normal(n),
    "denormal": lambda rng, n: 5e-324 * rng.integers(-50, 50, n),
    "denormal and greatest": lambda rng, n: np.append(
        5e-324 * rng.integers(-50, 50, n), np.finfo(float).max * np.array([-1, 1])
    ),
    "neighbours of 1": lambda rng, n: np.append(1 + 2**-52 * rng.integers(0, 99, n), [0, 1e5]),
    "any bits": lambda rng, n: np.nan_to_num(np.frombuffer(rng.bytes(8 * n))),
}


def exactly(x: Floats) -> list[int]:
    """Return values divided by a power of two that makes them integers."""
    ratios = [value.as_integer_ratio() for value in x.tolist()]
    unit = max(denominator for _, denominator in ratios)
    return [numerator * (unit // denominator) for numerator, denominator in ratios]


def least_error(integers: list[int], k: int) -> Fraction:
    """Minimum error by dynamic programming over (clusters, values), which tries all splits."""
    values = sorted(integers)
    moments, squares = [0], [0]
    for value in values:
        moments.append(moments[-1] + value)
        squares.append(squares[-1] + value**2)
    n = len(values)
    unit = lcm(*range(1, n + 1))
    errors = [
        [
            unit * (squares[j] - squares[i]) - unit // (j - i) * (moments[j] - moments[i]) ** 2
            for i in range(j)
        ]
        for j in range(n + 1)
    ]
    best = [0, *(row[0] for row in errors[1:])]  # of one cluster
    for _ in range(k - 1):
        best = [0, *(min(map(int.__add__, best, row)) for row in errors[1:])]
    return Fraction(best[n], unit)


def error(integers: list[int], codes: npt.NDArray[np.int64]) -> Fraction:
    """Sum of squared distances to the exact means of the clusters."""
    total = Fraction(0)
    for code in range(codes.max() + 1):
        part = [integers[i] for i in np.flatnonzero(codes == code)]
        total += sum(value**2 for value in part) - Fraction(sum(part) ** 2, len(part))
    return total


def assert_best(x: Floats, k: int) -> None:
    """Assert everything that the module guarantees."""
    found, integers = kmeans1d(x, k), exactly(x)
    assert found.n_codes == min(k, len(set(integers))) == len(np.unique(found.codes))
    assert (found.centroids[1:] > found.centroids[:-1]).all()
    assert (np.searchsorted(found.borders, x, side="right") == found.codes).all()
    assert error(integers, found.codes) <= least_error(integers, k) * (1 + Fraction(1, 10**9))
    digit = Fraction(np.abs(x).max()) / 2**52 + Fraction(5e-324)  # the last, or more
    for code, centroid in enumerate(found.centroids.tolist()):
        part = [Fraction(value) for value in x[found.codes == code].tolist()]
        assert abs(sum(part) / len(part) - Fraction(centroid)) <= 4 * digit


@pytest.mark.parametrize("kind", [*DRAWS, *WIDE_DRAWS])
@pytest.mark.parametrize("seed", range(3))
def test_no_split_has_a_smaller_error(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, *kind.encode()])
    for _ in range(10):
        n = int(rng.integers(1, 45))
        assert_best((DRAWS | WIDE_DRAWS)[kind](rng, n), int(rng.integers(1, 10)))


FINITE = st.floats(allow_nan=False, allow_infinity=False)
DYADIC = st.builds(np.ldexp, st.integers(-40, 40).map(float), st.integers(-1074, 1000)).map(float)
SUMS = st.builds(
    lambda centre, offset: centre + offset,
    st.sampled_from([0.0, 1.0, -1e5, 1e14, 1e18, 1e-300, -1e300]),
    st.integers(-9, 9).flatmap(lambda m: st.sampled_from([1e-9, 1.0, 1e9]).map(lambda u: m * u)),
)


@given(st.lists(FINITE | DYADIC | SUMS, min_size=1, max_size=25), st.integers(1, 8))
@settings(deadline=None, max_examples=examples(400), derandomize=True)
def test_no_split_of_any_finite_values_has_a_smaller_error(values: list[float], k: int) -> None:
    assert_best(np.array(values), k)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["log-normal, 60", "groups", "any bits"])
def test_many_clusters_of_a_wide_range_are_the_best(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 7])
    assert_best(WIDE_DRAWS[kind](rng, 90), 25)


def test_an_outlier_does_not_change_the_clusters_of_the_others() -> None:
    """There are enough values to estimate the price on coarse data first."""
    x = np.random.default_rng(6).standard_normal(30_000)
    alone = kmeans1d(x, 16)
    for outlier in (1e14, 1e18, 1e300):
        found = kmeans1d(np.append(x, outlier), 17)
        assert (found.codes[:-1] == alone.codes).all() and found.codes[-1] == 16
        np.testing.assert_allclose(found.centroids[:-1], alone.centroids, rtol=1e-9)
        assert found.centroids[-1] == outlier


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.integers(1, 12))
@settings(deadline=None, max_examples=examples(200), derandomize=True)
def test_codes_follow_the_order_of_the_values(integers: list[int], k: int) -> None:
    x = np.array(integers, dtype=float)
    found = kmeans1d(x, k)
    assert (np.diff(found.codes[np.argsort(x, kind="stable")]) >= 0).all()
    assert (np.diff(found.centroids) > 0).all()
    for code, centroid in enumerate(found.centroids):
        assert x[found.codes == code].mean() == pytest.approx(centroid, abs=1e-12)
    for value in set(integers):
        assert len(set(found.codes[x == value].tolist())) == 1


@pytest.mark.parametrize(
    ("x", "k", "codes"),
    [
        ([0, 1, 2], 2, [0, 1, 1]),
        ([0, 1, 2, 3], 3, [0, 1, 2, 2]),
        ([1, 2, 3, 4, 5], 2, [0, 0, 1, 1, 1]),
        ([5, 1, 1, 3], 9, [2, 0, 0, 1]),
    ],
)
def test_of_equally_good_splits_the_leftmost_is_returned(
    x: list[float], k: int, codes: list[int]
) -> None:
    assert kmeans1d(x, k).codes.tolist() == codes


@pytest.mark.parametrize("k", [2, 16, 300])
def test_moving_a_border_of_many_values_does_not_lower_the_error(k: int) -> None:
    """There are enough values to estimate the price on coarse data first."""
    rng = np.random.default_rng(4)
    x = rng.standard_t(2, 60_000)
    found = kmeans1d(x, k)
    borders = np.sort([x[found.codes == code].min() for code in range(k)])
    for code in range(1, k):  # to a neighbouring value
        ordered = np.sort(x[(found.codes == code - 1) | (found.codes == code)])
        at = int(np.searchsorted(ordered, borders[code]))
        errors = [
            np.square(part - part.mean()).sum()
            for split in (at - 1, at, at + 1)
            for part in (ordered[:split], ordered[split:])
            if 0 < split < len(ordered)
        ]
        if len(errors) == 6:
            assert sum(errors[2:4]) <= min(sum(errors[:2]), sum(errors[4:])) * (1 + 1e-12)


def test_the_result_does_not_depend_on_the_order_of_the_values() -> None:
    rng = np.random.default_rng(5)
    x, order = rng.standard_normal(20_000), rng.permutation(20_000)
    one, other = kmeans1d(x, 40), kmeans1d(x[order], 40)
    assert (one.codes[order] == other.codes).all()
    assert (one.centroids == other.centroids).all()


@pytest.mark.parametrize(
    ("x", "k", "message"),
    [
        ([], 2, "cannot be split"),
        ([[1.0]], 2, "cannot be split"),
        ([1.0], 0, "cannot be split into 0"),
        ([1.0, np.nan], 1, "not all finite"),
        ([np.inf], 1, "not all finite"),
    ],
)
def test_invalid_values_are_rejected(x: list[float], k: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        kmeans1d(x, k)


@pytest.mark.parametrize("k", [2.5, 2.0, True, "3", None, np.float64(2), np.bool_(1)])
def test_a_number_of_clusters_that_is_not_an_integer_is_rejected(k: Any) -> None:
    with pytest.raises(DataError, match=re.escape(f"k = {k!r} is not a number of clusters")):
        kmeans1d([1.0, 2.0, 3.0], k)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64])
def test_integers_of_numpy_are_numbers_of_clusters(kind: type[np.integer]) -> None:
    assert kmeans1d([0.0, 1.0, 9.0], kind(2)).codes.tolist() == [0, 0, 1]  # type: ignore[arg-type]


@pytest.mark.parametrize("exponent", [-1000, -560, 0, 660, 1020])
def test_very_small_and_very_large_values_are_split_like_others(exponent: int) -> None:
    near = np.array([0.0, 1, 5, 5.1, 9])
    far = kmeans1d(np.ldexp(near, exponent), 2)
    assert far.codes.tolist() == [0, 0, 1, 1, 1]
    assert (far.centroids == np.ldexp(kmeans1d(near, 2).centroids, exponent)).all()


def test_minus_zero_and_zero_are_one_value() -> None:
    found = kmeans1d([-0.0, 0.0, 1.0], 3)
    assert found.codes.tolist() == [0, 0, 1]
    assert not np.signbit(found.centroids).any()
