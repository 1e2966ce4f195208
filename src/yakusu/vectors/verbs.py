"""Verbs for word vectors: `compress`, `inspect`, `evaluate`, `neighbours`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import Lost
from yakusu.compress.budget import trade_off
from yakusu.compress.codebook import Codebook
from yakusu.compress.codes import Matrix
from yakusu.compress.method import ByCodes, Method
from yakusu.compress.storage import PackedCodes
from yakusu.errors import DataError
from yakusu.folder import json_text, write_text
from yakusu.progress import Progress, Silent
from yakusu.vectors.figure import draw_trade_off
from yakusu.vectors.file import Precision, is_compressed, open_compressed, write_compressed
from yakusu.vectors.formats import WordVectors, read_vectors
from yakusu.vectors.keyed import CompressedVectors
from yakusu.vectors.nearest import Band, neighbours_by_band
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

_FIGURE = 8_000  # words on which the curve of the figure is measured


# ---- compress and inspect ------------------------------------------------------------------------


@dataclass(frozen=True)
class Facts:
    """What a file of compressed vectors holds.

    n_words, width, n_components: V, H, M.
    n_codes: K; 0 for entropy-coded numbers.
    bits: Of codes a word.
    ratio: Bits of V x H float32 over those of codes and codebook: the paper's formula for codes.
    file_bytes: Of the whole file, words and their index too.
    dense_bytes: Of V x H float32.
    """

    n_words: int
    width: int
    n_components: int
    n_codes: int
    bits: float
    ratio: float
    file_bytes: int
    dense_bytes: int


@dataclass(frozen=True)
class Report:
    """What a compression lost.

    facts: Of the file.
    loss: Eq. 2, squared error a word.
    share_lost: The same over the variance of the vectors.
    recall: By frequency, how many of the 10 nearest words stay.
    """

    facts: Facts
    loss: float
    share_lost: float
    recall: tuple[Band, ...]


def compress(
    source: str | Path | WordVectors,
    out: str | Path,
    *,
    method: Method = ByCodes(),  # noqa: B008
    words: str | Path | None = None,
    weights: str | Path | None = None,
    precision: Precision = "float32",
    progress: Progress | None = None,
) -> Report:
    """Compress word vectors into one file; beside it go OUT.json and OUT.png, the report.

    Args:
        source: A file of any kind that `read_vectors` reads, or the vectors.
        out: The file to write.
        method: How.
        words: A list of words, where the file has none.
        weights: Frequencies, one a line in the order of the words; else the words are taken to
            begin with the most frequent one. The file has them in this order.
        precision: Of the codebook.
        progress: Watches.

    Raises:
        DataError: The vectors cannot be read, the method does not suit them, or `out` cannot be
            written: it has no folder, or is a file of another kind.
    """
    out, progress = Path(out), progress or Silent()
    _refuse(out)
    dense = _read(source, words, progress)
    if (dense.vectors == dense.vectors[0]).all():
        raise DataError(f"all {len(dense.words)} vectors are equal: there is nothing to compress")
    if weights is not None:
        dense = _sorted(dense, Path(weights))
    made = write_compressed(
        out,
        CompressedVectors.of(dense.words, method(dense.vectors, progress)),
        precision=precision,
    )
    report = _report(out, made, dense.vectors, progress)
    _write_beside(out, report, dense.vectors, progress)
    return report


def _read(
    source: str | Path | WordVectors, words: str | Path | None, progress: Progress
) -> WordVectors:
    if isinstance(source, WordVectors):
        return source
    return read_vectors(source, words=words, progress=progress)


def _refuse(out: Path) -> None:
    """Complain before any work: no folder, or a file that somebody needs."""
    if not out.parent.is_dir():
        raise DataError(f"{out.parent} is no folder: make it, or write the file elsewhere")
    ours = out.is_file() and is_compressed(out)
    for path in (out, *_beside(out)):
        if path.exists() and not ours:
            raise DataError(f"{path} is there and holds something else: choose another name")


def _beside(out: Path) -> tuple[Path, Path]:
    """The report and its picture."""
    return out.with_name(f"{out.name}.json"), out.with_name(f"{out.name}.png")


def _write_beside(out: Path, report: Report, dense: Matrix, progress: Progress) -> None:
    text, picture = _beside(out)
    write_text(text, json_text(asdict(report)))
    curve = list(trade_off(dense, most=_FIGURE, progress=progress))
    draw_trade_off(picture, curve, (report.facts.ratio, report.share_lost))


def inspect(path: str | Path) -> Facts:
    """What a file of compressed vectors holds.

    Raises:
        ModelError: It is no such file, or cut, or altered.
    """
    path = Path(path)
    return _facts(path, open_compressed(path))


def _facts(path: Path, made: CompressedVectors) -> Facts:
    n_words, width, n_components = len(made), made.width, made.codes.n_components
    if isinstance(made.book, Codebook) and isinstance(made.codes, PackedCodes):
        n_codes = made.book.weights.shape[1]
        bits = float(made.codes.n_bits * n_components)
    else:
        n_codes, bits = 0, 8 * made.codes.n_bytes / n_words
    size = path.stat().st_size
    return Facts(n_words, width, n_components, n_codes, bits, made.ratio, size, 4 * n_words * width)


def _report(path: Path, made: CompressedVectors, dense: Matrix, progress: Progress) -> Report:
    lost = Lost.of(dense, lambda rows: made.rows(np.arange(rows.start, rows.stop)))
    recall: tuple[Band, ...] = ()
    if most := min(10, len(dense) - 1):
        recall = neighbours_by_band(
            dense.__getitem__, made.rows, len(dense), n=most, progress=progress
        )
    return Report(_facts(path, made), lost.a_word, lost.share, recall)


def _sorted(dense: WordVectors, weights: Path) -> WordVectors:
    try:
        frequency = np.array(weights.read_text(encoding="utf-8").splitlines(), dtype=np.float64)
    except OSError as error:
        raise DataError(f"{weights} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{weights} has no numbers, one a line: {error}") from error
    if len(frequency) != len(dense.words):
        raise DataError(
            f"{weights} has {len(frequency)} numbers for {len(dense.words)} words: give one a word"
        )
    if bad := np.flatnonzero(~(frequency >= 0) | np.isinf(frequency)).tolist():
        raise DataError(f"{weights}, line {bad[0] + 1}: {frequency[bad[0]]} is no frequency")
    order = np.argsort(-frequency, kind="stable")
    return WordVectors([dense.words[i] for i in order], dense.vectors[order])


# ---- evaluate and neighbours ---------------------------------------------------------------------


@dataclass(frozen=True)
class SystemScores:
    """What one kind of vectors got at each task, and at the mean of all similarities.

    system: "floats", "whitened floats", "Code" or "Real".
    """

    system: str
    results: tuple[TaskResult, ...]


def evaluate(
    path: str | Path,
    tasks: Iterable[str | Path],
    *,
    original: str | Path | WordVectors | None = None,
    words: str | Path | None = None,
    candidates: int = 30_000,
    progress: Progress | None = None,
) -> list[SystemScores]:
    """Score compressed vectors at similarities, analogies and completions, section 4.2.

    All are centred alike. With the original, also the floats that were compressed and, as the
    control, the same whitened: where whitening gains or loses, Code does so without merit.

    Args:
        path: A file of compressed vectors.
        tasks: Files of test sets; what they are, their content shows.
        original: The vectors before compression.
        words: Their words, where they have none.
        candidates: Most frequent words that may answer an analogy; 0 for all.
        progress: Watches.

    Raises:
        DataError: A test set cannot be read, or `original` has other words.
        ModelError: The file is cut or altered.
    """
    progress, made = progress or Silent(), open_compressed(Path(path))
    sets = [read_task(task) for task in tasks]
    index = {word: number for number, word in enumerate(made.words)}
    scored = []
    if original is not None:
        dense = _read(original, words, progress)
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
    candidates: int,
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
    """Where the words of a compressed file are among `words`."""
    rows = np.full(len(index), -1, dtype=np.int64)
    for row, word in enumerate(words):
        if word in index:
            rows[index[word]] = row
    if (rows < 0).any():
        missing = list(index)[int((rows < 0).argmax())]
        raise DataError(f"the original has no vector of '{missing}': give what was compressed")
    return rows


def neighbours(path: str | Path, word: str, n: int = 10) -> list[tuple[str, float]]:
    """The words whose rebuilt vectors have the greatest cosine with that of `word`.

    Raises:
        ModelError: It is no file of compressed vectors, or cut, or altered.
        DataError: The word is not in it.
    """
    try:
        return open_compressed(Path(path)).most_similar(word, topn=n)
    except KeyError as error:
        raise DataError(f"{path}: {error.args[0]}") from error
