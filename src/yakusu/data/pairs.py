"""Binarised parallel text: written once by `prepare`, memory-mapped by training.

train.src.tokens   ids of all source sentences, concatenated, uint16 or uint32
train.src.offsets  index of the first id of each sentence, then the number of ids, uint64
train.tgt.*        the same for the target side
train.lines        line of each pair in the corpus, from 1, uint64; extra pairs continue the count
dev.*              the same for the dev set
data.json          sizes, counts and inputs: `DataFacts`
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import numpy as np
import numpy.typing as npt

from yakusu.config import Config
from yakusu.data.files.text import windows
from yakusu.data.filters import FilterConfig, FilterReport, NumberedPair, length_filter
from yakusu.data.lines.placeholders import Placeholders
from yakusu.data.lines.private_use import SLOTS
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import RunError
from yakusu.folder import open_regular, read_regular, write_json
from yakusu.progress import Progress
from yakusu.typed import ValidationError

VERSION = 1  # of data.json
_WINDOW = 8192  # pairs that a worker encodes at a time
_SIDES = ("src", "tgt")
Ids = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


def rebuild_command(folder: Path) -> str:
    """Return what to do if the data folder of a run is corrupt."""
    run = shlex.quote(str(folder.parent))
    return f"run 'yakusu prepare --again --run {run}' to rebuild it"


class CorpusPart(Config):
    """Consecutive pairs of a corpus with a common weight."""

    n_pairs: int
    weight: float  # average number of uses of each pair per epoch


class DataFacts(Config):
    """Content of data.json: what a data folder contains and what it was made from."""

    ignores_unknown = True  # a later version may add keys

    version: int = VERSION
    dtype: Literal["<u2", "<u4"]  # of the token files
    n_train: int
    n_dev: int
    report: Mapping[str, int]  # pairs read, dropped by each filter, and kept
    n_masked: int = 0  # training pairs with placeholder tokens
    # SHA-256 by the key of a corpus file, such as "train.src", or of a model that wrote one.
    inputs: Mapping[str, str]
    trees: Mapping[str, str] = {}  # key of a tree file -> path
    parts: Mapping[str, tuple[CorpusPart, ...]] | None = None  # None: one part of weight 1
    fullness: float  # share of positions in training batches that are not padding

    @classmethod
    def read(cls, folder: Path) -> "DataFacts":
        """Read data.json.

        Raises:
            RunError: The file is missing, malformed or of a later version.
        """
        path = folder / "data.json"
        try:
            facts = cls.model_validate_json(read_regular(path))
        except (OSError, ValidationError) as error:
            raise RunError(f"{path} is missing or corrupt: {rebuild_command(folder)}") from error
        if facts.version > VERSION:
            raise RunError(
                f"{path} has version {facts.version}, but this version of yakusu reads {VERSION}: "
                "update yakusu"
            )
        return facts

    def write(self, folder: Path) -> None:
        """Write data.json."""
        write_json(folder / "data.json", self.model_dump(mode="json", exclude_none=True))


def _mapped(path: Path, dtype: str) -> npt.NDArray[Any]:
    """Memory-map a file of integers."""
    with open_regular(path) as file:
        return np.memmap(file, dtype=dtype, mode="r")


@dataclass(frozen=True)
class Sentences:
    """One side of a binarised corpus; item i is the array of ids of sentence i, ending in eos.

    Attributes:
        tokens: The ids of all sentences.
        offsets: The index of the first id of each sentence, then the number of ids.
    """

    tokens: Ids
    offsets: npt.NDArray[np.uint64]

    @classmethod
    def map(cls, stem: Path, dtype: str) -> "Sentences":
        """Memory-map the files of a side.

        Args:
            stem: Folder, split and side, such as data/train.src.
            dtype: Data type of the token file.

        Raises:
            RunError: A file is missing or truncated.
        """
        path = Path(f"{stem}.offsets")
        if not path.exists():
            raise RunError(f"{path} is missing: {rebuild_command(stem.parent)}")
        offsets = _mapped(path, "<u8")  # (n + 1)
        n_tokens = int(offsets[-1])
        path = Path(f"{stem}.tokens")
        if not path.exists() or path.stat().st_size != n_tokens * np.dtype(dtype).itemsize:
            raise RunError(f"{path} is missing or truncated: {rebuild_command(stem.parent)}")
        tokens: Ids = _mapped(path, dtype) if n_tokens else np.zeros(0, dtype=dtype)
        return cls(tokens, offsets)

    @classmethod
    def joined(cls, sentences: Sequence[Ids]) -> "Sentences":
        """A side of at least one sentence, each an array of ids."""
        offsets = np.cumsum([0, *map(len, sentences)], dtype=np.uint64)
        return cls(cast(Ids, np.concatenate(sentences)), offsets)

    @classmethod
    def concatenated(cls, parts: Sequence["Sentences"]) -> "Sentences":
        """The sentences of several sides."""
        lengths = np.concatenate([part.lengths for part in parts])
        offsets = np.cumsum([0, *lengths], dtype=np.uint64)
        return cls(cast(Ids, np.concatenate([part.tokens for part in parts])), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Ids:
        return self.tokens[int(self.offsets[i]) : int(self.offsets[i + 1])]

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Number of ids of each sentence, including eos."""
        return self.lengths_of(np.arange(len(self)))

    def lengths_of(self, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Return the number of ids of each of the given sentences, including eos."""
        lengths: npt.NDArray[np.int32] = (self.offsets[indices + 1] - self.offsets[indices]).astype(
            np.int32
        )
        return lengths


@dataclass(frozen=True)
class Pairs:
    """A binarised parallel corpus."""

    src: Sentences
    tgt: Sentences
    lines: npt.NDArray[np.uint64]  # line of each pair in the corpus, from 1
    parts: tuple[CorpusPart, ...]

    @classmethod
    def open(cls, folder: Path, split: str) -> "Pairs":
        """Memory-map a split of a data folder.

        Raises:
            RunError: A file is missing or truncated.
        """
        facts = DataFacts.read(folder)
        return cls.map(folder / split, facts.dtype, (facts.parts or {}).get(split))

    @classmethod
    def map(cls, stem: Path, dtype: str, parts: tuple[CorpusPart, ...] | None = None) -> "Pairs":
        """Memory-map the files that `binarise` wrote; see `open` for the errors.

        Args:
            stem: Folder and split, such as data/train.
            dtype: Data type of the token files.
            parts: Parts of the corpus; None: one part of weight 1.
        """
        src, tgt = (Sentences.map(Path(f"{stem}.{side}"), dtype) for side in _SIDES)
        path = Path(f"{stem}.lines")
        if not path.exists() or path.stat().st_size != 8 * len(src):
            raise RunError(f"{path} is missing or truncated: {rebuild_command(stem.parent)}")
        # An empty file cannot be mapped.
        lines = _mapped(path, "<u8") if len(src) else np.zeros(0, dtype="<u8")
        return cls(src, tgt, lines, parts or (CorpusPart(n_pairs=len(src), weight=1.0),))

    def __len__(self) -> int:
        return len(self.src)


def dtype_for(vocab_size: int) -> Literal["<u2", "<u4"]:
    """Return the smallest little-endian integer type that holds every id of a vocabulary."""
    return "<u2" if vocab_size <= 2**16 else "<u4"


@dataclass(frozen=True)
class RawPart:
    """Selected pairs that are encoded with one tokenizer.

    Attributes:
        tokenizer: Encodes both sides.
        pairs: The pairs, with their lines in the corpus.
        report: Receives the counts of pairs dropped by the length filters.
    """

    tokenizer: Tokenizer
    pairs: Iterator[NumberedPair]
    report: FilterReport


def binarise(
    parts: Sequence[RawPart],
    stem: Path,
    *,
    dtype: str,
    filters: FilterConfig,
    total: int,
    progress: Progress,
    placeholders: Placeholders | None = None,
    workers: int | None = None,
) -> "Binarised":
    """Encode pairs on all cores and write them; the bytes do not depend on `workers`.

    Args:
        parts: The pairs, in this order.
        stem: Folder and split, such as data/train.
        dtype: Data type of the ids.
        filters: Thresholds of the length filters.
        total: Number of pairs, for the progress bar.
        progress: Progress reporter.
        placeholders: Puts placeholder tokens into pairs; None: no pair gets them.
        workers: Number of processes; None: one per core.
    """
    from joblib import Parallel, delayed  # opening binarised pairs does not need it

    encode = delayed(_encode)
    jobs = (
        encode(number, window, part.tokenizer, filters, dtype, placeholders)
        for number, part in enumerate(parts)
        for window in windows(part.pairs, _WINDOW)
    )
    # Encoding a small corpus takes less time than starting processes.
    n_jobs = 1 if total < 4 * _WINDOW else -1 if workers is None else workers
    parallel = Parallel(n_jobs, return_as="generator", pre_dispatch="2*n_jobs", batch_size=1)
    job = progress.track(f"encoding {stem.name}", "pairs", total)
    characters: tuple[set[str], set[str]] = set(), set()
    sizes, n_masked = [0] * len(parts), 0
    with job as tracker, _Writer(stem) as writer:
        for encoded in parallel(jobs):
            writer.write(encoded)
            sizes[encoded.part] += len(encoded.lines)
            parts[encoded.part].report.dropped.update(encoded.dropped)
            for seen, more in zip(characters, encoded.characters, strict=True):
                seen.update(more)
            n_masked += encoded.n_masked
            tracker.advance(encoded.n_pairs)
    return Binarised(tuple(sizes), n_masked, *map("".join, map(sorted, characters)))


@dataclass(frozen=True)
class Binarised:
    """What `binarise` wrote."""

    sizes: tuple[int, ...]  # number of pairs of each part
    n_masked: int  # pairs with placeholder tokens
    source_characters: str  # sorted
    target_characters: str


@dataclass(frozen=True)
class _Encoded:
    """Encoded pairs, as a worker returns them."""

    part: int
    sides: tuple[tuple[Ids, npt.NDArray[np.int64]], ...]  # for src and tgt: ids, lengths
    lines: npt.NDArray[np.uint64]
    dropped: Counter[str]
    n_pairs: int  # including the dropped ones
    n_masked: int  # pairs that received placeholder tokens
    characters: tuple[set[str], set[str]]  # of the sources and the targets


def _encode(
    part: int,
    pairs: list[NumberedPair],
    tokenizer: Tokenizer,
    filters: FilterConfig,
    dtype: str,
    placeholders: Placeholders | None,
) -> _Encoded:
    texts = [placeholders(pair) if placeholders else pair for _, pair in pairs]
    src = tokenizer.encode_source([source for source, _ in texts])
    tgt = tokenizer.encode_target([target for _, target in texts])
    # Lengths without eos: an empty sentence has no tokens.
    rejected_by = [
        length_filter(len(s) - 1, len(t) - 1, filters) for s, t in zip(src, tgt, strict=True)
    ]
    accepted = [name is None for name in rejected_by]
    sides = tuple(
        (
            np.fromiter(chain.from_iterable(compress(side, accepted)), dtype=dtype),
            np.fromiter((len(ids) for ids in compress(side, accepted)), dtype=np.int64),
        )
        for side in (src, tgt)
    )
    lines = np.fromiter((line for line, _ in compress(pairs, accepted)), dtype="<u8")
    used = list(compress(zip(texts, pairs, strict=True), accepted))
    return _Encoded(
        part,
        sides,
        lines,
        Counter(name for name in rejected_by if name),
        len(pairs),
        n_masked=sum(text != pair for text, (_, pair) in used),
        characters=(
            _characters(text[0] for text, _ in used),
            _characters(text[1] for text, _ in used),
        ),
    )


def _characters(texts: Iterable[str]) -> set[str]:
    return set().union(*texts) - {*SLOTS}


class _Writer:
    """Writes the files of one split."""

    def __init__(self, stem: Path) -> None:
        self._ends = [0, 0]
        self._stack = ExitStack()
        self._tokens, self._offsets = (
            [self._open(f"{stem}.{side}.{kind}") for side in _SIDES]
            for kind in ("tokens", "offsets")
        )
        self._lines = self._open(f"{stem}.lines")
        for file in self._offsets:
            file.write(bytes(8))

    def _open(self, name: str) -> BinaryIO:
        return self._stack.enter_context(Path(name).open("wb"))

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def write(self, encoded: _Encoded) -> None:
        """Append encoded pairs."""
        for i, (ids, lengths) in enumerate(encoded.sides):
            ends = self._ends[i] + np.cumsum(lengths)
            self._tokens[i].write(ids.tobytes())
            self._offsets[i].write(ends.astype("<u8").tobytes())
            self._ends[i] += len(ids)
        self._lines.write(encoded.lines.tobytes())
