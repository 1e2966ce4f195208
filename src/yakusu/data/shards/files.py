"""Shards of a corpus: files of which each can be translated without the others.

A shard is a text file, compressed or not, or a Parquet file (`parquet.py`). It is read in blocks,
and written with a translation for each text, in the same format and with the same compression.
"""

import bz2
import gzip
import lzma
import os
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from yakusu.data.files.compressed import compression_of, missing_library
from yakusu.data.files.long_lines import WholeLines
from yakusu.data.files.text import InvalidLines, raw_lines
from yakusu.data.lines.layout import Layout
from yakusu.data.shards.blocks import Shard, ShardBlock
from yakusu.errors import DataError

PARQUET_MAGIC = b"PAR1"
_HEAD = 16  # bytes that tell the compression of a file
_GZIP_LEVEL = 6  # gzip's own default; Python's is slower and hardly smaller


def open_shard(path: Path, *, column: str | None = None) -> Shard:
    """Return the shard in a file.

    Args:
        path: A text file or a Parquet file, which begins with "PAR1", and also ends with it unless
            its name states the format.
        column: The column of a Parquet file that contains the texts; see `ParquetShard`.

    Raises:
        DataError: The file is not valid, or the column does not exist.
    """
    head, tail = _ends(path)
    is_named = path.suffix.lower() in (".parquet", ".pq")
    if head.startswith(PARQUET_MAGIC) and (is_named or tail == PARQUET_MAGIC):
        from yakusu.data.shards.parquet import ParquetShard

        return ParquetShard(path, column)
    if is_named:
        raise DataError(
            f"{path} is not a Parquet file, although its name ends in {path.suffix}: rename it, or "
            "write it again"
        )
    return TextShard(path, compression_of(head))


def _ends(path: Path) -> tuple[bytes, bytes]:
    """The first bytes of a file, and as many of its last ones as a Parquet file is marked with."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            file.seek(-min(len(PARQUET_MAGIC), len(head)), os.SEEK_END)
            return head, file.read()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


class TextShard:
    """A text file, one text per line.

    Args:
        path: The file.
        compression: What `compression_of` returns for it.
    """

    def __init__(self, path: Path, compression: str | None = None) -> None:
        self._path, self._compression = path, compression

    def blocks(self, size: int, invalid: InvalidLines) -> Iterator[ShardBlock]:
        """The lines in order, with the layout of the lines before them; see `Shard`."""
        layout, start = Layout(), 0
        lines = raw_lines(self._path, errors=invalid, long=WholeLines())
        while texts := tuple(islice(lines, size)):
            yield ShardBlock(texts, start, copy(layout))
            start += len(texts)
            _read(layout, texts)

    def write(self, file: BinaryIO, translations: Iterator[str | None]) -> None:
        """Write a line for each translation, compressed as the original; see `Shard`."""
        lines = (f"{translation or ''}\n".encode() for translation in translations)
        _write_compressed(file, lines, self._compression, str(self._path))


def _read(layout: Layout, texts: Sequence[str]) -> None:
    """Advance a layout past lines as a translator does; see `PassageReader.read`."""
    for text in texts:
        for line in text.splitlines() or [""]:
            layout.read(line)


def _write_compressed(
    file: BinaryIO, lines: Iterable[bytes], compression: str | None, name: str
) -> None:
    """Write lines; the same lines always give the same bytes."""
    match compression:
        case "gzip":
            with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as stream:
                stream.writelines(lines)
        case "bzip2":
            with bz2.BZ2File(file, "wb") as stream:
                stream.writelines(lines)
        case "xz":
            with lzma.LZMAFile(file, "wb") as stream:
                stream.writelines(lines)
        case "Zstandard":
            _write_zstd(file, lines, name)
        case _:
            file.writelines(lines)


def _write_zstd(file: BinaryIO, lines: Iterable[bytes], name: str) -> None:
    try:
        import zstandard
    except ModuleNotFoundError as error:
        raise missing_library(error, name) from error
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    with compressor.stream_writer(file, closefd=False) as stream:
        for line in lines:
            stream.write(line)
