"""Selects the pairs of a run: its training pairs, dev set and extra pairs, before tokenization."""

import logging
from collections.abc import Callable

import numpy as np

from yakusu.data.corpus import Corpus
from yakusu.data.duplicates import find_duplicates
from yakusu.data.files.formats import format_of
from yakusu.data.files.text import Pair
from yakusu.data.filters import (
    NO_FILTERS,
    FilterConfig,
    FilterReport,
    NumberedPair,
    Selection,
    filter_corpus,
    identifiable,
    length_filter,
    read_in_order,
    sample_evenly,
)
from yakusu.data.identification import require_codes
from yakusu.errors import DataError
from yakusu.pipeline.aligning.misaligned import explained_unequal
from yakusu.progress import Progress
from yakusu.recipe import Recipe

_log = logging.getLogger(__name__)
_MORE_TEXT = "provide more text"


class PairSelector:
    """Selects the pairs of a run.

    Args:
        recipe: Names the corpora and the filters; it has one direction (`Recipe.directions`).
        progress: Progress reporter.

    Attributes:
        report: Counts of the training pairs.
        extra_report: Counts of the extra pairs.

    Raises:
        RecipeError: A language is not given as a code.
    """

    def __init__(self, recipe: Recipe, progress: Progress) -> None:
        require_codes(recipe.languages)
        self._recipe, self._progress = recipe, progress
        self.report, self.extra_report = FilterReport(), FilterReport()
        # Pairs held out of the training corpus are counted in its report.
        self._dev_report = FilterReport() if recipe.data.dev else self.report

    def train(self) -> Selection:
        """Filter the training corpus.

        Raises:
            DataError: No pair is left.
        """
        corpus, filters = self._recipe.data.train, self._recipe.filters
        if languages := identifiable(corpus, filters, self._recipe.languages):
            for sentence in languages.unknown():
                _log.warning(sentence)
        selection = self._filter(corpus, filters, self.report)
        self.require_training_pairs(len(selection))
        return selection

    def dev(self, train: Selection) -> Selection:
        """Select the dev set; without a dev corpus, move evenly spaced pairs out of `train`.

        Raises:
            DataError: No pair is left.
        """
        data = self._recipe.data
        if data.dev:
            dev = self._filter(data.dev, self._dev_filters, self._dev_report)
        else:
            (dev,) = sample_evenly([train], min(data.hold_out, len(train) // 20))
            train.mask &= ~dev.mask
        self.require_dev_pairs(len(dev), dev.corpus)
        return dev

    def extra(self, train: Selection, dev: Selection) -> list[Selection]:
        """Select extra pairs that share no sentence with the dev set and are not in `train`."""
        if not self._recipe.data.extra:
            return []
        filters, report = self._recipe.filters, self.extra_report
        extra = self._filter(self._recipe.data.extra, filters, report)
        dev_pairs = [pair for _, pair in dev.pairs()]
        sources, targets = {src for src, _ in dev_pairs}, {tgt for _, tgt in dev_pairs}
        shared = np.fromiter(  # one byte per pair: there may be millions of extra pairs
            (src in sources or tgt in targets for _, (src, tgt) in extra.pairs()), dtype=np.bool_
        )
        extra.mask[extra.mask] = ~shared
        if shared.any():
            report.dropped["in the dev set"] += int(shared.sum())
        if filters.drop_duplicates:
            both = (pair for _, pair in read_in_order([train, extra]))
            duplicate = find_duplicates(both)[len(train) :]
            extra.mask[extra.mask] = ~duplicate
            report.dropped["duplicate"] += int(duplicate.sum())
        return [extra]

    def dev_pairs(
        self, dev: Selection, count_tokens: Callable[[Pair], tuple[int, int]]
    ) -> list[NumberedPair]:
        """The pairs of the dev set that are not too long.

        Args:
            dev: The dev set.
            count_tokens: Returns the numbers of source and target tokens of a pair, without eos.
        """
        accepted = []
        for line, pair in dev.pairs():
            if rejected_by := length_filter(*count_tokens(pair), self._dev_filters):
                self._dev_report.dropped[rejected_by] += 1
            else:
                accepted.append((line, pair))
        if self._recipe.data.dev and self._dev_report.summary:
            self._progress.say(f"dropped from the dev set: {self._dev_report.summary}")
        return accepted

    def require_training_pairs(self, n: int) -> None:
        """Raise DataError if no training pair is left."""
        _require_pairs(n, "training", self._recipe.data.train, self.report)

    def require_dev_pairs(self, n: int, corpus: Corpus) -> None:
        """Raise DataError if no pair of the dev set, which is part of `corpus`, is left."""
        fix = _MORE_TEXT if self._recipe.data.dev else f"{_MORE_TEXT}, specify a dev corpus"
        _require_pairs(n, "validation", corpus, self._dev_report, fix)

    @property
    def _dev_filters(self) -> FilterConfig:
        if not self._recipe.data.dev:
            return self._recipe.filters
        longest = self._recipe.model.max_length - 1  # without eos
        return NO_FILTERS.model_copy(update={"max_tokens": longest})

    def _filter(self, corpus: Corpus, filters: FilterConfig, report: FilterReport) -> Selection:
        languages = self._recipe.languages
        with explained_unequal(corpus):
            found = filter_corpus(corpus, filters, report, self._progress, languages=languages)
        return found


def _require_pairs(
    n: int, purpose: str, corpus: Corpus, report: FilterReport, fix: str = _MORE_TEXT
) -> None:
    """Raise DataError if no pair is left."""
    if n:
        return
    fix += other_columns(corpus)
    names = " and ".join(str(file) for file in corpus.files)
    kind = "trees" if corpus.trees else "sentence pairs"
    if not report.read:
        raise DataError(f"there are no {kind} in {names}: check the files")
    filters = f"the filters, which dropped {report.summary}" if report.summary else "the filters"
    raise DataError(
        f"{names}: none of {report.read:,} {kind} is left for {purpose}: {fix} or relax {filters}"
    )


def other_columns(corpus: Corpus) -> str:
    """Return a further fix if a corpus without usable pairs is two columns of a table, or ""."""
    if not corpus.pairs or format_of(corpus.pairs) not in ("tsv", "csv", "xlsx", "ods"):
        return ""
    columns = f"{corpus.src_column},{corpus.tgt_column}"
    return f", choose other columns than {columns} with --columns SRC,TGT"
