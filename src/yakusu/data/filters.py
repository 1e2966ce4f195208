"""Filters: which pairs of a corpus are used for training.

A pair is rejected by the first of these filters that applies:

    empty       a side has no text, or no tokens
    identical   source and target are equal
    duplicate   the same pair occurred before
    too long    a side has more than `max_tokens` tokens
    ratio       the longer side has more than `max_ratio` times the tokens of the shorter side

Corpora are streamed: memory holds one byte per pair and, during the search for duplicates, one of
64 buckets of digests at a time.
"""

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from pydantic import Field

from yakusu.config import Config
from yakusu.data.corpus import Corpus, count_pairs, read_pairs
from yakusu.data.text import Pair, windows
from yakusu.errors import DataError
from yakusu.progress import Progress

NumberedPair = tuple[int, Pair]  # line number in the corpus, counted from 1, and the pair
Mask = npt.NDArray[np.bool_]
_WINDOW = 8192  # pairs per update of the progress bar


class FilterConfig(Config):
    """Thresholds of the filters; lengths in tokens work for every writing system."""

    max_tokens: int = Field(256, ge=1)
    max_ratio: float = Field(4.0, ge=1)  # of the longer side to the shorter side
    drop_duplicates: bool = True
    drop_identical: bool = True


NO_FILTERS = FilterConfig(  # rejects only empty pairs
    max_tokens=2**31, max_ratio=2**31, drop_duplicates=False, drop_identical=False
)


def text_filter(pair: Pair, config: FilterConfig) -> str | None:
    """Return the name of the filter that rejects the text of a pair, or None if it passes."""
    src, tgt = pair
    if not src or not tgt:
        return "empty"
    return "identical" if config.drop_identical and src == tgt else None


def length_filter(n_src: int, n_tgt: int, config: FilterConfig) -> str | None:
    """Return the name of the filter that rejects the lengths of a pair, or None if they pass.

    Args:
        n_src: Source tokens, without eos.
        n_tgt: Target tokens, without eos.
        config: The thresholds.
    """
    longer, shorter = max(n_src, n_tgt), min(n_src, n_tgt)
    if shorter == 0:
        return "empty"
    if longer > config.max_tokens:
        return "too long"
    return "ratio" if longer > config.max_ratio * shorter else None


class FilterReport:
    """Number of pairs that were read, and number that each filter dropped."""

    def __init__(self) -> None:
        self.read = 0
        self.dropped: Counter[str] = Counter(
            dict.fromkeys(("empty", "identical", "duplicate", "too long", "ratio"), 0)
        )

    @property
    def kept(self) -> int:
        """Number of pairs that passed every filter."""
        return self.read - self.dropped.total()

    @property
    def summary(self) -> str:
        """Counts of dropped pairs, such as "3 empty, 1 ratio"; "" if no pair was dropped."""
        return ", ".join(f"{n:,} {name}" for name, n in (+self.dropped).items())

    def as_dict(self) -> dict[str, int]:
        """All counts: pairs read, dropped by each filter, and kept."""
        return {"read": self.read, **self.dropped, "kept": self.kept}


@dataclass
class Selection:
    """The selected pairs of a corpus."""

    corpus: Corpus
    mask: Mask  # (number of pairs in the corpus), True: selected

    def __len__(self) -> int:
        return int(self.mask.sum())

    def pairs(self) -> Iterator[NumberedPair]:
        """Read the selected pairs in order.

        Raises:
            DataError: The corpus no longer has as many pairs as the mask.
        """
        try:
            numbered = enumerate(zip(read_pairs(self.corpus), self.mask, strict=True), start=1)
            for line, (pair, selected) in numbered:
                if selected:
                    yield line, pair
        except ValueError as error:
            names = " and ".join(str(path) for path in self.corpus.files)
            raise DataError(
                f"{names} changed while being read: run 'yakusu prepare' again"
            ) from error


