"""OpenDocument spreadsheets (.ods, .ots): cells, comments, shapes, charts, headers and footers.

Numbers, formulas and their results, names (those of sheets,
unless they are wanted), and texts with which formulas, filters, lists of valid
entries and pivot tables compare cells stay. Equal texts of cells are one text.
"""

from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.odf.document import OdfDocument
from yakusu.documents.office.odf.package import opened_archive


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read an OpenDocument spreadsheet.

    Raises:
        DataError: The data is not a valid OpenDocument spreadsheet.
    """
    archive = opened_archive(data, ("spreadsheet",), "a spreadsheet", ".ods")
    return OdfDocument(archive, "spreadsheet", has_names=options.sheet_names)
