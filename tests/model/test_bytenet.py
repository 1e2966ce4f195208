"""Blocks compared with torch's convolutions; receptive fields and the unfolding by autograd."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from yakusu.model.base import Seq2Seq
from yakusu.model.bytenet import ByteNet, ResidualBlock
from yakusu.model.config import ByteNetConfig, config_of
from yakusu.typed import ValidationError

PAD = 11  # of the tiny models' twelve ids


def config(**sizes: Any) -> ByteNetConfig:
    return ByteNetConfig(**{"n_layers": 5, "d_model": 16, "dropout": 0.0} | sizes)


def randn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def normed(x: Tensor) -> Tensor:
    """ReLU after layer normalisation, whose gains are 1 and biases 0: (1, T, C)."""
    x = x - x.mean(dim=-1, keepdim=True)
    return (x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()).relu()


# ---- Figure 3: residual blocks -------------------------------------------------------------------


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("layer", "dilation"), [(0, 1), (3, 8), (4, 16), (5, 1)])
def test_a_block_equals_torch_convolutions_in_the_order_of_figure_3(
    layer: int, dilation: int, causal: bool
) -> None:
    torch.manual_seed(0)
    block, x = ResidualBlock(config(n_layers=6), layer), randn(1, 40, 16)
    kernel = block.w_2.weight.unflatten(1, (3, 8)).mT  # (d, k d) -> (d, d, k): torch's order
    narrow = F.linear(normed(x), block.w_1.weight, block.w_1.bias)
    outside = (2 * dilation, 0) if causal else (dilation, dilation)
    a = F.pad(normed(narrow).mT, outside)  # (1, d, 40 + 2 dilation)
    u = F.conv1d(a, kernel, block.w_2.bias, dilation=dilation).mT
    expected = x + F.linear(normed(u), block.w_3.weight, block.w_3.bias)
    found = block(x) if causal else block.around(x, torch.ones(1, 40, 1, dtype=torch.bool))
    torch.testing.assert_close(found, expected)


def seen_from(position: int, y: Tensor, x: Tensor) -> list[int]:
    """Positions of x (1, T, D) on which y (1, T, D) at `position` depends."""
    (gradient,) = torch.autograd.grad(y[0, position].sum(), x)
    return (gradient[0].abs().sum(dim=-1) > 0).nonzero().flatten().tolist()


@pytest.mark.parametrize(("n_layers", "reach"), [(1, 1), (3, 7), (5, 31), (7, 34)])
def test_a_set_of_five_blocks_reaches_31_positions_around_or_62_back(
    n_layers: int, reach: int
) -> None:
    torch.manual_seed(0)
    sizes = config(n_layers=n_layers)
    x = randn(1, 141, 16).requires_grad_()
    around = back = x
    for i in range(n_layers):
        block = ResidualBlock(sizes, i)
        around = block.around(around, torch.ones(1, 141, 1, dtype=torch.bool))
        back = block(back)
    assert seen_from(70, around, x) == [*range(70 - reach, 71 + reach)]
    assert seen_from(140, back, x) == [*range(140 - 2 * reach, 141)]


# ---- section 3.2: dynamic unfolding --------------------------------------------------------------


@pytest.mark.parametrize(("n_tokens", "n_positions"), [(1, 2), (5, 6), (10, 12), (11, 14)])
def test_the_representation_has_1_2_positions_per_source_token_rounded_up(
    tiny: Callable[..., Seq2Seq], n_tokens: int, n_positions: int
) -> None:
    src = torch.full((1, 20), PAD)
    src[0, :n_tokens] = 3
    states: Any = tiny("bytenet").encode(src).states
    assert states.shape == (1, 24, 16)
    assert (states[0] != 0).any(dim=-1).tolist() == [t < n_positions for t in range(24)]


def test_with_a_kernel_of_1_each_position_reads_the_source_at_the_same_position_only(
    tiny: Callable[..., Seq2Seq],
) -> None:
    model = tiny("bytenet", kernel=1)
    one, other = torch.full((1, 5), 3), torch.tensor([[3, 3, 4, 3, 3]])
    tgt_in = torch.full((1, 9), 5)
    found, changed = (model.hidden(tgt_in, model.encode(src)) for src in (one, other))
    assert (found != changed).any(dim=-1).tolist() == [[t == 2 for t in range(9)]]


def test_the_decoder_goes_on_without_a_source_after_the_representation(
    tiny: Callable[..., Seq2Seq],
) -> None:
    model, tgt_in = tiny("bytenet", kernel=1), torch.full((1, 9), 5)
    short, long = (model.hidden(tgt_in, model.encode(torch.full((1, n), 3))) for n in (2, 4))
    same = (short - long).abs().amax(dim=-1) < 1e-5  # (1, T)
    assert same.tolist() == [[t < 2 or t >= 4 for t in range(9)]]


def test_there_is_no_attention(tiny: Callable[..., Seq2Seq]) -> None:
    assert not tiny("bytenet").attention_layers()


# ---- the model -----------------------------------------------------------------------------------


def test_parameters_counted_by_hand() -> None:
    v, d, n, k = 1000, 32, 10, 3
    model = ByteNet(config(n_layers=n, d_model=2 * d), src_vocab_size=v, tgt_vocab_size=v)
    norms = 2 * 2 * d + 2 * d + 2 * d
    block = norms + (2 * d * d + d) + (k * d * d + d) + (d * 2 * d + 2 * d)
    expected = v * 2 * d + 2 * n * block + (2 * d * 2 * d + 2 * d)
    assert sum(parameter.numel() for parameter in model.parameters()) == expected


def test_decoding_caches_only_the_inputs_that_kernels_read(tiny: Callable[..., Seq2Seq]) -> None:
    model: Any = tiny("bytenet", n_layers=6)
    state = model.start(model.encode(torch.tensor([[3, 4, 0]])), 2)
    for _ in range(40):
        _, state = model.step(torch.full((1, 2), PAD), state)
    assert [len(inputs) for inputs in state.inputs] == [2, 4, 8, 16, 32, 2]


def test_a_configuration_is_read_back(tiny: Callable[..., Seq2Seq]) -> None:
    sizes = config_of({"name": "bytenet", "d_model": 1600})
    assert isinstance(sizes, ByteNetConfig)
    assert (sizes.n_layers, sizes.kernel, sizes.unfolding) == (30, 3, 1.2)
    assert [sizes.dilation(i) for i in range(6)] == [1, 2, 4, 8, 16, 1]
    assert config_of(sizes.model_dump(mode="json")) == sizes


def test_an_even_kernel_is_refused_with_its_value() -> None:
    with pytest.raises(ValidationError, match=r"model.kernel = 4 is even"):
        config_of({"name": "bytenet", "kernel": 4})
