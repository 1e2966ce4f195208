"""Lines end at "\\n" only, and invalid input is reported with its file and line."""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.text import ReadAhead, decode_lines, read_lines, windows
from yakusu.errors import DataError

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
        f"{path}, line 2, byte 4: 0xf6 is not UTF-8: convert the file (iconv -t UTF-8) or correct "
        "the line"
    )


def test_lines_before_an_invalid_line_are_read(tmp_path: Path) -> None:
    lines = read_lines(written(tmp_path / "a", b"a\nb\n\xff\n"))
    assert [next(lines), next(lines)] == ["a", "b"]


def test_a_missing_file_and_a_folder_have_their_own_messages(tmp_path: Path) -> None:
    missing = tmp_path / "none.en"
    assert (
        message(missing) == f"{missing} does not exist: check the path in the recipe or the command"
    )
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


def test_a_gz_file_without_gzip_content_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path / "a.gz", b"plain text\n")
    assert message(path) == f"{path} is not a valid gzip file after line 0: compress it again"


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
