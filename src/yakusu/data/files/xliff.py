"""XLIFF 1.x and 2.x: the units of a file, and those that have a finished target as pairs.

1.2   <trans-unit><source>Press <g id="1">Start</g>.</source><target>...</target></trans-unit>
2.x   <unit><segment><source>Press <pc id="1">Start</pc>.</source><target>...</target></segment>

The content of g, mrk and pc is text; that of bpt, ept, it and ph is native code. A unit of 1.2 may
be divided into segments, <mrk mtype="seg" mid="1">, of which some may lack a translation.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from yakusu.data.files.text import Pair, PairFile, one_line
from yakusu.data.files.xmlstream import is_line_break, stream_elements
from yakusu.data.files.xmltree import CharacterData, Element, Other
from yakusu.data.languages import UnitLanguages, find_pair, language_pair

HEAD = 2**16  # bytes of a file that show its format; it may begin with long comments
_IS_XLIFF = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<(?:.*<)??(?:\w+:)?xliff[\s>]", re.DOTALL
)
_CODE = frozenset(("bpt", "ept", "it", "ph"))
_UNITS = ("trans-unit", "unit")
UNTRANSLATED = ("new", "needs-translation", "initial")  # states of a target that copies the source
LANGUAGES = ("source-language", "target-language"), ("srcLang", "trgLang")  # XLIFF 1.x, 2.x
_MACHINE = re.compile(r".*-mt|mt-.*|.*:mt")  # state-qualifier of 1.2, subState of 2.x


@dataclass(frozen=True)
class XliffPart:
    """A <trans-unit> of XLIFF 1.x or a <segment> of 2.x.

    Attributes:
        element: The element.
        source: Its <source>.
        target: Its <target>, if it has one.
    """

    element: Element
    source: Element
    target: Element | None

    @property
    def state(self) -> str:
        """The state of the target, or ""."""
        return self._attribute("state", "state")

    @property
    def detail(self) -> str:
        """What the state means in more detail: "leveraged-mt", "yakusu:mt", or ""."""
        return self._attribute("state-qualifier", "subState")

    def _attribute(self, name_1: str, name_2: str) -> str:
        if self.element.name == "segment":
            return self.element.attributes.get(name_2, "")
        return self.target.attributes.get(name_1, "") if self.target else ""

    @property
    def divided(self) -> Element:
        """The source as divided into segments, if it is."""
        return next(iter(self.element.named("seg-source")), self.source)


def xliff_parts(unit: Element) -> Iterator[XliffPart]:
    """Yield the parts of a <trans-unit> or <unit> that have a source."""
    for element in [unit] if unit.name == "trans-unit" else unit.named("segment"):
        for source in element.named("source")[:1]:
            yield XliffPart(element, source, next(iter(element.named("target")), None))


def marked_segments(side: Element) -> list[Element]:
    """Return the elements for the segments of a <source>, <seg-source> or <target> of XLIFF 1.2.

    An element within one of them is not a segment of its own.
    """
    found: list[Element] = []
    for element in side.descendants():
        is_segment = element.name == "mrk" and element.attributes.get("mtype") == "seg"
        if is_segment and not (found and element.start < found[-1].inner_end):
            found.append(element)
    return found


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
    for unit in _units(file.path):
        for texts, state in _segments(unit):
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


def _units(path: str) -> Iterator[Element]:
    return stream_elements(path, "xliff", lambda _, name: name in _UNITS)


def _segments(unit: Element) -> Iterator[tuple[Pair, str]]:
    """Yield the source and the target of each segment, and why it is not finished, or ""."""
    native = {
        data.attributes.get("id"): data.text
        for each in unit.named("originalData")
        for data in each.named("data")
    }
    for part in xliff_parts(unit):
        state = _unfinished(part)
        for pair in _pairs(part, native):
            yield pair, state


def _pairs(part: XliffPart, native: Mapping[str | None, str]) -> Iterator[Pair]:
    """Yield the pairs of segments with the same number; the whole unit if a side has none."""
    is_unit = part.element.name == "trans-unit"
    sources = _marked(part.divided, native) if is_unit else {}
    targets = _marked(part.target, native) if part.target else {}
    if not (sources and targets):
        target = _text(part.target, native) if part.target else ""
        yield _text(part.source, native), target
        return
    for number, source in sources.items():
        target = targets.get(number, "")
        if source.strip() or target.strip():
            yield source, target


def _marked(side: Element, native: Mapping[str | None, str]) -> dict[str, str]:
    """Return the text of each segment by its number; its parts may be in several elements."""
    found: dict[str, str] = {}
    for mark in marked_segments(side):
        number = mark.attributes.get("mid", "")
        found[number] = found.get(number, "") + _text(mark, native)
    return found


def _text(element: Element, native: Mapping[str | None, str]) -> str:
    """The text of a segment without native code.

    An element that stands for a line break becomes a space, because words may touch it.

    Args:
        element: The segment.
        native: Native code that is stored apart, by its identifier.
    """
    parts = []
    for child in element.children:
        if isinstance(child, CharacterData):
            parts.append(child.text)
        elif not isinstance(child, Other):
            is_code = child.name in _CODE
            code = native.get(child.attributes.get("dataRef"), child.text) if is_code else ""
            if is_line_break(child.attributes, code):
                parts.append(" ")
            if not is_code:
                parts.append(_text(child, native))
    return "".join(parts)


def _unfinished(part: XliffPart) -> str:
    """Return why a translation is not finished, or ""."""
    if part.target is None or part.element.attributes.get("approved") == "yes":
        return ""
    if _MACHINE.fullmatch(part.detail):
        return "machine-translated"
    if part.state in UNTRANSLATED:
        return "untranslated"
    return "unfinished" if part.state.startswith("needs-") else ""


def xliff_languages(path: str) -> tuple[list[str], str]:
    """Return the languages of the first unit of a file, and its source language or "".

    Raises:
        DataError: The file is malformed.
    """
    for unit in _units(path):
        codes = _languages(unit, None)
        return [code for code in codes if code], codes[0]
    return [], ""


def _languages(unit: Element, chosen: tuple[str, str] | None) -> tuple[str, str]:
    """Return the source and target languages that the file or its root element states.

    Version 1.2 allows a file without a target language: it is taken for the chosen one.
    """
    src = tgt = ""
    parent = unit.parent
    while parent and not src:
        if parent.name in ("file", "xliff"):
            src, tgt = (
                next(filter(None, map(parent.attributes.get, names)), "")
                for names in zip(*LANGUAGES, strict=True)
            )
        parent = parent.parent
    if not src:
        return "", ""
    if not tgt and chosen:
        tgt = chosen[0] if find_pair(chosen, (src,))[0] is None else chosen[1]
    return src, tgt
