"""Flat OpenDocument files (.fodt, .fodp, .fodg, .fods): a document as one XML file."""

from collections.abc import Mapping

from yakusu.data.files.xmltree import XmlFile
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.odf.document import KINDS, OdfDocument
from yakusu.documents.office.odf.package import CONTENT, TYPE
from yakusu.errors import DataError


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read a flat OpenDocument file.

    Raises:
        DataError: The data is not a valid flat OpenDocument file.
    """
    root = XmlFile(data).parse(lambda *_: False, lambda _: None)
    kind = root.get("mimetype").removeprefix(TYPE).removesuffix("-template")
    if kind not in KINDS:
        raise DataError(
            "the file is not a text, presentation, drawing or spreadsheet of OpenDocument: save it "
            "as .odt, .odp, .odg or .ods"
        )
    try:
        return OdfDocument(_FlatFile(data), kind, has_names=options.sheet_names)
    except DataError as error:
        raise DataError(str(error).removeprefix(f"{CONTENT}, ")) from error


class _FlatFile:
    """A file that is its only member.

    Args:
        data: The file.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.names = [CONTENT]

    def read(self, name: str) -> bytes:
        """Return the file."""
        return self._data

    def rewritten(self, contents: Mapping[str, bytes | bytearray]) -> bytes:
        """Return the file with another content, if there is one."""
        return bytes(contents.get(CONTENT, self._data))
