"""Exported models compute the same in CTranslate2's library."""

import json
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from tests.export.ctranslate2_models import tokenizer
from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.tables import DenseWeights
from yakusu.errors import ModelError
from yakusu.export.ctranslate2.file import Variables
from yakusu.export.foreign import own_model
from yakusu.export.formats import FORMATS, ExportedModel, ExportPrecision, refuse
from yakusu.export.importing import read_foreign
from yakusu.export.verify import Verification, verify_export
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.search.config import SearchConfig
from yakusu.translator.folder.folder import TranslatorConfig

VARIANTS: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm": {"norm": "pre"},
    "pre-norm with other settings": {
        **{"norm": "pre", "activation": "gelu", "biases": True, "output_bias": True},
        **{"scale_embeddings": False, "start_id": 5, "n_encoder_layers": 1},
    },
    "positions of Tensor2Tensor": {"positions": "tensor2tensor"},
    "learned positions": {"positions": "learned", "max_positions": 80},
    "learned positions of both sides": {
        **{"positions": "learned", "max_positions": 90, "tied": "decoder"},
    },
    "silu": {"activation": "silu"},
    "gelu": {"activation": "gelu"},
    "biases": {"biases": True, "output_bias": True},
    "tied in the decoder": {"tied": "decoder"},
    "not tied": {"tied": "none"},
    "different depths": {"n_encoder_layers": 3, "n_decoder_layers": 1},
    "embeddings that are not scaled": {"scale_embeddings": False},
    "a start token": {"start_id": 3},
    "sources without eos": {"source_eos": False},
    "everything": {
        **{"norm": "pre", "positions": "learned", "max_positions": 100, "activation": "gelu"},
        **{"biases": True, "output_bias": True, "tied": "none", "scale_embeddings": False},
        **{"start_id": 5, "n_encoder_layers": 1},
    },
}


def network(changes: dict[str, Any]) -> Transformer:
    """A Transformer with random weights, biases included, and clear preferences."""
    torch.manual_seed(4)
    config = TransformerConfig.model_validate(
        {"n_decoder_layers": 2, "d_model": 24, "d_ff": 40, "n_heads": 4}
        | {"n_encoder_layers": 2}
        | changes
    )
    model = Transformer(config, **tokenizer().vocab_sizes).eval()
    with torch.no_grad():
        for weight in model.weights().values():
            weight.add_(torch.randn_like(weight) * 0.2)
        for table in {model.src_table, model.tgt_table, model.output_table}:
            table.weight[-1] = 0  # type: ignore[union-attr]
    return model


def exported(model: Transformer, precision: ExportPrecision = "float32") -> ExportedModel:
    """The model as exporters receive it."""
    weights = {name: each.detach().numpy() for name, each in model.weights().items()}
    sizes = tokenizer().vocab_sizes
    config = TranslatorConfig(
        **{"source_language": "de", "target_language": "en"},
        **sizes,
        model=model.config,
        search=SearchConfig(),
    )
    dense = DenseWeights(model.config, weights, (), **sizes)
    return ExportedModel(config, dense, tokenizer(), precision)


def verified(
    folder: Path,
    model: Transformer,
    precision: ExportPrecision = "float32",
    to: str = "ctranslate2",
) -> Verification:
    """Write a model and compare it with the original."""
    form, random = FORMATS[to], Random(1)
    pytest.importorskip(form.library)
    folder.mkdir()
    form.write(folder, exported(model, precision))
    peer = form.peer(folder, len(tokenizer().tgt))
    pieces = range(2, len(tokenizer().src))
    sources = [(*random.choices(pieces, k=random.randint(1, 15)), 0) for _ in range(12)]
    return verify_export(model, SearchConfig(beam=4), sources, peer)


@pytest.mark.parametrize("name", VARIANTS)
def test_an_export_has_the_same_scores_and_finds_the_same_translations(
    tmp_path: Path, name: str
) -> None:
    found = verified(tmp_path / "out", network(VARIANTS[name]))
    assert found.difference < 1e-4
    assert found.greedy.identical == found.beam.identical == found.sentences == 12


