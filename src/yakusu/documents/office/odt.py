"""OpenDocument text (.odt, .ott): paragraphs, headings, notes, comments, headers and footers."""

from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.odf.package import CONTENT, STYLES, opened_archive
from yakusu.documents.office.odf.text import TextDialect, styles_of
from yakusu.documents.office.parts import OfficeDocument


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read an OpenDocument text.

    Raises:
        DataError: The data is not a valid OpenDocument text.
    """
    archive = opened_archive(data, ("text",), "a text document", ".odt")
    parts = [name for name in (CONTENT, STYLES) if name == CONTENT or name in archive.names]
    return OfficeDocument(archive, {name: TextDialect(styles_of(archive, name)) for name in parts})
