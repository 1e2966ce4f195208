"""The verb `append`: further words in a file of compressed vectors, coded with its codebook."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from yakusu.compress.storage import extended
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent
from yakusu.vectors.file import open_compressed, write_compressed
from yakusu.vectors.formats import WordVectors, given
from yakusu.vectors.keyed import CompressedVectors


@dataclass(frozen=True)
class Appended:
    """Result of `append`.

    n_added, n_words: Number of words that were added, and of all words.
    share_lost: Squared error of the added vectors, divided by their squared distance from the mean
        of the codebook.
    file_bytes: Size of the file in bytes.
    """

    n_added: int
    n_words: int
    share_lost: float
    file_bytes: int


def append(
    path: str | Path,
    source: str | Path | WordVectors,
    *,
    words: str | Path | None = None,
    progress: Progress | None = None,
) -> Appended:
    """Add words to the end of a file of compressed vectors, with the codebook that it has.

    The codebook does not change, so vectors of another kind lose more than those that it was fitted
    to. The file is replaced as a whole. Its report still describes the first compression.

    Args:
        path: File of compressed vectors.
        source: New vectors: a file in any format of `read_vectors`, or the vectors.
        words: File with one word per line, if `source` contains no words.
        progress: Progress reporter.

    Raises:
        DataError: The new vectors cannot be read or have other dimensions, or a word is already in
            the file.
        ModelError: The file is missing, in another format, truncated or corrupted.
    """
    path, old = Path(path), open_compressed(path, verified=True)
    dense = given(source, words, progress or Silent())
    if known := next((word for word in dense.words if word in old.words), None):
        raise DataError(f"{path} already contains the word {known!r}: leave it out")
    made = CompressedVectors.of([*old.words, *dense.words], extended(old, dense.vectors))
    write_compressed(path, made)
    rebuilt = made.rows(np.arange(len(old), len(made)))
    away = np.square(dense.vectors - old.book.mean).sum()
    error = np.square(dense.vectors - rebuilt).sum(dtype=np.float64)
    share = float(error / away) if away else 0.0
    return Appended(len(dense.words), len(made), share, path.stat().st_size)
