"""Readers of word vectors; the format is recognised by the first bytes, not by the file name.

    word2vec text, fastText .vec   "V H\\n", then V lines "word x1 ... xH\\n"
    GloVe                          the same lines without a header
    word2vec binary                "V H\\n", V times "word ", H float32, optional "\\n"
    .npz                           `words` (V,) and a matrix (V, H)
    .npy, .npz, .safetensors,
    Parquet                        a matrix (V, H); words, if any, in another file, one per line

V words, H dimensions. The first three, described in `rows.py`, may be compressed with gzip, bzip2
or xz. Nothing is unpickled. `matrices.py` opens .npy, .safetensors and Parquet.
"""

import bz2
import codecs
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from yakusu.arrays import BROKEN_ARRAYS, Array
from yakusu.compress.blocks import ROWS, blocks
from yakusu.errors import DataError
from yakusu.folder import open_regular
from yakusu.progress import Progress, Silent, Tracker
from yakusu.vectors.distinct import DistinctWords, Place, UndecodableWords
from yakusu.vectors.matrices import (
    first_bytes,
    matrix_format,
    only_matrix,
    open_matrix,
    unreadable,
)
from yakusu.vectors.matrixfile import MatrixFile, check_shape
from yakusu.vectors.rows import NUMBER, EncodedRow, RowFile, open_rows, places_in

