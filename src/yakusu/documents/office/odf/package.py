"""OpenDocument files: archives whose type is their first member."""

from yakusu.data.files.office.archive import Archive
from yakusu.errors import DataError

CONTENT, STYLES, MANIFEST = "content.xml", "styles.xml", "META-INF/manifest.xml"
TYPE = "application/vnd.oasis.opendocument."


def opened(data: bytes, kind: str, what: str, suffix: str) -> Archive:
    """Open an OpenDocument file.

    Args:
        data: The file.
        kind: The end of its media type, such as "text"; that of a template begins with it, too.
        what: What files of this kind are, in messages.
        suffix: Their suffix.

    Raises:
        DataError: It is not a valid archive of this kind, or it is encrypted.
    """
    archive = Archive(data)
    found = archive.read("mimetype") if "mimetype" in archive.names else b""
    if not found.startswith(f"{TYPE}{kind}".encode()):
        raise DataError(f"the file is a zip archive but not {what}: save it as {suffix}")
    if MANIFEST in archive.names and b"encryption-data" in archive.read(MANIFEST):
        raise DataError("the document is encrypted: remove its password")
    return archive
