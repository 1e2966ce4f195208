"""Segments of a translated document that a person has corrected, for a memory.

    guide.docx             Save the file.                 the document that was translated
    guide.de.docx          Das File sichern.              its translation; optional
    guide.de.edited.docx   Speichern Sie die Datei.       the corrected translation

Without the translation, each text of the corrected document is confirmed; with it, those that were
changed. Forms of a plural that the source lacks have no source. PO and XLIFF have both sides:
there, the translations are confirmed that the file has, and the file before did not have.
"""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from yakusu.data.languages import same_language
from yakusu.data.lines.private_use import MARKS, is_break, is_closing, is_opening, number_of
from yakusu.data.lines.words import has_letter
from yakusu.data.segments import MemorySegment
from yakusu.documents.correspondence import edited_pairs, translated_pairs
from yakusu.documents.document import DocumentOptions, NamesForms
from yakusu.documents.registry import format_name, read_document
from yakusu.documents.suffixes import TABLES
from yakusu.errors import DataError, RecipeError
from yakusu.memory.importing import (
    Imported,
    ImportOptions,
    add_segments,
    memory_languages,
    segments_of_file,
)
from yakusu.memory.pairs import unmarked_line
from yakusu.memory.segments import with_number
from yakusu.memory.words import encoded, similarity

_log = logging.getLogger(__name__)
_BOTH_SIDES = ("messages.po", "messages.xliff")
_SEVERAL = "messages.apps.xcstrings"  # its files have all languages
_SIMILAR = 0.6  # words of two versions of a translation
_MARK = re.compile(MARKS)


def add_corrected(
    memory: Path,
    corrected: Path,
    source: Path,
    translated: Path | None,
    languages: tuple[str, str] | None,
    options: ImportOptions,
) -> Imported:
    """Add the texts of a corrected document to a memory, which is created if it does not exist.

    Args:
        memory: The memory.
        corrected: The document after a person corrected its translation.
        source: The document that was translated; of PO and XLIFF, also its translation.
        translated: The translation before it was corrected; None: all texts are confirmed.
        languages: Codes of the languages of the memory; None: those that it has.
        options: Origin of the segments, and who confirmed them.

    Raises:
        DataError: A document cannot be read or has another format, the documents do not
            correspond, or the memory has other languages or cannot be written. Nothing is added.
    """
    if corrected.suffix.lower() in TABLES:
        raise DataError(f"{corrected} is a table: add one that has both languages, without --from")
    paths = [path for path in (corrected, source, translated) if path]
    formats = [format_name(path) for path in paths]
    for path, found in zip(paths, formats, strict=True):
        if found != formats[0]:
            raise DataError(
                f"{path} has another format than {corrected}: give the documents from before and "
                "after the translation in the same format"
            )
    if formats[0] == _SEVERAL:
        raise DataError(
            f"{corrected} is a string catalogue, from which no memory is made: export it as .xliff "
            "from Xcode"
        )
    if any(path.samefile(corrected) for path in paths[1:]):
        raise DataError(f"{corrected} is given twice: name the document that was translated")
    codes = memory_languages(memory, languages)
    left_out = Counter[str]()
    if formats[0] in _BOTH_SIDES:
        if translated:
            raise RecipeError(f"{source} has both sides: omit --translated")
        segments = _newly_confirmed(corrected, source, codes, options, left_out)
    else:
        segments = _corrected(corrected, source, translated, codes, left_out)
    added = add_segments(memory, segments, corrected, codes, options)
    return Imported(added.added, left_out + added.left_out)


def _newly_confirmed(
    corrected: Path,
    before: Path,
    languages: tuple[str, str],
    options: ImportOptions,
    left_out: Counter[str],
) -> list[MemorySegment]:
    """The finished segments of a file with both sides that a file did not have before."""
    earlier = segments_of_file(before, languages, options, remark=_log.debug)
    known = {(each.source, each.target, each.key) for each in earlier}
    found = [*segments_of_file(corrected, languages, options)]
    new = [each for each in found if (each.source, each.target, each.key) not in known]
    left_out["unchanged"] += len(found) - len(new)
    return new


def _corrected(
    corrected: Path,
    source: Path,
    translated: Path | None,
    languages: tuple[str, str],
    left_out: Counter[str],
) -> list[MemorySegment]:
    """The segments of a corrected document.

    Raises:
        DataError: The documents do not correspond.
    """
    (texts, names), (edited, later_names) = (
        _texts(path, languages) for path in (source, corrected)
    )
    if translated is None:
        pairs = _named_pairs(names, later_names) or translated_pairs(texts, edited)
        pairs = _checked(pairs, texts, edited, (source, corrected))
        _refuse_translation(pairs, texts, edited, languages, (source, corrected))
        same = {j for i, j in pairs if edited[j] == texts[i]}
        left_out["not translated"] += len(same)
    else:
        made, made_names = _texts(translated, languages)
        sides = [(i, i) for i in range(len(made))]
        if len(texts) != len(made):  # a text without a letter is none
            sides = _named_pairs(names, made_names) or translated_pairs(texts, made)
            sides = _checked(sides, texts, made, (source, translated))
        _refuse_translation(sides, texts, made, languages, (source, translated))
        later = _checked(edited_pairs(made, edited), made, edited, (translated, corrected))
        source_of = {j: i for i, j in sides}
        pairs = [(source_of[j], k) for j, k in later if j in source_of]
        same = {k for j, k in later if made[j] == edited[k]}
        left_out["unchanged"] += len(same)
    left_out["of uncertain source"] += len(edited) - len(same | {k for _, k in pairs})
    changed = [(i, k) for i, k in pairs if k not in same]
    return [_segment(texts, i, edited[k], source.name) for i, k in changed]


