"""`mine`: two texts that are no translations of each other -> the sentences that are."""

from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from yakusu.data.bitext.lexical import lexical_vectors
from yakusu.data.bitext.margin import margin_pairs
from yakusu.errors import DataError
from yakusu.pipeline.aligning.outputs import pair_files, write_rows
from yakusu.pipeline.aligning.texts import SentenceText, read_apart
from yakusu.pipeline.aligning.translations import translations_of
from yakusu.progress import Progress, Silent

MIN_MARGIN = 1.2


@dataclass(frozen=True)
class Mined:
    """Result of `mine`.

    Attributes:
        out: The pairs: source, target and margin, in three columns, the highest margin first.
        n_sentences: Number of different sentences of both texts.
        n_pairs: Number of pairs.
        median_margin: Median margin of a pair.
    """

    out: Path
    n_sentences: tuple[int, int]
    n_pairs: int
    median_margin: float

    def __str__(self) -> str:
        n_src, n_tgt = self.n_sentences
        return (
            f"{self.out}: {self.n_pairs:,} pairs of {n_src:,} source and {n_tgt:,} target "
            f"sentences, median margin {self.median_margin:.2f} (unrelated sentences: about 1)"
        )


def mine(
    src: str | Path,
    tgt: str | Path,
    out: str | Path,
    *,
    model: str | Path,
    languages: tuple[str, str] = ("", ""),
    min_margin: float | None = None,
    encoding: str = "",
    progress: Progress | None = None,
) -> Mined:
    """Find the sentences of two texts that translate each other, in any order.

    The sentences of the source are translated, and their translations compared with the sentences
    of the target by the words that they share. A pair is kept if its cosine is higher than those of
    the nearest other sentences by a margin (Artetxe and Schwenk, 2019). The same texts give the
    same bytes.

    Args:
        src: A text or a document; a sentence that it repeats counts once.
        tgt: A text or a document in the other language.
        out: The file of pairs (.tsv).
        model: Model folder of a translator from source to target.
        languages: Codes of both languages (default: taken from the end of the file names).
        min_margin: Leave out the pairs with a lower margin, which is about 1 for unrelated
            sentences; None: 1.2.
        encoding: Encoding of text files that are not UTF-8, or one encoding per file, separated by
            a comma (default: detected).
        progress: Progress reporter.

    Raises:
        DataError: A file cannot be read or has no sentences, a language is unknown, or no pair was
            found.
        RecipeError: `encoding` is unknown.
        RunError: `out` is one of the files, is not a .tsv file, or cannot be written.
        ModelError: The model has other languages, or cannot be used.
    """
    out, _ = pair_files(Path(out), Path(src), Path(tgt))
    progress = progress or Silent()
    one, other = map(_distinct, read_apart(Path(src), Path(tgt), languages, encoding))
    translated = translations_of(one, other, model, progress)
    with progress.track("comparing", "sentences", None):
        vectors = lexical_vectors([*translated, *other.texts])
        found = margin_pairs(*np.split(vectors, [len(translated)]))
    least = MIN_MARGIN if min_margin is None else min_margin
    pairs = [(i, j, margin) for i, j, margin in found if margin >= least]
    if not pairs:
        raise DataError(
            f"no sentence of {src} has a translation in {tgt}: check their languages, or lower "
            "--min-margin"
        )
    write_rows(out, (f"{one.texts[i]}\t{other.texts[j]}\t{score:.3f}" for i, j, score in pairs))
    return Mined(
        out,
        n_sentences=(len(one.texts), len(other.texts)),
        n_pairs=len(pairs),
        median_margin=median(margin for *_, margin in pairs),
    )


def _distinct(text: SentenceText) -> SentenceText:
    """The first of equal sentences."""
    first = {sentence: i for i, sentence in reversed([*enumerate(text.texts)])}
    kept = sorted(first.values())
    return SentenceText(
        text.path, text.language, [text.texts[i] for i in kept], [text.lines[i] for i in kept]
    )
