"""The package of an EPUB book: which of its members have text, and in which order they are read.

META-INF/container.xml -> OEBPS/content.opf -> <spine> -> OEBPS/chapter-1.xhtml, ...
"""

import posixpath
from collections import Counter
from collections.abc import Set
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
        others: The numbers of pages that are not read, such as pictures, by media type.
        missing: The names of pages that the file lacks.
        n_recordings: Recordings of read text.
    """

    packages: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    language: str = ""
    others: Counter[str] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)
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
    seen = {*book.packages}
    for path in book.packages:
        _read_package(archive, path, book, names=names, seen=seen)
    return archive, book


def _is_method(_: str, name: str) -> bool:
    return name == "EncryptionMethod"


def _check_method(method: Element) -> None:
    """Refuse what is encrypted, except fonts, which are only obfuscated."""
    if method.get("Algorithm") not in _FONTS:
        raise DataError(
            "the book is encrypted (DRM): obtain a copy without protection from its publisher"
        )


def _read_package(
    archive: Archive, path: str, book: Book, *, names: Set[str], seen: set[str]
) -> None:
    """Add the members that a package names, and that are not among those already seen."""
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
    in_order = {*spine}
    for key in dict.fromkeys([*spine, *items]):
        name = _name_of(items[key].get("href"), path, names) if key in items else key
        if name not in seen:
            seen.add(name)
            kind = _kind_of(items[key]) if name in names else ""
            _add(book, name, kind, is_in_order=key in in_order)


def _name_of(reference: str, package: str, names: Set[str]) -> str:
    """The name of the member to which a package refers."""
    href = reference.partition("#")[0]
    found = [
        posixpath.normpath(posixpath.join(posixpath.dirname(package), each))
        for each in (unquote(href), href)  # some programs write names with "%20"
    ]
    return next((name for name in found if name in names), found[0])


def _kind_of(item: Element) -> str:
    return item.get("media-type").partition(";")[0].strip().lower()


def _add(book: Book, name: str, kind: str, *, is_in_order: bool) -> None:
    """Add a member with a media type; "": the file lacks it."""
    book.n_recordings += kind == "application/smil+xml"
    if kind in _PAGES:
        book.pages.append(name)
    elif kind == "application/x-dtbncx+xml":
        book.tables.append(name)
    elif is_in_order and kind:
        book.others[kind] += 1
    elif is_in_order:
        book.missing.append(name)
