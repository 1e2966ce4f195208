"""The names of the sheets of a workbook as texts: a name changes in all references, or stays.

    <sheet name="Sales"/>    <f>SUM(Sales!A1:'Old sales'!B2)</f>    <hyperlink location="Sales!A1"/>

References are in formulas, names, links, charts and pivot caches. A name stays if it occurs
elsewhere as in a reference.
"""

import html
import re
from collections.abc import Iterator, Set
from functools import partial
from urllib.parse import quote

from yakusu.data.files.xmltree import Element, attributes_of, escaped, with_attribute
from yakusu.documents.office.ooxml.cells import SHEET_NAMESPACES
from yakusu.documents.office.ooxml.package import Package
from yakusu.documents.office.parts import DocumentTexts, parse_part
from yakusu.documents.office.sheet_names import Rename, SheetNames, with_anchor

_TAG = r"<(?:[\w.-]{1,20}:)?"
_FORMULA = re.compile(
    rf"({_TAG}(?:f|formula|formula[12]|calculatedColumnFormula|totalsRowFormula|definedName)"
    r"(?:\s[^<>]*)?>)([^<]+)"
)
_REFERRING = re.compile(
    rf"{_TAG}(hyperlink|worksheetSource|rangeSet|dataRef|sheet|Relationship)\s[^<>]*>"
)
_TEXT = re.compile(rf"{_TAG}t(?:\s[^<>]*)?>[^<]*")
# A constant; a column of a table, with escapes; a quoted name; a name, or two and those between
_REFERENCE = re.compile(
    r"""("(?:[^"]|"")*+"?|\[(?:[^\[\]']|'.)*+\]?)|'((?:[^']|'')*+)'?(!?)|(?<![\w.\]!$])([^\W\d][\w.]*+(?::[^\W\d][\w.]*+)?)!"""
)
_MAKES_REFERENCES = re.compile(r"\b(?:INDIRECT\(|ADDRESS\(|SHEET\(|HYPERLINK\([^,&]{0,1000}+&)")
_LONGEST = 64  # characters of a name with doubled apostrophes
_WITHOUT_NAMES = ("sharedstrings", "styles", "theme")  # parts


class WorkbookSheetNames(SheetNames):
    """The names of the sheets of a workbook.

    Args:
        package: The workbook.
        texts: Receives the names that can change.
    """

    makes_references = _MAKES_REFERENCES
    reason = "a text or a reference that cannot change contains the name of the sheet"

    def __init__(self, package: Package, texts: DocumentTexts) -> None:
        self._kept = set[str]()  # what is before exclamation marks outside of references
        names = package.archive.names
        super().__init__(
            package.archive,
            [name for name in names if _may_refer(name)],
            _names_in(package),
            texts,
            has_macros=any(name.lower().endswith("vbaproject.bin") for name in names),
        )

    def formulas(self, content: str) -> Iterator[str]:
        """The formulas of a part."""
        for each in _FORMULA.finditer(content):
            yield html.unescape(each[2])
        rest = _TEXT.sub("", _REFERRING.sub("", _FORMULA.sub("", content)))
        self._kept |= {*_before_marks(html.unescape(rest))}

    def occurring(self, constants: Set[str]) -> set[str]:
        """The names that are before exclamation marks, or with which constants end."""
        ends = {each[-_LONGEST:] for each in constants}.union(*map(_before_marks, constants))
        folded = [each.replace("''", "'").casefold() for each in ends | self._kept]
        return {n for n in self._names if any(each.endswith(n.casefold()) for each in folded)}

    def with_names(self, content: str, rename: Rename) -> str:
        """A part with other names of sheets."""
        change = partial(with_renamed_sheets, rename=rename)
        content = _FORMULA.sub(lambda found: found[1] + _in_markup(found[2], change), content)
        return _REFERRING.sub(lambda found: _with_reference(found[0], found[1], rename), content)


def with_renamed_sheets(formula: str, rename: Rename) -> str:
    """A formula or reference with other names of sheets, in quotes."""

    def replaced(found: re.Match[str]) -> str:
        constant, quoted, is_sheet, plain = found.groups()
        names = (plain or (quoted or "").replace("''", "'")).split(":")
        if constant or (quoted is not None and not is_sheet) or "[" in names[0]:
            return found[0]
        new = [rename(name) for name in names]
        return found[0] if new == names else f"'{':'.join(new).replace(chr(39), 2 * chr(39))}'!"

    return _REFERENCE.sub(replaced, formula) if "!" in formula else formula


def _before_marks(text: str) -> Iterator[str]:
    """What is before each exclamation mark, which may be the name of a sheet."""
    for found in re.finditer("!", text):
        yield text[max(0, found.start() - _LONGEST) : found.start()].removesuffix("'")


def _names_in(package: Package) -> list[str]:
    """The names of the sheets, in their order."""
    found = list[str]()

    def use(sheet: Element) -> None:
        found.append(sheet.get("name"))

    parse_part(
        *(package.archive, package.main()),
        lambda namespace, name: name == "sheet" and namespace in SHEET_NAMESPACES,
        use,
    )
    return found


def _may_refer(part: str) -> bool:
    """Whether a part may refer to a sheet."""
    name = part.lower()
    is_xml = name.startswith("xl/") and name.endswith((".xml", ".rels", ".vml"))
    return is_xml and not name.rpartition("/")[2].startswith(_WITHOUT_NAMES)


def _in_markup(text: str, change: Rename) -> str:
    """A text of XML, changed; its own escapes stay if it does not change."""
    old = html.unescape(text)
    new = change(old)
    return text if new == old else escaped(new)


def _with_reference(tag: str, element: str, rename: Rename) -> str:
    """A tag with a reference, or with the name of a sheet."""
    is_name = element != "hyperlink"
    wanted = {"hyperlink": "location", "sheet": "name", "Relationship": "Target"}
    for name, raw in [*attributes_of(tag)]:
        value = html.unescape(raw[1:-1])
        if name != wanted.get(element, "sheet"):
            continue
        if element == "Relationship":
            new = with_anchor(value, rename, with_renamed_sheets)
            new = quote(new, safe="#!':$") if "%" in value else new
        else:
            new = rename(value) if is_name else with_renamed_sheets(value, rename)
        return tag if new == value else with_attribute(tag, name, new)
    return tag
