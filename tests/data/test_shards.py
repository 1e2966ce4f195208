"""Shards are read in blocks and written in the same format, with the same compression."""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from yakusu.data.files.text import InvalidLines
from yakusu.data.lines.layout import Layout
from yakusu.data.shards.blocks import Shard
from yakusu.data.shards.files import open_shard
from yakusu.errors import DataError

LINES = ["Eins.", "", "```", "zwei", "", "```", "2. Drei\u2028vier", "  - Fünf", ""]
TEXT = "".join(line + "\n" for line in LINES).encode()
_unzstd = zstandard.ZstdDecompressor()
CODECS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "a.txt": (bytes, bytes),
    "a.gz": (gzip.compress, gzip.decompress),
    "a.bz2": (bz2.compress, bz2.decompress),
    "a.xz": (lzma.compress, lzma.decompress),
    "a.zst": (zstandard.compress, lambda data: _unzstd.decompressobj().decompress(data)),
}


def texts_of(shard: Shard, size: int = 2, invalid: InvalidLines | None = None) -> list[str | None]:
    blocks = shard.blocks(size, invalid or InvalidLines())
    return [text for block in blocks for text in block.texts]


def written(shard: Shard, translations: list[str | None]) -> bytes:
    file = io.BytesIO()
    shard.write(file, iter(translations))
    return file.getvalue()


@pytest.mark.parametrize("name", CODECS)
def test_a_shard_keeps_its_compression_and_its_blank_lines(tmp_path: Path, name: str) -> None:
    compress, decompress = CODECS[name]
    path = tmp_path / name
    path.write_bytes(compress(TEXT))
    shard = open_shard(path)
    assert texts_of(shard) == LINES
    first = written(shard, [*LINES])
    assert decompress(first) == TEXT
    assert written(shard, [*LINES]) == first  # without the time or a name


def test_the_content_tells_the_compression_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(gzip.compress(b"Eins.\n"))
    shard = open_shard(path)
    assert texts_of(shard) == ["Eins."]
    assert gzip.decompress(written(shard, ["One."])) == b"One.\n"


def test_an_empty_file_has_no_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.touch()
    assert texts_of(open_shard(path)) == []
    assert written(open_shard(path), []) == b""


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_a_block_has_the_layout_of_the_lines_before_it(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT)
    whole, bodies = Layout(), list[str]()
    for line in LINES:
        bodies += [whole.read(part)[1] for part in line.splitlines() or [""]]
    found, starts = list[str](), list[int]()
    for block in open_shard(path).blocks(size, InvalidLines()):
        starts.append(block.start)
        assert block.layout
        for text in block.texts:
            assert text is not None
            found += [block.layout.read(part)[1] for part in text.splitlines() or [""]]
    assert found == bodies
    assert starts == list(range(0, len(LINES), size))


def test_a_line_that_is_not_utf8_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"Eins.\n\xffzwei\nDrei.\n")
    invalid = InvalidLines("replace")
    assert texts_of(open_shard(path), 2, invalid) == ["Eins.", "\ufffdzwei", "Drei."]
    assert (invalid.count, invalid.first) == (1, [2])
    with pytest.raises(DataError, match=r"a\.txt, line 2, byte 1: 0xff is not UTF-8"):
        texts_of(open_shard(path))


@pytest.mark.parametrize("name", ["a.parquet", "a.pq"])
def test_text_named_as_a_parquet_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(TEXT)
    with pytest.raises(DataError, match=f"{name} is not a Parquet file, although its name ends"):
        open_shard(tmp_path / name)


def test_text_that_begins_as_a_parquet_file_does_is_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("PAR1 is activated by thrombin.\nIt is a receptor.\n")
    assert texts_of(open_shard(path)) == ["PAR1 is activated by thrombin.", "It is a receptor."]
