"""`check`: what a corpus contains and what training would drop, without training."""

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from yakusu.data.corpus import Corpus, count_pairs, numbered_pairs
from yakusu.data.files.compressed import refuse_pipe
from yakusu.data.files.text import Pair
from yakusu.data.identification import SAMPLE, EvenSample
from yakusu.data.lines.sentences import split
from yakusu.data.noise import PATTERNS, patterns_in
from yakusu.data.vocabulary import left_out
from yakusu.errors import DataError, RecipeError
from yakusu.pipeline.aligning.misaligned import Fault, explained_unequal, find_faults
from yakusu.pipeline.check.counts import FindingCounts, RatioCounts, SideCounts, unit_of
from yakusu.pipeline.check.filters import Decided, Decisions
from yakusu.pipeline.check.languages import CheckedLanguages
from yakusu.pipeline.check.overlap import HeldOut, HeldOutSearch, keys_of
from yakusu.pipeline.check.report import CheckReport, Overlap, SideReport
from yakusu.pipeline.check.tokens import TokenCounter
from yakusu.pipeline.check.warnings import warnings_of
from yakusu.pipeline.selection import other_columns
from yakusu.pipeline.training.detect_languages import with_detected_languages
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe

_SENTENCES, _DIFFERENT_SENTENCES = "several sentences", "different numbers of sentences"
_SAMPLE = 10_000  # pairs, or up to twice as many, for languages and the vocabulary


