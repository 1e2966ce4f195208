"""The weights of Marian, as Hugging Face names them, from and to those of a Transformer.

    Marian's tensor = own tensor[rows], the axis of width d_model in the order of `marian_columns`

Section 3.5 interleaves sines and cosines; Marian has all sines before all cosines. Embeddings,
projections and LayerNorms commute with a permutation of the columns of positions, so every axis of
width d_model is permuted, and the model computes the same.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Array, Floats
from yakusu.engine.packing import sinusoids
from yakusu.engine.shapes import shapes
from yakusu.errors import ModelError
from yakusu.export.reading import Renamed
from yakusu.model.config import TransformerConfig
from yakusu.model.table_plans import Shapes

Columns = NDArray[np.intp]

SHARED = "shared.weight"  # the embeddings of both sides, or TABLES
TABLES = {side: f"{side}.embed_tokens.weight" for side in ("encoder", "decoder")}
POSITIONS = {side: f"{side}.embed_positions.weight" for side in ("encoder", "decoder")}
OUTPUT = "lm_head.weight"
BIAS = "final_logits_bias"
NEVER = np.float32(-1e9)  # output bias of a token that no translation has


class TensorPart(NamedTuple):
    """A tensor of Marian and the rows of an own tensor that it equals.

    Attributes:
        marian: Marian's name, without "model.".
        own: Own name.
        axis: The axis of width d_model; None: there is none.
        rows: The rows of the own tensor; the whole tensor by default.
    """

    marian: str
    own: str
    axis: int | None
    rows: slice = slice(None)


def marian_columns(width: int) -> Columns:
    """The own column of each of Marian's: those of the sines, then those of the cosines."""
    return np.arange(width).reshape(-1, 2).T.ravel()


def own_columns(width: int, *, halved: bool) -> Columns:
    """The column of Marian, or of a model whose sines are interleaved, of each own column."""
    return np.argsort(marian_columns(width)) if halved else np.arange(width)


PositionKind = tuple[Literal["sinusoidal", "tensor2tensor", "learned"], bool]


def kind_of_positions(table: Array, tolerance: float | Array) -> PositionKind:
    """Return the kind of a table of positions, and whether it has all sines before all cosines.

    Args:
        table: (n_positions, d_model).
        tolerance: The largest difference from computed sinusoids, or that of each row.
    """
    n_positions, width = table.shape
    if width % 2:
        return "learned", False
    orders = {True: marian_columns(width), False: np.arange(width)}
    kinds: tuple[Literal["sinusoidal", "tensor2tensor"], ...] = ("sinusoidal", "tensor2tensor")
    for positions in kinds:
        config = TransformerConfig(d_model=width, n_heads=1, positions=positions)
        computed = sinusoids(n_positions, width, config.position_divisor)
        for halved, columns in orders.items():
            if (np.abs(table - computed[:, columns]) <= tolerance).all():
                return positions, halved
    return "learned", False


def to_marian(weights: Mapping[str, Floats], config: TransformerConfig) -> dict[str, Floats]:
    """Return Marian's tensors of both stacks; biases that the model lacks are zero."""
    columns, expected, found = marian_columns(config.d_model), _shapes(config), {}
    for part in stack_parts(config):
        own = weights.get(part.own, np.zeros(expected[part.own], np.float32))[part.rows]
        found[part.marian] = own if part.axis is None else own.take(columns, part.axis)
    return found


def from_marian(
    tensors: Mapping[str, Array], config: TransformerConfig, columns: Columns
) -> dict[str, Floats]:
    """Return the weights of both stacks, with biases of all projections.

    Args:
        tensors: Marian's tensors.
        config: Sizes of the model.
        columns: The result of `own_columns`.

    Raises:
        ModelError: A tensor is missing, has another shape, or contains NaN or infinity.
    """
    expected, rows = _shapes(config), dict[str, list[Floats]]()
    for part in stack_parts(config):
        n_rows, *others = expected[part.own]
        begin, end, _ = part.rows.indices(n_rows)
        tensor = checked(tensors, part.marian, (end - begin, *others))
        own = tensor if part.axis is None else tensor.take(columns, part.axis)
        rows.setdefault(part.own, []).append(own)
    return {name: np.concatenate(parts) for name, parts in rows.items()}


