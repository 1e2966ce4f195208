"""Excel workbooks (.xlsx, .xlsm, .xltx, .xltm): cells, charts, shapes and comments.

A text of a cell is translated, also in the header of a table, whose columns get the same name.
Numbers, formulas and their results, names (those of sheets, unless they are wanted), and texts with
which formulas, filters, data validation lists and pivot tables compare cells stay. Equal texts of
cells are one text.
"""

from collections.abc import Sequence

from yakusu.data.files.office.archive import Archive
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.ooxml.package import Package
from yakusu.documents.office.ooxml.sheet_names import WorkbookSheetNames
from yakusu.documents.office.ooxml.workbook import WORKBOOK, Workbook, settled
from yakusu.documents.office.parts import DocumentTexts


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read an Excel workbook.

    Raises:
        DataError: The data is not a valid Excel workbook.
    """
    return _WorkbookDocument(Archive(data), has_names=options.sheet_names)


class _WorkbookDocument:
    """A workbook; see `Document`."""

    lines: Sequence[int] = ()
    reports_blank = False

    def __init__(self, archive: Archive, *, has_names: bool) -> None:
        texts, package = DocumentTexts(), Package(archive, WORKBOOK)
        self._archive = archive
        self._workbook = Workbook(package, texts, {})
        self._workbook.read()
        self._reports = [*self._workbook.reports()]
        self._names = WorkbookSheetNames(package, texts) if has_names else None
        self._reports += self._names.reports if self._names else ()
        self.texts: Sequence[str] = texts.items
        self.skipped: Sequence[str] = self._reports

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        new, kept = settled([self._workbook], self.texts, translations)
        contents = self._workbook.contents(new)
        if self._names:
            contents, invalid = self._names.renamed(contents, translations)
            kept += invalid
        self.skipped = [*self._reports, *kept]
        return self._archive.rewritten(contents)
