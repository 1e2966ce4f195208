"""The rows of word2vec and GloVe files: a word and H numbers, in text or in binary.

    text      "word x1 ... xH\\n"; fields are separated by spaces or tabs
    binary    "word ", H float32, optional "\\n"

A first line of two integers is a header, "V H\\n"; binary files have one. V words, H dimensions.
The last H fields of a line are the numbers, so a word may contain any other character, even spaces,
as in GloVe 840B. A line may end with "\\r\\n".
"""

import codecs
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from yakusu.errors import DataError
from yakusu.vectors.distinct import Place

EncodedRow = tuple[bytes, bytes | memoryview]  # a word and its vector
NUMBER = np.dtype("<f4")
_BYTES = 1 << 20  # read from a binary file at a time
_HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})\s*")
_WIDEST = 1 << 20  # maximum H: limits the bytes that a wrong header makes us read for one row
_LONGEST_LINE = 1 << 25  # bytes
_LONGEST_WORD = 1 << 12  # bytes of a binary file that are searched for spaces within a word
_SAMPLE = 1 << 16  # bytes that distinguish text from binary, and determine H of a file without it
_BLANKS = b" \t\r\n"
_CONTROL = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\xff]")
_FURTHER_WORD = re.compile(rb"[^\0-\x20]{1,200} ")
_HUGE = 1e15  # a larger number in a binary file is text read as a number, if a space follows


@dataclass(frozen=True)
class RowFile:
    """The rows of an open file, read one at a time.

    promised: V of the header; None without one.
    width: H.
    binary: Whether the rows are binary.
    place: Returns the name of a row, by its index, for messages.
    rows: Each word with the bytes of its H numbers.
    """

    promised: int | None
    width: int
    binary: bool
    place: Place
    rows: Iterator[EncodedRow]


def open_rows(path: Path, file: BinaryIO) -> RowFile:
    """Read the header and a few rows; return all rows.

    Args:
        path: Name of the file in messages.
        file: The file, decompressed, at its beginning.

    Raises:
        DataError: H is 0 or too large; while rows are read, that one is not valid.
    """
    first = file.readline(_LONGEST_LINE).removeprefix(codecs.BOM_UTF8)
    header, start = _HEADER.fullmatch(first), file.tell()
    sample = file.read(_SAMPLE)
    file.seek(start)
    width = int(header[2]) if header else _width([first, *_whole_lines(sample)])
    if not first.strip() and not sample.strip():
        raise DataError(f"{path} contains no words: choose another file")
    if not 0 < width <= _WIDEST:
        raise DataError(
            f"{path}, line 1: {width} numbers follow the word: each line needs a word and 1 to "
            f"{_WIDEST} numbers, separated by spaces or tabs"
        )
    if not header:
        place = places_in(path, "line", 1)
        rows = _text_rows(chain([first], _lines(file)), width, place, "")
        return RowFile(None, width, False, place, rows)
    if _is_text(sample, width):
        place = places_in(path, "line", 2)
        rows = _text_rows(_lines(file), width, place, ", as line 1 states")
        return RowFile(int(header[1]), width, False, place, rows)
    place = places_in(path, "row", 0)
    return RowFile(int(header[1]), width, True, place, _binary_rows(file, width, place))


def places_in(path: str | Path, unit: str, first: int) -> Place:
    """Return a function that names the rows of a file, of which the first has this number."""
    return lambda row: f"{path}, {unit} {row + first}"


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_LONGEST_LINE):
        yield line


def _whole_lines(sample: bytes) -> list[bytes]:
    lines = sample.split(b"\n")
    return lines[:-1] if len(sample) == _SAMPLE else lines


def _width(lines: Iterable[bytes]) -> int:
    """Return the most frequent number of numbers at the ends of lines, after a word."""
    widths = Counter(_trailing_numbers(line) for line in lines if line.strip())
    return max(widths, key=widths.__getitem__, default=0)


def _trailing_numbers(line: bytes) -> int:
    """Count the numbers at the end of a line; its first field is a word."""
    fields = _fields(line)[1:]
    if len(_parsed(b" ".join(fields))) == len(fields):
        return len(fields)
    return next((n for n, field in enumerate(reversed(fields)) if not len(_parsed(field))), 0)


def _is_text(sample: bytes, width: int) -> bool:
    """Return whether the rows after a header are text, even if the first has an error."""
    if _row(sample.partition(b"\n")[0], width):
        return True
    numbers = sample.find(b" ") + 1
    return not _CONTROL.search(sample, numbers, numbers + 4 * width)


