"""Model folders open for the engine as they open in torch, and translate alike."""

import math
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from yakusu.engine.library import Settings
from yakusu.engine.model import NativeModel
from yakusu.engine.session import Session
from yakusu.engine.tables import DenseWeights
from yakusu.errors import ModelError
from yakusu.folder import read_json, sha256, write_json
from yakusu.model.base import Seq2Seq
from yakusu.model.config import TransformerConfig
from yakusu.model.table import DenseTable
from yakusu.search.beam import beam_search, limit
from yakusu.search.config import SearchConfig
from yakusu.translator.folder import ModelFolder
from yakusu.translator.native import open_native
from yakusu.translator.network import open_model

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"
TRANSFORMERS = ("transformer", "codes", "integers", "variant", "parser")
TABLES = ("src_table", "tgt_table", "output_table")
SEARCH = SearchConfig(max_repeats=0, max_extra=10)

Tokens = list[tuple[int, ...]]


def sources(folder: Path) -> list[list[int]]:
    lines = (FILES / "test.en").read_text(encoding="utf-8").splitlines()
    return ModelFolder.open(folder).tokenizer.encode_source(lines)


def settings(source: Sequence[int], max_length: int) -> Settings:
    longest = limit(SEARCH, n_source=len(source), n_prefix=0, max_length=max_length)
    return Settings(SEARCH.beam, 1, longest, 0, 0, math.inf, SEARCH.alpha)


def translate(model: NativeModel, ids: Sequence[Sequence[int]]) -> Tokens:
    session = Session([model])
    for key, source in enumerate(ids):
        session.search(key, source, settings(source, model.max_length))
    found = dict(session.run())
    return [found[key][0].tokens for key in range(len(ids))]


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


@pytest.mark.parametrize("name", ["transformer", "codes", "integers"])
def test_translations_in_float32_are_those_of_torch(name: str) -> None:
    ids = sources(FILES / name)
    _, model, _ = open_model(FILES / name)
    expected = [beam_search(without_rounding(model), torch.tensor([s]), SEARCH)[0] for s in ids]
    _, native, _ = open_native(FILES / name, int8=False)
    assert translate(native, ids) == [best.tokens for best, *_ in expected]


@pytest.mark.parametrize("name", ["codes", "integers"])
def test_integers_of_a_compressed_model_are_those_of_a_dense_one(name: str) -> None:
    ids = sources(FILES / name)
    config, native, _ = open_native(FILES / name, int8=True)
    dense = without_rounding(open_model(FILES / name)[1]).weights()
    stored = {each: weight.detach().numpy() for each, weight in dense.items()}
    other = NativeModel.load(config.model, stored, (), **config.vocab_sizes, int8=True)
    assert translate(native, ids) == translate(other, ids)


@pytest.mark.parametrize("name", ["recurrent", "convolutional"])
def test_a_model_that_is_not_a_transformer_is_refused(name: str) -> None:
    with pytest.raises(ModelError) as error:
        open_native(FILES / name, int8=True)
    assert str(error.value) == (
        f"the CPU engine does not run a model of the kind '{name}': use --engine torch"
    )


# ---- invalid folders -----------------------------------------------------------------------------


def both_errors(folder: Path) -> set[str]:
    """What both ways to open a folder say about it."""
    found = set()
    for opened in (lambda: open_model(folder), lambda: open_native(folder, int8=True)):
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
        ("d_ff", 64, "the weights belong to another model: '{}' does not match"),
        ("n_layers", 2, "the weights belong to another model: '{}' does not match"),
        ("n_heads", "x", "{}/config.json is invalid: model.transformer.n_heads: Input should be"),
        ("d_model", 17, "{}/config.json is invalid: model.transformer.d_model: Input should be"),
    ],
)
def test_both_ways_report_weights_that_do_not_fit(
    copied: Path, key: str, value: Any, message: str
) -> None:
    config = read_json(copied / "config.json")
    config["model"][key] = value
    write_json(copied / "config.json", config)
    seal(copied)
    before, after = message.split("{}")
    for said in both_errors(copied):
        assert said.startswith(before) and after in said


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
{imports}
sys.modules["torch"] = None  # importing it is an error
from yakusu.translator.native import open_native
for name in {names}:
    open_native(Path(name), int8=True)
"""
# The package imports `Translator`, which imports torch; the modules below it do not.
_WITHOUT_TRANSLATOR = """
import types
import yakusu
package = sys.modules["yakusu.translator"] = types.ModuleType("yakusu.translator")
package.__path__ = [str(Path(yakusu.__file__).parent / "translator")]
"""


def open_without_torch(imports: str) -> subprocess.CompletedProcess[str]:
    names = [str(FILES / name) for name in TRANSFORMERS if name != "variant"]
    script = _OPENS.format(imports=imports, names=names)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )


def test_a_folder_opens_without_torch() -> None:
    done = open_without_torch(_WITHOUT_TRANSLATOR)
    assert done.returncode == 0, done.stderr


@pytest.mark.xfail(strict=True, reason="yakusu.translator imports torch")
def test_the_package_of_the_translator_is_imported_without_torch() -> None:
    done = open_without_torch("")
    assert done.returncode == 0, done.stderr
