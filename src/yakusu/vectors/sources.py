"""What the verbs compress: word vectors or a plain matrix, in memory or in a file.

V rows, H dimensions.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from yakusu.compress.blocks import AnyMatrix, Matrix, blocks
from yakusu.errors import DataError
from yakusu.progress import Progress
from yakusu.vectors.file import is_compressed
from yakusu.vectors.formats import WordVectors, read_any
from yakusu.vectors.matrixfile import MatrixFile

VectorSource = str | Path | WordVectors | MatrixFile | Matrix
_KINDS = ("float16", "float32", "float64")


@dataclass(frozen=True, eq=False)
class GivenVectors:
    """Vectors with or without words.

    vectors: (V, H), finite: an array, or a `MatrixFile`, of which a few rows are read at a time.
    words: V distinct words; None for a plain matrix, whose rows are numbered from 0.
    """

    vectors: AnyMatrix
    words: list[str] | None


def open_source(source: VectorSource, words: str | Path | None, progress: Progress) -> GivenVectors:
    """Return vectors as they are, or open a file of them.

    A matrix without words is plain; one in a format of `open_matrix` is not read here.

    Raises:
        DataError: The vectors cannot be read, or an array is not a finite matrix (V, H) of floats.
    """
    if isinstance(source, WordVectors):
        return GivenVectors(source.vectors, source.words)
    if isinstance(source, str | Path):
        if Path(source).is_file() and is_compressed(Path(source)):
            raise DataError(f"{source} is already compressed: give the original vectors")
        found = read_any(source, words=words, progress=progress)
        if isinstance(found, WordVectors):
            return GivenVectors(found.vectors, found.words)
        if not isinstance(found, MatrixFile):
            _check(found, f"{source}, ")
        return GivenVectors(found, None)
    if words is not None:
        raise DataError(
            f"{words} cannot be combined with a matrix in memory: give WordVectors(words, vectors)"
        )
    if not isinstance(source, MatrixFile):
        _check(source)
    return GivenVectors(source, None)


def _check(matrix: Matrix, place: str = "") -> None:
    """Raise DataError if an array is not a finite matrix (V, H) of floats, or is empty."""
    shape, kind = np.shape(matrix), getattr(matrix, "dtype", type(matrix).__name__)
    if len(shape) != 2 or 0 in shape or str(kind) not in _KINDS:
        raise DataError(
            f"vectors have shape {shape} and type {kind}: give a matrix (V, H) of float16, "
            "float32 or float64"
        )
    for rows in blocks(len(matrix)):
        finite = np.isfinite(matrix[rows]).all(axis=1)
        if not finite.all():
            raise DataError(
                f"{place}row {rows.start + int(finite.argmin())} is not finite: correct or remove "
                "it"
            )
