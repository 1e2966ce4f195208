"""Writers of compressed vectors in the formats of other libraries: the verb `export`.

    word2vec           "V H\\n", then V lines "word x1 ... xH\\n"; also fastText's .vec
    word2vec-binary    "V H\\n", then V times "word ", H float32, "\\n"
    glove              the lines of word2vec without the first
    npy                a matrix (V, H) of float32, and the words, if any, in OUT.words.txt, one per
                       line
    gensim             KeyedVectors of gensim, which it opens with `KeyedVectors.load`

Vectors without words are exported to npy only. Numbers in text have the nine digits that float32
needs to be read back exactly. V vectors, H dimensions.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np

from yakusu.compress.blocks import Matrix, row_blocks
from yakusu.compress.storage import CompressedMatrix, Vectors
from yakusu.errors import DataError
from yakusu.folder import write_file
from yakusu.progress import Progress, Silent, Tracker
from yakusu.vectors.file import open_compressed
from yakusu.vectors.keyed import CompressedVectors

Form = Literal["word2vec", "word2vec-binary", "glove", "npy", "gensim"]
Blocks = Iterator[tuple[list[str], Vectors]]  # words, and their vectors (n, H)

_FORMS: dict[str, Form] = {
    **{".txt": "word2vec", ".vec": "word2vec", ".bin": "word2vec-binary"},
    **{".npy": "npy", ".kv": "gensim"},
}
_WHITE_SPACE = re.compile(r"[ \t\n\v\f\r]|\A\Z")  # or an empty word
_LINE_BREAKS = re.compile(r"[\n\r]")


@dataclass(frozen=True)
class Exported:
    """The files that `export` has written.

    form: Their format.
    files: The file of the vectors; for npy, then that of the words, if any.
    n_vectors, width: V, H.
    """

    form: Form
    files: tuple[Path, ...]
    n_vectors: int
    width: int


def export(
    path: str | Path,
    out: str | Path,
    *,
    form: Form | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write the rebuilt vectors of a file in the format of another library, in float32.

    The vectors are rebuilt in blocks; only for gensim, all are in memory.

    Args:
        path: A file of compressed vectors.
        out: File to write.
        form: Format; None: word2vec for the suffixes .txt and .vec, word2vec-binary for .bin, npy
            for .npy, and gensim for .kv.
        progress: Progress reporter, in vectors.

    Raises:
        ModelError: `path` is missing, in another format, truncated or corrupted.
        DataError: The format is not known, a file exists already, the format cannot represent a
            word or needs words that the file lacks, or gensim is not installed.
    """
    out, progress = Path(out), progress or Silent()
    form, vectors = _resolved(form, out), open_compressed(path)
    words = vectors.words if isinstance(vectors, CompressedVectors) else None
    list_of_words = out.with_name(f"{out.name}.words.txt")
    files = (out, list_of_words) if form == "npy" and words is not None else (out,)
    _check_targets(files)
    if words is not None:
        _check_words(form, words)
    elif form != "npy":
        raise DataError(
            f"{path} has no words, which the format {form} needs: choose the format npy "
            "(--format npy)"
        )
    if form == "gensim" and find_spec("gensim") is None:
        raise DataError(
            f"{out}: gensim is not installed: install it with 'pip install gensim', or choose the "
            "format word2vec-binary, which gensim opens with KeyedVectors.load_word2vec_format"
        )
    with progress.track(f"writing {out.name}", "vectors", len(vectors)) as tracker:
        write_file(out, partial(_WRITERS[form], vectors=vectors, tracker=tracker))
    if form == "npy" and words is not None:
        write_file(list_of_words, lambda file: file.writelines(f"{w}\n".encode() for w in words))
    return Exported(form, files, len(vectors), vectors.width)


