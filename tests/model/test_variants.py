"""Layers of Table 1 equal torch's modules; which outputs depend on which inputs."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.cache import CarriedCache
from yakusu.model.variants import (
    BidirectionalRecurrence,
    CausalConvolution,
    CausalRecurrence,
    SeparableConvolution,
    Window,
)

D = 6


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def made(kind: Any, **sizes: Any) -> Any:
    torch.manual_seed(0)
    return kind(d_model=D, **sizes)


def reached(module: Any, n: int) -> Tensor:
    """Return (n, n) by autograd: True where the output (row) depends on the input (column)."""
    x = randn(1, n, D).requires_grad_()
    y = module(x, None)
    rows = [torch.autograd.grad(y[0, i].sum(), x, retain_graph=True)[0][0] for i in range(n)]
    return torch.stack(rows).abs().sum(-1) > 0


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_a_separable_convolution_equals_torch_depthwise_then_pointwise(k: int) -> None:
    layer, x = made(SeparableConvolution, window=Window.around(k)), randn(2, 9, D)
    depthwise, pointwise = nn.Conv1d(D, D, k, groups=D, bias=False), nn.Conv1d(D, D, 1)
    with torch.no_grad():
        depthwise.weight.copy_(layer.depthwise[:, None])
        pointwise.weight.copy_(layer.pointwise.weight[:, :, None])
        pointwise.bias.copy_(layer.pointwise.bias)
    padded = F.pad(x.mT, (k // 2, (k - 1) // 2))
    torch.testing.assert_close(layer(x, None), pointwise(depthwise(padded)).mT)


def test_a_convolution_depends_on_its_kernel_and_a_causal_one_on_the_past() -> None:
    centred = made(SeparableConvolution, window=Window.around(3))
    causal = made(CausalConvolution, window=Window.until(3))
    distance = torch.arange(8) - torch.arange(8)[:, None]  # input minus output
    assert torch.equal(reached(centred, 8), distance.abs() <= 1)
    assert torch.equal(reached(causal, 8), (distance <= 0) & (distance >= -2))


def test_parameters_of_a_separable_convolution_by_hand() -> None:
    layer = made(SeparableConvolution, window=Window.around(5))
    assert sum(p.numel() for p in layer.parameters()) == 5 * D + D * D + D


def test_recurrence_depends_on_all_inputs_and_causal_recurrence_on_the_past() -> None:
    assert reached(made(BidirectionalRecurrence), 6).all()
    assert torch.equal(reached(made(CausalRecurrence), 6), torch.ones(6, 6).tril() > 0)


def test_a_bidirectional_recurrence_equals_torch_lstm_on_packed_sentences() -> None:
    layer, x, lengths = made(BidirectionalRecurrence), randn(3, 7, D), torch.tensor([7, 1, 4])
    oracle = nn.LSTM(D, D // 2, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for name, tensor in layer.rightward.named_parameters():
            getattr(oracle, name).copy_(tensor)
        for name, tensor in layer.leftward.named_parameters():
            getattr(oracle, f"{name}_reverse").copy_(tensor)
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = nn.utils.rnn.pad_packed_sequence(oracle(packed)[0], batch_first=True)
    real = torch.arange(7) < lengths[:, None]
    torch.testing.assert_close(layer(x, real[:, None, None])[real], expected[real])
    torch.testing.assert_close(layer(x, None), oracle(x)[0])


@pytest.mark.parametrize(
    "layer",
    [
        made(SeparableConvolution, window=Window.around(5)),
        made(BidirectionalRecurrence),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_the_content_of_padding_changes_nothing(layer: Any) -> None:
    x, real = randn(2, 7, D), torch.arange(7) < torch.tensor([[7], [3]])
    other = torch.where(real[:, :, None], x, 100.0)
    mask = real[:, None, None]
    assert torch.equal(layer(x, mask)[real], layer(other, mask)[real])
    torch.testing.assert_close(layer(x, mask)[1:, :3], layer(x[1:, :3], None))


def test_reorder_and_keep_move_the_carried_state() -> None:
    cache = CarriedCache()
    cache.reorder(torch.tensor([[1, 0], [0, 0]]))  # before the first step the cache is empty
    cache.tensors = (torch.arange(8.0).view(2, 2, 2),)
    cache.reorder(torch.tensor([[1, 0], [1, 1]]))
    assert cache.tensors[0].tolist() == [[[2, 3], [0, 1]], [[6, 7], [6, 7]]]
    cache.keep(torch.tensor([1]))
    assert cache.tensors[0].tolist() == [[[6, 7], [6, 7]]]