def read_in_order(parts: Iterable[Selection]) -> Iterator[NumberedPair]:
    """Read the pairs of several selections; line numbers continue from one to the next."""
    n_lines = 0
    for part in parts:
        yield from ((n_lines + line, pair) for line, pair in part.pairs())
        n_lines += len(part.mask)


def sample_evenly(parts: Sequence[Selection], n: int) -> list[Selection]:
    """Select `n` pairs, evenly spaced over all selected pairs of several selections."""
    mask = np.concatenate([part.mask for part in parts])
    selected = np.flatnonzero(mask)
    sample = np.zeros_like(mask)
    sample[selected[np.linspace(0, len(selected) - 1, n, dtype=np.int64)]] = True
    masks = np.split(sample, np.cumsum([len(part.mask) for part in parts])[:-1])
    return [Selection(part.corpus, each) for part, each in zip(parts, masks, strict=True)]


def filter_corpus(
    corpus: Corpus, config: FilterConfig, report: FilterReport, progress: Progress
) -> Selection:
    """Read a corpus once and select the pairs whose text passes the filters.

    Lengths in tokens are checked later, by `pairs.binarise`.

    Args:
        corpus: The corpus to read.
        config: The thresholds.
        report: Receives the counts.
        progress: Progress reporter.
    """
    accepted = bytearray()
    with tempfile.TemporaryDirectory() as folder, DuplicateFinder(Path(folder)) as duplicates:
        total = count_pairs(corpus)
        with progress.track("reading", "pairs", total) as tracker:
            for window in windows(read_pairs(corpus), _WINDOW):
                for pair in window:
                    rejected_by = text_filter(pair, config)
                    accepted.append(rejected_by is None)
                    if rejected_by:
                        report.dropped[rejected_by] += 1
                    elif config.drop_duplicates:
                        duplicates.add(pair)
                tracker.advance(len(window))
        mask = np.frombuffer(accepted, dtype=np.bool_).copy()
        if config.drop_duplicates:
            is_duplicate = duplicates.find()
            mask[mask] = ~is_duplicate
            report.dropped["duplicate"] += int(is_duplicate.sum())
    report.read += len(mask)
    return Selection(corpus, mask)


def find_duplicates(pairs: Iterator[Pair]) -> Mask:
    """Return a mask that is True for each pair that occurred before."""
    with tempfile.TemporaryDirectory() as folder, DuplicateFinder(Path(folder)) as duplicates:
        for pair in pairs:
            duplicates.add(pair)
        return duplicates.find()


class DuplicateFinder:
    """Finds the pairs of a stream that occurred before, using temporary files on disk.

    The 128-bit digest of each pair is written to one of 64 bucket files. Equal pairs have equal
    digests and share a bucket, so the buckets are sorted in memory one at a time.

    Args:
        folder: An empty folder for the bucket files.
    """

    _BUCKETS = 64
    _RECORD = np.dtype([("digest", "<u8", 2), ("position", "<u8")])

    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        self._files = [self._open(folder / f"{i:02}") for i in range(self._BUCKETS)]
        self._n = 0

    def _open(self, path: Path) -> BinaryIO:
        return self._stack.enter_context(path.open("w+b"))

    def __enter__(self) -> "DuplicateFinder":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add(self, pair: Pair) -> None:
        """Record the next pair of the stream."""
        digest = hashlib.blake2b("\n".join(pair).encode(), digest_size=16).digest()
        self._files[digest[0] % self._BUCKETS].write(digest + self._n.to_bytes(8, "little"))
        self._n += 1

    def find(self) -> Mask:
        """Return a mask, in the order of `add`, that is True for each pair that occurred before."""
        is_duplicate = np.zeros(self._n, dtype=np.bool_)
        for file in self._files:
            file.seek(0)
            records = np.frombuffer(file.read(), dtype=self._RECORD)
            digest, position = records["digest"], records["position"]
            order = np.lexsort((position, digest[:, 1], digest[:, 0]))
            same = (digest[order[1:]] == digest[order[:-1]]).all(axis=1)
            is_duplicate[position[order[1:]][same]] = True
        return is_duplicate
