"""The names and columns of Marian's weights, both ways."""

import numpy as np
import pytest

from yakusu.engine.packing import sinusoids
from yakusu.engine.shapes import shapes
from yakusu.errors import ModelError
from yakusu.export.marian import (
    checked,
    from_marian,
    kind_of_positions,
    marian_columns,
    own_columns,
    stack_parts,
    to_marian,
)
from yakusu.export.reading import Renamed
from yakusu.model.config import TransformerConfig


def config_of(norm: str = "post") -> TransformerConfig:
    return TransformerConfig.model_validate(
        {"d_model": 8, "n_heads": 2, "d_ff": 6, "n_encoder_layers": 2, "n_decoder_layers": 1}
        | {"biases": True, "norm": norm}
    )


def weights_of(config: TransformerConfig) -> dict[str, np.ndarray]:
    """Random weights of both stacks."""
    rng = np.random.default_rng(1)
    found = shapes(config, (), src_vocab_size=3, tgt_vocab_size=3)
    return {
        name: rng.normal(size=shape).astype(np.float32)
        for name, shape in found.items()
        if not name.startswith(("tgt_table", "src_table"))
    }


def test_the_sines_precede_the_cosines() -> None:
    assert marian_columns(8).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert own_columns(8, halved=True).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert own_columns(8, halved=False).tolist() == list(range(8))


def test_the_columns_of_the_two_are_inverse() -> None:
    for width in (2, 8, 512):
        one, other = marian_columns(width), own_columns(width, halved=True)
        assert one[other].tolist() == other[one].tolist() == list(range(width))


def test_marians_sinusoids_are_sin_then_cos() -> None:
    table = sinusoids(5, 8)[:, marian_columns(8)]
    angles = np.arange(5)[:, None] / 10_000 ** (np.arange(4) / 4)
    np.testing.assert_allclose(
        table, np.concatenate([np.sin(angles), np.cos(angles)], 1), atol=1e-6
    )


@pytest.mark.parametrize("halved", [False, True])
@pytest.mark.parametrize("positions", ["sinusoidal", "tensor2tensor"])
def test_tables_of_positions_are_recognised(positions: str, halved: bool) -> None:
    config = TransformerConfig(d_model=8, n_heads=1, positions=positions)
    table = sinusoids(50, 8, config.position_divisor)
    table = table[:, marian_columns(8)] if halved else table
    assert kind_of_positions(table, 1e-6) == (positions, halved)
    table[7, 3] += 0.1
    assert kind_of_positions(table, 1e-6) == ("learned", False)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_reading_what_was_written_gives_the_same_weights(norm: str) -> None:
    config = config_of(norm)
    weights = weights_of(config)
    tensors = to_marian(weights, config)
    assert set(tensors) == {part.marian for part in stack_parts(config)}
    again = from_marian(tensors, config, own_columns(8, halved=True))
    assert again.keys() == weights.keys()
    for name, weight in weights.items():
        np.testing.assert_array_equal(again[name], weight, err_msg=name)


def test_each_projection_has_its_rows_and_permuted_columns() -> None:
    config = config_of()
    weights, columns = weights_of(config), [0, 2, 4, 6, 1, 3, 5, 7]
    tensors = to_marian(weights, config)
    joint = weights["decoder.0.cross_attention.w_qkv"]
    for i, letter in enumerate("qkv"):
        own = joint[8 * i : 8 * (i + 1)][:, columns]
        found = tensors[f"decoder.layers.0.encoder_attn.{letter}_proj.weight"]
        np.testing.assert_array_equal(found, own)
    out = weights["encoder.1.self_attention.w_o"]
    np.testing.assert_array_equal(
        tensors["encoder.layers.1.self_attn.out_proj.weight"], out[columns]
    )
    inner = weights["encoder.0.feed_forward.inner.weight"]
    np.testing.assert_array_equal(tensors["encoder.layers.0.fc1.weight"], inner[:, columns])
    norm = weights["decoder.0.residuals.2.norm.weight"]
    np.testing.assert_array_equal(
        tensors["decoder.layers.0.final_layer_norm.weight"], norm[columns]
    )


def test_biases_that_a_model_lacks_are_zero() -> None:
    config = config_of().model_copy(update={"biases": False})
    tensors = to_marian(weights_of(config), config)
    assert not tensors["encoder.layers.0.self_attn.k_proj.bias"].any()
    assert tensors["encoder.layers.0.self_attn.k_proj.bias"].shape == (8,)


def test_an_error_names_the_tensor_as_in_its_file() -> None:
    stored = {"W": np.zeros((2, 3), np.float32), "n": np.array([[np.nan]], np.float32)}
    tensors = Renamed(stored, {"own": "W", "other": "missing", "nan": "n"})
    assert list(tensors) == ["own", "nan"] and len(tensors) == 2 and "other" not in tensors
    for name, message in {
        "own": r"the tensor 'W' has the shape \(2, 3\) instead of \(1, 1\)",
        "other": "the tensor 'missing' is missing",
        "nan": "the tensor 'n' contains NaN or infinity",
    }.items():
        with pytest.raises(ModelError, match=message):
            checked(tensors, name, (1, 1))


def test_other_types_of_floats_become_float32() -> None:
    for kind in "<f2", "<f8", "<f4":
        found = checked({"a": np.array([0.5], kind)}, "a", (1,))
        assert found.dtype == np.float32 and found[0] == 0.5
    with pytest.raises(ModelError, match="contains NaN or infinity"):
        checked({"a": np.array([1e300])}, "a", (1,))
