"""Glossaries: terms of a source language with their translations.

A glossary is a text file with one term per line: the source term, a tab, and its translation.

    # anatomy
    heart valve	Herzklappe
    valve	Ventil
"""

import logging
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from yakusu import lazy
from yakusu.data.files.text import raw_lines
from yakusu.data.languages import closeness
from yakusu.data.lines.private_use import IS_SLOT, MARKS, UPPER_RANGE, is_closing, is_opening
from yakusu.data.lines.spans import SpanFinder
from yakusu.data.lines.words import words_and_characters
from yakusu.errors import DataError

_log = logging.getLogger(__name__)
_MARK = re.compile(MARKS)
_CLUSTER = lazy.compile(r"\s+|\X")
_RESERVED = lazy.compile(f"{IS_SLOT.pattern}|[{UPPER_RANGE}]")


class Term(NamedTuple):
    """A term of a glossary.

    Attributes:
        source: The term in the source language.
        target: Its translation.
    """

    source: str
    target: str


@dataclass
class _Node:
    """A node of the tree of all terms: what may follow some parts, and the terms that end here."""

    children: dict[str, "_Node"] = field(default_factory=dict)
    terms: list[Term] = field(default_factory=list)


class Glossary:
    """Terms and their translations.

    Terms are compared after Unicode normalisation (NFKC); several spaces count as one. Terms that
    are equal except for capital letters are different terms.

    Args:
        terms: The terms. If there are several translations of a term, the first is used.

    Attributes:
        terms: The terms that are used.
        conflicts: One sentence for each translation that is not used.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        targets: dict[str, str] = {}
        conflicts = []
        for term in terms:
            source, target = _normalised_places(term.source)[0], " ".join(term.target.split())
            first = targets.setdefault(source, target)
            if first != target:
                conflicts.append(
                    f"the term '{source}' is translated as '{first}' and as '{target}': the first "
                    "translation is used"
                )
        self.terms = tuple(Term(source, target) for source, target in targets.items())
        self.conflicts = tuple(dict.fromkeys(conflicts))
        self._root = _Node()
        for term in self.terms:
            node = self._root
            for part in words_and_characters(term.source):
                node = node.children.setdefault(part.casefold(), _Node())
            node.terms.append(term)

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], protected: SpanFinder) -> "Glossary":
        """Make a glossary of terms and their translations.

        Raises:
            DataError: A term or a translation is empty, or a term contains a protected span.
        """
        terms = []
        for source, target in pairs:
            terms.append(_term(f"{source.strip()}\t{target.strip()}", f"the term '{source}'"))
            _refuse_protected(terms[-1], "the glossary", protected)
        return cls(terms)

    @classmethod
    def read(
        cls,
        *paths: str | Path,
        languages: tuple[str, str] = ("", ""),
        protected: SpanFinder | None = None,
    ) -> "Glossary":
        """Read a glossary from UTF-8 files with two columns, separated by a tab.

        Conflicts are logged as warnings.

        Empty lines and lines that begin with "#" are skipped, and so is a first line of column
        names: "source" and "target", the codes of `languages`, or English names of languages.

        Args:
            paths: The files, whose terms are combined; a name ending in .gz is decompressed.
            languages: The codes of the source and target languages; "" if unknown.
            protected: Finds the parts of a text that are copied, so that they cannot be part of a
                source term; None: the built-in patterns.

        Raises:
            DataError: The file cannot be read or is not UTF-8, a line does not have two columns,
                or a source term contains a protected span.
        """
        finder = protected or SpanFinder()
        glossary = cls(term for path in paths for term in _read(path, languages, finder))
        for conflict in glossary.conflicts:
            _log.warning("%s: %s", " and ".join(map(str, paths)), conflict)
        return glossary

    def find(self, source: str) -> tuple[Term, ...]:
        """The terms that occur in a sentence as whole words, in the order of the sentence.

        No word boundary is needed in scripts without spaces. Of terms that overlap, the longest is
        found. A term in lower case matches any case; a term with capital letters matches exactly,
        in capital letters, or with a capital letter at the beginning of the sentence.
        """
        return tuple(dict.fromkeys(found.term for found in self.occurrences(_unmarked(source))))

    def occurrences(self, text: str) -> list["Occurrence"]:
        """Where terms occur in a text without inline markup, in order; see `find`."""
        if not self.terms:
            return []
        normalised, places = _normalised_places(text)
        sentence = list(words_and_characters(normalised))
        ends = [0, *accumulate(map(len, sentence))]
        first = next((i for i, part in enumerate(sentence) if part.isalnum()), 0)
        matches = [
            match
            for start in range(len(sentence))
            for match in self._matches(sentence, start, is_first=start <= first)
        ]
        matches.sort(key=lambda match: -match.n_characters)
        taken: set[int] = set()
        chosen = []
        for match in matches:
            if taken.isdisjoint(match.place):
                taken.update(match.place)
                chosen.append(match)
        chosen.sort(key=lambda match: match.place.start)
        return [
            Occurrence(
                places[ends[match.place.start]][0],
                places[ends[match.place.stop] - 1][1],
                match.term,
            )
            for match in chosen
        ]

    def _matches(
        self, sentence: Sequence[str], start: int, *, is_first: bool
    ) -> Iterator["_Match"]:
        """The terms that begin at a part of a sentence."""
        node: _Node | None = self._root
        for end in range(start + 1, len(sentence) + 1):
            node = node.children.get(sentence[end - 1].casefold()) if node else None
            if node is None:
                return
            text = "".join(sentence[start:end])
            fitting = [term for term in node.terms if _fits(term.source, text, is_first=is_first)]
            if fitting:
                exact = [term for term in fitting if term.source == text]
                yield _Match(range(start, end), len(text), (exact or fitting)[0])


def possible_terms(pairs: Iterable[tuple[str, str]], texts: Iterable[str]) -> list[tuple[str, str]]:
    """The terms, with their translations, that may occur in texts: few of a large glossary do."""
    text = "\n".join(_normalised_places(_unmarked(each))[0] for each in texts).casefold()
    return [
        (source, target)
        for source, target in pairs
        if _normalised_places(source)[0].casefold() in text
    ]


class Occurrence(NamedTuple):
    """A term in a text.

    Attributes:
        start: Position of its first character.
        end: Position after its last character.
        term: The term.
    """

    start: int
    end: int
    term: Term


class _Match(NamedTuple):
    """A term in a sentence."""

    place: range  # in the parts of the sentence
    n_characters: int
    term: Term


def _fits(term: str, text: str, *, is_first: bool) -> bool:
    """Whether a term matches a text, from which it differs at most in case."""
    if term in (text, term.lower()) or text == term.upper():
        return True
    return is_first and text == term[:1].upper() + term[1:]


def _read(path: str | Path, languages: tuple[str, str], protected: SpanFinder) -> Iterator[Term]:
    """The terms of a file, in order."""
    may_be_header = True
    for number, line in enumerate(raw_lines(path), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{path}, line {number}"
        term = _term(line, place)
        if not (may_be_header and _is_header(term, languages)):
            _refuse_protected(term, place, protected)
            yield term
        may_be_header = False


def _term(line: str, place: str) -> Term:
    columns = [column.strip() for column in line.split("\t")]
    if len(columns) != 2:
        noun = "column" if len(columns) == 1 else "columns"
        raise DataError(
            f"{place} has {len(columns)} {noun}: write the source term, one tab and its translation"
        )
    for column, side in zip(columns, ("source term", "translation"), strict=True):
        if not column:
            raise DataError(f"{place} has no {side}: add it or remove the line")
    return Term(*columns)


def _refuse_protected(term: Term, place: str, protected: SpanFinder) -> None:
    """Refuse reserved characters, and source terms with spans, which a translator replaces."""
    if found := _RESERVED.search(term.source + term.target):
        raise DataError(f"{place} has U+{ord(found[0]):04X}, a reserved character: remove it")
    if spans := protected.find(term.source):
        raise DataError(
            f"{place}: the term '{term.source}' contains '{spans[0].text}', which is copied as a "
            "protected span: remove the line, or the pattern that protects it (see --no-protect)"
        )


def _is_header(term: Term, languages: tuple[str, str]) -> bool:
    """Whether a first line names the columns: terms may look like codes of other languages."""
    from yakusu.data.files.tables import looks_like_header  # loads the reader of tables

    names = term.source, term.target
    are_codes = all(languages) and None not in map(closeness, languages, names)
    return are_codes or looks_like_header(names, ("", ""))


def _unmarked(text: str) -> str:
    """A text without inline markup; what encloses nothing may be a line break."""
    return _MARK.sub(
        lambda found: "" if is_opening(found[0]) or is_closing(found[0]) else " ", text
    )


def _normalised_places(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A normalised text, and where each of its characters begins and ends in the text."""
    characters: list[str] = []
    places: list[tuple[int, int]] = []
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    for found in _CLUSTER.finditer(text, start, end):
        own = " " if found[0].isspace() else unicodedata.normalize("NFKC", found[0])
        characters.append(own)
        places += [found.span()] * len(own)
    return "".join(characters), places
