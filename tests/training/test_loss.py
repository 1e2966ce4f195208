"""The loss in chunks equals torch's cross-entropy; its gradient and its lowest value."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from yakusu.training import loss as loss_module
from yakusu.training.loss import smoothed_loss, zero_point

N, D, V = 23, 8, 11  # V outputs, and pad
# The sums run in float32 whatever the inputs are.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}


def inputs(dtype: torch.dtype = torch.float32, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    rng = torch.Generator().manual_seed(0)
    hidden = (scale * torch.randn(N, D, generator=rng)).to(dtype).requires_grad_()
    weight = torch.randn(V + 1, D, generator=rng).to(dtype).requires_grad_()
    return hidden, weight, torch.randint(V, (N,), generator=rng)


def oracle(hidden: Tensor, weight: Tensor, target: Tensor, epsilon: float) -> Tensor:
    return F.cross_entropy(hidden @ weight[:-1].T, target, label_smoothing=epsilon, reduction="sum")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("chunk", [1, 7, 22, N, 1000])  # tokens; with 22 the last chunk has one
def test_value_and_gradients_equal_cross_entropy_of_torch(
    dtype: torch.dtype, epsilon: float, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss_module, "_CHUNK", chunk)
    hidden, weight, target = inputs(dtype)
    loss = smoothed_loss(hidden, weight, target, epsilon=epsilon)
    expected = oracle(hidden, weight, target, epsilon)
    torch.testing.assert_close(loss.smoothed.to(dtype), expected, **TOLERANCE)
    ours = torch.autograd.grad(loss.smoothed / N, (hidden, weight))
    theirs = torch.autograd.grad(expected / N, (hidden, weight))
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == dtype
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("n_vocab", [2, 257, 6_000, 100_000, 2**24, 2**28])
def test_a_chunk_is_limited_in_logits_and_has_at_least_one_token_or_pair(
    n_vocab: int, device: str, pairs: bool
) -> None:
    limit = loss_module._CHUNK_LOGITS if device == "cpu" else loss_module._CHUNK_LOGITS_GPU
    chunk, least = loss_module._chunk(n_vocab, device, pairs=pairs), 1 + pairs
    assert chunk >= least and chunk % least == 0
    assert chunk == least or chunk * n_vocab <= limit
    assert device != "cpu" or chunk <= loss_module._CHUNK


def test_a_chunk_has_256_tokens_on_a_cpu_and_more_on_a_gpu() -> None:
    assert loss_module._chunk(6_000, "cpu", pairs=False) == 256
    assert loss_module._chunk(6_000, "cuda", pairs=False) == 2**27 // 6_000


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_value_and_gradients_with_a_bias_equal_cross_entropy_of_torch(epsilon: float) -> None:
    hidden, weight, target = inputs()
    bias = torch.randn(V, generator=torch.Generator().manual_seed(5)).requires_grad_()
    loss = smoothed_loss(hidden, weight, target, epsilon=epsilon, bias=bias).smoothed
    logits = hidden @ weight[:-1].T + bias
    expected = F.cross_entropy(logits, target, label_smoothing=epsilon, reduction="sum")
    torch.testing.assert_close(loss, expected, **TOLERANCE)
    ours = torch.autograd.grad(loss / N, (hidden, weight, bias))
    theirs = torch.autograd.grad(expected / N, (hidden, weight, bias))
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-6)


def test_nll_does_not_depend_on_epsilon() -> None:
    hidden, weight, target = inputs()
    loss = smoothed_loss(hidden, weight, target, epsilon=0.3)
    log_p = (hidden @ weight[:-1].T).log_softmax(dim=-1)
    torch.testing.assert_close(loss.nll, -log_p.gather(1, target[:, None]).sum(), **TOLERANCE)
    assert not loss.nll.requires_grad


def test_loss_without_smoothing_equals_nll() -> None:
    smoothed, nll = smoothed_loss(*inputs(), epsilon=0.0)
    assert smoothed.item() == pytest.approx(nll.item(), rel=1e-6)


def test_large_logits_do_not_overflow_and_keep_their_gradient() -> None:
    hidden, weight, target = inputs(scale=200.0)
    loss = smoothed_loss(hidden, weight, target, epsilon=0.1).smoothed
    expected = oracle(hidden, weight, target, 0.1)
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-2)
    ours = torch.autograd.grad(loss, (hidden, weight))
    theirs = torch.autograd.grad(expected, (hidden, weight))
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-3)


def test_loss_without_gradients_requires_no_gradient() -> None:
    hidden, weight, target = inputs()
    with torch.no_grad():
        loss = smoothed_loss(hidden, weight, target, epsilon=0.1)
    assert not loss.smoothed.requires_grad
    torch.testing.assert_close(loss.smoothed, oracle(hidden, weight, target, 0.1), **TOLERANCE)


def test_bf16_states_and_fp32_weights_get_gradients_of_their_types() -> None:
    hidden, weight, target = inputs()
    half = hidden.detach().bfloat16().requires_grad_()
    loss = smoothed_loss(half, weight, target, epsilon=0.1).smoothed
    ours = torch.autograd.grad(loss, (half, weight))
    theirs = torch.autograd.grad(oracle(half.float(), weight, target, 0.1), (half, weight))
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == other.dtype
        torch.testing.assert_close(mine, other, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_zero_point_equals_the_entropy_of_the_smoothed_targets(epsilon: float) -> None:
    q = torch.full((V,), epsilon / V, dtype=torch.float64)
    q[3] += 1 - epsilon
    entropy = torch.special.entr(q).sum().item()  # entr(0) = 0
    assert zero_point(V, epsilon) == pytest.approx(entropy, abs=1e-12)


def test_zero_point_of_two_outputs_equals_the_value_by_hand() -> None:
    # Two outputs, epsilon 1/2: targets 3/4 and 1/4.
    assert zero_point(2, 0.5) == pytest.approx(2 * math.log(2) - 0.75 * math.log(3))


def test_loss_of_the_smoothed_targets_equals_the_zero_point() -> None:
    epsilon, target = 0.1, torch.arange(V)
    q = torch.full((V, V), epsilon / V) + (1 - epsilon) * torch.eye(V)
    hidden = q.log().requires_grad_()  # (N = V, D = V): with the identity these are the logits
    loss = smoothed_loss(hidden, torch.eye(V + 1, V), target, epsilon=epsilon).smoothed
    assert loss.item() / V == pytest.approx(zero_point(V, epsilon), rel=1e-6)
    (gradient,) = torch.autograd.grad(loss, hidden)
    torch.testing.assert_close(gradient, torch.zeros(V, V), atol=1e-6, rtol=0)


def test_autocast_changes_products_but_not_gradient_types() -> None:
    hidden, weight, target = inputs()
    exact = torch.autograd.grad(oracle(hidden, weight, target, 0.1), (hidden, weight))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = smoothed_loss(hidden, weight, target, epsilon=0.1).smoothed
    gradients = torch.autograd.grad(loss, (hidden, weight))
    assert loss.dtype == torch.float32
    for mine, other in zip(gradients, exact, strict=True):
        assert mine.dtype == torch.float32
        assert not torch.equal(mine, other)  # bfloat16 was there
        torch.testing.assert_close(mine, other, rtol=0.05, atol=0.05)
