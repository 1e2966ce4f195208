"""Blocks and attention compared with hand calculations and torch; receptive fields by autograd."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from yakusu.data.batches import pad
from yakusu.model.base import Seq2Seq
from yakusu.model.config import ConvolutionalConfig, config_of
from yakusu.model.convolutional import (
    Convolutional,
    ConvolutionalDecoderLayer,
    ConvolutionalEncoderLayer,
    DotAttention,
    GatedConvolution,
    scale_gradient,
)
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.typed import ValidationError

PAD = 11  # of the tiny models' twelve ids


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def config(**sizes: Any) -> ConvolutionalConfig:
    return ConvolutionalConfig(**{"n_layers": 2, "d_model": 8, "d_conv": 4, "dropout": 0.0} | sizes)


# ---- section 3.2: blocks -------------------------------------------------------------------------


def test_a_gated_convolution_by_hand() -> None:
    block = GatedConvolution(config(d_conv=1), kernel=2, dilation=1)
    with torch.no_grad():
        block.taps.weight.copy_(torch.tensor([[2.0, 3.0], [0.0, 1.0]]))  # of A, of B
        block.taps.bias.copy_(torch.tensor([0.5, 0.0]))
    x = torch.tensor([[[1.0], [0.0], [-math.log(3)]]])
    # A looks one back: 3 + 0.5, 2 + 0.5, -3 log 3 + 0.5; sigmoid(B) of 1, 0 and -log 3 is
    # 1 / (1 + 1/e), 1/2 and 1/4.
    expected = [3.5 / (1 + math.exp(-1)), 2.5 / 2, (0.5 - 3 * math.log(3)) / 4]
    torch.testing.assert_close(block(x, back=1)[0, :, 0], torch.tensor(expected))


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (3, 4), (4, 1), (2, 3)])
@pytest.mark.parametrize("causal", [False, True])
def test_a_gated_convolution_equals_torch_conv1d(kernel: int, dilation: int, causal: bool) -> None:
    torch.manual_seed(0)
    block, x = GatedConvolution(config(), kernel=kernel, dilation=dilation), randn(2, 9, 4)
    oracle = nn.Conv1d(4, 8, kernel, dilation=dilation)
    with torch.no_grad():
        oracle.weight.copy_(block.taps.weight.view(8, kernel, 4).mT)
        oracle.bias.copy_(block.taps.bias)  # type: ignore[union-attr]
    span = (kernel - 1) * dilation
    back = span if causal else span // 2
    beyond = nn.functional.pad(x.mT, (back, span - back))
    torch.testing.assert_close(block(x, back), nn.functional.glu(oracle(beyond), dim=1).mT)


def test_an_encoder_layer_halves_the_variance_and_ignores_padding() -> None:
    torch.manual_seed(0)
    layer, x = ConvolutionalEncoderLayer(config(), 0), randn(1, 5, 4)
    real = torch.tensor([[[True], [True], [True], [False], [False]]])
    alone = layer.convolution(x[:, :3], back=1)
    expected = (alone + x[:, :3]) / math.sqrt(2)
    torch.testing.assert_close(layer(x, real)[:, :3], expected)


# ---- section 3.3: attention ----------------------------------------------------------------------


def test_attention_by_hand() -> None:
    query = torch.tensor([[[math.log(3), 0.0]]])  # (1, 1, 2)
    key = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]])
    value = torch.tensor([[[4.0, 8.0], [0.0, 4.0], [7.0, 7.0]]])
    mask = torch.tensor([[[[True, True, False]]]])
    memory = torch.cat([key, value], dim=-1)
    # The scores are log 3 and 0, not divided, so their softmax is 3/4 and 1/4; S is 2.
    attention = DotAttention()
    expected = math.sqrt(2) * torch.tensor([[[3.0, 7.0]]])
    torch.testing.assert_close(attention(query, memory, mask), expected)
    torch.testing.assert_close(
        attention.weights(query, memory, mask), torch.tensor([[[[0.75, 0.25, 0.0]]]])
    )


def test_keys_are_encoder_outputs_and_values_also_add_the_embedding(
    tiny: Callable[..., Seq2Seq],
) -> None:
    model: Any = tiny("convolutional")
    src = torch.tensor([[3, 4, 5, 0]])
    key, value = model.encode(src).states.chunk(2, dim=-1)
    embedded = model.src_table.weight[src] + model.src_embedding.positions.table[:4]
    torch.testing.assert_close(value, (key + embedded) / math.sqrt(2))


def test_a_decoder_layer_is_the_formula_of_section_3_3(tiny: Callable[..., Seq2Seq]) -> None:
    model: Any = tiny("convolutional")
    layer: ConvolutionalDecoderLayer = model.decoder[0]
    memory, x, g = model.encode(torch.tensor([[3, 4, 5, 0]])), randn(1, 6, 24), randn(1, 6, 16)
    key, value = memory.states.chunk(2, dim=-1)
    h = layer.convolution(x, back=2)
    d = (h @ layer.query.weight.T + layer.query.bias + g) / math.sqrt(2)
    c = 4 * math.sqrt(1 / 4) * (d @ key.mT).softmax(dim=-1) @ value
    attended = (c @ layer.context.weight.T + layer.context.bias + h) / math.sqrt(2)
    torch.testing.assert_close(layer(x, g, memory), (attended + x) / math.sqrt(2))


# ---- how far a position sees ---------------------------------------------------------------------


def seen_from(position: int, y: Tensor, x: Tensor) -> list[int]:
    """Positions of x (1, T, C) on which y (1, T, C) at `position` depends."""
    (gradient,) = torch.autograd.grad(y[0, position].sum(), x)
    return (gradient[0].abs().sum(dim=-1) > 0).nonzero().flatten().tolist()


@pytest.mark.parametrize(
    ("n_layers", "kernel", "dilations", "field"),
    [
        (1, 3, (1,), 3),
        (6, 5, (1,), 25),  # the paper's example, section 3.2: 1 + L (k - 1)
        (4, 3, (1, 2, 4, 8), 31),  # ByteNet's: 1 + (k - 1) times the sum of dilations
        (4, 2, (1, 2), 7),
    ],
)
def test_the_receptive_field_is_1_plus_k_minus_1_times_the_dilations(
    n_layers: int, kernel: int, dilations: tuple[int, ...], field: int
) -> None:
    torch.manual_seed(0)
    sizes = config(
        n_layers=n_layers, encoder_kernel=kernel, decoder_kernel=kernel, dilations=dilations
    )
    x = randn(1, 101, 4).requires_grad_()
    around = back = x
    for i in range(n_layers):
        around = ConvolutionalEncoderLayer(sizes, i)(
            around, torch.ones(1, 101, 1, dtype=torch.bool)
        )
        layer = ConvolutionalDecoderLayer(sizes, i)
        back = back + layer.convolution(back, layer.convolution.span)
    ahead = sum((kernel - 1) * sizes.dilation(i) // 2 for i in range(n_layers))
    assert seen_from(50, around, x) == [*range(51 + ahead - field, 51 + ahead)]
    assert seen_from(100, back, x) == [*range(101 - field, 101)]


# ---- sections 3.4 and 3.5: what keeps variances and gradients ------------------------------------


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_new_gated_convolution_keeps_the_variance_of_its_input(dropout: float) -> None:
    torch.manual_seed(0)
    block = GatedConvolution(config(d_conv=128, dropout=dropout), kernel=3, dilation=1)
    x = 0.05 * torch.randn(64, 32, 128)  # small values keep the gates near 1/2
    assert (block(x, back=1)[:, 1:-1].var() / x.var()).item() == pytest.approx(1, rel=0.05)


def test_scale_gradient_scales_the_gradient_and_not_the_values() -> None:
    x = randn(3, 4).requires_grad_()
    y = scale_gradient(x, 1 / 6)
    assert torch.equal(y, x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradient, torch.full((3, 4), 1 / 6))


def test_the_encoder_gradient_is_divided_by_the_number_of_attention_inputs(
    tiny: Callable[..., Seq2Seq],
) -> None:
    model: Any = tiny("convolutional", n_layers=3)
    model.encode(torch.tensor([[3, 4, 5, 0]])).states[..., :16].sum().backward()  # the keys
    torch.testing.assert_close(model.encoder_out.bias.grad, torch.full((16,), 4 / (2 * 3)))


# ---- the model -----------------------------------------------------------------------------------


def test_parameters_counted_by_hand() -> None:
    v, d, c, n, k, p = 1000, 64, 96, 3, 5, 200
    sizes = ConvolutionalConfig(
        n_layers=n, d_model=d, d_conv=c, encoder_kernel=k, decoder_kernel=2, max_positions=p
    )
    model = Convolutional(sizes, src_vocab_size=v, tgt_vocab_size=v)
    encoder = n * (2 * c * k * c + 2 * c)
    attention = (c * d + d) + (d * c + c)
    decoder = n * (2 * c * 2 * c + 2 * c + attention)
    ends = 2 * ((d * c + c) + (c * d + d))
    expected = v * d + 2 * p * d + encoder + decoder + ends
    assert sum(parameter.numel() for parameter in model.parameters()) == expected


def test_decoding_caches_only_the_inputs_that_kernels_read(
    tiny: Callable[..., Seq2Seq],
) -> None:
    model: Any = tiny("convolutional", n_layers=3, decoder_kernel=3, dilations=(1, 2, 4))
    state = model.start(model.encode(torch.tensor([[3, 4, 0]])), 2)
    for _ in range(12):
        _, state = model.step(torch.full((1, 2), PAD), state)
    assert [len(past) for past in state.inputs] == [2, 4, 8]


def test_dilations_are_read_from_a_list_and_repeat() -> None:
    sizes = config_of({"name": "convolutional", "dilations": [1, 2, 4]})
    assert isinstance(sizes, ConvolutionalConfig)
    assert [sizes.dilation(i) for i in range(5)] == [1, 2, 4, 1, 2]
    assert config_of(sizes.model_dump(mode="json")) == sizes
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        config_of({"name": "convolutional", "dilations": [1, 0]})
    with pytest.raises(ValidationError, match="dilations has 3 values and"):
        config_of({"name": "convolutional", "n_layers": 2, "dilations": [1, 2, 4]})


def test_max_positions_limits_the_length(tiny: Callable[..., Seq2Seq]) -> None:
    assert tiny("convolutional", max_positions=40).max_length == 40


def test_it_learns_to_copy_unseen_sequences(
    make_trainer: Callable[..., Any], sequences: Callable[..., list[list[int]]]
) -> None:
    trainer = make_trainer(
        sizes={"name": "convolutional", "dropout": 0.0, "d_model": 32, "d_conv": 32},
        n_pairs=2000,
        step_tokens=400,
        batch_tokens=400,
        warmup_steps=60,
        max_steps=250,
        validate_steps=250,
        clip_norm=0.1,
    )
    trainer.run()
    seen = {tuple(ids) for ids in sequences(2000, seed=5)}
    unseen = [ids for ids in sequences(300, seed=2) if tuple(ids) not in seen]
    greedy = SearchConfig(beam=1, alpha=0)
    found = beam_search(trainer.model.eval(), pad(unseen, PAD), greedy)
    right = sum(list(best[0].tokens) == ids[:-1] for best, ids in zip(found, unseen, strict=True))
    assert len(unseen) > 100
    assert right / len(unseen) > 0.95
