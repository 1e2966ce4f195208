"""Lines of bytes, of which those longer than a limit are never in memory as a whole.

    a sentence           b"a sentence"
    a line of 50 MB      LongLine: its parts, which can be read once

No sentence has a million bytes: such a line is a file without line breaks, or an attack. A reader
leaves it out and counts it (`LongLines`), stores it on disk to print it unchanged (`StoredLines`),
reads it nevertheless (`WholeLines`), or refuses it.
"""

import codecs
import io
import tempfile
import weakref
from collections.abc import Callable, Iterator
from threading import Lock
from typing import BinaryIO, Protocol

from yakusu.errors import DataError

LONGEST_LINE = 1_000_000  # bytes in UTF-8, without the line break
_BLOCK = 2**15  # bytes read at a time
_LISTED = 10  # line numbers in a warning


class LongLine:
    """A line that is longer than the limit.

    Args:
        head: Its first bytes, more than the limit.
        rest: Its other bytes, part by part. They can be read once, before the next line.
    """

    def __init__(self, head: bytes, rest: Iterator[bytes]) -> None:
        self.head, self._rest = head, rest

    def parts(self) -> Iterator[bytes]:
        """All its bytes, part by part."""
        yield self.head
        yield from self._rest


def byte_lines(
    read: Callable[[int], bytes], longest: int = LONGEST_LINE
) -> Iterator[bytes | LongLine]:
    """Divide a stream at "\\n" into lines without it.

    Args:
        read: Returns the next bytes, at most as many as its argument; b"" at the end. A stream that
            has some returns them at once, so that a line of a pipe is not delayed.
        longest: Number of bytes of the longest line that is returned as a whole.
    """
    size, rest = min(_BLOCK, longest), b""
    while block := read(size):
        *lines, rest = (rest + block).split(b"\n")
        if lines and len(lines[0]) > longest:  # others are shorter than a block
            yield LongLine(lines.pop(0), iter(()))
        elif len(rest) > longest:
            tail = _Tail(read, size)
            yield LongLine(rest, tail)
            *lines, rest = tail.following()
        yield from lines
    if rest:
        yield rest


class _Tail(Iterator[bytes]):
    """The parts of a long line after the first one."""

    def __init__(self, read: Callable[[int], bytes], size: int) -> None:
        self._read, self._size = read, size
        self._after: bytes | None = None  # what follows the line, once its end has been read

    def __next__(self) -> bytes:
        if self._after is not None:
            raise StopIteration
        block = self._read(self._size)
        part, newline, after = block.partition(b"\n")
        if newline or not block:
            self._after = after
        return part

    def following(self) -> list[bytes]:
        """Skip the rest of the line; return the lines that have been read with its end."""
        for _ in self:
            pass
        return (self._after or b"").split(b"\n")


def long_line_error(name: str, number: int) -> DataError:
    """Return the error of a line, where none may be left out."""
    return DataError(
        f"{name}, line {number} has more than {LONGEST_LINE:,} bytes: divide it into lines, or "
        "remove it"
    )


def too_many_bytes(n_bytes: int, longest: int = LONGEST_LINE) -> str:
    """Return why a line is kept."""
    return f"{n_bytes:,} bytes are more than the {longest:,} of the longest line"


def is_long(text: str) -> bool:
    """Whether a text has more than `LONGEST_LINE` bytes in UTF-8."""
    is_possible = len(text) * 4 > LONGEST_LINE
    return is_possible and len(text.encode("utf-8", "surrogatepass")) > LONGEST_LINE


class _LeftOut(str):
    """An empty line in place of one that is too long."""

    __slots__ = ()

    def strip(self, _: str | None = None) -> str:
        """The same object."""
        return self


LEFT_OUT: str = _LeftOut()  # compared by identity: an empty line is "", too


class LongLineReader(Protocol):
    """What is read in place of a line that is too long."""

    def read(self, line: LongLine, number: int) -> str:
        """Return a text for a line with a number."""


class LongLines:
    """Leaves long lines out, and counts them.

    Attributes:
        count: Number of lines, or of pairs, that were left out.
    """

    def __init__(self) -> None:
        self.count, self._first = 0, list[int]()

    def read(self, line: LongLine, number: int) -> str:
        """Count a line; return `LEFT_OUT`."""
        del line
        return self.add(number)

    def add(self, number: int) -> str:
        """Count the line, or the pair, with a number; return `LEFT_OUT`."""
        self.count += 1
        if len(self._first) < _LISTED:
            self._first.append(number)
        return LEFT_OUT

    def warning(self, name: str, noun: str = "line") -> str:
        """Return a sentence with the number of lines that were left out; "" if there were none."""
        if not self.count:
            return ""
        numbers = ", ".join(map(str, self._first)) + (", ..." if self.count > _LISTED else "")
        one = self.count == 1
        return (
            f"{name}: {self.count:,} {noun}{' was' if one else 's were'} left out because of more "
            f"than {LONGEST_LINE:,} bytes: {noun}{'' if one else 's'} {numbers}"
        )


class WholeLines:
    """Reads long lines as a whole, for a translator, which returns them unchanged."""

    def read(self, line: LongLine, number: int) -> str:
        """Return the text of a line; bytes that are not UTF-8 become U+FFFD."""
        del number
        return b"".join(line.parts()).decode("utf-8", "replace")


class StoredLines:
    """Stores long lines in a temporary file until they are printed.

    One thread may read lines, and another one print them.
    """

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        self._places: dict[int, tuple[int, int]] = {}  # number of a line -> first byte, size
        self._lock = Lock()

    def read(self, line: LongLine, number: int) -> str:
        """Store a line; return an empty one."""
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
            weakref.finalize(self, self._file.close)
        with self._lock:
            if not self._places:
                self._file.truncate(0)  # all others have been printed
            start = end = self._file.seek(0, io.SEEK_END)
        for part in line.parts():
            with self._lock:
                self._file.seek(end)
                end += self._file.write(part)
        self._places[number] = start, end - start
        return ""

    def size(self, number: int) -> int:
        """The number of bytes of a stored line; 0: it is not stored."""
        return self._places.get(number, (0, 0))[1]

    def take(self, number: int) -> Iterator[str]:
        """Return the text of a stored line, part by part, and forget it afterwards."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        place, left = self._places[number]
        while left:
            with self._lock:
                assert self._file is not None
                self._file.seek(place)
                part = self._file.read(min(left, _BLOCK))
            place, left = place + len(part), left - len(part)
            yield decoder.decode(part, final=not left)
        del self._places[number]
