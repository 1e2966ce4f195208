"""What a workbook compares its cells with: such cells must keep their texts.

    =IF(A2="Yes", 1, 0)    =COUNTIF(A:A, "Do*")    =SUM(Sales[Amount])    a filter, a pivot table

Formulas are not translated, and neither are cells that have the text of a constant in a formula, in
any case. For constants with wildcards, and in formulas that look at parts of texts, these are all
cells that contain the constant. If a formula makes references of texts (INDIRECT), cells with a
name of the workbook, or with a reference, stay, too.
"""

import html
import re
from collections.abc import Iterator

from yakusu.data.lines.words import has_letter
from yakusu.documents.office.comparisons import FILTERS, FORMULAS, OF_PARTS, PIVOTS, Comparisons

_REFERENCES = "formulas make references of"
_COLUMNS = "formulas name the table columns"
_LISTS = "data validation lists contain"
_QUERIES = "queries and slicers name the table columns"

_TAG = rb"<(?:[\w.-]{1,20}:)?"
_FORMULA = re.compile(
    _TAG + rb"(?:f|formula|formula[12]|calculatedColumnFormula|totalsRowFormula|definedName)"
    rb"(?:\s[^<>]*)?>([^<]+)"
)
_LIST = re.compile(_TAG + rb"formula1(?:\s[^<>]*)?>(?:<[^<>]*>)?(?:\"|&quot;)")
_FILTER = re.compile(_TAG + rb"(?:filter|customFilter)\s([^<>]*)")
_PIVOT = re.compile(_TAG + rb"(?:cacheField|s|dataField)\s([^<>]*)")
_SLICER = re.compile(_TAG + rb"slicerCacheDefinition\s([^<>]*)")
_NAMED = re.compile(rb"""\b(val|v|name|caption|sourceName)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_CDATA, _CDATA_END = b"<![CDATA[", b"]]>"
_CONSTANT = re.compile('"((?:[^"]|"")*)"')
_QUOTED_NAME = re.compile("(?<!')'(?:[^']|'')*+'!")  # of a sheet; it may contain quotation marks
_MAKES_REFERENCE = b"INDIRECT("
_OF_CELLS = re.compile(rb"(?:LOOKUP|MATCH|IFS?|SWITCH|FILTER|UNIQUE)\(")
_REFERENCE = re.compile(r"(?:[^!]*!)?\$?[a-z]{1,3}\$?\d{1,7}(?::\$?[a-z]{1,3}\$?\d{1,7})?")
_TOKEN = re.compile(r"'[\[\]#@']|[\[\]]|[^\[\]']+|'")  # of a formula with names of columns
_WILDCARD = re.compile(r"~(?=[*?~])|[*?]+")
_OF_PARTS = re.compile(OF_PARTS, re.IGNORECASE)
_ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")


class WorkbookComparisons(Comparisons):
    """The texts with which the parts of a workbook compare cells.

    Attributes:
        n_lists: Data validation lists that are not in cells.
        n_caches: Pivot caches with texts.
        are_of_cells: Whether formulas may compare cells with each other.
    """

    def __init__(self) -> None:
        super().__init__()
        self.n_lists = self.n_caches = 0
        self.are_of_cells = False
        self._columns: set[str] = set()
        self._names: set[str] = set()
        self._makes_references = False
        self._constants: set[str] = set()

    def key(self, text: str) -> str:
        """See `workbook_key`."""
        return workbook_key(text)

    def read_formulas(self, content: bytes) -> None:
        """Read the formulas, filters and data validation lists of a part, in UTF-8."""
        content = _without_cdata(content)
        self._makes_references |= _MAKES_REFERENCE in content
        self.are_of_cells |= bool(_OF_CELLS.search(content))
        self.n_lists += sum(1 for _ in _LIST.finditer(content))
        for found in _FORMULA.finditer(content):
            raw = found[1]
            if b'"' in raw or b"&" in raw or b"[" in raw:
                self._add_formula(html.unescape(raw.decode()))
        for _, value in _values(_FILTER, content):
            self.add_constant(value, FILTERS)

    def read_pivot(self, content: bytes) -> None:
        """Read the names of fields and the items of a pivot cache, or the names in a table."""
        found = {value for _, value in _values(_PIVOT, _without_cdata(content))}
        for value in found:
            self.keep(value, PIVOTS)

    def read_slicer(self, content: bytes) -> None:
        """Read the name of the column of a slicer."""
        for name, value in _values(_SLICER, content):
            if name == "sourceName":
                self.keep_column(value)

    def keep_column(self, name: str) -> None:
        """Keep the name of a column of a table."""
        self.keep(name, _QUERIES)

    def add_columns(self, names: list[str]) -> None:
        """Add the names of the columns of a table, after all formulas have been read."""
        for name in names:
            if workbook_key(name) in self._columns:
                self.keep(name, _COLUMNS)
            if _ESCAPE.search(re.sub("_x000[aA]_", "", name)):
                self.keep_column(name)

    def add_name(self, name: str) -> None:
        """Add the name of a sheet, of a table or of a range, of which a reference can be made."""
        self._names.add(workbook_key(name))

    def _refers(self, key: str) -> str:
        if not self._makes_references:
            return ""
        # Formulas replace the spaces that names cannot have.
        is_name = not self._names.isdisjoint((key, key.replace(" ", "_")))
        return _REFERENCES if is_name or _REFERENCE.fullmatch(key) else ""

    def _add_formula(self, formula: str) -> None:
        self._columns.update(map(workbook_key, _columns_in(formula)))
        is_of_parts = _OF_PARTS.search(formula)
        constants = _CONSTANT.findall(formula)
        if "'" in formula:  # it may be an apostrophe, too
            constants += _CONSTANT.findall(_QUOTED_NAME.sub("", formula))
        for found in constants:
            constant = found.replace('""', '"')
            if constant not in self._constants:
                self._constants.add(constant)
                self.add_constant(constant, FORMULAS)
            if is_of_parts and has_letter(constant):
                self.keep_parts(constant, FORMULAS)
            for item in constant.split(",") if "," in constant else ():
                self.keep(item, _LISTS)

    def _add_criterion(self, criterion: str, reason: str) -> None:
        if any(sign in criterion for sign in "*?~"):
            longest = max(_WILDCARD.split(criterion), key=len)
            if has_letter(longest):
                self.keep_parts(longest, reason)


def _columns_in(formula: str) -> Iterator[str]:
    """The names in brackets, such as those in Sales[[#This Row],[Amount]] and Sales[@Amount]."""
    name: str | None = None
    for token in _TOKEN.findall(formula) if "[" in formula else ():
        if token == "[":
            name = ""
        elif token == "]":
            if name:
                yield name.removeprefix("@")
            name = None
        elif name is not None:
            name += token[1:] if len(token) == 2 and token[0] == "'" else token


def workbook_key(text: str) -> str:
    """A text for comparisons: programs ignore case, and write some characters as escapes."""
    return unescaped(text).strip().casefold()


def unescaped(text: str) -> str:
    """A text with the characters that are written as escapes, such as _x000a_."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _values(tags: re.Pattern[bytes], content: bytes) -> Iterator[tuple[str, str]]:
    """Names and values of attributes with texts, of the tags that a pattern finds."""
    for tag in tags.finditer(content):
        for found in _NAMED.finditer(tag[1]):
            value = found[2] if found[2] is not None else found[3]
            yield found[1].decode(), html.unescape(value.decode())


def _without_cdata(content: bytes) -> bytes:
    """An XML part whose CDATA is written with references instead."""
    before, *sections = content.split(_CDATA)
    for i, section in enumerate(sections):
        text, end, after = section.partition(_CDATA_END)
        sections[i] = (
            text.replace(b"&", b"&amp;").replace(b"<", b"&lt;") + after if end else section
        )
    return b"".join([before, *sections])
