"""The names of the sheets of a workbook as texts: a name changes in all references, or stays.

    <sheet name="Sales"/>    <f>SUM(Sales!A1:'Old sales'!B2)</f>    <hyperlink location="Sales!A1"/>

References are in formulas, names, links, charts and pivot caches. A name stays if it occurs
elsewhere as in a reference; all stay if the workbook has macros, or makes references of texts.
"""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from urllib.parse import quote, unquote

from yakusu.data.files.xmltree import Element, XmlFile, attributes_of, escaped, with_attribute
from yakusu.data.lines.words import has_letter
from yakusu.documents.office.ooxml.cells import SHEET_NAMESPACES
from yakusu.documents.office.ooxml.package import Package
from yakusu.documents.office.ooxml.parts import DocumentTexts
from yakusu.documents.office.parts import parse_part, read_part
from yakusu.documents.office.sheet_names import new_names

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
_CONSTANT = re.compile('"((?:[^"]|"")*+)"?')
_LONGEST = 64  # characters of a name with doubled apostrophes
_WITHOUT_NAMES = ("sharedstrings", "styles", "theme")  # parts
_Rename = Callable[[str], str]  # the new name of a sheet


class SheetNames:
    """The names of the sheets of a workbook.

    Args:
        package: The workbook.
        texts: Receives the names that can change.

    Attributes:
        reports: A sentence for each name that stays.
    """

    def __init__(self, package: Package, texts: DocumentTexts) -> None:
        self._package = package
        self._names = [*_names_in(package)]
        self._parts = [name for name in package.archive.names if _may_refer(name)]
        known = {name.casefold(): name for name in self._names}
        staying, reason = self._staying(known)
        self.reports = [f"{reason} {known[each]!r}" for each in known if each in staying]
        self._indexes = {
            name: texts.index(name, {})
            for name in self._names
            if has_letter(name) and name.casefold() not in staying
        }

    def _staying(self, known: dict[str, str]) -> tuple[set[str], str]:
        """The names that stay, and why."""
        if any(name.lower().endswith("vbaproject.bin") for name in self._package.archive.names):
            return {*known}, "macros may use the name of the sheet"
        ends = set[str]()  # what is before an exclamation mark, or a constant
        for part in self._parts:
            content = read_part(self._package.archive, part).content.decode()
            for each in _FORMULA.finditer(content):
                formula = html.unescape(each[2])
                if _MAKES_REFERENCES.search(formula):
                    return {*known}, "formulas may build references from the name of the sheet"
                for constant in _CONSTANT.findall(formula) if '"' in formula else ():
                    ends |= {constant[-_LONGEST:], *_before_marks(constant)}
            rest = _TEXT.sub("", _REFERRING.sub("", _FORMULA.sub("", content)))
            ends |= {*_before_marks(html.unescape(rest))}
        folded = [each.replace("''", "'").casefold() for each in ends]
        found = {name for name in known if any(each.endswith(name) for each in folded)}
        return found, "a text or a reference that cannot change contains the name of the sheet"

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
        if not new:
            return contents, reports
        folded = {name.casefold(): text for name, text in new.items()}
        found = dict(contents)
        for part in self._parts:
            data = contents.get(part) or self._package.archive.read(part)
            xml = XmlFile(bytes(data))
            old = xml.content.decode()
            changed = _with_names(old, lambda name: folded.get(name.casefold(), name))
            if changed != old:
                found[part] = xml.encoded(bytearray(changed.encode()))
        return found, reports


def with_renamed_sheets(formula: str, rename: _Rename) -> str:
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


def _names_in(package: Package) -> Iterator[str]:
    """The names of the sheets, in their order."""
    found = list[str]()

    def use(sheet: Element) -> None:
        found.append(sheet.get("name"))

    parse_part(
        *(package.archive, package.main()),
        lambda namespace, name: name == "sheet" and namespace in SHEET_NAMESPACES,
        use,
    )
    yield from found


def _may_refer(part: str) -> bool:
    """Whether a part may refer to a sheet."""
    name = part.lower()
    is_xml = name.startswith("xl/") and name.endswith((".xml", ".rels", ".vml"))
    return is_xml and not name.rpartition("/")[2].startswith(_WITHOUT_NAMES)


def _with_names(content: str, rename: _Rename) -> str:
    """A part with other names of sheets."""
    content = _FORMULA.sub(
        lambda found: found[1] + _in_markup(found[2], partial(with_renamed_sheets, rename=rename)),
        content,
    )
    return _REFERRING.sub(lambda found: _with_reference(found[0], found[1], rename), content)


def _in_markup(text: str, change: _Rename) -> str:
    """A text of XML, changed; its own escapes stay if it does not change."""
    old = html.unescape(text)
    new = change(old)
    return text if new == old else escaped(new)


def _with_reference(tag: str, element: str, rename: _Rename) -> str:
    """A tag with a reference, or with the name of a sheet."""
    is_name = element != "hyperlink"
    wanted = {"hyperlink": "location", "sheet": "name", "Relationship": "Target"}
    for name, raw in [*attributes_of(tag)]:
        value = html.unescape(raw[1:-1])
        if name != wanted.get(element, "sheet"):
            continue
        if element == "Relationship":
            new = _with_anchor(value, rename)
        else:
            new = rename(value) if is_name else with_renamed_sheets(value, rename)
        return tag if new == value else with_attribute(tag, name, new)
    return tag


def _with_anchor(target: str, rename: _Rename) -> str:
    """The target of a link within the workbook."""
    if not target.startswith("#"):
        return target
    plain = unquote(target)
    new = plain[:1] + with_renamed_sheets(plain[1:], rename)
    return target if new == plain else quote(new, safe="#!':$") if "%" in target else new
