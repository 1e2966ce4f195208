"""Excel workbooks (.xlsx, .xlsm): the sheets that are visible, cell by cell.

    <c r="B2" t="s"><v>7</v></c>                  shared string 7
    <c r="C2"><f>A2*2</f><v>14</v></c>            the value that Excel computed
    <si><r><t>a</t></r><r><t>b</t></r><rPh>...    "ab", without phonetic guides

Numbers are written as Excel does, dates as in ISO 8601; errors such as #N/A are empty.
"""

import re
from array import array
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

from yakusu.data.files.office.archive import MAX_MEMBERS, MAX_PART, Archive
from yakusu.data.files.office.package import main_part, part_elements, related
from yakusu.data.files.office.sheets import MAX_COLUMNS, MAX_ROWS, Sheet, open_archive
from yakusu.data.files.tables import NumberedCells
from yakusu.data.files.xmltree import Element
from yakusu.errors import DataError

_REFERENCE = re.compile(r"([A-Z]{1,3})\d+")
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_DATES = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))  # built in
_LITERAL = re.compile(r'"[^"]*(?:"|\Z)|\\.|\[[^\]]*(?:\]|\Z)|_.')  # text in a number format
_FIRST_DAY = datetime(1899, 12, 30)  # of day 0, for days after February 1900
_FIRST_DAY_1904 = datetime(1904, 1, 1)
_MAX_STYLES = 2**18  # more than a workbook can have


def xlsx_sheets(path: str) -> Iterator[Sheet]:
    """Read the sheets of a workbook.

    Raises:
        DataError: The file is not a workbook, is malformed, or exceeds a limit.
    """
    archive = open_archive(path, ".xlsx")
    book = main_part(archive, path, "xl/workbook.xml")
    parts = related(archive, path, book)
    own = dict(parts.values())
    first_day, sheets = _FIRST_DAY, list[tuple[str, str]]()
    listed = part_elements(archive, path, book, "workbook", ("workbookPr", "sheet"))
    for each in islice(listed, MAX_MEMBERS):
        if each.name == "workbookPr":
            is_1904 = each.get("date1904") in ("1", "true")
            first_day = _FIRST_DAY_1904 if is_1904 else _FIRST_DAY
        elif each.get("state") in ("", "visible"):
            kind, part = parts.get(_relation(each), ("", ""))
            if kind == "worksheet":
                sheets.append((each.get("name"), part))
    cells = _Cells(archive, path, own, first_day)
    for name, part in sheets:
        yield Sheet(f"sheet '{name}'", cells.rows(part))


def _relation(sheet: Element) -> str:
    """The identifier of the relationship of a sheet, an attribute in a namespace."""
    named = (value for key, value in sheet.attributes.items() if key.endswith(" id"))
    return next(named, "")


class _Cells:
    """Reads the cells of a workbook.

    Args:
        archive: The workbook.
        path: Its file.
        parts: Its parts by type.
        first_day: The day with the number 0.
    """

    def __init__(
        self, archive: Archive, path: str, parts: dict[str, str], first_day: datetime
    ) -> None:
        self._archive, self._path, self._first_day = archive, path, first_day
        self._strings = _SharedStrings(archive, path, parts.get("sharedStrings", ""))
        self._is_date = [*_date_styles(archive, path, parts.get("styles", ""))]

    def rows(self, part: str) -> Iterator[NumberedCells]:
        """Yield the rows of a sheet that have text."""
        number = 0
        for row in part_elements(self._archive, self._path, part, "worksheet", ("row",)):
            stated = row.get("r")
            number = int(stated) if re.fullmatch(r"\d{1,7}", stated) else number + 1
            if number > MAX_ROWS:
                raise DataError(f"{self._path} has more than {MAX_ROWS:,} rows: split it")
            cells = list[str]()
            for cell in row.elements:
                if cell.name == "c" and (text := self._text(cell)):
                    place = _column(cell.get("r"), len(cells), self._path)
                    cells += [""] * (place - len(cells)) + [text]
            if any(map(str.strip, cells)):
                yield number, cells

    def _text(self, cell: Element) -> str:
        kind = cell.get("t")
        if kind == "inlineStr":
            return "".join(_string(each) for each in cell.elements if each.name == "is")
        value = next((each.text for each in cell.elements if each.name == "v"), "")
        if not value:
            return ""
        match kind:
            case "s":
                return self._strings[value]
            case "str" | "d":
                return _unescaped(value)
            case "b":
                return {"1": "TRUE", "0": "FALSE"}.get(value, "")
            case "e":
                return ""
        style = cell.get("s")
        is_date = style.isdecimal() and len(style) < 6 and int(style) < len(self._is_date)
        if is_date and self._is_date[int(style)]:
            return _date(value, self._first_day)
        return _number(value)


