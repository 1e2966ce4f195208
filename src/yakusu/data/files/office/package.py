"""Parts of an Office Open XML package, and how they refer to each other."""

import posixpath
from collections.abc import Iterator
from itertools import islice

from yakusu.data.files.office.archive import MAX_MEMBERS, Archive
from yakusu.data.files.xmlstream import elements_in
from yakusu.data.files.xmltree import Element
from yakusu.errors import DataError


def part_elements(
    archive: Archive, path: str, part: str, root: str, names: tuple[str, ...]
) -> Iterator[Element]:
    """Yield the elements with some names of a part of a document, as `stream_elements` does.

    Args:
        archive: The document.
        path: Its file, in error messages.
        part: Name of the part.
        root: Name of its root element.
        names: Names of the elements.

    Raises:
        DataError: The part is missing or malformed.
    """
    try:
        file = archive.open(part)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    with file:
        yield from elements_in(file, f"{path}, {part}", root, lambda _, name: name in names)


def related(archive: Archive, path: str, part: str = "") -> dict[str, tuple[str, str]]:
    """Return the relationships of a part, or of the document: identifier -> type, name of the part.

    The type is the last part of its address.

    Raises:
        DataError: They are malformed.
    """
    folder, name = posixpath.split(part)
    own = posixpath.join(folder, "_rels", f"{name}.rels")
    if own not in archive.names:
        return {}
    listed = part_elements(archive, path, own, "Relationships", ("Relationship",))
    return {
        each.get("Id"): (
            each.get("Type").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, each.get("Target"))).lstrip("/"),
        )
        for each in islice(listed, MAX_MEMBERS)
    }


def main_part(archive: Archive, path: str, usual: str) -> str:
    """Return the name of the main part of a document, such as "xl/workbook.xml"."""
    found = related(archive, path).values()
    return next((name for kind, name in found if kind == "officeDocument"), usual)
