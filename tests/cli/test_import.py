"""The verb `yakusu import`, and what the other verbs do with an imported model."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.export.marians import Marian, sentences
from yakusu.folder import sha256
from yakusu.pipeline.compress import MemoryUse

RunYakusu = Callable[..., Any]
CARD = "---\nlanguage: [en, de]\nlicense: cc-by-4.0\n---\n\n# A model\n"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in the form of Hugging Face, with a licence."""
    folder = Marian(config={"_name_or_path": "Example/opus-mt-en-de"}).write(
        tmp_path_factory.mktemp("import") / "hf"
    )
    (folder / "README.md").write_text(CARD)
    return folder


@pytest.fixture(scope="module")
def model(original: Path) -> Path:
    """The imported model."""
    from yakusu import import_model

    return import_model(original, original.parent / "model").folder


def test_import_says_what_the_model_is_and_what_to_do_next(
    run_yakusu: RunYakusu, original: Path, tmp_path: Path
) -> None:
    said = run_yakusu("import", original, tmp_path / "out")
    assert said.code == 0, said.err
    imported, described, weights, licence, following = said.out.splitlines()
    assert imported == "imported: Hugging Face, Example/opus-mt-en-de"
    n = len(Marian().vocabularies()[0])
    assert described == (
        f"model: en to de, 2 + 2 layers, d_model 32, d_ff 40, 4 heads, {n - 1} tokens"
    )
    assert weights.startswith("weights: ") and weights.endswith(" kB as float32")
    assert licence == "licence: cc-by-4.0"
    assert following.startswith("next: echo 'A sentence.' | ")
    assert following.endswith(f" translate {tmp_path / 'out'}")


def test_unknown_languages_are_reported(run_yakusu: RunYakusu, tmp_path: Path) -> None:
    folder = Marian(languages=(None, "bad\ncode")).write_original(tmp_path / "npz")
    said = run_yakusu("import", folder / "model.npz", tmp_path / "out")
    assert "languages: unknown: store them with " in said.out
    assert f" card {tmp_path / 'out'} --source CODE --target CODE\n" in said.out


def test_languages_can_be_given(run_yakusu: RunYakusu, tmp_path: Path) -> None:
    folder = Marian(languages=(None, "bad\ncode")).write_original(tmp_path / "npz")
    options = ("--source-language", "en", "--target-language", "deu_Latn")
    said = run_yakusu("import", folder / "model.npz", tmp_path / "out", *options)
    assert "\nmodel: en to de, " in said.out
    assert "\nlicence: unknown: ask its authors\n" in said.out
    assert "languages: " not in said.out
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["source_language"], config["target_language"]) == ("en", "de")


def test_the_receipt_and_the_card_name_origin_and_licence(
    run_yakusu: RunYakusu, original: Path, model: Path
) -> None:
    origin = json.loads((model / "receipt.json").read_text())["origin"]
    assert origin["format"] == "Hugging Face"
    assert origin["name"] == "Example/opus-mt-en-de"
    assert origin["licence"] == "cc-by-4.0"
    assert origin["files"] == {
        path.name: sha256(path) for path in sorted(original.iterdir()) if path.is_file()
    }
    card = (model / "README.md").read_text()
    assert card.startswith("---\nlanguage: [en, de]\nlicense: cc-by-4.0\n")
    assert "| licence | cc-by-4.0 |" in card
    assert "| original | Example/opus-mt-en-de |" in card
    said = run_yakusu("verify", model)
    assert "\nimported from Hugging Face 'Example/opus-mt-en-de' by yakusu " in said.out
    assert "\nlicence: cc-by-4.0\n" in said.out
    assert said.out.splitlines()[-1].startswith("intact: all ")


def test_an_import_is_the_same_bytes_each_time(
    run_yakusu: RunYakusu, original: Path, model: Path, tmp_path: Path
) -> None:
    assert run_yakusu("import", original, tmp_path / "again").code == 0
    for path in model.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_an_existing_folder_is_left_alone(
    run_yakusu: RunYakusu, original: Path, tmp_path: Path
) -> None:
    said = run_yakusu("import", original, tmp_path)
    assert said.error == f"{tmp_path} exists: choose another folder"
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_a_model_is_named(run_yakusu: RunYakusu, tmp_path: Path) -> None:
    said = run_yakusu("import", tmp_path, tmp_path / "out")
    assert f"{tmp_path} is not a model that can be imported: choose a folder with" in said.error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_an_imported_model_translates(run_yakusu: RunYakusu, model: Path, engine: str) -> None:
    text = "".join(f"{line}\n" for line in sentences(0)[:5]).encode()
    said = run_yakusu("translate", model, "--engine", engine, stdin=text)
    assert said.code == 0, said.err
    assert len(said.out.splitlines()) == 5 and all(said.out.splitlines())


def test_an_imported_model_scores_and_shows_attention(
    run_yakusu: RunYakusu, model: Path, tmp_path: Path
) -> None:
    for side in (0, 1):
        (tmp_path / str(side)).write_text(f"{sentences(side)[0]}\n", encoding="utf-8")
    said = run_yakusu("score", model, tmp_path / "0", tmp_path / "1")
    assert said.code == 0 and float(said.out.split()[0]) < 0, said
    said = run_yakusu("view", model, "--src", sentences(0)[0], "--out", tmp_path / "view.html")
    assert said.code == 0, said.err


def test_an_imported_model_can_be_compressed(
    run_yakusu: RunYakusu, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = MemoryUse(1000, "int8")
    monkeypatch.setattr("yakusu.pipeline.compress.memory_of", lambda _: memory)  # no new processes
    options = ("--method", "integers", "--set", "compress.step=0.2", "--int8")
    said = run_yakusu("compress", model, tmp_path / "small", *options)
    assert said.code == 0, said.err
    receipt = json.loads((tmp_path / "small" / "receipt.json").read_text())
    assert receipt["origin"]["licence"] == "cc-by-4.0"
    assert receipt["compressed"]["from"] == sha256(model / "model.safetensors")
    assert run_yakusu("verify", tmp_path / "small").code == 0
    said = run_yakusu("translate", tmp_path / "small", stdin=sentences(0)[0].encode())
    assert said.code == 0 and said.out.strip()
