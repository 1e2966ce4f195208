"""Pairs are read from two files, one file or trees; an invalid corpus is reported."""

from pathlib import Path

import pytest

from yakusu.data.corpus import (
    Corpus,
    ExtraCorpus,
    count_pairs,
    numbered_pairs,
    read_pairs,
    with_languages,
)
from yakusu.data.filters import FilterConfig, FilterReport, filter_corpus
from yakusu.errors import DataError
from yakusu.progress import Silent
from yakusu.typed import ValidationError

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


def test_of_a_side_that_is_much_longer_not_all_lines_are_counted(tmp_path: Path) -> None:
    corpus = two_files(tmp_path, "\n" * 1_500_000, "x\n")
    with pytest.raises(DataError, match=r"\(at least 1,000,002 and 1 lines\): align"):
        list(read_pairs(corpus))


def test_two_files_together_with_one_file_of_pairs_are_rejected() -> None:
    message = r"two files or one file of pairs, not both: remove a\.tsv or b\.en"
    with pytest.raises(ValueError, match=message):
        Corpus(pairs="a.tsv", src="b.en", tgt="b.de")


@pytest.mark.parametrize("target", ["a.de", ""])
def test_a_file_with_both_sides_is_not_read_as_one_side(target: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx.gz", "")
    with pytest.raises(DataError) as error:
        list(read_pairs(Corpus(src=str(path), tgt=target)))
    assert str(error.value) == (
        f"{path} contains both sides (TMX): pass it as --pairs, without src and tgt"
    )


def test_a_line_that_is_not_utf8_takes_its_pair_along_and_shifts_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    src, tgt = b"dog\nc\xe4t\nhen\nfox\n", b"Hund\nKatze\nHuhn\nF\xfcchs\n"
    files = two_files(tmp_path, src, tgt)
    corpus = files.model_copy(update={"errors": "skip"})
    for _ in range(2):  # the warnings are given once
        assert list(read_pairs(corpus)) == [
            ("dog", "Hund"), ("", "Katze"), ("hen", "Huhn"), ("fox", "")
        ]  # fmt: skip
    assert caplog.messages == [
        f"{files.src}: 1 line is not UTF-8 and was left out: line 2",
        f"{files.tgt}: 1 line is not UTF-8 and was left out: line 4",
    ]
    report = FilterReport()
    selection = filter_corpus(corpus, FilterConfig(), report, Silent())
    assert [pair for _, pair in selection.pairs()] == [("dog", "Hund"), ("hen", "Huhn")]
    assert (report.read, report.summary) == (4, "2 empty")
    replaced = files.model_copy(update={"errors": "replace"})
    assert list(read_pairs(replaced))[1::2] == [("c\ufffdt", "Katze"), ("fox", "F\ufffdchs")]
    with pytest.raises(DataError, match=r"line 2, byte 2: 0xe4 is not UTF-8: .* add --errors skip"):
        list(read_pairs(files))


# ---- TSV


def tsv(folder: Path, content: str, **columns: int | str) -> Corpus:
    return Corpus(pairs=str(written(folder / "a.tsv", content)), **columns)


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


def test_pairs_are_numbered_by_their_lines(tmp_path: Path) -> None:
    two = [(1, ("a", "x")), (2, ("b", "y"))]
    after_header = [(line + 1, pair) for line, pair in two]
    assert list(numbered_pairs(two_files(tmp_path, "a\nb\n", "x\ny\n"))) == two
    assert list(numbered_pairs(tsv(tmp_path, "a\tx\nb\ty\n"))) == two
    assert list(numbered_pairs(tsv(tmp_path, "source\ttarget\na\tx\nb\ty"))) == after_header
    named = tsv(tmp_path, "no\tis\na\tx\n\nb\ty\n", src_column="no", tgt_column="is")
    assert list(numbered_pairs(named)) == [(2, ("a", "x")), (3, ("", "")), (4, ("b", "y"))]
    assert list(numbered_pairs(tsv(tmp_path, ""))) == []


def test_pairs_that_are_not_lines_are_numbered_by_their_place(tmp_path: Path) -> None:
    table = written(tmp_path / "a.csv", 'source,target\n"a\na",x\nb,y\n')
    assert list(numbered_pairs(Corpus(pairs=str(table)))) == [(1, ("a a", "x")), (2, ("b", "y"))]


def test_an_unknown_column_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    corpus = tsv(tmp_path, "en\tde\ndog\tHund\n", src_column="en", tgt_column="fr")
    with pytest.raises(DataError) as error:
        list(read_pairs(corpus))
    assert str(error.value) == (
        f"{corpus.pairs}, line 1 names no column 'fr' (it has: en, de): choose one of these or, if "
        "the file has no header, use numbers, as in --columns 1,2, and add "
        "--set data.source_language=en --set data.target_language=fr"
    )
    corpus = tsv(tmp_path, "en\tde\ndog\tHund\n", src_column=1, tgt_column="Übersetzung")
    with pytest.raises(DataError, match=r"column 'Übersetzung' .* --columns 1,2$"):
        list(read_pairs(corpus))


def test_a_line_without_the_column_is_reported(tmp_path: Path) -> None:
    corpus = tsv(tmp_path, "dog\tHund\ncat Katze\n")
    with pytest.raises(DataError) as error:
        list(read_pairs(corpus))
    assert str(error.value) == (
        f"{corpus.pairs}, line 2: column 2 is missing because the line has only 1: "
        "separate columns with tabs, or name a file with commas .csv"
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
        Corpus(pairs="a.tsv", src_column=column)


def test_a_corpus_of_one_file_is_rejected() -> None:
    with pytest.raises(DataError, match=r"^a\.en has no tgt: specify two files"):
        read_pairs(Corpus(src="a.en"))
    with pytest.raises(DataError, match=r"^a\.de has no src: specify two files"):
        read_pairs(Corpus(tgt="a.de"))


def test_a_corpus_without_files_is_false() -> None:
    assert not Corpus()
    assert Corpus(src="a") and Corpus(pairs="a")


def test_the_key_tsv_of_earlier_recipes_is_read() -> None:
    assert Corpus.model_validate({"tsv": "a.tsv"}) == Corpus(pairs="a.tsv")
    assert Corpus.model_validate({"tsv": "", "pairs": "a.tsv"}) == Corpus(pairs="a.tsv")
    assert ExtraCorpus.model_validate({"tsv": "a", "weight": 2.0}).pairs == "a"
    with pytest.raises(ValueError, match=r"tsv is an old name of pairs: remove tsv = 'b\.tsv'"):
        Corpus.model_validate({"tsv": "b.tsv", "pairs": "a.tsv"})


def test_reading_a_corpus_does_not_change_it(tmp_path: Path) -> None:
    corpus = tsv(tmp_path, "source\ttarget\ndog\tHund\n")
    assert list(read_pairs(corpus)) == [("dog", "Hund")]
    assert corpus == tsv(tmp_path, "source\ttarget\ndog\tHund\n")


# ---- languages

TMX = (
    '<tmx version="1.4"><header srclang="en-US"/><body><tu><tuv xml:lang="de"><seg>Hund</seg></tuv>'
    '<tuv xml:lang="en-US"><seg>dog</seg></tuv></tu></body></tmx>'
)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (("", ""), ("en-US", "de")),
        (("en", ""), ("en", "de")),
        (("de", ""), ("de", "en-US")),
        (("", "de"), ("en-US", "de")),
        (("", "en"), ("de", "en")),
        (("en", "de"), ("en", "de")),
        (("fr", "de"), ("fr", "de")),  # reported when the file is read
        (("fr", ""), (1, 2)),
    ],
)
def test_the_languages_of_a_tmx_are_those_of_the_recipe_or_its_only_two(
    wanted: tuple[str, str], expected: tuple[str | int, str | int], tmp_path: Path
) -> None:
    corpus = Corpus(pairs=str(written(tmp_path / "a.tmx", TMX)))
    selected = with_languages(corpus, wanted)
    assert (selected.src_column, selected.tgt_column) == expected
    if expected != (1, 2):
        assert selected.languages == expected
        assert with_languages(selected, ("x", "y")) == selected


