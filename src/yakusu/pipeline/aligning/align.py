"""`align`: two texts or documents -> pairs of sentences and their translations."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from yakusu.data.bitext.beads import Bead, align_sentences
from yakusu.data.corpus import Corpus
from yakusu.data.languages import same_language
from yakusu.errors import DataError, ModelError, RunError
from yakusu.folder import write_text
from yakusu.pipeline.aligning.misaligned import Fault, find_faults
from yakusu.pipeline.aligning.texts import SentenceText, anchors, read_both
from yakusu.pipeline.translate import open_translator
from yakusu.progress import Progress, Silent
from yakusu.search.config import SearchConfig

_FEW = 200  # sentences; with fewer, words are not learned well
_LONGEST = 2**20  # bytes of a line
_MANY, _UNRELATED = 500, 0.05  # pairs, and their median score if the texts are unrelated


@dataclass(frozen=True)
class Aligned:
    """Result of `align`.

    Attributes:
        out: The pairs: source, target and score, in three columns.
        left: The sentences that are in no pair, each with its file and line or paragraph.
        n_sentences: Number of sentences of both texts.
        n_pairs: Number of pairs.
        n_left: Number of sentences of both texts that are in no pair.
        kinds: Number of pairs with p sentences of the source and q of the target, by "p-q".
        median_score: Median score of a pair.
        faults: What `check` finds in the pairs.
        n_equal: Number of pairs whose sides are the same.
        translated: Whether a model's translations of the source were compared.
    """

    out: Path
    left: Path
    n_sentences: tuple[int, int]
    n_pairs: int
    n_left: tuple[int, int]
    kinds: dict[str, int]
    median_score: float
    faults: tuple[Fault, ...]
    n_equal: int = 0
    translated: bool = False

    def __str__(self) -> str:
        kinds = "; ".join(f"{kind}: {n:,}" for kind, n in self.kinds.items())
        n_src, n_tgt = self.n_sentences
        lines = [
            f"{self.out}: {self.n_pairs:,} pairs ({kinds}) of {n_src:,} source and {n_tgt:,} "
            f"target sentences, median score {self.median_score:.2f} (unrelated sentences: "
            "about 0)",
            f"{self.left}: {self.n_left[0]:,} source and {self.n_left[1]:,} target sentences left "
            "out",
        ]
        if self.median_score < _UNRELATED and self.n_pairs >= _MANY:
            lines.append(
                "warning: most pairs score no better than unrelated sentences: check that the "
                "files contain the same text in two languages"
            )
            return "\n".join(lines)
        if 2 * self.n_equal > self.n_pairs:
            lines.append(
                f"warning: {self.n_equal:,} pairs have the same text on both sides: check that the "
                "files are in two languages"
            )
        n_joined = sum(n for kind, n in self.kinds.items() if kind in ("1-3", "3-1"))
        if 2 * n_joined > self.n_pairs > 10:
            lines.append(
                "warning: most pairs join three sentences with one, because one text has far fewer "
                "sentences: check that both files contain the whole text"
            )
        is_regular = {*self.kinds} == {"1-1"} and not any(self.n_left)
        if min(n_src, n_tgt) < _FEW and not self.translated and not is_regular:
            lines.append(
                f"warning: with fewer than {_FEW} sentences, word matches are unreliable: check "
                "the pairs, or compare translations (--model)"
            )
        return "\n".join([*lines, *(f"warning: {fault}" for fault in self.faults)])


def align(
    src: str | Path,
    tgt: str | Path,
    out: str | Path,
    *,
    languages: tuple[str, str] = ("", ""),
    min_score: float | None = None,
    model: str | Path | None = None,
    encoding: str = "",
    progress: Progress | None = None,
) -> Aligned:
    """Pair the sentences of a text with those of its translation, and write the pairs to a file.

    Both texts must have the same order; the same texts give the same bytes. A text file with one
    sentence per line is aligned line by line, and so are two files with nearly the same number of
    short lines; other lines and the paragraphs of documents are divided into sentences.

    Args:
        src: A text or a document in any format that `translate` reads.
        tgt: Its translation.
        out: The file of pairs (.tsv); what is left out is written next to it, as NAME.left.tsv.
        languages: Codes of both languages (default: taken from the end of the file names).
        min_score: Leave out the pairs with a lower score. The score is a log-likelihood ratio
            per known word: pairs of unrelated sentences score about 0 or less.
        model: Model folder of a translator from source to target. Its translations, instead of the
            source, are then compared with the target, as in Bleualign.
        encoding: Encoding of text files that are not UTF-8, or one encoding per file, separated by
            a comma (default: detected).
        progress: Progress reporter.

    Raises:
        DataError: A file cannot be read or has no sentences, a language is unknown, or both texts
            are the same.
        RecipeError: `encoding` is unknown.
        RunError: `out` is one of the files, is not a .tsv file, exists without aligned pairs, or
            cannot be written.
        ModelError: The model has other languages, or cannot be used.
    """
    out, left = pair_files(Path(out), Path(src), Path(tgt))
    progress = progress or Silent()
    one, other = texts = read_both(Path(src), Path(tgt), languages, encoding)
    if one.texts == other.texts:
        raise DataError(f"{src} and {tgt} contain the same text: pass a text and its translation")
    pairs = [
        bead
        for bead in _aligned(one, other, model, progress)
        if all(bead.sizes) and (min_score is None or bead.score >= min_score)
    ]
    if not pairs:
        raise DataError(
            f"no sentence of {src} has a translation in {tgt}: check that both contain the same "
            "text in two languages, or lower --min-score"
        )
    rows = [
        f"{one.joined(range(*x.src))}\t{other.joined(range(*x.tgt))}\t{x.score:.2f}" for x in pairs
    ]
    unpaired = list(_unpaired(texts, pairs))
    write_rows(out, rows)
    write_rows(left, (f"{text.path}\t{text.lines[i]}\t{text.texts[i]}" for text, i in unpaired))
    return Aligned(
        out,
        left,
        n_sentences=(len(one.texts), len(other.texts)),
        n_pairs=len(pairs),
        n_left=(
            sum(text is one for text, _ in unpaired),
            sum(text is other for text, _ in unpaired),
        ),
        kinds={f"{p}-{q}": n for (p, q), n in sorted(Counter(x.sizes for x in pairs).items())},
        median_score=median(bead.score for bead in pairs),
        faults=find_faults(Corpus(pairs=str(out))),
        n_equal=sum(len({*row.split("\t")[:2]}) == 1 for row in rows),
        translated=model is not None,
    )


def pair_files(out: Path, src: Path, tgt: Path) -> tuple[Path, Path]:
    """The files of pairs and of what is left out.

    Raises:
        RunError: They are not .tsv files, one of them is a text or another file that was not
            written here, or their folder does not exist.
    """
    if out.suffix.lower() != ".tsv":
        raise RunError(f"--out {out} does not end in .tsv: choose a name such as pairs.tsv")
    left = out.with_name(f"{out.stem}.left.tsv")
    if {out.resolve(), left.resolve()} & {src.resolve(), tgt.resolve()}:
        raise RunError(f"{out} would replace one of the texts: choose another file with --out")
    if not out.parent.is_dir():
        raise RunError(f"{out.parent} is not a folder: create it, or choose another --out")
    for path in (out, left):
        if path.exists() and not _is_output(path):
            raise RunError(f"{path} exists, and has no aligned pairs: choose another --out")
    return out, left


def _is_output(path: Path) -> bool:
    """Whether a file begins with a pair and its score, or a file name and a line number."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        first = file.readline(_LONGEST).rstrip(b"\n")
    fields = first.split(b"\t")
    score = fields[-1].removeprefix(b"-").replace(b".", b"", 1)
    return not first or (len(fields) == 3 and (score.isdigit() or fields[1].isdigit()))


