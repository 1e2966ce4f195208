"""Uncompressed vectors to compare with: centred, whitened and half-whitened."""

import numpy as np
import pytest

from yakusu.compress.rounding import Rounding
from yakusu.vectors.controls import centred, half_whitened, whitened


def test_centred_columns_have_mean_zero_and_codes_become_floats() -> None:
    codes = np.random.default_rng(0).integers(0, 16, (60, 3)).astype(np.uint8)
    moved = centred(codes)
    assert moved.dtype == np.float32
    np.testing.assert_allclose(moved.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.diff(moved, axis=0), np.diff(codes.astype(float), axis=0))
    np.testing.assert_allclose(centred(codes.astype(float) + 1e6).mean(axis=0), 0, atol=1e-9)


def test_whitened_vectors_have_unit_covariance_and_mahalanobis_norms() -> None:
    rng = np.random.default_rng(1)
    mixed = rng.standard_normal((500, 4)) @ rng.standard_normal((4, 4)) + 3
    white = whitened(mixed).astype(float)
    np.testing.assert_allclose(white.T @ white / 500, np.eye(4), atol=1e-6)
    away = mixed - mixed.mean(axis=0)
    inverse = np.linalg.inv(away.T @ away / 500)
    np.testing.assert_allclose(
        np.square(white).sum(axis=1), np.einsum("vh,hk,vk->v", away, inverse, away), rtol=1e-5
    )


def test_whitening_keeps_components_without_spread_at_0() -> None:
    x = np.random.default_rng(2).standard_normal((300, 2))
    white = whitened(np.column_stack([x, x[:, 0] * 2, np.full(300, 7.0)]))
    np.testing.assert_allclose(np.sort(white.std(axis=0)), [0, 0, 1, 1], atol=1e-6)


def test_half_whitening_leaves_the_root_of_each_deviation() -> None:
    rng = np.random.default_rng(3)
    mixed = rng.standard_normal((500, 4)) @ rng.standard_normal((4, 4)) + 3
    deviations = np.sqrt(np.linalg.eigvalsh(np.cov(mixed.T)))[::-1]
    half = half_whitened(mixed)
    np.testing.assert_allclose(np.cov(half.T), np.diag(deviations), atol=1e-5)
    np.testing.assert_allclose(half.mean(axis=0), 0, atol=1e-6)


def test_integers_are_half_whitened_vectors_rounded() -> None:
    mixed = np.random.default_rng(4).standard_normal((300, 3)) * [9, 2, 1]
    integers = Rounding(mixed, n_components=3).integers(0.01)[:]
    assert half_whitened(mixed) / 0.01 == pytest.approx(integers, abs=0.501)
