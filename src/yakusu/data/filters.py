"""Filters: which pairs of a corpus are used for training.

A pair is rejected by the first of these filters that applies:

    long line         a side has more than `LONGEST_LINE` bytes
    empty             a side has no text, or no tokens
    identical         source and target are equal
    nearly identical  they are equal without case, punctuation and digits
    few letters       less than `min_letters` of a side are letters
    placeholders      a placeholder or a tag occurs on one side only
    numbers           a number in digits occurs on one side only, in any form
    language          a side is in another language
    duplicate         the same pair occurred before
    too long          a side has more than `max_tokens` tokens
    ratio             the longer side has more than `max_ratio` times the tokens of the shorter one

Corpora are streamed: memory holds one byte per pair and, during the search for duplicates, one of
64 buckets of digests at a time.
"""

import logging
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from yakusu.arrays import Flags
from yakusu.config import Config
from yakusu.data.corpus import Corpus, count_pairs, read_pairs
from yakusu.data.duplicates import DuplicateFinder
from yakusu.data.files.long_lines import LEFT_OUT
from yakusu.data.files.text import Pair, windows
from yakusu.data.identification import SAMPLE, CorpusLanguages, EvenSample, can_identify
from yakusu.data.noise import (
    nearly_identical,
    numbers_differ,
    placeholders_differ,
    share_of_letters,
)
from yakusu.errors import DataError, RecipeError
from yakusu.progress import Progress
from yakusu.typed import setting

_log = logging.getLogger(__name__)
NumberedPair = tuple[int, Pair]  # line number in the corpus, counted from 1, and the pair
_WINDOW = 8192  # pairs per update of the progress bar


class FilterConfig(Config):
    """Thresholds of the filters; lengths in tokens work for every writing system."""

    max_tokens: int = setting(256, ge=1)
    max_ratio: float = setting(4.0, ge=1)  # of the longer side to the shorter side
    drop_duplicates: bool = True
    drop_identical: bool = True
    drop_nearly_identical: bool = False  # equal without case, punctuation and digits
    min_letters: float = setting(0.0, ge=0, le=1)  # share of the characters of each side
    drop_different_placeholders: bool = True  # and tags
    drop_different_numbers: bool = False  # a number in digits may be a word on the other side
    check_language: bool = False  # needs py3langid, of the extra 'corpora'


NO_FILTERS = FilterConfig(  # rejects only empty pairs
    max_tokens=2**31,
    max_ratio=2**31,
    drop_duplicates=False,
    drop_identical=False,
    drop_different_placeholders=False,
)


def text_filter(
    pair: Pair,
    config: FilterConfig,
    languages: CorpusLanguages | None = None,
    codes: tuple[str, str] = ("", ""),
) -> str | None:
    """Return the name of the filter that rejects the text of a pair, or None if it passes.

    Args:
        pair: Source and target.
        config: The thresholds.
        languages: Languages of both sides, with which `check_language` compares them.
        codes: Codes of the languages, in whose forms numbers are compared; "" if unknown.
    """
    src, tgt = pair
    if not src or not tgt:
        return "long line" if src is LEFT_OUT or tgt is LEFT_OUT else "empty"
    if config.drop_identical and src == tgt:
        return "identical"
    if config.drop_nearly_identical and nearly_identical(pair):
        return "nearly identical"
    if config.min_letters and min(map(share_of_letters, pair)) < config.min_letters:
        return "few letters"
    if config.drop_different_placeholders and placeholders_differ(pair):
        return "placeholders"
    if config.drop_different_numbers and numbers_differ(pair, codes):
        return "numbers"
    foreign = config.check_language and languages and any(languages.foreign(pair))
    return "language" if foreign else None


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
            dict.fromkeys(
                ("empty", "identical", "placeholders", "duplicate", "too long", "ratio"), 0
            )
        )

    @classmethod
    def total(cls, reports: Iterable["FilterReport"]) -> "FilterReport":
        """The sum of several reports."""
        found = cls()
        for report in reports:
            found.read += report.read
            found.dropped.update(report.dropped)
        return found

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

    def expect(self, config: FilterConfig) -> None:
        """Count the filters that are off by default, from 0, if they are on."""
        on = {
            "nearly identical": config.drop_nearly_identical,
            "few letters": config.min_letters > 0,
            "numbers": config.drop_different_numbers,
            "language": config.check_language,
        }
        self.dropped.update(dict.fromkeys((name for name in on if on[name]), 0))


