"""Excel workbooks (.xlsx, .xlsm, .xltx, .xltm): cells, charts, shapes and comments.

A text of a cell is translated, also in the header of a table, whose columns get the same name.
Numbers, formulas and their results, names, and texts with which formulas, filters, data validation
lists and pivot tables compare cells stay. Equal texts of cells are one text.
"""

from collections.abc import Sequence

from yakusu.data.files.office.archive import Archive
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.ooxml.package import Package
from yakusu.documents.office.ooxml.parts import DocumentTexts
from yakusu.documents.office.ooxml.workbook import WORKBOOK, Workbook, settled


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read an Excel workbook.

    Raises:
        DataError: The data is not a valid Excel workbook.
    """
    return _WorkbookDocument(Archive(data))


class _WorkbookDocument:
    """A workbook; see `Document`."""

    lines: Sequence[int] = ()
    reports_blank = False

    def __init__(self, archive: Archive) -> None:
        texts = DocumentTexts()
        self._archive = archive
        self._workbook = Workbook(Package(archive, WORKBOOK), texts, {})
        self._workbook.read()
        self._reports = [*self._workbook.reports()]
        self.texts: Sequence[str] = texts.items
        self.skipped: Sequence[str] = self._reports

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        new, kept = settled([self._workbook], self.texts, translations)
        self.skipped = [*self._reports, *kept]
        return self._archive.rewritten(self._workbook.contents(new))
