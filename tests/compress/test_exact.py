"""Axes and scores that are the same on every processor: sums without rounding errors."""

import hashlib

import numpy as np
import pytest

from yakusu.arrays import Doubles
from yakusu.compress import Budget, LatticeCompressor
from yakusu.compress.exact import _rotate, exact_projection
from yakusu.compress.rounding import Rounding


def vectors_of(n_rows: int, width: int) -> Doubles:
    """Vectors with correlated columns, by integer arithmetic: the same everywhere."""
    numbers, state = [], 1
    for _ in range(n_rows * width):
        state = state * 6364136223846793005 % 2**64
        numbers.append((state >> 44) - 2**19)
    independent = np.array(numbers, dtype=np.int64).reshape(n_rows, width)
    return (np.cumsum(independent, axis=1) + 12345) / 2**16


def test_scores_are_sums_without_rounding_errors() -> None:
    vectors = vectors_of(300, 9)
    projection = exact_projection(vectors, 9)
    units = np.rint(vectors / projection.grid) - projection.mean / projection.grid
    assert np.abs(vectors - units * projection.grid - projection.mean).max() <= projection.grid / 2
    axes = projection.axes * 2**24
    assert (axes == np.rint(axes)).all()
    exact = units.astype(np.int64).astype(object) @ axes.astype(np.int64).astype(object)
    assert (projection.scores(vectors) == exact.astype(float) * projection.grid / 2**24).all()


def test_the_order_of_the_rows_changes_no_bit() -> None:
    vectors = vectors_of(500, 8)
    one, other = (exact_projection(each, 8) for each in (vectors, vectors[::-1]))
    assert (one.axes == other.axes).all() and (one.mean == other.mean).all()


def test_the_compiled_rotation_rounds_after_each_operation() -> None:
    rows = vectors_of(2, 50)
    squares = np.square(rows).sum(axis=1)
    compiled, plain = (rows.copy(), squares.copy()), (rows.copy(), squares.copy())
    assert _rotate(*compiled, 0, 1) and _rotate.py_func(*plain, 0, 1)
    assert compiled[0].tobytes() == plain[0].tobytes()
    assert compiled[1].tobytes() == plain[1].tobytes()
    assert abs(compiled[0][0] @ compiled[0][1]) < 1e-12 * squares.max()
    assert not _rotate(*compiled, 0, 1)


def test_axes_are_eigenvectors() -> None:
    vectors = vectors_of(2000, 12)
    axes = exact_projection(vectors, 12).axes
    values, expected = np.linalg.eigh(np.cov(vectors.T))
    assert (np.diff(values) > 1e-3 * values[-1]).any()
    np.testing.assert_allclose(axes.T @ axes, np.eye(12), atol=1e-6)
    aligned = np.abs(np.sum(axes * expected[:, ::-1], axis=0))
    np.testing.assert_allclose(aligned, 1, atol=1e-6)


def test_the_basis_is_the_axes_times_the_best_scale_of_each() -> None:
    rounding = Rounding(vectors_of(3000, 6), n_components=6, whitening=0)
    integers = rounding.integers(0.5)[:]
    scores = rounding.projection.scores(rounding.vectors)
    best = (scores * integers).sum(axis=0) / np.square(integers.astype(float)).sum(axis=0)
    expected = best[:, None] * rounding.projection.axes.T
    np.testing.assert_allclose(rounding.lattice(integers).basis, expected, rtol=1e-6)
    assert np.abs(best / 0.5 - 1).max() < 0.02


@pytest.mark.parametrize("scale", [2.0**-90, 1.0, 2.0**90])
def test_the_bytes_are_known(scale: float) -> None:
    made = LatticeCompressor(whitening=0, budget=Budget(ratio=4)).fit(scale * vectors_of(4000, 10))
    codes = made.compressed_.codes.arrays
    digest = hashlib.sha256(b"".join(codes[name].tobytes() for name in sorted(codes)))
    assert digest.hexdigest()[:16] == "ad9e1367d18a029d"
    axes = (made.compressed_.arrays["basis"] / scale).astype("<f4").tobytes()
    assert hashlib.sha256(axes).hexdigest()[:16] == "339120ac157dacbd"


def test_vectors_without_variance_have_axes_of_0() -> None:
    assert not exact_projection(np.full((5, 3), 7.0), 3).axes.any()
    assert not exact_projection(np.zeros((5, 3)), 2).axes.any()
