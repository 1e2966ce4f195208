"""How good a finished translator is, in words, from its translations of the dev set."""

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from yakusu.data.files.shortened import shorten
from yakusu.folder import write_text
from yakusu.metrics import sentence_scorer

NAME = "dev-translations.tsv"
_MOST = {"words": 500, "characters": 100}  # sentences that are measured, which takes long
_WIDTH = 160  # characters of a sentence that are shown
_SHOWN = 10  # best and worst sentences
_FEW_SPACES = 1 / 20  # of the characters, as in Japanese, Chinese and Thai
_SHARES = {  # the share of words that are wrong, in words
    Fraction(1, 10): "a tenth",
    Fraction(1, 5): "a fifth",
    Fraction(1, 4): "a quarter",
    Fraction(1, 3): "a third",
    Fraction(2, 5): "two fifths",
    Fraction(1, 2): "half",
    Fraction(3, 5): "three fifths",
    Fraction(2, 3): "two thirds",
    Fraction(3, 4): "three quarters",
    Fraction(9, 10): "nine tenths",
}
_ADVICE = (  # the highest median error -> what a person can do with such translations
    (0.2, "Read each translation before you use it; at least half need little or no correction."),
    (0.5, "Use the model for drafts that a person corrects sentence by sentence."),
    (0.8, "Use the model to see what a text is about; do not publish its translations."),
)
_USELESS = "The model is not usable yet: a person would have to rewrite most sentences."
# Pairs of the Bible, English to German, and test BLEU of a run: benchmarks/results/corpora.json
MEASURED = ((5_003, 9.27), (30_015, 22.45))
_SEPARATORS = re.compile("[\t\r\n]")  # of cells and rows, in the file of translations
_SATISFYING = 0.2  # error for which nobody asks how to get better translations


@dataclass(frozen=True)
class DevTranslation:
    """A sentence of the dev set.

    Attributes:
        source: The source.
        reference: Its reference translation.
        translation: The translation of the model.
        error: TER of the translation, as a share of the reference; 0: no difference but case.
    """

    source: str
    reference: str
    translation: str
    error: float


@dataclass(frozen=True)
class Verdict:
    """How good the translations of the dev set are.

    Attributes:
        sentences: The measured sentences.
        unit: What an error counts: "words", or "characters" of a text with few spaces.
        n_pairs: Number of training pairs; None: unknown.
        improving: Whether training ended early although its last measurement was the best.
    """

    sentences: tuple[DevTranslation, ...]
    unit: str
    n_pairs: int | None = None
    improving: bool = False

    @property
    def exact(self) -> int:
        """Number of translations that equal their references."""
        return sum(each.translation == each.reference for each in self.sentences)

    @property
    def error(self) -> float:
        """The median error."""
        return statistics.median(each.error for each in self.sentences)

    @property
    def worst_quarter(self) -> float:
        """The error that a quarter of the sentences reach."""
        errors = sorted(each.error for each in self.sentences)
        return errors[-max(1, len(errors) // 4)]

    @property
    def copied(self) -> int:
        """Number of translations that wrongly equal their sources."""
        return sum(each.translation == each.source != each.reference for each in self.sentences)

    @property
    def empty(self) -> int:
        """Number of translations without text."""
        return sum(not each.translation.strip() for each in self.sentences)

    def __str__(self) -> str:
        return "\n".join(self.statements())

    def statements(self) -> Iterator[str]:
        """Yield the sentences of the verdict."""
        n, unit = len(self.sentences), self.unit
        yield (
            f"Of {n:,} unseen sentence{'s' * (n > 1)}, {self.exact:,} came out exactly as in the "
            f"reference; a typical translation has {share(self.error)} of its {unit} wrong."
        )
        if (worst := share(self.worst_quarter)) != share(self.error):
            yield f"In the worst quarter, {worst} of them{' or more' * (worst != 'all')} are wrong."
        if self.copied:
            yield f"{self.copied:,} came out in the source language, unchanged."
        if self.empty:
            yield f"{self.empty:,} came out empty."
        yield next((advice for most, advice in _ADVICE if self.error <= most), _USELESS)
        if self.error <= _SATISFYING:
            return
        (few, low), (many, high) = MEASURED
        if self.improving:
            yield "They were still improving when training ended: train further first."
        elif self.n_pairs is not None and self.n_pairs < many:
            yield (
                "More text of your own would help most: on the Bible, English to German, BLEU rose "
                f"from {low:.1f} with {few:,} pairs to {high:.1f} with {many:,}."
            )

    def examples(self) -> Iterator[str]:
        """Yield the lines of the best and the worst sentences, long ones first."""
        ranked = sorted(self.sentences, key=lambda each: (each.error, -len(each.source)))
        n = min(_SHOWN, (len(ranked) + 1) // 2)
        for name, chosen in (("best", ranked[:n]), ("worst", ranked[n:][: -_SHOWN - 1 : -1])):
            if chosen:
                yield f"The {name} {len(chosen)}:" if len(chosen) > 1 else f"The {name}:"
            for each in chosen:
                yield from example(each.source, each.translation, each.reference)


def example(source: str, translation: str, reference: str) -> list[str]:
    """Return the lines that show a sentence; long ones are cut."""
    named = (("source:", source), ("translation:", translation), ("reference:", reference))
    return [f"  {name:12} {shorten(text, width=_WIDTH)}" for name, text in named]


def share(error: float) -> str:
    """A share of words in words: the nearest simple fraction."""
    if error == 0:
        return "none"
    if error > 0.95:
        return "all"
    nearest = min(_SHARES, key=lambda each: abs(each - error))
    return _SHARES[nearest]


def verdict_of(
    sources: Sequence[str],
    references: Sequence[str],
    made: Sequence[str],
    *,
    n_pairs: int | None = None,
) -> Verdict:
    """Measure translations of the dev set, at most 500, or 100 by characters, evenly spaced.

    Args:
        sources: The sources.
        references: Their references.
        made: Their translations.
        n_pairs: Number of training pairs; None: unknown.
    """
    text = "".join(references)
    unit = "words" if text.count(" ") >= _FEW_SPACES * len(text) else "characters"
    rows = range(0, len(sources), -(-len(sources) // _MOST[unit]))
    score = sentence_scorer("ter")

    def error(row: int) -> float:
        both = made[row], references[row]
        if unit == "characters":
            both = " ".join(made[row]), " ".join(references[row])
        return score(*both) / 100

    return Verdict(
        tuple(DevTranslation(sources[row], references[row], made[row], error(row)) for row in rows),
        unit,
        n_pairs,
    )


def save_translations(
    run: Path, sources: Sequence[str], references: Sequence[str], made: Sequence[str]
) -> None:
    """Write the translations of the dev set into the folder of a run, for a spreadsheet."""
    rows = zip(sources, references, made, strict=True)
    lines = ("\t".join(_SEPARATORS.sub(" ", text) for text in row) for row in rows)
    write_text(run / NAME, "source\treference\ttranslation\n" + "".join(f"{x}\n" for x in lines))


def saved_verdict(
    run: Path, *, n_pairs: int | None = None, improving: bool = False
) -> Verdict | None:
    """Measure the saved translations of a run; None: there are none."""
    try:
        with (run / NAME).open(encoding="utf-8", newline="\n") as file:
            _, *rows = (line.removesuffix("\n").split("\t") for line in file)
    except (OSError, ValueError):
        return None
    if not rows or any(len(row) != 3 for row in rows):
        return None
    sources, references, made = zip(*rows, strict=True)
    found = verdict_of(sources, references, made, n_pairs=n_pairs)
    return replace(found, improving=improving)
