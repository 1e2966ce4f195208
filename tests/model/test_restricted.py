"""Restricted self-attention equals masked dense attention and needs memory O(r n)."""

from typing import Any

import pytest
import torch
from torch import Tensor

from yakusu.model.attention import (
    CausalSelfAttention,
    Compatibility,
    MultiHeadAttention,
    SelfAttention,
    attention,
)
from yakusu.model.config import TransformerConfig
from yakusu.model.variants import (
    AdditiveCompatibility,
    CausalRestrictedSelfAttention,
    DotProduct,
    RestrictedSelfAttention,
    Window,
    band_attention,
)

B, H, D_K, D_V = 3, 2, 8, 5


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


SIZES = TransformerConfig(d_model=12, n_heads=H)


def scores(d_k: int = D_K) -> dict[str, Compatibility | None]:
    torch.manual_seed(0)
    return {
        "scaled": None,
        "dot": DotProduct(),
        "additive": AdditiveCompatibility(n_heads=H, d_k=d_k),
    }


def functions(name: str) -> MultiHeadAttention:
    """Return a layer in double precision, for its `attention` and `fused_attention`."""
    return MultiHeadAttention(SIZES, scores()[name]).double()


def layer(kind: Any, **more: Any) -> Any:
    torch.manual_seed(0)
    return kind(SIZES, None, **more)


def band(n: int, window: Window) -> Tensor:
    """Return (n, n) by brute force: True where key j is in the window of query i."""
    return torch.tensor(
        [[i - window.before <= j <= i + window.after for j in range(n)] for i in range(n)]
    )


def reached(module: Any, n: int, d: int = 12) -> Tensor:
    """Return (n, n) by autograd: True where the output (row) depends on the input (column)."""
    x = randn(1, n, d).requires_grad_()
    y = module(x, None)
    rows = [torch.autograd.grad(y[0, i].sum(), x, retain_graph=True)[0][0] for i in range(n)]
    return torch.stack(rows).abs().sum(-1) > 0


def saved_numbers(module: Any, n: int) -> int:
    """Return the number of values kept for the backward pass, without parameters."""
    kept: dict[tuple[int, int], int] = {}

    def keep(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, torch.nn.Parameter):
            kept[tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes()] = (
                tensor.untyped_storage().nbytes() // tensor.element_size()
            )
        return tensor

    x = randn(1, n, 12).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = module(x, None)
    del y
    return sum(kept.values())


# ---- compatibility functions


def test_additive_compatibility_by_hand() -> None:
    score = AdditiveCompatibility(n_heads=1, d_k=2)
    score.v.data = torch.tensor([[1.0, -2.0]])
    query, key = torch.tensor([[[[0.5, 0.0]]]]), torch.tensor([[[[0.5, 1.0], [-0.5, 0.0]]]])
    # v^T tanh(q + k) is tanh 1 - 2 tanh 1 for the first key and 0 for the second.
    e = torch.tensor([-torch.tensor(1.0).tanh(), 0.0])
    torch.testing.assert_close(
        score.attention_weights(query, key, None), e.softmax(0)[None, None, None]
    )


def test_each_head_has_its_own_additive_vector() -> None:
    score = scores()["additive"]
    query, key = randn(B, H, 4, D_K), randn(B, H, 7, D_K, seed=1)
    pairs = (query[:, :, :, None] + key[:, :, None]).tanh()
    for head, v in enumerate(score.v):
        expected = (pairs[:, head] * v).sum(-1).softmax(-1)
        torch.testing.assert_close(score.attention_weights(query, key, None)[:, head], expected)


def test_dot_product_compatibility_is_not_scaled() -> None:
    query, key = randn(B, H, 4, D_K), randn(B, H, 7, D_K, seed=1)
    torch.testing.assert_close(
        DotProduct().attention_weights(query, key, None), (query @ key.mT).softmax(-1)
    )


@pytest.mark.parametrize("name", ["scaled", "dot", "additive"])
def test_fused_attention_of_each_compatibility_equals_its_formula(name: str) -> None:
    query, key = randn(B, H, 6, D_K).double(), randn(B, H, 7, D_K, seed=1).double()
    value = randn(B, H, 7, D_V, seed=2).double()
    mask = randn(B, 1, 6, 7, seed=3) > 0
    mask[..., 0] = True
    layer = functions(name)
    expected = layer.attention_weights(query, key, mask) @ value
    torch.testing.assert_close(layer.attention(query, key, value, mask), expected)
    torch.testing.assert_close(layer.fused_attention(query, key, value, mask), expected)


# ---- the band


