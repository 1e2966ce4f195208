"""Lines of text files: plain or gzip, UTF-8, read as a stream.

Only "\\n" ends a line: a carriage return, a form feed or U+2028 within a sentence never shifts the
alignment of two files.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO, TypeVar, cast

from yakusu.errors import DataError

Pair = tuple[str, str]  # source line, target line
Text = str | Path | Iterable[str]  # the path of a file, or its lines
T = TypeVar("T")


def read_lines(path: str | Path) -> Iterator[str]:
    """Read the lines of a text file without surrounding white space.

    Raises:
        DataError: See `decode_lines` and `open_binary`.
    """
    return (line.strip() for line in raw_lines(path))


def raw_lines(path: str | Path) -> Iterator[str]:
    """Read the lines of a text file with their white space.

    Raises:
        DataError: See `decode_lines` and `open_binary`.
    """
    with open_binary(Path(path)) as file:
        yield from decode_lines(file, str(path))


def open_binary(path: Path) -> IO[bytes] | gzip.GzipFile:
    """Open a file for reading; a name ending in .gz is decompressed.

    Raises:
        DataError: The file does not exist, is a folder or cannot be opened.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder: specify a text file")
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path in the recipe or the command")
    try:
        return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def decode_lines(lines: Iterator[bytes], name: str) -> Iterator[str]:
    """Decode UTF-8 lines; remove the "\\n" at the end of each and a byte order mark at the start.

    Args:
        lines: Lines of bytes.
        name: Name of the file in error messages.

    Raises:
        DataError: A line is not valid UTF-8 (the message names the file, the line and the byte),
            or the gzip file is truncated or corrupt.
    """
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            text = line.decode("utf-8").removesuffix("\n")
            yield text.removeprefix("\ufeff") if number == 1 else text
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}, line {number}, byte {error.start + 1}: 0x{error.object[error.start]:02x} is "
            "not UTF-8: convert the file (iconv -t UTF-8) or correct the line"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{name} is not a valid gzip file after line {number}: compress it again"
        ) from error


def count_lines(path: str | Path) -> int:
    """Count the lines of a text file.

    Raises:
        DataError: See `decode_lines` and `open_binary`.
    """
    return sum(1 for _ in raw_lines(path))


def language_of(path: str | Path) -> str:
    """Return the language code at the end of a file name (train.de, train.de.gz), or ""."""
    code = str(path).removesuffix(".gz").rpartition(".")[2]
    return code if re.fullmatch("[a-z]{2}", code) else ""


def windows(items: Iterator[T], size: int) -> Iterator[list[T]]:
    """Group a stream into lists of `size` items.

    A list is shorter at the end of the stream, and where the next item of a `ReadAhead` has not
    arrived yet.
    """
    window: list[T] = []
    for item in items:
        window.append(item)
        if len(window) == size or (isinstance(items, ReadAhead) and items.pending):
            yield window
            window = []
    if window:
        yield window


class ReadAhead(Iterator[T]):
    """Items of a slow source, such as the lines of a pipe, read ahead by a background thread.

    Args:
        items: The items to read; an exception that they raise is re-raised in the consumer.
    """

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        # (item, None), or (None, how the source ended)
        self._queue: Queue[tuple[T, None] | tuple[None, Exception]] = Queue(maxsize=100_000)
        self._thread = Thread(target=self._read, daemon=True)

    @property
    def pending(self) -> bool:
        """Whether the next item has not arrived yet."""
        return self._queue.empty()

    def __next__(self) -> T:
        if self._thread.ident is None:
            self._thread.start()
        item, end = self._queue.get()
        if end is None:
            return cast(T, item)
        self._queue.put((None, end))  # keep the end marker for the next call
        raise end

    def _read(self) -> None:
        try:
            for item in self._items:
                self._queue.put((item, None))
            self._queue.put((None, StopIteration()))
        except Exception as error:
            self._queue.put((None, error))
