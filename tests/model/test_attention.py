"""Eq. 1 equals values computed by hand, torch's kernel and torch's multi-head attention."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from yakusu.model.attention import (
    CausalSelfAttention,
    Compatibility,
    CrossAttention,
    MultiHeadAttention,
    SelfAttention,
    attention,
    attention_weights,
    causal_mask,
    fused_attention,
)
from yakusu.model.config import TransformerConfig
from yakusu.model.variants import AdditiveCompatibility, DotProduct


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_attention_equals_equation_1_by_hand() -> None:
    query = torch.tensor([[[[2 * math.log(3.0), 0.0, 0.0, 0.0]]]])  # (1, 1, 1, 4): sqrt(d_k) = 2
    key = torch.tensor([[[[1.0, 0, 0, 0], [0.0, 1, 0, 0]]]])
    value = torch.tensor([[[[4.0, 8.0], [0.0, 4.0]]]])
    # The scores are log 3 and 0, so their softmax is 3/4 and 1/4.
    torch.testing.assert_close(attention_weights(query, key), torch.tensor([[[[0.75, 0.25]]]]))
    torch.testing.assert_close(attention(query, key, value), torch.tensor([[[[3.0, 7.0]]]]))


@pytest.mark.parametrize("d_v", [8, 5])
@pytest.mark.parametrize("masked", [False, True])
def test_fused_attention_equals_the_formula(masked: bool, d_v: int) -> None:
    query, key, value = randn(3, 2, 6, 8), randn(3, 2, 7, 8, seed=1), randn(3, 2, 7, d_v, seed=2)
    mask = None
    if masked:
        mask = randn(3, 1, 6, 7, seed=3) > 0
        mask[..., 0] = True  # every query may attend to at least one key
    torch.testing.assert_close(
        fused_attention(query, key, value, mask), attention(query, key, value, mask)
    )


def test_fused_attention_in_bfloat16_computes_in_float32_on_a_cpu() -> None:
    query, key, value = (randn(3, 2, 6, 8, seed=seed).bfloat16() for seed in range(3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = fused_attention(query, key, value)
    assert found.dtype is torch.bfloat16
    expected = attention(query.float(), key.float(), value.float()).bfloat16()
    torch.testing.assert_close(found, expected, rtol=2**-8, atol=1e-6)


@pytest.mark.parametrize("score", [None, DotProduct(), AdditiveCompatibility(n_heads=2, d_k=8)])
def test_dropout_keeps_each_attention_weight_scaled_or_sets_it_to_zero(
    score: Compatibility | None,
) -> None:
    query, key = randn(5, 2, 6, 8), randn(5, 2, 7, 8, seed=1)
    values = torch.eye(7).expand(5, 2, 7, 7)  # the result is the weights
    fused = score.fused_attention if score else fused_attention
    exact = fused(query, key, values, None)
    torch.manual_seed(0)
    found = fused(query, key, values, None, dropout=0.25)
    dropped = found == 0
    torch.testing.assert_close(found, (exact / 0.75).masked_fill(dropped, 0))
    assert 0.15 < dropped.float().mean() < 0.35


def test_masked_keys_get_no_weight_and_the_others_sum_to_one() -> None:
    mask = torch.tensor([True, False, True, False])
    weights = attention_weights(randn(2, 3, 5, 8), randn(2, 3, 4, 8, seed=1), mask)
    assert (weights[..., ~mask] == 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 3, 5))
    only_these = attention_weights(randn(2, 3, 5, 8), randn(2, 3, 4, 8, seed=1)[:, :, mask])
    torch.testing.assert_close(weights[..., mask], only_these)


def test_causal_mask_allows_a_position_and_those_before_it() -> None:
    assert causal_mask(3, torch.device("cpu")).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


def with_torch_module(kind: Any) -> tuple[Any, nn.MultiheadAttention]:
    """Return our layer, and torch's module with the same weights."""
    torch.manual_seed(0)
    ours = kind(TransformerConfig(d_model=12, n_heads=3))
    oracle = nn.MultiheadAttention(12, 3, bias=False, batch_first=True)
    with torch.no_grad():
        oracle.in_proj_weight.copy_(ours.w_qkv)
        oracle.out_proj.weight.copy_(ours.w_o)
    return ours, oracle


REAL = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])  # (B, S)


def test_self_attention_equals_the_torch_module() -> None:
    ours, oracle = with_torch_module(SelfAttention)
    x = randn(2, 7, 12)
    expected, weights = oracle(x, x, x, key_padding_mask=~REAL, average_attn_weights=False)
    torch.testing.assert_close(ours(x, REAL[:, None, None]), expected)
    torch.testing.assert_close(ours.weights(x, REAL[:, None, None]), weights)


def test_causal_self_attention_equals_the_torch_module() -> None:
    ours, oracle = with_torch_module(CausalSelfAttention)
    x, mask = randn(2, 5, 12), causal_mask(5, torch.device("cpu"))
    expected, weights = oracle(x, x, x, attn_mask=~mask, average_attn_weights=False)
    torch.testing.assert_close(ours(x, None), expected)
    torch.testing.assert_close(ours.weights(x, None), weights)


def test_cross_attention_equals_the_torch_module() -> None:
    ours, oracle = with_torch_module(CrossAttention)
    x, memory = randn(2, 5, 12), randn(2, 7, 12, seed=1)
    expected, weights = oracle(
        x, memory, memory, key_padding_mask=~REAL, average_attn_weights=False
    )
    torch.testing.assert_close(ours(x, memory, REAL[:, None, None]), expected)
    torch.testing.assert_close(ours.weights(x, memory, REAL[:, None, None]), weights)


def test_self_attention_equals_cross_attention_to_its_own_input() -> None:
    sizes = TransformerConfig(d_model=12, n_heads=3, d_k=5, d_v=7)
    ours, cross, x = SelfAttention(sizes), CrossAttention(sizes), randn(2, 5, 12)
    cross.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(x, None), cross(x, x, None))


def test_each_projection_of_all_heads_is_xavier_uniform() -> None:
    torch.manual_seed(0)
    ours = MultiHeadAttention(TransformerConfig(d_model=64, n_heads=4, d_k=8, d_v=32))
    for matrix in (*ours.w_qkv.split(ours.widths), ours.w_o):
        bound = math.sqrt(6 / sum(matrix.shape))
        assert 0.97 * bound < matrix.abs().max() <= bound
        assert matrix.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
