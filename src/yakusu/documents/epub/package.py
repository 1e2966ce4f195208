"""The package of an EPUB book: which of its members have text, and in which order they are read.

META-INF/container.xml -> OEBPS/content.opf -> <spine> -> OEBPS/chapter-1.xhtml, ...
"""

import posixpath
from dataclasses import dataclass, field
from urllib.parse import unquote

from yakusu.data.files.office.archive import Archive
from yakusu.data.files.xmltree import Element
from yakusu.documents.office.parts import parse_part
from yakusu.errors import DataError

_TYPE = b"application/epub+zip"
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PACKAGE = "application/oebps-package+xml"
_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")  # obfuscation
DC = "http://purl.org/dc/elements/1.1/"


@dataclass
class Book:
    """The members of a book that have text.

    Attributes:
        packages: The package documents.
        pages: The pages in reading order, then those that are in no reading order.
        tables: Tables of contents in the format NCX.
        language: The first language that a package states, or "".
        n_pictures: Pages that are pictures.
        n_recordings: Recordings of read text.
    """

    packages: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    language: str = ""
    n_pictures: int = 0
    n_recordings: int = 0


def opened_book(data: bytes) -> tuple[Archive, Book]:
    """Open a book.

    Raises:
        DataError: It is not a valid EPUB book, or it is protected.
    """
    archive = Archive(data)
    names = {*archive.names}
    kind = archive.read("mimetype").strip() if "mimetype" in names else _TYPE
    if kind != _TYPE or _CONTAINER not in names:
        raise DataError("the file is a zip archive but not a book: save it as .epub")
    if _ENCRYPTION in names:
        parse_part(archive, _ENCRYPTION, _is_method, _check_method)
    book = Book()

    def use(root: Element) -> None:
        path = root.get("full-path")
        if root.get("media-type") == _PACKAGE and path in names:
            book.packages.append(path)

    parse_part(archive, _CONTAINER, lambda _, name: name == "rootfile", use)
    if not book.packages:
        raise DataError(f"the book lacks the package that {_CONTAINER} names: export it again")
    book.packages = [*dict.fromkeys(book.packages)]
    for path in book.packages:
        _read_package(archive, path, book, names)
    return archive, book


def _is_method(_: str, name: str) -> bool:
    return name == "EncryptionMethod"


def _check_method(method: Element) -> None:
    """Refuse what is encrypted, except fonts, which are only obfuscated."""
    if method.get("Algorithm") not in _FONTS:
        raise DataError(
            "the book is encrypted (DRM): obtain a copy without protection from its publisher"
        )


def _read_package(archive: Archive, path: str, book: Book, names: set[str]) -> None:
    """Add the members with text that a package names, and remove them from the names."""
    items: dict[str, Element] = {}
    spine: list[str] = []

    def use(element: Element) -> None:
        if element.name == "item":
            items[element.get("id")] = element
        elif element.name == "itemref":
            spine.append(element.get("idref"))
        elif element.namespace == DC and not book.language:
            book.language = element.text.strip()

    parse_part(archive, path, lambda _, name: name in ("item", "itemref", "language"), use)
    pictures = {*spine}
    for key in dict.fromkeys([*spine, *items]):
        if key not in items:
            continue
        kind, href = items[key].get("media-type"), unquote(items[key].get("href"))
        name = posixpath.normpath(posixpath.join(posixpath.dirname(path), href.partition("#")[0]))
        book.n_recordings += kind == "application/smil+xml"
        book.n_pictures += kind == "image/svg+xml" and key in pictures
        if name not in names:
            continue
        if kind in _PAGES:
            book.pages.append(name)
        elif kind == "application/x-dtbncx+xml":
            book.tables.append(name)
        names.discard(name)
