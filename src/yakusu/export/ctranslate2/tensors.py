"""The variables of a Transformer of CTranslate2 -> tensors with the names of marian.py.

Of each attention, linear_0 has the rows of queries, keys and values; between the stacks, linear_0
has those of queries, and linear_1 those of keys and values. Biases may be missing. A variable that
is not read is an error, because it may belong to a layer that a Transformer of yakusu lacks.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from yakusu.arrays import Floats
from yakusu.errors import ModelError
from yakusu.export.ctranslate2.file import Variables
from yakusu.export.ctranslate2.writer import ACTIVATIONS, N_POSITIONS
from yakusu.export.marian import (
    BIAS,
    OUTPUT,
    POSITIONS,
    TABLES,
    PositionKind,
    checked,
    kind_of_positions,
)
from yakusu.model.config import TransformerConfig

_SIDES = ("encoder", "decoder")
_HEADS = {"TransformerBig": 16}  # of older models, which do not state the number of heads
_WIDEST = 2**16
# Settings: those that are read, those without effect, and those that must be zero.
_READ = ("num_heads", "pre_norm", "activation", "scale_embeddings", "start_from_zero_embedding")
_WITHOUT_EFFECT = (
    *("alignment_layer", "alignment_heads", "embeddings_merge", "alibi_use_positive_positions"),
    *("scale_alibi", "with_source_bos", "with_source_eos", "with_target_bos", "unk_token"),
    *("bos_token", "eos_token", "user_decoder_start_tokens", "multiply_by_sqrt_depth"),
)
_ZERO = ("alibi", "multi_query_attention", "with_relative_position", "layernorm_embedding")


@dataclass(frozen=True)
class Stacks:
    """A Transformer.

    Attributes:
        config: Its sizes.
        tensors: Its tensors.
        shared: Whether both sides have the same table and the same positions.
        halved: Whether all sines precede all cosines.
    """

    config: TransformerConfig
    tensors: dict[str, Floats]
    shared: bool
    halved: bool


def read_stacks(variables: Variables) -> Stacks:
    """Read the weights of a Transformer.

    Raises:
        ModelError: A variable is missing or has another shape, a size is invalid, or there are
            layers of another kind.
    """
    reader = _Reader(variables)
    values = reader.sizes()
    positions = {side: reader.positions(side, reader.width) for side in _SIDES}
    kinds = {_kind(table) for table in positions.values()}
    kind, halved = kinds.pop() if len(kinds) == 1 else ("learned", False)
    values["positions"] = kind
    if learned := kind == "learned":
        n_positions = min(map(len, positions.values()))
        values["max_positions"] = n_positions
        positions = {side: table[:n_positions] for side, table in positions.items()}
    try:
        config = TransformerConfig.model_validate(values)
    except ValueError as error:
        raise ModelError(f"model.bin is invalid: {error}") from error
    tensors = reader.tensors(config)
    reader.check_all_were_read()
    shared = np.array_equal(tensors[TABLES["encoder"]], tensors[TABLES["decoder"]])
    if learned:
        shared = shared and np.array_equal(positions["encoder"], positions["decoder"])
        tensors |= {POSITIONS[side]: table for side, table in positions.items()}
    return Stacks(config, tensors, shared, halved)


class _Reader:
    """Reads variables, and remembers which.

    Args:
        variables: The variables of the file.

    Attributes:
        width: Width of the target table.

    Raises:
        ModelError: A table is missing, or is not a matrix.
    """

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self._read = set[str]()
        tables = [variables.shape(self._embeddings(side)) for side in _SIDES]
        if any(len(shape) != 2 or not 0 < shape[1] <= _WIDEST for shape in tables):
            raise ModelError(f"the tables have the shapes {tables[0]} and {tables[1]}")
        self.width = tables[1][1]

    # ---- sizes -----------------------------------------------------------------------------------

    def sizes(self) -> dict[str, int | bool | str]:
        """Return the settings of a `TransformerConfig` except its positions."""
        variables = self._variables
        inner = variables.shape("encoder/layer_0/ffn/linear_0/weight")
        activation, names = self._same("activation", 0), {v: k for k, v in ACTIVATIONS.items()}
        if activation not in names:
            raise ModelError(
                f"the activation {activation:g} is not supported, only "
                f"{', '.join(f'{number} ({name})' for number, name in names.items())}"
            )
        heads = _HEADS.get(variables.specification, 8)
        return {
            "d_model": self.width,
            "n_encoder_layers": self._depth("encoder"),
            "n_decoder_layers": self._depth("decoder"),
            "d_ff": inner[0] if inner else 0,
            "n_heads": int(self._same("num_heads", heads)),
            "norm": "pre" if self._same("pre_norm", 1) else "post",
            "activation": names[int(activation)],
            "scale_embeddings": self._scaled(self.width),
        }

    def _embeddings(self, side: str) -> str:
        names = (f"{side}/embeddings/weight", f"{side}/embeddings_0/weight")
        return names[1] if names[1] in self._variables else names[0]

    def _depth(self, side: str) -> int:
        depth = 0
        while f"{side}/layer_{depth}/ffn/linear_0/weight" in self._variables:
            depth += 1
        return depth

    def _same(self, name: str, default: float) -> float:
        """Return a setting that must be the same on both sides."""
        older = self._variables.number(name, default)  # one for both sides
        one, other = (self._variables.number(f"{side}/{name}", older) for side in _SIDES)
        if one != other:
            raise ModelError(
                f"encoder/{name} = {one:g} and decoder/{name} = {other:g} are not equal"
            )
        return one

    def _scaled(self, width: int) -> bool:
        """Whether embeddings are multiplied by sqrt(d_model); the setting may be the factor."""
        found = set[bool]()
        for side in _SIDES:
            older = self._variables.number(f"{side}/embeddings/multiply_by_sqrt_depth", 1)
            factor = self._variables.number(f"{side}/scale_embeddings", older)
            if factor not in (0, 1) and not np.isclose(factor, width**0.5):
                raise ModelError(f"{side}/scale_embeddings = {factor:g} is not supported")
            name = f"{side}/scale_embeddings"
            is_factor = name in self._variables and self._variables[name].dtype.kind == "f"
            found.add(factor not in (0, 1) if is_factor else bool(factor))
        if len(found) > 1:
            raise ModelError("encoder/scale_embeddings and decoder/scale_embeddings are not equal")
        return found.pop()

    # ---- tensors ---------------------------------------------------------------------------------

    def positions(self, side: str, width: int) -> Floats:
        """Return the table of positions; computed as the library does if there is none."""
        name = f"{side}/position_encodings/encodings"
        if name not in self._variables:
            return _timing_signal(N_POSITIONS, width)
        shape = self._variables.shape(name)
        table = self._take(name, shape)
        if shape[-1:] != (width,) or table.size != width * (shape[-2] if len(shape) > 1 else 0):
            raise ModelError(f"the tensor '{name}' has the shape {shape}")
        return table.reshape(-1, width)

    def tensors(self, config: TransformerConfig) -> dict[str, Floats]:
        """Return all tensors except positions."""
        width, found = config.d_model, dict[str, Floats]()
        for side in _SIDES:
            name = self._embeddings(side)
            rows = self._variables.shape(name)[0]
            found[TABLES[side]] = self._take(name, (rows, width))
        n_tokens = len(found[TABLES["decoder"]])
        found[OUTPUT] = self._take("decoder/projection/weight", (n_tokens, width))
        found[BIAS] = self._bias("decoder/projection/bias", n_tokens)[None]
        for side, depth in zip(_SIDES, config.depths, strict=True):
            if config.norm == "pre":
                found |= self._norm(f"{side}/layer_norm", f"{side}.layer_norm", width)
            for i in range(depth):
                found |= self._layer(f"{side}/layer_{i}/", f"{side}.layers.{i}.", config)
        return found

    def _layer(self, own: str, marian: str, config: TransformerConfig) -> dict[str, Floats]:
        found = self._attention(
            f"{own}self_attention", f"{marian}self_attn", config.d_model, ("qkv",)
        )
        found |= self._norms(own, marian, config.d_model)
        if own.startswith("decoder"):
            groups = ("q", "kv")
            found |= self._attention(
                f"{own}attention", f"{marian}encoder_attn", config.d_model, groups
            )
        for i, n_out, n_in in (0, config.d_ff, config.d_model), (1, config.d_model, config.d_ff):
            name = f"{own}ffn/linear_{i}"
            found[f"{marian}fc{i + 1}.weight"] = self._take(f"{name}/weight", (n_out, n_in))
            found[f"{marian}fc{i + 1}.bias"] = self._bias(f"{name}/bias", n_out)
        return found

    def _norms(self, own: str, marian: str, width: int) -> dict[str, Floats]:
        names = {"self_attention": "self_attn_layer_norm", "ffn": "final_layer_norm"}
        if own.startswith("decoder"):
            names["attention"] = "encoder_attn_layer_norm"
        found = dict[str, Floats]()
        for part, name in names.items():
            found |= self._norm(f"{own}{part}/layer_norm", marian + name, width)
        return found

    def _attention(
        self, own: str, marian: str, width: int, groups: tuple[str, ...]
    ) -> dict[str, Floats]:
        found = dict[str, Floats]()
        for i, letters in enumerate((*groups, "o")):
            n_rows = len(letters) * width
            rows = self._take(f"{own}/linear_{i}/weight", (n_rows, width))
            bias = self._bias(f"{own}/linear_{i}/bias", n_rows)
            for letter, part, own_bias in zip(
                letters, rows.reshape(-1, width, width), bias.reshape(-1, width), strict=True
            ):
                name = "out_proj" if letter == "o" else f"{letter}_proj"
                found[f"{marian}.{name}.weight"] = part
                found[f"{marian}.{name}.bias"] = own_bias
        return found

    def _norm(self, own: str, marian: str, width: int) -> dict[str, Floats]:
        parts = {"weight": "gamma", "bias": "beta"}
        return {f"{marian}.{p}": self._take(f"{own}/{name}", (width,)) for p, name in parts.items()}

    def _bias(self, name: str, size: int) -> Floats:
        return self._take(name, (size,)) if name in self._variables else np.zeros(size, np.float32)

    def _take(self, name: str, shape: tuple[int, ...]) -> Floats:
        self._read |= {name, f"{name}_scale"}
        return checked(self._variables, name, shape)

    def check_all_were_read(self) -> None:
        """Check that no variable is left.

        Raises:
            ModelError: A variable was not read and has an effect.
        """
        for name in self._left():
            last = name.rpartition("/")[2]
            if last in _ZERO and not self._variables.number(name, 0):
                continue
            raise ModelError(
                f"the tensor '{name}' belongs to a kind of layer that is not supported: only "
                "Transformers with attention, plain feed-forward networks and LayerNorm are"
            )

    def _left(self) -> Iterator[str]:
        known = {*_READ, *_WITHOUT_EFFECT}
        for name in self._variables:
            if name not in self._read and name.rpartition("/")[2] not in known:
                yield name


# ---- positions -----------------------------------------------------------------------------------


def _kind(table: Floats) -> PositionKind:
    """Return the kind of a table of positions."""
    # Some toolkits compute angles in float32, with an error that grows with the position.
    return kind_of_positions(table, 1e-5 + 1e-6 * np.arange(len(table))[:, None])


def _timing_signal(n_positions: int, width: int) -> Floats:
    """The positions of a model without a table: from 1 on, all sines before all cosines."""
    half = width // 2
    rates = np.exp(np.arange(half) * (-np.log(10_000) / max(half - 1, 1)))
    angles = np.arange(1, n_positions + 1)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(np.float32)
