"""The languages of the files that `check` reads."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.files.formats import format_of
from yakusu.data.files.shortened import shorten
from yakusu.data.files.text import Pair
from yakusu.data.filters import identifiable, swapped_message
from yakusu.data.identification import SAMPLE, EvenSample, require_codes
from yakusu.errors import DataError
from yakusu.pipeline.check.counts import EXAMPLES
from yakusu.pipeline.check.report import Example
from yakusu.recipe import Recipe

OtherLanguages = tuple[dict[str, float] | None, tuple[Example, ...]]


class CheckedLanguages:
    """The languages of the two sides, and what can be checked with them.

    Args:
        recipe: Names the training corpus and the languages.
        detected: What `with_detected_languages` says about them.

    Raises:
        RecipeError: A language is not given as a code, or `filters.check_language` cannot identify
            the languages.

    Attributes:
        identified: The languages; None: they are unknown, or py3langid is not installed.
    """

    def __init__(self, recipe: Recipe, detected: str = "") -> None:
        require_codes(recipe.languages)
        self._codes, self._train = recipe.languages, recipe.data.train
        self._detected = detected
        self.identified = identifiable(self._train, recipe.filters, recipe.languages)

    def require_order(self, corpus: Corpus, pairs: Iterable[Pair] | None = None) -> None:
        """Check that the two sides of a corpus are not swapped.

        Args:
            corpus: The corpus.
            pairs: A sample of its pairs (default: some are read).

        Raises:
            DataError: They are swapped, or the corpus cannot be read.
        """
        if self.identified and self.identified.swapped(_sample(corpus) if pairs is None else pairs):
            raise DataError(swapped_message(corpus, self._codes))

    def foreign(self, sample: Sequence[tuple[int, Pair]]) -> tuple[OtherLanguages, OtherLanguages]:
        """Return, for each side, the share of each other language in a sample, and examples."""
        if not self.identified:
            return (None, ()), (None, ())
        counts: list[Counter[str]] = [Counter(), Counter()]
        examples: list[list[Example]] = [[], []]
        for line, pair in sample:
            for i, code in enumerate(self.identified.foreign(pair)):
                if not code:
                    continue
                counts[i][code] += 1
                if len(examples[i]) < EXAMPLES:
                    src, tgt = map(shorten, pair)
                    examples[i].append(Example(line=line, src=src, tgt=tgt, note=f"'{code}'"))
        n = max(len(sample), 1)
        src_foreign, tgt_foreign = (
            (
                {code: count / n for code, count in side.most_common()} if known else None,
                tuple(few),
            )
            for side, few, known in zip(counts, examples, self.identified.labels, strict=True)
        )
        return src_foreign, tgt_foreign

    def notes(self, sample: str) -> Iterator[str]:
        """Yield how the languages were found.

        Args:
            sample: A description of the pairs in which they were identified.
        """
        if self._detected:
            yield self._detected
        if self.identified and self.identified.known():
            yield (
                f"languages are those of {sample}; a line is foreign only if another language is "
                "far more probable"
            )
        else:
            yield (
                "languages are not identified: this needs their codes (data.source_language, or "
                "file names such as train.en) and the extra 'corpora'"
            )

    def warnings(self) -> Iterator[str]:
        """Yield a sentence for each side that is not checked because its language is unknown."""
        if self._train.trees:
            return
        sides = ("source", "target")
        missing = [side for side, code in zip(sides, self._codes, strict=True) if not code]
        if missing:
            options = " ".join(f"--set data.{side}_language=CODE" for side in missing)
            yield (
                f"the language of the {' and the '.join(missing)} is not known, so lines in other "
                f"languages and swapped files are not found: add {options}{_named(self._train)}"
            )
        if self.identified:
            yield from self.identified.unknown()


def _named(corpus: Corpus) -> str:
    """Return another way to state the languages of a corpus; "" for a table."""
    if corpus.src or corpus.parts:
        return ", or name the files like train.en"
    has_languages = format_of(corpus.pairs) in ("tmx", "xliff", "po", "jsonl")  # or a header
    return ", or use --columns en,de" if has_languages else ""


def _sample(corpus: Corpus) -> EvenSample[Pair]:
    sample: EvenSample[Pair] = EvenSample(SAMPLE)
    for pair in read_pairs(corpus):
        sample.add(pair)
    return sample
