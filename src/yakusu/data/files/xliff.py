"""XLIFF 1.x and 2.x: the units of a file, and those that have a finished target as pairs.

1.2   <trans-unit><source>Press <g id="1">Start</g>.</source><target>...</target></trans-unit>
2.x   <unit><segment><source>Press <pc id="1">Start</pc>.</source><target>...</target></segment>

The content of g, mrk and pc is text; that of bpt, ept, it and ph is native code. A unit of 1.2 may
be divided into segments, <mrk mtype="seg" mid="1">, of which some may lack a translation.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from yakusu.data.files.inline_codes import InlineCode
from yakusu.data.files.text import Pair, PairFile, one_line
from yakusu.data.files.units import FileUnit, utc_time
from yakusu.data.files.xliff_inline import inline_parts
from yakusu.data.files.xmlstream import is_line_break, stream_elements
from yakusu.data.files.xmltree import XML_SPACE, CharacterData, Element, Other
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


def unit_key(part: Element) -> str:
    """The name of the <trans-unit> or <unit> that a part belongs to, or its `id`; "": none."""
    unit = part.parent if part.name == "segment" and part.parent else part
    names = (unit.attributes.get(name, "") for name in ("resname", "name", "id"))
    return next(filter(None, names), "")


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
    for segment, order in _ordered(file):
        if order:
            yield one_line(segment.text(order[0])), one_line(segment.text(order[1]))


def xliff_units(file: PairFile) -> Iterator[FileUnit]:
    """Read all segments with their inline markup and keys; those left out are not finished.

    Raises:
        DataError: The file is malformed or lacks a language.
    """
    last = (0, 1)
    for segment, order in _ordered(file):
        last = order or last
        unit = segment.unit
        document = _document(unit)
        yield FileUnit(
            [*segment.parts(last[0])],
            [*segment.parts(last[1])],
            {
                "file": document.get("original", ""),
                "key": unit_key(unit),
                "time": utc_time(document.get("date", "")),
            },
            is_finished=order is not None,
            in_order=True,
            keeps_spaces=unit.inherited(XML_SPACE, "default") == "preserve",
        )


def _document(unit: Element) -> Mapping[str, str]:
    """The attributes of the <file> around a unit."""
    parent = unit.parent
    while parent and parent.name != "file":
        parent = parent.parent
    return parent.attributes if parent else {}


def _ordered(file: PairFile) -> Iterator[tuple["_Segment", tuple[int, int] | None]]:
    """Yield each segment, and which side is its source and its target; None: it is left out."""
    wanted = language_pair(file.path, file.columns, lambda: xliff_languages(file.path)[0])
    languages = UnitLanguages(file.path, wanted, file.choose)
    left_out = Counter[str]()
    for unit in _units(file.path):
        for segment in _segments(unit):
            if segment.reason:
                left_out[segment.reason] += 1
                yield segment, None
                continue
            codes = _languages(unit, languages.chosen)
            yield segment, languages.pick(codes, codes[0])
    languages.check()
    for remark in languages.remarks():
        file.remark(remark)
    if left_out:
        counts = ", ".join(f"{n:,} {state}" for state, n in sorted(left_out.items()))
        file.remark(f"{file.path}: units or segments left out: {counts}")


def _units(path: str) -> Iterator[Element]:
    return stream_elements(path, "xliff", lambda _, name: name in _UNITS)


@dataclass(frozen=True)
class _Segment:
    """A source and its target.

    Attributes:
        unit: The <trans-unit> or <unit> that contains them.
        sides: The elements of the source, and those of the target.
        native: Native code that is stored apart, by its identifier.
        state: Why the target is not finished, or "".
    """

    unit: Element
    sides: tuple[Sequence[Element], Sequence[Element]]
    native: Mapping[str | None, str]
    state: str

    def text(self, side: int) -> str:
        """The text of a side without native code."""
        return "".join(_text(element, self.native) for element in self.sides[side])

    @property
    def reason(self) -> str:
        """Why the segment is left out, or ""."""
        return self.state or ("" if self.text(1).strip() else "untranslated")

    def parts(self, side: int) -> Iterator[str | InlineCode]:
        """The texts and codes of a side."""
        for element in self.sides[side]:
            for part in inline_parts(element):
                if part.kind is None:
                    yield part.text
                else:
                    yield InlineCode(part.kind, part.name, part.link)


def _segments(unit: Element) -> Iterator[_Segment]:
    """Yield the segments of a unit."""
    native = {
        data.attributes.get("id"): data.text
        for each in unit.named("originalData")
        for data in each.named("data")
    }
    for part in xliff_parts(unit):
        state = _unfinished(part)
        is_unit = part.element.name == "trans-unit"
        sources = _marked(part.divided) if is_unit else {}
        targets = _marked(part.target) if part.target else {}
        if not (sources and targets):
            target = [part.target] if part.target else []
            yield _Segment(unit, ([part.source], target), native, state)
            continue
        for number, source in sources.items():
            segment = _Segment(unit, (source, targets.get(number, [])), native, state)
            if segment.text(0).strip() or segment.text(1).strip():
                yield segment


def _marked(side: Element) -> dict[str, list[Element]]:
    """Return the parts of each segment by its number; they may be in several elements."""
    found: dict[str, list[Element]] = {}
    for mark in marked_segments(side):
        found.setdefault(mark.attributes.get("mid", ""), []).append(mark)
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
