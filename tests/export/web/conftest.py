"""A small translator, and the module that it is exported as."""

import json
import pickle
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock

from tests.phrases import phrases
from tests.translators import sharpened
from yakusu import export_web
from yakusu.data.coverage import Coverage
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.export.web.weights import in_8_bits
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.pipeline.export_web import WebExport
from yakusu.search.config import SearchConfig
from yakusu.translator.folder.folder import TranslatorConfig
from yakusu.translator.folder.network import save_translator

NODE = shutil.which("node") or ""
Node = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs node where it is missing."""
    for item in items:
        if not NODE and "node" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason="node is not installed"))


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Runs JavaScript, which reads `given` and calls `give`: node(script, given)."""

    def run(script: str, given: Any = None) -> Any:
        head = (
            'import { readFileSync, writeSync } from "node:fs";\n'
            'const given = JSON.parse(readFileSync(0, "utf8"));\n'
            "const give = (value) => { const all = Buffer.from(JSON.stringify(value));"
            " for (let n = 0; n < all.length; n += writeSync(1, all, n)); };\n"
        )
        path = tmp_path / "script.mjs"
        path.write_text(head + script, encoding="utf-8")
        command, text = [NODE, "--no-warnings", path], json.dumps(given)
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    return run


def page_script(folder: Path, more: str) -> str:
    """A script for node that has the names of the worker of a page; `load` opens a model."""
    worker = (folder / "worker.js").read_text(encoding="utf-8")
    load = """
    async function load(folder, name = "de-en") {
      const read = (file) => readFileSync(new URL(file, folder));
      const engine = await engineOf(read("engine.wasm"), read("kernels-simd.wasm"));
      return openTranslator(engine, await unpacked(read(`${name}.bin`)));
    }
    """
    return f"globalThis.onmessage = null;\n{worker}{load}{more}"


def small_model(folder: Path, *, source: str = "de", target: str = "en") -> Path:
    """Write an untrained translator with bytes and slots, whose weights have 8 bits."""
    pairs = phrases("de").train[:200]
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    config = TokenizerConfig(vocab_size=400, character_coverage=0.99)
    tokenizer = Tokenizer.train(*sides, config, seed=1)
    characters = ["".join(sorted({*"".join(side)})) for side in sides]
    tokenizer.coverage = Coverage(
        source_characters=characters[0], target_characters=characters[1], longest_source=40
    )
    torch.manual_seed(3)
    sizes = TransformerConfig(n_layers=1, d_model=16, d_ff=32, n_heads=2)
    model = sharpened(Transformer(sizes, **tokenizer.vocab_sizes))
    weights = {name: weight.detach().numpy() for name, weight in model.weights().items()}
    for name, weight in weights.items():
        if weight.ndim == 2:
            rows, scales = in_8_bits(weight)
            weights[name] = rows * scales[:, None]
    settings = TranslatorConfig(
        task="translation",
        source_language=source,
        target_language=target,
        **tokenizer.vocab_sizes,
        model=sizes,
        search=SearchConfig(beam=3, max_extra=3),
    )
    tensors = {name: torch.from_numpy(weight) for name, weight in weights.items()}
    save_translator(folder, tensors, tokenizer, settings)
    return folder


@pytest.fixture(scope="session")
def model_folder(shared_folder: Path) -> Path:
    """The folder of the small translator, written once for all processes of pytest; read only."""
    folder = shared_folder / "web" / "model"
    with FileLock(shared_folder / "web.lock"):
        return folder if folder.exists() else small_model(folder)


@pytest.fixture(scope="session")
def exported(shared_folder: Path, model_folder: Path) -> tuple[Path, WebExport]:
    """The folder of its module, and what was written: once for all processes; read only."""
    out, written = shared_folder / "web" / "module", shared_folder / "web" / "written"
    with FileLock(shared_folder / "web.lock"):
        if not written.exists():
            written.write_bytes(pickle.dumps(export_web(model_folder, out)))
    made: WebExport = pickle.loads(written.read_bytes())
    return out, made
