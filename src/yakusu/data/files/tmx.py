"""TMX 1.4: translation memories with several languages per unit.

    <tu><tuv xml:lang="en"><seg>Press <hi>Start</hi>.</seg></tuv> <tuv xml:lang="de">...

The content of bpt, ept, it, ph and ut is native code, and so is a sub within them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from yakusu.data.files.inline_codes import CodeKind, InlineCode
from yakusu.data.files.safexml import local_name, read_elements, text_of, undefined_entity
from yakusu.data.files.text import Pair, PairFile, one_line
from yakusu.data.files.units import FileUnit, utc_time
from yakusu.data.files.xmlstream import is_line_break
from yakusu.data.languages import UnitLanguages, distinct, language_pair

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_CODE = frozenset(("bpt", "ept", "it", "ph", "ut"))
_INSPECTED_UNITS = 1000  # that tell which languages a file has
_ALL = "*all*"  # srclang of a file in which any language may be the source
# What tools call the fields of a segment, in lower case: the type of a <prop>.
PROPERTIES: Mapping[str, Sequence[str]] = {
    "before": ("prev", "x-context-pre", "x-before"),
    "after": ("next", "x-context-post", "x-after"),
    "file": ("file", "x-file", "x-document", "x-filename", "x-origfile", "x-original"),
    "key": ("id", "x-key", "x-context", "x-segment-id", "x-resname"),
    "origin": ("x-origin", "x-tm-name"),
}


def read_tmx(file: PairFile) -> Iterator[Pair]:
    """Read a pair from each unit that has both languages.

    Raises:
        DataError: The file is malformed or lacks a language.
    """
    for _, *sides in _picked(file):
        src, tgt = (text_of(side, _CODE, file.path) for side in sides)
        yield one_line(src), one_line(tgt)


def tmx_units(file: PairFile) -> Iterator[FileUnit]:
    """Read the same units as `read_tmx` with their inline markup and properties.

    Raises:
        DataError: The file is malformed or lacks a language.
    """
    for unit, *sides in _picked(file):
        own, variant = (side.getparent() for side in sides)
        assert own is not None and variant is not None
        about = _properties(chain(own, variant, unit), unit.get("tuid", ""))
        about["time"] = next(filter(None, map(utc_time, _stated("date", variant, unit))), "")
        about["who"] = next(_stated("id", variant, unit), "")
        source, target = ([*_parts(side, file.path)] for side in sides)
        yield FileUnit(source, target, about)


def _picked(file: PairFile) -> Iterator[tuple["Element", "Element", "Element"]]:
    """Yield each unit that has both languages, its source and its target."""
    wanted = language_pair(file.path, file.columns, lambda: tmx_languages(file.path)[0])
    languages = UnitLanguages(file.path, wanted, file.choose)
    srclang = ""
    for element in read_elements(file.path, "tmx", ("header", "tu")):
        if local_name(element) == "header":
            srclang = element.get("srclang", "")
            continue
        codes, segments = _segments(element)
        source = srclang if srclang and srclang != _ALL else element.get("srclang", "")
        if found := languages.pick(codes, source):
            yield element, segments[found[0]], segments[found[1]]
    languages.check()
    for remark in languages.remarks():
        file.remark(remark)


def tmx_languages(path: str) -> tuple[list[str], str]:
    """Return the languages of the first units of a file, and its source language or "".

    Raises:
        DataError: The file is malformed.
    """
    seen, srclang = dict[str, None](), ""
    for number, element in enumerate(read_elements(path, "tmx", ("header", "tu"))):
        if local_name(element) == "header":
            srclang = element.get("srclang", "")
        else:
            seen.update(dict.fromkeys(_segments(element)[0]))
        if number >= _INSPECTED_UNITS:
            break
    return distinct(seen), "" if srclang == _ALL else srclang


def _segments(unit: "Element") -> tuple[tuple[str, ...], list["Element"]]:
    """Return the language of each segment of a unit, and the segments."""
    prefix = str(unit.tag)[:-2]  # the namespace
    tuv, seg = f"{prefix}tuv", f"{prefix}seg"
    codes, segments = [], []
    for variant in unit:
        if variant.tag == tuv and (code := variant.get(_LANG) or variant.get("lang")):
            for segment in variant:
                if segment.tag == seg:
                    codes.append(code)
                    segments.append(segment)
    return tuple(codes), segments


# ---- what a unit says about its segment ----------------------------------------------------------


def _stated(what: str, *elements: "Element") -> Iterator[str]:
    """Yield the attributes changedate, creationdate of elements (or changeid, creationid)."""
    for element in elements:
        for event in ("change", "creation"):
            if value := element.get(event + what):
                yield value


def _properties(children: Iterator["Element"], tuid: str) -> dict[str, str]:
    """The fields that properties state; a unit without a key has its identifier."""
    stated: dict[str, str] = {}
    for child in children:
        if isinstance(child.tag, str) and local_name(child) == "prop" and child.text:
            text = child.text.strip().removeprefix("<seg>").removesuffix("</seg>")  # memoQ
            stated.setdefault(child.get("type", "").lower(), text)
    found = {
        field: next((stated[name] for name in names if stated.get(name)), "")
        for field, names in PROPERTIES.items()
    }
    return found | {"key": found["key"] or tuid}


def _parts(element: "Element", path: str) -> Iterator[str | InlineCode]:
    """The texts and codes of a segment."""
    yield element.text or ""
    for number, child in enumerate(element):
        if not isinstance(child.tag, str):
            raise undefined_entity(child, path)
        name, link = local_name(child), child.get("x")
        if name == "bpt":
            yield InlineCode(CodeKind.START, f"i {child.get('i', '')}", link)
        elif name == "ept":
            yield InlineCode(CodeKind.END, f"i {child.get('i', '')}")
        elif name in _CODE:
            content = "".join(map(str, child.itertext()))
            kind = CodeKind.BREAK if is_line_break(child.attrib, content) else CodeKind.EMPTY
            yield InlineCode(kind, content, link)
        else:
            own = f"{name} {element.sourceline} {number}"
            yield InlineCode(CodeKind.START, own, link or child.get("type", ""))
            yield from _parts(child, path)
            yield InlineCode(CodeKind.END, own)
        yield child.tail or ""
