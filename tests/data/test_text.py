"""Lines end at "\\n" only, and invalid input is reported with its file and line."""

import bz2
import gzip
import io
import lzma
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.files.compressed import SUFFIXES
from yakusu.data.files.text import (
    ErrorPolicy,
    InvalidLines,
    ReadAhead,
    count_lines,
    decode_lines,
    language_of,
    read_lines,
    windows,
)
from yakusu.errors import DataError, RunError

PACK = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}

# What str.splitlines() takes for the end of a line, and NUL.
TRAPS = ["\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\0"]
LINES = [f"one{trap}line {i}" for i, trap in enumerate(TRAPS)]


def written(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def message(path: Path) -> str:
    with pytest.raises(DataError) as error:
        list(read_lines(path))
    return str(error.value)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))))
def test_lines_equal_bytes_split_at_newline(lines: list[str]) -> None:
    content = "".join(line + "\n" for line in lines).encode()
    expected = [line.decode() for line in content.split(b"\n")[:-1]]
    if lines:
        expected[0] = lines[0].removeprefix("\ufeff")
    assert list(decode_lines(io.BytesIO(content), "text")) == expected


def test_gzip_and_plain_text_give_the_same_lines(tmp_path: Path) -> None:
    content = "".join(line + "\n" for line in LINES).encode()
    packed = written(tmp_path / "a.gz", gzip.compress(content))
    assert list(read_lines(packed)) == list(read_lines(written(tmp_path / "a", content))) == LINES


def test_two_gzip_members_in_one_file_are_concatenated(tmp_path: Path) -> None:
    packed = gzip.compress(b"a\nb") + gzip.compress(b"c\nd\n")
    assert list(read_lines(written(tmp_path / "a.gz", packed))) == ["a", "bc", "d"]


def test_only_a_byte_order_mark_at_the_start_is_removed(tmp_path: Path) -> None:
    path = written(tmp_path / "a", "\ufeffa\n\ufeffb\n")
    assert list(read_lines(path)) == ["a", "\ufeffb"]


def test_windows_line_endings_are_removed(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path / "a", "a b\r\n\r\nc\r\n"))) == ["a b", "", "c"]


def test_only_white_space_around_a_line_is_removed(tmp_path: Path) -> None:
    path = written(tmp_path / "a", " \t a  b\u3000\n\u00a0\n")
    assert list(read_lines(path)) == ["a  b", ""]


def test_an_empty_file_has_no_lines_and_a_newline_is_one(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path / "a", ""))) == []
    assert list(read_lines(written(tmp_path / "a", "\n"))) == [""]


def test_invalid_utf8_is_reported_with_file_line_and_byte(tmp_path: Path) -> None:
    path = written(tmp_path / "a.de", b"gut\nsch\xf6n\n")
    assert message(path) == (
        f"{path}, line 2, byte 4: 0xf6 is not UTF-8: save the file as UTF-8 or correct the line"
    )


def test_lines_before_an_invalid_line_are_read(tmp_path: Path) -> None:
    lines = read_lines(written(tmp_path / "a", b"a\nb\n\xff\n"))
    assert [next(lines), next(lines)] == ["a", "b"]


def test_a_missing_file_and_a_folder_have_their_own_messages(tmp_path: Path) -> None:
    missing = tmp_path / "none.en"
    assert message(missing) == f"{missing} does not exist: check the path"
    assert message(tmp_path) == f"{tmp_path} is a folder: specify a text file"


