"""The verbs `compress`, `inspect` and `neighbours`; `evaluation.py` has `evaluate`.

V vectors, H dimensions, M components, K codes per component.
"""

import logging
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from yakusu.compress.blocks import ReconstructionLoss, Rows, blocks, sample_size
from yakusu.compress.config import CompressConfig
from yakusu.compress.search import Index
from yakusu.compress.storage import CompressedMatrix, Vectors, size_of_codes
from yakusu.errors import DataError
from yakusu.folder import json_text, read_utf8, write_text
from yakusu.progress import Progress, Silent
from yakusu.vectors.file import is_compressed, open_compressed, write_compressed
from yakusu.vectors.keyed import CompressedVectors
from yakusu.vectors.nearest import Band, neighbours_by_band
from yakusu.vectors.sources import GivenVectors, VectorSource, open_source

_BANDS = (1_000, 10_000, 100_000)  # last frequency rank of each band except the last
_FIGURE = 8_000  # vectors on which the curve of the figure is measured, or fewer:
_DRAWN = 2**22  # numbers of these vectors
_FEW, _SMALL = 0.2, 0.1  # share of neighbours kept, and of the variance lost, for a warning
_TRANSLATORS_ONLY = ("stacks", "exact", "int8")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Facts:
    """Contents of a file of compressed vectors.

    n_vectors, width, n_components: V, H, M.
    n_codes: K; None for integers.
    has_words: Whether the vectors have words; if not, they are numbered from 0.
    bits: Stored bits of codes per vector.
    codes_ratio: Size of the float32 vectors divided by that of codes and codebook alone: for codes,
        by the paper's formula with log2 K bits per code.
    ratio: The same, divided by the size of the file without words.
    file_ratio: The same, divided by the size of the file.
    file_bytes: Size of the file in bytes.
    dense_bytes: Size of V x H float32 values in bytes.
    """

    n_vectors: int
    width: int
    n_components: int
    n_codes: int | None
    has_words: bool
    bits: float
    codes_ratio: float
    ratio: float
    file_ratio: float
    file_bytes: int
    dense_bytes: int

    @property
    def are_compressible(self) -> bool:
        """Whether the smallest codes are not larger than the float32 vectors."""
        shape = self.n_vectors, self.width
        return size_of_codes(shape, 1, 2).ratio(shape) >= 1


@dataclass(frozen=True)
class Report:
    """Result of a compression; also written to OUT.json.

    facts: Contents of the file.
    settings: Settings with which the file was made.
    n_fitted: Number of vectors to which codes or integers were fitted, evenly spaced.
    n_measured: Number of vectors on which loss and recall were measured, evenly spaced: all, or as
        many as have 2^27 numbers. The nearest vectors are found among them.
    loss: Eq. 2, squared error per vector.
    share_lost: Squared error divided by the variance of the vectors.
    recall: Share of the 10 nearest vectors that stay, by band of word frequencies; one band for a
        plain matrix.
    version: Version of OUT.json.
    """

    facts: Facts
    settings: CompressConfig
    n_fitted: int
    n_measured: int
    loss: float
    share_lost: float
    recall: tuple[Band, ...]
    version: int = 3


_REPORT = TypeAdapter(Report)


