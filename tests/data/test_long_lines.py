"""Lines longer than a limit are stored, left out or refused, in little memory."""

import io
import random
import tracemalloc
from pathlib import Path

import pytest

from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.files.long_lines import (
    LEFT_OUT,
    LONGEST_LINE,
    LongLine,
    LongLines,
    StoredLines,
    WholeLines,
    byte_lines,
    is_long,
)
from yakusu.data.files.text import InvalidLines, ReadAhead, raw_lines, windows
from yakusu.data.filters import FilterConfig, FilterReport, filter_corpus
from yakusu.errors import DataError
from yakusu.progress import Silent

LONG = "ab" * LONGEST_LINE


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def whole(line: bytes | LongLine) -> bytes:
    return line if isinstance(line, bytes) else b"".join(line.parts())


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_stream_is_divided_at_newlines_wherever_its_blocks_end(size: int) -> None:
    rng = random.Random(size)
    for _ in range(300):
        content = bytes(rng.choices(b"ab\n", [6, 6, 1], k=rng.randrange(60)))
        file = io.BytesIO(content)
        found = list(byte_lines(lambda n, file=file: file.read(min(n, size)), longest=5))  # type: ignore[misc]
        lines = content.removesuffix(b"\n").split(b"\n") if content else []
        assert len(found) == len(lines)
        file.seek(0)
        found_again = byte_lines(lambda n, file=file: file.read(min(n, size)), longest=5)  # type: ignore[misc]
        for line, expected in zip(found_again, lines, strict=True):
            assert isinstance(line, LongLine) == (len(expected) > 5)
            assert whole(line) == expected


def test_a_long_line_that_is_not_read_is_skipped() -> None:
    first, long, last = byte_lines(io.BytesIO(b"a\n" + b"b" * 99 + b"\nc").read1, longest=9)
    assert (first, last) == (b"a", b"c")
    assert isinstance(long, LongLine)


def test_the_limit_is_in_bytes_without_the_line_break(tmp_path: Path) -> None:
    text = "é" * (LONGEST_LINE // 2)
    assert not is_long(text) and is_long(f"{text}e")
    assert list(raw_lines(written(tmp_path / "a", f"{text}\n"))) == [text]
    with pytest.raises(DataError, match="a, line 2 has more than 1,000,000 bytes: divide it"):
        list(raw_lines(written(tmp_path / "a", f"x\n{text}e\n")))


def test_a_stored_line_is_read_part_by_part_and_once(tmp_path: Path) -> None:
    path, stored = written(tmp_path / "a", f"x\né{LONG}\ny\n{LONG}ü"), StoredLines()
    assert list(raw_lines(path, long=stored)) == ["x", "", "y", ""]
    assert [stored.size(n) for n in range(1, 5)] == [0, 2 * LONGEST_LINE + 2, 0, len(LONG) + 2]
    assert "".join(stored.take(4)) == f"{LONG}ü"
    assert "".join(stored.take(2)) == f"é{LONG}"
    assert stored.size(2) == stored.size(4) == 0


def test_a_line_of_any_length_is_stored_in_little_memory(tmp_path: Path) -> None:
    path, stored = written(tmp_path / "a", b"a" * 20_000_000), StoredLines()
    tracemalloc.start()
    assert list(raw_lines(path, long=stored)) == [""]
    assert sum(map(len, stored.take(1))) == 20_000_000
    assert tracemalloc.get_traced_memory()[1] < 5 * LONGEST_LINE
    tracemalloc.stop()


def test_a_long_line_that_is_not_utf8_is_refused_with_the_place_of_the_byte(tmp_path: Path) -> None:
    path = written(tmp_path / "a", b"x\n" + "é".encode() * LONGEST_LINE + b"\xff\n")
    with pytest.raises(DataError, match="a, line 2, byte 2000001: 0xff is not UTF-8"):
        list(raw_lines(path, long=WholeLines()))
    path.write_bytes(b"a" * 2_000_000 + b"\xc3")
    with pytest.raises(DataError, match="a, line 1, byte 2000001: 0xc3 is not UTF-8"):
        list(raw_lines(path, long=StoredLines()))
    (line,) = raw_lines(path, errors=InvalidLines("replace"), long=WholeLines())
    assert line == "a" * 2_000_000 + "\ufffd"


def test_pairs_with_long_lines_are_dropped_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    src = written(tmp_path / "a.en", f"a dog\n{LONG}\na cat\n\n")
    tgt = written(tmp_path / "a.de", f"Hund\nx\n{LONG}\ny\n")
    corpus, report = Corpus(src=str(src), tgt=str(tgt)), FilterReport()
    selected = filter_corpus(corpus, FilterConfig(), report, Silent())
    assert [pair for _, pair in selected.pairs()] == [("a dog", "Hund")]
    assert report.summary == "1 empty, 2 long line"
    one = "a.{}: 1 line was left out because of more than 1,000,000 bytes: line {}"
    assert [one.format("en", 2) in caplog.text, one.format("de", 3) in caplog.text] == [True, True]


@pytest.mark.parametrize("side", ["a\t{}", "{}\tb", "{}"])
def test_a_long_row_of_a_table_is_left_out(
    side: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "a.tsv", f"a\tb\n{side.format(LONG)}\nc\td\n")
    pairs = list(read_pairs(Corpus(pairs=str(path))))
    assert pairs == [("a", "b"), ("", ""), ("c", "d")]
    assert pairs[1][0] is LEFT_OUT
    assert "1 line was left out because of more than 1,000,000 bytes: line 2" in caplog.text


def test_a_pair_of_another_format_that_is_too_long_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    part = '"' + "ab " * 300_000 + '"\n'
    content = f'msgid ""\n{part * 2}msgstr "x"\n\nmsgid "a"\nmsgstr "b"\n'
    path = written(tmp_path / "a.po", content)
    assert list(read_pairs(Corpus(pairs=str(path)))) == [("", ""), ("a", "b")]
    assert "1 pair was left out because of more than 1,000,000 bytes: pair 1" in caplog.text


def test_the_first_ten_lines_that_are_left_out_are_listed() -> None:
    counted = LongLines()
    assert counted.warning("a") == ""
    for number in range(1, 13):
        counted.add(number)
    assert counted.warning("a").endswith(
        "12 lines were left out because of more than 1,000,000 bytes: "
        "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ..."
    )


def test_long_items_end_a_window_and_stop_the_reading_ahead() -> None:
    items = ["a" * 3_000_000] * 5
    assert [len(window) for window in windows(iter(items), 100, len)] == [2, 2, 1]
    ahead = ReadAhead(iter(items), len)
    assert next(ahead) == items[0]
    assert list(ahead) == items[1:]
