"""Tables of Word documents (.docx): the text of cells.

All tables with as many columns as the first one with both sides are one corpus. Deleted text,
fields, comments and phonetic guides are left out; a merged cell counts as its columns.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from yakusu.data.files.office.package import main_part, part_elements
from yakusu.data.files.office.sheets import MAX_COLUMNS, Sheet, open_archive
from yakusu.data.files.xmltree import Element

_SPACES = re.compile("[\t\r\n]+")
_LEFT_OUT = frozenset(("del", "moveFrom", "rt", "tbl", "Fallback", "pPr", "rPr", "instrText"))


def docx_tables(path: str) -> Iterator[Sheet]:
    """Read the tables of a document.

    Raises:
        DataError: The file is not a Word document, is malformed, or exceeds a limit.
    """
    archive = open_archive(path, ".docx")
    part = main_part(archive, path, "word/document.xml")
    rows = part_elements(archive, path, part, "document", ("tr",))
    for number, (_, own) in enumerate(groupby(map(_row, rows), key=lambda row: row[0]), start=1):
        filled = ((n, cells) for n, (_, cells) in enumerate(own, start=1) if any(cells))
        yield Sheet(f"table {number}", filled, joins=True)


def _row(row: Element) -> tuple[int, list[str]]:
    """The place of the table in the document, and the texts of a row."""
    table = row.parent
    while table and table.name != "tbl":
        table = table.parent
    cells = [""] * _value(row, "trPr", "gridBefore", 0)
    for cell in _cells(row):
        if len(cells) >= MAX_COLUMNS:
            break
        cells.append("\n".join(_paragraphs(cell)).strip())
        cells += [""] * (_value(cell, "tcPr", "gridSpan", 1) - 1)
    return (table.start if table else 0), cells[:MAX_COLUMNS]


def _cells(parent: Element) -> Iterator[Element]:
    """The cells of a row, which may be in content controls."""
    for child in parent.elements:
        if child.name == "tc":
            yield child
        elif child.name in ("sdt", "sdtContent", "customXml"):
            yield from _cells(child)


def _value(element: Element, properties: str, name: str, default: int) -> int:
    """A number in the properties of a row or a cell."""
    for each in element.elements:
        if each.name == properties:
            for child in each.elements:
                if child.name == name and re.fullmatch(r"\d{1,4}", child.get("val")):
                    return int(child.get("val"))
    return default


def _paragraphs(parent: Element) -> Iterator[str]:
    """The texts of the paragraphs of a cell."""
    for child in parent.elements:
        if child.name == "p":
            yield "".join(_pieces(child))
        elif child.name not in _LEFT_OUT:
            yield from _paragraphs(child)


def _pieces(parent: Element) -> Iterator[str]:
    """The texts of a paragraph."""
    for child in parent.elements:
        match child.name:
            case "t":
                yield _SPACES.sub(" ", child.text)
            case "tab" | "br" | "cr":
                yield " "
            case "noBreakHyphen":
                yield "\u2011"
            case name if name not in _LEFT_OUT:
                yield from _pieces(child)