def checked(tensors: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Floats:
    """Return a tensor as float32.

    Raises:
        ModelError: It is missing, has another shape, or contains NaN or infinity.
    """
    original = tensors.original(name) if isinstance(tensors, Renamed) else name
    if name not in tensors:
        raise ModelError(f"the tensor '{original}' is missing")
    tensor = tensors[name]
    if tensor.shape != shape:
        raise ModelError(f"the tensor '{original}' has the shape {tensor.shape} instead of {shape}")
    if tensor.dtype.kind != "f":
        raise ModelError(f"the tensor '{original}' has the type {tensor.dtype} instead of float32")
    with np.errstate(over="ignore"):  # float64 beyond float32 becomes infinity
        floats: Floats = tensor.astype(np.float32, copy=False)
    if not np.isfinite(floats).all():
        raise ModelError(f"the tensor '{original}' contains NaN or infinity")
    return floats


def _shapes(config: TransformerConfig) -> Shapes:
    """Return the shape of each own weight, with biases of all projections."""
    biased = config.model_copy(update={"biases": True})
    return shapes(biased, (), src_vocab_size=1, tgt_vocab_size=1)


def stack_parts(config: TransformerConfig) -> Iterator[TensorPart]:
    """The tensors of both stacks."""
    layers = {"encoder": _encoder_layer, "decoder": _decoder_layer}
    for (side, parts), n_layers in zip(layers.items(), config.depths, strict=True):
        for i in range(n_layers):
            for part in parts(config):
                marian, own = f"{side}.layers.{i}.{part.marian}", f"{side}.{i}.{part.own}"
                yield part._replace(marian=marian, own=own)
        if config.norm == "pre":
            for name in "weight", "bias":
                yield TensorPart(f"{side}.layer_norm.{name}", f"{side}_norm.{name}", 0)


def _encoder_layer(config: TransformerConfig) -> Iterator[TensorPart]:
    yield from _attention("self_attn", "self_attention", config)
    yield from _norm("self_attn_layer_norm", 0)
    yield from _feed_forward(1)


def _decoder_layer(config: TransformerConfig) -> Iterator[TensorPart]:
    yield from _attention("self_attn", "self_attention", config)
    yield from _norm("self_attn_layer_norm", 0)
    yield from _attention("encoder_attn", "cross_attention", config)
    yield from _norm("encoder_attn_layer_norm", 1)
    yield from _feed_forward(2)


def _attention(marian: str, own: str, config: TransformerConfig) -> Iterator[TensorPart]:
    keys, values = config.n_heads * config.d_k, config.n_heads * config.d_v
    rows = {"q": slice(keys), "k": slice(keys, 2 * keys), "v": slice(2 * keys, 2 * keys + values)}
    for letter, own_rows in rows.items():
        yield TensorPart(f"{marian}.{letter}_proj.weight", f"{own}.w_qkv", 1, own_rows)
        yield TensorPart(f"{marian}.{letter}_proj.bias", f"{own}.b_qkv", None, own_rows)
    yield TensorPart(f"{marian}.out_proj.weight", f"{own}.w_o", 0)
    yield TensorPart(f"{marian}.out_proj.bias", f"{own}.b_o", 0)


def _feed_forward(residual: int) -> Iterator[TensorPart]:
    yield TensorPart("fc1.weight", "feed_forward.inner.weight", 1)
    yield TensorPart("fc1.bias", "feed_forward.inner.bias", None)
    yield TensorPart("fc2.weight", "feed_forward.outer.weight", 0)
    yield TensorPart("fc2.bias", "feed_forward.outer.bias", 0)
    yield from _norm("final_layer_norm", residual)


def _norm(marian: str, residual: int) -> Iterator[TensorPart]:
    for part in "weight", "bias":
        yield TensorPart(f"{marian}.{part}", f"residuals.{residual}.norm.{part}", 0)
