"""The weights of a Transformer -> the matrices and vectors that the library holds.

Each weight is read, packed and released before the next one; tables a block of rows at a time.
Widths are padded with zeros to multiples of 16: `d_model`, `d_ff`, the vocabulary, and the heads of
a group together. Padding changes no result, except that the rounding of a row includes its zeros.
"""

import math
from collections.abc import Iterable
from ctypes import byref, c_void_p
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Floats
from yakusu.engine.library import LANES, NOT_FINITE, PACKED, MatrixFormat, ModelSizes, library
from yakusu.engine.tables import DenseWeights
from yakusu.errors import ModelError
from yakusu.model.config import TransformerConfig

ZEROS = -1  # the decoder starts with the zero vector
ACTIVATIONS = ("relu", "silu", "gelu")  # in the order of native/engine.h
EPSILON = 1e-5  # of LayerNorm
_STEPS = 64


def padded(n: int) -> int:
    """The next multiple of 16."""
    return -(-n // LANES) * LANES


def spread(x: Floats, axis: int, size: int) -> Floats:
    """Pad each group of `size` elements along an axis to a multiple of 16."""
    if size == padded(size):
        return x
    x = np.moveaxis(x, axis, 0)
    groups = x.reshape(-1, size, *x.shape[1:])
    missing = [(0, 0)] * groups.ndim
    missing[1] = (0, padded(size) - size)
    return np.moveaxis(np.pad(groups, missing).reshape(-1, *x.shape[1:]), 0, axis)


def beside(x: Floats, axis: int, n_heads: int) -> Floats:
    """Interleave the heads along an axis: element d of head h at index d H + h, see attention.h.

    H is `n_heads`, padded to a power of 2; above 16, there are groups of 16 heads.
    """
    lanes = min(LANES, 1 << (n_heads - 1).bit_length())
    x = np.moveaxis(x, axis, 0)
    heads = x.reshape(n_heads, -1, *x.shape[1:])
    if missing := -n_heads % lanes:
        heads = np.pad(heads, [(0, missing)] + [(0, 0)] * (heads.ndim - 1))
    groups = heads.reshape(-1, lanes, *heads.shape[1:]).swapaxes(1, 2)
    rows = groups.reshape(-1, *x.shape[1:])
    return np.moveaxis(spread(rows, 0, heads.shape[1] * lanes), 0, axis)


def sinusoids(n_positions: int, d_model: int, divisor: int | None = None) -> Floats:
    """The table of section 3.5, sines and cosines interleaved: (n_positions, d_model).

    Args:
        n_positions: Number of rows.
        d_model: The width.
        divisor: `TransformerConfig.position_divisor`; None: d_model, as in the paper.

    i exp(-i a) = sin a + i cos a, and the exponential of a sum is a product, so that only few
    exponentials are computed. The powers are the C library's: numpy's own differ with AVX-512.
    """
    powers = [10_000.0 ** (two_i / (divisor or d_model)) for two_i in range(0, d_model, 2)]
    rates = -1j / np.array(powers)
    starts, steps = np.arange(0, n_positions, _STEPS), np.arange(_STEPS)
    turns = 1j * np.exp(starts[:, None] * rates)[:, None] * np.exp(steps[:, None] * rates)
    table: NDArray[np.float64] = turns.reshape(-1, len(rates))[:n_positions].view(np.float64)
    return table.astype(np.float32)


def model_sizes(
    config: TransformerConfig, n_tokens: tuple[int, int], n_positions: int
) -> ModelSizes:
    """The sizes of a model without compressed tables; see `Packing`."""
    n_encoder_layers, n_decoder_layers = config.depths
    return ModelSizes(
        d_model=config.d_model,
        n_heads=config.n_heads,
        d_k=config.d_k,
        d_v=config.d_v,
        d_ff=config.d_ff,
        n_encoder_layers=n_encoder_layers,
        n_decoder_layers=n_decoder_layers,
        src_vocab_size=n_tokens[0],
        tgt_vocab_size=n_tokens[1],
        n_positions=n_positions,
        pre_norm=config.norm == "pre",
        activation=ACTIVATIONS.index(config.activation),
        tied_source=config.tied == "three-way",
        tied_output=config.tied != "none",
        start=ZEROS if config.start_id is None else config.start_id,
        eos=0,
        unk=1,
        counts_words=config.counts_words,
        score_scale=1 / math.sqrt(config.d_k) if config.score == "scaled" else 1,
        embedding_scale=math.sqrt(config.d_model) if config.scale_embeddings else 1,
        epsilon=EPSILON,
    )


@dataclass
class Packing:
    """The matrices and vectors of a model, in the order of Figure 1.

    Args:
        weights: Its tensors by name, and its sizes.
        n_tokens: Sizes of the source and target vocabularies, without padding.
        n_positions: Number of positions.
        matrices: Their numbers.

    Raises:
        ModelError: A weight is NaN or infinite, or of another model.
        MemoryError: There is not enough memory.
    """

    weights: DenseWeights
    n_tokens: tuple[int, int]
    n_positions: int
    matrices: MatrixFormat
    _matrices: list[int] = field(default_factory=list)  # their addresses in the library
    _vectors: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.config: TransformerConfig = self.weights.config
        self._tables()
        for side, depth in zip(("encoder", "decoder"), self.config.depths, strict=True):
            for layer in range(depth):
                self._layer(f"{side}.{layer}.", decoder=side == "decoder")
        if self.config.norm == "pre":
            self._norm("encoder_norm")
            self._norm("decoder_norm")

    def __del__(self) -> None:
        for matrix in self._matrices:
            library().yk_free_matrix(matrix)

    def model(self) -> int:
        """Move everything into a model of the library; return its address.

        Raises:
            MemoryError: There is not enough memory.
        """
        matrices = (c_void_p * len(self._matrices))(*self._matrices)
        vectors = (c_void_p * len(self._vectors))(*(v.ctypes.data for v in self._vectors))
        sizes = model_sizes(self.config, self.n_tokens, self.n_positions)
        model: int | None = library().yk_model(byref(sizes), matrices, vectors)
        if not model:
            raise MemoryError
        self._matrices.clear()
        return model

    # ---- tables ----------------------------------------------------------------------------------

    def _tables(self) -> None:
        """The target, source and output tables, and the positions of both sides."""
        n_source, n_target = self.n_tokens
        self._table("tgt_table", n_target, is_output=self.config.tied != "none")
        if self.config.tied != "three-way":
            self._table("src_table", n_source, is_output=False)
        if self.config.tied == "none":
            self._table("output_table", n_target, is_output=True)
        self._positions()

    def _table(self, name: str, n_tokens: int, *, is_output: bool) -> None:
        bias = np.zeros(padded(n_tokens), np.float32)
        if is_output:
            if self.config.output_bias:
                bias[:n_tokens] = self._vector("output_bias")
            bias[n_tokens:] = -np.inf  # padding is never generated
        d_model = self.config.d_model
        blocks = (spread(block, 1, d_model) for block in self.weights.vectors(name, n_tokens))
        self._add(f"{name}.weight", blocks, bias, padded(d_model))

    def _positions(self) -> None:
        d_model, learned = self.config.d_model, self.config.positions == "learned"
        if learned and self.config.tied != "three-way":
            names = [f"{side}_embedding.positions.table" for side in ("src", "tgt")]
            tables = [spread(self._vector(name), 1, d_model) for name in names]
        elif learned:
            tables = [spread(self._vector("tgt_embedding.positions.table"), 1, d_model)]
        else:
            table = sinusoids(self.n_positions, d_model, self.config.position_divisor)
            tables = [spread(table, 1, d_model)]
        if not self.config.counts_words:
            self._vectors += [np.ascontiguousarray(tables[i]) for i in (0, -1)]
            return
        of_words = np.arange(padded(d_model)) // 2 % 2 == 1  # as in model/layers.py
        positions, words = (np.where(of_words == own, tables[0], 0) for own in (False, True))
        begins = [self._vector(f"{side}_words") for side in ("src", "tgt")]
        self._vectors += [positions, positions, words, *begins]

    # ---- layers ----------------------------------------------------------------------------------

    def _layer(self, prefix: str, *, decoder: bool) -> None:
        self._attention(prefix + "self_attention", ("qkv",))
        self._norm(prefix + "residuals.0.norm")
        if decoder:
            self._attention(prefix + "cross_attention", ("q", "kv"))
            self._norm(prefix + "residuals.1.norm")
        d_model, d_ff = self.config.d_model, self.config.d_ff
        for name, n_out, n_in in ("inner", d_ff, d_model), ("outer", d_model, d_ff):
            weight = f"{prefix}feed_forward.{name}.weight"
            bias = spread(self._vector(f"{prefix}feed_forward.{name}.bias"), 0, n_out)
            self._add(weight, [spread(self.weights[weight], 1, n_in)], bias, padded(n_in))
        self._norm(f"{prefix}residuals.{1 + decoder}.norm")

    def _attention(self, prefix: str, groups: tuple[str, ...]) -> None:
        self._projections(prefix, groups)
        bias = spread(self._bias(f"{prefix}.b_o", self.config.d_model), 0, self.config.d_model)
        rows = beside(self.weights[f"{prefix}.w_o"], 1, self.config.n_heads)
        self._add(f"{prefix}.w_o", [rows], bias, rows.shape[1])

    def _projections(self, prefix: str, groups: tuple[str, ...]) -> None:
        """W^Q, W^K and W^V with interleaved heads; those of a group are one matrix."""
        config, n_heads = self.config, self.config.n_heads
        ends = n_heads * np.cumsum([config.d_k, config.d_k, config.d_v])
        name, bias = f"{prefix}.w_qkv", self._bias(f"{prefix}.b_qkv", int(ends[-1]))
        rows = dict(zip("qkv", np.split(self.weights[name], ends[:-1]), strict=True))
        biases = dict(zip("qkv", np.split(bias, ends[:-1]), strict=True))
        for group in groups:
            blocks = (spread(beside(rows[x], 0, n_heads), 1, config.d_model) for x in group)
            own = np.concatenate([beside(biases[x], 0, n_heads) for x in group])
            self._add(name, blocks, own, padded(config.d_model))

    def _bias(self, name: str, size: int) -> Floats:
        """A bias of attention; zeros without `biases`."""
        return self._vector(name) if self.config.biases else np.zeros(size, np.float32)

    def _norm(self, name: str) -> None:
        for part in "weight", "bias":
            vector = spread(self._vector(f"{name}.{part}"), 0, self.config.d_model)
            self._vectors.append(np.ascontiguousarray(vector))

    # ---- the library -----------------------------------------------------------------------------

    def _vector(self, name: str) -> Floats:
        """A weight that is not packed.

        Raises:
            ModelError: It is not finite.
        """
        x = self.weights[name]
        if not np.isfinite(x).all():
            raise _not_finite(name)
        return x

    def _add(self, name: str, blocks: Iterable[Floats], bias: Floats, n_in: int) -> None:
        """Pack a matrix (len(bias), n_in) a block of rows at a time; the other rows are zeros."""
        bias = np.ascontiguousarray(bias)
        matrix = library().yk_matrix(len(bias), n_in, bias.ctypes.data, self.matrices)
        if not matrix:
            raise MemoryError
        self._matrices.append(matrix)
        first = 0
        for block in blocks:
            rows = np.ascontiguousarray(block)
            assert rows.dtype == np.float32 and rows.shape[1] == n_in
            done = library().yk_pack(matrix, first, rows.ctypes.data, len(rows))
            if done == NOT_FINITE:
                raise _not_finite(name)
            if done != PACKED:
                raise MemoryError
            first += len(rows)
        assert first <= len(bias)


def _not_finite(name: str) -> ModelError:
    return ModelError(
        f"the weight '{name}' has a number that is NaN or infinite: train the model again"
    )
