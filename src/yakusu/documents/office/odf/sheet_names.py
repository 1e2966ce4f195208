"""The names of the sheets of OpenDocument: a name changes in all references, or stays.

    <table:table table:name="Sales">    table:formula="of:=[$Sales.A1]"    xlink:href="#Sales.A1"

References are in attributes, also of charts and settings. A name stays if a constant of a formula
contains it.
"""

import html
import re
from collections.abc import Iterator, Set

from yakusu.data.files.xmltree import escaped
from yakusu.documents.office.odf.package import CONTENT, STYLES, DocumentArchive
from yakusu.documents.office.parts import DocumentTexts, read_part
from yakusu.documents.office.sheet_names import Rename, SheetNames, with_anchor

_ATTRIBUTE = r"""\s++[\w.:-]++\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+')"""
_TAG = re.compile(rf"<[A-Za-z][\w.:-]*+(?:{_ATTRIBUTE})++\s*+/?>")
_VALUE = re.compile(r"""((?<!\s)\s++(?:[\w.-]++:)?([\w.-]++)\s*+=\s*+)("[^"<]*+"|'[^'<]*+')""")
_SHEET = re.compile(r"<(?:[\w.-]{1,20}:)?(?:table|config-item-map-entry)\s")
_TABLE = re.compile(r"<(?:[\w.-]{1,20}:)?table\s")
_ACTIVE = re.compile(r"""(<[\w.:-]*config-item\s[^<>]*=["']ActiveTable["'][^<>]*>)([^<]+)""")
_REFERENCE = re.compile(  # a constant; the name of a sheet before the address of a cell
    r"""("(?:[^"]|"")*+"?)|(?<!'\#)(?<!'\#\$)(?<![\w.])('(?:[^']|'')*+'?|[^\W\d]\w*+)"""
    r"(\.(?:\$?[A-Za-z]{1,3}\$?\d|\$?[A-Za-z]{1,3}[:\]]|\#REF))?"
)
_MAKES_REFERENCES = re.compile(r"\b(?:INDIRECT\(|ADDRESS\(|SHEET\(|HYPERLINK\([^;&]{0,1000}+&)")
_TEXTS = ("string-value", "title", "desc", "name", "display-name")  # attributes of text
_PLAIN = re.compile(r"[^\W\d]\w*")  # a name that needs no quotes
_EXTERNAL = re.compile("'?file:")


class OdfSheetNames(SheetNames):
    """The names of the sheets of a spreadsheet.

    Args:
        archive: The spreadsheet.
        texts: Receives the names that can change.
    """

    makes_references = _MAKES_REFERENCES
    reason = "a text in a formula contains the name of the sheet"

    def __init__(self, archive: DocumentArchive, texts: DocumentTexts) -> None:
        own = (CONTENT, STYLES, "settings.xml")
        super().__init__(
            archive,
            [name for name in archive.names if name in own or name.endswith(f"/{CONTENT}")],
            [*_names_in(read_part(archive, CONTENT).content.decode())],
            texts,
            has_macros=any(name.startswith(("Basic/", "Scripts/")) for name in archive.names),
        )

    def formulas(self, content: str) -> Iterator[str]:
        """The formulas of a part."""
        for attribute, value in _attributes(content):
            if attribute in ("formula", "condition", "expression"):
                yield value

    def occurring(self, constants: Set[str]) -> set[str]:
        """The names that constants of formulas contain."""
        every = "\n".join(constants).casefold()
        return {name for name in self._names if name.casefold().replace("'", "''") in every}

    def with_names(self, content: str, rename: Rename) -> str:
        """A part with other names of sheets."""

        def in_tag(tag: re.Match[str]) -> str:
            is_sheet = _SHEET.match(tag[0]) is not None
            return _VALUE.sub(lambda found: _with_value(found, rename, is_sheet=is_sheet), tag[0])

        def active(found: re.Match[str]) -> str:
            old = html.unescape(found[2])
            return found[0] if rename(old) == old else found[1] + escaped(rename(old))

        return _ACTIVE.sub(active, _TAG.sub(in_tag, content))


def _names_in(content: str) -> Iterator[str]:
    """The names of the sheets, in their order."""
    for tag in _TAG.finditer(content):
        if _TABLE.match(tag[0]):
            values = [v for k, v in _attributes(tag[0]) if k == "name"]
            yield from (each for each in values[:1] if not _EXTERNAL.match(each))


def _attributes(content: str) -> Iterator[tuple[str, str]]:
    """The local names and values of all attributes."""
    for tag in _TAG.finditer(content):
        for found in _VALUE.finditer(tag[0]):
            yield found[2], html.unescape(found[3][1:-1])


def _with_value(found: re.Match[str], rename: Rename, *, is_sheet: bool) -> str:
    """An attribute with other names of sheets."""
    raw = found[3][1:-1]
    old = html.unescape(raw)
    if is_sheet and found[2] == "name":
        new = rename(old)
    elif found[2] in _TEXTS:
        return found[0]
    elif found[2] == "href":
        new = with_anchor(old, rename, _with_place)
    else:
        new = _with_references(old, rename)
    if new == old:
        return found[0]
    return f'{found[1]}"{escaped(new).replace(chr(34), "&quot;")}"'


def _with_references(text: str, rename: Rename) -> str:
    """A formula or the address of a range with other names of sheets."""

    def replaced(found: re.Match[str]) -> str:
        if found[1] or not found[3]:
            return found[0]
        old = found[2]
        name = old[1:-1].replace("''", "'") if old.startswith("'") else old
        new = rename(name)
        return found[0] if new == name else _quoted(new) + found[3]

    return _REFERENCE.sub(replaced, text) if "." in text else text


def _with_place(place: str, rename: Rename) -> str:
    """A place in the spreadsheet, which may be a sheet without a cell."""
    name = place[1:-1] if place.startswith("'") and place.endswith("'") else place
    return _with_references(place, rename) if rename(name) == name else _quoted(rename(name))


def _quoted(name: str) -> str:
    """The name of a sheet in a reference."""
    return name if _PLAIN.fullmatch(name) else "'" + name.replace("'", "''") + "'"
