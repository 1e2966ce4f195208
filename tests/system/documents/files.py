"""The documents that the tests translate."""

from pathlib import Path
from typing import Any

import docx

from tests.documents.packages import workbook
from tests.documents.test_pptx import BOLD, box, p, pptx, t

FILES = Path(__file__).parents[2] / "fixtures" / "documents"
MADE = ("letter.docx", "talk.pptx", "trip.xlsx")
NAMES = sorted([*(path.name for path in FILES.iterdir()), *MADE])
XLIFF = {
    "app-1.xlf": "{urn:oasis:names:tc:xliff:document:1.2}",
    "app-2.xlf": "{urn:oasis:names:tc:xliff:document:2.0}",
}


def letter() -> Any:
    """A Word document with formatting, a list, a table, a header and a line break."""
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "Letter of the week"
    document.add_heading("The old bridge", level=1)
    paragraph = document.add_paragraph("We crossed the ")
    paragraph.add_run("old").bold = True
    paragraph.add_run(" bridge at ")
    paragraph.add_run("{time}").italic = True
    paragraph.add_run(".").add_break()
    document.add_paragraph("Bring a lamp", style="List Bullet")
    document.add_paragraph("Bring 2 ropes", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ("Day", "Miles", "Monday", "12"), strict=True):
        cell.text = text
    document.core_properties.title = "Bridge"
    return document


def talk() -> bytes:
    """A presentation with formatting, a tab and a field."""
    number = '<a:fld type="slidenum"><a:t>2</a:t></a:fld>'
    first = p(t("We crossed the "), t("old", BOLD), t(" bridge at {time}."))
    second = p(t("Bring a lamp\tand 2 ropes"))
    return pptx(box(first, second), box(p(t("Slide "), number)))


def trip() -> bytes:
    """A workbook with formatting, a number and a formula."""
    strings = (
        "<si><t>Bring a lamp and 2 ropes</t></si><si><r><t>We crossed the </t></r><r><rPr><b/>"
        "</rPr><t>old</t></r><r><t> bridge</t></r></si>"
    )
    return workbook(strings, '<row r="1"><c r="A1"><f>B1*2</f><v>14</v></c></row>')
