"""A corrupt data folder of a run: what names it, rebuilds it, and proves that it is equal."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import yakusu
from tests.pipeline.test_prepare import PAIRS, recipe_for, write
from yakusu.folder import sha256
from yakusu.pipeline.training import prepare as prepare_module
from yakusu.pipeline.training.data_folder import PreparedRecord
from yakusu.progress import Silent


class Said(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has started, next to its corpus."""
    folder = tmp_path_factory.mktemp("prepared")
    write(folder, PAIRS)
    yakusu.prepare(recipe(folder / "run"))
    (folder / "run" / "checkpoints").mkdir()
    return folder


@pytest.fixture
def run(prepared: Path, tmp_path: Path) -> Path:
    """A copy of this run, with the paths of the copy in its recipe."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    stored = tmp_path / "run" / "recipe.toml"
    stored.write_text(stored.read_text().replace(str(prepared), str(tmp_path)))
    return tmp_path / "run"


def recipe(run: Path) -> yakusu.Recipe:
    return recipe_for([str(run.parent / "a.en"), str(run.parent / "a.de")], run)


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path) for path in folder.iterdir()}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def change(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def file_instead(path: Path) -> None:
    folder = path.parent
    shutil.rmtree(folder)
    folder.write_text("")


DAMAGES = [
    ("train.src.tokens", cut),
    ("tokenizer.model", change),
    ("dev.tgt.txt", Path.unlink),
    ("data.json", cut),
    ("manifest.json", cut),
    ("manifest.json", file_instead),
]


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
def test_a_corrupt_data_folder_names_the_command_that_rebuilds_it_with_the_same_bytes(
    run: Path, name: str, damage: Callable[[Path], None]
) -> None:
    before = hashes(run / "data")
    damage(run / "data" / name)
    with pytest.raises(yakusu.YakusuError) as error:
        yakusu.prepare(recipe(run))
    assert str(error.value).startswith(f"{run / 'data'}")
    assert str(error.value).endswith(f": run 'yakusu prepare --again --run {run}' to rebuild it")
    said = Said()
    made = yakusu.prepare(run=run, again=True, progress=said)
    n = len(before) - 1
    assert (
        said.lines[-1] == f"rebuilt {run / 'data'}: its {n} files have the same SHA-256 as before"
    )
    assert (made.n_train, made.existed) == (380, False)
    assert hashes(run / "data") == before
    assert yakusu.prepare(recipe(run)).existed


def test_a_deleted_data_folder_of_a_started_run_is_rebuilt_and_compared(run: Path) -> None:
    before = hashes(run / "data")
    shutil.rmtree(run / "data")
    yakusu.prepare(recipe(run))
    assert hashes(run / "data") == before
    shutil.rmtree(run / "data")
    (run.parent / "a.en").write_text((run.parent / "a.en").read_text().replace("ferry", "fairy"))
    with pytest.raises(yakusu.RunError, match=r"a\.en has changed since .*run/data was made from"):
        yakusu.prepare(recipe(run))
    assert not (run / "data").exists()


@pytest.mark.parametrize("name", ["data.json", "manifest.json"])
def test_a_changed_corpus_is_named_and_nothing_is_rebuilt(run: Path, name: str) -> None:
    cut(run / "data" / name)
    damaged = hashes(run / "data")
    (run.parent / "a.de").write_text((run.parent / "a.de").read_text() + "neu\n")
    with pytest.raises(yakusu.RunError, match=r"a\.de has changed since .*: restore the file"):
        yakusu.prepare(run=run, again=True)
    (run.parent / "a.de").unlink()
    with pytest.raises(yakusu.DataError, match=r"a\.de does not exist, but .* is made from it: re"):
        yakusu.prepare(run=run, again=True)
    assert hashes(run / "data") == damaged


def test_a_folder_that_would_differ_is_left_as_it_is_and_the_versions_are_named(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = run / "prepared.json"
    stored = PreparedRecord.read(record)
    older = stored.model_copy(update={"versions": {**stored.versions, "sentencepiece": "0.1.0"}})
    record.write_text(json.dumps(older.model_dump()))
    monkeypatch.setattr(prepare_module, "_FULLNESS_SAMPLE", 3)  # as another version might
    before = hashes(run / "data")
    with pytest.raises(
        yakusu.RunError,
        match=r"is left as it is \(data\.json would differ; it was made with sentencepiece 0\.1\.0"
        r", now [\d.]+\): restore the folder from a copy, or start a new run",
    ):
        yakusu.prepare(run=run, again=True)
    assert hashes(run / "data") == before
    assert not list(run.glob(".saving-*"))


def test_another_intact_data_folder_is_refused(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    files = [str(tmp_path / "a.en"), str(tmp_path / "a.de")]
    yakusu.prepare(recipe_for(files, other, "data.hold_out=5"))
    shutil.rmtree(run / "data")
    shutil.copytree(other / "data", run / "data")
    with pytest.raises(yakusu.RunError, match="is not the folder that the run was prepared with"):
        yakusu.prepare(recipe(run))


def test_a_run_without_a_record_gets_one_if_its_folder_is_intact(run: Path) -> None:
    (run / "prepared.json").unlink()
    assert yakusu.prepare(recipe(run)).existed
    record = PreparedRecord.read(run / "prepared.json")
    assert record.versions == {}  # those of an earlier process are not known
    assert record.facts and record.facts.n_train == 380


def test_without_any_record_a_rebuilt_folder_is_not_called_proven(
    run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (run / "prepared.json").unlink()
    cut(run / "data" / "manifest.json")
    yakusu.prepare(run=run, again=True)
    assert "nothing proves that it is the one that the run was trained on" in caplog.text


def test_a_run_that_has_not_started_may_be_prepared_differently(run: Path) -> None:
    (run / "checkpoints").rmdir()
    shutil.rmtree(run / "data")
    made = yakusu.prepare(recipe(run), again=True)
    assert made.n_train == 380
