"""The verb `evaluate`: compressed vectors scored on word tasks, beside uncompressed ones.

V words, H dimensions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import Matrix
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent
from yakusu.vectors.file import open_words
from yakusu.vectors.formats import WordVectors, given
from yakusu.vectors.testsets import read_task
from yakusu.vectors.wordtasks import (
    Analogy,
    Similarity,
    TaskResult,
    TestSet,
    centred,
    mean_of,
    whitened,
)


@dataclass(frozen=True)
class SystemScores:
    """Scores of one kind of vectors on each task, and their mean over several similarity tasks.

    system: "floats", "whitened floats", "Code" or "Real".
    results: One result per task.
    """

    system: str
    results: tuple[TaskResult, ...]


def evaluate(
    path: str | Path,
    tasks: Iterable[str | Path],
    *,
    original: str | Path | WordVectors | None = None,
    words: str | Path | None = None,
    candidates: int | None = 30_000,
    progress: Progress | None = None,
) -> list[SystemScores]:
    """Score compressed vectors on similarity, analogy and completion tasks, section 4.2.

    All vectors are centred. With `original`, the floats before compression are scored too and, as
    the control, the same floats whitened: codes are whitened vectors, so what whitening gains or
    loses is not an effect of compression.

    Args:
        path: A file of compressed vectors.
        tasks: Files of test sets; `read_task` recognises their kind.
        original: The vectors before compression.
        words: File with one word per line, if `original` contains no words.
        candidates: Number of most frequent words that may answer an analogy; None for all.
        progress: Progress reporter.

    Raises:
        DataError: A test set cannot be read, the file has no words, or `original` lacks a word.
        ModelError: The file of compressed vectors is truncated or corrupted.
    """
    progress, made = progress or Silent(), open_words(Path(path))
    sets = [read_task(task) for task in tasks]
    index = {word: number for number, word in enumerate(made.words)}
    scored = []
    if original is not None:
        dense = given(original, words, progress)
        floats = dense.vectors[_in_order(dense.words, index)]
        scored.append(_scored("floats", floats, sets, index, candidates, progress))
        control = whitened(floats)
        scored.append(_scored("whitened floats", control, sets, index, candidates, progress))
    scored.append(_scored("Code", made.dense_codes(), sets, index, candidates, progress))
    scored.append(_scored("Real", made.dense(), sets, index, candidates, progress))
    return scored


def _scored(
    system: str,
    vectors: Matrix,
    tasks: Sequence[TestSet],
    index: Mapping[str, int],
    candidates: int | None,
    progress: Progress,
) -> SystemScores:
    alike = centred(vectors)
    results = [
        task.score(index, alike, candidates=candidates, progress=progress)
        if isinstance(task, Analogy)
        else task.score(index, alike, progress=progress)
        for task in tasks
    ]
    similarities = [
        result for task, result in zip(tasks, results, strict=True) if isinstance(task, Similarity)
    ]
    if len(similarities) > 1:
        results.append(mean_of(similarities))
    return SystemScores(system, tuple(results))


def _in_order(words: Sequence[str], index: Mapping[str, int]) -> npt.NDArray[np.int64]:
    """Return the row, in the original, of each word of a compressed file."""
    rows = np.full(len(index), -1, dtype=np.int64)
    for row, word in enumerate(words):
        if word in index:
            rows[index[word]] = row
    if (rows < 0).any():
        missing = list(index)[int((rows < 0).argmax())]
        raise DataError(
            f"the original has no vector for '{missing}': give the vectors that were compressed"
        )
    return rows