class _SharedStrings:
    """The strings to which cells refer, in UTF-8: objects would take several times the memory."""

    def __init__(self, archive: Archive, path: str, part: str) -> None:
        self._path, self._content, self._ends = path, bytearray(), array("Q", [0])
        if not part:
            return
        for each in part_elements(archive, path, part, "sst", ("si",)):
            self._content += _string(each).encode("utf-8")
            self._ends.append(len(self._content))
            if len(self._content) + self._ends.itemsize * len(self._ends) > MAX_PART:
                raise DataError(f"{path} has more than {MAX_PART:,} bytes of text: split it")

    def __getitem__(self, index: str) -> str:
        known = re.fullmatch(r"\d{1,9}", index) and int(index) < len(self._ends) - 1
        if not known:
            raise DataError(f"{self._path} lacks shared string '{index[:20]}': save it again")
        start, end = self._ends[int(index)], self._ends[int(index) + 1]
        return self._content[start:end].decode()


def _string(element: Element) -> str:
    """The text of a string: of itself and of its runs, but not of phonetic guides."""
    parts = list[str]()
    for child in element.elements:
        if child.name == "t":
            parts.append(child.text)
        elif child.name == "r":
            parts += (each.text for each in child.elements if each.name == "t")
    return _unescaped("".join(parts))


def _unescaped(text: str) -> str:
    """A text without the escapes of characters that XML does not allow, such as _x000D_."""
    if "_x" not in text:
        return text
    found = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), text)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # joins surrogates


def _column(reference: str, following: int, path: str) -> int:
    """The index of a column, by the reference of a cell or, without one, after the others."""
    found, place = _REFERENCE.fullmatch(reference), 0
    for letter in found[1] if found else "":
        place = 26 * place + ord(letter) - ord("A") + 1
    place = place - 1 if found else following
    if not following <= place < MAX_COLUMNS:
        raise DataError(f"{path}, cell {reference[:20]} is out of place: save the workbook again")
    return place


def _number(value: str) -> str:
    """A number as Excel writes it, in at most 15 digits."""
    try:
        return f"{float(value):.15g}" if not re.fullmatch(r"-?\d{1,15}", value) else value
    except ValueError:
        return value


def _date(value: str, first_day: datetime) -> str:
    """A day, a time of day or both, as in ISO 8601, given the number of the day."""
    try:
        days = float(value)
        at = first_day + timedelta(seconds=round(days * 86_400))
    except (ValueError, OverflowError):
        return value
    if 0 <= days < 1:
        return at.time().isoformat()
    return at.date().isoformat() if days == int(days) else at.isoformat(" ")


def _date_styles(archive: Archive, path: str, part: str) -> Iterator[bool]:
    """Yield, for each style of cells, whether it is a date or a time."""
    if not part:
        return
    own = dict[str, bool]()
    styles = part_elements(archive, path, part, "styleSheet", ("numFmt", "xf"))
    for each in islice(styles, _MAX_STYLES):
        if each.name == "numFmt":
            code = _LITERAL.sub("", each.get("formatCode").partition(";")[0].lower())
            own[each.get("numFmtId")] = bool(re.search("[ymdhs]", code)) and "general" not in code
        elif each.parent and each.parent.name == "cellXfs":
            number = each.get("numFmtId")
            built_in = number.isdecimal() and len(number) < 6 and int(number) in _DATES
            yield own.get(number, built_in)