@dataclass
class Selection:
    """The selected pairs of a corpus."""

    corpus: Corpus
    mask: Flags  # (number of pairs in the corpus), True: selected

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


def read_in_order(parts: Iterable[Selection], n_lines: int = 0) -> Iterator[NumberedPair]:
    """Read the pairs of several selections; line numbers continue from one to the next.

    Args:
        parts: The selections.
        n_lines: Number of lines that precede the first one.
    """
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
    corpus: Corpus,
    config: FilterConfig,
    report: FilterReport,
    progress: Progress,
    *,
    languages: tuple[str, str] = ("", ""),
) -> Selection:
    """Read a corpus once and select the pairs whose text passes the filters.

    Lengths in tokens are checked later, by `pairs.binarise`. A warning is logged if the files seem
    to be swapped.

    Args:
        corpus: The corpus to read.
        config: The thresholds.
        report: Receives the counts.
        progress: Progress reporter.
        languages: Codes of the source and target languages; "" if unknown.

    Raises:
        RecipeError: `check_language` is on, but the languages cannot be identified.
    """
    identified = identifiable(corpus, config, languages)
    sample: EvenSample[Pair] = EvenSample(SAMPLE)
    accepted = bytearray()
    report.expect(config)
    if corpus.trees:  # a tree has no placeholders
        config = config.model_copy(update={"drop_different_placeholders": False})
    with tempfile.TemporaryDirectory() as folder, DuplicateFinder(Path(folder)) as duplicates:
        total = count_pairs(corpus)
        with progress.track("reading", "pairs", total) as tracker:
            for window in windows(read_pairs(corpus), _WINDOW):
                for pair in window:
                    sample.add(pair)
                    rejected_by = text_filter(pair, config, identified, languages)
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
    if identified and identified.swapped(sample):
        _log.warning(swapped_message(corpus, languages))
    return Selection(corpus, mask)


def identifiable(
    corpus: Corpus, config: FilterConfig, languages: tuple[str, str]
) -> CorpusLanguages | None:
    """Return the languages of a corpus; None: they are not given, or cannot be identified.

    Raises:
        RecipeError: `config.check_language` is on, but py3langid is not installed, or knows neither
            language.
    """
    if not config.check_language and (corpus.trees or not any(languages) or not can_identify()):
        return None
    identified = CorpusLanguages(*languages)
    if config.check_language and not identified.known():
        raise RecipeError(
            f"filters.check_language = true cannot identify '{languages[0]}' and '{languages[1]}': "
            "set data.source_language and data.target_language to codes such as 'en', or "
            "filters.check_language = false"
        )
    return identified


def swapped_message(corpus: Corpus, languages: tuple[str, str]) -> str:
    """Return which files of a corpus are swapped, and the fix."""
    source, target = languages
    if corpus.parts:
        return (
            f"{' and '.join(map(str, corpus.files))} seem to contain '{target}' as the source and "
            f"'{source}' as the target: exchange src and tgt, or correct data.source_language and "
            "data.target_language"
        )
    if corpus.src:
        return (
            f"{corpus.src} seems to be in language '{target}' and {corpus.tgt} in '{source}': "
            "exchange the two files, or correct data.source_language and data.target_language"
        )
    return (
        f"{corpus.files[0]} seems to contain '{target}' in the column of the source "
        f"({corpus.src_column}) and '{source}' in that of the target ({corpus.tgt_column}): "
        "exchange the two columns, or correct data.source_language and data.target_language"
    )
