"""coverage.json: what the training text of a model covers."""

import json
from pathlib import Path

import pytest

from yakusu.data.coverage import Coverage
from yakusu.errors import ModelError

ONE = Coverage(source_characters="abé猫", target_characters="xyz😀", longest_source=31)


def test_a_saved_coverage_is_loaded(tmp_path: Path) -> None:
    assert ONE.save(tmp_path) == tmp_path / "coverage.json"
    assert Coverage.load(tmp_path) == ONE


def test_a_folder_of_an_earlier_version_has_none(tmp_path: Path) -> None:
    assert Coverage.load(tmp_path) is None


def test_keys_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    path = ONE.save(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "newer": [1]}))
    assert Coverage.load(tmp_path) == ONE


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"source_characters": 1}', "\0"])
def test_a_corrupt_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "coverage.json"
    path.write_text(text)
    with pytest.raises(ModelError, match=rf"{path} is corrupt: copy the folder again"):
        Coverage.load(tmp_path)
