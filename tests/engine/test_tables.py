"""The engine gets the weights that torch has: names, shapes, and the vectors of all tables."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from yakusu.compress.config import CompressConfig, Stack
from yakusu.engine.shapes import shapes
from yakusu.engine.tables import DenseWeights, coded_vectors, integer_vectors
from yakusu.errors import ModelError
from yakusu.model.architectures import build
from yakusu.model.base import Seq2Seq
from yakusu.model.coded_tables import CodedTable, IntegerTable
from yakusu.model.config import TransformerConfig
from yakusu.model.table_plans import AnyTablePlan, CodedTablePlan
from yakusu.pipeline.tables import compress_tables
from yakusu.progress import Silent

SIZES: dict[str, Any] = {"d_model": 12, "d_ff": 20, "n_heads": 3, "d_k": 4, "d_v": 5, "n_layers": 2}
VOCABULARIES = {"src_vocab_size": 40, "tgt_vocab_size": 40}
LEARNED: dict[str, Any] = {"positions": "learned", "max_positions": 9}
TABLES = ("src_table", "tgt_table", "output_table")
Tiny = Callable[..., Seq2Seq]


def arrays(module: torch.nn.Module) -> dict[str, Any]:
    return {name: weight.detach().numpy() for name, weight in module.named_parameters()}


def vectors_of(model: Seq2Seq, table: str, vocab_size: int) -> Any:
    with torch.no_grad():
        return getattr(model, table)(torch.arange(vocab_size)).numpy()


def compressed(stacks: tuple[Stack, ...], **settings: Any) -> tuple[Seq2Seq, list[AnyTablePlan]]:
    """A model, some of whose tables are compressed, and their plans."""
    torch.manual_seed(0)
    model = build(TransformerConfig(**SIZES, **LEARNED, **settings), **VOCABULARIES)
    config = CompressConfig(k=4, m=6, exact=3, stacks=stacks)
    return model, [table.plan for table in compress_tables(model, config, Silent())]


# ---- names and shapes ----------------------------------------------------------------------------

VARIANTS: list[dict[str, Any]] = [
    {},
    LEARNED,
    {"norm": "pre", "score": "additive"},
    {"mixing": "restricted", "neighbourhood": 3, "score": "additive"},
    {"mixing": "convolution", "kernel": 5},
    {"mixing": "recurrent", **LEARNED},
    {"n_experts": 3},
    {"biases": True, "output_bias": True, "n_encoder_layers": 3},
]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("tied", ["three-way", "decoder", "none"])
def test_names_and_shapes_are_those_of_torch(variant: dict[str, Any], tied: Any) -> None:
    config = TransformerConfig(**SIZES, **variant, tied=tied)
    sizes = {"src_vocab_size": 40, "tgt_vocab_size": 40 if tied == "three-way" else 30}
    own = build(config, **sizes).weights()
    assert shapes(config, (), **sizes) == {
        name: tuple(weight.shape) for name, weight in own.items()
    }


@pytest.mark.parametrize("tied", ["three-way", "decoder", "none"])
@pytest.mark.parametrize("stacks", [("encoder",), ("decoder",), ("encoder", "decoder")])
def test_names_and_shapes_of_compressed_models_are_those_of_torch(tied: Any, stacks: Any) -> None:
    model, plans = compressed(stacks, tied=tied)
    assert isinstance(model.config, TransformerConfig)
    own = {name: tuple(weight.shape) for name, weight in model.weights().items()}
    assert shapes(model.config, plans, **VOCABULARIES) == own


# ---- vectors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 16, 256, 300, 65_537])
@pytest.mark.parametrize("n_exact", [0, 5])
@pytest.mark.parametrize("m", [1, 7, 64])
def test_coded_vectors_are_those_of_torch(k: int, n_exact: int, m: int) -> None:
    rng, n_words, width = np.random.default_rng(k), 600, 24
    table = CodedTable(n_words + n_exact + 1, width, n_components=m, n_codes=k, n_exact=n_exact)
    codes = rng.integers(0, k, (n_words, m))
    bits = (codes[:, :, None] >> np.arange(table.n_bits)) & 1
    packed = np.packbits(bits.reshape(n_words, -1).astype(np.uint8), axis=1, bitorder="little")
    with torch.no_grad():
        table.packed.copy_(torch.from_numpy(packed))
        for weight in (table.weights, table.basis, table.exact):
            weight.copy_(torch.from_numpy(rng.standard_normal(weight.shape)))
        expected = table(torch.arange(n_words + n_exact + 1)).numpy()
    found = np.concatenate(list(coded_vectors(table.plan(()), arrays(table))))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert (found[:n_exact] == expected[:n_exact]).all() and not found[-1].any()


@pytest.mark.parametrize("n_exact", [0, 5])
def test_vectors_of_integers_are_those_of_torch(n_exact: int) -> None:
    rng, n_words, width = np.random.default_rng(0), 600, 24
    table = IntegerTable(n_words + n_exact + 1, width, n_components=7, n_exact=n_exact)
    with torch.no_grad():
        table.numbers.copy_(torch.from_numpy(rng.integers(-127, 128, (n_words, 7))))
        for weight in (table.mean, table.basis, table.exact):
            weight.copy_(torch.from_numpy(rng.standard_normal(weight.shape)))
        expected = table(torch.arange(n_words + n_exact + 1)).numpy()
    found = np.concatenate(list(integer_vectors(arrays(table))))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)
    assert (found[:n_exact] == expected[:n_exact]).all() and not found[-1].any()


@pytest.mark.parametrize("tied", ["three-way", "decoder", "none"])
@pytest.mark.parametrize("stacks", [("encoder",), ("decoder",), ("encoder", "decoder")])
def test_every_table_of_a_compressed_model_has_the_vectors_of_torch(tied: Any, stacks: Any) -> None:
    model, plans = compressed(stacks, tied=tied)
    assert isinstance(model.config, TransformerConfig)
    weights = DenseWeights(model.config, arrays(model), plans, **VOCABULARIES)
    for table in TABLES:
        name = table if f"{table}.weight" in weights else "tgt_table"
        expected = vectors_of(model, table, 40)
        np.testing.assert_allclose(weights[f"{name}.weight"], expected, rtol=1e-5, atol=1e-6)
    for name, expected in arrays(model).items():
        if "table." not in name or "positions" in name:
            np.testing.assert_array_equal(weights[name], expected)


def test_tables_are_untied_if_one_of_them_is_compressed() -> None:
    stacks: tuple[Stack, ...] = ("encoder", "decoder")
    for stack, tied in product(stacks, ("three-way", "decoder")):
        model, plans = compressed((stack,), tied=tied)
        assert isinstance(model.config, TransformerConfig)
        weights = DenseWeights(model.config, arrays(model), plans, **VOCABULARIES)
        assert weights.config.tied == "decoder"
        positions = [weights[f"{side}_embedding.positions.table"] for side in ("src", "tgt")]
        assert (positions[0] == positions[1]).all() is np.bool_(tied == "three-way")


# ---- weights of another model --------------------------------------------------------------------


def test_weights_of_another_model_are_refused(tiny: Tiny) -> None:
    model = tiny(vocab_size=50)
    config, own = model.config, arrays(model)
    assert isinstance(config, TransformerConfig)
    sizes = {"src_vocab_size": 50, "tgt_vocab_size": 50}
    plan = CodedTablePlan(tables=TABLES, n_components=3, n_codes=4)  # type: ignore[arg-type]
    message = "the weights belong to another model: '{}' does not match"
    less = {name: weight for name, weight in own.items() if name != "encoder.0.self_attention.w_o"}
    for stored, plans, vocabularies, name in (
        (less, (), sizes, "encoder.0.self_attention.w_o"),
        (own | {"more": np.zeros(1)}, (), sizes, "more"),
        (own, [plan], sizes, "tgt_table.basis"),
        (own, (), sizes | {"src_vocab_size": 49}, "src_table"),
    ):
        with pytest.raises(ModelError) as error:
            DenseWeights(config, stored, plans, **vocabularies)
        assert str(error.value) == message.format(name)
    weights = DenseWeights(config, own | {"tgt_table.weight": np.zeros((49, 16))}, (), **sizes)
    with pytest.raises(ModelError) as error:
        weights["tgt_table.weight"]
    assert str(error.value) == message.format("tgt_table.weight")


def test_the_weights_are_a_mapping(tiny: Tiny) -> None:
    model = tiny(vocab_size=50)
    assert isinstance(model.config, TransformerConfig)
    weights = DenseWeights(model.config, arrays(model), (), src_vocab_size=50, tgt_vocab_size=50)
    assert set(weights) == set(model.weights()) and len(weights) == len(model.weights())
    assert "tgt_table.packed" not in weights
