"""OpenDocument spreadsheets (.ods): the text of cells, as it is displayed.

Empty cells and rows may be repeated a million times, which takes no memory.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from yakusu.data.files.office.package import part_elements
from yakusu.data.files.office.sheets import MAX_COLUMNS, MAX_ROWS, Sheet, open_archive
from yakusu.data.files.tables import NumberedCells
from yakusu.data.files.xmltree import CharacterData, Element
from yakusu.errors import DataError

_MANIFEST = "META-INF/manifest.xml"
_VALUES = ("string-value", "date-value", "time-value", "boolean-value", "value")
_SPACES = re.compile("[ \t\r\n]+")
_MAX_SPACES = 1000
_MAX_REPEATED = 2**26  # characters of a row times its repetitions
_MAX_TOTAL = 2**23  # rows of all sheets
_Row = tuple[str, NumberedCells]  # name of the sheet


def ods_sheets(path: str) -> Iterator[Sheet]:
    """Read the sheets of a spreadsheet.

    Raises:
        DataError: The file is not a spreadsheet, is malformed, or exceeds a limit.
    """
    for name, rows in groupby(_rows(path), key=lambda row: row[0]):
        yield Sheet(name, (cells for _, cells in rows))


def _rows(path: str) -> Iterator[_Row]:
    archive = open_archive(path, ".ods")
    if _MANIFEST in archive.names and b"encryption-data" in archive.read(_MANIFEST):
        raise DataError(f"{path} has a password: save it without one")
    sheet, name, number, total = None, "", 1, 0
    for row in part_elements(archive, path, "content.xml", "document-content", ("table-row",)):
        table = row.parent
        while table is not None and table.name != "table":
            table = table.parent
        if table is not sheet:
            sheet, name, number = table, f"sheet '{'' if table is None else table.get('name')}'", 1
        cells, n = _cells(row), _repeated(row, "number-rows-repeated")
        total += n * bool(cells)
        too_many = number + n - 1 > MAX_ROWS or total > _MAX_TOTAL
        if cells and (too_many or (n > 1 and n * sum(map(len, cells)) > _MAX_REPEATED)):
            raise DataError(
                f"{path}, {name}, row {number:,} is repeated {n:,} times, more than a sheet "
                "can hold: delete it"
            )
        if cells:
            yield from ((name, (each, cells)) for each in range(number, number + n))
        number += n


def _cells(row: Element) -> list[str]:
    """The texts of a row; [] if there are none."""
    cells, place = list[str](), 0
    for cell in row.elements:
        if cell.name not in ("table-cell", "covered-table-cell"):
            continue
        n = min(_repeated(cell, "number-columns-repeated"), MAX_COLUMNS - place)
        text = _text(cell) if cell.name == "table-cell" else ""
        if text.strip() and n > 0:
            cells += [""] * (place - len(cells)) + [text] * n
        place += n
    return cells


def _repeated(element: Element, name: str) -> int:
    count = element.get(name)
    return max(int(count), 1) if re.fullmatch(r"\d{1,9}", count) else 1


def _text(cell: Element) -> str:
    """The text of a cell: its paragraphs, or else its value."""
    paragraphs = [each for each in cell.elements if each.name in ("p", "h")]
    if paragraphs:
        return "\n".join("".join(_pieces(each)) for each in paragraphs)
    return next(filter(None, map(cell.get, _VALUES)), "")


def _pieces(parent: Element) -> Iterator[str]:
    """The texts of a paragraph, without comments and phonetic guides."""
    for child in parent.children:
        if isinstance(child, CharacterData):
            yield _SPACES.sub(" ", child.text)
        elif isinstance(child, Element):
            match child.name:
                case "s":
                    yield " " * min(_repeated(child, "c"), _MAX_SPACES)
                case "tab" | "line-break":
                    yield " "
                case "span" | "a" | "meta" | "ruby":
                    yield from _pieces(child)
                case "ruby-base":
                    yield from _pieces(child)