def write_npy(file: BinaryIO, shape: tuple[int, int], kind: str, parts: Iterable[Matrix]) -> None:
    """Write a matrix (V, H) of this type in the .npy format, from parts (n, H) of its rows."""
    little = np.dtype(kind).newbyteorder("<")
    header = {"descr": little.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for part in parts:
        file.write(np.ascontiguousarray(part, little).data)


def _resolved(form: str | None, out: Path) -> Form:
    known = {str(each): each for each in _WRITERS}
    if form is not None and form not in known:
        raise DataError(f"'{form}' is not a format: choose {', '.join(known)}")
    if form is None and out.suffix not in _FORMS:
        raise DataError(
            f"{out} has the suffix '{out.suffix}', which determines no format: add --format, "
            f"or choose a suffix among {', '.join(_FORMS)}"
        )
    return _FORMS[out.suffix] if form is None else known[form]


def _check_targets(files: tuple[Path, ...]) -> None:
    """Raise DataError, before any work, if the files cannot be written."""
    folder = files[0].parent
    if not folder.is_dir():
        raise DataError(f"folder {folder} does not exist: create it or choose another one")
    for path in files:
        if path.exists():
            raise DataError(f"{path} exists: choose another name, or delete it")


def _check_words(form: Form, words: Iterable[str]) -> None:
    """Raise DataError, before any work, if the format cannot represent a word."""
    if form == "gensim":
        return
    fault, pattern, others = "contains a line break", _LINE_BREAKS, "gensim"
    if form != "npy":
        fault, pattern = "is empty or contains white space", _WHITE_SPACE
        others = "npy or gensim"
    for word in words:
        if pattern.search(word):
            raise DataError(
                f"the word {word!r} {fault}, which the format {form} cannot represent: choose "
                f"{others}, or remove the word before you compress the vectors"
            )


def _rows(vectors: CompressedMatrix, tracker: Tracker) -> Iterator[Vectors]:
    for numbers in row_blocks(len(vectors)):
        yield vectors.rows(numbers)
        tracker.advance(len(numbers))


def _blocks(vectors: CompressedVectors, tracker: Tracker) -> Blocks:
    begin = 0
    for rows in _rows(vectors, tracker):
        yield vectors.words[begin : begin + len(rows)], rows
        begin += len(rows)


def _write_text(
    file: BinaryIO, *, vectors: CompressedVectors, tracker: Tracker, header: bool
) -> None:
    if header:
        file.write(_header(vectors))
    line = "%s" + " %.9g" * vectors.width + "\n"
    for words, rows in _blocks(vectors, tracker):
        for word, row in zip(words, rows, strict=True):
            file.write((line % (word, *row.tolist())).encode())


def _write_binary(file: BinaryIO, *, vectors: CompressedVectors, tracker: Tracker) -> None:
    file.write(_header(vectors))
    for words, rows in _blocks(vectors, tracker):
        for word, row in zip(words, rows.astype("<f4", copy=False), strict=True):
            file.write(word.encode() + b" " + row.tobytes() + b"\n")


def _header(vectors: CompressedVectors) -> bytes:
    return f"{len(vectors)} {vectors.width}\n".encode()


def _write_matrix(file: BinaryIO, *, vectors: CompressedMatrix, tracker: Tracker) -> None:
    write_npy(file, (len(vectors), vectors.width), "float32", _rows(vectors, tracker))


def _write_gensim(file: BinaryIO, *, vectors: CompressedVectors, tracker: Tracker) -> None:
    from gensim.models import KeyedVectors

    dense = np.empty((len(vectors), vectors.width), np.float32)
    begin = 0
    for words, rows in _blocks(vectors, tracker):
        dense[begin : begin + len(words)] = rows
        begin += len(words)
    keyed = KeyedVectors(vectors.width)
    keyed.add_vectors(list(vectors.words), dense)
    keyed.save(file)  # into one file, because it is given one that is open


_WRITERS: dict[Form, Callable[..., None]] = {
    "word2vec": partial(_write_text, header=True),
    "word2vec-binary": _write_binary,
    "glove": partial(_write_text, header=False),
    "npy": _write_matrix,
    "gensim": _write_gensim,
}
