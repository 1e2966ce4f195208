"""Readers of word vectors; the format is recognised by the first bytes, not by the file name.

    word2vec text, fastText .vec   "V H\\n", then V lines "word x1 ... xH\\n"; also .gz
    GloVe                          the same lines without a header; also .gz
    word2vec binary                "V H\\n", V times "word ", H float32, optional "\\n"; also .gz
    .npz                           `words` (V,) and a matrix (V, H)
    .npy, .npz, .safetensors,
    Parquet                        a matrix (V, H); words, if any, in another file, one per line

V words, H dimensions. In text, a line ends with "\\n" or "\\r\\n", and spaces separate its fields.
The last H fields are the numbers, so a word may contain any other character, even spaces, as in
GloVe 840B. A first line of two integers is a header. Nothing is unpickled. `matrices.py` opens
.npy, .safetensors and Parquet.
"""

import codecs
import gzip
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import InitVar, dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from yakusu.arrays import BROKEN_ARRAYS, Array
from yakusu.compress.blocks import ROWS, blocks
from yakusu.errors import AS_UTF8, DataError
from yakusu.folder import open_regular
from yakusu.progress import Progress, Silent
from yakusu.vectors.matrices import (
    first_bytes,
    matrix_format,
    only_matrix,
    open_matrix,
    unreadable,
)
from yakusu.vectors.matrixfile import MatrixFile, check_shape