def test_other_corpora_get_no_languages(tmp_path: Path) -> None:
    three = TMX.replace("</tu>", '<tuv lang="fr"><seg>chien</seg></tuv></tu>')
    for corpus in (
        Corpus(pairs=str(written(tmp_path / "a.tsv", "dog\tHund\n"))),
        Corpus(pairs=str(written(tmp_path / "three.tmx", three))),
        Corpus(pairs=str(written(tmp_path / "broken.tmx", TMX[:40]))),
        Corpus(pairs="missing.tmx"),
        Corpus(src="a.en", tgt="a.de"),
    ):
        assert with_languages(corpus, ("", "")) is corpus


@pytest.mark.parametrize(
    ("columns", "languages"),
    [
        (("en", "de"), ("en", "de")),
        (("English", "zh_Hant"), ("en", "zh-Hant")),
        ((1, "ja"), ("", "ja")),
        (("src", "text"), ("", "")),
    ],
)
def test_the_languages_of_a_table_are_its_columns_if_they_are_codes(
    columns: tuple[int | str, int | str], languages: tuple[str, str]
) -> None:
    corpus = Corpus(pairs="a.tsv", src_column=columns[0], tgt_column=columns[1])
    assert corpus.languages == languages


def test_the_languages_of_two_files_are_their_suffixes() -> None:
    assert Corpus(src="a.en.gz", tgt="a.de.zst").languages == ("en", "de")


def test_counting_is_left_out_where_it_takes_as_long_as_reading(tmp_path: Path) -> None:
    assert count_pairs(two_files(tmp_path, "a\nb\n", "x\ny\n")) == 2
    assert count_pairs(tsv(tmp_path, "a\tb\n")) == 1
    assert count_pairs(tsv(tmp_path, "source\ttarget\na\tb\n")) == 1
    for name in ("a.tmx", "a.csv"):
        assert count_pairs(Corpus(pairs=name)) is None
    assert count_pairs(Corpus(trees="a.mrg")) is None
