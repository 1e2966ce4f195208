"""The names of the sheets of OpenDocument: a name changes in all references, or stays.

    <table:table table:name="Sales">    table:formula="of:=[$Sales.A1]"    xlink:href="#Sales.A1"

References are in attributes, also of charts and settings. All names stay if the spreadsheet has
macros, or makes references of texts; a name stays if a constant of a formula contains it.
"""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import unquote

from yakusu.data.files.xmltree import XmlFile, escaped
from yakusu.data.lines.words import has_letter
from yakusu.documents.office.odf.package import CONTENT, STYLES, DocumentArchive
from yakusu.documents.office.parts import read_part
from yakusu.documents.office.sheet_names import new_names

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
_CONSTANT = re.compile('"((?:[^"]|"")*+)"?')
_MAKES_REFERENCES = re.compile(r"\b(?:INDIRECT\(|ADDRESS\(|SHEET\(|HYPERLINK\([^;&]{0,1000}+&)")
_TEXTS = ("string-value", "title", "desc", "name", "display-name")  # attributes of text
_PLAIN = re.compile(r"[^\W\d]\w*")  # a name that needs no quotes
_EXTERNAL = re.compile("'?file:")
_Rename = Callable[[str], str]  # the new name of a sheet


class OdfSheetNames:
    """The names of the sheets of a spreadsheet.

    Args:
        archive: The spreadsheet.
        texts: Receives the names that can change.

    Attributes:
        reports: A sentence for each name that stays.
    """

    def __init__(self, archive: DocumentArchive, texts: list[str]) -> None:
        self._archive = archive
        own = (CONTENT, STYLES, "settings.xml")
        self._parts = [n for n in archive.names if n in own or n.endswith(f"/{CONTENT}")]
        self._names = [*_names_in(read_part(archive, CONTENT).content.decode())]
        staying, reason = self._staying()
        self.reports = [f"{reason} {name!r}" for name in self._names if name in staying]
        self._indexes: dict[str, int] = {}
        for name in self._names:
            if has_letter(name) and name not in staying and name not in self._indexes:
                self._indexes[name] = len(texts)
                texts.append(name)

    def _staying(self) -> tuple[set[str], str]:
        """The names that stay, and why."""
        if any(name.startswith(("Basic/", "Scripts/")) for name in self._archive.names):
            return {*self._names}, "macros may use the name of the sheet"
        constants = set[str]()
        for part in self._parts:
            for attribute, value in _attributes(read_part(self._archive, part).content.decode()):
                if attribute not in ("formula", "condition", "expression"):
                    continue
                if _MAKES_REFERENCES.search(value):
                    reason = "formulas may build references from the name of the sheet"
                    return {*self._names}, reason
                constants |= {each.casefold() for each in _CONSTANT.findall(value)}
        every = "\n".join(constants)
        found = {name for name in self._names if name.casefold().replace("'", "''") in every}
        return found, "a text in a formula contains the name of the sheet"

    def renamed(
        self, contents: dict[str, bytes | bytearray], translations: Sequence[str]
    ) -> tuple[dict[str, bytes | bytearray], list[str]]:
        """The parts with new names of sheets, and a sentence for each translation that is none.

        Args:
            contents: Parts that change anyway.
            translations: A translation for each text.
        """
        own = {name: translations[index] for name, index in self._indexes.items()}
        new, reports = new_names(self._names, own)
        found = dict(contents)
        for part in self._parts if new else ():
            xml = XmlFile(bytes(contents.get(part) or self._archive.read(part)))
            old = xml.content.decode()
            changed = _with_names(old, lambda name: new.get(name, name))
            if changed != old:
                found[part] = xml.encoded(bytearray(changed.encode()))
        return found, reports


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


def _with_names(content: str, rename: _Rename) -> str:
    """A part with other names of sheets."""

    def in_tag(tag: re.Match[str]) -> str:
        is_sheet = _SHEET.match(tag[0]) is not None
        return _VALUE.sub(lambda found: _with_value(found, rename, is_sheet=is_sheet), tag[0])

    def active(found: re.Match[str]) -> str:
        old = html.unescape(found[2])
        return found[0] if rename(old) == old else found[1] + escaped(rename(old))

    return _ACTIVE.sub(active, _TAG.sub(in_tag, content))


def _with_value(found: re.Match[str], rename: _Rename, *, is_sheet: bool) -> str:
    """An attribute with other names of sheets."""
    raw = found[3][1:-1]
    old = html.unescape(raw)
    if is_sheet and found[2] == "name":
        new = rename(old)
    elif found[2] in _TEXTS:
        return found[0]
    elif found[2] == "href":
        new = _with_anchor(old, rename)
    else:
        new = _with_references(old, rename)
    if new == old:
        return found[0]
    return f'{found[1]}"{escaped(new).replace(chr(34), "&quot;")}"'


def _with_references(text: str, rename: _Rename) -> str:
    """A formula or the address of a range with other names of sheets."""

    def replaced(found: re.Match[str]) -> str:
        if found[1] or not found[3]:
            return found[0]
        old = found[2]
        name = old[1:-1].replace("''", "'") if old.startswith("'") else old
        new = rename(name)
        return found[0] if new == name else _quoted(new) + found[3]

    return _REFERENCE.sub(replaced, text) if "." in text else text


def _with_anchor(target: str, rename: _Rename) -> str:
    """The target of a link, which may be within the spreadsheet."""
    if not target.startswith("#"):
        return target
    place = unquote(target[1:])
    name = place[1:-1] if place.startswith("'") and place.endswith("'") else place
    if rename(name) != name:  # the sheet, without a cell
        return f"#{_quoted(rename(name))}"
    new = _with_references(place, rename)
    return target if new == place else f"#{new}"


def _quoted(name: str) -> str:
    """The name of a sheet in a reference."""
    return name if _PLAIN.fullmatch(name) else "'" + name.replace("'", "''") + "'"
