"""The verbs for word vectors: `compress`, `inspect`, `neighbours`; `evaluation.py` has `evaluate`.

V words, H dimensions, M components, K codes per component.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from yakusu.compress.blocks import Loss, Matrix
from yakusu.compress.budget import trade_off
from yakusu.compress.compressor import compressor_of
from yakusu.compress.config import CompressConfig
from yakusu.errors import DataError
from yakusu.folder import json_text, write_text
from yakusu.progress import Progress, Silent
from yakusu.vectors.figure import draw_trade_off
from yakusu.vectors.file import is_compressed, open_compressed, write_compressed
from yakusu.vectors.formats import WordVectors, given
from yakusu.vectors.keyed import CompressedVectors
from yakusu.vectors.nearest import Band, neighbours_by_band

_FIGURE = 8_000  # words on which the curve of the figure is measured
_TRANSLATORS_ONLY = ("stacks", "exact", "int8")


@dataclass(frozen=True)
class Facts:
    """Contents of a file of compressed vectors.

    n_words, width, n_components: V, H, M.
    n_codes: K; None for integers.
    bits: Stored bits of codes per word.
    codes_ratio: Size of the float32 vectors divided by that of codes and codebook alone: for codes,
        by the paper's formula with log2 K bits per code.
    ratio: The same, divided by the size of the file without words.
    file_ratio: The same, divided by the size of the file.
    file_bytes: Size of the file in bytes.
    dense_bytes: Size of V x H float32 values in bytes.
    """

    n_words: int
    width: int
    n_components: int
    n_codes: int | None
    bits: float
    codes_ratio: float
    ratio: float
    file_ratio: float
    file_bytes: int
    dense_bytes: int


@dataclass(frozen=True)
class Report:
    """Result of a compression; also written to OUT.json.

    facts: Contents of the file.
    settings: Settings with which the file was made.
    loss: Eq. 2, squared error per word.
    share_lost: Squared error divided by the variance of the vectors.
    recall: Share of the 10 nearest words that stay, by band of word frequencies.
    version: Version of OUT.json.
    """

    facts: Facts
    settings: CompressConfig
    loss: float
    share_lost: float
    recall: tuple[Band, ...]
    version: int = 2


_REPORT = TypeAdapter(Report)


def compress(
    source: str | Path | WordVectors,
    out: str | Path,
    *,
    config: CompressConfig | None = None,
    words: str | Path | None = None,
    weights: str | Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Compress word vectors into one file; write the report to OUT.json and OUT.png.

    Args:
        source: A file in any format of `read_vectors`, or the vectors.
        out: File to write; an existing file of compressed vectors is replaced.
        config: Settings; by default the paper's codes with M = H and K = 16.
        words: File with one word per line, if `source` contains no words.
        weights: File with one frequency per line, in the order of the words. The words are stored
            by descending frequency; without weights, `source` is assumed to be in this order.
        progress: Progress reporter.

    Raises:
        RecipeError: A setting has no effect on word vectors.
        DataError: The vectors cannot be read, the settings do not fit them, or `out` cannot be
            written because its folder does not exist or it is another kind of file.
    """
    out, progress, config = Path(out), progress or Silent(), config or CompressConfig()
    config.refuse(_TRANSLATORS_ONLY, "word vectors")
    _check_target(out)
    dense = given(source, words, progress)
    if (dense.vectors == dense.vectors[0]).all():
        raise DataError(f"all {len(dense.words)} vectors are equal: there is nothing to compress")
    if weights is not None:
        dense = _sorted(dense, Path(weights))
    matrix = compressor_of(config).fit(dense.vectors, progress=progress).compressed_
    matrix = replace(matrix, precision="float16" if config.half else "float32")
    made = write_compressed(out, CompressedVectors.of(dense.words, matrix))
    report = _measured(out, made, config, dense.vectors, progress)
    text, picture = _companions(out)
    write_text(text, json_text(_REPORT.dump_python(report, mode="json")))
    curve = list(trade_off(dense.vectors, most=_FIGURE, progress=progress))
    draw_trade_off(picture, curve, (report.facts.ratio, report.share_lost))
    return report


def inspect(path: str | Path) -> Facts:
    """Return sizes and ratio of a file of compressed vectors.

    Raises:
        ModelError: The file is missing, in another format, truncated or corrupted.
    """
    path = Path(path)
    return _facts(path, open_compressed(path))


def neighbours(path: str | Path, word: str, n: int = 10) -> list[tuple[str, float]]:
    """Return the n words whose rebuilt vectors are nearest to that of `word`, and their cosines.

    Raises:
        ModelError: The file is missing, in another format, truncated or corrupted.
        DataError: The word has no vector.
    """
    try:
        return open_compressed(Path(path)).most_similar(word, topn=n)
    except KeyError as error:
        raise DataError(f"{path}: {error.args[0]}") from error


def _check_target(out: Path) -> None:
    """Raise DataError, before any work, if the file or its report cannot be written."""
    if not out.parent.is_dir():
        raise DataError(f"folder {out.parent} does not exist: create it or choose another one")
    replaceable = out.is_file() and is_compressed(out)
    for path in (out, *_companions(out)):
        if path.exists() and not replaceable:
            raise DataError(f"{path} exists and was not written by yakusu: choose another name")


def _companions(out: Path) -> tuple[Path, Path]:
    """Return the paths of the report and its picture."""
    return out.with_name(f"{out.name}.json"), out.with_name(f"{out.name}.png")


def _facts(path: Path, made: CompressedVectors) -> Facts:
    file_bytes, dense_bytes = path.stat().st_size, 4 * len(made) * made.width
    return Facts(
        n_words=len(made),
        width=made.width,
        n_components=made.codes.n_components,
        n_codes=made.n_codes,
        bits=made.size.bits,
        codes_ratio=made.codes_ratio,
        ratio=made.ratio,
        file_ratio=dense_bytes / file_bytes,
        file_bytes=file_bytes,
        dense_bytes=dense_bytes,
    )


def _measured(
    path: Path, made: CompressedVectors, config: CompressConfig, dense: Matrix, progress: Progress
) -> Report:
    loss = Loss.of(dense, lambda rows: made.rows(np.arange(rows.start, rows.stop)))
    recall: tuple[Band, ...] = ()
    if most := min(10, len(dense) - 1):
        recall = neighbours_by_band(
            dense.__getitem__, made.rows, len(dense), n=most, progress=progress
        )
    return Report(_facts(path, made), config, loss.per_vector, loss.share, recall)


def _sorted(dense: WordVectors, weights: Path) -> WordVectors:
    """Sort the words by descending frequency."""
    try:
        frequency = np.array(weights.read_text(encoding="utf-8").splitlines(), dtype=np.float64)
    except OSError as error:
        raise DataError(f"{weights} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{weights} does not contain one number per line: {error}") from error
    if len(frequency) != len(dense.words):
        raise DataError(
            f"{weights} has {len(frequency)} numbers for {len(dense.words)} words: give one "
            "number per word"
        )
    if bad := np.flatnonzero(~(frequency >= 0) | np.isinf(frequency)).tolist():
        raise DataError(
            f"{weights}, line {bad[0] + 1}: {frequency[bad[0]]} is not a frequency: correct it"
        )
    order = np.argsort(-frequency, kind="stable")
    return WordVectors([dense.words[i] for i in order], dense.vectors[order])