def test_an_export_with_other_weights_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    model = network({})
    FORMATS["ctranslate2"].write(tmp_path, exported(model))
    peer = FORMATS["ctranslate2"].peer(tmp_path, len(tokenizer().tgt))
    with torch.no_grad():
        model.weights()["decoder.1.cross_attention.w_o"].mul_(1.01)
    with pytest.raises(ModelError, match="log-probabilities of the exported model differ"):
        verify_export(model, SearchConfig(), [(4, 5, 6, 0)], peer)


@pytest.mark.parametrize("name", ["post-norm", "everything"])
def test_int8_weights_are_the_rounded_ones(tmp_path: Path, name: str) -> None:
    model = network(VARIANTS[name])
    found = verified(tmp_path / "out", model, "int8")
    assert 0 < found.difference < 3
    variables = Variables(tmp_path / "out" / "model.bin")
    rows = model.weights()["decoder.0.feed_forward.inner.weight"].detach().numpy()
    step = np.abs(rows).max(1, keepdims=True) / 127
    rounded = variables["decoder/layer_0/ffn/linear_0/weight"]
    assert np.abs(rounded - rows).max() > 0
    assert (np.abs(rounded - rows) <= 0.5001 * step).all()


@pytest.mark.parametrize("name", VARIANTS)
def test_an_export_that_is_imported_has_the_same_tensors(tmp_path: Path, name: str) -> None:
    pytest.importorskip("ctranslate2")
    model = network(VARIANTS[name])
    FORMATS["ctranslate2"].write(tmp_path, exported(model))
    (tmp_path / "sentencepiece.model").write_bytes(tokenizer().src.proto)
    config, weights, read = own_model(read_foreign(tmp_path))
    assert isinstance(read, Tokenizer) and read == tokenizer()
    settings = {"n_layers", "n_encoder_layers", "n_decoder_layers", "dropout"}
    assert config.depths == model.config.depths
    assert config.model_dump(exclude=settings) == model.config.model_dump(exclude=settings)
    own = {name: each.detach().numpy() for name, each in model.weights().items()}
    assert weights.keys() - own.keys() <= {"output_bias"}
    assert all(np.array_equal(weights[name], own[name]) for name in own)


def test_the_vocabulary_and_the_special_tokens_are_written(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    FORMATS["ctranslate2"].write(tmp_path, exported(network({})))
    vocabulary = json.loads((tmp_path / "shared_vocabulary.json").read_text(encoding="utf-8"))
    assert vocabulary == [tokenizer().src.piece(i) for i in range(len(tokenizer().src))]
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert config["add_source_eos"] is True and config["add_source_bos"] is False
    assert config["decoder_start_token"] == "</s>"


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"d_k": 3}, "d_k or d_v other than d_model / n_heads"),
        ({"score": "dot"}, "dot-product or additive compatibility"),
        ({"mixing": "convolution"}, "convolution or recurrence in place of self-attention"),
        ({"n_experts": 4}, "experts"),
    ],
)
def test_what_the_library_cannot_compute_is_refused_by_name(
    changes: dict[str, Any], missing: str
) -> None:
    config = TransformerConfig.model_validate({"d_model": 24, "n_heads": 4} | changes)
    with pytest.raises(ModelError, match=f"the format ctranslate2 has no {missing}"):
        refuse(config, "ctranslate2")


def test_the_sentencepiece_models_are_written_once(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    model = exported(network({}))
    for to in ("ctranslate2", "argos"):
        (tmp_path / to).mkdir()
        FORMATS[to].write(tmp_path / to, model)
    names = {path.name for path in (tmp_path / "ctranslate2").iterdir()}
    assert {"source.spm", "target.spm"} < names
    assert (tmp_path / "ctranslate2" / "source.spm").read_bytes() == model.tokenizer.src.proto
    (package,) = (tmp_path / "argos").iterdir()
    with zipfile.ZipFile(package) as file:
        models = [
            name for name in file.namelist() if name.endswith((".spm", "sentencepiece.model"))
        ]
    assert len(models) == 1