_TextName = tuple[str, str]  # its key, and its plural category


def _texts(path: Path, languages: tuple[str, str]) -> tuple[Sequence[str], Sequence[_TextName]]:
    """The texts of a document, or the lines of a text file; and their names, if they have any.

    Raises:
        DataError: It cannot be read, or has no texts.
    """
    document = read_document(path, DocumentOptions(languages))
    texts = document.texts
    if format_name(path) == "text":
        lines = (line.strip() for text in texts for line in text.splitlines())
        texts = [line for line in lines if has_letter(line)]
    if not texts:
        raise DataError(f"{path} has no texts: check the path")
    if not isinstance(document, NamesForms) or not any(document.categories):
        return texts, ()
    return texts, [*zip(document.keys, document.categories, strict=True)]


def _named_pairs(names: Sequence[_TextName], others: Sequence[_TextName]) -> list[tuple[int, int]]:
    """The places of texts with the same names; a translation may have other forms of plurals."""
    if len(names) == len(others):
        return []
    places: tuple[dict[_TextName, list[int]], dict[_TextName, list[int]]] = ({}, {})
    for found, side in zip(places, (names, others), strict=True):
        for place, name in enumerate(side):
            found.setdefault(name, []).append(place)
    return [
        pair
        for name, own in places[0].items()
        if len(own) == len(places[1].get(name, ()))
        for pair in zip(own, places[1][name], strict=True)
    ]


def _checked(
    pairs: list[tuple[int, int]],
    texts: Sequence[str],
    others: Sequence[str],
    paths: tuple[Path, Path],
) -> list[tuple[int, int]]:
    """Refuse documents of which less than half of the texts correspond.

    Raises:
        DataError: They do not correspond.
    """
    n = min(len(texts), len(others))
    if 2 * len(pairs) < n:
        raise DataError(
            f"{paths[1]} does not correspond to {paths[0]}, since only {len(pairs):,} of {n:,} "
            "texts certainly do: name the document that was translated"
        )
    return pairs


def _refuse_translation(
    pairs: Sequence[tuple[int, int]],
    texts: Sequence[str],
    others: Sequence[str],
    languages: tuple[str, str],
    paths: tuple[Path, Path],
) -> None:
    """Refuse a translation in the place of the document that was translated.

    Raises:
        DataError: Most of the texts of both documents are similar.
    """
    if same_language(languages[0].partition("-")[0], languages[1].partition("-")[0]):
        return  # such as en and en-GB
    codes = [
        (encoded(unmarked_line(texts[i])), encoded(unmarked_line(others[j]))) for i, j in pairs
    ]
    n_similar = sum(similarity(*both) >= _SIMILAR for both in codes)
    if 2 * n_similar > len(pairs):
        raise DataError(
            f"{paths[0]} seems to be in the language of {paths[1]}: name the document that was "
            f"translated with --from and, if you like, its translation with --translated"
        )


def _segment(texts: Sequence[str], i: int, target: str, file: str) -> MemorySegment:
    """Text `i` of a document with its translation."""
    source, target = _with_same_marks(texts[i], target)
    before, after = texts[i - 1] if i else "", "".join(texts[i + 1 : i + 2])
    return MemorySegment(source, target, before, after, file)


def _with_same_marks(source: str, target: str) -> tuple[str, str]:
    """A source, and its target with the marks of the source.

    Both documents number their marks in their own order. Unless it is certain which marks
    correspond, both texts lose all of them.
    """
    marks = [
        [mark for mark in _MARK.findall(each) if not is_closing(mark)] for each in (source, target)
    ]
    own, others = (
        {kind: [*map(number_of, filter(kind, side))] for kind in _KINDS} for side in marks
    )
    n_marks = [len(own[kind]) for kind in _KINDS]
    if n_marks != [len(others[kind]) for kind in _KINDS] or max(n_marks[:2]) > 1:
        return unmarked_line(source), unmarked_line(target)
    numbers = {
        old: new for kind in _KINDS for old, new in zip(others[kind], own[kind], strict=True)
    }
    return source, _MARK.sub(lambda each: with_number(each[0], numbers[number_of(each[0])]), target)


def _is_empty(mark: str) -> bool:
    return not (is_opening(mark) or is_break(mark))


_KINDS = (is_opening, _is_empty, is_break)  # line breaks correspond in order
