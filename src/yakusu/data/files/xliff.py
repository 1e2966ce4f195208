"""XLIFF 1.2 and 2.x: the units that have a finished target.

1.2   <trans-unit><source>Press <g id="1">Start</g>.</source><target>...</target></trans-unit>
2.x   <unit><segment><source>Press <pc id="1">Start</pc>.</source><target>...</target></segment>

The content of g, mrk and pc is text; that of bpt, ept, it and ph is native code. A unit of 1.2 may
be divided into segments, <mrk mtype="seg" mid="1">, of which some may lack a translation.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from yakusu.data.files.safexml import local_name, read_elements, text_of
from yakusu.data.files.text import Pair, PairFile, one_line
from yakusu.data.languages import UnitLanguages, find_pair, language_pair

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

HEAD = 2**16  # bytes of a file that show its format; it may begin with long comments
_IS_XLIFF = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<(?:.*<)??(?:\w+:)?xliff[\s>]", re.DOTALL
)
_CODE = frozenset(("bpt", "ept", "it", "ph"))
_UNITS = ("trans-unit", "unit")
_PARENTS = ("group", "file")  # read only to be removed when they are complete
_UNTRANSLATED = ("new", "initial", "needs-translation")
_MACHINE = re.compile(r".*-mt|mt-.*|.*:mt")  # state-qualifier of 1.2, subState of 2.x


def is_xliff(head: bytes) -> bool:
    """Whether a file whose first `HEAD` bytes are these is XLIFF, in any encoding."""
    return _IS_XLIFF.match(head.replace(b"\0", b"")) is not None


def read_xliff(file: PairFile) -> Iterator[Pair]:
    """Read a pair from each unit or segment with a finished target.

    Machine translations that nobody has reviewed are left out; what is left out is counted.

    Raises:
        DataError: The file is malformed or lacks a language.
    """
    wanted = language_pair(file.path, file.columns, lambda: xliff_languages(file.path)[0])
    languages = UnitLanguages(file.path, wanted)
    left_out = Counter[str]()
    for unit in read_elements(file.path, "xliff", (*_UNITS, *_PARENTS)):
        for texts, state in _segments(unit, file.path):
            if state or not texts[1].strip():
                left_out[state or "untranslated"] += 1
                continue
            codes = _languages(unit, languages.chosen)
            if found := languages.pick(codes, codes[0]):
                yield one_line(texts[found[0]]), one_line(texts[found[1]])
    languages.check()
    for remark in languages.remarks():
        file.remark(remark)
    if left_out:
        counts = ", ".join(f"{n:,} {state}" for state, n in sorted(left_out.items()))
        file.remark(f"{file.path}: units or segments left out: {counts}")


def _segments(unit: "Element", path: str) -> Iterator[tuple[Pair, str]]:
    """Yield the source and the target of each segment, and why it is not finished, or ""."""
    if local_name(unit) == "trans-unit":
        sides = _sides(unit)
        if "source" in sides:
            state = _state_1(unit, sides.get("target"))
            yield from ((pair, state) for pair in _marked_pairs(sides, path))
        return
    _insert_codes(unit)
    for segment in unit.iterfind("{*}segment"):
        sides = _sides(segment)
        if "source" in sides:
            state = _state(segment.get("state", ""), segment.get("subState", ""))
            yield _texts(sides, path), state if "target" in sides else ""


def _sides(unit: "Element") -> dict[str, "Element"]:
    return {local_name(child): child for child in unit if isinstance(child.tag, str)}


def _texts(sides: dict[str, "Element"], path: str) -> Pair:
    target = text_of(sides["target"], _CODE, path) if "target" in sides else ""
    return text_of(sides["source"], _CODE, path), target


def _marked_pairs(sides: dict[str, "Element"], path: str) -> Iterator[Pair]:
    """Yield the pairs of segments with the same number; the whole unit if a side has none."""
    sources = _marked(sides.get("seg-source", sides["source"]), path)
    targets = _marked(sides["target"], path) if "target" in sides else {}
    if not (sources and targets):
        yield _texts(sides, path)
        return
    for number, source in sources.items():
        target = targets.get(number, "")
        if source.strip() or target.strip():
            yield source, target


def _marked(side: "Element", path: str) -> dict[str, str]:
    """Return the text of each segment by its number; its parts may be in several elements."""
    found: dict[str, str] = {}
    for mark in side.iter("{*}mrk"):
        if mark.get("mtype") == "seg":
            number = mark.get("mid", "")
            found[number] = found.get(number, "") + text_of(mark, _CODE, path)
    return found


def _state_1(unit: "Element", target: "Element | None") -> str:
    """Return why a unit of XLIFF 1.2 is not finished, or ""."""
    if target is None or unit.get("approved") == "yes":
        return ""
    return _state(target.get("state", ""), target.get("state-qualifier", ""))


def _state(state: str, detail: str) -> str:
    if _MACHINE.fullmatch(detail):
        return "machine-translated"
    if state in _UNTRANSLATED:
        return "untranslated"
    return "unfinished" if state.startswith("needs-") else ""


def _insert_codes(unit: "Element") -> None:
    """Put the native code of placeholders, which XLIFF 2 stores apart, into them."""
    data = {each.get("id"): each.text for each in unit.iterfind("{*}originalData/{*}data")}
    for code in unit.iter("{*}ph"):
        code.text = data.get(code.get("dataRef"), code.text)


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
