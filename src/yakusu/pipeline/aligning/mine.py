"""`mine`: two texts that are not translations of each other -> the sentences that are."""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from yakusu.data.bitext.margin import margin_pairs
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.errors import DataError
from yakusu.pipeline.aligning.align import pair_files, write_rows
from yakusu.pipeline.aligning.texts import SentenceText, read_apart
from yakusu.progress import Progress, Silent

if TYPE_CHECKING:
    from yakusu.pipeline.aligning.sentence_vectors import SentenceVectors

MIN_SCORE = 0.7
_FEWEST = 100  # pairs from which anything can be learned


@dataclass(frozen=True)
class Mined:
    """Result of `mine`.

    Attributes:
        out: The pairs: source, target and score, in three columns, the highest score first.
        n_sentences: Number of different sentences of both texts.
        n_pairs: Number of pairs.
        median_score: Median score of a pair.
    """

    out: Path
    n_sentences: tuple[int, int]
    n_pairs: int
    median_score: float

    def __str__(self) -> str:
        n_src, n_tgt = self.n_sentences
        return (
            f"{self.out}: {self.n_pairs:,} pairs of {n_src:,} source and {n_tgt:,} target "
            f"sentences, median score {self.median_score:.2f}"
        )


def mine(
    one: str | Path,
    other: str | Path,
    out: str | Path,
    *,
    src: str | Path,
    tgt: str | Path,
    languages: tuple[str, str] = ("", ""),
    min_score: float | None = None,
    encoding: str = "",
    progress: Progress | None = None,
) -> Mined:
    """Find the sentences of two texts that translate each other, in any order.

    Vectors of sentences are learned from known translations, such that those of translations are
    close (see `sentence_vectors.py`). The score of a pair is its cosine times its margin, which is
    the cosine divided by the mean cosine of each of the two sentences to its four nearest ones in
    the other text (Artetxe and Schwenk, 2019). Vectors are in memory, 1.5 kB per sentence. The same
    texts give the same bytes on the same kind of machine.

    Args:
        one: A text or a document; a sentence that it repeats counts once.
        other: A text or a document in the other language.
        out: The file of pairs (.tsv).
        src, tgt: Files of known translations to learn from, in the languages of `one` and `other`,
            such as the text that a translator was trained on; 20,000 pairs or more.
        languages: Codes of both languages (default: taken from the end of the file names).
        min_score: Leave out the pairs with a lower score; None: 0.7.
        encoding: Encoding of `one` and `other` if they are text files and not UTF-8, or one
            encoding each, separated by a comma (default: detected).
        progress: Progress reporter.

    Raises:
        DataError: A file cannot be read or has no sentences, a language is unknown, there are fewer
            than 100 known translations, most of these have two equal sides, or no pair was found.
        RecipeError: `encoding` is unknown.
        RunError: `out` is one of the files, is not a .tsv file, exists without aligned pairs, or
            cannot be written.
    """
    least = MIN_SCORE if min_score is None else min_score
    if not isfinite(least):
        raise DataError(f"the minimum score {least} is not finite: choose one such as 0.7")
    pair_files(Path(out), Path(src), Path(tgt))
    out, _ = pair_files(Path(out), Path(one), Path(other))
    progress = progress or Silent()
    texts = read_apart(Path(one), Path(other), languages, encoding)
    first, second = map(_distinct, texts)
    vectors = _learned(Corpus(src=str(src), tgt=str(tgt)), progress)
    with progress.track("comparing", "sentences", None):
        found = margin_pairs(vectors.of_sources(first.texts), vectors.of_targets(second.texts))
    pairs = [(i, j, score) for i, j, score in found if score >= least]
    if not pairs:
        raise DataError(
            f"no pair of {one} and {other} reaches the minimum score: check their languages, give "
            "more known translations, or lower --min-score"
        )
    write_rows(out, (f"{first.texts[i]}\t{second.texts[j]}\t{x:.3f}" for i, j, x in pairs))
    return Mined(
        out,
        n_sentences=(len(first.texts), len(second.texts)),
        n_pairs=len(pairs),
        median_score=median(score for *_, score in pairs),
    )


def _learned(known: Corpus, progress: Progress) -> "SentenceVectors":
    from yakusu.pipeline.aligning.sentence_vectors import learn_vectors  # loads torch

    pairs = [pair for pair in read_pairs(known) if all(pair)]
    if len(pairs) < _FEWEST:
        raise DataError(
            f"there are {len(pairs):,} known translations, and at least {_FEWEST:,} are needed "
            "to learn from: give more, with --src and --tgt"
        )
    if 2 * sum(src == tgt for src, tgt in pairs) > len(pairs):
        raise DataError(
            f"most lines of {known.src} and {known.tgt} are the same: give known translations, "
            "with --src and --tgt"
        )
    return learn_vectors(pairs, progress)


def _distinct(text: SentenceText) -> SentenceText:
    """The first of equal sentences."""
    first = {sentence: i for i, sentence in reversed([*enumerate(text.texts)])}
    kept = sorted(first.values())
    return SentenceText(
        text.path, text.language, [text.texts[i] for i in kept], [text.lines[i] for i in kept]
    )
