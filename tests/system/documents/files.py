"""The documents that the tests translate."""

from pathlib import Path
from typing import Any

import docx

FILES = Path(__file__).parents[2] / "fixtures" / "documents"
NAMES = sorted([*(path.name for path in FILES.iterdir()), "letter.docx"])
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
