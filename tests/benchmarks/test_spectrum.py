"""The generated matrix has the spectrum that its script describes."""

import numpy as np

from benchmarks.compression.spectrum import MEAN, parts, variances


def test_a_generated_matrix_has_the_described_mean_and_spectrum() -> None:
    matrix = np.concatenate(list(parts(20_000, 8, seed=3))).astype(np.float64)
    assert matrix.shape == (20_000, 8)
    found = np.linalg.eigvalsh(np.cov(matrix.T))[::-1]
    np.testing.assert_allclose(found, variances(8), rtol=0.05)
    assert abs(np.linalg.norm(matrix.mean(axis=0)) - MEAN) < 0.02
    assert abs(np.square(matrix).sum(axis=1).mean() - 1) < 0.02


def test_a_generated_matrix_depends_on_the_seed_only() -> None:
    one, same, other = (np.concatenate(list(parts(9_000, 4, seed=s))) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any(axis=1).all()
