"""Counts of FLOPs equal counts by hand, and the formula gives the published costs."""

import math
from collections.abc import Callable
from itertools import count

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from yakusu.data.batches import Batch
from yakusu.model.base import Seq2Seq
from yakusu.training.flops import (
    SUSTAINED,
    by_formula,
    count_flops,
    counting,
    sustained_flops,
)

CPU = torch.device("cpu")
B, S, T, D, H = 2, 5, 4, 16, 2


def flops(module: nn.Module, x: torch.Tensor) -> int:
    with counting() as counter:
        out = module(x)
        (out[0] if isinstance(out, tuple) else out).sum().backward()
    return int(counter.get_total_flops())


@pytest.mark.parametrize(
    ("hours", "published"), [(12, 3.3e18), (3.5 * 24, 2.3e19)], ids=["base", "big"]
)
def test_formula_gives_the_published_costs_of_the_transformers(
    hours: float, published: float
) -> None:
    cost = by_formula(hours * 3600, n_devices=8, sustained=SUSTAINED["P100"])
    assert cost == pytest.approx(published, rel=0.02)


def test_gpus_of_the_paper_have_the_rates_of_the_paper() -> None:
    assert sustained_flops("Tesla P100-SXM2-16GB", CPU) == 9.5e12


@pytest.mark.parametrize("name", ["Quadro P1000", "Quadro M4000", "Quadro K4000"])
def test_gpus_with_similar_names_do_not_get_the_rates_of_the_paper(name: str) -> None:
    assert sustained_flops(name, CPU) not in SUSTAINED.values()


@pytest.mark.parametrize(
    ("name", "sizes"), [("recurrent", {}), ("transformer", {"n_experts": 4}), ("transformer", {})]
)
def test_count_does_not_depend_on_the_mode_of_the_model(
    tiny: Callable[..., Seq2Seq], name: str, sizes: dict[str, int]
) -> None:
    model, batch = tiny(name, **sizes), Batch(torch.full((B, S), 3), torch.full((B, T), 3))
    counts = [count_flops(each, [batch]) for each in (model.eval(), model.train())]
    assert counts[0] == counts[1] > 0
    assert model.training


def test_rate_of_another_device_is_measured_by_products(monkeypatch: pytest.MonkeyPatch) -> None:
    now = count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(now)))  # a product takes a second
    assert sustained_flops("a processor", CPU) == 2 * 512**3


def test_count_of_a_transformer_step_equals_the_count_by_hand(
    tiny: Callable[..., Seq2Seq],
) -> None:
    vocab_size, d_ff, n_layers = 12, 32, 2
    model = tiny("transformer", vocab_size=vocab_size).train()
    src, tgt = torch.full((B, S), 3), torch.full((B, T), 3)

    def attention(queries: int, keys: int) -> int:
        projections = 2 * queries * D * D + 2 * keys * D * D  # Q, O; K, V
        return B * (projections + 2 * queries * keys * D)  # Q K^T and the weighted sum of V

    def feed_forward(n: int) -> int:
        return B * 2 * n * D * d_ff

    encoder = attention(S, S) + feed_forward(S)
    decoder = attention(T, T) + attention(T, S) + feed_forward(T)
    products = n_layers * (encoder + decoder) + B * T * D * vocab_size
    # 2 FLOPs a product and sum; backward takes two products for each of forward.
    assert count_flops(model, [Batch(src, tgt)]) == 2 * 3 * products


def test_count_of_a_step_of_bytenet_equals_the_count_by_hand(tiny: Callable[..., Seq2Seq]) -> None:
    vocab_size, kernel, n_layers, unfolded = 12, 3, 2, math.ceil(1.2 * S)
    model = tiny("bytenet", vocab_size=vocab_size, d_model=D).train()
    block = D * D // 2 + kernel * (D // 2) ** 2 + D // 2 * D  # for each position
    products = B * (n_layers * block * (unfolded + T) + T * D * D + T * D * vocab_size)
    batch = Batch(torch.full((B, S), 3), torch.full((B, T), 3))
    assert count_flops(model, [batch]) == 2 * 3 * products


def test_count_of_a_step_of_gnmt_equals_the_count_by_hand(tiny: Callable[..., Seq2Seq]) -> None:
    vocab_size, n_layers = 12, 4
    model = tiny(
        "recurrent",
        vocab_size=vocab_size,
        d_model=D,
        n_layers=n_layers,
        decoder="gnmt",
        attention="additive",
    ).train()
    encoder = S * (2 * 4 * D // 2 * (D + D // 2) + (n_layers - 1) * 4 * D * 2 * D)
    attention = S * D * D + T * (D * D + S * D + S * D)  # keys; query, score and weighted sum
    decoder = T * n_layers * 4 * D * 3 * D
    products = B * (encoder + attention + decoder + T * D * vocab_size)
    # Backward computes no gradient of the encoder's first states, which are zero.
    first = B * (2 * 4 * (D // 2) ** 2 + (n_layers - 1) * 4 * D * D)
    batch = Batch(torch.full((B, S), 3), torch.full((B, T), 3))
    assert count_flops(model, [batch]) == 2 * (3 * products - first)


@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
def test_fused_attention_counts_as_much_as_separate_products(backend: SDPBackend) -> None:
    query = torch.ones(B, H, T, D, requires_grad=True)
    keys = torch.ones(B, H, S, D, requires_grad=True)
    with sdpa_kernel(backend), counting() as counter:
        scaled_dot_product_attention(query, keys, keys).sum().backward()
    kernels = [str(name) for name in counter.get_flop_counts()["Global"]]
    assert any("flash" in name for name in kernels) == (backend is SDPBackend.FLASH_ATTENTION)
    assert counter.get_total_flops() == 3 * B * H * 2 * (2 * T * S * D)


@pytest.mark.parametrize("name", ["transformer", "recurrent", "convolutional", "bytenet"])
def test_count_of_a_batch_equals_that_of_its_parts(tiny: Callable[..., Seq2Seq], name: str) -> None:
    model = tiny(name)
    batch = Batch(torch.randint(2, 9, (7, S)), torch.randint(2, 9, (7, T)))
    batch.src[3, 2:], batch.tgt[5, 1:] = model.src_pad, model.tgt_pad
    parts = list(batch.split(2 * S))
    assert [len(part.src) for part in parts] == [2, 2, 2, 1]
    assert [len(part.src) for part in batch.split(1)] == [1] * 7  # a pair is never cut
    assert count_flops(model, parts) == count_flops(model, [batch])


def test_counting_leaves_no_gradients(tiny: Callable[..., Seq2Seq]) -> None:
    model = tiny("transformer").train()
    count_flops(model, [Batch(torch.full((B, S), 3), torch.full((B, T), 3))])
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("n_directions", [1, 2])
def test_count_of_a_fused_lstm_equals_the_count_by_hand(n_directions: int) -> None:
    lstm = nn.LSTM(D, D, batch_first=True, bidirectional=n_directions == 2)
    forward = n_directions * S * 2 * B * 4 * D * (D + D)
    assert flops(lstm, torch.ones(B, S, D, requires_grad=True)) == 3 * forward


@pytest.mark.parametrize("groups", [1, D])
def test_count_of_a_convolution_equals_the_count_by_hand(groups: int) -> None:
    convolution = nn.Conv1d(D, D, 3, groups=groups)
    forward = 2 * B * (S - 2) * D * (D // groups) * 3
    assert flops(convolution, torch.ones(B, D, S, requires_grad=True)) == 3 * forward