def test_a_truncated_gzip_file_is_reported_with_the_last_valid_line(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"%d\n" % (i * i) for i in range(10_000)))
    path = written(tmp_path / "a.gz", whole[: len(whole) // 2])
    n = 0
    with pytest.raises(DataError) as error:
        for n, line in enumerate(read_lines(path), start=1):
            assert line == str((n - 1) ** 2)
    assert 1000 < n < 10_000
    assert str(error.value) == f"{path} is not a valid gzip file after line {n}: compress it again"


@pytest.mark.parametrize("suffix", PACK)
def test_a_name_that_promises_compression_is_checked(suffix: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"a{suffix}", b"plain text\n")
    kind = SUFFIXES[suffix]
    assert message(path) == (
        f"{path} is not a {kind} file, although its name ends in {suffix}: rename or compress it"
    )
    assert message(written(path, b"")).startswith(f"{path} is empty, so not a valid {kind} file: ")


@pytest.mark.parametrize("suffix", PACK)
def test_compressed_files_are_known_by_their_content(suffix: str, tmp_path: Path) -> None:
    content = "".join(line + "\n" for line in LINES).encode()
    for name in (f"a{suffix}", "a.txt", "a.gz"):
        assert list(read_lines(written(tmp_path / name, PACK[suffix](content)))) == LINES
    assert list(read_lines(written(tmp_path / "empty", PACK[suffix](b"")))) == []


@pytest.mark.parametrize("suffix", PACK)
def test_parts_of_a_compressed_file_are_concatenated(suffix: str, tmp_path: Path) -> None:
    parts = b"".join(map(PACK[suffix], (b"a\nb", b"", b"c\n", bytes(300_000), b"\nd\n")))
    path = written(tmp_path / "a", parts)
    assert list(read_lines(path)) == ["a", "bc", "\0" * 300_000, "d"]


def test_a_zstandard_frame_to_skip_is_skipped(tmp_path: Path) -> None:
    skipped = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"12345"
    packed = skipped + PACK[".zst"](b"a\n") + skipped
    assert list(read_lines(written(tmp_path / "a", packed))) == ["a"]


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_a_truncated_compressed_file_is_reported(suffix: str, share: float, tmp_path: Path) -> None:
    whole = PACK[suffix](b"".join(b"%d\n" % (i * i) for i in range(50_000)))
    path = written(tmp_path / "a", whole[: max(12, int(len(whole) * share))])
    assert re.fullmatch(
        rf"{path} is not a valid {SUFFIXES[suffix]} file after line \d+: compress it again",
        message(path),
    )


@pytest.mark.parametrize("suffix", [".bz2", ".xz", ".zst"])
def test_a_corrupted_compressed_file_is_reported(suffix: str, tmp_path: Path) -> None:
    whole = bytearray(PACK[suffix](b"".join(b"hello %d\n" % i for i in range(50_000))))
    whole[300:310] = b"\xff" * 10
    assert message(written(tmp_path / "a", bytes(whole))).endswith(": compress it again")


def test_a_missing_zstandard_is_reported_with_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a.zst", PACK[".zst"](b"a\n"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(RunError) as error:
        list(read_lines(path))
    assert str(error.value) == (
        f"{path} needs zstandard: install yakusu with its extra 'corpora', as in pip install "
        "'.[corpora]'"
    )


# ---- files that are not UTF-8


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "Hund\n".encode("utf-16"),
            "is text in UTF-16, not UTF-8: convert it with iconv -f UTF-16 ",
        ),
        (
            "Hund\n".encode("utf-16-le"),
            "is text in UTF-16, not UTF-8: convert it with iconv -f UTF-16LE ",
        ),
        (
            "Hund\n".encode("utf-16-be"),
            "is text in UTF-16, not UTF-8: convert it with iconv -f UTF-16BE ",
        ),
        (
            "Hund\n".encode("utf-32"),
            "is text in UTF-32, not UTF-8: convert it with iconv -f UTF-32 ",
        ),
        (
            b"PK\x03\x04\x14\0\x08\0\xff\n",
            "is a ZIP archive, such as .zip, .docx or .xlsx: extract",
        ),
        (
            b"PK\x03\x04\x14\0\0\0\nvalid UTF-8\n",
            "is a ZIP archive, such as .zip, .docx or .xlsx: ",
        ),
        (b"7z\xbc\xaf\x27\x1c\n", "is a 7z archive: "),
        (b"a.de".ljust(257, b"\0") + b"ustar\0\xff\n", "is a tar archive: "),
        (b"\x04\x22\x4d\x18\xff\n", "is compressed with lz4: "),
        (b"%PDF-1.7\n%\xe2\xe3\n", "is a PDF document, not text: "),
        (b"\x89PNG\r\n\x1a\n\0", "is a picture, not text: "),
        (b"SQLite format 3\0\x10\xff\n", "is an SQLite database, not text: "),
        (b"a\0\x01\xff\n", "is a binary file, not text: "),
    ],
)
@pytest.mark.parametrize("policy", ["strict", "skip"])
def test_a_file_that_is_not_text_is_named(
    content: bytes, told: str, policy: ErrorPolicy, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.de", content)
    with pytest.raises(DataError) as error:
        list(read_lines(path, errors=InvalidLines(policy)))
    assert str(error.value).startswith(f"{path} {told}")


def test_xml_in_another_encoding_is_named(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="ISO-8859-1"?>\n<seg>sch\xf6n</seg>\n'
    path = written(tmp_path / "a.de", text.encode("latin-1"))
    assert message(path) == (
        f"{path}, line 2: this is an XML file in ISO-8859-1, not lines of text: pass a TMX or "
        "XLIFF file as --pairs"
    )


@pytest.mark.parametrize("suffix", PACK)
def test_a_compressed_stream_is_named(suffix: str) -> None:
    packed = PACK[suffix](b"dog\n" * 99)
    with pytest.raises(
        DataError, match=f"^input is compressed with {SUFFIXES[suffix]}: decompress"
    ):
        list(decode_lines(io.BytesIO(packed), "input"))


def test_invalid_lines_are_skipped_or_replaced_and_counted() -> None:
    content = b"a\nb\xff\xfe\n" + b"\xe4\n" * 11 + b"\xc3\xa4\n"
    skipped, replaced = InvalidLines("skip"), InvalidLines("replace")
    assert list(decode_lines(io.BytesIO(content), "x", errors=skipped)) == [
        "a", *12 * [""], "ä"
    ]  # fmt: skip
    assert list(decode_lines(io.BytesIO(content), "x", errors=replaced)) == [
        "a", "b\ufffd\ufffd", *11 * ["\ufffd"], "ä"
    ]  # fmt: skip
    for errors, done in (
        (skipped, "left out"),
        (replaced, "read with U+FFFD for each invalid byte"),
    ):
        assert (errors.count, errors.first) == (12, list(range(2, 12)))
        assert errors.warning("x") == (
            f"x: 12 lines are not UTF-8 and were {done}: lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ..."
        )
    assert InvalidLines("skip").warning("x") == ""


def test_valid_lines_are_not_counted() -> None:
    errors = InvalidLines("skip")
    assert list(decode_lines(io.BytesIO("a\nä\n".encode()), "x", errors=errors)) == ["a", "ä"]
    assert errors.count == 0


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("train.de", "de"),
        ("train.de.gz", "de"),
        ("train.de.zst", "de"),
        ("a/train.ja.XZ", "ja"),
        ("train.txt", ""),
        ("train.de.zip", ""),
        ("de", "de"),
    ],
)
def test_the_language_is_the_suffix_of_the_name(name: str, code: str) -> None:
    assert language_of(name) == code


