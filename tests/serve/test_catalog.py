"""Several models: pairs, pivots, names, and folders that are replaced."""

import errno
import re
import shutil
import stat
from io import BufferedReader
from pathlib import Path

import pytest

from tests.translators import save, untrained
from yakusu.data.segments import MemorySegment
from yakusu.engine.config import EngineConfig
from yakusu.engine.workers import Threads
from yakusu.errors import DataError, ModelError
from yakusu.folder import open_regular
from yakusu.memory.memory import TranslationMemory
from yakusu.search.config import SearchConfig
from yakusu.serve.catalog import Catalog, ReloadedModels
from yakusu.serve.errors import RefusedError
from yakusu.serve.memories import MemoryFiles

ENGINE = EngineConfig(engine="native")
TEXT = "Der Zug kommt."
FIXTURES = Path(__file__).parents[1] / "fixtures" / "format-1"


def opened(*folders: Path) -> ReloadedModels:
    return ReloadedModels(folders, ENGINE, Threads(1))


def test_several_models_of_a_pair_have_names(folders: dict[str, Path], tmp_path: Path) -> None:
    second = tmp_path / "news" / "model"
    shutil.copytree(folders["de-en"], second)
    catalog = opened(folders["de-en"], second, folders["de-en"]).catalog
    names = [route[0].name for route in catalog.routes["de", "en"]]
    assert names == ["de-en", "news", "de-en-2"]
    assert catalog.route("de", "en")[0].name == "de-en"
    assert catalog.route("de", "en", "news")[0].name == "news"


def test_a_pivot_is_used_only_where_no_model_is(folders: dict[str, Path], tmp_path: Path) -> None:
    catalog = opened(*folders.values()).catalog
    (pivot,) = catalog.routes["de", "fr"]
    assert [step.name for step in pivot] == ["de-en", "en-fr"]
    with pytest.raises(RefusedError, match="no model 'x' for de-fr: omit it"):
        catalog.route("de", "fr", "x")
    pair = {"source_language": "de", "target_language": "fr"}
    direct = save(tmp_path / "direct", untrained("bytes"), **pair)
    catalog = opened(*folders.values(), direct).catalog
    assert [[step.name for step in route] for route in catalog.routes["de", "fr"]] == [["direct"]]


