"""Exports to ONNX compute what torch computes; onnxruntime runs them."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.translators import save, untrained
from yakusu.data.batches import pad
from yakusu.data.files.text import read_lines
from yakusu.errors import ModelError
from yakusu.export.formats import ExportedModel
from yakusu.export.onnx import writer as onnx_writer
from yakusu.export.onnx.graphs import N_SINUSOIDS
from yakusu.export.onnx.peer import OnnxPeer
from yakusu.export.verify import Searched, Verification
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.pipeline.export_model import export_model
from yakusu.pipeline.receipts.receipt import read_facts
from yakusu.search.beam import beam_search
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translator
from yakusu.translator.folder.folder import ModelFolder
from yakusu.translator.folder.network import open_model

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.slow  # one export takes about ten seconds

FIXTURES = Path(__file__).parents[1] / "fixtures" / "format-1"
EXAMPLE = Path(__file__).parents[2] / "examples" / "onnx_translate.py"
GRAPHS = ("encoder.onnx", "decoder.onnx", "decoder_with_past.onnx")
# "variant": pre-norm, learned positions, additive compatibility, restricted self-attention, experts
# and separate tables. "codes": a compressed table. "parser": two vocabularies. "other": the rest.
MODELS = ("variant", "codes", "parser", "other")
OTHER: dict[str, Any] = {
    "d_model": 16,
    "n_layers": 1,
    "n_encoder_layers": 2,
    "d_ff": 24,
    "n_heads": 3,
    "d_k": 5,
    "d_v": 7,
    "score": "dot",
    "biases": True,
    "output_bias": True,
    "activation": "silu",
    "start_id": 0,
    "scale_embeddings": False,
    "tied": "decoder",
}


def other_model(folder: Path) -> Path:
    """A model whose settings differ from those of all fixtures."""
    tokenizer = untrained("pieces").tokenizer
    torch.manual_seed(2)
    network = Transformer(TransformerConfig(**OTHER), **tokenizer.vocab_sizes).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "b_" in name or "bias" in name:
                parameter.normal_()
        network.output_weight.mul_(3)  # so that hypotheses differ clearly
    translator = Translator(
        TorchDecoder(network), tokenizer, languages=("de", "en"), search=untrained("pieces").search
    )
    receipt = (FIXTURES / "variant" / "receipt.json").read_text(encoding="utf-8")
    return save(folder, translator, documents={"receipt.json": receipt})


@dataclass(frozen=True)
class Export:
    model: Path
    folder: Path
    found: Verification


Exports = dict[str, Export]


@pytest.fixture(scope="module", name="exports")
def _exports(tmp_path_factory: pytest.TempPathFactory) -> Exports:
    root = tmp_path_factory.mktemp("onnx")
    folders = {name: FIXTURES / name for name in MODELS[:-1]}
    folders["other"] = other_model(root / "model")
    return {
        name: Export(model, root / name, export_model(model, root / name, to="onnx", sentences=24))
        for name, model in folders.items()
    }


@pytest.mark.parametrize("name", MODELS)
def test_onnxruntime_computes_the_same_logits_and_translations(exports: Exports, name: str) -> None:
    found = exports[name].found
    assert found.compared == "logits"
    assert found.difference <= 1e-4
    assert found.greedy == found.beam == Searched(identical=24, ties=0)
    assert found.shipped == 24  # the peer has yakusu's length penalty


@pytest.mark.parametrize("name", MODELS)
def test_the_settings_name_all_inputs_and_outputs_and_their_axes(
    exports: Exports, name: str
) -> None:
    folder = exports[name].folder
    config = json.loads((folder / "config.json").read_bytes())
    assert tuple(config["graphs"]) == GRAPHS
    for graph, sides in config["graphs"].items():
        model = onnx.load(folder / graph)
        onnx.checker.check_model(model, full_check=True)
        assert [(each.domain, each.version) for each in model.opset_import] == [("", 18)]
        for side, values in (("inputs", model.graph.input), ("outputs", model.graph.output)):
            shapes = {each.name: each.type.tensor_type.shape.dim for each in values}
            found = {
                name: [axis.dim_param or axis.dim_value for axis in axes]
                for name, axes in shapes.items()
            }
            assert found == sides[side]


def test_the_settings_have_the_special_ids_and_the_limit(exports: Exports) -> None:
    parser, other, variant = (
        json.loads((exports[name].folder / "config.json").read_bytes())
        for name in ("parser", "other", "variant")
    )
    assert (parser["eos_token_id"], parser["unk_token_id"]) == (0, 1)
    assert (parser["source_pad_token_id"], parser["target_pad_token_id"]) == (39, 13)
    assert (parser["decoder_start_token_id"], parser["max_positions"]) == (13, 2048)
    assert (other["decoder_start_token_id"], variant["max_positions"]) == (0, 300)
    assert (other["source_language"], other["target_language"]) == ("de", "en")


def test_the_vocabulary_has_the_piece_of_each_id(exports: Exports) -> None:
    tokenizer = ModelFolder.open(FIXTURES / "parser").tokenizer
    pieces = json.loads((exports["parser"].folder / "vocabulary.json").read_bytes())
    assert pieces["source"] == [tokenizer.src.piece(i) for i in range(39)]
    assert pieces["target"] == tokenizer.target_pieces(range(13))


def test_a_sentence_beyond_the_last_position_is_an_error_and_not_a_wrong_result(
    exports: Exports,
) -> None:
    encoder = onnxruntime.InferenceSession(exports["codes"].folder / "encoder.onnx")
    longest = np.full((1, N_SINUSOIDS), 5)
    inputs = {"input_ids": longest, "attention_mask": np.ones_like(longest)}
    assert np.isfinite(encoder.run(None, inputs)[0]).all()
    longer = np.full((1, N_SINUSOIDS + 1), 5)
    with pytest.raises(Exception, match="out of data bounds"):
        encoder.run(None, {"input_ids": longer, "attention_mask": np.ones_like(longer)})


def test_one_sentence_of_one_token_has_the_same_logits(exports: Exports) -> None:
    network = open_model(FIXTURES / "codes")[1].eval()
    with torch.inference_mode():
        expected = network.decode(
            torch.tensor([[network.tgt_pad]]), network.encode(torch.tensor([[0]]))
        )
    found = OnnxPeer(exports["codes"].folder).values((0,), (0,))
    np.testing.assert_allclose(found, expected[0].numpy(), atol=1e-4)


def test_an_export_has_the_same_bytes_each_time_and_no_path_of_this_machine(
    exports: Exports, tmp_path: Path
) -> None:
    folder = exports["codes"].folder
    model = ExportedModel.of(ModelFolder.open(FIXTURES / "codes"))
    onnx_writer.write_onnx(tmp_path, model.config, model.weights, model.tokenizer)
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        assert data == (folder / path.name).read_bytes()
        assert b".py" not in data
        assert str(Path.cwd()).encode() not in data


def test_the_receipt_has_the_result_of_the_verification(exports: Exports) -> None:
    folder, found = exports["variant"].folder, exports["variant"].found
    facts = read_facts(folder).exported
    assert facts is not None
    assert (facts.format, facts.library) == ("onnx", f"onnxruntime {onnxruntime.__version__}")
    assert facts.verified["difference"] == found.difference


def test_weights_that_a_graph_cannot_hold_are_in_a_file_next_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_writer, "_LARGEST", 0)
    export_model(FIXTURES / "transformer", tmp_path / "out", to="onnx", sentences=2)
    data = [tmp_path / "out" / f"{name}.data" for name in GRAPHS]
    assert all(path.stat().st_size > 1000 for path in data)


def test_a_graph_of_another_model_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exports: Exports
) -> None:
    def copy(folder: Path, *_: object) -> None:
        for path in exports["codes"].folder.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())

    monkeypatch.setattr(onnx_writer, "write_onnx", copy)
    with pytest.raises(ModelError, match="the logits of the exported model differ by up to"):
        export_model(FIXTURES / "transformer", tmp_path / "out", to="onnx", sentences=4)
    assert not list(tmp_path.iterdir())


def test_a_decoder_with_past_that_differs_from_the_other_decoder_is_an_error(
    exports: Exports, tmp_path: Path
) -> None:
    folder = shutil.copytree(exports["codes"].folder, tmp_path / "copy")
    path = folder / "decoder_with_past.onnx"
    model = onnx.load(path)
    biases = next(each for each in model.graph.initializer if each.name.endswith("inner.bias"))
    biases.CopyFrom(onnx.numpy_helper.from_array(np.full(32, 0.5, np.float32), biases.name))
    onnx.save(model, path)
    message = "the logits of decoder_with_past.onnx differ from those of decoder.onnx by up to"
    with pytest.raises(ModelError, match=message):
        OnnxPeer(folder).values((5, 0), (6, 7, 0))


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("name", ["variant", "other"])  # the table of "codes" has equal rows
def test_the_example_translates_like_yakusu(exports: Exports, name: str, beam: int) -> None:
    config, network, tokenizer = open_model(exports[name].model)
    lines = [*read_lines(FIXTURES / "test.en")][:12]
    src = pad(tokenizer.encode_source(lines), network.src_pad)
    search = config.search.model_copy(update={"beam": beam, "max_repeats": 0})
    best = [found[0].tokens for found in beam_search(network.eval(), src, search)]
    done = subprocess.run(
        [sys.executable, EXAMPLE, exports[name].folder, str(beam)],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:-1] == tokenizer.decode_target(best)
    assert len(EXAMPLE.read_text().splitlines()) <= 40
