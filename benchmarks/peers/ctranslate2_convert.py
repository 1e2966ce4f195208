"""Peer: a Transformer of yakusu as a CTranslate2 model.

Reads a folder that `benchmarks.speed.plain` wrote, and converts it as `yakusu export` does. Tokens
that are never generated, such as the unknown token, get no probability, while yakusu leaves them
out of the search only.
"""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from yakusu.export.ctranslate2.writer import write_ctranslate2
from yakusu.model.config import TransformerConfig, config_of

NEVER = -1e9  # logit of a token that is not generated


def convert(plain: str, out: str) -> None:
    """Convert a model and save it in float32; CTranslate2 rounds it when it is loaded."""
    folder = Path(plain)
    info = json.loads((folder / "plain.json").read_text(encoding="utf-8"))
    config, weights = config_of(info["model"]), load_file(folder / "model.safetensors")
    assert isinstance(config, TransformerConfig)
    bias = weights.get("output_bias", np.zeros(len(info["target"]), np.float32))
    bias[info["never"]] = NEVER
    Path(out).mkdir(parents=True, exist_ok=True)
    write_ctranslate2(
        Path(out),
        weights | {"output_bias": bias},
        config.model_copy(update={"output_bias": True}),
        source=info["source"],
        target=info["target"],
        precision="float32",
    )