def test_a_corrupted_gzip_file_is_reported(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(b"".join(b"hello %d\n" % i for i in range(5000))))
    whole[300:310] = b"\xff" * 10
    path = written(tmp_path / "a.gz", bytes(whole))
    assert message(path).endswith(": compress it again")


def test_windows_contain_every_item_of_a_stream() -> None:
    assert list(windows(iter(range(7)), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(windows(iter(()), 3)) == []


def test_a_window_ends_where_the_next_line_has_not_arrived() -> None:
    second = Event()

    def lines() -> Iterator[str]:
        yield "one"
        assert second.wait(timeout=60)
        yield "two"

    stream = windows(ReadAhead(lines()), 8)
    assert next(stream) == ["one"]  # without waiting for "two"
    second.set()
    assert list(stream) == [["two"]]


def test_an_error_of_lines_read_ahead_is_raised_to_the_reader() -> None:
    lines = ReadAhead(decode_lines(iter([b"a\n", b"\xff\n"]), "text"))
    assert next(lines) == "a"
    for _ in range(2):
        with pytest.raises(DataError, match="text, line 2, byte 1"):
            next(lines)


@pytest.mark.parametrize(
    ("content", "n_lines"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"a", 1),
        (b"a\n\nb\r\xc3\xa9", 3),
        (b"\xef\xbb\xbf", 1),
        (b"a\n\xff\nb", 3),  # not UTF-8
        (b"a\nb\n\xc3", 3),  # cut off
        (b"\n" * 3_000_000, 3_000_000),  # in several blocks
        (b"a" * 1_500_000 + b"\nb", 2),  # a line that is too long
    ],
)
def test_lines_are_counted_as_they_are_read(tmp_path: Path, content: bytes, n_lines: int) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(content, 1))
    assert count_lines(path, errors=InvalidLines("skip")) == n_lines


def test_a_damaged_file_is_named_when_its_lines_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"a\n" * 1000)[:-9])
    with pytest.raises(DataError, match=r"a\.txt\.gz .* after line "):
        count_lines(path)