def _aligned(
    one: SentenceText, other: SentenceText, model: str | Path | None, progress: Progress
) -> Sequence[Bead]:
    """Align two texts, the first of which is compared as it is, or as a model translates it."""
    compared = _translated(one, other, model, progress) if model else one.texts
    with progress.track("aligning", "sentences", None):
        return align_sentences(
            compared, other.texts, anchors(one, other), translated=model is not None
        )


def _translated(
    one: SentenceText, other: SentenceText, model: str | Path, progress: Progress
) -> list[str]:
    """The translations of a text into the language of the other one, by greedy search."""
    translator = open_translator(model, SearchConfig(beam=1))
    if translator.task_name != "translation":
        raise ModelError(f"{model} is a {translator.task.model_noun}: use a translator")
    if translator.targets and other.language:
        translator = translator.translating_to(other.language)
    for text, known in zip((one, other), translator.languages, strict=True):
        if text.language and known and not same_language(text.language, known):
            raise ModelError(
                f"{text.path} is in {text.language}, but {model} translates from "
                f"{' to '.join(translator.languages)}: use another model, or swap the texts"
            )
    with progress.track("translating", "sentences", len(one.texts)) as tracker:
        found = []
        for best in translator.stream(one.texts):
            found.append(best[0].text)
            tracker.advance()
    return found


def _unpaired(
    texts: Sequence[SentenceText], beads: Sequence[Bead]
) -> Iterator[tuple[SentenceText, int]]:
    """Yield the sentences that are in no bead."""
    for text, sides in zip(texts, ([x.src for x in beads], [x.tgt for x in beads]), strict=True):
        paired = {i for side in sides for i in range(*side)}
        yield from ((text, i) for i in range(len(text.texts)) if i not in paired)


def write_rows(path: Path, lines: Sequence[str] | Iterator[str]) -> None:
    try:
        write_text(path, "".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise RunError(
            f"{path} cannot be written ({error.strerror}): choose another file with --out"
        ) from error
