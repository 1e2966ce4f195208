"""Dropout zeroes values with the right probability; the seed alone determines the masks."""

import pytest
import torch

from yakusu.model.dropout import Dropout, drop


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_share_of_zeros_is_p_and_the_mean_stays_the_same(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    dropped = drop(torch.ones(1000, 1001, dtype=dtype), p)
    assert (dropped == 0).float().mean().item() == pytest.approx(p, abs=0.002)
    scale = torch.tensor(1 / (1 - p)).to(dtype).item()
    assert dropped.max().item() == pytest.approx(scale, rel=0.005 if dtype.itemsize == 2 else 1e-4)
    # Neighbours are independent: the four values drawn from one word, and those of adjacent words.
    zero = (dropped == 0).float().flatten()
    for distance in (1, 2, 3, 4, 5):
        both = (zero[distance:] * zero[:-distance]).mean().item()
        assert both == pytest.approx(p * p, abs=0.003)


def test_the_seed_determines_the_mask() -> None:
    x = torch.randn(3, 7, 5)
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(drop(x, 0.5))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_the_gradient_has_the_same_zeros() -> None:
    x = torch.randn(4, 6, requires_grad=True)
    y = drop(x, 0.5)
    y.sum().backward()
    torch.testing.assert_close(x.grad * x, y)


@pytest.mark.parametrize("p", [1e-6, 1 - 1e-6])
def test_the_result_is_finite_for_p_near_0_or_1(p: float) -> None:
    assert drop(torch.ones(1000), p).isfinite().all()


def test_values_are_dropped_only_in_training() -> None:
    layer, x = Dropout(0.5), torch.randn(10, 10)
    assert torch.equal(layer.eval()(x), x)
    assert not torch.equal(layer.train()(x), x)
    assert torch.equal(Dropout(0.0).train()(x), x)
