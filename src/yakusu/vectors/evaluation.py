"""The verb `evaluate`: compressed vectors scored on word tasks, beside uncompressed ones.

V words, H dimensions.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import Matrix
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent
from yakusu.vectors.bootstrap import Interval, paired_difference
from yakusu.vectors.controls import centred, half_whitened, whitened
from yakusu.vectors.file import open_words
from yakusu.vectors.formats import WordVectors, given
from yakusu.vectors.keyed import CompressedVectors
from yakusu.vectors.nearest import Neighbours
from yakusu.vectors.outcomes import TaskResult, mean_of
from yakusu.vectors.testsets import read_task
from yakusu.vectors.wordtasks import Analogy, Similarity, TestSet

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SystemScores:
    """Scores of one kind of vectors.

    system: "floats", "Real", "centred floats", "Real, centred", "half-whitened floats",
        "whitened floats" or "Code".
    results: One result per task; then the mean over similarity tasks, if there are several, and
        the nearest neighbours kept, if the original is given.
    reference: The uncompressed vectors to compare the system with; None if there are none.
    differences: Score minus that of the reference, with the 95% interval of a paired bootstrap, for
        each result; empty without a reference.
    """

    system: str
    results: tuple[TaskResult, ...]
    reference: str | None = None
    differences: tuple[Interval, ...] = ()


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

    With `original`, the floats before compression are scored too: as they are, centred,
    half-whitened and whitened. Rebuilt vectors (Real) are compared with the floats, both as they
    are and centred. Codes (Code) are whitened vectors, so they are compared with whitened floats,
    and integers with half-whitened ones: what whitening gains or loses is not an effect of
    compression. Neighbours are counted against those of the floats as they are.

    Args:
        path: A file of compressed vectors.
        tasks: Files of test sets; `read_task` recognises their kind.
        original: The vectors before compression.
        words: File with one word per line, if `original` contains no words.
        candidates: Number of most frequent words that may answer an analogy; None for all.
        progress: Progress reporter.

    Returns:
        The systems side by side: those in `SystemScores`, or without `original` only the three
        compressed ones.

    Raises:
        DataError: A test set cannot be read, the file has no words, or `original` lacks a word.
        ModelError: The file of compressed vectors is truncated or corrupted.
    """
    progress, made, tasks = progress or Silent(), open_words(Path(path)), list(tasks)
    sets = [read_task(task) for task in tasks]
    index = {word: number for number, word in enumerate(made.words)}
    floats = kept = None
    if original is not None:
        dense = given(original, words, progress)
        floats = dense.vectors[_in_order(dense.words, index)]
        kept = Neighbours.of(floats, progress=progress) if len(floats) > 1 else None
    scored: dict[str, SystemScores] = {}
    for system, vectors, reference in _systems(made, floats):
        results = [_scored(task, index, vectors, candidates, progress) for task in sets]
        results += _mean(results, sets)
        results += kept.score(vectors, progress=progress) if kept else ()
        scored[system] = SystemScores(system, tuple(results))
        if reference is not None:
            scored[system] = _compared(scored[system], scored[reference])
    systems = list(scored.values())
    for path, result in zip(tasks, systems[0].results, strict=False):
        if not result.used:
            _log.warning("%s: no item has known words, so it has no score", path)
    return systems


def _systems(
    made: CompressedVectors, floats: Matrix | None
) -> Iterator[tuple[str, Matrix, str | None]]:
    """Yield the name of each system, its vectors, and the name of its reference."""
    control = "half-whitened floats" if made.n_codes is None else "whitened floats"
    real = made.dense()
    if floats is None:
        yield "Real", real, None
        yield "Real, centred", centred(real), None
        yield "Code", centred(made.dense_codes()), None
        return
    yield "floats", floats, None
    yield "Real", real, "floats"
    yield "centred floats", centred(floats), None
    yield "Real, centred", centred(real), "centred floats"
    yield "half-whitened floats", half_whitened(floats), None
    yield "whitened floats", whitened(floats), None
    yield "Code", centred(made.dense_codes()), control


def _scored(
    task: TestSet,
    index: Mapping[str, int],
    vectors: Matrix,
    candidates: int | None,
    progress: Progress,
) -> TaskResult:
    if isinstance(task, Analogy):
        return task.score(index, vectors, candidates=candidates, progress=progress)
    return task.score(index, vectors, progress=progress)


def _mean(results: Sequence[TaskResult], sets: Sequence[TestSet]) -> list[TaskResult]:
    """Return the mean over the similarity sets, if there are several."""
    similarities = [
        result for result, task in zip(results, sets, strict=True) if isinstance(task, Similarity)
    ]
    return [mean_of(similarities)] if len(similarities) > 1 else []


def _compared(system: SystemScores, reference: SystemScores) -> SystemScores:
    pairs = zip(reference.results, system.results, strict=True)
    differences = tuple(paired_difference(before, after) for before, after in pairs)
    return replace(system, reference=reference.system, differences=differences)


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
