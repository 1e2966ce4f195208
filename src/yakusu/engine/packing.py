"""The weights of a Transformer -> the matrices and vectors that the library packs.

Widths are padded with zeros to multiples of 16: each head, `d_model`, `d_ff` and the vocabulary.
Padding changes no result, except that quantisation sees the zeros, too.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from yakusu.engine.library import Config, Matrix
from yakusu.errors import ModelError
from yakusu.model.config import TransformerConfig

Array = NDArray[np.float32]
Weights = Mapping[str, Array]
LANES = 16
START = -1  # the decoder starts with the zero vector
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
        for side in "encoder", "decoder":
            for layer in range(self.config.n_layers):
                self._layer(f"{side}.{layer}.", decoder=side == "decoder")
        if self.config.norm == "pre":
            self._norm("encoder_norm")
            self._norm("decoder_norm")

    def sizes(self) -> Config:
        """The sizes of the model."""
        config = self.config
        return Config(
            d_model=config.d_model,
            n_heads=config.n_heads,
            d_k=config.d_k,
            d_v=config.d_v,
            d_ff=config.d_ff,
            n_encoder_layers=config.n_layers,
            n_decoder_layers=config.n_layers,
            src_vocab_size=self.n_tokens[0],
            tgt_vocab_size=self.n_tokens[1],
            n_positions=self.n_positions,
            pre_norm=config.norm == "pre",
            activation=0,
            int8=self.int8,
            tied_source=config.tied == "three-way",
            tied_output=config.tied != "none",
            start=START,
            eos=0,
            unk=1,
            score_scale=1 / math.sqrt(config.d_k) if config.score == "scaled" else 1,
            embedding_scale=math.sqrt(config.d_model),
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
        bias[n_tokens:] = -np.inf if is_output else 0  # padding is never generated
        self._add(spread(spread(rows, 0, n_tokens), 1, self.config.d_model), bias)

    def _positions(self, name: str) -> Array:
        d_model = self.config.d_model
        learned = self.config.positions == "learned"
        table = self.weights[name] if learned else sinusoids(self.n_positions, d_model)
        return self._own(spread(table, 1, d_model))

    # ---- layers ----------------------------------------------------------------------------------

    def _layer(self, prefix: str, *, decoder: bool) -> None:
        query, key, value = self._projections(prefix + "self_attention")
        self._add(np.concatenate([query, key, value]))
        self._output(prefix + "self_attention")
        self._norm(prefix + "residuals.0.norm")
        if decoder:
            query, key, value = self._projections(prefix + "cross_attention")
            self._add(query)
            self._add(np.concatenate([key, value]))
            self._output(prefix + "cross_attention")
            self._norm(prefix + "residuals.1.norm")
        d_model, d_ff = self.config.d_model, self.config.d_ff
        for name, n_out, n_in in ("inner", d_ff, d_model), ("outer", d_model, d_ff):
            weight = self.weights[f"{prefix}feed_forward.{name}.weight"]
            bias = self.weights[f"{prefix}feed_forward.{name}.bias"]
            self._add(spread(spread(weight, 0, n_out), 1, n_in), spread(bias, 0, n_out))
        self._norm(f"{prefix}residuals.{1 + decoder}.norm")

    def _projections(self, prefix: str) -> Iterator[Array]:
        """W^Q, W^K and W^V with padded heads."""
        config, end = self.config, 0
        for size in config.d_k, config.d_k, config.d_v:
            start, end = end, end + config.n_heads * size
            rows = self.weights[f"{prefix}.w_qkv"][start:end]
            yield spread(spread(rows, 0, size), 1, config.d_model)

    def _output(self, prefix: str) -> None:
        """W^O."""
        rows = self.weights[f"{prefix}.w_o"]
        self._add(spread(spread(rows, 1, self.config.d_v), 0, self.config.d_model))

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

    def _add(self, rows: Array, bias: Array | None = None) -> None:
        rows = self._own(rows)
        at = self._own(bias).ctypes.data if bias is not None else None
        self.matrices.append(Matrix(rows.ctypes.data, at, *rows.shape))