def check(
    recipe: Recipe, *, test: Corpus | None = None, progress: Progress | None = None
) -> CheckReport:
    """Report what the training corpus of a recipe contains and what its filters would drop.

    The corpus is read several times, and memory grows by about 40 bytes per pair. `data.dev` and
    `test` are compared with it and held in memory.

    Args:
        recipe: Names the corpora of one language pair (`Recipe.directions`), their languages and
            the filters. Languages that it does not name are detected, as for training.
        test: The test set.
        progress: Progress reporter.

    Raises:
        DataError: A file is missing or malformed, the two sides of a corpus are swapped, or no pair
            is left.
        RecipeError: The recipe names no corpus or several language pairs, a language is not given
            as a code, or `filters.check_language` cannot identify the languages.

    Example:
        `print(check(load_recipe("base", src="train.en", tgt="train.de")))`
    """
    if recipe.data.others:
        raise RecipeError(
            "the recipe has several language pairs: pass each recipe of recipe.directions"
        )
    corpus = recipe.data.train
    if not corpus:
        raise RecipeError(
            "there is no corpus to check: specify SRC and TGT, or a recipe with data.train"
        )
    held_out = {"dev": recipe.data.dev, "test": test or Corpus()}
    for each in filter(None, (corpus, *held_out.values())):
        for path in each.files:
            refuse_pipe(path)  # other faults are reported when reading
    recipe, detected = with_detected_languages(recipe)
    languages = CheckedLanguages(recipe, detected)
    progress = progress or Silent()
    sample: EvenSample[tuple[int, Pair]] = EvenSample(_SAMPLE)
    n_pairs, line, total = 0, 0, count_pairs(corpus)  # `line` is that of the last pair
    has_lines = total is not None and not corpus.parts
    with explained_unequal(corpus), progress.track("sampling", "pairs", total) as tracker:
        for line, pair in numbered_pairs(corpus):
            n_pairs += 1
            sample.add((line, pair))
            tracker.advance()
    first = line - n_pairs + 1  # line of the first pair
    spaced = list(sample)[:: max(1, len(sample) // SAMPLE)]
    languages.require_order(corpus, (pair for _, pair in spaced))
    overlaps = _Overlaps(held_out, languages)
    with progress.track("comparing lines", "pairs", None):
        faults = find_faults(corpus)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        reading = _Reading(recipe, languages, list(sample), Path(folder), stack)
        with progress.track("reading", "pairs", n_pairs) as tracker:
            for line, pair in numbered_pairs(corpus):
                reading.add(line, pair)
                overlaps.add(line, pair)
                tracker.advance()
        return reading.report(overlaps.results(), faults, first=first, has_lines=has_lines)


class _Overlaps:
    """Compares the dev and test sets with the training corpus and with each other.

    Args:
        corpora: The dev and test sets by their names; one that is not given is an empty corpus.
        languages: The languages of both sides.

    Raises:
        DataError: A set is empty, or its two sides are swapped.
    """

    def __init__(self, corpora: Mapping[str, Corpus], languages: CheckedLanguages) -> None:
        self._searches: list[HeldOutSearch] = []
        for name, corpus in corpora.items():
            if corpus:
                languages.require_order(corpus)
                held_out = HeldOut(name, numbered_pairs(corpus))
                if not held_out.n_texts:
                    raise _no_pairs(corpus)
                self._searches.append(held_out.search("train"))
        self._in_train = tuple(self._searches)
        if len(self._in_train) > 1:
            search = self._in_train[1].held_out.search("dev")
            for line, pair in numbered_pairs(corpora["dev"]):
                search.add(line, pair, keys_of(pair))
            self._searches.append(search)

    def add(self, line: int, pair: Pair) -> None:
        """Look up a pair of the training corpus."""
        if self._in_train:
            keys = keys_of(pair)
            for search in self._in_train:
                search.add(line, pair, keys)

    def results(self) -> tuple[Overlap, ...]:
        """What was found."""
        return tuple(search.result() for search in self._searches)


class _Reading:
    """What is counted while a corpus is read; `report` is called once, at the end.

    Args:
        recipe: Names the corpus, its languages and the filters.
        languages: The languages of both sides.
        sample: Evenly spaced pairs with their lines.
        folder: An empty folder for temporary files.
        stack: Closes these files.
    """

    def __init__(
        self,
        recipe: Recipe,
        languages: CheckedLanguages,
        sample: list[tuple[int, Pair]],
        folder: Path,
        stack: ExitStack,
    ) -> None:
        self._corpus, self._codes, self._sample = recipe.data.train, recipe.languages, sample
        pairs = [pair for _, pair in sample]
        self._languages = languages
        self._units = [unit_of(pair[side] for pair in pairs) for side in range(2)]
        self._count_tokens = TokenCounter(pairs, recipe, self._units)
        sides = [src for src, _ in pairs], [tgt for _, tgt in pairs]
        self._left_out = tuple(left_out(*sides, recipe.tokenizer))
        self._sides = [SideCounts(unit) for unit in self._units]
        self._ratios = RatioCounts()
        self._suspicious = FindingCounts([*PATTERNS, _SENTENCES, _DIFFERENT_SENTENCES])
        self._decisions = Decisions(
            recipe.filters, languages.identified, recipe.languages, folder, stack
        )

    def add(self, line: int, pair: Pair) -> None:
        """Count the next pair."""
        n_src, n_tgt = (side.add(line, text) for side, text in zip(self._sides, pair, strict=True))
        self._ratios.add(n_src, n_tgt)
        self._decisions.add(pair, self._count_tokens(pair))
        places = [patterns_in(text) for text in pair]
        for name in dict.fromkeys(name for found in places for name in found):
            around = tuple(found.get(name, 0) for found in places)
            self._suspicious.add(name, line, pair, (around[0], around[1]))
        n_sentences = [len(split(*each)) for each in zip(pair, self._codes, strict=True)]
        if max(n_sentences) > 1:
            self._suspicious.add(_SENTENCES, line, pair)
            if len(set(n_sentences)) > 1:
                self._suspicious.add(_DIFFERENT_SENTENCES, line, pair)

    def report(
        self,
        overlaps: tuple[Overlap, ...],
        faults: tuple[Fault, ...],
        *,
        first: int,
        has_lines: bool,
    ) -> CheckReport:
        """Combine all counts into a report.

        Args:
            overlaps: Overlaps with the held-out sets.
            faults: Misaligned lines.
            first: Line of the first pair.
            has_lines: Whether each pair is a line of its file.

        Raises:
            DataError: No pair is left.
        """
        decided = self._decisions.finish(self._corpus, first)
        self._require_pairs(decided)
        report = CheckReport(
            n_pairs=decided.n_pairs,
            n_kept=decided.n_kept,
            filters=decided.filters,
            optional_filters=decided.optional_filters,
            suspicious=self._suspicious.findings(),
            repeated=decided.repeated,
            sides=self._describe_sides(),
            ratios=self._ratios.quantiles(),
            correlation=self._ratios.correlation(),
            overlaps=overlaps,
            faults=faults,
            notes=self._notes(decided.n_pairs, has_lines),
        )
        warnings = (*self._languages.warnings(), *warnings_of(report))
        return report.model_copy(update={"warnings": warnings})

    def _require_pairs(self, decided: Decided) -> None:
        if not decided.n_pairs:
            raise _no_pairs(self._corpus)
        if decided.n_kept:
            return
        names, dropping = _names(self._corpus), [each for each in decided.filters if each.n]
        if [each.name for each in dropping if each.name != "empty"] == ["identical"]:
            raise DataError(
                f"{names}: the two sides are identical: specify the file or the column that has "
                "the translations"
            )
        dropped = ", ".join(f"{each.n:,} {each.name}" for each in dropping)
        raise DataError(
            f"{names}: none of {decided.n_pairs:,} sentence pairs is left for training: provide "
            f"more text{other_columns(self._corpus)} or relax the filters, which drop {dropped}"
        )

    def _describe_sides(self) -> tuple[SideReport, SideReport]:
        foreign = self._languages.foreign(self._sample)
        src, tgt = (
            SideReport(
                label=("Source", "Target")[i],
                file=self._corpus.names[i] or str(self._corpus.files[0]),
                language=self._codes[i],
                unit=side.unit,
                n_units=side.n_units,
                quantiles=side.quantiles(),
                histogram=side.histogram(),
                n_characters=side.n_characters,
                frequent=side.frequent(),
                rare=side.rare(),
                foreign=foreign[i][0],
                foreign_examples=foreign[i][1],
            )
            for i, side in enumerate(self._sides)
        )
        return src, tgt

    def _notes(self, n_pairs: int, has_lines: bool) -> tuple[str, ...]:
        n, vocab_size = len(self._sample), self._count_tokens.vocab_size
        sample = "all pairs" if n == n_pairs else f"{n:,} evenly spaced pairs"
        tokens = (
            f"'too long' and 'ratio' count tokens of a vocabulary of {vocab_size:,}, learned from "
            f"{sample}; prepare learns its own, so its counts may differ"
            if vocab_size
            else f"'too long' and 'ratio' count {' and '.join(dict.fromkeys(self._units))}, not "
            "tokens: there is too little text for a vocabulary"
        )
        numbers = () if has_lines else ("line N is pair N of the file, from 1",)
        return (
            *numbers,
            tokens,
            *self._left_out,
            *self._languages.notes(sample),
            "everything else is counted in all pairs",
        )


def _no_pairs(corpus: Corpus) -> DataError:
    return DataError(f"there are no sentence pairs in {_names(corpus)}: check the files")


def _names(corpus: Corpus) -> str:
    return " and ".join(dict.fromkeys(map(str, corpus.files)))
