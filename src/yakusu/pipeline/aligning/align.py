"""`align`: two texts or documents -> pairs of sentences that translate each other."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from yakusu.data.bitext.beads import Bead
from yakusu.data.bitext.beads import align as align_sentences
from yakusu.data.corpus import Corpus, checked_encoding
from yakusu.data.files.text import InvalidLines, language_of, read_lines
from yakusu.data.languages import require_language, same_language
from yakusu.data.lines.sentences import join, split
from yakusu.documents.document import plain_text
from yakusu.documents.registry import SUFFIXES, is_supported, read_document
from yakusu.errors import DataError, ModelError, RunError
from yakusu.folder import write_text
from yakusu.pipeline.aligning.misaligned import Fault, find_faults
from yakusu.pipeline.translate import open_translator
from yakusu.progress import Progress, Silent
from yakusu.search.config import SearchConfig

_MOST_SPLIT = 0.2  # of the lines of a text with one sentence a line: they have several
_FEW_SENTENCES, _FEW_MORE = 2.0, 0.05  # of a line; share of lines that only one text has
_HEADING = re.compile(r"[^.!?。！？]{0,40}?(\d{1,4})(?:\.\s(?=\S))?[^.!?。！？\d]{0,40}")
_LONGEST_HEADING = 60  # characters
_PARAGRAPH = 3  # sentences of an average paragraph that is an anchor
_SIMILAR, _FEW = 0.7, 0.05  # difference of log-lengths of paragraphs, and share of larger ones
_MANY, _UNRELATED = 500, 0.05  # pairs, and their median score if the texts are unrelated


@dataclass(frozen=True)
class Aligned:
    """Result of `align`.

    Attributes:
        out: The pairs: source, target and score, in three columns.
        left: The sentences that are in no pair: the file, the line or paragraph, and the sentence.
        n_sentences: Number of sentences of both texts.
        n_pairs: Number of pairs.
        n_left: Number of sentences of both texts that are in no pair.
        kinds: Number of pairs with p sentences of the source and q of the target, by "p-q".
        median_score: Median score of a pair.
        faults: What `check` finds in the pairs.
    """

    out: Path
    left: Path
    n_sentences: tuple[int, int]
    n_pairs: int
    n_left: tuple[int, int]
    kinds: dict[str, int]
    median_score: float
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in self.kinds.items())
        n_src, n_tgt = self.n_sentences
        lines = [
            f"{n_src:,} and {n_tgt:,} sentences; {self.n_pairs:,} pairs ({kinds}), median score "
            f"{self.median_score:.2f}: {self.out}",
            f"left out: {self.n_left[0]:,} and {self.n_left[1]:,} sentences: {self.left}",
        ]
        if self.median_score < _UNRELATED and self.n_pairs >= _MANY:
            lines.append(
                "warning: most scores are those of unrelated sentences: check that the files hold "
                "the same text in two languages"
            )
            return "\n".join(lines)
        return "\n".join([*lines, *(f"warning: {fault}" for fault in self.faults)])


@dataclass(frozen=True)
class _Sentences:
    """The sentences of a text.

    Attributes:
        path: The file.
        language: Code of the language; "" if unknown.
        texts: The sentences.
        lines: The line or paragraph of each sentence, from 1.
    """

    path: Path
    language: str
    texts: list[str]
    lines: list[int]

    @property
    def paragraphs(self) -> list[int]:
        """The first sentence of each line or paragraph."""
        return [i for i, line in enumerate(self.lines) if not i or line != self.lines[i - 1]]

    @property
    def headings(self) -> list[tuple[str, int]]:
        """The number in each heading, and the number of its sentence."""
        found = []
        for i, text in enumerate(self.texts):
            heading = _HEADING.fullmatch(text) if len(text) <= _LONGEST_HEADING else None
            if heading:
                found.append((heading[1], i))
        return found


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
    """Write the sentences of two texts that translate each other, in the same order, as pairs.

    The same texts give the same bytes. A text file with one sentence a line is aligned line by
    line, and so are two with nearly the same number of short lines; other lines and the paragraphs
    of documents are divided into sentences.

    Args:
        src: A text or a document in any format that `translate` reads.
        tgt: Its translation.
        out: The file of pairs (.tsv); what is left out is written next to it, as NAME.left.tsv.
        languages: Codes of both languages (default: those at the end of the names of the files).
        min_score: Leave out the pairs with a lower score. The score is a log-likelihood ratio
            for each known word: pairs of unrelated sentences are about 0 or less.
        model: Model folder of a translator from source to target. Its translations are then
            compared with the target in place of the source, as Bleualign does.
        encoding: Encoding of the text files that are not UTF-8, or those of both, separated by a
            comma (default: detected).
        progress: Progress reporter.

    Raises:
        DataError: A file cannot be read or has no sentences, a language is unknown, or both texts
            are the same.
        RecipeError: `encoding` is unknown.
        RunError: `out` is one of the files, is not a .tsv file, or cannot be written.
        ModelError: The model has other languages, or cannot be used.
    """
    out = Path(out)
    if out.suffix.lower() != ".tsv":
        raise RunError(f"--out {out} does not end in .tsv: name a file such as pairs.tsv")
    left = out.with_name(f"{out.stem}.left.tsv")
    if {out.resolve(), left.resolve()} & {Path(src).resolve(), Path(tgt).resolve()}:
        raise RunError(f"{out} would replace one of the texts: choose another file with --out")
    progress = progress or Silent()
    first, _, second = checked_encoding(encoding).partition(",")
    texts = _sentences_of(
        *(
            _Lines.read(
                Path(path), code and require_language(code, what="the language"), own.strip()
            )
            for path, code, own in zip((src, tgt), languages, (first, second or first), strict=True)
        )
    )
    one, other = texts
    if one.texts == other.texts:
        raise DataError(f"{src} and {tgt} are the same text: name a text and its translation")
    compared = _translated(one, other, model, progress) if model else one.texts
    with progress.track("aligning", "sentences", None):
        beads = align_sentences(
            compared, other.texts, _anchors(one, other), translated=model is not None
        )
    pairs = [
        bead for bead in beads if all(bead.sizes) and (min_score is None or bead.score >= min_score)
    ]
    if not pairs:
        raise DataError(
            f"no sentence of {src} has a translation in {tgt}: check that these are the same text "
            "in two languages, or lower --min-score"
        )
    rows = [f"{_text(one, x.src)}\t{_text(other, x.tgt)}\t{x.score:.2f}" for x in pairs]
    unpaired = list(_unpaired(texts, pairs))
    _write(out, rows)
    _write(left, (f"{text.path}\t{text.lines[i]}\t{text.texts[i]}" for text, i in unpaired))
    return Aligned(
        out,
        left,
        n_sentences=(len(one.texts), len(other.texts)),
        n_pairs=len(pairs),
        n_left=(
            sum(text is one for text, _ in unpaired),
            sum(text is other for text, _ in unpaired),
        ),
        kinds=_kinds(pairs),
        median_score=median(bead.score for bead in pairs),
        faults=find_faults(Corpus(pairs=str(out))),
    )


@dataclass(frozen=True)
class _Lines:
    """The lines of a text or the paragraphs of a document, as they are and as sentences.

    Attributes:
        path: The file.
        language: Code of the language; "" if unknown.
        lines: Each line, "" if it is blank.
        divided: The sentences of each line.
    """

    path: Path
    language: str
    lines: list[str]
    divided: list[list[str]]

    @classmethod
    def read(cls, path: Path, language: str, encoding: str) -> "_Lines":
        """Read a file; `encoding` as in `align`.

        Raises:
            DataError: It cannot be read, or has no sentences.
        """
        is_document = is_supported(path) and SUFFIXES.get(path.suffix.lower()) != "text"
        has_suffix = is_document or path.suffix.lower() in SUFFIXES
        language = language or language_of(path.stem if has_suffix else path)
        paragraphs: Iterable[str]
        if is_document:
            paragraphs = map(plain_text, read_document(path).texts)
        else:
            (name,) = Corpus(src=str(path), encoding=encoding).encodings
            errors = None if name == "utf-8" else InvalidLines(encoding=name)
            paragraphs = read_lines(path, errors=errors)
        lines = [" ".join(paragraph.split()) for paragraph in paragraphs]
        if not any(lines):
            raise DataError(f"{path} has no sentences: check the file")
        return cls(path, language, lines, [split(line, language) for line in lines])

    @property
    def n_filled(self) -> int:
        """Number of lines that are not blank."""
        return sum(map(bool, self.lines))

    @property
    def mean(self) -> float:
        """Sentences of a line that is not blank."""
        return sum(len(each) for each in self.divided if any(each)) / self.n_filled

    @property
    def are_sentences(self) -> bool:
        """Whether nearly all lines have one sentence."""
        return sum(len(each) > 1 for each in self.divided) <= _MOST_SPLIT * self.n_filled

    def sentences(self, *, whole: bool) -> _Sentences:
        """Return the sentences, or the lines that are not blank."""
        divided = [[line] for line in self.lines] if whole else self.divided
        found = [
            (text.strip(), i)
            for i, each in enumerate(divided, start=1)
            for text in each
            if text.strip()
        ]
        return _Sentences(
            self.path, self.language, [text for text, _ in found], [line for _, line in found]
        )


def _sentences_of(one: _Lines, other: _Lines) -> list[_Sentences]:
    """Return what is aligned of two texts: lines, where they correspond, or sentences."""
    few, many = sorted((one.n_filled, other.n_filled))
    correspond = many <= (1 + _FEW_MORE) * few and max(one.mean, other.mean) <= _FEW_SENTENCES
    return [each.sentences(whole=correspond or each.are_sentences) for each in (one, other)]


def _translated(
    one: _Sentences, other: _Sentences, model: str | Path, progress: Progress
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
                f"{' to '.join(translator.languages)}: use another model, or exchange the texts"
            )
    with progress.track("translating", "sentences", len(one.texts)) as tracker:
        found = []
        for best in translator.stream(one.texts):
            found.append(best[0].text)
            tracker.advance()
    return found


def _anchors(one: _Sentences, other: _Sentences) -> list[tuple[int, int]]:
    """The first sentences of headings or paragraphs that belong together.

    Headings do if their numbers are the same in both texts; paragraphs of several sentences, if
    both texts have as many, of similar lengths.
    """
    first, second = one.headings, other.headings
    if first and [number for number, _ in first] == [number for number, _ in second]:
        return [(i, j) for (_, i), (_, j) in zip(first, second, strict=True) if i and j]
    starts = one.paragraphs, other.paragraphs
    n = len(starts[0])
    if n != len(starts[1]) or _PARAGRAPH * n > max(len(one.texts), len(other.texts)):
        return []
    lengths = (
        np.log1p(np.add.reduceat([len(text) for text in each.texts], own))
        for each, own in zip((one, other), starts, strict=True)
    )
    ratio = np.subtract(*lengths)
    if np.mean(np.abs(ratio - np.median(ratio)) > _SIMILAR) > _FEW:
        return []
    return [(i, j) for i, j in zip(*starts, strict=True) if i and j]


def _text(text: _Sentences, side: tuple[int, int]) -> str:
    """The sentences of a side of a bead, in one line."""
    return join([(text.texts[i], " ") for i in range(*side)], text.language).strip()


def _unpaired(
    texts: Sequence[_Sentences], beads: Sequence[Bead]
) -> Iterator[tuple[_Sentences, int]]:
    """Yield the sentences that are in no bead."""
    for text, sides in zip(texts, ([x.src for x in beads], [x.tgt for x in beads]), strict=True):
        paired = {i for side in sides for i in range(*side)}
        yield from ((text, i) for i in range(len(text.texts)) if i not in paired)


def _kinds(beads: Sequence[Bead]) -> dict[str, int]:
    counts: dict[tuple[int, int], int] = {}
    for bead in beads:
        counts[bead.sizes] = counts.get(bead.sizes, 0) + 1
    return {f"{p}-{q}": counts[p, q] for p, q in sorted(counts)}


def _write(path: Path, lines: Sequence[str] | Iterator[str]) -> None:
    try:
        write_text(path, "".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise RunError(
            f"{path} cannot be written ({error.strerror}): choose another --out"
        ) from error
