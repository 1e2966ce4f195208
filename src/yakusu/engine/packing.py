"""The weights of a Transformer -> the matrices and vectors that the library packs.

Widths are padded with zeros to multiples of 16: each head, `d_model`, `d_ff` and the vocabulary.
Padding changes no result, except that quantisation sees the zeros, too.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from yakusu.engine.library import Config, Matrix
from yakusu.errors import ModelError
from yakusu.model.config import TransformerConfig

Array = NDArray[np.float32]
Weights = Mapping[str, Array]
LANES = 16
ZEROS = -1  # the decoder starts with the zero vector
ACTIVATIONS = ("relu", "silu", "gelu")  # in the order of native/engine.h
EPSILON = 1e-5  # of LayerNorm


def padded(n: int) -> int:
    """The next multiple of 16."""
    return -(-n // LANES) * LANES


def spread(x: Array, axis: int, size: int) -> Array:
    """Pad each group of `size` elements along an axis to a multiple of 16."""
    x = np.moveaxis(x, axis, 0)
    groups = x.reshape(-1, size, *x.shape[1:])
    missing = [(0, 0)] * groups.ndim
    missing[1] = (0, padded(size) - size)
    return np.moveaxis(np.pad(groups, missing).reshape(-1, *x.shape[1:]), 0, axis)


def sinusoids(n_positions: int, d_model: int) -> Array:
    """The table of section 3.5, sines and cosines interleaved: (n_positions, d_model)."""
    angle = np.arange(n_positions)[:, None] / 10_000 ** (np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(n_positions, d_model)


@dataclass
class Packing:
    """What `yk_model` takes, in the order of Figure 1.

    Args:
        config: Sizes of the model.
        weights: Its tensors by name.
        n_tokens: Sizes of the source and target vocabularies, without padding.
        n_positions: Number of positions.
        int8: Round matrices to integers.
    """

    config: TransformerConfig
    weights: Weights
    n_tokens: tuple[int, int]
    n_positions: int
    int8: bool
    matrices: list[Matrix] = field(default_factory=list)
    vectors: list[Array] = field(default_factory=list)
    _kept: list[Array] = field(default_factory=list)  # the arrays that `matrices` point to

    def __post_init__(self) -> None:
        self._tables()
        for side, depth in zip(("encoder", "decoder"), self.config.depths, strict=True):
            for layer in range(depth):
                self._layer(f"{side}.{layer}.", decoder=side == "decoder")
        if self.config.norm == "pre":
            self._norm("encoder_norm")
            self._norm("decoder_norm")

    def sizes(self) -> Config:
        """The sizes of the model."""
        config, (n_encoder_layers, n_decoder_layers) = self.config, self.config.depths
        return Config(
            d_model=config.d_model,
            n_heads=config.n_heads,
            d_k=config.d_k,
            d_v=config.d_v,
            d_ff=config.d_ff,
            n_encoder_layers=n_encoder_layers,
            n_decoder_layers=n_decoder_layers,
            src_vocab_size=self.n_tokens[0],
            tgt_vocab_size=self.n_tokens[1],
            n_positions=self.n_positions,
            pre_norm=config.norm == "pre",
            activation=ACTIVATIONS.index(config.activation),
            int8=self.int8,
            tied_source=config.tied == "three-way",
            tied_output=config.tied != "none",
            start=ZEROS if config.start_id is None else config.start_id,
            eos=0,
            unk=1,
            score_scale=1 / math.sqrt(config.d_k) if config.score == "scaled" else 1,
            embedding_scale=math.sqrt(config.d_model) if config.scale_embeddings else 1,
            epsilon=EPSILON,
        )

    # ---- tables ----------------------------------------------------------------------------------

    def _tables(self) -> None:
        """The target, source and output tables, and the positions of both sides."""
        n_source, n_target = self.n_tokens
        self._table("tgt_table", n_target, is_output=self.config.tied != "none")
        if self.config.tied != "three-way":
            self._table("src_table", n_source, is_output=False)
        if self.config.tied == "none":
            self._table("output_table", n_target, is_output=True)
        own = "tgt" if self.config.tied == "three-way" else "src"
        for side in own, "tgt":
            self.vectors.append(self._positions(f"{side}_embedding.positions.table"))

    def _table(self, name: str, n_tokens: int, *, is_output: bool) -> None:
        rows = self.weights[f"{name}.weight"][:n_tokens]
        bias = np.zeros(padded(n_tokens), np.float32)
        if is_output:
            bias[:n_tokens] = self.weights.get("output_bias", 0)
            bias[n_tokens:] = -np.inf  # padding is never generated
        self._add(spread(spread(rows, 0, n_tokens), 1, self.config.d_model), bias)

    def _positions(self, name: str) -> Array:
        d_model = self.config.d_model
        learned = self.config.positions == "learned"
        table = self.weights[name] if learned else sinusoids(self.n_positions, d_model)
        return self._own(spread(table, 1, d_model))

    # ---- layers ----------------------------------------------------------------------------------

    def _layer(self, prefix: str, *, decoder: bool) -> None:
        self._attention(prefix + "self_attention", ("qkv",))
        self._norm(prefix + "residuals.0.norm")
        if decoder:
            self._attention(prefix + "cross_attention", ("q", "kv"))
            self._norm(prefix + "residuals.1.norm")
        d_model, d_ff = self.config.d_model, self.config.d_ff
        for name, n_out, n_in in ("inner", d_ff, d_model), ("outer", d_model, d_ff):
            weight = self.weights[f"{prefix}feed_forward.{name}.weight"]
            bias = self.weights[f"{prefix}feed_forward.{name}.bias"]
            self._add(spread(spread(weight, 0, n_out), 1, n_in), spread(bias, 0, n_out))
        self._norm(f"{prefix}residuals.{1 + decoder}.norm")

    def _attention(self, prefix: str, groups: tuple[str, ...]) -> None:
        """W^Q, W^K and W^V with padded heads, those of a group in one matrix, and W^O."""
        config, n_heads = self.config, self.config.n_heads
        ends = np.cumsum([n_heads * config.d_k, n_heads * config.d_k, n_heads * config.d_v])
        weights = np.split(self.weights[f"{prefix}.w_qkv"], ends[:2])
        biases = np.split(self._bias(f"{prefix}.b_qkv", int(ends[2])), ends[:2])
        sizes = {"q": config.d_k, "k": config.d_k, "v": config.d_v}
        parts = {
            name: (spread(spread(weight, 0, size), 1, config.d_model), spread(bias, 0, size))
            for (name, size), weight, bias in zip(sizes.items(), weights, biases, strict=True)
        }
        for group in groups:
            rows, bias = zip(*(parts[name] for name in group), strict=True)
            self._add(np.concatenate(rows), np.concatenate(bias))
        w_o = spread(self.weights[f"{prefix}.w_o"], 1, config.d_v)
        b_o = self._bias(f"{prefix}.b_o", config.d_model)
        self._add(spread(w_o, 0, config.d_model), spread(b_o, 0, config.d_model))

    def _bias(self, name: str, size: int) -> Array:
        """A bias of attention; zeros without `biases`."""
        return self.weights[name] if self.config.biases else np.zeros(size, np.float32)

    def _norm(self, name: str) -> None:
        for part in "weight", "bias":
            self.vectors.append(
                self._own(spread(self.weights[f"{name}.{part}"], 0, self.config.d_model))
            )

    # ---- memory ----------------------------------------------------------------------------------

    def _own(self, x: Array) -> Array:
        """The array in the order of C, kept while this object exists."""
        x = np.ascontiguousarray(x, np.float32)
        if not np.isfinite(x[np.isfinite(x) | np.isnan(x)]).all():
            raise ModelError("a weight is NaN: train the model again")
        self._kept.append(x)
        return x

    def _add(self, rows: Array, bias: Array) -> None:
        rows, bias = self._own(rows), self._own(bias)
        self.matrices.append(Matrix(rows.ctypes.data, bias.ctypes.data, *rows.shape))