Stream = IO[bytes] | gzip.GzipFile
Place = Callable[[int], str]
EncodedRow = tuple[bytes, bytes | memoryview]  # a word and its vector
_NUMBER = np.dtype("<f4")
_BYTES = 1 << 20  # read from a binary file at a time
_HEADER = re.compile(rb"(\d{1,18}) (\d{1,18})\s*")
_WIDEST = 1 << 20  # maximum H: limits the bytes that a wrong header makes us read for one row
_SAMPLE = 1 << 16  # bytes after a header that distinguish text from binary
_ARRAYS = (".npy", ".npz", ".safetensors", ".parquet")  # suffixes of files without text
_NOT_READ = {b"\x80": "a Python pickle", b"\xba\x16\x4f\x2f": "a fastText model"}
_BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
_MAX_RATIO, _UNPACKED = 200, 1 << 28  # of unpacked to packed bytes; bytes that any file may have


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words with their vectors; from gensim: `WordVectors(kv.index_to_key, kv.vectors)`.

    words: V distinct words.
    vectors: (V, H), float32, finite.
    place: Returns the name of a row, by its index, for error messages; not stored.

    Raises:
        DataError: A word occurs twice, a value is not finite, or the shape or type is wrong. The
            message names the row and the word.
    """

    words: list[str]
    vectors: npt.NDArray[np.float32]
    place: InitVar[Place] = field(default="row {}".format, kw_only=True)

    def __post_init__(self, place: Place) -> None:
        shape, kind = self.vectors.shape, self.vectors.dtype
        if len(shape) != 2 or kind != np.float32 or not self.vectors.size:
            raise DataError(
                f"vectors have shape {shape} and type {kind}: expected a float32 matrix (V, H)"
            )
        if len(self.words) != shape[0]:
            raise DataError(
                f"{len(self.words)} words do not fit {shape[0]} vectors: give one vector per word"
            )
        first: dict[str, int] = {}
        for row, word in enumerate(self.words):
            if (before := first.setdefault(word, row)) != row:
                raise DataError(
                    f"{place(row)}: the word {word!r} already occurs at {place(before)}: remove one"
                )
        for rows in blocks(len(self.words)):
            finite = np.isfinite(self.vectors[rows]).all(axis=1)
            if not finite.all():
                row = rows.start + int(finite.argmin())
                raise DataError(
                    f"{place(row)}: the vector of {self.words[row]!r} has a value that is NaN, "
                    "infinite or too large for float32: correct or remove it"
                )


def read_vectors(
    path: str | Path, *, words: str | Path | None = None, progress: Progress | None = None
) -> WordVectors:
    """Read a file of word vectors in one of the formats above; values are rounded to float32.

    Args:
        path: The file.
        words: UTF-8 file with one word per line, for a matrix without words.
        progress: Progress reporter for text and binary files, in bytes.

    Raises:
        DataError: The file is missing, empty, truncated or in an unknown format; a row does not
            have H numbers; the number of rows differs from the header; a word is not UTF-8 or
            occurs twice; a value is not finite. The message names the file and the line or, in
            formats without lines, the row, counted from 0.
    """
    found = read_any(path, words=words, progress=progress or Silent())
    if not isinstance(found, WordVectors):
        raise DataError(f"{path} contains no words: give a file with one word per line")
    return found


def read_any(
    path: str | Path, *, words: str | Path | None, progress: Progress
) -> WordVectors | MatrixFile | Array:
    """Read word vectors as `read_vectors`, or open a matrix (V, H) without checking its values."""
    path = Path(path)
    head = _head(path)
    match _array(path, head), words:
        case None, None:
            packed = head.startswith(b"\x1f\x8b")
            return _from_rows(path, packed=packed, progress=progress)
        case (matrix, list(own)), None:
            return _joined(path, matrix, own, path)
        case (matrix, None), str() | Path() as listed:
            return _joined(path, matrix, _listed(Path(listed)), listed)
        case (matrix, None), None:
            return matrix
    raise DataError(f"{path} already contains words: leave out the file {words}")


def given(
    source: str | Path | WordVectors, words: str | Path | None, progress: Progress
) -> WordVectors:
    """Return word vectors as they are, or read them from a file, as `read_vectors`."""
    if isinstance(source, WordVectors):
        return source
    return read_vectors(source, words=words, progress=progress)


def _head(path: Path) -> bytes:
    head = first_bytes(path)
    for magic, what in _NOT_READ.items():
        if head.startswith(magic) and not matrix_format(head):
            raise DataError(f"{path} is {what}, which cannot be read: save it as word2vec text")
    return head


def _array(path: Path, head: bytes) -> tuple[MatrixFile | Array, list[str] | None] | None:
    """Return the matrix of a file of arrays, with its words if any; None for other files."""
    if matrix_format(head):
        return open_matrix(path), None
    if head.startswith(b"PK\x03\x04"):
        try:
            return _from_npz(path)
        except BROKEN_ARRAYS as error:
            raise unreadable(path, error) from error
    if path.suffix in _ARRAYS:
        raise DataError(f"{path} is not a valid {path.suffix[1:]} file: write it again")
    return None


def _from_npz(path: Path) -> tuple[Array, list[str] | None]:
    with open_regular(path) as opened, np.load(opened, allow_pickle=False) as file:
        n_bytes = sum(entry.file_size for entry in file.zip.infolist())  # read at most
        if n_bytes > max(_UNPACKED, _MAX_RATIO * path.stat().st_size):
            raise DataError(f"{path} would unpack to {n_bytes:,} bytes: save it as .npy")
        arrays = {name: file[name] for name in file.files}
    words = arrays.pop("words", None)
    if words is not None and (words.ndim != 1 or words.dtype.kind != "U"):
        raise DataError(
            f"{path}: words have shape {words.shape} and type {words.dtype}: save V strings"
        )
    matrix = arrays[only_matrix(path, {name: array.shape for name, array in arrays.items()})]
    check_shape(path, matrix.shape, matrix.dtype)
    native = matrix.astype(matrix.dtype.newbyteorder("="), copy=False)
    return native, None if words is None else words.tolist()


def _joined(
    path: Path, matrix: MatrixFile | Array, words: list[str], source: str | Path
) -> WordVectors:
    if len(words) != len(matrix):
        listed = "" if source == path else f"{source} "
        raise DataError(
            f"{path} has {len(matrix)} rows and {listed}{len(words)} words: give one word per row"
        )
    vectors = np.empty(matrix.shape, np.float32)
    with np.errstate(over="ignore"):  # WordVectors rejects infinite values
        for part in blocks(len(matrix)):
            vectors[part] = matrix[part]
    rows, lines = _counted(path, "row", 0), _counted(source, "line", 1)
    place = rows if source == path else lambda row: f"{rows(row)} ({lines(row)})"
    return WordVectors(words, vectors, place=place)


def _listed(path: Path) -> list[str]:
    """Read the lines of a list of words."""
    _head(path)
    with open_regular(path) as file:
        content = file.read()
    lines = content.removeprefix(codecs.BOM_UTF8).removesuffix(b"\n").split(b"\n")
    place = _counted(path, "line", 1)
    return [_decoded(line.removesuffix(b"\r"), row, place) for row, line in enumerate(lines)]


def _counted(path: str | Path, unit: str, first: int) -> Place:
    return lambda row: f"{path}, {unit} {row + first}"


def _decoded(word: bytes, row: int, place: Place) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{place(row)}: byte 0x{word[error.start]:02x} of the word {word[:40]!r} is not UTF-8: "
            f"{AS_UTF8} or correct the word"
        ) from error


def _from_rows(path: Path, *, packed: bool, progress: Progress) -> WordVectors:
    """Read row by row into growing memory, so that a wrong header cannot exhaust it."""
    words: list[str] = []
    numbers = bytearray()  # grows by an eighth, in place: never copied
    done, total = 0, path.stat().st_size
    with (
        open_regular(path) as raw,
        progress.track(f"reading {path.name}", "bytes", total) as tracker,
    ):
        try:
            file = gzip.GzipFile(fileobj=raw) if packed else raw
            promised, size, place, rows = _opened(path, file)
            for row, (word, values) in enumerate(rows):
                words.append(_decoded(word, row, place))
                numbers += values
                if row % ROWS == 0:
                    tracker.advance(raw.tell() - done)
                    done = raw.tell()
        except _BROKEN_GZIP as error:
            raise DataError(f"{path} is a corrupted gzip file: compress it again") from error
        tracker.advance(total - done)
    if promised not in (None, len(words)):
        raise DataError(
            f"{path} has {len(words)} rows, but its first line says {promised}: correct that "
            "line or copy the file again"
        )
    if not words:
        raise DataError(f"{path} contains no words: choose another file")
    vectors = np.frombuffer(numbers, _NUMBER).reshape(len(words), size)
    return WordVectors(words, vectors, place=place)


def _opened(path: Path, file: Stream) -> tuple[int | None, int, Place, Iterator[EncodedRow]]:
    """Return V (None without a header), H, the function that names rows, and the rows."""
    first = file.readline().removeprefix(codecs.BOM_UTF8)
    header = _HEADER.fullmatch(first)
    size = int(header[2]) if header else _width(first)
    if not 0 < size <= _WIDEST:
        raise DataError(
            f"{path}, line 1: {size} numbers follow the word: each line needs a word and 1 to "
            f"{_WIDEST} numbers, separated by spaces"
        )
    if not header:
        place = _counted(path, "line", 1)
        return None, size, place, _text_rows(chain([first], file), size, place)
    start = file.tell()
    text = _is_text(file.read(_SAMPLE), size)
    file.seek(start)
    place = _counted(path, "line", 2) if text else _counted(path, "row", 0)
    rows = _text_rows if text else _binary_rows
    return int(header[1]), size, place, rows(file, size, place)


def _width(line: bytes) -> int:
    """Return H of a line of text; the vector starts with the first number after a word."""
    fields = [f for f in line.rstrip(b" \r\n").split(b" ")[1:] if f]
    return next((len(fields) - i for i, f in enumerate(fields) if len(_parsed(f))), 0)


def _is_text(sample: bytes, size: int) -> bool:
    """Return whether the rows after a header are text, even if the first has an error."""
    if len(_parsed(_split(sample.partition(b"\n")[0], size)[1])) == size:
        return True
    numbers = sample.find(b" ") + 1
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(sample[: numbers + 4 * size])
    except UnicodeDecodeError:
        return False
    return "\0" not in text


def _text_rows(lines: Iterable[bytes], size: int, place: Place) -> Iterator[EncodedRow]:
    for row, line in enumerate(lines):
        word, numbers = _split(line, size)
        values = _parsed(numbers)
        if len(values) != size or (b" " in word and len(_parsed(word.rpartition(b" ")[2]))):
            raise DataError(f"{place(row)}: {_fault(line, size)}: correct the line")
        yield word, values.data


def _fault(line: bytes, size: int) -> str:
    fields = line.split()[1:]
    for wrong in fields[-size:]:
        if not len(_parsed(wrong)):
            return f"{wrong[:40].decode(errors='backslashreplace')!r} is not a number"
    return f"{len(fields)} numbers follow the word instead of {size}"


def _split(line: bytes, size: int) -> tuple[bytes, bytes]:
    """Split a line into a word and its numbers."""
    line = line.rstrip(b" \r\n")
    if line.count(b" ") == size:
        word, _, numbers = line.partition(b" ")
        return word, numbers
    fields = [f for f in line.split(b" ") if f]  # spaces in a word, or several between numbers
    numbers_at = max(1, len(fields) - size)
    return b" ".join(fields[:numbers_at]), b" ".join(fields[numbers_at:])


def _parsed(numbers: bytes) -> npt.NDArray[np.float32]:
    """Parse numbers separated by spaces; the array is empty if a field is not a number."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # numpy before 2.4 only warns
        try:
            return np.fromstring(numbers, _NUMBER, sep=" ")
        except (ValueError, DeprecationWarning):
            return np.empty(0, _NUMBER)


def _binary_rows(file: Stream, size: int, place: Place) -> Iterator[EncodedRow]:
    window, at, width = b"", 0, 4 * size
    for row in count():
        start = window.find(b" ", at) + 1
        if not start or len(window) < start + width:
            window, at = window[at:] + file.read(_BYTES + width), 0
            start = window.find(b" ") + 1
            if window in (b"", b"\n"):
                return
            if not start or len(window) < start + width:
                raise DataError(f"{place(row)} is truncated: copy the file again")
        yield window[at : start - 1].removeprefix(b"\n"), window[start : start + width]
        at = start + width
