"""The sentences of two texts that are aligned, and those that surely belong together.

file -> lines or paragraphs -> sentences, unless the lines are sentences, or correspond as they are
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from yakusu.data.corpus import Corpus, checked_encoding
from yakusu.data.files.text import InvalidLines, language_of, read_lines
from yakusu.data.languages import require_language
from yakusu.data.lines.sentences import join, split
from yakusu.documents.document import plain_text
from yakusu.documents.registry import is_supported, read_document
from yakusu.documents.suffixes import SUFFIXES
from yakusu.errors import DataError

_MOST_SPLIT = 0.2  # of the lines of a text with one sentence a line: they have several
_FEW_SENTENCES, _FEW_MORE = 2.0, 0.05  # of a line; share of lines that only one text has
_HEADING = re.compile(r"[^.!?。！？]{0,40}?(\d{1,4})(?:\.\s(?=\S))?[^.!?。！？\d]{0,40}")
_LONGEST_HEADING = 60  # characters
_PARAGRAPH = 3  # sentences of an average paragraph that is an anchor
_SIMILAR, _FEW = 0.7, 0.05  # difference of log-lengths of paragraphs, and share of larger ones


@dataclass(frozen=True)
class SentenceText:
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

    def joined(self, part: range) -> str:
        """Some of the sentences, in one line."""
        return join([(self.texts[i], " ") for i in part], self.language).strip()


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
        """Read a file; `encoding` as in `read_both`.

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

    def sentences(self, *, whole: bool) -> SentenceText:
        """Return the sentences, or the lines that are not blank."""
        divided = [[line] for line in self.lines] if whole else self.divided
        found = [
            (text.strip(), i)
            for i, each in enumerate(divided, start=1)
            for text in each
            if text.strip()
        ]
        return SentenceText(
            self.path, self.language, [text for text, _ in found], [line for _, line in found]
        )


def read_both(
    src: Path, tgt: Path, languages: tuple[str, str], encoding: str
) -> tuple[SentenceText, SentenceText]:
    """Read what is aligned of two texts: lines, where they correspond, or sentences.

    Args:
        src: A text or a document.
        tgt: Its translation.
        languages: Codes of both languages; "": those at the end of the names of the files.
        encoding: Encoding of the text files that are not UTF-8, or those of both, separated by a
            comma; "": detected.

    Raises:
        DataError: A file cannot be read or has no sentences, or a language is unknown.
        RecipeError: `encoding` is unknown.
    """
    one, other = _read_lines_of(src, tgt, languages, encoding)
    few, many = sorted((one.n_filled, other.n_filled))
    correspond = many <= (1 + _FEW_MORE) * few and max(one.mean, other.mean) <= _FEW_SENTENCES
    return (
        one.sentences(whole=correspond or one.are_sentences),
        other.sentences(whole=correspond or other.are_sentences),
    )


def read_apart(
    one: Path, other: Path, languages: tuple[str, str], encoding: str
) -> tuple[SentenceText, SentenceText]:
    """Read the sentences of two texts that do not correspond; see `read_both`."""
    first, second = _read_lines_of(one, other, languages, encoding)
    return first.sentences(whole=first.are_sentences), second.sentences(whole=second.are_sentences)


def _read_lines_of(
    src: Path, tgt: Path, languages: tuple[str, str], encoding: str
) -> tuple[_Lines, _Lines]:
    first, _, second = checked_encoding(encoding).partition(",")
    one, other = (
        _Lines.read(path, code and require_language(code, what="the language"), own.strip())
        for path, code, own in zip((src, tgt), languages, (first, second or first), strict=True)
    )
    return one, other


def anchors(one: SentenceText, other: SentenceText) -> list[tuple[int, int]]:
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
