"""Peer: a Transformer of yakusu as a model of Marian.

Reads a folder that `benchmarks.speed.plain` wrote. Marian's sinusoids have other frequencies than
those of section 3.5, so a model that was trained with the latter translates differently in Marian.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from yakusu.errors import ModelError
from yakusu.export.marian import marian_columns, to_marian
from yakusu.export.npz.reader import original_name
from yakusu.model.config import TransformerConfig, config_of

MULTIPLE = 8  # of a number of tokens: Marian's softmax is slower otherwise, and in int8 it crashes
NEVER = -1e9  # logit of a token that is not generated
_ACTIVATIONS = {"relu": "relu", "silu": "swish", "gelu": "gelu"}


def convert(plain: Path, out: Path) -> None:
    """Write model.npz, source.vocab.yml and target.vocab.yml.

    Raises:
        ModelError: The model has layers that Marian has not, or several tables, or starts from a
            token.
    """
    info = json.loads((plain / "plain.json").read_text(encoding="utf-8"))
    config, weights = config_of(info["model"]), load_file(plain / "model.safetensors")
    assert isinstance(config, TransformerConfig)
    kinds = config.norm, config.score, config.mixing, config.n_experts, config.source_eos
    if kinds != ("post", "scaled", "attention", 0, True) or config.positions == "learned":
        raise ModelError("Marian has no pre-norm layers like ours, and only one kind of the others")
    if {config.d_k, config.d_v} != {config.d_model / config.n_heads}:
        raise ModelError("Marian has only heads of d_model / n_heads")
    if config.tied != "three-way" or config.start_id is not None:
        raise ModelError("only models with one table that start from the zero vector are converted")
    tensors = {  # matrices are transposed, vectors are rows
        original_name(part, config): tensor.T if tensor.ndim == 2 else tensor[None]
        for part, tensor in to_marian(weights, config).items()
    }
    columns = marian_columns(config.d_model)
    n_tokens = len(info["target"])
    table = np.zeros((n_tokens + -n_tokens % MULTIPLE, config.d_model), np.float32)
    table[:n_tokens] = weights["tgt_table.weight"][:-1, columns]  # the last row: padding
    tensors |= {"encoder_Wemb": table, "decoder_Wemb": table}
    tensors["decoder_ff_logit_out_W"] = table.T  # Marian rounds this, but never tied embeddings
    bias = np.full(len(table), NEVER, np.float32)
    bias[:n_tokens] = weights.get("output_bias", 0.0)
    bias[info["never"]] = NEVER
    tensors["decoder_ff_logit_out_b"] = bias[None]
    settings = _options(config, len(bias))
    lines = [f"{name}: {json.dumps(value)}\n" for name, value in settings.items()]
    options = np.frombuffer("".join(lines).encode() + b"\0", np.int8)
    out.mkdir(parents=True, exist_ok=True)
    whole = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    np.savez(out / "model.npz", **whole, **{"special:model.yml": options})
    for side in ("source", "target"):
        unused = [f"<unused {i}>" for i in range(n_tokens, len(table))]
        rows = (f"{json.dumps(piece)}: {i}\n" for i, piece in enumerate([*info[side], *unused]))
        (out / f"{side}.vocab.yml").write_text("".join(rows), encoding="utf-8")


def _options(config: TransformerConfig, n_tokens: int) -> dict[str, Any]:
    n_encoder, n_decoder = config.depths
    return {
        "type": "transformer",
        "dim-emb": config.d_model,
        "dim-vocabs": [n_tokens, n_tokens],
        "enc-depth": n_encoder,
        "dec-depth": n_decoder,
        "transformer-heads": config.n_heads,
        "transformer-dim-ffn": config.d_ff,
        "transformer-ffn-activation": _ACTIVATIONS[config.activation],
        "transformer-ffn-depth": 2,
        "transformer-preprocess": "",
        "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": "",
        "transformer-decoder-autoreg": "self-attention",
        "transformer-no-projection": False,
        "transformer-train-position-embeddings": False,
        "transformer-tied-layers": [],
        "transformer-guided-alignment-layer": "last",
        "tied-embeddings": False,
        "tied-embeddings-src": False,
        "tied-embeddings-all": False,
        "lemma-dim-emb": 0,
        "right-left": False,
        "skip": False,
        "version": "v1.12.0",
    }