def compress(
    source: VectorSource,
    out: str | Path,
    *,
    config: CompressConfig | None = None,
    words: str | Path | None = None,
    weights: str | Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Compress vectors into one file; write the report to OUT.json and OUT.png.

    A plain matrix has no words: its rows are numbered from 0. A large one in a file is read in
    blocks of rows.

    Args:
        source: Word vectors or a plain matrix (V, H), in memory or in a file, in any format of
            `read_vectors`.
        out: File to write; an existing file of compressed vectors is replaced.
        config: Settings; by default the paper's codes with M = H and K = 16.
        words: File with one word per line, if the file `source` contains no words. Without it, a
            matrix without words is a plain matrix.
        weights: File with one frequency per line, in the order of the words. The words are stored
            by descending frequency; without weights, `source` is assumed to be in this order.
        progress: Progress reporter.

    Raises:
        RecipeError: A setting has no effect on vectors.
        DataError: The vectors cannot be read, the settings do not fit them, there are weights but
            no words, or `out` cannot be written because its folder does not exist or it is another
            kind of file.
    """
    out, progress, config = Path(out), progress or Silent(), config or CompressConfig()
    config.refuse(_TRANSLATORS_ONLY, "vectors")
    _check_target(out)
    given = open_source(source, words, progress)
    if weights is not None:
        given = _sorted(given, Path(weights))
    _check_different(given)
    made, n_fitted = _written(out, given, config, progress)
    loss, recall, n_measured = _measured(made, given, progress)
    facts = _facts(out, made)
    report = Report(facts, config, n_fitted, n_measured, loss.per_vector, loss.share, recall)
    _warn_of_neighbours(report)
    text, picture = _companions(out)
    write_text(text, json_text(_REPORT.dump_python(report, mode="json")))
    most = max(2, min(_FIGURE, _DRAWN // facts.width))
    from yakusu.compress.budget import trade_off
    from yakusu.vectors.figure import draw_trade_off  # imports matplotlib

    curve = list(trade_off(given.vectors, most=most, progress=progress))
    draw_trade_off(picture, curve, (facts.ratio, report.share_lost))
    return report


def _warn_of_neighbours(report: Report) -> None:
    """Warn if few nearest vectors stay although little of the variance is lost."""
    used = sum(band.used for band in report.recall)
    kept = sum(band.used * band.recall for band in report.recall)
    if kept < _FEW * used and report.share_lost < _SMALL:
        _log.warning(
            "only %.1f%% of the ten nearest neighbours are kept: a few vectors may be far longer "
            "than the others; scale or remove them, or set --bits",
            100 * kept / used,
        )


def inspect(path: str | Path) -> Facts:
    """Return sizes and ratio of a file of compressed vectors.

    Raises:
        ModelError: The file is missing, in another format, truncated or corrupted.
    """
    path = Path(path)
    return _facts(path, open_compressed(path))


def neighbours(path: str | Path, word: str | int, n: int = 10) -> list[tuple[str | int, float]]:
    """Return the n vectors that are nearest to one of them after compression, and their cosines.

    Args:
        path: A file of compressed vectors.
        word: A word or, if the file has no words, the number of a row.
        n: Number of neighbours, at least 1.

    Returns:
        Pairs of word and cosine, or of row number and cosine; the largest cosine first.

    Raises:
        ModelError: The file is missing, in another format, truncated or corrupted.
        DataError: The word or row does not exist, or `n` is less than 1.
    """
    path, made = Path(path), open_compressed(path)
    if not isinstance(made, CompressedVectors):
        return [*_nearest_rows(made, _row(path, word, len(made)), n)]
    try:
        return [*made.most_similar(str(word), topn=n)]
    except KeyError as error:
        raise DataError(f"{path}: {error.args[0]}") from error


def _row(path: Path, number: str | int, n_rows: int) -> int:
    """Return the number of a row."""
    try:
        row = int(number)
    except ValueError as error:
        raise DataError(
            f"{path} has row numbers instead of words: give one from 0 to {n_rows - 1}, not "
            f"'{number}'"
        ) from error
    if not 0 <= row < n_rows:
        raise DataError(f"{path}: row {row} is out of range: give 0 to {n_rows - 1}")
    return row


def _nearest_rows(made: CompressedMatrix, row: int, n: int) -> list[tuple[int, float]]:
    if n < 1:
        raise DataError(f"n = {n} is out of range: give n >= 1")
    rows, cosines = Index.of(made).search(made.row(row)[None], n + 1)
    found = zip(rows[0].tolist(), cosines[0].tolist(), strict=True)
    return [(other, cosine) for other, cosine in found if other != row][:n]


def _written(
    out: Path, given: GivenVectors, config: CompressConfig, progress: Progress
) -> tuple[CompressedMatrix, int]:
    """Compress and write vectors; return them, and the number of vectors that were fitted."""
    from yakusu.compress.compressor import compressor_of  # imports scikit-learn

    compressor = compressor_of(config).fit(given.vectors, progress=progress)
    matrix = replace(compressor.compressed_, precision="float16" if config.half else "float32")
    if given.words is not None:
        matrix = CompressedVectors.of(given.words, matrix)
    return write_compressed(out, matrix), compressor.fitted_rows_


def _check_target(out: Path) -> None:
    """Raise DataError, before any work, if the file or its report cannot be written."""
    if not out.parent.is_dir():
        raise DataError(f"folder {out.parent} does not exist: create it or choose another one")
    replaceable = out.is_file() and is_compressed(out)
    for path in (out, *_companions(out)):
        if path.exists() and not replaceable:
            raise DataError(
                f"{path} exists and was not written by 'vectors compress': choose another name"
            )


def _companions(out: Path) -> tuple[Path, Path]:
    """Return the paths of the report and its picture."""
    return out.with_name(f"{out.name}.json"), out.with_name(f"{out.name}.png")


def _check_different(given: GivenVectors) -> None:
    """Raise DataError, before any work, if all vectors are equal."""
    first, n_vectors = given.vectors[:1], len(given.vectors)
    if all((given.vectors[rows] == first).all() for rows in blocks(n_vectors)):
        which = "one vector cannot be" if n_vectors == 1 else f"{n_vectors} equal vectors cannot be"
        raise DataError(f"{which} compressed: give two or more different vectors")


def _facts(path: Path, made: CompressedMatrix) -> Facts:
    file_bytes, dense_bytes = path.stat().st_size, 4 * len(made) * made.width
    return Facts(
        n_vectors=len(made),
        width=made.width,
        n_components=made.codes.n_components,
        n_codes=made.n_codes,
        has_words=isinstance(made, CompressedVectors),
        bits=made.size.bits,
        codes_ratio=made.codes_ratio,
        ratio=made.ratio,
        file_ratio=dense_bytes / file_bytes,
        file_bytes=file_bytes,
        dense_bytes=dense_bytes,
    )


def _measured(
    made: CompressedMatrix, given: GivenVectors, progress: Progress
) -> tuple[ReconstructionLoss, tuple[Band, ...], int]:
    """Measure loss and recall; the last number is that of the vectors used."""
    n = sample_size(given.vectors)
    numbers = (2 * np.arange(n) + 1) * len(made) // (2 * n)  # between those that were fitted
    original = given.vectors[numbers]

    def rebuilt(rows: slice | npt.NDArray[np.integer]) -> Vectors:
        return made.rows(numbers[rows])

    loss = ReconstructionLoss.of(original, rebuilt)
    recall: tuple[Band, ...] = ()
    if most := min(10, len(numbers) - 1):
        bands = () if given.words is None else np.searchsorted(numbers, _BANDS).tolist()
        recall = neighbours_by_band(
            original.__getitem__, rebuilt, len(numbers), bands=bands, n=most, progress=progress
        )
    return loss, tuple(_in_all(band, numbers) for band in recall), len(numbers)


def _in_all(band: Band, numbers: Rows) -> Band:
    """Translate the ranks of a band in a sample to those among all vectors."""
    first, last = numbers[[band.first - 1, band.last - 1]].tolist()
    return replace(band, first=first + 1, last=last + 1)


def _sorted(given: GivenVectors, weights: Path) -> GivenVectors:
    """Sort the words by descending frequency."""
    if given.words is None:
        raise DataError(
            f"{weights} sorts words by their frequency, but the vectors have no words: leave it out"
        )
    try:
        frequency = np.array(read_utf8(weights).splitlines(), dtype=np.float64)
    except OSError as error:
        raise DataError(f"{weights} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{weights} does not contain one number per line: {error}") from error
    if len(frequency) != len(given.words):
        raise DataError(
            f"{weights} has {len(frequency)} numbers for {len(given.words)} words: give one "
            "number per word"
        )
    if bad := np.flatnonzero(~(frequency >= 0) | np.isinf(frequency)).tolist():
        raise DataError(
            f"{weights}, line {bad[0] + 1}: {frequency[bad[0]]} is not a frequency: correct it"
        )
    order = np.argsort(-frequency, kind="stable")
    return GivenVectors(given.vectors[order], [given.words[i] for i in order])