_ARRAYS = (".npy", ".npz", ".safetensors", ".parquet")  # suffixes of files without text
_PACKED: dict[bytes, tuple[str, Callable[[BinaryIO], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\0": ("xz", lzma.LZMAFile),
    b"": ("", lambda file: file),
}
_BROKEN_PACKED = (EOFError, OSError, zlib.error, lzma.LZMAError)
_NOT_READ = {
    rb"\x80": "a Python pickle, which cannot be read: save it as word2vec text",
    rb"\xba\x16\x4f\x2f": "a fastText model, which cannot be read: save it as word2vec text",
    rb"\x89HDF": "an HDF5 file, which cannot be read: save it as word2vec text",
    rb"\xff\xfe|\xfe\xff": "UTF-16 text, which cannot be read: save it as UTF-8",
    rb"\x28\xb5\x2f\xfd": "a Zstandard file, which cannot be read: decompress it (zstd -d)",
    rb"SQLite format 3": "a store or another SQLite file, which cannot be read as vectors: "
    "name a file of vectors",
    rb"(?s:.{257})ustar": "a tar archive, which cannot be read: unpack it",
}
_HEAD = 512  # bytes that contain any of these
_DECIMAL = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")
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
    path: str | Path,
    *,
    words: str | Path | None = None,
    encoding: str = "utf-8",
    errors: UndecodableWords = "strict",
    progress: Progress | None = None,
) -> WordVectors:
    """Read a file of word vectors in one of the formats above; values are rounded to float32.

    Rows whose word occurs in an earlier row are left out; a warning says how many.

    Args:
        path: The file.
        words: File with one word per line, for a matrix without words.
        encoding: Encoding of the words; it must contain ASCII.
        errors: "strict" refuses words that are not in this encoding; "skip" leaves them out, and a
            warning says how many.
        progress: Progress reporter for text and binary files, in bytes.

    Raises:
        DataError: The file is missing, empty, truncated or in an unknown format; a row does not
            have H numbers; the number of rows differs from the header; a word is in another
            encoding; a value is not finite. The message names the file and the line or, in formats
            without lines, the row, counted from 0.
    """
    collect = partial(DistinctWords, encoding=encoding, errors=errors)
    found = read_any(path, words=words, collect=collect, progress=progress or Silent())
    if not isinstance(found, WordVectors):
        raise DataError(f"{path} contains no words: give a file with one word per line")
    return found


def read_any(
    path: str | Path,
    *,
    words: str | Path | None,
    collect: Callable[[Place], DistinctWords] = DistinctWords,
    progress: Progress,
) -> WordVectors | MatrixFile | Array:
    """Read word vectors as `read_vectors`, or open a matrix (V, H) without checking its values."""
    path = Path(path)
    head = first_bytes(path)
    _refuse_unread(path, head)
    match _array(path, head), words:
        case None, None:
            return _from_rows(path, head, collect, progress)
        case (matrix, list(own)), None:
            return _joined(path, matrix, own, collect(places_in(path, "row", 0)))
        case (matrix, None), str() | Path() as listed:
            return _labelled(path, matrix, Path(listed), collect)
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


def _refuse_unread(path: Path, head: bytes) -> None:
    """Raise DataError for a file in a known format that is not read."""
    for start, what in _NOT_READ.items():
        if re.match(start, head) and not matrix_format(head):
            raise DataError(f"{path} is {what}")


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
        others = [name for name in file.zip.namelist() if not name.endswith(".npy")]
        if others:
            raise DataError(f"{path} is a ZIP archive with {others[0]}: unpack it")
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


def _labelled(
    path: Path,
    matrix: MatrixFile | Array,
    listed: Path,
    collect: Callable[[Place], DistinctWords],
) -> WordVectors:
    """Join a matrix and a list of words, one per line."""
    _refuse_unread(listed, first_bytes(listed))
    with open_regular(listed) as file:
        content = file.read()
    lines = content.removeprefix(codecs.BOM_UTF8).removesuffix(b"\n").split(b"\n")
    if len(lines) != len(matrix):
        raise DataError(
            f"{path} has {len(matrix)} rows and {listed} {len(lines)} words: give one word per row"
        )
    row, line = places_in(path, "row", 0), places_in(listed, "line", 1)
    words = collect(lambda number: f"{row(number)} ({line(number)})")
    return _joined(path, matrix, [line.removesuffix(b"\r") for line in lines], words)


def _joined(
    path: Path,
    matrix: MatrixFile | Array,
    words: Sequence[str | bytes],
    distinct: DistinctWords,
) -> WordVectors:
    """Join the rows of a matrix and their words, if these are distinct."""
    if len(words) != len(matrix):
        raise DataError(
            f"{path} has {len(matrix)} rows and {len(words)} words: give one word per row"
        )
    kept = np.array([distinct.add(word, row) for row, word in enumerate(words)])
    vectors, end = np.empty((np.count_nonzero(kept), matrix.shape[1]), np.float32), 0
    with np.errstate(over="ignore"):  # WordVectors rejects infinite values
        for part in blocks(len(matrix)):
            rows = matrix[part][kept[part]]
            vectors[end : end + len(rows)] = rows
            end += len(rows)
    names, place = distinct.finish()
    return WordVectors(names, vectors, place=place)


def _from_rows(
    path: Path, head: bytes, collect: Callable[[Place], DistinctWords], progress: Progress
) -> WordVectors:
    kind, unpack = next(_PACKED[magic] for magic in _PACKED if head.startswith(magic))
    with (
        open_regular(path) as raw,
        progress.track(f"reading {path.name}", "bytes", path.stat().st_size) as tracker,
    ):
        try:
            file = unpack(raw)
            _refuse_arrays(path, file.read(_HEAD))
            file.seek(0)
            opened = open_rows(path, file)
            words = collect(opened.place)
            numbers = _numbers(path, opened, words, _tracked(opened.rows, raw, tracker))
        except _BROKEN_PACKED as error:
            if not kind or (isinstance(error, OSError) and error.errno):
                raise
            raise DataError(
                f"{path} is a corrupted {kind} file: copy or compress it again"
            ) from error
    names, place = words.finish()
    if not names:
        raise DataError(f"{path} contains no words that can be read: choose another file")
    if opened.promised is None and all(_DECIMAL.fullmatch(name) for name in names):
        raise DataError(
            f"{path} contains numbers only: save the matrix as .npy and its words, if any, as a "
            "list (--words)"
        )
    vectors = np.frombuffer(numbers, NUMBER).reshape(len(names), opened.width)
    return WordVectors(names, vectors, place=place)


def _refuse_arrays(path: Path, head: bytes) -> None:
    """Raise DataError if the content of a file, decompressed, is not rows."""
    _refuse_unread(path, head)
    if matrix_format(head) or head.startswith(b"PK\x03\x04"):
        raise DataError(f"{path} is compressed twice, or a compressed matrix: decompress it")


def _tracked(rows: Iterable[EncodedRow], raw: BinaryIO, tracker: Tracker) -> Iterator[EncodedRow]:
    """Yield rows, and track the position in their file."""
    done = 0
    for index, row in enumerate(rows):
        yield row
        if index % ROWS == 0:
            tracker.advance(raw.tell() - done)
            done = raw.tell()
    tracker.advance(raw.tell() - done)


def _numbers(
    path: Path, opened: RowFile, words: DistinctWords, rows: Iterable[EncodedRow]
) -> bytearray:
    """Read row by row into growing memory, so that a wrong header cannot exhaust it."""
    numbers, n_rows = bytearray(), 0  # grows by an eighth, in place: never copied
    for word, values in rows:
        if words.add(word, n_rows):
            numbers += values
        n_rows += 1
    if opened.promised not in (None, n_rows):
        fix = "copy the file again"
        raise DataError(
            f"{path} has {n_rows} rows, but its first line says {opened.promised}: "
            f"{fix if opened.binary else f'correct that line or {fix}'}"
        )
    return numbers
