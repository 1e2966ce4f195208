"""Word vectors from files: what a file is shows in its first bytes, whatever its name.

    word2vec text, fastText .vec   "V H\\n", then V times "word x1 ... xH\\n"       also .gz
    GloVe                          such lines without the header                   also .gz
    word2vec binary                "V H\\n", then V times "word ", H float32, "\\n" or nothing; .gz
    .npz                           `words` (V,) and a matrix (V, H)
    .npy, .npz, .safetensors       a matrix (V, H); its words are a file with one a line

V words, H dimensions. In text only "\\n" or "\\r\\n" ends a line and only spaces part its fields; a
word may hold any other character, and spaces as in GloVe 840B, for the last H fields are the
numbers. A first line of two whole numbers is a header. Nothing is ever unpickled.
"""

import codecs
import gzip
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import chain, count
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from yakusu.compress.blocks import ROWS, blocks
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent

AnyArray = npt.NDArray[Any]
Stream = IO[bytes] | gzip.GzipFile
Place = Callable[[int], str]
Row = tuple[bytes, bytes | memoryview]  # a word and its numbers
_NUMBER = np.dtype("<f4")
_BYTES = 1 << 20  # of a binary file that are read at a time
_HEADER = re.compile(rb"(\d{1,18}) (\d{1,18})\s*")
_WIDEST = 1 << 20  # H: a header that says more would have as many bytes read for one row
_SAMPLE = 1 << 16  # bytes after a header that tell text from binary
_LONGEST_HEADER = 100_000_000  # of safetensors, by its own limit, in bytes
_NOT_READ = {b"\x80": "a Python pickle", b"\xba\x16\x4f\x2f": "a model of fastText"}
_BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
_BROKEN_ARRAYS = (
    *(*_BROKEN_GZIP, BadZipFile, SafetensorError, TokenError),
    *(OSError, RuntimeError, TypeError, ValueError),
)


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors; gensim's are `WordVectors(kv.index_to_key, kv.vectors)`.

    words: V different ones.
    vectors: (V, H), float32, finite.
    place: Not kept: what messages call a row, which counts from 0.

    Raises:
        DataError: One of these is not so; the row and the word are named.
    """

    words: list[str]
    vectors: npt.NDArray[np.float32]
    place: InitVar[Place] = field(default="row {}".format, kw_only=True)

    def __post_init__(self, place: Place) -> None:
        shape, kind = self.vectors.shape, self.vectors.dtype
        if len(shape) != 2 or kind != np.float32 or not self.vectors.size:
            raise DataError(f"vectors of shape {shape} and type {kind}: give V rows of H float32")
        if len(self.words) != shape[0]:
            raise DataError(f"{len(self.words)} words and {shape[0]} vectors: give each word one")
        first: dict[str, int] = {}
        for row, word in enumerate(self.words):
            if (before := first.setdefault(word, row)) != row:
                raise DataError(
                    f"{place(row)}: the word {word!r} is at {place(before)} already: keep one"
                )
        for rows in blocks(len(self.words)):
            finite = np.isfinite(self.vectors[rows]).all(axis=1)
            if not finite.all():
                row = rows.start + int(finite.argmin())
                raise DataError(
                    f"{place(row)}: the vector of {self.words[row]!r} has a value that is NaN, "
                    "infinite or too large for float32: mend or remove it"
                )


def read_vectors(
    path: str | Path, *, words: str | Path | None = None, progress: Progress | None = None
) -> WordVectors:
    """Read a file of word vectors, of any kind above; numbers are rounded to float32.

    Args:
        path: The file.
        words: The words of a matrix that comes without them, one a line, UTF-8.
        progress: Watches the bytes of text and binary files.

    Raises:
        DataError: The file is missing, empty, cut off or of no kind that is read; a row has more or
            fewer than H numbers, or something else in their place; more or fewer rows follow than
            promised; a word is not UTF-8 or is there twice; a value is not finite. The message
            names the file and the line or, where there are no lines, the row, which counts from 0.
    """
    path = Path(path)
    head = _head(path)
    match _array(path, head), words:
        case None, None:
            packed = head.startswith(b"\x1f\x8b")
            return _from_rows(path, packed=packed, progress=progress or Silent())
        case (matrix, list(own)), None:
            return _joined(path, matrix, own, path)
        case (matrix, None), str() | Path() as listed:
            return _joined(path, matrix, _listed(Path(listed)), listed)
        case (_, None), None:
            raise DataError(f"{path} has no words: name a file that has them, one a line")
    raise DataError(f"{path} has words of its own: leave out the list {words}")


def _head(path: Path) -> bytes:
    if path.exists() and not path.is_file():  # a folder or a pipe
        raise DataError(f"{path} is no file: save the vectors in one, which is read twice")
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if not head:
        raise DataError(f"{path} is empty: name a file that is whole")
    for magic, what in _NOT_READ.items():
        if head.startswith(magic):
            raise DataError(f"{path} is {what}, which is not read: save it in word2vec's format")
    return head


def _array(path: Path, head: bytes) -> tuple[AnyArray, list[str] | None] | None:
    """The matrix of a file of arrays, and its words if they are there; None of another file."""
    try:
        if head.startswith(b"\x93NUMPY"):
            return np.load(path, mmap_mode="r", allow_pickle=False), None
        if head.startswith(b"PK\x03\x04"):
            return _from_npz(path)
        if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= _LONGEST_HEADER:
            with safe_open(path, framework="numpy") as file:
                shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
                return file.get_tensor(_chosen(path, shapes)), None
    except _BROKEN_ARRAYS as error:
        raise DataError(
            f"{path} cannot be opened ({error}): save it again, whole and without Python objects, "
            "as float16, float32 or float64"
        ) from error
    return None


def _from_npz(path: Path) -> tuple[AnyArray, list[str] | None]:
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    words = arrays.pop("words", None)
    if words is not None and (words.ndim != 1 or words.dtype.kind != "U"):
        raise DataError(
            f"{path}: words of shape {words.shape} and type {words.dtype}: save V words of str"
        )
    matrix = arrays[_chosen(path, {name: array.shape for name, array in arrays.items()})]
    return matrix, None if words is None else words.tolist()


def _chosen(path: Path, shapes: Mapping[str, Sequence[int]]) -> str:
    """The only matrix, or the only one that is called as embeddings are."""
    matrices = [name for name, shape in shapes.items() if len(shape) == 2]
    usual = [n for n in matrices if n in ("vectors", "weight") or "embedding" in n.lower()]
    for names in (matrices, usual):
        if len(names) == 1:
            return names[0]
    raise DataError(
        f"{path} has {len(matrices)} matrices ({', '.join(matrices[:5])}), {len(usual)} of them "
        "called vectors, weight or embedding: save a file with one"
    )


def _joined(path: Path, matrix: AnyArray, words: list[str], source: str | Path) -> WordVectors:
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not matrix.size:
        raise DataError(
            f"{path} has an array of shape {matrix.shape} and type {matrix.dtype}: "
            "save V rows of H numbers as float16, float32 or float64"
        )
    if len(words) != len(matrix):
        raise DataError(
            f"{path} has {len(matrix)} rows and {source} {len(words)} words: give each row one"
        )
    with np.errstate(over="ignore"):  # what becomes infinite here is refused with its row
        mapped = isinstance(matrix, np.memmap)  # copied, for somebody may write into its file
        vectors = matrix.astype(_NUMBER, order="C", copy=mapped, subok=False)
    rows, lines = _counted(path, "row", 0), _counted(source, "line", 1)
    place = rows if source == path else lambda row: f"{rows(row)} ({lines(row)})"
    return WordVectors(words, vectors, place=place)


def _listed(path: Path) -> list[str]:
    """The lines of a list of words."""
    _head(path)
    lines = path.read_bytes().removeprefix(codecs.BOM_UTF8).removesuffix(b"\n").split(b"\n")
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
            "convert the file (iconv -t UTF-8) or mend the word"
        ) from error


def _from_rows(path: Path, *, packed: bool, progress: Progress) -> WordVectors:
    """Row by row into memory that grows; nothing is reserved on the word of a header."""
    words: list[str] = []
    numbers = bytearray()  # grows by an eighth and in place: never there twice
    done, total = 0, path.stat().st_size
    with path.open("rb") as raw, progress.track(f"reading {path.name}", "bytes", total) as tracker:
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
            raise DataError(f"{path} is a broken gzip file: pack it again") from error
        tracker.advance(total - done)
    if promised not in (None, len(words)):
        raise DataError(
            f"{path} promises {promised} rows in its first line and has {len(words)}: "
            "mend that line or copy the file again"
        )
    if not words:
        raise DataError(f"{path} has no words: name a file that is whole")
    vectors = np.frombuffer(numbers, _NUMBER).reshape(len(words), size)
    return WordVectors(words, vectors, place=place)


def _opened(path: Path, file: Stream) -> tuple[int | None, int, Place, Iterator[Row]]:
    """V if there is a header, H, how a row is called, and the rows."""
    first = file.readline().removeprefix(codecs.BOM_UTF8)
    header = _HEADER.fullmatch(first)
    size = int(header[2]) if header else _width(first)
    if not 0 < size <= _WIDEST:
        raise DataError(
            f"{path}, line 1: by it {size} numbers follow a word: "
            f"give lines of a word and 1 to {_WIDEST} numbers, with spaces between them"
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
    """H, by a line of text: numbers begin with the first field after a word that can be one."""
    fields = [f for f in line.rstrip(b" \r\n").split(b" ")[1:] if f]
    return next((len(fields) - i for i, f in enumerate(fields) if len(_parsed(f))), 0)


def _is_text(sample: bytes, size: int) -> bool:
    """Whether the rows after a header are text: the first is, or could be but for a fault."""
    if len(_parsed(_split(sample.partition(b"\n")[0], size)[1])) == size:
        return True
    numbers = sample.find(b" ") + 1
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(sample[: numbers + 4 * size])
    except UnicodeDecodeError:
        return False
    return "\0" not in text


def _text_rows(lines: Iterable[bytes], size: int, place: Place) -> Iterator[Row]:
    for row, line in enumerate(lines):
        word, numbers = _split(line, size)
        values = _parsed(numbers)
        if len(values) != size or (b" " in word and len(_parsed(word.rpartition(b" ")[2]))):
            raise DataError(f"{place(row)}: {_fault(line, size)}: mend the line")
        yield word, values.data


def _fault(line: bytes, size: int) -> str:
    fields = line.split()[1:]
    for wrong in fields[-size:]:
        if not len(_parsed(wrong)):
            return f"{wrong[:40].decode(errors='backslashreplace')!r} is not a number"
    return f"{len(fields)} numbers follow the word where there should be {size}"


def _split(line: bytes, size: int) -> tuple[bytes, bytes]:
    """A word and its numbers."""
    line = line.rstrip(b" \r\n")
    if line.count(b" ") == size:
        word, _, numbers = line.partition(b" ")
        return word, numbers
    fields = [f for f in line.split(b" ") if f]  # spaces in a word, or several between numbers
    numbers_at = max(1, len(fields) - size)
    return b" ".join(fields[:numbers_at]), b" ".join(fields[numbers_at:])


def _parsed(numbers: bytes) -> npt.NDArray[np.float32]:
    """Numbers with spaces between them; nothing if one of them is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # numpy before 2.4 warns only
        try:
            return np.fromstring(numbers, _NUMBER, sep=" ")
        except (ValueError, DeprecationWarning):
            return np.empty(0, _NUMBER)


def _binary_rows(file: Stream, size: int, place: Place) -> Iterator[Row]:
    window, at, width = b"", 0, 4 * size
    for row in count():
        start = window.find(b" ", at) + 1
        if not start or len(window) < start + width:
            window, at = window[at:] + file.read(_BYTES + width), 0
            start = window.find(b" ") + 1
            if window in (b"", b"\n"):
                return
            if not start or len(window) < start + width:
                raise DataError(f"{place(row)} is cut off: copy the file again")
        yield window[at : start - 1].removeprefix(b"\n"), window[start : start + width]
        at = start + width
