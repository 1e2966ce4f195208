"""OpenDocument presentations (.odp, .otp) and drawings (.odg, .otg).

The texts of the pages, with tables, shapes, notes and comments, come first, then those of the
charts and documents in them. Masters stay.
"""

from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.odf.document import OdfDocument
from yakusu.documents.office.odf.package import opened_archive


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read an OpenDocument presentation or drawing.

    Raises:
        DataError: The data is not a valid OpenDocument presentation or drawing.
    """
    archive = opened_archive(
        data, ("presentation", "graphics"), "a presentation or drawing", ".odp"
    )
    return OdfDocument(archive, "presentation")
