"""Exact 1-D k-means, compared with dynamic programming in long double."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def least_error(x: Floats, k: int) -> float:
    """Minimum error by dynamic programming over (clusters, values), which tries all splits."""
    values, counts = np.unique(x, return_counts=True)
    y = values.astype(np.longdouble) - np.longdouble(values[len(values) // 2])
    weight, moment, square = (
        np.concatenate([[np.longdouble(0)], np.cumsum(term)])
        for term in (counts.astype(np.longdouble), counts * y, counts * y * y)
    )
    best = np.full(len(values) + 1, np.longdouble(np.inf))
    best[0] = 0
    for _ in range(min(k, len(values))):
        longer = np.full_like(best, np.inf)
        for j in range(1, len(best)):
            parts = moment[j] - moment[:j]
            errors = square[j] - square[:j] - parts**2 / (weight[j] - weight[:j])
            longer[j] = (best[:j] + np.maximum(errors, 0)).min()
        best = longer
    return float(best[-1])


def error(x: Floats, codes: npt.NDArray[np.int64]) -> float:
    parts = [x[codes == code].astype(np.longdouble) for code in np.unique(codes)]
    return float(sum(np.square(part - part.mean()).sum() for part in parts))


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("seed", range(8))
def test_no_split_has_a_smaller_error(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, *kind.encode()])
    for _ in range(25):
        n = int(rng.integers(1, 45))
        x, k = DRAWS[kind](rng, n), int(rng.integers(1, n + 3))
        found = kmeans1d(x, k)
        least, spread = least_error(x, k), float(np.square(x - x.mean()).sum())
        assert error(x, found.codes) <= least * (1 + 1e-9) + 1e-17 * spread
        assert found.n_codes == min(k, len(np.unique(x))) == len(np.unique(found.codes))


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.integers(1, 12))
@settings(deadline=None, max_examples=200, derandomize=True)
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
