"""Parallel text -> binarised pairs on disk, and the memory-mapped way back.

    train.src.tokens   the ids of all source sentences in a row, uint16 or uint32
    train.src.offsets  where each sentence begins, uint64, and where the last one ends
    train.tgt.*        the same for the target side
    train.lines        where each pair stands in the corpus, uint64, from 1; extra ones follow
    data.json          sizes, counts and the filters' report

Everything streams: of a pair, memory keeps a byte or two while the repeats are looked for, and the
places of those that the vocabulary is learnt from.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.text import (
    FilterConfig,
    FilterReport,
    Pair,
    Repeats,
    count_lines,
    length_fault,
    text_fault,
    windows,
)
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError, RunError
from yakusu.progress import Progress

_WINDOW = 8192  # pairs that a worker encodes at a time
_SIDES = ("src", "tgt")
Ids = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


class Sentences:
    """One side of a binarised corpus: sentence i is an array of ids ending in eos."""

    def __init__(self, stem: Path, dtype: str) -> None:
        offsets = Path(f"{stem}.offsets")
        if not offsets.exists():
            raise RunError(f"{offsets} is missing: run 'yakusu prepare' again")
        self.offsets = np.memmap(offsets, dtype="<u8", mode="r")
        n_tokens = int(self.offsets[-1])
        tokens = Path(f"{stem}.tokens")
        if not tokens.exists() or tokens.stat().st_size != n_tokens * np.dtype(dtype).itemsize:
            raise RunError(f"{tokens} is missing or cut off: run 'yakusu prepare' again")
        self.tokens: Ids = (
            np.memmap(tokens, dtype=dtype, mode="r") if n_tokens else np.zeros(0, dtype=dtype)
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Ids:
        return self.tokens[int(self.offsets[i]) : int(self.offsets[i + 1])]

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Number of ids of each sentence, eos included."""
        return self.lengths_of(np.arange(len(self)))

    def lengths_of(self, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Number of ids of some sentences, eos included."""
        lengths: npt.NDArray[np.int32] = (self.offsets[chosen + 1] - self.offsets[chosen]).astype(
            np.int32
        )
        return lengths


@dataclass(frozen=True)
class Part:
    """Pairs that stand side by side in a corpus; an epoch shows each `weight` times."""

    n_pairs: int
    weight: float


@dataclass(frozen=True)
class Pairs:
    """A binarised parallel corpus."""

    src: Sentences
    tgt: Sentences
    lines: npt.NDArray[np.uint64]
    parts: tuple[Part, ...]

    @classmethod
    def open(cls, folder: Path, split: str) -> "Pairs":
        """Memory-map what `binarise` wrote.

        Raises:
            RunError: A file is missing or cut off.
        """
        try:
            facts = json.loads((folder / "data.json").read_text())
            dtype = facts["dtype"]
        except (OSError, ValueError, KeyError) as error:
            raise RunError(
                f"{folder / 'data.json'} is missing or broken: run 'yakusu prepare'"
            ) from error
        src, tgt = (Sentences(folder / f"{split}.{side}", dtype) for side in _SIDES)
        lines = folder / f"{split}.lines"
        if not lines.exists() or lines.stat().st_size != 8 * len(src):
            raise RunError(f"{lines} is missing or cut off: run 'yakusu prepare' again")
        empty = np.zeros(0, dtype="<u8")  # which cannot be mapped
        numbers = np.memmap(lines, dtype="<u8", mode="r") if len(src) else empty
        parts = facts.get("parts", {}).get(split, [{"n_pairs": len(src), "weight": 1.0}])
        return cls(src, tgt, numbers, tuple(Part(**part) for part in parts))

    def __len__(self) -> int:
        return len(self.src)


def dtype_for(vocab_size: int) -> str:
    """The smallest little-endian integer that holds every id of a vocabulary."""
    return "<u2" if vocab_size <= 2**16 else "<u4"


def sift(
    corpus: Corpus, filters: FilterConfig, report: FilterReport, progress: Progress
) -> npt.NDArray[np.bool_]:
    """Read a corpus once; True for each line whose text passes the filters."""
    fit = bytearray()
    with tempfile.TemporaryDirectory() as folder, Repeats(Path(folder)) as repeats:
        total = None if corpus.trees else count_lines(corpus.files[0])
        with progress.track("reading", "pairs", total) as tracker:
            for window in windows(read_pairs(corpus), _WINDOW):
                for pair in window:
                    fault = text_fault(pair, filters)
                    fit.append(not fault)
                    if fault:
                        report.dropped[fault] += 1
                    elif filters.drop_duplicates:
                        repeats.add(pair)
                tracker.advance(len(window))
        keep = np.frombuffer(fit, dtype=np.bool_).copy()
        if filters.drop_duplicates:
            repeated = repeats.find()
            keep[keep] = ~repeated
            report.dropped["duplicate"] += int(repeated.sum())
    report.read += len(keep)
    return keep


def chosen_pairs(corpus: Corpus, keep: npt.NDArray[np.bool_]) -> Iterator[tuple[int, Pair]]:
    """The pairs of a corpus for which `keep` is True, each with its line, counted from 1.

    Raises:
        DataError: The corpus no longer has as many lines as `keep`.
    """
    try:
        for line, (pair, kept) in enumerate(zip(read_pairs(corpus), keep, strict=True), start=1):
            if kept:
                yield line, pair
    except ValueError as error:
        names = " and ".join(str(path) for path in corpus.files)
        raise DataError(f"{names} changed while being read: run 'yakusu prepare' again") from error


@dataclass(frozen=True)
class _Window:
    """Encoded pairs on their way from a worker to the disk."""

    sides: tuple[tuple[Ids, npt.NDArray[np.int64]], ...]  # of src and tgt: all ids, lengths
    lines: npt.NDArray[np.uint64]
    dropped: Counter[str]
    n_pairs: int


def _encode_window(
    pairs: list[tuple[int, Pair]], tokenizer: Tokenizer, filters: FilterConfig, dtype: str
) -> _Window:
    src = tokenizer.encode_source([source for _, (source, _) in pairs])
    tgt = tokenizer.encode_target([target for _, (_, target) in pairs])
    # Lengths are judged without eos: an empty sentence has no token.
    faults = [length_fault(len(s) - 1, len(t) - 1, filters) for s, t in zip(src, tgt, strict=True)]
    fit = [not fault for fault in faults]
    sides = tuple(
        (
            np.fromiter(chain.from_iterable(compress(side, fit)), dtype=dtype),
            np.fromiter((len(ids) for ids in compress(side, fit)), dtype=np.int64),
        )
        for side in (src, tgt)
    )
    lines = np.fromiter((line for line, _ in compress(pairs, fit)), dtype="<u8")
    return _Window(sides, lines, Counter(fault for fault in faults if fault), len(pairs))


def binarise(
    pairs: Iterator[tuple[int, Pair]],
    stem: Path,
    *,
    tokenizer: Tokenizer,
    filters: FilterConfig,
    report: FilterReport,
    total: int,
    progress: Progress,
    workers: int = -1,
) -> int:
    """Encode pairs on all cores and write them; the bytes do not depend on `workers`.

    Args:
        pairs: What to encode, each with its line in the corpus.
        stem: Folder and split, as in data/train.
        tokenizer: Gives the ids.
        filters: Its length rules drop pairs.
        report: Counts what they dropped.
        total: Number of pairs, for the progress bar.
        progress: Watches.
        workers: Processes; -1 for one a core.

    Returns:
        The number of pairs written.
    """
    dtype = dtype_for(max(tokenizer.src_vocab_size, tokenizer.tgt_vocab_size))
    # Small corpora are encoded sooner than processes start.
    parallel = Parallel(
        n_jobs=1 if total < 4 * _WINDOW else workers,
        return_as="generator",
        pre_dispatch="2*n_jobs",
        batch_size=1,
    )
    encode = delayed(_encode_window)
    jobs = (encode(window, tokenizer, filters, dtype) for window in windows(pairs, _WINDOW))
    with (
        progress.track(f"encoding {stem.name}", "pairs", total) as tracker,
        _Writer(stem) as writer,
    ):
        for window in parallel(jobs):
            writer.write(window)
            report.dropped.update(window.dropped)
            tracker.advance(window.n_pairs)
        return writer.n_pairs


class _Writer:
    """Writes one split of a binarised corpus."""

    def __init__(self, stem: Path) -> None:
        self.n_pairs = 0
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

    def write(self, window: _Window) -> None:
        """Append a window of encoded pairs."""
        for i, (ids, lengths) in enumerate(window.sides):
            ends = self._ends[i] + np.cumsum(lengths)
            self._tokens[i].write(ids.tobytes())
            self._offsets[i].write(ends.astype("<u8").tobytes())
            self._ends[i] += len(ids)
        self._lines.write(window.lines.tobytes())
        self.n_pairs += len(window.lines)
