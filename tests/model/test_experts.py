"""A mixture of experts against every expert computed for every token, and its cost."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from yakusu.model.config import TransformerConfig
from yakusu.model.experts import Experts
from yakusu.model.layers import FeedForward

D, D_FF, E = 8, 16, 5


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def experts(top_k: int = 2, n_experts: int = E, balance: float = 1.0, **sizes: int) -> Experts:
    torch.manual_seed(0)
    sizes = {"d_model": D, "d_ff": D_FF, "n_heads": 1, **sizes}
    config = TransformerConfig(n_experts=n_experts, top_k=top_k, balance=balance, **sizes)
    return Experts(config)


def imbalance(layer: Experts, x: Tensor, real: Tensor) -> Tensor:
    layer(x)
    found = layer.balance_loss(real)
    layer.forget()
    return found


@pytest.mark.parametrize("top_k", [1, 2, 3, E])
def test_it_is_the_sum_over_all_experts_with_the_gates_of_the_others_zero(top_k: int) -> None:
    layer, x = experts(top_k), randn(3, 4, D)
    logits = x @ layer.router.weight.T
    smallest = logits.sort(descending=True).values[..., top_k - 1 : top_k]
    gates = logits.masked_fill(logits < smallest, -torch.inf).softmax(-1)  # Shazeer's KeepTopK
    every = torch.stack([expert(x) for expert in layer.experts], dim=-1)  # (B, n, d, E)
    torch.testing.assert_close(layer(x), (every * gates[:, :, None]).sum(-1))


def test_one_expert_is_the_plain_network() -> None:
    layer, x = experts(top_k=1, n_experts=1), randn(3, 4, D)
    torch.testing.assert_close(layer(x), layer.experts[0](x))


def test_its_gradient_is_that_of_the_dense_sum() -> None:
    layer, x = experts(2), randn(3, 4, D)
    dense = copy.deepcopy(layer)
    layer(x).square().sum().backward()
    logits = x @ dense.router.weight.T
    smallest = logits.sort(descending=True).values[..., 1:2].detach()
    gates = logits.masked_fill(logits < smallest, -torch.inf).softmax(-1)
    every = torch.stack([expert(x) for expert in dense.experts], dim=-1)
    (every * gates[:, :, None]).sum(-1).square().sum().backward()
    for mine, theirs in zip(layer.parameters(), dense.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-5, rtol=1e-5)


def test_a_token_is_computed_the_same_whatever_stands_beside_it() -> None:
    layer, x = experts(), randn(40, D)
    together = layer(x)
    for i in range(0, 40, 7):
        torch.testing.assert_close(layer(x[i : i + 1]), together[i : i + 1])
    crowd = torch.cat([x, x[:1].expand(1000, -1)])  # no expert is ever full
    torch.testing.assert_close(layer(crowd)[:40], together)


def test_an_expert_that_no_token_chose_has_a_gradient_of_zeros() -> None:
    layer = experts(top_k=1)
    layer(randn(1, D)).sum().backward()
    used = [float(expert.outer.weight.grad.abs().sum()) > 0 for expert in layer.experts]
    assert sum(used) == 1
    assert all(parameter.grad is not None for parameter in layer.experts.parameters())


@pytest.mark.parametrize("top_k", [1, 2, 4])
def test_a_token_costs_as_much_as_top_k_experts_and_the_router(top_k: int) -> None:
    def flops(module: Any) -> int:
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            module(randn(30, D))
        return counter.get_total_flops()

    plain = flops(FeedForward(d_model=D, d_ff=D_FF))
    assert flops(experts(top_k, n_experts=8)) == top_k * plain + 2 * 30 * D * 8


def test_parameters_are_those_of_all_experts_and_the_router() -> None:
    one = sum(p.numel() for p in FeedForward(d_model=D, d_ff=D_FF).parameters())
    assert sum(p.numel() for p in experts().parameters()) == E * one + E * D


# ---- balance


def test_experts_compute_in_double_too() -> None:
    x = randn(3, 4, D)
    torch.testing.assert_close(experts().double()(x.double()).float(), experts()(x))


def test_the_imbalance_by_hand() -> None:
    layer = experts(top_k=1, n_experts=2, balance=0.5, d_model=2)
    layer.router.weight.data = torch.eye(2)
    x = torch.tensor([[[9.0, 0.0], [9.0, 0.0], [9.0, 0.0], [0.0, 9.0]]])
    p = torch.tensor([9.0, 0.0]).softmax(0)
    mean = (3 * p + p.flip(0)) / 4
    expected = 0.5 * 2 * (0.75 * mean[0] + 0.25 * mean[1])
    torch.testing.assert_close(imbalance(layer, x, torch.ones(1, 4) > 0), expected)


def test_even_choices_have_the_least_imbalance() -> None:
    layer = experts(top_k=1, n_experts=D, balance=0.1)
    layer.router.weight.data = 50 * torch.eye(D)
    even, odd = torch.eye(D)[None], torch.eye(D)[None, :1].expand(1, D, D)
    real = torch.ones(1, D, dtype=torch.bool)
    assert imbalance(layer, even, real).item() == pytest.approx(0.1)
    assert imbalance(layer, odd, real).item() == pytest.approx(0.1 * D)


def test_padding_does_not_count() -> None:
    layer, x = experts(), randn(2, 6, D)
    real = torch.arange(6) < torch.tensor([[6], [2]])
    other = torch.where(real[:, :, None], x, -x)
    alone = torch.cat([x[0], x[1, :2]])[None]
    expected = imbalance(layer, alone, torch.ones(1, 8) > 0)
    torch.testing.assert_close(imbalance(layer, x, real), expected)
    torch.testing.assert_close(imbalance(layer, other, real), expected)


def test_nothing_is_remembered_in_evaluation() -> None:
    layer = experts().eval()
    layer(randn(1, 4, D))
    assert layer.balance_loss(torch.ones(1, 4) > 0) == 0


def shares(balance: float) -> Tensor:
    """Of four experts after training on four kinds of tokens, at first all sent to expert 0."""
    layer = experts(top_k=1, n_experts=4, balance=balance)
    kinds = randn(4, D, seed=2)
    kinds[:, 0] = 1
    with torch.no_grad():
        layer.router.weight[0, 0] = 3
    x = kinds[torch.randint(4, (1, 256), generator=torch.Generator().manual_seed(1))]
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
    for _ in range(300):
        optimizer.zero_grad()
        wanted = x.roll(1, dims=-1).square()
        error = (layer(x) - wanted).square().mean()
        (error + layer.balance_loss(torch.ones(1, 256) > 0)).backward()
        optimizer.step()
    chosen = (x[0] @ layer.router.weight.T).argmax(-1)
    return chosen.bincount(minlength=4) / 256


def test_choices_become_even_by_the_balance_loss_and_stay_collapsed_without() -> None:
    assert shares(balance=0.0).max() == 1
    assert shares(balance=0.1).min() > 0.15
