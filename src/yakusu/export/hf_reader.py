"""Reads a Marian model in the form of Hugging Face, such as Opus-MT.

config.json                     sizes and special ids
model.safetensors               weights; pytorch_model.bin in older folders
source.spm, target.spm          SentencePiece models
vocab.json                      the row of each piece; target_vocab.json if the target has its own
tokenizer_config.json           languages
README.md                       licence, in its front matter
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from yakusu.arrays import Array, ArraysOnDisk
from yakusu.engine.packing import sinusoids
from yakusu.errors import ModelError
from yakusu.export.foreign import Foreign, Side
from yakusu.export.marian import marian_columns
from yakusu.export.origin import Origin
from yakusu.export.reading import Renamed, pieces_by_row, read_json_as, read_segmenter
from yakusu.model.config import TransformerConfig

_POSITIONS = "decoder.embed_positions.weight"


class _Config(BaseModel):
    """What is needed of config.json."""

    model_type: Literal["marian"]
    d_model: int
    encoder_layers: int
    decoder_layers: int
    encoder_attention_heads: int
    decoder_attention_heads: int
    encoder_ffn_dim: int
    decoder_ffn_dim: int
    activation_function: Literal["relu", "swish", "silu", "gelu"]
    scale_embedding: bool
    share_encoder_decoder_embeddings: bool = True
    dropout: float = 0.1
    eos_token_id: int
    pad_token_id: int | None = None
    decoder_start_token_id: int
    name: str = Field("", alias="_name_or_path")


class _Languages(BaseModel):
    """What is needed of tokenizer_config.json."""

    source_lang: str | None = None
    target_lang: str | None = None


def read_hf(folder: Path) -> Foreign:
    """Read a folder that `MarianMTModel.save_pretrained` and its tokenizer wrote.

    Raises:
        ModelError: The folder is not a Marian model, or it is inconsistent.
    """
    config = read_json_as(_Config, folder / "config.json")
    tensors = _read_tensors(folder)
    src = tgt = _side(folder, config, "source.spm", "vocab.json")
    if (folder / "target_vocab.json").exists():
        tgt = _side(folder, config, "target.spm", "target_vocab.json")
    elif (folder / "target.spm").exists():
        tgt = replace(src, segmenter=read_segmenter(folder / "target.spm"))
    languages = read_json_as(_Languages, folder / "tokenizer_config.json")
    return Foreign(
        config=_sizes(config, tensors),
        tensors=tensors,
        src=src,
        tgt=tgt,
        shared=config.share_encoder_decoder_embeddings,
        start=config.decoder_start_token_id,
        halved=_halved(tensors),
        languages=(languages.source_lang or "", languages.target_lang or ""),
        origin=Origin.of(folder, format="Hugging Face", name=config.name),
    )


def _side(folder: Path, config: _Config, model: str, vocabulary: str) -> Side:
    pieces = pieces_by_row(folder / vocabulary)
    special = config.eos_token_id, config.pad_token_id, config.decoder_start_token_id
    for row in special:
        if row is not None and not 0 <= row < len(pieces):
            raise ModelError(f"{folder / vocabulary} has {len(pieces):,} tokens, and no id {row:,}")
    if "<unk>" not in pieces:
        raise ModelError(f"{folder / vocabulary} has no token '<unk>'")
    return Side(
        segmenter=read_segmenter(folder / model),
        pieces=pieces,
        eos=config.eos_token_id,
        unk=pieces.index("<unk>"),
        pad=config.pad_token_id,
    )


# ---- weights -------------------------------------------------------------------------------------


def _read_tensors(folder: Path) -> Mapping[str, Array]:
    """Return the tensors, without the prefix "model." of their names."""
    safe = folder / "model.safetensors"
    stored = ArraysOnDisk(safe) if safe.exists() else _read_pickled(folder / "pytorch_model.bin")
    return Renamed(stored, {name.removeprefix("model."): name for name in stored})


def _read_pickled(path: Path) -> dict[str, Array]:
    """Read a file of `torch.save` without executing anything that it contains."""
    import torch

    if not path.exists():
        raise ModelError(f"{path.parent} has no model.safetensors: the folder is incomplete")
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
        return {name: tensor.float().numpy() for name, tensor in stored.items()}
    except Exception as error:  # torch raises errors of many kinds
        raise ModelError(f"{path} is not a file of tensors: {error}") from error


def _sizes(config: _Config, tensors: Mapping[str, Array]) -> TransformerConfig:
    """Return the sizes of the model; `_halved` tells the kinds of sinusoids apart.

    Raises:
        ModelError: A size is invalid, or layers of the encoder and the decoder differ.
    """
    for what in "attention_heads", "ffn_dim":
        one, other = (getattr(config, f"{side}_{what}") for side in ("encoder", "decoder"))
        if one != other:
            raise ModelError(f"encoder_{what} = {one} and decoder_{what} = {other} are not equal")
    if config.encoder_layers + config.decoder_layers > len(tensors):
        raise ModelError("config.json has more layers than the model has tensors")
    activation = {"swish": "silu"}.get(config.activation_function, config.activation_function)
    values = {
        "d_model": config.d_model,
        "dropout": config.dropout,
        "n_encoder_layers": config.encoder_layers,
        "n_decoder_layers": config.decoder_layers,
        "d_ff": config.encoder_ffn_dim,
        "n_heads": config.encoder_attention_heads,
        "activation": activation,
        "scale_embeddings": config.scale_embedding,
    }
    if (table := tensors.get(_POSITIONS)) is not None and not _sinusoidal(table):
        values |= {"positions": "learned", "max_positions": len(table)}
    try:
        return TransformerConfig.model_validate(values)
    except ValidationError as error:
        raise ModelError(f"config.json is invalid: {error.errors()[0]['msg']}") from error


def _halved(tensors: Mapping[str, Array]) -> bool:
    """Whether all sines precede all cosines, as the library computes them without a table."""
    table = tensors.get(_POSITIONS)
    return table is None or _equals_sinusoids(table, halved=True)


def _sinusoidal(table: Array) -> bool:
    return _equals_sinusoids(table, halved=True) or _equals_sinusoids(table, halved=False)


def _equals_sinusoids(table: Array, *, halved: bool) -> bool:
    n_positions, width = table.shape
    computed = sinusoids(n_positions, width)
    order = marian_columns(width) if halved else np.arange(width)
    return np.allclose(table, computed[:, order], atol=1e-5)
