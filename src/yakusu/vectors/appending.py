"""The verb `append`: further vectors in a compressed file, coded with its codebook."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from yakusu.compress.blocks import blocks
from yakusu.compress.storage import CompressedMatrix, extended
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent
from yakusu.vectors.file import open_compressed, write_compressed
from yakusu.vectors.keyed import CompressedVectors
from yakusu.vectors.sources import GivenVectors, VectorSource, open_source

MOST_LOST = 0.5  # of the variance of vectors that are added


@dataclass(frozen=True)
class Appended:
    """Result of `append`.

    n_added, n_vectors: Number of vectors that were added, and of all vectors.
    share_lost: Squared error of the added vectors, divided by their squared distance from the mean
        of the codebook.
    file_bytes: Size of the file in bytes.
    """

    n_added: int
    n_vectors: int
    share_lost: float
    file_bytes: int


def append(
    path: str | Path,
    source: VectorSource,
    *,
    words: str | Path | None = None,
    progress: Progress | None = None,
) -> Appended:
    """Add vectors to the end of a compressed file, with the codebook that it has.

    The codebook does not change, so vectors of another kind lose more than those that it was fitted
    to: a loss of more than half of their variance is an error. The file is replaced as a whole. Its
    report still describes the first compression.

    Args:
        path: File of compressed vectors.
        source: New vectors, as for `compress`: with words if those in the file have words.
        words: File with one word per line, if the file `source` contains no words.
        progress: Progress reporter.

    Raises:
        DataError: The new vectors cannot be read, have other dimensions or lose too much, a word is
            already in the file, or only the file or only the new vectors have words.
        ModelError: The file is missing, in another format, truncated or corrupted.
    """
    path, old = Path(path), open_compressed(path, verified=True)
    given = open_source(source, words, progress or Silent())
    made = _joined(path, old, given)
    share = _share_lost(made, given, len(old))
    if share > MOST_LOST:
        raise DataError(
            f"{share:.2%} of the variance of the new vectors would be lost: compress all vectors "
            "again"
        )
    write_compressed(path, made)
    return Appended(len(given.vectors), len(made), share, path.stat().st_size)


def _joined(path: Path, old: CompressedMatrix, given: GivenVectors) -> CompressedMatrix:
    """Return the old vectors followed by the new ones."""
    if not isinstance(old, CompressedVectors):
        if given.words is not None:
            raise DataError(f"{path} has no words: add a matrix without words, such as a .npy file")
        return extended(old, given.vectors)
    if given.words is None:
        raise DataError(
            f"{path} has words, but the new vectors have none: add a file with one word per line "
            "(--words)"
        )
    if known := next((word for word in given.words if word in old.words), None):
        raise DataError(f"{path} already contains the word {known!r}: leave it out")
    return CompressedVectors.of([*old.words, *given.words], extended(old, given.vectors))


def _share_lost(made: CompressedMatrix, given: GivenVectors, begin: int) -> float:
    """Measure the loss of the vectors that were added from row `begin` on."""
    error = away = 0.0
    for rows in blocks(len(given.vectors)):
        part = given.vectors[rows].astype(np.float64)
        rebuilt = made.rows(np.arange(begin + rows.start, begin + rows.stop))
        error += float(np.square(part - rebuilt).sum())
        away += float(np.square(part - made.book.mean).sum())
    return error / away if away else 0.0
