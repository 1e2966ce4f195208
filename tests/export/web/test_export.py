"""What `yakusu export --to web` writes and refuses."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.export.marians import Marian
from tests.export.web.conftest import Node, page_script
from yakusu import Translator, export_web
from yakusu.errors import DataError, ModelError, RunError
from yakusu.export.web.web_page import ENGINES
from yakusu.native.compile import WEB_MODULES, web_sources
from yakusu.pipeline.export_web import WebExport
from yakusu.pipeline.import_model import import_model
from yakusu.pipeline.receipts.receipt import Receipt
from yakusu.recipe import load_recipe

ROOT = Path(__file__).parents[3]
WEB = ROOT / "src/yakusu/export/web"
FIXTURES = ROOT / "tests/fixtures/format-1"
DENO = shutil.which("deno") or ""
SENTENCE = "Der Hund schläft im Garten."


def test_the_modules_are_those_of_the_sources() -> None:
    recorded = (WEB / "engine.sha256").read_text(encoding="utf-8").strip()
    assert recorded == web_sources(), "run scripts/webassembly"
    assert all((WEB / name).read_bytes().startswith(b"\0asm") for name in WEB_MODULES)


def test_a_module_has_its_files_and_says_their_sizes(exported: tuple[Path, WebExport]) -> None:
    folder, made = exported
    assert {path.name for path in folder.iterdir()} == made.sizes.keys()
    assert {
        "yakusu.js",
        "yakusu.d.ts",
        "de-en.bin",
        "index.html",
        *ENGINES,
    } <= made.sizes.keys()
    assert made.sizes["yakusu.js"] == (folder / "yakusu.js").stat().st_size
    assert [each.rounded for each in made.models] == [0]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "## In this page" in card and "THIS_FOLDER" not in card
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    assert (package["name"], package["type"]) == ("yakusu-de-en", "module")


def test_a_module_becomes_a_package_of_npm(
    exported: tuple[Path, WebExport], model_folder: Path, node: Node, tmp_path: Path
) -> None:
    if not (npm := shutil.which("npm")):
        pytest.skip("npm is not installed")
    environment = {**os.environ, "npm_config_cache": str(tmp_path / "cache")}
    run = partial(subprocess.run, check=True, capture_output=True, env=environment)
    run([npm, "pack", "--pack-destination", tmp_path], cwd=exported[0])
    (package,) = tmp_path.glob("*.tgz")
    (tmp_path / "package.json").write_text("{}", encoding="utf-8")
    run([npm, "install", "--offline", "--no-audit", "--no-fund", package], cwd=tmp_path)
    assert (tmp_path / "node_modules/yakusu-de-en/yakusu.d.ts").is_file()
    script = f"""import {{ load }} from "yakusu-de-en";
    const [best] = await (await load()).translate({json.dumps(SENTENCE)});
    give(best.text);"""
    assert node(script) == Translator.load(model_folder).translate([SENTENCE])[0]


@pytest.mark.skipif(not DENO, reason="deno is not installed")
def test_a_module_translates_in_deno(
    exported: tuple[Path, WebExport], model_folder: Path, tmp_path: Path
) -> None:
    script = f"""import {{ load }} from {json.dumps((exported[0] / "yakusu.js").as_uri())};
    const [best] = await (await load()).translate({json.dumps(SENTENCE)});
    console.log(best.text);"""
    (tmp_path / "script.mjs").write_text(script, encoding="utf-8")
    command = [DENO, "run", "--allow-read", tmp_path / "script.mjs"]
    found = subprocess.check_output(command, text=True, encoding="utf-8")
    assert found.strip() == Translator.load(model_folder).translate([SENTENCE])[0]


def test_rows_that_8_bits_do_not_hold_are_counted(tmp_path: Path) -> None:
    test = {"test_src": ["a b", "b a"], "test_tgt": ["a b", "b a"]}
    (made,) = export_web(FIXTURES / "transformer", tmp_path / "new" / "page.html", **test).models
    assert made.rounded > 0
    assert made.scores is not None
    assert made.scores.before.signature == made.scores.after.signature
    assert made.scores.name == "test set of 2 pairs"
    with pytest.raises(DataError, match="the test set is empty"):
        export_web(FIXTURES / "transformer", tmp_path / "page.html", test_src=[], test_tgt=[])


def test_bleu_ignores_case_if_the_vocabulary_does(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = load_recipe("tiny", ["tokenizer.normalization=nmt_nfkc_cf"])
    receipt = Receipt.model_construct(recipe=recipe)
    monkeypatch.setattr("yakusu.pipeline.export_web.read_facts", lambda _: receipt)
    test = {"test_src": ["Der Hund."], "test_tgt": ["The dog."]}
    (made,) = export_web(model_folder, tmp_path / "page.html", **test).models
    assert made.scores is not None
    assert "|case:lc|" in made.scores.before.signature


def test_a_script_reads_only_what_the_runtime_has(exported: tuple[Path, Any], node: Node) -> None:
    script = page_script(exported[0], "give(given.filter((name) => !(name in $)));")
    used = sorted({*re.findall(r"(?<![\w.)])\$\.([a-zA-Z]\w*)", script)})
    found = node(script, used)
    assert found == ["TimeoutError"]  # of users' patterns


def test_an_existing_folder_is_kept(model_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "module").mkdir()
    with pytest.raises(RunError, match=r"module exists: choose another folder"):
        export_web(model_folder, tmp_path / "module")
    assert list((tmp_path / "module").iterdir()) == []


@pytest.mark.parametrize(
    ("model", "reason"),
    [("parser", "this model is a parser"), ("recurrent", "which does not support")],
)
def test_models_without_a_form_in_a_browser_are_refused(
    tmp_path: Path, model: str, reason: str
) -> None:
    with pytest.raises(ModelError, match=reason) as caught:
        export_web(FIXTURES / model, tmp_path / "module")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_vocabulary_of_another_toolkit_is_refused(
    tmp_path: Path,
) -> None:
    import_model(Marian().write(tmp_path / "hf"), tmp_path / "model")
    with pytest.raises(ModelError, match="needs a vocabulary of SentencePiece"):
        export_web(tmp_path / "model", tmp_path / "module")
    assert not (tmp_path / "module").exists()


def test_the_same_model_gives_the_same_bytes(
    exported: tuple[Path, Any], model_folder: Path, tmp_path: Path
) -> None:
    script = "import sys, yakusu; yakusu.export_web(*sys.argv[1:])"
    command = [sys.executable, "-c", script, str(model_folder), str(tmp_path / "again")]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": "1"})
    for path in exported[0].iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), path.name