WINDOWS = [Window.around(1), Window.around(3), Window.around(4), Window.until(1), Window.until(4)]


def test_a_window_of_r_spans_r_positions() -> None:
    assert Window.around(5) == Window(2, 2)
    assert Window.around(4) == Window(2, 1)
    assert Window.until(4) == Window(3, 0)
    assert all(Window.around(r).size == Window.until(r).size == r for r in range(1, 9))


@pytest.mark.parametrize("name", ["scaled", "dot", "additive"])
@pytest.mark.parametrize("window", [*WINDOWS, Window(20, 20), Window(2, 30)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_band_attention_equals_masked_dense_attention(n: int, window: Window, name: str) -> None:
    query, key = randn(B, H, n, D_K).double(), randn(B, H, n, D_K, seed=1).double()
    value = randn(B, H, n, D_V, seed=2).double()
    layer = functions(name)
    expected = layer.attention(query, key, value, band(n, window))
    attend = layer.fused_attention
    found = band_attention(query, key, value, None, window=window, attend=attend)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_band_attention_with_padding_equals_dense_attention(window: Window) -> None:
    n, lengths = 9, torch.tensor([9, 4, 1])
    real = torch.arange(n) < lengths[:, None]  # (B, n)
    query, key, value = randn(B, H, n, D_K), randn(B, H, n, D_K, seed=1), randn(B, H, n, D_V)
    dense = attention(
        query, key, value, (band(n, window) & real[:, None, None]) | (torch.eye(n) > 0)
    )
    found = band_attention(query, key, value, real[:, None, None], window=window)
    torch.testing.assert_close(
        found.transpose(1, 2)[real], dense.transpose(1, 2)[real], rtol=0, atol=1e-6
    )
    assert found.isfinite().all()


def test_gradients_of_band_attention_equal_those_of_dense_attention() -> None:
    n, window = 10, Window(2, 1)
    inputs = [randn(B, H, n, D_K, seed=i).double().requires_grad_() for i in range(3)]
    dense = attention(*inputs, band(n, window)).square().sum()
    found = band_attention(*inputs, None, window=window).square().sum()
    for mine, theirs in zip(
        torch.autograd.grad(found, inputs), torch.autograd.grad(dense, inputs), strict=True
    ):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_an_output_depends_on_exactly_the_inputs_in_its_window(window: Window) -> None:
    n = 9
    restricted = layer(RestrictedSelfAttention, window=window)
    assert torch.equal(reached(restricted, n), band(n, window))


def test_self_attention_depends_on_all_inputs_and_causal_on_the_past() -> None:
    assert reached(layer(SelfAttention), 6).all()
    assert torch.equal(reached(layer(CausalSelfAttention), 6), torch.ones(6, 6).tril() > 0)


def test_weights_times_values_equal_the_output() -> None:
    restricted, x = layer(RestrictedSelfAttention, window=Window(2, 1)), randn(1, 9, 12)
    weights = restricted.weights(x, None)  # (1, H, n, n)
    assert torch.equal(weights[0, 0] > 0, band(9, Window(2, 1)))
    value = restricted.project(x)[2]
    torch.testing.assert_close(restricted.combine(weights @ value), restricted(x, None))


# ---- memory


@pytest.mark.parametrize("name", ["scaled", "additive"])
def test_memory_grows_as_n_with_a_band_and_as_n_squared_with_the_formula(name: str) -> None:
    def made(kind: Any, **more: Any) -> Any:
        torch.manual_seed(0)
        return kind(SIZES, scores(6)[name], **more)

    restricted = made(RestrictedSelfAttention, window=Window.around(9))
    assert saved_numbers(restricted, 512) == pytest.approx(2 * saved_numbers(restricted, 256), 0.03)
    dense = made(SelfAttention)
    growth = saved_numbers(dense, 512) / saved_numbers(dense, 256)
    # Torch's kernel stores no (n, n) matrix; the formula does.
    assert growth == pytest.approx(2 if name == "scaled" else 4, rel=0.05)


def test_memory_of_a_band_grows_as_r() -> None:
    def kept(r: int) -> int:
        score = scores(6)["additive"]
        window = Window.until(r)
        return saved_numbers(RestrictedSelfAttention(SIZES, score, window), 512)

    assert kept(65) / kept(33) == pytest.approx(2, rel=0.1)


# ---- decoding


def test_causal_restricted_attention_depends_on_the_last_r_inputs() -> None:
    causal = layer(CausalRestrictedSelfAttention, window=Window.until(3))
    assert torch.equal(reached(causal, 8), band(8, Window(2, 0)))
