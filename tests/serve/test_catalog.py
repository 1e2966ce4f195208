"""Several models: pairs, pivots, names, and folders that are replaced."""

import shutil
from pathlib import Path

import pytest

from tests.translators import save, untrained
from yakusu.engine.config import EngineConfig
from yakusu.engine.workers import Threads
from yakusu.errors import ModelError
from yakusu.serve.catalog import Models
from yakusu.serve.errors import RefusedError

ENGINE = EngineConfig(engine="native")
TEXT = "Der Zug kommt."


def opened(*folders: Path) -> Models:
    return Models(folders, ENGINE, Threads(1))


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


def test_a_replaced_folder_is_opened_again(folders: dict[str, Path], tmp_path: Path) -> None:
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


def test_models_that_cannot_be_served_are_refused(tmp_path: Path) -> None:
    unknown = save(tmp_path / "unknown", untrained("bytes"), source_language="")
    with pytest.raises(ModelError, match=r"has no language codes \(\?-en\)"):
        opened(unknown)
    parser = Path(__file__).parents[1] / "fixtures" / "format-1" / "parser"
    with pytest.raises(ModelError, match="is a parser: serve translators only"):
        opened(parser)
    with pytest.raises(ModelError, match="is not a model folder"):
        opened(tmp_path / "none")
