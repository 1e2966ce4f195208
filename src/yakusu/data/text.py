"""Text: reading lines, and the filters that keep the good pairs of them.

A line ends at "\\n" and nowhere else: a carriage return, a form feed or U+2028 inside a sentence
never shifts the alignment. Nothing here holds more than a window of the corpus in memory.
"""

import gzip
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from yakusu.config import Config
from yakusu.errors import DataError

Pair = tuple[str, str]
T = TypeVar("T")


class FilterConfig(Config):
    """Which pairs are dropped. Lengths are counted in tokens, so they suit every script."""

    max_tokens: int = Field(256, ge=1)
    max_ratio: float = Field(4.0, ge=1)  # of the longer side to the shorter one
    drop_duplicates: bool = True
    drop_identical: bool = True


def open_binary(path: Path) -> IO[bytes] | gzip.GzipFile:
    """Open a file for reading, unpacking .gz.

    Raises:
        DataError: The file is missing or is a folder.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder: name a file of sentences")
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path in the recipe or the command")
    try:
        return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def decode_lines(lines: Iterator[bytes], name: str) -> Iterator[str]:
    """UTF-8 lines without their "\\n".

    Raises:
        DataError: A byte is not UTF-8 (file, line and byte are named), or the .gz is cut off.
    """
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            text = line.decode("utf-8").removesuffix("\n")
            yield text.removeprefix("\ufeff") if number == 1 else text
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}, line {number}, byte {error.start + 1}: 0x{error.object[error.start]:02x} is "
            "not UTF-8: convert the file (iconv -t UTF-8) or mend the line"
        ) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{name}, after line {number}: broken gzip file: pack it again") from error


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a text file, white space around them dropped; errors as in `decode_lines`."""
    return (line.strip() for line in raw_lines(path))


def raw_lines(path: str | Path) -> Iterator[str]:
    """The lines of a text file with their white space; errors as in `decode_lines`."""
    with open_binary(Path(path)) as file:
        yield from decode_lines(file, str(path))


def language_of(path: str | Path) -> str:
    """The language code that a file's name ends in, as in train.de or train.de.gz; else ""."""
    code = str(path).removesuffix(".gz").rpartition(".")[2]
    return code if re.fullmatch("[a-z]{2}", code) else ""


def count_lines(path: str | Path) -> int:
    """The number of lines of a text file.

    Raises:
        DataError: It is missing, or no whole gzip file.
    """
    return sum(1 for _ in raw_lines(path))


def windows(items: Iterator[T], size: int) -> Iterator[list[T]]:
    """Cut a stream into lists of `size` items; the last one is shorter, and those that wait."""
    window: list[T] = []
    for item in items:
        window.append(item)
        if len(window) == size or (isinstance(items, Arriving) and items.waits):
            yield window
            window = []
    if window:
        yield window


class Arriving(Iterator[str]):
    """Lines that come when they come, as from a pipe: read ahead by a thread of its own."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._queue: Queue[str | Exception | None] = Queue(maxsize=100_000)
        self._thread = Thread(target=self._read, daemon=True)

    @property
    def waits(self) -> bool:
        """Whether the next line has not come yet."""
        return self._queue.empty()

    def __next__(self) -> str:
        if self._thread.ident is None:
            self._thread.start()
        line = self._queue.get()
        if isinstance(line, str):
            return line
        self._queue.put(line)  # the end stays the end
        raise line or StopIteration

    def _read(self) -> None:
        try:
            for line in self._lines:
                self._queue.put(line)
            self._queue.put(None)
        except Exception as error:
            self._queue.put(error)


class FilterReport:
    """How many pairs were read, and how many each filter dropped."""

    def __init__(self) -> None:
        self.read = 0
        self.dropped: Counter[str] = Counter(
            dict.fromkeys(("empty", "identical", "duplicate", "too long", "ratio"), 0)
        )

    @property
    def kept(self) -> int:
        """Pairs that passed every filter."""
        return self.read - self.dropped.total()

    @property
    def losses(self) -> str:
        """What was dropped, as "3 empty, 1 ratio"; nothing where nothing was."""
        return ", ".join(f"{n:,} {reason}" for reason, n in (+self.dropped).items())

    def as_dict(self) -> dict[str, int]:
        """All counts, for JSON and for printing."""
        return {"read": self.read, **self.dropped, "kept": self.kept}


def text_fault(pair: Pair, config: FilterConfig) -> str:
    """Why the text of a pair is unfit for training; "" if it is fit."""
    src, tgt = pair
    if not src or not tgt:
        return "empty"
    return "identical" if config.drop_identical and src == tgt else ""


def length_fault(n_src: int, n_tgt: int, config: FilterConfig) -> str:
    """Why the lengths of a pair, in tokens, are unfit for training; "" if they are fit."""
    longer, shorter = max(n_src, n_tgt), min(n_src, n_tgt)
    if shorter == 0:
        return "empty"
    if longer > config.max_tokens:
        return "too long"
    return "ratio" if longer > config.max_ratio * shorter else ""


class Repeats:
    """Which pairs of a stream occurred before, in memory that does not grow with the stream.

    Each pair leaves its 128-bit digest in one of 64 files; a repeat meets its first occurrence in
    the same file, so the files are looked through one at a time.
    """

    _BUCKETS = 64
    _RECORD = np.dtype([("digest", "<u8", 2), ("position", "<u8")])

    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        self._files = [self._open(folder / f"{i:02}") for i in range(self._BUCKETS)]
        self._n = 0

    def _open(self, path: Path) -> BinaryIO:
        return self._stack.enter_context(path.open("w+b"))

    def __enter__(self) -> "Repeats":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add(self, pair: Pair) -> None:
        """Note the next pair of the stream."""
        digest = hashlib.blake2b("\n".join(pair).encode(), digest_size=16).digest()
        self._files[digest[0] % self._BUCKETS].write(digest + self._n.to_bytes(8, "little"))
        self._n += 1

    def find(self) -> npt.NDArray[np.bool_]:
        """True for each pair, in the order of `add`, that occurred before."""
        repeated = np.zeros(self._n, dtype=np.bool_)
        for file in self._files:
            file.seek(0)
            records = np.frombuffer(file.read(), dtype=self._RECORD)
            digest, position = records["digest"], records["position"]
            order = np.lexsort((position, digest[:, 1], digest[:, 0]))
            same = (digest[order[1:]] == digest[order[:-1]]).all(axis=1)
            repeated[position[order[1:]][same]] = True
        return repeated
