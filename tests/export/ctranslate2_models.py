"""Random models of CTranslate2, with and without its library."""

import json
import struct
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.translators import small_tokenizer
from yakusu.data.tokenizer import Tokenizer

WIDTH, HEADS, INNER, DEPTHS = 16, 2, 24, (2, 1)
TYPES = {"float32": 0, "int8": 1, "int16": 2, "int32": 3, "float16": 4}
WORDS = ("ein", "mann", "sieht", "zwei", "hunde", "im", "park")


@cache
def tokenizer() -> Tokenizer:
    """A joint vocabulary of 47 pieces."""
    return small_tokenizer(WORDS)


def opennmt_vocabulary(*, unk: bool = True) -> list[str]:
    """The pieces in another order, with the special tokens of OpenNMT; <unk> may be missing."""
    pieces = [tokenizer().src.piece(i) for i in range(2, len(tokenizer().src))]
    return [*(["<unk>"] if unk else []), "<blank>", "<s>", "</s>", *reversed(pieces)]


def random_variables(vocabulary: int, *, pre_norm: bool, seed: int = 1) -> dict[str, Any]:
    """The variables of a Transformer whose sides share one table."""
    numbers = np.random.default_rng(seed)

    def floats(*shape: int) -> Any:
        return numbers.normal(0, 0.4, shape).astype(np.float32)

    found: dict[str, Any] = {}
    for side, depth in zip(("encoder", "decoder"), DEPTHS, strict=True):
        found |= {f"{side}/num_heads": np.int16(HEADS), f"{side}/pre_norm": np.int8(pre_norm)}
        found |= {f"{side}/activation": np.int8(0), f"{side}/scale_embeddings": np.int8(1)}
        found[f"{side}/position_encodings/encodings"] = interleaved(600)
        norms = [f"{side}/layer_norm"] if pre_norm else []
        for i in range(depth):
            layer = f"{side}/layer_{i}"
            sizes = {"self_attention/linear_0": (3 * WIDTH, WIDTH)}
            sizes |= {"self_attention/linear_1": (WIDTH, WIDTH)}
            sizes |= {"ffn/linear_0": (INNER, WIDTH), "ffn/linear_1": (WIDTH, INNER)}
            if side == "decoder":
                sizes |= {"attention/linear_0": (WIDTH, WIDTH)}
                sizes |= {"attention/linear_1": (2 * WIDTH, WIDTH)}
                sizes |= {"attention/linear_2": (WIDTH, WIDTH)}
            for name, shape in sizes.items():
                found[f"{layer}/{name}/weight"] = floats(*shape)
                found[f"{layer}/{name}/bias"] = floats(shape[0])
            norms += [f"{layer}/{name}/layer_norm" for name in {n.split("/")[0] for n in sizes}]
        for norm in sorted(norms):
            found |= {f"{norm}/gamma": 1 + floats(WIDTH), f"{norm}/beta": floats(WIDTH)}
    table = floats(vocabulary, WIDTH)
    found |= {"encoder/embeddings_0/weight": table, "decoder/embeddings/weight": table}
    return found | {
        "decoder/projection/weight": table,
        "decoder/projection/bias": floats(vocabulary),
    }


def interleaved(n_positions: int) -> Any:
    """Sines and cosines, with angles in float32 as OpenNMT-py computes them."""
    rates = np.exp(np.arange(0, WIDTH, 2, dtype=np.float32) * -np.float32(np.log(10_000) / WIDTH))
    angles = np.arange(n_positions, dtype=np.float32)[:, None] * rates
    table = np.zeros((n_positions, WIDTH), np.float32)
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table


def model_bin(
    variables: Mapping[str, Any],
    aliases: Mapping[str, str] | None = None,
    *,
    version: int = 6,
    specification: str = "TransformerSpec",
    revision: int = 7,
) -> bytes:
    """The bytes of model.bin."""

    def text(value: str) -> bytes:
        return struct.pack("<H", len(value.encode()) + 1) + value.encode() + b"\0"

    parts = [struct.pack("<I", version), text(specification)]
    parts.append(struct.pack("<II", revision, len(variables)))
    for name, value in variables.items():
        array = np.asarray(value)
        kind, size = TYPES[array.dtype.name], array.nbytes
        if version < 4:
            kind, size = array.itemsize, array.size
        shape = struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)
        parts += [text(name), shape, struct.pack("<BI", kind, size), array.tobytes()]
    parts.append(struct.pack("<I", len(aliases or {})))
    parts += [text(alias) + text(name) for alias, name in (aliases or {}).items()]
    return b"".join(parts)


def write_model(
    folder: Path, *, pre_norm: bool = True, source_eos: bool = False, unk: bool = True
) -> Path:
    """Write a model that starts from <s>, as CTranslate2 writes those of OpenNMT-py."""
    folder.mkdir()
    vocabulary = opennmt_vocabulary(unk=unk)
    variables = random_variables(len(vocabulary), pre_norm=pre_norm)
    (folder / "model.bin").write_bytes(model_bin(variables))
    (folder / "shared_vocabulary.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    config: dict[str, Any] = {"decoder_start_token": "<s>", "add_source_eos": source_eos}
    config |= {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    config |= {"add_source_bos": False, "layer_norm_epsilon": None}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "sentencepiece.model").write_bytes(tokenizer().src.proto)
    return folder