def _text_rows(
    lines: Iterable[bytes], width: int, place: Place, stated: str
) -> Iterator[EncodedRow]:
    """Read lines of text; blank ones may follow the last row.

    Args:
        lines: The lines.
        width: H.
        place: See `RowFile`.
        stated: Where H is stated, for messages.
    """
    blank = None
    for index, line in enumerate(lines):
        if not line.strip(_BLANKS):
            blank = index if blank is None else blank
            continue
        if blank is not None:
            raise DataError(f"{place(blank)} is blank, but rows follow it: remove the line")
        if not (row := _row(line, width)):
            raise DataError(f"{place(index)}: {_fault(line, width, stated)}")
        word, values = row
        yield word, values.data


def _row(line: bytes, width: int) -> tuple[bytes, npt.NDArray[np.float32]] | None:
    """Split a line into a word and its numbers; None if there are fewer or more numbers."""
    line = line.rstrip(_BLANKS)
    for blank in (b" ", b"\t"):
        if line.count(blank) == width:
            word, _, numbers = line.partition(blank)
            if len(values := _parsed(numbers)) == width:
                return word, values
    fields = _fields(line)  # blanks in a word, several between numbers, or both kinds
    parts, last = fields[:-width], fields[-width:]
    if not parts or len(values := _parsed(b" ".join(last))) != width or _has_numbers(parts, last):
        return None
    return b" ".join(parts), values


def _has_numbers(word: list[bytes], numbers: list[bytes]) -> bool:
    """Return whether the fields of a word contain a vector, or end with one number too many.

    An integer before other numbers is not one too many, as in "Route 66 0.25 -0.5".
    """
    within = [field for field in word[1:] if len(_parsed(field))]
    if sum(not field.isdigit() for field in within) >= max(1, len(numbers) - 1):
        return True  # two lines without a line end between them
    is_last = within[-1:] == word[-1:]
    return is_last and not (word[-1].isdigit() and not all(map(bytes.isdigit, numbers)))


def _fault(line: bytes, width: int, stated: str) -> str:
    fields, found = _fields(line), _trailing_numbers(line)
    if found < width and not line.endswith(b"\n"):
        return f"the file ends after {found} of {width} numbers: copy it again"
    for wrong in fields[1:][-width:]:
        if not len(_parsed(wrong)):
            return f"{_shown(wrong)} is not a number: correct the line"
    if found == width:
        word = b" ".join(fields[:-width])
        return f"the word {_shown(word)} contains numbers: correct the line, or divide it in two"
    fix = f"correct {'either' if stated else 'the'} line"
    if found > width:
        fix += ", or join the parts of the word if it ends with a number"
    return f"{found} numbers follow the word instead of {width}{stated}: {fix}"


def _shown(text: bytes) -> str:
    return repr(text[:40].decode(errors="backslashreplace"))


def _fields(line: bytes) -> list[bytes]:
    return [field for field in line.rstrip(_BLANKS).replace(b"\t", b" ").split(b" ") if field]


def _parsed(numbers: bytes) -> npt.NDArray[np.float32]:
    """Parse numbers separated by blanks; the array is empty if a field is not a number."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # numpy before 2.4 only warns
        try:
            return np.fromstring(numbers, NUMBER, sep=" ")
        except (ValueError, DeprecationWarning):
            return np.empty(0, NUMBER)


def _binary_rows(file: BinaryIO, width: int, place: Place) -> Iterator[EncodedRow]:
    window, at, n_bytes = b"", 0, 4 * width
    for row in count():
        if len(window) - at < n_bytes + _LONGEST_WORD:
            window, at = window[at:] + file.read(_BYTES + n_bytes), 0
            if not window.strip(_BLANKS):
                return
        start = _vector_at(window, at, width)
        if not start or len(window) < start + n_bytes:
            raise DataError(
                f"{place(row)} is truncated, or the first line states a wrong width ({width}): "
                "copy or write the file again"
            )
        word = window[at : start - 1].removeprefix(b"\n")
        if b"\n" in word:
            raise DataError(
                f"{place(row)} does not begin at the end of the row before it: the first line "
                f"states a wrong width ({width}), or the file is damaged: copy or write it again"
            )
        yield word, window[start : start + n_bytes]
        at = start + n_bytes


def _vector_at(window: bytes, at: int, width: int) -> int:
    """Return where the vector of a binary row begins: after the word and a space; 0: nowhere.

    A space may also be part of the word. Then the bytes that follow are text up to the next space,
    and if they are read as numbers, some are huge.
    """
    start = window.find(b" ", at) + 1
    while start and _FURTHER_WORD.match(window, start) and len(window) >= start + 4 * width:
        numbers = np.frombuffer(window, NUMBER, width, start)
        with np.errstate(invalid="ignore"):
            if (np.abs(numbers) <= _HUGE).all():
                break
        start = window.find(b" ", start) + 1
    return start
