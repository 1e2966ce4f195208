"""Writes a model in the form of Hugging Face: for Marian's class or, with pre-norm, Pegasus's.

config.json, generation_config.json    sizes and special ids; no value is left to its default
model.safetensors                      weights, in Marian's order of columns (marian.py)
source.spm, target.spm                 SentencePiece models
vocab.json                             the id of each piece; target_vocab.json if the target differs
tokenizer_config.json                  languages

Hugging Face has one padding id, which is also the first decoder input. If the vocabularies differ
in size, the smaller one is filled up with tokens that never occur.

Pegasus's class is Marian's with pre-norm, a LayerNorm above each stack, one table for both sides
and positions in the file (docs/decisions/0068-pre-norm-in-hugging-face.md).
"""

from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from yakusu.arrays import Floats
from yakusu.data.pieces import Pieces
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK
from yakusu.engine.packing import sinusoids
from yakusu.engine.tables import DenseWeights
from yakusu.export.marian import (
    BIAS,
    NEVER,
    OUTPUT,
    POSITIONS,
    SHARED,
    TABLES,
    marian_columns,
    to_marian,
)
from yakusu.export.verify import N_POSITIONS
from yakusu.folder import usual_permissions, write_json
from yakusu.model.config import TransformerConfig
from yakusu.search.config import SearchConfig
from yakusu.translator.folder.folder import TranslatorConfig

CLASSES = {  # `norm` -> model_type and class
    "post": ("marian", "MarianMTModel"),
    "pre": ("pegasus", "PegasusForConditionalGeneration"),
}


def write_hf(
    folder: Path, config: TranslatorConfig, weights: DenseWeights, tokenizer: Tokenizer
) -> None:
    """Write the files that a class of `CLASSES` and `MarianTokenizer` load with `from_pretrained`.

    Args:
        folder: An empty folder.
        config: Languages and search settings.
        weights: The weights of a model that `refuse` accepts.
        tokenizer: The vocabularies.
    """
    size, sizes = max(config.vocab_sizes.values()), weights.config
    special = _special_ids(sizes, size)
    write_json(folder / "config.json", _config(sizes, size) | special)
    write_json(folder / "generation_config.json", _generation(config.search) | special)
    write_json(folder / "tokenizer_config.json", _tokenizer(config, joint=tokenizer.joint))
    sides = {"source": tokenizer.src, "target": tokenizer.tgt}
    for name, pieces in sides.items():
        (folder / f"{name}.spm").write_bytes(pieces.proto)
    write_json(folder / "vocab.json", _vocabulary(sides["source"], size))
    if not tokenizer.joint:
        write_json(folder / "target_vocab.json", _vocabulary(sides["target"], size))
    tensors = to_marian(weights, sizes) | _tables(weights, size) | _positions(sizes)
    named = {
        name if name in _UNPREFIXED else f"model.{name}": np.ascontiguousarray(tensor)
        for name, tensor in tensors.items()
    }
    with usual_permissions(folder / "model.safetensors") as path:
        save_file(named, path, {"format": "pt"})


# ---- tensors -------------------------------------------------------------------------------------

_UNPREFIXED = (BIAS, OUTPUT)


def _tables(weights: DenseWeights, size: int) -> dict[str, Floats]:
    """Return the embeddings and the output bias, with rows for tokens that never occur."""
    columns = marian_columns(weights.config.d_model)

    def table(name: str) -> Floats:
        own = weights[f"{name}.weight"][:-1, columns]  # the last row is that of padding
        return np.concatenate([own, np.zeros((size - len(own), len(columns)), np.float32)])

    tied, target = weights.config.tied, table("tgt_table")
    found = (
        {SHARED: target}
        if tied == "three-way"
        else {
            TABLES["encoder"]: table("src_table"),
            TABLES["decoder"]: target,
        }
    )
    if tied == "none":
        found[OUTPUT] = table("output_table")
    bias = np.full((1, size), NEVER, np.float32)
    n_tokens = len(weights["tgt_table.weight"]) - 1
    bias[0, :n_tokens] = weights.get("output_bias", 0)
    return found | {BIAS: bias}


def _positions(config: TransformerConfig) -> dict[str, Floats]:
    """Return the sinusoids of both sides with pre-norm; {} with post-norm."""
    table = sinusoids(N_POSITIONS, config.d_model)[:, marian_columns(config.d_model)]
    return dict.fromkeys(POSITIONS.values(), table) if config.norm == "pre" else {}


# ---- settings ------------------------------------------------------------------------------------


def _special_ids(config: TransformerConfig, size: int) -> dict[str, Any]:
    pad = size - 1
    return {
        "bos_token_id": None,
        "eos_token_id": EOS,
        "forced_eos_token_id": EOS,
        "pad_token_id": pad,
        "decoder_start_token_id": pad if config.start_id is None else config.start_id,
        "bad_words_ids": [[UNK], [pad]],
    }


def _generation(search: SearchConfig) -> dict[str, Any]:
    """Return the settings of the search; GNMT's penalties have no equivalent."""
    return {"num_beams": search.beam, "length_penalty": search.alpha, "max_length": 512}


def _tokenizer(config: TranslatorConfig, *, joint: bool) -> dict[str, Any]:
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": config.source_language,
        "target_lang": config.target_language,
        "unk_token": "<unk>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "model_max_length": N_POSITIONS,
        "separate_vocabs": not joint,
        "split_special_tokens": True,  # "</s>" in a text is text
        "sp_model_kwargs": {},
    }


def _vocabulary(pieces: Pieces, size: int) -> dict[str, int]:
    """Return the id of each piece; pad is last."""
    own = [pieces.piece(i) for i in range(len(pieces))]
    unused = [f"<unused {i}>" for i in range(len(own), size - 1)]
    return {piece: i for i, piece in enumerate([*own, *unused, "<pad>"])}


def _config(config: TransformerConfig, size: int) -> dict[str, Any]:
    n_encoder, n_decoder = config.depths
    shared = config.tied == "three-way"
    model_type, name = CLASSES[config.norm]
    stacks = {
        f"{side}_{key}": value
        for side, n_layers in (("encoder", n_encoder), ("decoder", n_decoder))
        for key, value in {
            "layers": n_layers,
            "attention_heads": config.n_heads,
            "ffn_dim": config.d_ff,
            "layerdrop": 0.0,
        }.items()
    }
    return {
        "architectures": [name],
        "model_type": model_type,
        "is_encoder_decoder": True,
        "vocab_size": size,
        "decoder_vocab_size": size,
        "d_model": config.d_model,
        **stacks,
        "activation_function": config.activation,
        "scale_embedding": config.scale_embeddings,
        "share_encoder_decoder_embeddings": shared,
        "tie_word_embeddings": config.tied != "none",
        "max_position_embeddings": N_POSITIONS,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "init_std": 0.02,
        "use_cache": True,
    }
