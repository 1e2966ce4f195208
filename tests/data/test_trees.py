"""Bracketed trees are read and cleaned; a malformed tree is reported with its line."""

import gzip
from pathlib import Path

import pytest
from nltk.tree import Tree

from yakusu.data.files.tree_files import tree_files
from yakusu.data.trees import (
    bare_label,
    clean,
    read_trees,
    tags_of,
    tree_line,
    words_of,
)
from yakusu.errors import DataError


def read(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "trees.mrg"
    path.write_text(text)
    return [tree_line(tree) for tree in read_trees([path])]


def cleaned(text: str) -> str:
    tree = clean(Tree.fromstring(text))
    return tree_line(tree) if tree else ""


@pytest.mark.parametrize(
    ("label", "bare"),
    [
        ("NP", "NP"),
        ("NP-SBJ", "NP"),
        ("NP-SBJ-1=2", "NP"),
        ("NP=2", "NP"),
        ("ADVP|PRT", "ADVP|PRT"),
        ("-LRB-", "-LRB-"),
        ("-NONE-", "-NONE-"),
        ("=2", "=2"),
    ],
)
def test_functions_and_indices_of_labels_are_removed(label: str, bare: str) -> None:
    assert bare_label(label) == bare


def test_traces_and_constituents_left_empty_are_removed() -> None:
    text = "(S (NP-SBJ-1 (NNS eggs)) (VP (VBD fell) (S (NP-SBJ (-NONE- *-1)) (PP (-NONE- *T*)))))"
    assert cleaned(text) == "(S (NP (NNS eggs)) (VP (VBD fell)))"


def test_escaped_brackets_and_their_tags_are_kept() -> None:
    text = "(PRN (-LRB- -LRB-) (NP-TMP (NN noon)) (-RRB- -RRB-))"
    assert cleaned(text) == "(PRN (-LRB- -LRB-) (NP (NN noon)) (-RRB- -RRB-))"


@pytest.mark.parametrize("outer", ["", "TOP", "ROOT"])
def test_outer_brackets_are_removed(outer: str) -> None:
    assert cleaned(f"({outer} (S (VP (VB Go))))") == "(S (VP (VB Go)))"
    assert cleaned(f"({outer} ({outer} (S (VP (VB Go)))))") == "(S (VP (VB Go)))"


@pytest.mark.parametrize("outer", ["", "TOP", "ROOT"])
def test_outer_brackets_of_several_trees_or_one_word_become_top(outer: str) -> None:
    assert cleaned(f"({outer} (S (VP (VB Go))) (. .))") == "(TOP (S (VP (VB Go))) (. .))"
    assert cleaned(f"({outer} (UH Yes))") == "(TOP (UH Yes))"


def test_a_single_word_gets_outer_brackets() -> None:
    assert cleaned("(UH Yes)") == "(TOP (UH Yes))"


def test_line_breaks_do_not_change_a_tree(tmp_path: Path) -> None:
    lines = "( (S (NP (PRP We)) (VP (VBD sang))) )\n((NP (NN end)))\n"
    spread = "( (S \n    (NP (PRP We))\n    (VP (VBD sang)))\n)\n\n( (NP (NN end)) )\n"
    side_by_side = lines.replace("\n", " ")
    expected = ["(S (NP (PRP We)) (VP (VBD sang)))", "(NP (NN end))"]
    assert read(tmp_path, lines) == read(tmp_path, side_by_side) == expected
    assert read(tmp_path, spread.replace("\n)\n", "\n )\n")) == expected


def test_lines_of_a_tree_may_begin_with_a_bracket(tmp_path: Path) -> None:
    text = "(S\n(NP (PRP We))\n(VP (VBD sang))\n)\n(NP\n(NN end)\n)\n"
    expected = ["(S (NP (PRP We)) (VP (VBD sang)))", "(NP (NN end))"]
    assert read(tmp_path, text) == expected


def test_a_sentence_of_traces_only_is_skipped(tmp_path: Path) -> None:
    assert read(tmp_path, "((S (-NONE- *)))\n((NP (NN end)))\n") == ["(NP (NN end))"]


def test_words_and_tags_are_in_order() -> None:
    tree = Tree.fromstring("(S (NP (PRP We)) (VP (VBD sang)) (. .))")
    assert words_of(tree) == ["We", "sang", "."]
    assert tags_of(tree) == ["PRP", "VBD", "."]


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        ("(S (VP (VB Go)))\n(S (VP (VB Go))\n(S (VP (VB Go)))\n", 2, "has no end"),
        ("(S\n(VP (VB Go)))\n(S\n(VP (VB Go))\n(S (VP (VB Go)))\n", 3, "has no end"),
        ("(S (VP (VB Go)))\n\n(S\n  (VP (VB Go))\n", 3, "has no end"),
        ("(S (VP (VB Go)))\n(S (VP (VB Go))))\n", 2, "unmatched closing bracket"),
        ("(S (VP (VB Go)))\nGo home.\n", 2, "'Go home.' is outside a tree"),
        ("(S (VP (VB Go))) # fine\n", 1, "'# fine' is outside a tree"),
        ("fine (S (VP (VB Go)))\n", 1, "'fine' is outside a tree"),
        ("(S (VP (VB Go)))\n(S\n (NP ) (VP (VB Go)))\n", 2, "'(NP )' is neither"),
        ("(S (VP VB Go))\n", 1, "'(VP VB Go)' is neither"),
        ("(S (NP the (NN sea)))\n", 1, "'(NP the (NN sea))' is neither"),
        ("(S ( (NN sea)))\n", 1, "has no label"),
        (f"{'(A ' * 300}(B b){')' * 300}\n", 1, "201 nested brackets"),
    ],
)
def test_a_malformed_tree_is_reported_with_file_and_line(
    tmp_path: Path, text: str, line: int, fault: str
) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'trees.mrg'}, line {line}: ")
    assert fault in str(error.value)


def test_valid_trees_are_not_formatted_for_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.mrg").write_text("((NP (NN end)))\n")
    monkeypatch.setattr("yakusu.data.trees.tree_line", lambda tree: pytest.fail("was written"))
    assert len(list(read_trees([tmp_path / "a.mrg"]))) == 1


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trees.mrg.gz"
    path.write_bytes(gzip.compress(b"((NP (NN end)))\n"))
    assert [tree_line(tree) for tree in read_trees(tree_files(path))] == ["(NP (NN end))"]
