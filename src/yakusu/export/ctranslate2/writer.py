"""Writes a model for CTranslate2.

model.bin                                   weights, as float32 or with 8 bits per weight
config.json                                 special tokens
shared_vocabulary.json                      the piece of each row
source_vocabulary.json, target_vocabulary.json    the same, if the sides differ

CTranslate2 adds a table of positions to the embeddings, so sines and cosines stay interleaved.
Positions after the end of this table have no vector. Tables need no row for padding. Two settings
make the decoder start from the zero vector and append eos to each source.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from yakusu.arrays import Floats
from yakusu.engine.packing import sinusoids
from yakusu.model.config import TransformerConfig

N_POSITIONS = 1024  # of a model with sinusoids
ACTIVATIONS = {"relu": 0, "silu": 2, "gelu": 3}  # ctranslate2.specs.common_spec.Activation


def write_ctranslate2(
    folder: Path,
    weights: Mapping[str, Floats],
    config: TransformerConfig,
    *,
    source: list[str],
    target: list[str],
    precision: Literal["float32", "int8"],
) -> None:
    """Write the files that `ctranslate2.Translator` opens.

    Args:
        folder: An existing folder; files of an earlier call are replaced.
        weights: The weights, with a row for padding at the end of each table.
        config: Sizes of the model.
        source: The piece of each source id, without padding.
        target: The piece of each target id, without padding; the first are eos and unk.
        precision: How matrices and tables are written.
    """
    spec = _specification(weights, config)
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    special, (eos, unk) = spec.config, target[:2]
    start = eos if config.start_id is None else target[config.start_id]
    special.bos_token = special.decoder_start_token = start
    special.eos_token, special.unk_token = eos, unk
    special.add_source_bos, special.add_source_eos = False, config.source_eos
    spec.validate()
    spec.optimize(None if precision == "float32" else precision)
    spec.save(str(folder))


def _specification(weights: Mapping[str, Floats], config: TransformerConfig) -> Any:
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.common_spec import Activation

    spec = TransformerSpec.from_config(
        config.depths,
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation=Activation(ACTIVATIONS[config.activation]),
    )
    filling = _Filling(weights, config)
    filling.tables(spec)
    for side in "encoder", "decoder":
        stack = getattr(spec, side)
        for i, layer in enumerate(stack.layer):
            filling.layer(layer, f"{side}.{i}.", decodes=side == "decoder")
        if config.norm == "pre":
            filling.norm(stack.layer_norm, f"{side}_norm")
    return spec


class _Filling:
    """Puts weights into a specification of CTranslate2.

    Args:
        weights: The weights.
        config: Sizes of the model.
    """

    def __init__(self, weights: Mapping[str, Floats], config: TransformerConfig) -> None:
        self._weights, self._config = weights, config

    def tables(self, spec: Any) -> None:
        """Set the embeddings, the positions and the output layer; equal tables are stored once."""
        config, encoder, decoder = self._config, spec.encoder, spec.decoder
        three_way = config.tied == "three-way"
        target = decoder.embeddings.weight = self._table("tgt_table")
        encoder.embeddings[0].weight = target if three_way else self._table("src_table")
        for stack, side in (encoder, "tgt" if three_way else "src"), (decoder, "tgt"):
            stack.scale_embeddings = config.scale_embeddings
            stack.position_encodings.encodings = self._positions(side)
        decoder.start_from_zero_embedding = config.start_id is None
        tied_output = config.tied != "none"
        decoder.projection.weight = target if tied_output else self._table("output_table")
        if config.output_bias:
            decoder.projection.bias = self._weight("output_bias")

    def layer(self, spec: Any, prefix: str, *, decodes: bool) -> None:
        """Set a layer of a stack."""
        own = self._projections(f"{prefix}self_attention")
        self._attention(spec.self_attention, [own], f"{prefix}self_attention")
        self.norm(spec.self_attention.layer_norm, f"{prefix}residuals.0.norm")
        if decodes:
            rows, bias = self._projections(f"{prefix}cross_attention")
            n = self._config.n_heads * self._config.d_k
            parts = [(rows[:n], bias[:n]), (rows[n:], bias[n:])]
            self._attention(spec.attention, parts, f"{prefix}cross_attention")
            self.norm(spec.attention.layer_norm, f"{prefix}residuals.1.norm")
        for part, linear in ("inner", spec.ffn.linear_0), ("outer", spec.ffn.linear_1):
            linear.weight = self._weight(f"{prefix}feed_forward.{part}.weight")
            linear.bias = self._weight(f"{prefix}feed_forward.{part}.bias")
        self.norm(spec.ffn.layer_norm, f"{prefix}residuals.{1 + decodes}.norm")

    def norm(self, spec: Any, name: str) -> None:
        """Set a LayerNorm."""
        spec.gamma, spec.beta = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")

    def _weight(self, name: str) -> Floats:
        """Return a copy, because the library rounds weights in place."""
        return self._weights[name].copy()

    def _table(self, name: str) -> Floats:
        return self._weight(f"{name}.weight")[:-1]  # the last row is that of padding

    def _positions(self, side: str) -> Floats:
        if self._config.positions == "learned":
            return self._weight(f"{side}_embedding.positions.table")
        return sinusoids(N_POSITIONS, self._config.d_model, self._config.position_divisor)

    def _projections(self, name: str) -> tuple[Floats, Floats]:
        """Return W^Q, W^K and W^V in one matrix, and their biases."""
        rows = self._weight(f"{name}.w_qkv")
        return rows, self._bias(f"{name}.b_qkv", len(rows))

    def _attention(self, spec: Any, parts: list[tuple[Floats, Floats]], name: str) -> None:
        outer = self._weight(f"{name}.w_o"), self._bias(f"{name}.b_o", self._config.d_model)
        for linear, (rows, bias) in zip(spec.linear, [*parts, outer], strict=True):
            linear.weight, linear.bias = rows, bias

    def _bias(self, name: str, size: int) -> Floats:
        return self._weight(name) if self._config.biases else np.zeros(size, np.float32)
