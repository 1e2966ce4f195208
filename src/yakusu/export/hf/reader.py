"""Reads a model in the form of Hugging Face: Marian's, such as Opus-MT, or that of hf/writer.py.

config.json                     sizes and special ids
model.safetensors               weights; pytorch_model.bin in older folders
source.spm, target.spm          SentencePiece models
vocab.json                      the row of each piece; target_vocab.json if the target has its own
added_tokens.json               the rows of tokens that were added to the vocabularies
tokenizer_config.json           languages
README.md                       licence, in its front matter
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from pydantic import BaseModel, Field, PositiveInt

from yakusu.arrays import Array, ArraysOnDisk
from yakusu.data.pieces import read_segmenter
from yakusu.errors import ModelError
from yakusu.export.foreign import ForeignModel, ForeignSide
from yakusu.export.hf.writer import CLASSES
from yakusu.export.marian import (
    BIAS,
    OUTPUT,
    POSITIONS,
    SHARED,
    TABLES,
    PositionKind,
    kind_of_positions,
)
from yakusu.export.origin import Origin
from yakusu.export.reading import (
    Renamed,
    in_order,
    read_json_as,
    read_rows,
    row_of,
)
from yakusu.folder import downloaded, open_regular
from yakusu.model.config import TransformerConfig

_ROUNDING = 4e-3  # of values up to 1 in bfloat16
_MOST_PADDING, _PADDED_TO = 512, 8  # rows without a token, up to a length that is a multiple of 8
_MAX_REPEATED = 5  # tensors of pytorch_model.bin that are one table: it has up to four names
_NORMS = {model_type: norm for norm, (model_type, _) in CLASSES.items()}
_ACTIVATIONS = {"relu": "relu", "swish": "silu", "silu": "silu", "gelu": "gelu"}


class _Config(BaseModel):
    """What is needed of config.json."""

    model_type: str
    d_model: PositiveInt
    encoder_layers: PositiveInt
    decoder_layers: PositiveInt
    encoder_attention_heads: PositiveInt
    decoder_attention_heads: PositiveInt
    encoder_ffn_dim: PositiveInt
    decoder_ffn_dim: PositiveInt
    activation_function: str
    scale_embedding: bool
    vocab_size: PositiveInt | None = None
    decoder_vocab_size: PositiveInt | None = None
    normalize_before: bool = False
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    eos_token_id: int
    pad_token_id: int | None = None
    decoder_start_token_id: int
    name: str = Field("", alias="_name_or_path")


class _Languages(BaseModel):
    """What is needed of tokenizer_config.json."""

    source_lang: str | None = None
    target_lang: str | None = None


def read_hf(folder: Path) -> ForeignModel:
    """Read a folder that a class of `CLASSES` and `MarianTokenizer` wrote with `save_pretrained`.

    Raises:
        ModelError: The folder is a model of another kind, or it is inconsistent.
    """
    config = read_json_as(_Config, folder / "config.json")
    _refuse(config)
    n_source, n_target = config.vocab_size, config.decoder_vocab_size or config.vocab_size
    src = tgt = _side(folder, config, "source.spm", "vocab.json", n_source)
    if (folder / "target_vocab.json").exists():
        tgt = _side(folder, config, "target.spm", "target_vocab.json", n_target)
    elif (folder / "target.spm").exists():
        tgt = replace(src, segmenter=read_segmenter(folder / "target.spm"))
    tensors = _read_tensors(folder, config, src, tgt)
    languages = read_json_as(_Languages, folder / "tokenizer_config.json")
    return ForeignModel(
        config=_sizes(config, tensors),
        tensors=tensors,
        src=src,
        tgt=tgt,
        shared=config.share_encoder_decoder_embeddings,
        start=config.decoder_start_token_id,
        halved=_kind_of_positions(tensors)[1],
        languages=(languages.source_lang or "", languages.target_lang or ""),
        origin=Origin.of(folder, format="Hugging Face", name=config.name),
    )


def _refuse(config: _Config) -> None:
    """Check that the model computes what a Transformer of yakusu computes.

    Raises:
        ModelError: It does not.
    """
    if config.model_type not in _NORMS:
        known = " or ".join(_NORMS)
        raise ModelError(f"config.json has a model of type '{config.model_type}', not {known}")
    if config.activation_function not in _ACTIVATIONS:
        raise ModelError(
            f"config.json has the activation_function '{config.activation_function}': known are "
            f"{', '.join(_ACTIVATIONS)}"
        )
    if config.model_type == "marian" and config.normalize_before:
        raise ModelError("config.json has normalize_before = true, which Marian models never have")


def _side(
    folder: Path, config: _Config, model: str, vocabulary: str, n_rows: int | None
) -> ForeignSide:
    path = folder / vocabulary
    pieces = in_order(read_rows(path) | _added(folder, n_rows), path)
    unk = row_of("<unk>", pieces, path)
    special = {
        "eos_token_id": config.eos_token_id,
        "pad_token_id": config.pad_token_id,
        "decoder_start_token_id": config.decoder_start_token_id,
    }
    for key, row in special.items():
        if row is not None and not 0 <= row < len(pieces):
            raise ModelError(
                f"config.json has {key} = {row}, and {vocabulary} has the ids 0 to "
                f"{len(pieces) - 1:,}"
            )
    if len({config.eos_token_id, unk, config.pad_token_id}) < 3:
        raise ModelError("config.json has the same id for two of </s>, <unk> and <pad>")
    return ForeignSide(
        segmenter=read_segmenter(folder / model),
        pieces=pieces,
        eos=config.eos_token_id,
        unk=unk,
        pad=config.pad_token_id,
    )


def _added(folder: Path, n_rows: int | None) -> dict[str, int]:
    """Return the added tokens that a side of the model, resized or not, has a row for."""
    path = folder / "added_tokens.json"
    added = read_rows(path) if path.exists() else {}
    return {token: row for token, row in added.items() if n_rows is None or row < n_rows}


# ---- weights -------------------------------------------------------------------------------------


def _read_tensors(folder: Path, config: _Config, src: ForeignSide, tgt: ForeignSide) -> Renamed:
    """Return the tensors, without the prefix "model." of their names, and rows without a token.

    Files may have any of the names of tensors that are one object; those of tied tables may have
    other values, which the library ignores.
    """
    safe = folder / "model.safetensors"
    stored = ArraysOnDisk(safe) if safe.exists() else _read_pickled(folder / "pytorch_model.bin")
    names = {name.removeprefix("model."): name for name in stored}
    decoder = [SHARED] if config.share_encoder_decoder_embeddings else [TABLES["decoder"]]
    decoder += [OUTPUT] if config.tie_word_embeddings else []
    one = [*decoder, *TABLES.values()] if config.share_encoder_decoder_embeddings else decoder
    if found := next((name for name in one if name in names), None):
        names[one[0]] = names[found]
    for alias in one[1:]:
        names.pop(alias, None)
    sides = {SHARED: tgt, **dict(zip(TABLES.values(), (src, tgt), strict=True)), OUTPUT: tgt}

    def convert(name: str, array: Array) -> Array:
        if name == BIAS:
            return _without_padding(array.T, tgt).T
        return _without_padding(array, sides[name]) if name in sides else array

    return Renamed(stored, names, convert)


def _without_padding(rows: Array, side: ForeignSide) -> Array:
    """Return the rows of tokens; a table of any other length belongs to another vocabulary."""
    n_padding = len(rows) - len(side.pieces) if rows.ndim == 2 else 0
    is_padded = 0 < n_padding < _MOST_PADDING and len(rows) % _PADDED_TO == 0
    return rows[: len(side.pieces)] if is_padded else rows


def _read_pickled(path: Path) -> dict[str, Array]:
    """Read a file of `torch.save` without executing anything that it contains."""
    import torch

    if any(path.parent.glob("*.index.json")):
        raise ModelError(
            f"{path.parent} has weights in several files, which are not supported: save them in "
            'one, with save_pretrained(..., max_shard_size="100GB")'
        )
    if not path.exists():
        raise ModelError(f"{path.parent} has no model.safetensors: the folder is incomplete")
    downloaded(path)
    try:
        with open_regular(path) as file:
            stored = torch.load(file, map_location="cpu", weights_only=True)
        size = sum(tensor.numel() * tensor.element_size() for tensor in stored.values())
    except Exception as error:  # torch raises errors of many kinds
        raise ModelError(f"{path} is not a file that contains only tensors") from error
    if size > _MAX_REPEATED * path.stat().st_size:  # views of the same numbers
        raise ModelError(f"{path} contains tensors that are larger than the file")
    return {name: tensor.float().numpy() for name, tensor in stored.items()}


def _sizes(config: _Config, tensors: Mapping[str, Array]) -> TransformerConfig:
    """Return the sizes of the model.

    Raises:
        ModelError: A size is invalid, or layers of the encoder and the decoder differ.
    """
    for what in "attention_heads", "ffn_dim":
        one, other = (getattr(config, f"{side}_{what}") for side in ("encoder", "decoder"))
        if one != other:
            raise ModelError(f"encoder_{what} = {one} and decoder_{what} = {other} are not equal")
    if config.encoder_layers + config.decoder_layers > len(tensors):
        raise ModelError("config.json has more layers than the model has tensors")
    if config.d_model % 2 or config.d_model % config.encoder_attention_heads:
        raise ModelError(
            f"config.json has d_model = {config.d_model}, which is not an even number divisible by "
            f"encoder_attention_heads = {config.encoder_attention_heads}"
        )
    values = {
        "d_model": config.d_model,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "n_encoder_layers": config.encoder_layers,
        "n_decoder_layers": config.decoder_layers,
        "d_ff": config.encoder_ffn_dim,
        "n_heads": config.encoder_attention_heads,
        "norm": _NORMS[config.model_type],
        "activation": _ACTIVATIONS[config.activation_function],
        "scale_embeddings": config.scale_embedding,
    }
    values["positions"], _ = _kind_of_positions(tensors)
    if values["positions"] == "learned":
        values["max_positions"] = len(_position_tables(tensors)[0])
    try:
        return TransformerConfig.model_validate(values)
    except ValueError as error:
        raise ModelError(f"config.json is invalid: {error}") from error


def _kind_of_positions(tensors: Mapping[str, Array]) -> PositionKind:
    """Return the kind of both tables; without tables, the library computes sinusoids."""
    tables = [table.astype(np.float32, copy=False) for table in _position_tables(tensors)]
    kinds = {kind_of_positions(table, _ROUNDING) for table in tables} or {("sinusoidal", True)}
    return kinds.pop() if len(kinds) == 1 else ("learned", False)


def _position_tables(tensors: Mapping[str, Array]) -> list[Array]:
    tables = [tensors[name] for name in POSITIONS.values() if name in tensors]
    if any(table.ndim != 2 or not table.size for table in tables):
        raise ModelError(f"the tensor '{POSITIONS['encoder']}' is not a table of positions")
    return tables
