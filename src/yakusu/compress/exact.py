"""Principal axes and scores that are the same on every processor.

Vectors and axes are rounded to so few bits that every sum of their products is exact, and therefore
does not depend on the order in which BLAS adds: that order differs between processors and numbers
of threads. The axes are found by one-sided Jacobi rotations (Hestenes 1958), one IEEE 754 operation
at a time: no LAPACK, no seed. The grid to which vectors are rounded depends on their largest
number, so vectors whose mean is many times their deviation lose precision.

V vectors, H dimensions, M components.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from yakusu.arrays import Doubles
from yakusu.compress.blocks import CACHED, ROWS, Matrix, blocks
from yakusu.compress.doubledouble import compiled
from yakusu.compress.lattice import IntegerRows
from yakusu.compress.projection import ScoreMap

_EXACT = 53  # bits of a float64
_CENTRED = (_EXACT - ROWS.bit_length() + 1) // 2  # of a centred number, whose squares are summed
_AXES = 24  # of an entry of the axes at most: exact in float32
_SWEEPS = 40  # over all pairs of axes; about ten are needed
_ORTHOGONAL = 2.0**-40  # cosine of two rows that are not rotated
_FLAT = 2.0**-80  # square of the length of a row without direction, as a share of the longest


def exact_projection(vectors: Matrix, n_components: int) -> ScoreMap:
    """Return the projection of vectors (V, H) on their first M principal axes, without whitening.

    In each axis, the entry with the largest magnitude is positive. An axis without variance is 0.
    """
    width = vectors.shape[1]
    most = max(float(np.abs(vectors[rows]).max()) for rows in blocks(len(vectors)))
    grid = float(np.ldexp(1.0, np.frexp(most)[1] - (_CENTRED - 1)))
    total, products = np.zeros(width), np.zeros((width, width))
    for part in _in_units(vectors, grid):
        total += part.sum(axis=0)
    mean = np.rint(total / len(vectors))
    for part in _in_units(vectors, grid):
        part -= mean
        products += part.T @ part
    axes = _axes(products)[:, :n_components]
    one = 2.0 ** min(_AXES, _EXACT - _CENTRED - width.bit_length())
    return ScoreMap(grid * mean, np.rint(axes * one) / one, grid)


def _in_units(vectors: Matrix, grid: float) -> Iterator[Doubles]:
    for rows in blocks(len(vectors)):
        part = vectors[rows].astype(np.float64)
        part /= grid
        yield np.rint(part, out=part)


def _axes(products: Doubles) -> Doubles:
    """Return the eigenvectors of a symmetric matrix (H, H) in columns, largest eigenvalue first."""
    rows = np.ascontiguousarray(products / (products.diagonal().max() or 1.0))
    squares = orthogonalise(rows)
    order = np.argsort(-squares, kind="stable")
    rows, squares = rows[order], squares[order]
    squares[squares <= _FLAT * squares[0]] = np.inf
    axes = rows / np.sqrt(squares)[:, None]
    largest = np.abs(axes).argmax(axis=1)
    found: Doubles = (axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]).T
    return found


@compiled
def orthogonalise(rows: Any) -> Any:
    """Rotate pairs of rows (n, n) in place until all are orthogonal; return squared lengths, (n,).

    Rows of a symmetric matrix become its eigenvectors times their eigenvalues.
    """
    n, width = rows.shape
    squares = np.zeros(n)
    for _ in range(_SWEEPS):
        for p in range(n):
            squares[p] = 0.0
            for h in range(width):
                squares[p] += rows[p, h] * rows[p, h]
        flat, rotated = _FLAT * squares.max(), False
        for p in range(n - 1):
            for q in range(p + 1, n):
                if squares[p] > flat and squares[q] > flat and _rotate(rows, squares, p, q):
                    rotated = True
        if not rotated:
            break
    return squares


@compiled
def _rotate(rows: Any, squares: Any, p: int, q: int) -> bool:
    """Make two rows orthogonal, in place; return False if they are."""
    product = 0.0
    for h in range(rows.shape[1]):
        product += rows[p, h] * rows[q, h]
    if abs(product) <= _ORTHOGONAL * np.sqrt(squares[p]) * np.sqrt(squares[q]):
        return False
    ratio = (squares[q] - squares[p]) / (2 * product)
    tangent = 1 / (abs(ratio) + np.sqrt(1 + ratio * ratio))
    if ratio < 0:
        tangent = -tangent
    cosine = 1 / np.sqrt(1 + tangent * tangent)
    sine = cosine * tangent
    for h in range(rows.shape[1]):
        a, b = rows[p, h], rows[q, h]
        rows[p, h] = cosine * a - sine * b
        rows[q, h] = sine * a + cosine * b
    squares[p] -= tangent * product
    squares[q] += tangent * product
    return True


def best_scales(projection: ScoreMap, vectors: Matrix, integers: IntegerRows) -> Doubles:
    """Return the factors (M,) with which integers (V, M) are nearest to the scores of vectors."""
    covered = squares = np.zeros(integers.shape[1])
    for rows in blocks(len(vectors), size=CACHED):
        part = integers[rows].astype(np.float64)
        scores = np.rint(projection.scores(vectors[rows]) / projection.grid)
        covered = covered + (scores * part).sum(axis=0)
        squares = squares + np.square(part).sum(axis=0)
    scales: Doubles = projection.grid * covered / np.where(squares > 0, squares, 1)
    return scales
