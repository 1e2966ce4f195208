"""Folders in the form of Hugging Face, without its library."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.export.ctranslate2_models import tokenizer
from tests.export.test_ctranslate2_export import VARIANTS, exported, network
from yakusu.errors import ModelError
from yakusu.export.foreign import own_model
from yakusu.export.formats import FORMATS, refuse
from yakusu.export.importing import read_foreign
from yakusu.model.config import RecurrentConfig, TransformerConfig

HELD = (
    "post-norm",
    "pre-norm",
    "pre-norm with other settings",
    "silu",
    "gelu",
    "biases",
    "tied in the decoder",
    "not tied",
    "different depths",
    "embeddings that are not scaled",
    "a start token",
)


@pytest.mark.parametrize("name", HELD)
def test_an_export_that_is_imported_has_the_same_tensors(tmp_path: Path, name: str) -> None:
    model = network(VARIANTS[name])
    refuse(model.config, "hf")
    FORMATS["hf"].write(tmp_path, exported(model))
    config, weights, read = own_model(read_foreign(tmp_path))
    settings = {"n_layers", "n_encoder_layers", "n_decoder_layers"}
    assert read == tokenizer() and config.depths == model.config.depths
    assert config.model_dump(exclude=settings) == model.config.model_dump(exclude=settings)
    own = {name: each.detach().numpy() for name, each in model.weights().items()}
    assert weights.keys() == own.keys()
    assert all(np.array_equal(weights[name], own[name]) for name in own)


def test_a_pre_norm_model_has_what_the_class_of_pegasus_reads(tmp_path: Path) -> None:
    FORMATS["hf"].write(tmp_path, exported(network({"norm": "pre"})))
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    tensors = load_file(tmp_path / "model.safetensors")
    assert config["model_type"] == "pegasus"
    assert config["architectures"] == ["PegasusForConditionalGeneration"]
    assert config["decoder_start_token_id"] == config["pad_token_id"] == config["vocab_size"] - 1
    assert not tensors["model.shared.weight"][config["pad_token_id"]].any()
    angles = np.arange(1024)[:, None] / 10_000 ** (np.arange(12) / 12)
    sines_and_cosines = np.concatenate([np.sin(angles), np.cos(angles)], 1)
    for side in "encoder", "decoder":
        table = tensors[f"model.{side}.embed_positions.weight"]
        np.testing.assert_allclose(table, sines_and_cosines, atol=1e-6)
        assert f"model.{side}.layer_norm.weight" in tensors


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"norm": "pre", "tied": "decoder"}, "pre-norm layers with more than one table: choose"),
        ({"norm": "pre", "positions": "words"}, "positions that count words: no other format has"),
        ({"norm": "pre", "positions": "learned"}, "learned positions: choose --to onnx"),
        ({"norm": "pre", "positions": "tensor2tensor"}, "positions of Tensor2Tensor: choose"),
    ],
)
def test_what_no_class_of_the_library_computes_is_refused_by_name(
    changes: dict[str, Any], missing: str
) -> None:
    config = TransformerConfig.model_validate({"d_model": 24, "n_heads": 4} | changes)
    with pytest.raises(ModelError, match=f"^the format hf has no {missing}"):
        refuse(config, "hf")


def test_other_architectures_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"^recurrent models cannot be exported"):
        refuse(RecurrentConfig(), "hf")
