"""Peer: a Transformer of yakusu as a CTranslate2 model.

Reads a folder that `benchmarks.speed.plain` wrote, and needs ctranslate2, numpy and safetensors
only. Both programs compute the same function, with one difference: tokens that are never generated,
such as the unknown token, have no probability, while yakusu leaves them out of the search only.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation
from safetensors.numpy import load_file

N_POSITIONS = 2048
NEVER = -1e9  # logit of a token that is not generated
BLANK = "<blank>"  # padding, and the zero vector that the decoder starts with
_ACTIVATIONS = {"relu": Activation.RELU, "silu": Activation.SWISH, "gelu": Activation.GELU}

Weights = dict[str, np.ndarray]


def convert(plain: str, out: str) -> None:
    """Convert a model and save it in float32; CTranslate2 rounds it when it is loaded.

    Raises:
        ValueError: CTranslate2 does not support the model.
    """
    folder = Path(plain)
    info = json.loads((folder / "plain.json").read_text(encoding="utf-8"))
    config, weights = info["model"], load_file(folder / "model.safetensors")
    _check(config)
    depths = tuple(config[f"n_{side}_layers"] or config["n_layers"] for side in _SIDES)
    spec = TransformerSpec.from_config(
        depths,
        config["n_heads"],
        pre_norm=config["norm"] == "pre",
        activation=_ACTIVATIONS[config["activation"]],
    )
    for side in _SIDES:
        _embeddings(getattr(spec, side), side, config, weights)
        for i, layer in enumerate(getattr(spec, side).layer):
            _layer(layer, f"{side}.{i}.", config, weights)
        if config["norm"] == "pre":
            _norm(getattr(spec, side).layer_norm, f"{side}_norm", weights)
    _output(spec.decoder.projection, config, weights, info["never"])
    _vocabularies(spec, info)
    spec.validate()
    spec.optimize()
    Path(out).mkdir(parents=True, exist_ok=True)
    spec.save(out)


_SIDES = ("encoder", "decoder")


def _check(config: dict[str, Any]) -> None:
    lacking = {
        f"{config['name']} models": config["name"] != "transformer",
        "heads of other widths than d_model / n_heads": any(
            config[key] * config["n_heads"] != config["d_model"] for key in ("d_k", "d_v")
        ),
        "unscaled or additive attention": config["score"] != "scaled",
        "layers without attention": config["mixing"] != "attention",
        "experts": config["n_experts"] > 0,
    }
    if found := [what for what, lacks in lacking.items() if lacks]:
        raise ValueError(f"CTranslate2 does not support {found[0]}")


def _embeddings(spec: Any, side: str, config: dict[str, Any], weights: Weights) -> None:
    own, width = side == "encoder" and config["tied"] != "three-way", config["d_model"]
    table = weights["src_table.weight" if own else "tgt_table.weight"]
    (spec.embeddings[0] if side == "encoder" else spec.embeddings).weight = table
    spec.scale_embeddings = config["scale_embeddings"]
    if config["positions"] == "learned":
        positions = weights[f"{'src' if own else 'tgt'}_embedding.positions.table"]
    else:
        angle = np.arange(N_POSITIONS)[:, None] / 10_000 ** (np.arange(0, width, 2) / width)
        pairs = np.stack([np.sin(angle), np.cos(angle)], axis=2)
        positions = pairs.reshape(N_POSITIONS, -1)[:, :width].astype(np.float32)
    spec.position_encodings.encodings = positions


def _layer(spec: Any, prefix: str, config: dict[str, Any], weights: Weights) -> None:
    decodes = prefix.startswith("decoder")
    name, width = prefix + "self_attention", config["d_model"]
    own = _projections(name, config, weights)
    _attention(spec.self_attention, [(own[0], own[1])], name, config, weights)
    _norm(spec.self_attention.layer_norm, prefix + "residuals.0.norm", weights)
    if decodes:
        name = prefix + "cross_attention"
        rows, bias = _projections(name, config, weights)
        parts = [(rows[:width], bias[:width]), (rows[width:], bias[width:])]
        _attention(spec.attention, parts, name, config, weights)
        _norm(spec.attention.layer_norm, prefix + "residuals.1.norm", weights)
    for part, linear in (("inner", spec.ffn.linear_0), ("outer", spec.ffn.linear_1)):
        linear.weight = weights[f"{prefix}feed_forward.{part}.weight"]
        linear.bias = weights[f"{prefix}feed_forward.{part}.bias"]
    _norm(spec.ffn.layer_norm, f"{prefix}residuals.{1 + decodes}.norm", weights)


def _projections(
    name: str, config: dict[str, Any], weights: Weights
) -> tuple[np.ndarray, np.ndarray]:
    """W^Q, W^K and W^V, and their biases."""
    rows = weights[f"{name}.w_qkv"]
    return rows, weights.get(f"{name}.b_qkv", np.zeros(len(rows), np.float32))


def _attention(
    spec: Any, parts: list[Any], name: str, config: dict[str, Any], weights: Weights
) -> None:
    zeros = np.zeros(config["d_model"], np.float32)
    parts = [*parts, (weights[f"{name}.w_o"], weights.get(f"{name}.b_o", zeros))]
    for linear, (rows, bias) in zip(spec.linear, parts, strict=True):
        linear.weight, linear.bias = rows, bias


def _norm(spec: Any, name: str, weights: Weights) -> None:
    spec.gamma, spec.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]


def _output(spec: Any, config: dict[str, Any], weights: Weights, never: list[int]) -> None:
    table = weights["output_table.weight" if config["tied"] == "none" else "tgt_table.weight"]
    bias = np.zeros(len(table), np.float32)
    bias[:-1] = weights.get("output_bias", 0)
    bias[[*never, len(table) - 1]] = NEVER
    spec.weight, spec.bias = table, bias


def _vocabularies(spec: Any, info: dict[str, Any]) -> None:
    source, target = ([*info[side], BLANK] for side in ("source", "target"))
    start = info["model"]["start_id"]
    spec.config.bos_token = spec.config.decoder_start_token = (
        BLANK if start is None else target[start]
    )
    spec.config.eos_token, spec.config.unk_token = target[0], target[1]
    spec.config.add_source_bos = spec.config.add_source_eos = False
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
