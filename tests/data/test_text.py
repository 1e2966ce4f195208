"""Lines end at "\\n" and nowhere else; a fault names its file and line; filters do as they say."""

import gzip
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.text import (
    FilterConfig,
    FilterReport,
    Repeats,
    decode_lines,
    length_fault,
    read_lines,
    text_fault,
    windows,
)
from yakusu.errors import DataError

# What str.splitlines() takes for the end of a line, and NUL.
TRAPS = ["\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\0"]
LINES = [f"one{trap}line {i}" for i, trap in enumerate(TRAPS)]


def written(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def two_files(folder: Path, src: bytes | str, tgt: bytes | str) -> Corpus:
    return Corpus(src=str(written(folder / "a.en", src)), tgt=str(written(folder / "a.de", tgt)))


def message(path: Path) -> str:
    with pytest.raises(DataError) as error:
        list(read_lines(path))
    return str(error.value)


@pytest.mark.parametrize("trap", TRAPS, ids=ascii)
def test_only_newline_ends_a_line(trap: str, tmp_path: Path) -> None:
    corpus = two_files(tmp_path, f"a{trap}b\nc\n", f"x\ny{trap}{trap}z\n")
    assert list(read_pairs(corpus)) == [(f"a{trap}b", "x"), ("c", f"y{trap}{trap}z")]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))))
def test_any_text_is_cut_where_bytes_split_at_newline_would_cut_it(lines: list[str]) -> None:
    content = "".join(line + "\n" for line in lines).encode()
    expected = [line.decode() for line in content.split(b"\n")[:-1]]
    if lines:
        expected[0] = lines[0].removeprefix("\ufeff")
    assert list(decode_lines(io.BytesIO(content), "text")) == expected


def test_gzip_reads_as_plain_text_does(tmp_path: Path) -> None:
    content = "".join(line + "\n" for line in LINES).encode()
    packed = written(tmp_path / "a.gz", gzip.compress(content))
    assert list(read_lines(packed)) == list(read_lines(written(tmp_path / "a", content))) == LINES


def test_two_gzip_members_in_one_file_are_one_text(tmp_path: Path) -> None:
    packed = gzip.compress(b"a\nb") + gzip.compress(b"c\nd\n")
    assert list(read_lines(written(tmp_path / "a.gz", packed))) == ["a", "bc", "d"]


def test_a_byte_order_mark_is_dropped_at_the_beginning_only(tmp_path: Path) -> None:
    path = written(tmp_path / "a", "\ufeffa\n\ufeffb\n")
    assert list(read_lines(path)) == ["a", "\ufeffb"]


def test_windows_line_ends_leave_no_trace(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path / "a", "a b\r\n\r\nc\r\n"))) == ["a b", "", "c"]


def test_a_last_line_without_newline_counts(tmp_path: Path) -> None:
    assert list(read_pairs(two_files(tmp_path, "a\nb", "x\ny\n"))) == [("a", "x"), ("b", "y")]


def test_white_space_around_a_line_is_dropped_and_kept_within(tmp_path: Path) -> None:
    path = written(tmp_path / "a", " \t a  b\u3000\n\u00a0\n")
    assert list(read_lines(path)) == ["a  b", ""]


def test_an_empty_file_has_no_line_and_an_empty_line_is_one(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path / "a", ""))) == []
    assert list(read_lines(written(tmp_path / "a", "\n"))) == [""]


@pytest.mark.parametrize(
    ("src", "tgt", "n_src", "n_tgt"),
    [
        ("a\nb\nc\n", "x\n", 3, 1),
        ("a\n", "x\ny\nz", 1, 3),
        ("", "x\n", 0, 1),
        ("a\rb", "x\ny", 1, 2),
    ],
)
def test_files_of_unequal_length_are_told_with_both_counts(
    src: str, tgt: str, n_src: int, n_tgt: int, tmp_path: Path
) -> None:
    corpus = two_files(tmp_path, src, tgt)
    with pytest.raises(DataError) as error:
        list(read_pairs(corpus))
    assert str(error.value) == (
        f"{corpus.src} has {n_src} lines and {corpus.tgt} {n_tgt}: align them line by line"
    )


def test_invalid_utf8_is_told_with_file_line_and_byte(tmp_path: Path) -> None:
    path = written(tmp_path / "a.de", b"gut\nsch\xf6n\n")
    assert message(path) == (
        f"{path}, line 2, byte 4: 0xf6 is not UTF-8: convert the file (iconv -t UTF-8) or mend the "
        "line"
    )


def test_the_lines_before_an_invalid_one_are_read(tmp_path: Path) -> None:
    lines = read_lines(written(tmp_path / "a", b"a\nb\n\xff\n"))
    assert [next(lines), next(lines)] == ["a", "b"]


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    missing = tmp_path / "none.en"
    assert (
        message(missing) == f"{missing} does not exist: check the path in the recipe or the command"
    )
    assert message(tmp_path) == f"{tmp_path} is a folder: name a file of sentences"


