"""Glossaries: how the terms of a source language are to be translated.

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
from pathlib import Path
from typing import NamedTuple

from yakusu.data.markup import MARKS, is_closing, is_opening
from yakusu.data.text import raw_lines
from yakusu.data.words import units
from yakusu.errors import DataError

_log = logging.getLogger(__name__)
_HEADERS = {"source", "src", "source term", "term", "target", "tgt", "target term", "translation"}


@dataclass(frozen=True)
class Term:
    """A term of a glossary.

    Attributes:
        source: The term in the source language.
        target: Its translation.
    """

    source: str
    target: str


@dataclass
class _Node:
    """A node of the tree of all terms: what may follow some units, and the terms that end here."""

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
            source, target = _normalised(term.source), " ".join(term.target.split())
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
            for unit in units(term.source):
                node = node.children.setdefault(unit.casefold(), _Node())
            node.terms.append(term)

    @classmethod
    def read(cls, path: str | Path, *, languages: tuple[str, str] = ("", "")) -> "Glossary":
        """Read a glossary from a UTF-8 file with two columns, separated by a tab.

        Conflicts are logged as warnings.

        Empty lines and lines that begin with "#" are skipped, and so is a first line of column
        names: "source" and "target", or the codes of the languages.

        Args:
            path: The file; a name ending in .gz is decompressed.
            languages: The codes of the source and target languages; "" if unknown.

        Raises:
            DataError: The file cannot be read or is not UTF-8, or a line does not have two columns.
        """
        glossary = cls(_read(path, languages))
        for conflict in glossary.conflicts:
            _log.warning("%s: %s", path, conflict)
        return glossary

    def find(self, source: str) -> tuple[Term, ...]:
        """The terms that occur in a sentence as whole words, in the order of the sentence.

        No word boundary is needed in scripts without spaces. Of terms that overlap, the longest is
        found. A term in lower case matches any case; a term with capital letters matches exactly,
        in capital letters, or with a capital letter at the beginning of the sentence.
        """
        sentence = list(units(_normalised(_unmarked(source))))
        first = next((i for i, unit in enumerate(sentence) if unit.isalnum()), 0)
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
        return tuple(dict.fromkeys(match.term for match in chosen))

    def _matches(
        self, sentence: Sequence[str], start: int, *, is_first: bool
    ) -> Iterator["_Match"]:
        """The terms that begin at a unit of a sentence."""
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


class _Match(NamedTuple):
    """A term in a sentence."""

    place: range  # in the units of the sentence
    n_characters: int
    term: Term


def _fits(term: str, text: str, *, is_first: bool) -> bool:
    """Whether a term may be written like a text, from which it differs at most in case."""
    if term in (text, term.lower()) or text == term.upper():
        return True
    return is_first and text == term[:1].upper() + term[1:]


def _read(path: str | Path, languages: tuple[str, str]) -> Iterator[Term]:
    """The terms of a file, in order."""
    may_be_header = True
    for number, line in enumerate(raw_lines(path), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        term = _term(line, f"{path}, line {number}")
        if not (may_be_header and _is_header(term, languages)):
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


def _is_header(term: Term, languages: tuple[str, str]) -> bool:
    columns = term.source.lower(), term.target.lower()
    return set(columns) <= _HEADERS or columns == tuple(map(str.lower, languages))


def _unmarked(text: str) -> str:
    """A text without inline markup; what encloses nothing may be a line break."""
    return re.sub(
        MARKS, lambda found: "" if is_opening(found[0]) or is_closing(found[0]) else " ", text
    )


def _normalised(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())
