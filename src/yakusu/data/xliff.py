"""XLIFF 1.2 and 2.x: the units that have a target.

1.2   <trans-unit><source>Press <g id="1">Start</g>.</source><target>...</target></trans-unit>
2.x   <unit><segment><source>Press <pc id="1">Start</pc>.</source><target>...</target></segment>

The content of g, mrk and pc is text; that of bpt, ept, it and ph is native code.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from yakusu.data.languages import UnitLanguages, find_pair, language_pair
from yakusu.data.safexml import local_name, read_elements, text_of
from yakusu.data.text import Pair, PairFile, one_line

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_CODE = frozenset(("bpt", "ept", "it", "ph"))
_UNITS = ("trans-unit", "segment")
_PARENTS = ("group", "unit", "file")  # read only to be removed when they are complete


def read_xliff(file: PairFile) -> Iterator[Pair]:
    """Read a pair from each unit with a target.

    Raises:
        DataError: The file is malformed or lacks a language.
    """
    languages = UnitLanguages(file.path, language_pair(file.columns))
    untranslated = 0
    for unit in read_elements(file.path, "xliff", (*_UNITS, *_PARENTS)):
        if local_name(unit) not in _UNITS:
            continue
        sides = {local_name(child): child for child in unit if isinstance(child.tag, str)}
        if "source" not in sides:
            continue
        target = text_of(sides["target"], _CODE, file.path) if "target" in sides else ""
        if not target.strip():
            untranslated += 1
            continue
        codes = _languages(unit, languages.chosen)
        if found := languages.pick(codes, codes[0]):
            texts = text_of(sides["source"], _CODE, file.path), target
            yield one_line(texts[found[0]]), one_line(texts[found[1]])
    languages.check()
    for remark in languages.remarks():
        file.remark(remark)
    if untranslated:
        file.remark(f"{file.path}: {untranslated:,} units without a target were left out")


def xliff_languages(path: str) -> tuple[list[str], str]:
    """Return the languages of the first unit of a file, and its source language or "".

    Raises:
        DataError: The file is malformed.
    """
    for unit in read_elements(path, "xliff", _UNITS):
        codes = _languages(unit, None)
        return [code for code in codes if code], codes[0]
    return [], ""


def _languages(unit: "Element", chosen: tuple[str, str] | None) -> tuple[str, str]:
    """Return the source and target languages that the file or its root element states.

    Version 1.2 allows a file without a target language: it is taken for the chosen one.
    """
    for parent in unit.iterancestors("{*}file", "{*}xliff"):
        src = parent.get("source-language") or parent.get("srcLang")
        tgt = parent.get("target-language") or parent.get("trgLang")
        if src:
            break
    else:
        src, tgt = None, None
    if not tgt and src and chosen:
        tgt = chosen[0] if find_pair(chosen, (src,))[0] is None else chosen[1]
    return src or "", tgt or ""
