"""Pairs are read from two files, a TSV or trees; an invalid corpus is reported."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from yakusu.data.corpus import Corpus, read_pairs, tree_files
from yakusu.errors import DataError

# Characters that str.splitlines() takes for the end of a line, and NUL.
TRAPS = ["\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\0"]


def written(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def two_files(folder: Path, src: bytes | str, tgt: bytes | str) -> Corpus:
    return Corpus(src=str(written(folder / "a.en", src)), tgt=str(written(folder / "a.de", tgt)))


# ---- two files


@pytest.mark.parametrize("trap", TRAPS, ids=ascii)
def test_only_newline_ends_a_line(trap: str, tmp_path: Path) -> None:
    corpus = two_files(tmp_path, f"a{trap}b\nc\n", f"x\ny{trap}{trap}z\n")
    assert list(read_pairs(corpus)) == [(f"a{trap}b", "x"), ("c", f"y{trap}{trap}z")]


def test_a_last_line_without_newline_is_read(tmp_path: Path) -> None:
    assert list(read_pairs(two_files(tmp_path, "a\nb", "x\ny\n"))) == [("a", "x"), ("b", "y")]


@pytest.mark.parametrize(
    ("src", "tgt", "n_src", "n_tgt"),
    [
        ("a\nb\nc\n", "x\n", 3, 1),
        ("a\n", "x\ny\nz", 1, 3),
        ("", "x\n", 0, 1),
        ("a\rb", "x\ny", 1, 2),
    ],
)
def test_files_of_unequal_length_are_reported_with_both_counts(
    src: str, tgt: str, n_src: int, n_tgt: int, tmp_path: Path
) -> None:
    corpus = two_files(tmp_path, src, tgt)
    with pytest.raises(DataError) as error:
        list(read_pairs(corpus))
    assert str(error.value) == (
        f"{corpus.src} and {corpus.tgt} differ in length ({n_src} and {n_tgt} lines): align them "
        "line by line"
    )


def test_two_files_together_with_a_tsv_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"two files or one tsv, not both: remove a\.tsv or b\.en"):
        Corpus(tsv="a.tsv", src="b.en", tgt="b.de")


# ---- TSV


def tsv(folder: Path, content: str, **columns: int | str) -> Corpus:
    return Corpus(tsv=str(written(folder / "a.tsv", content)), **columns)


def test_columns_are_numbered_from_one(tmp_path: Path) -> None:
    content = "1\tdog\tHund\n2\tcat\tKatze\r\n"
    assert list(read_pairs(tsv(tmp_path, content, src_column=3, tgt_column=2))) == [
        ("Hund", "dog"),
        ("Katze", "cat"),
    ]
    assert list(read_pairs(tsv(tmp_path, "dog\tHund"))) == [("dog", "Hund")]


def test_columns_are_found_by_the_names_in_the_first_line(tmp_path: Path) -> None:
    content = "\ufeffen\tno\tde\r\ndog\thund\tHund\r\n"
    assert list(read_pairs(tsv(tmp_path, content, src_column="de", tgt_column="en"))) == [
        ("Hund", "dog")
    ]
    assert list(read_pairs(tsv(tmp_path, content, src_column="no", tgt_column=3))) == [
        ("hund", "Hund")
    ]


def test_an_unknown_column_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    corpus = tsv(tmp_path, "en\tde\ndog\tHund\n", src_column="en", tgt_column="fr")
    with pytest.raises(DataError) as error:
        list(read_pairs(corpus))
    assert (
        str(error.value) == f"{corpus.tsv}, line 1: there is no column 'fr': choose one of en, de"
    )


def test_a_line_without_the_column_is_reported(tmp_path: Path) -> None:
    corpus = tsv(tmp_path, "dog\tHund\ncat Katze\n")
    with pytest.raises(DataError) as error:
        list(read_pairs(corpus))
    assert str(error.value) == (
        f"{corpus.tsv}, line 2: column 2 is missing because the line has only 1: "
        "separate columns with tabs"
    )


def test_only_newline_ends_a_row_of_a_tsv(tmp_path: Path) -> None:
    corpus = tsv(tmp_path, "a\rb\tx\u2028y\nc\tz\n")
    assert list(read_pairs(corpus)) == [("a\rb", "x\u2028y"), ("c", "z")]


@pytest.mark.parametrize(
    ("row", "pair"), [("1\t\tHund", ("", "Hund")), ("\tdog\tHund", ("dog", "Hund"))]
)
def test_an_empty_first_cell_does_not_shift_the_others(
    row: str, pair: tuple[str, str], tmp_path: Path
) -> None:
    corpus = tsv(tmp_path, f"{row}\n\tcat\tKatze\n", src_column=2, tgt_column=3)
    assert list(read_pairs(corpus)) == [pair, ("cat", "Katze")]


def test_an_empty_last_cell_is_an_empty_sentence(tmp_path: Path) -> None:
    assert list(read_pairs(tsv(tmp_path, "dog\t\ncat\tKatze\n"))) == [("dog", ""), ("cat", "Katze")]


@pytest.mark.parametrize("column", [0, -1])
def test_columns_below_one_are_rejected(column: int) -> None:
    with pytest.raises(ValidationError):
        Corpus(tsv="a.tsv", src_column=column)


def test_a_corpus_of_one_file_is_rejected() -> None:
    with pytest.raises(DataError, match=r"^a\.en has no tgt: specify two files"):
        read_pairs(Corpus(src="a.en"))
    with pytest.raises(DataError, match=r"^a\.de has no src: specify two files"):
        read_pairs(Corpus(tgt="a.de"))


def test_a_corpus_without_files_is_false() -> None:
    assert not Corpus()
    assert Corpus(src="a") and Corpus(tsv="a")


# ---- trees


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
    for name in ("a.mrg", "b.mrg.gz", "C.MRG", "notes.gz", "mrg"):
        (tmp_path / name).write_text("")
    assert {file.name for file in tree_files(tmp_path)} == {"a.mrg", "b.mrg.gz", "C.MRG"}