def test_a_memory_serves_the_direction_of_its_languages(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "team.db"
    with TranslationMemory.open(path, ("en", "fr"), writable=True) as memory:
        memory.add([MemorySegment("Save", "Enregistrer")])
    files = MemoryFiles.of_settings([str(path)])
    models = ReloadedModels([*folders.values()], ENGINE, Threads(1), files)
    known = {step.languages: step.translator.memories for step in models.catalog.steps}
    assert [pair for pair, memories in known.items() if memories] == [("en", "fr")]
    (own,) = models.catalog.route("en", "fr")
    assert own.translator.with_settings().translate(["Save"]) == ["Enregistrer"]
    with pytest.raises(DataError, match=r"team\.db is a memory of en-fr: serve a model of it"):
        ReloadedModels([folders["de-en"]], ENGINE, Threads(1), files)


def paired(folder: Path, *pairs: str) -> Catalog:
    """The catalog of models whose language pairs are given as "en pt-BR"."""
    made = []
    for number, (source, target) in enumerate(map(str.split, pairs)):
        languages = {"source_language": source, "target_language": target}
        made.append(save(folder / str(number), untrained("bytes"), **languages))
    return opened(*made).catalog


def test_codes_are_matched_among_those_of_their_side(tmp_path: Path) -> None:
    catalog = paired(tmp_path, "en pt-BR", "pt-PT en")
    assert catalog.pair("en", "pt") == ("en", "pt-BR")
    assert catalog.pair("pt", "eng") == ("pt-PT", "en")
    for same in ("pt-PT", "pt-BR"):  # no model, but the same language; pt-BR is only a target
        assert catalog.pair(same, same) == (same, same)
    with pytest.raises(RefusedError, match=r"^pt is not supported: choose pt-BR or pt-PT$"):
        catalog.pair("pt", "pt")


def test_codes_that_cannot_be_chosen_are_refused_with_the_choices(tmp_path: Path) -> None:
    catalog = paired(tmp_path, "en srp_Cyrl", "en srp_Latn", "fr en", "ja en")
    for pair, message in {
        ("en", "sr"): "sr is not supported: choose sr-Cyrl or sr-Latn",
        ("xx", "en"): "xx is not supported: choose one of en, fr, ja",
        ("en", "xx"): "xx is not supported: choose one of sr-Cyrl, sr-Latn",
        ("en", "ja"): "Japanese (ja) is not available as a target language from English (en): "
        "choose one of sr-Cyrl, sr-Latn",
    }.items():
        with pytest.raises(RefusedError, match=f"^{re.escape(message)}$"):
            catalog.pair(*pair)


def test_a_replaced_folder_is_opened_again(
    folders: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="yakusu.serve")
    folder = tmp_path / "served"
    shutil.copytree(folders["de-en"], folder)
    models = opened(folder)
    old = models.catalog
    models.refresh()
    assert models.catalog is old
    shutil.rmtree(folder)
    models.refresh()  # it is being replaced
    assert models.catalog is old
    save(folder, untrained("pieces"), source_language="de", target_language="fr")
    models.refresh()
    assert list(models.catalog.routes) == [("de", "fr")]
    replaced = [record for record in caplog.records if "replaced" in record.message]
    assert [(record.levelname, record.message) for record in replaced] == [
        ("INFO", f"{folder} was replaced: the new model is in use")
    ]
    assert old.steps[0].translator.translate([TEXT]) == untrained("bytes").translate([TEXT])


def test_a_broken_folder_changes_nothing(
    folders: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "served"
    shutil.copytree(folders["de-en"], folder)
    models = opened(folder)
    old = models.catalog
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    models.refresh()
    assert models.catalog is old and "the old model served is kept" in caplog.text
    caplog.clear()
    models.refresh()  # reported once
    assert not caplog.text


def test_a_folder_is_opened_when_its_permissions_were_corrected(
    folders: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def open_readable(path: Path) -> BufferedReader:  # root can read every file
        if not path.stat().st_mode & stat.S_IRUSR:
            raise PermissionError(errno.EACCES, "Permission denied")
        return open_regular(path)

    monkeypatch.setattr("yakusu.folder.open_regular", open_readable)
    folder, new = tmp_path / "served", tmp_path / "new"
    shutil.copytree(folders["de-en"], folder)
    models = opened(folder)
    save(new, untrained("pieces"), source_language="de", target_language="fr")
    weights = new / "model.safetensors"
    weights.chmod(0)
    shutil.rmtree(folder)
    new.rename(folder)
    models.refresh()
    assert list(models.catalog.routes) == [("de", "en")] and "Permission denied" in caplog.text
    (folder / weights.name).chmod(0o644)
    models.refresh()
    assert list(models.catalog.routes) == [("de", "fr")]


@pytest.mark.parametrize(
    ("name", "missing"),
    [("recurrent", "recurrent models"), ("variant", "restricted self-attention")],
)
def test_models_that_need_torch_are_refused_with_a_fix_that_exists(name: str, missing: str) -> None:
    folder = FIXTURES / name
    message = (
        f"{folder} cannot be served: the CPU engine does not support {missing}: serve another "
        "model, or translate with 'yakusu translate --engine torch'"
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        opened(folder)


def test_a_search_that_needs_torch_is_refused(tmp_path: Path) -> None:
    search = SearchConfig(coverage=0.2)
    with pytest.raises(ModelError, match=r"does not support search\.coverage: serve another model"):
        opened(save(tmp_path / "model", untrained("bytes"), search=search))


def test_a_missing_engine_is_reported_without_options_of_other_commands(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("translator.folder.opening", "serve.catalog"):
        monkeypatch.setattr(f"yakusu.{module}.why_unavailable", lambda: "was not compiled")
    with pytest.raises(ModelError, match=r"the CPU engine was not compiled: install") as error:
        opened(folders["de-en"])
    assert "--engine" not in str(error.value)


def test_models_that_cannot_be_served_are_refused(tmp_path: Path) -> None:
    unknown = save(tmp_path / "unknown", untrained("bytes"), source_language="")
    with pytest.raises(
        ModelError,
        match=r"has no language codes \(\?-en\): .*yakusu card .*/unknown --source CODE'",
    ):
        opened(unknown)
    with pytest.raises(ModelError, match="is a parser: serve translators only"):
        opened(FIXTURES / "parser")
    with pytest.raises(ModelError, match="is not a model folder"):
        opened(tmp_path / "none")
