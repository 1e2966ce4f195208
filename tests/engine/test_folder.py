"""Model folders open for the engine as they open in torch, and translate alike."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.library import MatrixFormat
from yakusu.engine.model import NativeModel
from yakusu.engine.tables import DenseWeights
from yakusu.errors import ModelError
from yakusu.folder import read_json, sha256, write_json
from yakusu.model.base import Seq2Seq
from yakusu.model.config import TransformerConfig
from yakusu.model.table import DenseTable
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Decoder, Query
from yakusu.search.tokens import TokenRules
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator.folder.folder import ModelFolder
from yakusu.translator.folder.network import open_model
from yakusu.translator.folder.opening import open_decoder

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"
TRANSFORMERS = ("transformer", "codes", "integers", "variant", "parser")
TABLES = ("src_table", "tgt_table", "output_table")

Tokens = list[tuple[int, ...]]


def native(folder: Path, precision: Literal["int8", "int16", "float32"]) -> Decoder:
    return open_decoder([folder], EngineConfig(engine="native", precision=precision, threads=1))[2]


def translate(decoder: Decoder, folder: Path) -> Tokens:
    tokenizer = ModelFolder.open(folder).tokenizer
    lines = (FILES / "test.en").read_text(encoding="utf-8").splitlines()
    queries = [Query(source) for source in tokenizer.encode_source(lines)]
    found = decoder.search(queries, SearchConfig(max_extra=10), TokenRules.of(tokenizer), batch=8)
    return [best.tokens for best, *_ in found]


def without_rounding(model: Seq2Seq) -> Seq2Seq:
    """The model with dense tables: an `IntegerTable` rounds hidden states to 8 bits on a CPU."""
    for table in {id(table): table for table in (model.tgt_table, model.src_table)}.values():
        if not isinstance(table, DenseTable):
            n_ids = model.tgt_vocab_size
            with torch.no_grad():
                dense = DenseTable(n_ids, model.config.d_model)
                dense.weight.copy_(table(torch.arange(n_ids)))
            for name in TABLES:
                if getattr(model, name) is table:
                    setattr(model, name, dense)
    return model.eval()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder whose files may be changed; `seal` makes its manifest match again."""
    return Path(shutil.copytree(FILES / "integers", tmp_path / "model"))


def seal(folder: Path) -> None:
    manifest = read_json(folder / "manifest.json")
    for name in manifest["files"]:
        path = folder / name
        manifest["files"][name] = {"size": path.stat().st_size, "sha256": sha256(path)}
    write_json(folder / "manifest.json", manifest)


# ---- folders of older versions -------------------------------------------------------------------


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_weights_of_a_folder_are_those_of_torch(name: str) -> None:
    opened, (config, model, tokenizer) = ModelFolder.open(FILES / name), open_model(FILES / name)
    assert opened.config == config and opened.tokenizer == tokenizer
    assert isinstance(config.model, TransformerConfig)
    found = DenseWeights(config.model, opened.weights, config.compressed, **config.vocab_sizes)
    expected = without_rounding(model).weights()
    assert set(found) == set(expected)
    for each, weight in expected.items():
        np.testing.assert_allclose(found[each], weight.detach().numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["transformer", "codes", "integers", "parser"])
def test_translations_in_float32_are_those_of_torch(name: str) -> None:
    folder = FILES / name
    torchs = TorchDecoder(without_rounding(open_model(folder)[1]))
    assert translate(native(folder, "float32"), folder) == translate(torchs, folder)


@pytest.mark.parametrize("name", ["codes", "integers"])
def test_a_compressed_model_in_int8_equals_the_dense_one(name: str) -> None:
    folder = FILES / name
    config, model, _ = open_model(folder)
    dense = {
        each: weight.detach().numpy() for each, weight in without_rounding(model).weights().items()
    }
    other = NativeModel.load(
        config.model, dense, (), **config.vocab_sizes, matrices=MatrixFormat.INT8
    )
    assert translate(native(folder, "int8"), folder) == translate(NativeDecoder([other]), folder)


@pytest.mark.parametrize(
    ("name", "kind"), [("recurrent", "recurrent models"), ("variant", "restricted self-attention")]
)
def test_a_model_that_the_engine_does_not_support_is_refused(name: str, kind: str) -> None:
    opened = ModelFolder.open(FILES / name)
    config = opened.config
    with pytest.raises(ModelError) as error:
        NativeModel.load(
            config.model,
            opened.weights,
            config.compressed,
            **config.vocab_sizes,
            matrices=MatrixFormat.INT8,
        )
    assert str(error.value) == f"the native engine does not support {kind}: use --engine torch"


# ---- invalid folders -----------------------------------------------------------------------------


def both_errors(folder: Path) -> set[str]:
    """What both ways to open a folder say about it."""
    found = set()
    for opened in (lambda: open_model(folder), lambda: native(folder, "int8")):
        with pytest.raises(ModelError) as error:
            opened()
        found.add(str(error.value))
    return found


def test_both_ways_to_open_a_folder_verify_it(copied: Path) -> None:
    (said,) = both_errors(copied / "nowhere")
    assert "is not a model folder: check the path" in said
    path = copied / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    (said,) = both_errors(copied)
    assert said.startswith(f"{path} is corrupt") and said.endswith("copy the folder again")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("d_ff", 64, "{}: the weights belong to another model: '"),
        ("n_layers", 2, "{}: the weights belong to another model: '"),
        ("n_heads", "x", "{}/config.json is invalid: model.n_heads: Input should be"),
        ("d_model", 17, "{}/config.json is invalid: model.d_model: Input should be"),
    ],
)
def test_both_ways_report_weights_that_do_not_fit(
    copied: Path, key: str, value: Any, message: str
) -> None:
    config = read_json(copied / "config.json")
    config["model"][key] = value
    write_json(copied / "config.json", config)
    seal(copied)
    for said in both_errors(copied):
        assert said.startswith(message.format(copied))


def test_both_ways_report_a_corrupted_stream(copied: Path) -> None:
    path = copied / "model.safetensors"
    stored = load_file(path)
    save_file(stored | {"tgt_table.numbers": stored["tgt_table.numbers"][:-5]}, path)
    seal(copied)
    (said,) = both_errors(copied)
    assert said.startswith(f"{copied} is inconsistent: the stream 'tgt_table.numbers' is corrupted")


# ---- without torch -------------------------------------------------------------------------------

_OPENS = """
import sys
from pathlib import Path
sys.modules["torch"] = None  # importing it is an error
from yakusu.engine.config import EngineConfig
from yakusu.translator.folder.opening import open_decoder
for name in sys.argv[1:]:
    open_decoder([Path(name)], EngineConfig(engine="native"))
"""


def test_a_folder_opens_without_torch() -> None:
    names = [FILES / name for name in TRANSFORMERS if name != "variant"]
    done = subprocess.run(
        [sys.executable, "-c", _OPENS, *names], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