def test_a_gzip_file_that_is_cut_off_is_told_with_the_last_good_line(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"%d\n" % (i * i) for i in range(10_000)))
    path = written(tmp_path / "a.gz", whole[: len(whole) // 2])
    n = 0
    with pytest.raises(DataError) as error:
        for n, line in enumerate(read_lines(path), start=1):
            assert line == str((n - 1) ** 2)
    assert 1000 < n < 10_000
    assert str(error.value) == f"{path}, after line {n}: broken gzip file: pack it again"


def test_a_gz_file_that_is_no_gzip_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "a.gz", b"plain text\n")
    assert message(path) == f"{path}, after line 0: broken gzip file: pack it again"


def test_a_gzip_file_with_broken_bytes_within_is_told(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(b"".join(b"hello %d\n" % i for i in range(5000))))
    whole[300:310] = b"\xff" * 10
    path = written(tmp_path / "a.gz", bytes(whole))
    assert message(path).endswith("broken gzip file: pack it again")


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


def test_an_unknown_column_is_told_with_those_there_are(tmp_path: Path) -> None:
    corpus = tsv(tmp_path, "en\tde\ndog\tHund\n", src_column="en", tgt_column="fr")
    with pytest.raises(DataError) as error:
        list(read_pairs(corpus))
    assert str(error.value) == f"{corpus.tsv}, line 1: no column 'fr' among en, de"


def test_a_line_without_the_column_is_told(tmp_path: Path) -> None:
    corpus = tsv(tmp_path, "dog\tHund\ncat Katze\n")
    with pytest.raises(DataError) as error:
        list(read_pairs(corpus))
    assert str(error.value) == (
        f"{corpus.tsv}, line 2: 1 columns where column 2 is wanted: separate the columns by tabs"
    )


def test_carriage_returns_and_line_separators_in_a_cell_do_not_end_a_row(tmp_path: Path) -> None:
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
def test_there_is_no_column_below_one(column: int) -> None:
    with pytest.raises(ValidationError):
        Corpus(tsv="a.tsv", src_column=column)


def test_a_corpus_of_one_file_is_refused() -> None:
    with pytest.raises(DataError, match=r"^a\.en has no tgt: name two files"):
        read_pairs(Corpus(src="a.en"))
    with pytest.raises(DataError, match=r"^a\.de has no src: name two files"):
        read_pairs(Corpus(tgt="a.de"))


def test_a_corpus_without_files_is_false() -> None:
    assert not Corpus()
    assert Corpus(src="a") and Corpus(tsv="a")


# ---- filters


@pytest.mark.parametrize(
    ("pair", "fault"),
    [
        (("a", "b"), ""),
        (("", "b"), "empty"),
        (("a", ""), "empty"),
        (("", ""), "empty"),
        (("a", "a"), "identical"),
        (("a", "A"), ""),
    ],
)
def test_text_faults(pair: tuple[str, str], fault: str) -> None:
    assert text_fault(pair, FilterConfig()) == fault


def test_identical_pairs_may_be_kept() -> None:
    assert text_fault(("a", "a"), FilterConfig(drop_identical=False)) == ""


@pytest.mark.parametrize(
    ("n_src", "n_tgt", "fault"),
    [
        (10, 10, ""),
        (11, 5, "too long"),
        (5, 11, "too long"),
        (11, 1, "too long"),  # the first rule that is broken counts
        (9, 3, ""),  # exactly at the ratio
        (10, 3, "ratio"),
        (3, 10, "ratio"),
        (0, 3, "empty"),
        (3, 0, "empty"),
    ],
)
def test_length_faults(n_src: int, n_tgt: int, fault: str) -> None:
    assert length_fault(n_src, n_tgt, FilterConfig(max_tokens=10, max_ratio=3)) == fault


def test_what_is_read_is_kept_or_dropped() -> None:
    report = FilterReport()
    report.read = 10
    report.dropped.update(["ratio", "empty", "ratio"])
    assert report.kept == 7
    assert report.as_dict() == {
        "read": 10,
        "empty": 1,
        "identical": 0,
        "duplicate": 0,
        "too long": 0,
        "ratio": 2,
        "kept": 7,
    }


PAIRS = st.lists(st.tuples(st.text("ab ", max_size=3), st.text("ab ", max_size=3)), max_size=200)


@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_repeats_are_what_a_set_has_seen(pairs: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Repeats(Path(folder)) as repeats:
        seen: set[tuple[str, str]] = set()
        expected = []
        for pair in pairs:
            repeats.add(pair)
            expected.append(pair in seen)
            seen.add(pair)
        assert repeats.find().tolist() == expected


def test_the_first_of_equal_pairs_is_kept_however_far_apart_they_are(tmp_path: Path) -> None:
    with Repeats(tmp_path) as repeats:
        for i in [*range(20_000), 7, 19_999, 7]:
            repeats.add((str(i), "x"))
        assert repeats.find().nonzero()[0].tolist() == [20_000, 20_001, 20_002]


def test_the_border_between_source_and_target_counts(tmp_path: Path) -> None:
    with Repeats(tmp_path) as repeats:
        for pair in [("ab", "c"), ("a", "bc"), ("abc", ""), ("c", "ab")]:
            repeats.add(pair)
        assert not repeats.find().any()


def test_windows_cut_a_stream_and_lose_nothing() -> None:
    assert list(windows(iter(range(7)), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(windows(iter(()), 3)) == []


def test_two_files_and_a_tsv_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two files or one tsv, not both: a\.tsv and b\.en"):
        Corpus(tsv="a.tsv", src="b.en", tgt="b.de")
