"""Sizes equal those of Table 3; initialisation; options that depart from the base model."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from yakusu.errors import ModelError, RecipeError
from yakusu.model.architectures import build
from yakusu.model.base import Seq2Seq
from yakusu.model.config import ModelConfig, TransformerConfig
from yakusu.model.layers import ACTIVATIONS, FeedForward
from yakusu.model.transformer import Transformer
from yakusu.recipe import load_recipe
from yakusu.typed import ValidationError

# Parameters of the rows of Table 3 in millions, by recipe. Rows (A) and (D) are as large as the
# base model.
TABLE_3: dict[str, int] = {
    "base": 65,
    "table3/A-h1": 65,
    "table3/A-h4": 65,
    "table3/A-h16": 65,
    "table3/A-h32": 65,
    "table3/B-dk16": 58,
    "table3/B-dk32": 60,
    "table3/C-N2": 36,
    "table3/C-N4": 50,
    "table3/C-N8": 80,
    "table3/C-d256": 28,
    "table3/C-d1024": 168,
    "table3/C-ff1024": 53,
    "table3/C-ff4096": 90,
    "table3/D-drop0.0": 65,
    "table3/D-drop0.2": 65,
    "table3/D-smooth0.0": 65,
    "table3/D-smooth0.2": 65,
    "table3/E-learned": 65,
    "big": 213,
}


def parameters(config: ModelConfig, vocab_size: int) -> float:
    """Count the parameters in millions, without allocating tensors."""
    with torch.device("meta"):
        model = build(config, src_vocab_size=vocab_size, tgt_vocab_size=vocab_size)
    return sum(parameter.numel() for parameter in model.parameters()) / 1e6


def millions(vocab_size: int = 37_000, **sizes: Any) -> float:
    """Count the parameters of a Transformer, in millions."""
    return parameters(TransformerConfig(**sizes), vocab_size)


@pytest.mark.parametrize("row", TABLE_3)
def test_parameters_are_within_5_percent_of_table_3(row: str) -> None:
    recipe = load_recipe(row)
    # The paper's counts include about 4,000 tokens more than its text states; these 2 million
    # parameters are 6.5% of the smallest model.
    tolerance = 0.07 if row == "table3/C-N2" else 0.05
    found = parameters(recipe.model, recipe.tokenizer.vocab_size)
    assert found == pytest.approx(TABLE_3[row], rel=tolerance)


@pytest.mark.parametrize("row", [row for row in TABLE_3 if row != "big"])
def test_parameters_with_41_thousand_tokens_equal_table_3(row: str) -> None:
    assert parameters(load_recipe(row).model, 41_000) == pytest.approx(TABLE_3[row], abs=1.1)


def test_parameters_of_the_base_model_by_hand() -> None:
    attention, feed_forward, norm = 4 * 512 * 512, 2 * 512 * 2048 + 2048 + 512, 2 * 512
    layers = 6 * (3 * attention + 2 * feed_forward + 5 * norm)
    assert millions(37_000) * 1e6 == 37_000 * 512 + layers


def test_each_untied_embedding_adds_one_matrix() -> None:
    shared, matrix = millions(1000), 1000 * 512 / 1e6
    assert millions(1000, tied="decoder") == pytest.approx(shared + matrix)
    assert millions(1000, tied="none") == pytest.approx(shared + matrix + 1000 * 512 / 1e6)


def test_three_way_tying_shares_one_matrix_and_decoder_tying_has_two(
    tiny: Callable[..., Seq2Seq],
) -> None:
    def shares(tied: str) -> tuple[bool, bool]:
        model: Any = tiny(tied=tied)
        src, tgt = model.src_table.weight, model.tgt_table.weight
        return src is tgt, model.output_weight.data_ptr() == tgt.data_ptr()

    assert shares("three-way") == (True, True)
    assert shares("decoder") == (False, True)
    assert shares("none") == (False, False)


@pytest.mark.parametrize("tied", ["three-way", "decoder", "none"])
def test_pad_has_no_logit(tiny: Callable[..., Seq2Seq], tied: str) -> None:
    model = tiny(vocab_size=12, tied=tied)
    assert model.output_weight.shape == (12, 16)
    logits = model.decode(torch.tensor([[11, 3]]), model.encode(torch.tensor([[4, 0]])))
    assert logits.shape == (1, 2, 11)


def test_all_matrices_are_xavier_uniform_and_all_biases_zero() -> None:
    torch.manual_seed(0)
    model = Transformer(
        TransformerConfig(n_layers=1, d_model=64, d_ff=128, n_heads=4, tied="none"),
        src_vocab_size=100,
        tgt_vocab_size=100,
    )
    for module in model.modules():
        if isinstance(module, nn.Linear):
            bound = math.sqrt(6 / sum(module.weight.shape))
            assert 0.97 * bound < module.weight.abs().max() <= bound
            assert (module.bias == 0).all()
    assert model.output_table is not model.tgt_table
    bound = math.sqrt(6 / (100 + 64))
    assert 0.97 * bound < model.output_weight.abs().max() <= bound


def test_post_norm_stacks_end_with_normalised_states(tiny: Callable[..., Seq2Seq]) -> None:
    model: Any = tiny(norm="post")
    states = model.encode(torch.tensor([[3, 4, 5, 0]])).states
    torch.testing.assert_close(states.mean(dim=-1), torch.zeros(1, 4), atol=1e-6, rtol=0)
    torch.testing.assert_close(
        states.var(dim=-1, correction=0), torch.ones(1, 4), atol=1e-3, rtol=0
    )
    assert isinstance(model.encoder_norm, nn.Identity)


def test_a_post_norm_layer_equals_the_formula_of_section_3_1(tiny: Callable[..., Seq2Seq]) -> None:
    model: Any = tiny(norm="post", n_layers=1)
    layer, mask = model.encoder[0], torch.ones(1, 1, 1, 5, dtype=torch.bool)
    x = torch.randn(1, 5, 16, generator=torch.Generator().manual_seed(0))
    first, second = (residual.norm for residual in layer.residuals)
    y = first(x + layer.self_attention(x, mask))
    inner = torch.clamp(layer.feed_forward.inner(y), min=0)
    torch.testing.assert_close(layer(x, mask), second(y + layer.feed_forward.outer(inner)))


def test_a_pre_norm_layer_normalises_only_the_input_of_a_sublayer(
    tiny: Callable[..., Seq2Seq],
) -> None:
    model: Any = tiny(norm="pre", n_layers=1)
    layer, mask = model.encoder[0], torch.ones(1, 1, 1, 5, dtype=torch.bool)
    x = torch.randn(1, 5, 16, generator=torch.Generator().manual_seed(0))
    first, second = (residual.norm for residual in layer.residuals)
    h = first(x)
    y = x + layer.self_attention(h, mask)
    torch.testing.assert_close(layer(x, mask), y + layer.feed_forward(second(y)))
    assert isinstance(model.encoder_norm, nn.LayerNorm)
    assert isinstance(model.decoder_norm, nn.LayerNorm)


def test_learned_positions_limit_the_length_and_sinusoids_do_not(
    tiny: Callable[..., Seq2Seq],
) -> None:
    assert tiny(positions="learned", max_positions=40).max_length == 40
    assert tiny().max_length > 1_000_000


def test_learned_positions_get_gradients_where_they_are_used(tiny: Callable[..., Seq2Seq]) -> None:
    model: Any = tiny(positions="learned", max_positions=40)
    model(torch.tensor([[3, 4, 0]]), torch.tensor([[5, 0]])).square().sum().backward()
    used = model.tgt_embedding.positions.table.grad.abs().sum(dim=1) > 0
    assert used.tolist() == [True] * 3 + [False] * 37


def test_three_way_tying_of_two_vocabularies_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"needs one vocabulary, not 10 source and 12 target"):
        Transformer(TransformerConfig(), src_vocab_size=10, tgt_vocab_size=12)


def test_two_vocabularies_work_with_decoder_tying(tiny: Callable[..., Seq2Seq]) -> None:
    model = tiny(vocab_size=10, tgt_vocab_size=14, tied="decoder")
    assert (model.src_pad, model.tgt_pad) == (9, 13)
    assert model.decode(torch.tensor([[13]]), model.encode(torch.tensor([[8, 0]]))).shape[-1] == 13


def test_an_indivisible_d_model_is_refused_unless_d_k_and_d_v_are_set() -> None:
    with pytest.raises(ValidationError, match="= 512 is not divisible by"):
        TransformerConfig(n_heads=7)
    with pytest.raises(ValidationError, match="is not divisible"):
        TransformerConfig(n_heads=7, d_k=64)
    assert TransformerConfig(n_heads=7, d_k=64, d_v=32).d_v == 32


def test_d_k_and_d_v_default_to_d_model_divided_by_the_heads() -> None:
    config = TransformerConfig(d_model=256, n_heads=4)
    assert (config.d_k, config.d_v) == (64, 64)
    config = TransformerConfig(d_model=256, n_heads=4, d_k=16)
    assert (config.d_k, config.d_v) == (16, 64)


def test_top_k_above_the_number_of_experts_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"model.top_k = 3 exceeds model.n_experts = 2"):
        TransformerConfig(n_experts=2, top_k=3)
    assert TransformerConfig(n_experts=3, top_k=3).top_k == 3


VARIANTS: list[tuple[dict[str, Any], int]] = [  # additional parameters of 2 + 2 layers
    ({"score": "dot"}, 0),
    ({"score": "additive"}, 6 * 16),  # v of each attention
    ({"mixing": "restricted"}, 0),
    ({"mixing": "convolution", "kernel": 5}, 4 * (5 * 16 + 16 * 16 + 16 - 4 * 16 * 16)),
    (
        {"mixing": "recurrent"},
        2 * (2 * 4 * 8 * (16 + 8 + 2) - 4 * 16 * 16) + 2 * (4 * 16 * (16 + 16 + 2) - 4 * 16 * 16),
    ),
    ({"n_experts": 3}, 4 * (2 * (2 * 16 * 32 + 32 + 16) + 3 * 16)),
    ({"n_encoder_layers": 3}, 4 * 16 * 16 + 2 * 16 * 32 + 32 + 16 + 2 * 32),
    ({"n_decoder_layers": 1}, -(8 * 16 * 16 + 2 * 16 * 32 + 32 + 16 + 3 * 32)),
    ({"activation": "gelu"}, 0),
    ({"biases": True}, 6 * 4 * 16),
    ({"output_bias": True}, 11),
    ({"scale_embeddings": False}, 0),
    ({"start_id": 3}, 0),
]


@pytest.mark.parametrize(("sizes", "more"), VARIANTS, ids=str)
def test_parameters_of_the_variants_by_hand(
    tiny: Callable[..., Seq2Seq], sizes: dict[str, Any], more: int
) -> None:
    plain, variant = (sum(p.numel() for p in tiny(**s).parameters()) for s in ({}, sizes))
    assert variant - plain == more


@pytest.mark.parametrize(
    ("activation", "function"),
    [
        ("relu", lambda x: max(0, x)),
        ("silu", lambda x: x / (1 + math.exp(-x))),
        ("gelu", lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2)))),
    ],
)
@pytest.mark.parametrize("inference", [False, True])
def test_activations_of_the_feed_forward_network(
    activation: str, function: Callable[[float], float], inference: bool
) -> None:
    layer = FeedForward(6, 10, activation=activation)
    x = 3 * torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode(inference):
        found, inner = layer(x), layer.inner(x)
    with torch.no_grad():
        expected = layer.outer(inner.clone().apply_(function))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    "sizes",
    [
        {"attention_dropout": 0.5},
        {"attention_dropout": 0.5, "mixing": "restricted", "neighbourhood": 2},
        {"activation_dropout": 0.5},
        {"activation_dropout": 0.5, "n_experts": 3},
    ],
    ids=str,
)
def test_dropout_inside_layers_is_for_training_only_and_depends_on_the_seed(
    tiny: Callable[..., Seq2Seq], sizes: dict[str, Any]
) -> None:
    plain, model = (
        tiny(**{**sizes, **rates, "dropout": 0.0})
        for rates in (dict.fromkeys(("attention_dropout", "activation_dropout"), 0.0), {})
    )
    ids = torch.arange(2, 8)[None]

    def in_training(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return model.train()(ids, ids)

    assert torch.equal(model(ids, ids), plain(ids, ids))
    assert torch.equal(in_training(1), in_training(1))
    assert not torch.allclose(in_training(1), in_training(2))
    in_training(1).sum().backward()
    assert all(w.grad is not None and w.grad.isfinite().all() for w in model.parameters())


@pytest.mark.parametrize("rate", ["attention_dropout", "activation_dropout"])
def test_dropout_acts_in_every_layer_of_both_stacks(
    tiny: Callable[..., Seq2Seq], rate: str
) -> None:
    model: Any = tiny(**{rate: 0.5}, dropout=0.0, n_layers=1).train()
    x, mask = torch.randn(1, 6, 16), torch.ones(1, 1, 1, 6, dtype=torch.bool)
    memory = SimpleNamespace(states=x, mask=mask, rows=None)
    for layer, inputs in ((model.encoder[0], (x, mask)), (model.decoder[0], (x, memory))):
        assert not torch.allclose(layer(*inputs), layer(*inputs))


@pytest.mark.parametrize("activation", ["relu", "silu", "gelu"])
def test_an_activation_has_the_same_bits_wherever_an_element_lies(activation: str) -> None:
    x = 3 * torch.randn(7, 37, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        whole = ACTIVATIONS[activation](x)
        for row in range(7):
            for end in range(1, 38):
                part = ACTIVATIONS[activation](x[row : row + 1, :end])
                assert torch.equal(part, whole[row : row + 1, :end])


@pytest.mark.parametrize("inference", [False, True])
def test_biases_of_attention_are_added_to_its_four_projections(
    tiny: Callable[..., Seq2Seq], inference: bool
) -> None:
    model: Any = tiny(biases=True, d_k=5, d_v=3)
    layer, rng = model.decoder[0].cross_attention, torch.Generator().manual_seed(0)
    assert not layer.b_qkv.any()
    assert not layer.b_o.any()
    with torch.no_grad():
        layer.b_qkv.normal_(generator=rng)
        layer.b_o.normal_(generator=rng)
    x, memory = (torch.randn(1, n, 16, generator=rng) for n in (2, 4))
    q, k, v = (
        (of @ w.T + b).unflatten(-1, (2, -1)).transpose(1, 2)
        for of, w, b in zip(
            (x, memory, memory),
            layer.w_qkv.split([10, 10, 6]),
            layer.b_qkv.split([10, 10, 6]),
            strict=True,
        )
    )
    heads = ((q @ k.mT / math.sqrt(5)).softmax(-1) @ v).transpose(1, 2).flatten(2)
    with torch.inference_mode(inference):
        found = layer(x, memory, None)
    torch.testing.assert_close(found, heads @ layer.w_o.T + layer.b_o)


def test_the_output_bias_is_added_to_the_logits(tiny: Callable[..., Seq2Seq]) -> None:
    plain, model = tiny(), tiny(output_bias=True)
    bias = torch.arange(11.0)
    assert model.output_bias is not None
    model.output_bias.data.copy_(bias)
    src, tgt_in = torch.tensor([[3, 4, 0]]), torch.tensor([[11, 5]])
    logits = plain.decode(tgt_in, plain.encode(src))
    torch.testing.assert_close(model.decode(tgt_in, model.encode(src)), logits + bias)


def test_embeddings_that_are_not_scaled_are_added_to_the_positions_as_they_are(
    tiny: Callable[..., Seq2Seq],
) -> None:
    for scaled, factor in ((True, 4), (False, 1)):  # d_model = 16
        model: Any = tiny(scale_embeddings=scaled)
        vectors = model.src_table(torch.tensor([[3, 4, 0]]))
        expected = vectors * factor + model.src_embedding.positions(0, 3)
        torch.testing.assert_close(model.src_embedding(vectors), expected)


def test_the_decoder_starts_with_the_vector_of_start_id(tiny: Callable[..., Seq2Seq]) -> None:
    plain, model, src = tiny(), tiny(start_id=7), torch.tensor([[3, 4, 0]])
    memory, pad = model.encode(src), model.tgt_pad
    expected = plain.decode(torch.tensor([[7, 5]]), memory)
    torch.testing.assert_close(model.decode(torch.tensor([[pad, 5]]), memory), expected)
    logits, state = model.step(torch.tensor([[pad]]), model.start(memory, 1))
    torch.testing.assert_close(logits, expected[:, :1])
    torch.testing.assert_close(model.step(torch.tensor([[5]]), state)[0], expected[:, 1:])


def test_padding_of_training_targets_gets_no_gradient_through_the_start(
    tiny: Callable[..., Seq2Seq],
) -> None:
    gradients = []
    for tgt in ([[5, 0]], [[5, 0, 11, 11]]):
        model = tiny(start_id=7, tied="none")
        model(torch.tensor([[3, 4, 0]]), torch.tensor(tgt))[:, :2].square().sum().backward()
        gradients.append(model.tgt_table.weight.grad)  # type: ignore[union-attr]
    torch.testing.assert_close(*gradients)


def test_a_start_that_is_not_a_token_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"model.start_id = 11 is not among the ids 0 to 10"):
        Transformer(TransformerConfig(start_id=11), src_vocab_size=12, tgt_vocab_size=12)


def test_the_depths_default_to_n_layers() -> None:
    assert TransformerConfig().depths == (6, 6)
    assert TransformerConfig(n_layers=12, n_decoder_layers=2).depths == (12, 2)
    assert TransformerConfig(n_encoder_layers=3).depths == (3, 6)
    config = TransformerConfig(n_encoder_layers=12, n_decoder_layers=2)
    assert config.depths == (12, 2)
    assert TransformerConfig(**config.model_dump()) == config


def test_n_layers_without_effect_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"model.n_layers = 4 has no effect if"):
        TransformerConfig(n_layers=4, n_encoder_layers=12, n_decoder_layers=2)


def test_attention_weights_have_the_depth_of_their_stack(tiny: Callable[..., Seq2Seq]) -> None:
    maps = tiny(n_layers=1, n_encoder_layers=3).attentions(
        torch.tensor([[3, 4, 0]]), torch.tensor([[5, 0]])
    )
    assert {role: weights.shape[1] for role, weights in maps.items()} == {
        "encoder": 3,
        "decoder": 1,
        "cross": 1,
    }


def test_only_layers_with_attention_are_listed(tiny: Callable[..., Seq2Seq]) -> None:
    assert [*tiny(mixing="convolution").attention_layers()] == ["cross"]
    assert [*tiny(mixing="restricted").attention_layers()] == ["encoder", "decoder", "cross"]


def test_a_dumped_config_loads_as_the_same_config() -> None:
    config = TransformerConfig(d_model=256, n_heads=4, d_k=16)
    assert TransformerConfig(**config.model_dump()) == config


def test_weights_of_another_model_are_refused_by_name(tiny: Callable[..., Seq2Seq]) -> None:
    model = tiny()
    with pytest.raises(ModelError, match=r"'decoder\.2\..*' does not match"):
        model.load_weights(tiny(n_layers=3).weights())
    with pytest.raises(ModelError, match=r"'encoder\.0\.feed_forward\.inner\.weight'"):
        model.load_weights(tiny(d_ff=64).weights())


def test_loaded_weights_give_the_same_output(tiny: Callable[..., Seq2Seq]) -> None:
    one, other = tiny(seed=1), tiny(seed=2)
    src, tgt = torch.tensor([[3, 4, 0]]), torch.tensor([[5, 0]])
    assert not torch.equal(one(src, tgt), other(src, tgt))
    other.load_weights(one.weights())
    assert torch.equal(one(src, tgt), other(src, tgt))


@pytest.mark.parametrize(
    "sizes",
    [
        {"norm": "pre"},
        {"d_k": 3, "d_v": 5, "biases": True, "tied": "none"},
        {"mixing": "restricted", "neighbourhood": 4},
        {"mixing": "convolution"},
        {"mixing": "recurrent"},
    ],
    ids=str,
)
def test_without_padding_states_and_gradients_are_the_same(
    tiny: Callable[..., Seq2Seq], sizes: dict[str, Any]
) -> None:
    model = tiny(dropout=0.0, **sizes).double().train()
    lengths = torch.tensor([[7, 2], [1, 9], [4, 4]])
    src, tgt = (torch.randint(2, model.tgt_pad, (3, int(side.max()))) for side in lengths.T)
    for ids, own in (src, lengths[:, 0]), (tgt, lengths[:, 1]):
        ids[torch.arange(ids.shape[1]) >= own[:, None]] = model.tgt_pad
    found = [model.token_states(src, tgt), model(src, tgt)[tgt != model.tgt_pad]]
    torch.testing.assert_close(*found)
    gradients = [
        torch.autograd.grad(states.sin().sum(), list(model.parameters()), allow_unused=True)
        for states in found
    ]
    torch.testing.assert_close(*gradients)
