"""OpenDocument files: archives that name their type, and the documents that they contain."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from yakusu.data.files.office.archive import Archive
from yakusu.data.files.xmltree import Element
from yakusu.documents.office.parts import parse_part
from yakusu.errors import DataError

CONTENT, STYLES = "content.xml", "styles.xml"
_MANIFEST = "META-INF/manifest.xml"
_UNDECLARED = b"<manifest:manifest>"  # the DTD of OpenOffice.org declares the namespace
_DECLARED = b'<manifest:manifest xmlns:manifest="http://openoffice.org/2001/manifest">'
TYPE = "application/vnd.oasis.opendocument."


class DocumentArchive(Protocol):
    """The members of a document; see `Archive`."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the members."""

    def read(self, name: str) -> bytes:
        """Return the contents of a member."""

    def rewritten(self, contents: Mapping[str, bytes | bytearray]) -> bytes:
        """Return the document with new contents of some members."""


def opened_archive(data: bytes, kinds: tuple[str, ...], what: str, suffix: str) -> Archive:
    """Open an OpenDocument file.

    Args:
        data: The file.
        kinds: Ends of its media type, such as "text"; that of a template begins with one, too.
        what: What files of this kind are, in messages.
        suffix: Their suffix.

    Raises:
        DataError: It is not a valid archive of this kind, or it is encrypted.
    """
    archive = Archive(data)
    found = archive.read("mimetype") if "mimetype" in archive.names else b""
    if not found.startswith(tuple(f"{TYPE}{kind}".encode() for kind in kinds)):
        raise DataError(f"the file is a zip archive but not {what}: save it as {suffix}")
    if _MANIFEST in archive.names and b"encryption-data" in archive.read(_MANIFEST):
        raise DataError("the document is encrypted: remove its password")
    return archive


class _Manifest:
    """The manifest of an archive, with the declaration of its namespace."""

    def __init__(self, archive: DocumentArchive) -> None:
        self._archive = archive

    def read(self, name: str) -> bytes:
        """Return the manifest."""
        return self._archive.read(name).replace(_UNDECLARED, _DECLARED, 1)


def objects_in(archive: DocumentArchive) -> Iterator[tuple[str, str]]:
    """Yield the documents in a document: their folders, such as "Object 1/", and their kinds.

    Raises:
        DataError: The manifest is not valid XML.
    """
    if _MANIFEST not in archive.names:
        return
    found: list[tuple[str, str]] = []

    def use(entry: Element) -> None:
        kind, path = entry.get("media-type"), entry.get("full-path")
        if kind.startswith(TYPE) and path.endswith("/") and path != "/":
            found.append((path, kind.removeprefix(TYPE).removesuffix("-template")))

    parse_part(_Manifest(archive), _MANIFEST, lambda _, name: name == "file-entry", use)
    names = {*archive.names}
    yield from (each for each in dict.fromkeys(found) if each[0] + CONTENT in names)
