"""The models of the package: `yakusu models`, and their names instead of folders."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import yakusu
from tests.cli.conftest import Said
from yakusu import shipped
from yakusu.serve.config import ServeConfig
from yakusu.serve.service import Service

TRAINED = Path(__file__).parents[1] / "fixtures" / "format-1" / "transformer"
Yakusu = Callable[..., Said]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one model, in an empty working folder."""
    shutil.copytree(TRAINED, tmp_path / "package" / "en-de")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "package")
    return tmp_path / "package"


def test_the_models_of_the_package_are_listed(run_yakusu: Yakusu, package: Path) -> None:
    said = run_yakusu("models")
    assert said.code == 0
    assert said.out.splitlines()[0].startswith("en-de  ")
    (listed,) = json.loads(run_yakusu("models", "--format", "json").out)
    assert listed["languages"] == ["en", "de"]
    assert listed["path"] == str(package / "en-de")
    assert listed["bytes"] == sum(file.stat().st_size for file in TRAINED.iterdir())


def test_a_name_translates_as_the_folder(run_yakusu: Yakusu, package: Path) -> None:
    by_folder = run_yakusu("translate", package / "en-de", stdin=b"A ferry.\n")
    by_name = run_yakusu("translate", "en-de", stdin=b"A ferry.\n")
    assert by_name.code == 0
    assert by_name.out == by_folder.out


@pytest.mark.usefixtures("package")
def test_a_folder_of_that_name_comes_first(run_yakusu: Yakusu) -> None:
    Path("en-de").mkdir()
    assert "en-de" in run_yakusu("translate", "en-de", stdin=b"A ferry.\n").error


@pytest.mark.usefixtures("package")
def test_an_unknown_name_is_refused_with_the_list(run_yakusu: Yakusu) -> None:
    assert run_yakusu("translate", "en-da", stdin=b"A ferry.\n").error == (
        "en-da is neither a model folder nor a bundled model: did you mean 'en-de'?"
    )
    assert run_yakusu("verify", "french").error == (
        "french is neither a model folder nor a bundled model: choose from en-de"
    )


@pytest.mark.usefixtures("package")
def test_every_verb_that_reads_a_model_accepts_the_name(run_yakusu: Yakusu, tmp_path: Path) -> None:
    for name in ("a.en", "a.txt"):
        Path(name).write_text("A ferry.\n", encoding="utf-8")
    Path("a.de").write_text("Eine Fähre.\n", encoding="utf-8")
    for command in (
        ["verify", "en-de"],
        ["score", "en-de", "a.en", "a.de"],
        ["evaluate", "en-de", "a.de", "--src", "a.en"],
        ["view", "en-de", "--src", "A ferry.", "--out", "a.svg"],
        ["translate", "en-de", "a.txt", "--out", "b.txt"],
    ):
        said = run_yakusu(*command)
        assert said.code == 0, said
    assert yakusu.Translator.load("en-de").languages == ("en", "de")


@pytest.mark.usefixtures("package")
def test_a_named_model_is_served() -> None:
    service = Service(ServeConfig(), [Path("en-de")])
    try:
        (step,) = service.models.catalog.steps
        assert step.languages == ("en", "de")
    finally:
        service.close()


def test_verbs_that_write_into_a_folder_refuse_the_name(run_yakusu: Yakusu, package: Path) -> None:
    before = {file.name: file.read_bytes() for file in (package / "en-de").iterdir()}
    assert "en-de" in run_yakusu("card", "en-de", "--target", "fr").error
    assert {file.name: file.read_bytes() for file in (package / "en-de").iterdir()} == before
