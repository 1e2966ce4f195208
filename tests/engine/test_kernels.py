"""The kernels of each instruction set give the results of numpy, and all of them the same bits."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import examples
from tests.engine.probes import activation, attention, linear, norm
from yakusu.engine.library import MatrixFormat
from yakusu.native.library import instruction_sets
from yakusu.weights import from_int8, to_int8

ALL = instruction_sets()
PRODUCTS = list(MatrixFormat)
WIDTHS = st.integers(1, 6).map(lambda n: 16 * n)
SEEDS = st.integers(0, 2**32 - 1)


def numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def quantised(x: Any, most: int) -> tuple[Any, Any, Any]:
    """Rows as low + step q with integers q in 0 .. `most`, in float64."""
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    step = (high - low).astype(np.float32) / np.float32(most)
    inverse = np.float32(most) / np.where(high > low, high - low, np.inf).astype(np.float32)
    q = np.rint((x - low) * inverse)
    return low.astype(np.float64), step.astype(np.float64), q


@pytest.mark.parametrize("isa", ALL)
@settings(max_examples=examples(60), deadline=None)
@given(SEEDS, st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 15, 17, 40]), WIDTHS, WIDTHS)
def test_integer_products_are_exact(isa: str, seed: int, n: int, n_out: int, n_in: int) -> None:
    x, rows, bias = numbers(seed, n, n_in), numbers(seed + 1, n_out, n_in), numbers(seed + 2, n_out)
    of_bytes = from_int8(to_int8({"rows": torch.tensor(rows)}))["rows"].numpy()
    for format_, most, own in (
        (MatrixFormat.INT8, 127, rows),
        (MatrixFormat.INT16, 16382, rows),
        (MatrixFormat.INT16, 16382, of_bytes),
    ):
        y, scale, w = linear(isa, x, own, bias, format_=format_)
        low, step, q = quantised(x, most)
        w = w.astype(np.float64)
        expected = (step * (q @ w.T) + low * w.sum(axis=1)) * scale + bias
        np.testing.assert_allclose(y, expected, rtol=2e-6, atol=2e-5)
        assert own is not of_bytes or np.abs(w).max() == 127


@pytest.mark.parametrize("isa", ALL)
def test_integers_approximate_the_matrix(isa: str) -> None:
    rows = numbers(0, 64, 512)
    _, scale, w = linear(isa, numbers(1, 1, 512), rows, format_=MatrixFormat.INT8)
    assert np.abs(w).max() <= 127
    assert np.abs(rows - scale[:, None] * w).max() <= scale.max() * 0.5001
    assert np.sqrt(np.mean((rows - scale[:, None] * w) ** 2)) < 0.015


@pytest.mark.parametrize("fill", [1.0, -1.0, 1e-3, 1e30, -1e-30])
@pytest.mark.parametrize("format_", [MatrixFormat.INT8, MatrixFormat.INT16])
@pytest.mark.parametrize("width", [2064, 2080, 4096])  # bytes times words: at most 2064
@pytest.mark.parametrize("isa", ALL)
def test_sums_of_the_largest_weights_do_not_overflow(
    isa: str, format_: MatrixFormat, fill: float, width: int
) -> None:
    rows, x = np.full((16, width), fill), np.ones((3, width))
    x[:, ::2] = -1  # q is the least and the largest in turn
    rows[1::2] *= x[0]  # the products of every other row have one sign
    y, scale, w = linear(isa, x, rows, format_=format_)
    assert width > 2064 or np.abs(w).max() == 127
    expected = x @ (scale[:, None] * w.astype(float)).T
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=abs(fill) * 1e-2)
    x = np.ones((3, width)) * [[1], [0], [-1]]
    y, scale, w = linear(isa, x, rows, format_=format_)
    np.testing.assert_allclose(y[:, 0], x[:, 0] * scale[0] * w[0].sum(dtype=float))


@pytest.mark.parametrize("isa", ALL)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rows_with_nan_or_infinity_give_nan_and_spare_the_others(isa: str, bad: float) -> None:
    x, rows = numbers(0, 5, 64), numbers(1, 32, 64)
    clean, *_ = linear(isa, x, rows, format_=MatrixFormat.INT8)
    x[2, 17] = bad
    y, *_ = linear(isa, x, rows, format_=MatrixFormat.INT8)
    assert np.isnan(y[2]).all()
    assert (np.delete(y, 2, 0) == np.delete(clean, 2, 0)).all()


@pytest.mark.parametrize("isa", ALL)
@settings(max_examples=examples(40), deadline=None)
@given(SEEDS, st.sampled_from([1, 2, 4, 5, 8, 11, 33]), WIDTHS, WIDTHS)
def test_products_of_floats(isa: str, seed: int, n: int, n_out: int, n_in: int) -> None:
    x, rows, bias = numbers(seed, n, n_in), numbers(seed + 1, n_out, n_in), numbers(seed + 2, n_out)
    y, *_ = linear(isa, x, rows, bias, format_=MatrixFormat.FLOAT32)
    np.testing.assert_allclose(y, x.astype(float) @ rows.T + bias, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("isa", ALL)
@settings(max_examples=examples(80), deadline=None)
@given(
    SEEDS,
    st.integers(1, 9),
    st.sampled_from([1, 2, 3, 4, 15, 16, 17, 31, 32, 33, 100]),
    st.sampled_from([1, 2, 3, 4, 5, 8, 12, 16, 17, 33]),
    st.integers(1, 40),
    st.integers(1, 40),
)
def test_attention_is_equation_1(
    isa: str, seed: int, n: int, n_keys: int, h: int, d_k: int, d_v: int
) -> None:
    q, k, v = (
        numbers(seed, n, h, d_k) * 2,
        numbers(seed + 1, n_keys, h, d_k),
        numbers(seed + 2, n_keys, h, d_v),
    )
    scores = np.einsum("nhd,shd->nhs", q.astype(float), k) / math.sqrt(d_k)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    expected = np.einsum("nhs,shd->nhd", weights, v)
    out = attention(isa, q, k, v, scale=1 / math.sqrt(d_k))
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("isa", ALL)
def test_activations(isa: str) -> None:
    x = np.concatenate([np.linspace(-30, 30, 2000), [-1e3, 1e3, 0, -0.0], np.zeros(12)])
    erfc = np.vectorize(math.erfc)
    np.testing.assert_array_equal(activation(isa, x, 0), np.maximum(x, 0).astype(np.float32))
    silu = x / (1 + np.exp(-np.clip(x, -700, 700)))
    np.testing.assert_allclose(activation(isa, x, 1), silu, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        activation(isa, x, 2), x / 2 * erfc(-x / math.sqrt(2)), rtol=2e-7, atol=4e-7
    )


@pytest.mark.parametrize("isa", ALL)
@pytest.mark.parametrize("n", [1, 15, 16, 17, 128, 500])
def test_layer_norm(isa: str, n: int) -> None:
    width = -(-n // 16) * 16
    x, gain, bias = np.zeros(width), np.zeros(width), np.zeros(width)
    x[:n], gain[:n], bias[:n] = numbers(0, n) + 3, numbers(1, n), numbers(2, n)
    own = x[:n]
    expected = (own - own.mean()) / np.sqrt(own.var() + 1e-5) * gain[:n] + bias[:n]
    y = norm(isa, x, n, gain, bias, 1e-5)
    np.testing.assert_allclose(y[:n], expected, rtol=1e-4, atol=1e-5)
    assert not y[n:].any()


@settings(max_examples=examples(30), deadline=None)
@given(SEEDS, st.integers(1, 20), WIDTHS, WIDTHS, st.sampled_from([1, 2, 4, 8, 16]))
def test_all_instruction_sets_give_the_same_bits(
    seed: int, n: int, n_out: int, n_in: int, h: int
) -> None:
    x, rows = numbers(seed, n, n_in), numbers(seed + 1, n_out, n_in)
    q, k, v = (
        numbers(seed, n, h, 32),
        numbers(seed + 1, n_in, h, 32),
        numbers(seed + 2, n_in, h, 16),
    )
    for results in zip(
        *(
            [
                *(linear(isa, x, rows, format_=each)[0] for each in PRODUCTS),
                attention(isa, q, k, v, scale=0.2),
                activation(isa, x.flatten() * 5, 1),
                activation(isa, x.flatten() * 5, 2),
            ]
            for isa in ALL
        ),
        strict=True,
    ):
        assert all(other.tobytes() == results[0].tobytes() for other in results)


@pytest.mark.parametrize("n", [16, 17, 31, 32, 47, 49])
@pytest.mark.parametrize("n_in", [64, 192, 2048, 2112])
@pytest.mark.parametrize("format_", [MatrixFormat.INT8, MatrixFormat.INT16])
def test_all_instruction_sets_give_the_same_products_of_many_rows(
    format_: MatrixFormat, n: int, n_in: int
) -> None:
    x = numbers(0, n, n_in)
    rows = from_int8(to_int8({"rows": torch.tensor(numbers(1, 80, n_in))}))["rows"].numpy()
    results = [linear(isa, x, rows, format_=format_)[0] for isa in ALL]
    assert all(other.tobytes() == results[0].tobytes() for other in results)


@pytest.mark.parametrize("isa", ALL)
def test_a_row_does_not_depend_on_the_others(isa: str) -> None:
    x, rows = numbers(0, 50, 96), numbers(1, 48, 96)
    for each in PRODUCTS:
        together, *_ = linear(isa, x, rows, format_=each)
        alone = np.concatenate(
            [linear(isa, x[i : i + 1], rows, format_=each)[0] for i in range(50)]
        )
        assert together.tobytes() == alone.tobytes()


@pytest.mark.parametrize("isa", ALL)
@pytest.mark.parametrize("h", [1, 4, 8, 20])
def test_attention_of_a_query_does_not_depend_on_the_others(isa: str, h: int) -> None:
    q, k, v = (numbers(seed, n, h, 24) for seed, n in ((0, 9), (1, 21), (2, 21)))
    together = attention(isa, q, k, v, scale=0.2)
    alone = np.concatenate([attention(isa, q[i : i + 1], k, v, scale=0.2) for i in range(9)])
    assert together.tobytes() == alone.tobytes()
