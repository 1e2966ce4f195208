"""The best basis for given coefficients, by least squares.

A vector is rebuilt as e = mean + c A. The basis A that minimises the squared error solves the
normal equations (C^T C) A = C^T (E - mean), whose sums take one pass over the vectors.

V vectors, H dimensions, M components.
"""

from collections.abc import Callable

import numpy as np

from yakusu.arrays import Doubles
from yakusu.compress.blocks import Matrix, blocks

Coefficients = Callable[[slice], Doubles]  # rows of the vectors -> their coefficients (n, M)


def best_basis(vectors: Matrix, mean: Doubles, coefficients: Coefficients) -> Doubles:
    """Return the basis A (M, H) for vectors (V, H) and their coefficients."""
    n_components, width = coefficients(slice(0, 1)).shape[1], vectors.shape[1]
    normal, target = np.zeros((n_components, n_components)), np.zeros((n_components, width))
    for rows in blocks(len(vectors)):
        part = coefficients(rows)  # (n, M)
        normal += part.T @ part
        target += part.T @ (vectors[rows] - mean)
    return solved(normal, target)


def solved(normal: Doubles, target: Doubles) -> Doubles:
    """Solve normal equations, (M, H); a tiny ridge selects a short solution of singular ones."""
    ridge = 1e-12 * np.trace(normal) / len(normal)
    normal.flat[:: len(normal) + 1] += max(ridge, np.finfo(np.float64).tiny)
    solution: Doubles = np.linalg.solve(normal, target).astype(np.float64, copy=False)
    return solution
