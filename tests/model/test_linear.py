"""A product with packed weights equals torch's product, and changed weights are packed again."""

import copy

import pytest
import torch
import torch.nn.functional as F

from yakusu.model.linear import PackedLinear

needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(),
    reason="this torch was built without oneDNN",
)


def assert_close(product: torch.Tensor, expected: torch.Tensor) -> None:
    """Equal up to the order in which hundreds of numbers of size 1 are added."""
    torch.testing.assert_close(product, expected, rtol=1e-4, atol=1e-3)


def operands(n_out: int = 512, n_in: int = 512) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(1)
    shapes = (3, 7, n_in), (n_out, n_in), (n_out,)
    return tuple(torch.randn(*shape, generator=generator) for shape in shapes)


@pytest.mark.parametrize(("n_out", "n_in"), [(512, 512), (1001, 256), (64, 16), (1, 1)])
def test_the_product_is_that_of_torch(n_out: int, n_in: int) -> None:
    x, weight, bias = operands(n_out, n_in)
    product = PackedLinear()
    with torch.inference_mode():
        assert_close(product(x, weight, bias), F.linear(x, weight, bias))


@needs_onednn
def test_a_weight_is_packed_once_until_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias = operands()
    made, reorder = [], torch.ops.mkldnn._reorder_linear_weight
    monkeypatch.setattr(
        torch.ops.mkldnn,
        "_reorder_linear_weight",
        lambda *of: made.append(of) or reorder(*of),  # type: ignore[func-returns-value]
    )
    product = PackedLinear()
    with torch.inference_mode():
        product(x, weight, bias)
        product(x[:1], weight, bias)
    assert len(made) == 1
    with torch.no_grad():
        weight.mul_(2)
    with torch.inference_mode():
        assert_close(product(x, weight, bias), F.linear(x, weight, bias))
    assert len(made) == 2


def test_a_weight_changed_by_an_optimizer_is_packed_again() -> None:
    """torch's fused optimizers do not increase the version of the weights they change."""
    x, weight, _ = operands()
    parameter, product = torch.nn.Parameter(weight), PackedLinear()
    with torch.inference_mode():
        before = product(x, parameter)
    optimizer = torch.optim.Adam([parameter], fused=True)
    product.train()
    product(x, parameter).square().sum().backward()
    optimizer.step()
    product.eval()
    with torch.inference_mode():
        after = product(x, parameter)
        assert_close(after, F.linear(x, parameter))
    assert not torch.equal(before, after)


def test_weights_created_in_inference_mode_are_packed_at_each_call() -> None:
    with torch.inference_mode():
        x, weight, _ = operands()
        product = PackedLinear()
        product(x, weight)
        weight.mul_(2)
        assert_close(product(x, weight), F.linear(x, weight))


def test_a_model_that_has_translated_can_be_copied() -> None:
    x, weight, _ = operands()
    product = PackedLinear()
    with torch.inference_mode():
        product(x, weight)
        assert torch.equal(copy.deepcopy(product)(x, weight), product(x, weight))


def test_the_gradients_are_those_of_torch() -> None:
    x, weight, bias = operands()
    weight.requires_grad_()
    product = PackedLinear()
    with torch.inference_mode():
        product(x, weight, bias)
    (mine,) = torch.autograd.grad(product(x, weight, bias).sum(), weight)
    (theirs,) = torch.autograd.grad(F.linear(x, weight, bias).sum(), weight)
    assert torch.equal(mine, theirs)


@pytest.mark.parametrize(("n_in", "n_out"), [(7, 3), (64, 64), (300, 99), (2048, 33)])
def test_a_row_does_not_depend_on_the_other_rows(n_in: int, n_out: int) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(200, n_in, generator=generator)
    weight, bias = torch.randn(n_out, n_in, generator=generator), torch.randn(n_out)
    product = PackedLinear()
    with torch.inference_mode():
        every = product(x, weight, bias)
        for size in (1, 2, 3, 5, 16, 17, 64, 199):
            parts = torch.cat([product(part, weight, bias) for part in x.split(size)])
            assert torch.equal(parts, every), size


def test_a_transposed_weight_is_packed_again() -> None:
    x, weight, _ = operands()
    product = PackedLinear()
    with torch.inference_mode():
        product(x, weight)
        assert_close(product(x, weight.T), x @ weight)


def test_every_layout_of_the_operands_gives_the_product() -> None:
    x, weight, bias = operands(64, 32)
    layouts = [
        (x.mT.contiguous().mT, weight, bias),
        (x[:1, :1].expand(3, 7, -1), weight, bias),
        (x[0, 0], weight, bias),
        (x[:0], weight, bias),
        (x, weight[:-1], None),
        (x[..., ::2], weight[:, :16], bias),
        (x, weight[::2], bias[::2]),
    ]
    with torch.inference_mode():
        for of in layouts:
            assert_close(PackedLinear()(*of), F.linear(*of))
