"""Lines of text files, plain or compressed, read as a stream: UTF-8, or converted to it.

Only "\\n" ends a line: a carriage return, a form feed or U+2028 within a sentence never shifts the
alignment of two files.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Literal, NamedTuple, TypeVar, cast

from yakusu.data.files.compressed import DamagedError, compression_of, plain_name
from yakusu.data.files.long_lines import (
    LONGEST_LINE,
    LongLine,
    LongLineReader,
    LongLines,
    byte_lines,
    long_line_error,
)
from yakusu.data.languages import language_code
from yakusu.errors import AS_UTF8, DataError

Pair = tuple[str, str]  # source line, target line
Text = str | Path | Iterable[str]  # the path of a file, or its lines
ErrorPolicy = Literal["strict", "skip", "replace"]
T = TypeVar("T")
_LISTED = 10  # line numbers in a warning
_HELD = 2**22  # characters that are read ahead, so that long lines do not fill the memory
_LEAST = 40  # characters as which the objects of an item count
_HEAD = 1024  # bytes that tell what a file is
_BLOCK = 2**20  # bytes in which lines are counted
_LANGUAGE_SUFFIX = re.compile("[a-z]{2,3}(_[A-Za-z]{2,4}|-[A-Z]{2}|-[A-Z][a-z]{3})*")


class InvalidLines:
    """How lines that are not in their encoding are read, and the numbers of these lines.

    Args:
        policy: "strict": raise DataError; "skip": read an empty line instead, so that line N of
            one file still belongs to line N of another; "replace": read U+FFFD in place of each
            invalid byte.
        whole_lines: Under "skip", return the line with its invalid bytes as surrogates, for a
            reader that needs its quotes and tabs and then drops it.
        encoding: The encoding of the file, as Python names it.

    Attributes:
        count: Number of lines that were not UTF-8.
        first: Numbers of the first ten of them.
    """

    def __init__(
        self,
        policy: ErrorPolicy = "strict",
        *,
        whole_lines: bool = False,
        encoding: str = "utf-8",
    ) -> None:
        self.policy, self.encoding = policy, encoding
        self.count, self.first = 0, list[int]()
        self._whole_lines = whole_lines

    def read(self, line: bytes, number: int) -> str:
        """Count a line that is not UTF-8 and return the text to read in its place."""
        self.count += 1
        if len(self.first) < _LISTED:
            self.first.append(number)
        if self.policy == "replace":
            return line.decode("utf-8", "replace")
        return line.decode("utf-8", "surrogateescape") if self._whole_lines else ""

    def warning(self, name: str, *, skipped: str = "left out") -> str:
        """Return a sentence with the number of lines that were not UTF-8; "" if there were none.

        Args:
            name: Name of the file.
            skipped: What was done with these lines under "skip".
        """
        if not self.count:
            return ""
        done = "read with U+FFFD for each invalid byte" if self.policy == "replace" else skipped
        one = self.count == 1
        numbers = ", ".join(map(str, self.first)) + (", ..." if self.count > _LISTED else "")
        return (
            f"{name}: {self.count:,} {'line is' if one else 'lines are'} not "
            f"{_shown_name(self.encoding)} and "
            f"{'was' if one else 'were'} {done}: line{'' if one else 's'} {numbers}"
        )


class PairFile(NamedTuple):
    """A file that contains both sides of a corpus, and how to read it.

    Attributes:
        path: The file.
        columns: Source and target: numbers from 1, names, or language codes. (1, 2): the default.
        errors: What to do with lines that are not UTF-8.
        long: Counts the lines that are too long.
        remark: Called with a sentence about what was left out.
        choose: Returns what to do if the file has these languages, but not those of the columns;
            None: choose others with --columns.
        languages: Codes of source and target that a header may name instead of `columns`.
    """

    path: str
    columns: tuple[int | str, int | str]
    errors: InvalidLines
    long: LongLines
    remark: Callable[[str], None]
    choose: Callable[[Sequence[str]], str] | None = None
    languages: tuple[str, str] | None = None


def one_line(text: str) -> str:
    """Return a text in one line: line breaks become spaces; white space at both ends is removed."""
    text = text.strip()
    return text.replace("\r\n", " ").replace("\n", " ") if "\n" in text else text


def read_lines(
    path: str | Path, *, errors: InvalidLines | None = None, long: LongLineReader | None = None
) -> Iterator[str]:
    """Read the lines of a text file without surrounding white space.

    Raises:
        DataError: See `decode_lines` and `open_binary`.
    """
    return (line.strip() for line in raw_lines(path, errors=errors, long=long))


def raw_lines(
    path: str | Path,
    *,
    errors: InvalidLines | None = None,
    long: LongLineReader | None = None,
    longest: int = LONGEST_LINE,
) -> Iterator[str]:
    """Read the lines of a text file with their white space.

    Args:
        path: The file.
        errors: See `decode_lines`.
        long: See `decode_lines`.
        longest: Number of bytes of the longest line that is not too long.

    Raises:
        DataError: See `decode_lines` and `open_binary`.
    """
    from yakusu.data.files.encodings import open_utf8

    with open_utf8(Path(path), errors.encoding if errors else "") as file:
        yield from decode_lines(
            byte_lines(file.read1, longest), str(path), errors=errors, long=long
        )


def decode_lines(
    lines: Iterator[bytes | LongLine],
    name: str,
    *,
    errors: InvalidLines | None = None,
    long: LongLineReader | None = None,
) -> Iterator[str]:
    """Decode UTF-8 lines; remove a byte order mark at the start.

    Args:
        lines: Lines of bytes; a "\\n" at the end of one is removed.
        name: Name of the file in error messages.
        errors: What to do with lines that are not UTF-8 (default: raise an error); counts them.
        long: What to do with lines that are too long (default: raise an error).

    Raises:
        DataError: A line is not valid UTF-8 (the message names the file, the line and the byte, or
            what the file is if it is not text), or a compressed file is truncated or corrupt.
    """
    number, head = 0, b""
    try:
        for number, line in enumerate(lines, start=1):
            if number == 1:
                head = (line.head if isinstance(line, LongLine) else line)[:_HEAD]
                if b"\0" in head:  # NUL is valid UTF-8, but does not occur in text
                    _refuse_utf16(head, name)
                    refuse_binary(head, name)
            if isinstance(line, LongLine):
                yield _read_long(line, name, number, head, errors, long)
                continue
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                if not errors or errors.policy == "strict":
                    raise _not_utf8(error, name, number, head, errors) from error
                _refuse_other_files(head, name, number)
                text = errors.read(line, number)
            text = text.removesuffix("\n")
            yield text.removeprefix("\ufeff") if number == 1 else text
    except DamagedError as error:
        raise DamagedError(name, error.kind, f" after line {number}") from error


def _read_long(
    line: LongLine,
    name: str,
    number: int,
    head: bytes,
    errors: InvalidLines | None,
    long: LongLineReader | None,
) -> str:
    """The text in place of a line that is too long."""
    if long is None:
        raise long_line_error(name, number)
    if errors and errors.policy != "strict":
        return long.read(line, number)
    decoder, before = codecs.getincrementaldecoder("utf-8")(), 0

    def valid() -> Iterator[bytes]:
        nonlocal before
        n_read = 0
        for part in line.parts():
            before = n_read - len(decoder.getstate()[0])  # the start of a divided character
            decoder.decode(part)
            n_read += len(part)
            yield part
        before = n_read - len(decoder.getstate()[0])
        decoder.decode(b"", final=True)

    try:
        return long.read(LongLine(b"", valid()), number)
    except UnicodeDecodeError as error:
        raise _not_utf8(error, name, number, head, errors, before=before) from error


def _not_utf8(
    error: UnicodeDecodeError,
    name: str,
    number: int,
    head: bytes,
    errors: InvalidLines | None,
    *,
    before: int = 0,
) -> DataError:
    """The error of a line; `before` is the number of its bytes that were decoded before."""
    _refuse_other_files(head, name, number)
    if errors and errors.encoding != "utf-8":
        return DataError(
            f"{name}, line {number} is not {errors.encoding}: correct the line, specify another "
            "encoding with --encoding, or add --errors skip"
        )
    more = ", correct the line, or add --errors skip" if errors else " or correct the line"
    byte = f"byte {before + error.start + 1}: 0x{error.object[error.start]:02x}"
    return DataError(f"{name}, line {number}, {byte} is not UTF-8: {AS_UTF8}{more}")


def _shown_name(encoding: str) -> str:
    return "UTF-8" if encoding == "utf-8" else encoding


# What a file that is not UTF-8 may be: a pattern of its first bytes, its name, and the fix.
_UTF16 = (
    (rb"\xff\xfe\0\0|\0\0\xfe\xff", "in UTF-32", "iconv -f UTF-32 -t UTF-8"),
    (rb"\xff\xfe|\xfe\xff", "in UTF-16", "iconv -f UTF-16 -t UTF-8"),
    (rb"(?:[^\0]\0){4}", "in UTF-16", "iconv -f UTF-16LE -t UTF-8"),
    (rb"(?:\0[^\0]){4}", "in UTF-16", "iconv -f UTF-16BE -t UTF-8"),
)
_PACKED = (
    (rb"PK\x03\x04", "a ZIP archive, such as .zip, .docx or .xlsx"),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (rb"Rar!\x1a\x07", "a RAR archive"),
    (rb"(?s:.{257})ustar", "a tar archive"),
    (rb"\x04\x22\x4d\x18", "compressed with lz4"),
    (rb"\x1f\x9d", "compressed with compress"),
)
_BINARY = (
    (rb"%PDF-", "a PDF document"),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Microsoft Office document"),
    (rb"SQLite format 3\0", "an SQLite database"),
    (rb"PAR1", "a Parquet file"),
    (rb"\x89PNG|\xff\xd8\xff|GIF8", "a picture"),
    (rb"\x7fELF", "a program"),
)


def _refuse_utf16(head: bytes, name: str) -> None:
    for magic, kind, command in _UTF16:
        if re.match(magic, head):
            raise DataError(f"{name} is text {kind}, not UTF-8: convert it with {command}")


def refuse_binary(head: bytes, name: str) -> None:
    """Raise DataError if the first bytes of a file are those of a known kind of binary file."""
    if kind := compression_of(head):
        command = "zstd" if kind == "Zstandard" else kind
        raise DataError(f"{name} is compressed with {kind}: decompress it with {command} -dc")
    for kinds, what, fix in (
        (_PACKED, "", "extract the text from it"),
        (_BINARY, ", not text", "export its text as UTF-8"),
    ):
        if found := next((kind for magic, kind in kinds if re.match(magic, head)), None):
            raise DataError(f"{name} is {found}{what}: {fix}")


def _refuse_other_files(head: bytes, name: str, number: int) -> None:
    """Raise DataError if a file with a line that is not UTF-8 is something other than text."""
    _refuse_utf16(head, name)
    refuse_binary(head, name)
    if xml := re.match(rb"\s*<\?xml\b[^>]*?(?:encoding=[\"']([\w.:-]+)|\?>)", head):
        encoding = (xml[1] or b"UTF-8").decode()
        raise DataError(
            f"{name}, line {number}: this is an XML file in {encoding}, not lines of text: "
            "pass a TMX or XLIFF file as --pairs"
        )
    if b"\0" in head:
        raise DataError(f"{name} is a binary file, not text: specify a text file in UTF-8")


def count_lines(path: str | Path, *, errors: InvalidLines | None = None) -> int:
    """Count the lines of a text file.

    Raises:
        DataError: See `decode_lines` and `open_binary`.
    """
    n_lines = _count_in_blocks(path, errors.encoding if errors else "")
    if n_lines is not None:
        return n_lines
    return sum(1 for _ in raw_lines(path, errors=errors, long=LongLines()))


def _count_in_blocks(path: str | Path, encoding: str) -> int | None:
    """Count the lines of a file, in large blocks; None if it is not UTF-8 text, or damaged."""
    from yakusu.data.files.encodings import open_utf8

    decoder, n_lines, last = codecs.getincrementaldecoder("utf-8")(), 0, b"\n"
    with open_utf8(Path(path), encoding) as file:
        try:
            while block := file.read(_BLOCK):
                if b"\0" in block[:_HEAD]:
                    return None
                decoder.decode(block)
                n_lines, last = n_lines + block.count(b"\n"), block[-1:]
            decoder.decode(b"", final=True)
        except (UnicodeDecodeError, DamagedError):
            return None
    return n_lines + (last != b"\n")


def language_of(path: str | Path) -> str:
    """Return the canonical code of the language at the end of a file name, or "".

    It is "de" for train.de and train.deu.gz, and "pt-BR" for train.pt_br.
    """
    suffix = plain_name(path).rpartition(".")[2]
    return language_code(suffix) if _LANGUAGE_SUFFIX.fullmatch(suffix) else ""


def window_size(batch: int) -> int:
    """How many items are read ahead by default, if `batch` of them are decoded together."""
    return max(32 * batch, 512)


def windows(
    items: Iterator[T], size: int, length: Callable[[T], int] | None = None
) -> Iterator[list[T]]:
    """Group a stream into lists of `size` items.

    A list is shorter at the end of the stream, and where the next item of a `ReadAhead` has not
    arrived yet.

    Args:
        items: The stream.
        size: Number of items of a list.
        length: Number of characters of an item; a list with too many of them ends, too.
    """
    window: list[T] = []
    n_characters = 0
    for item in items:
        window.append(item)
        n_characters += length(item) if length else 0
        is_full = len(window) == size or n_characters >= _HELD
        if is_full or (isinstance(items, ReadAhead) and items.pending):
            yield window
            window, n_characters = [], 0
    if window:
        yield window


class ReadAhead(Iterator[T]):
    """Items of a slow source, such as the lines of a pipe, read ahead by a background thread.

    Args:
        items: The items to read; an exception that they raise is re-raised in the consumer.
        length: Number of characters of an item.
    """

    def __init__(self, items: Iterator[T], length: Callable[[T], int] | None = None) -> None:
        self._items, self._length = items, length
        self._queue: _HeldQueue[T] = _HeldQueue(maxsize=_HELD)
        self._thread = Thread(target=self._read, daemon=True)

    @property
    def pending(self) -> bool:
        """Whether the next item has not arrived yet."""
        return self._queue.empty()

    def __next__(self) -> T:
        if self._thread.ident is None:
            self._thread.start()
        _, item, end = self._queue.get()
        if end is None:
            return cast(T, item)
        self._queue.put((1, None, end))  # keep the end marker for the next call
        raise end

    def _read(self) -> None:
        try:
            for item in self._items:
                n_characters = self._length(item) if self._length else 0
                self._queue.put((n_characters + _LEAST, item, None))
            self._queue.put((1, None, StopIteration()))
        except Exception as error:
            self._queue.put((1, None, error))


class _HeldQueue(Queue[tuple[int, T, None] | tuple[int, None, Exception]]):
    """A queue whose size is the sum of those of its elements.

    An element is a size, an item and None, or a size, None and how the source of items ended.
    """

    def _init(self, maxsize: int) -> None:
        super()._init(maxsize)
        self._size = 0

    def _qsize(self) -> int:
        return self._size

    def _put(self, item: tuple[int, T, None] | tuple[int, None, Exception]) -> None:
        super()._put(item)
        self._size += item[0]

    def _get(self) -> tuple[int, T, None] | tuple[int, None, Exception]:
        item = super()._get()
        self._size -= item[0]
        return item
