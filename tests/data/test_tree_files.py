"""The files of a treebank are found in a folder or by a pattern."""

from pathlib import Path

import pytest

from yakusu.data.files.tree_files import tree_files
from yakusu.errors import DataError


def test_a_path_a_folder_and_a_pattern_select_tree_files(tmp_path: Path) -> None:
    folder = tmp_path / "wsj" / "00"
    folder.mkdir(parents=True)
    names = ["b.mrg", "a.mrg", "notes.txt"]
    for name in names:
        (folder / name).write_text("")
    both = [folder / "a.mrg", folder / "b.mrg"]
    assert tree_files(folder / "a.mrg") == [folder / "a.mrg"]
    assert tree_files(tmp_path) == both
    assert tree_files(f"{tmp_path}/wsj/*/*.mrg") == both
    assert tree_files(f"{tmp_path}/**/[ab].mrg") == both
    for nothing in (f"{tmp_path}/*.mrg", f"{tmp_path}/wsj/00/c*"):
        with pytest.raises(DataError, match="has no tree files"):
            tree_files(nothing)


def test_tree_files_may_be_compressed_and_uppercase(tmp_path: Path) -> None:
    for name in ("a.mrg", "b.mrg.gz", "C.MRG", "d.mrg.zst", "notes.gz", "mrg"):
        (tmp_path / name).write_text("")
    assert {file.name for file in tree_files(tmp_path)} == {
        "a.mrg", "b.mrg.gz", "C.MRG", "d.mrg.zst"
    }  # fmt: skip
