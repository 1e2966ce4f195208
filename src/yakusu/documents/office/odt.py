"""OpenDocument text (.odt, .ott): paragraphs, headings, notes, comments, headers and footers.

The texts of the charts and documents in it come last.
"""

from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.odf.document import OdfDocument
from yakusu.documents.office.odf.package import opened_archive


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read an OpenDocument text.

    Raises:
        DataError: The data is not a valid OpenDocument text.
    """
    archive = opened_archive(data, ("text",), "a text document", ".odt")
    return OdfDocument(archive, "text")
