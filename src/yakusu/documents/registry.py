"""The document formats, by the suffix of a file."""

import codecs
import re
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, cast

from yakusu.data.files.xliff import HEAD, is_xliff
from yakusu.data.lines.words import has_letter
from yakusu.documents.document import Document, DocumentFormat, DocumentOptions
from yakusu.documents.suffixes import CODE, CONVERTED, SNIFFED, SUFFIXES, TABLES
from yakusu.errors import DataError

_ZIP = {  # modules of formats whose files are ZIP archives
    "epub.epub",
    "office.docx",
    "office.odp",
    "office.ods",
    "office.odt",
    "office.pptx",
    "office.xlsx",
}
_OWN_FORMAT = {".fodg", ".fodp", ".fods", ".fodt", ".srt"}  # a module reads these and others
_OTHERS = {  # what files of other formats are, and what to do with them
    ".7z .tar .zip": "an archive: unpack it, and translate the folder",
    ".ass .ssa .sub": "a subtitle file in another format: save it as .srt",
    ".bz2 .gz .xz .zst": "a compressed file: decompress it, or translate its lines with --ray",
    ".doc .dot": "a Word file of an older version: save it as .docx",
    ".key .ppt": "a presentation: save it as .pptx",
    ".mo": "a compiled PO file: translate its .po file",
    ".sxc .sxi .sxw": "an OpenOffice file of an older version: save it as .odt, .ods or .odp",
    ".xls": "a spreadsheet: save it as .xlsx",
    ".pages": "a Pages document: export it as .docx",
    ".rst": "a reStructuredText file: extract its texts as .pot (sphinx-build -b gettext)",
    ".rtf": "an RTF file: save it as .docx",
    ".ts": "a TypeScript file: move its texts into a .json file",
}
_MAGIC = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an Office file of an older version or with a password",
    b"%PDF": "a PDF file",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "a gzip file",
    b"{\\rtf": "an RTF file",
    b"bplist00": "a binary property list (plutil -convert xml1 makes XML of it)",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
}
# A message file of Qt Linguist; other .ts files are TypeScript.
_IS_QT = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?+(?:\s++|<[?!](?!--)[^>]*+>|<!--(?:[^-]++|-(?!->))*+-->)*+<TS[\s>]"
)
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16, whose text contains NUL
_UTF_16 = (_BYTE_ORDER_MARKS, (*_BYTE_ORDER_MARKS, b"<\0", b"\0<"))  # in other files, in XML
_XML = (
    *("messages.xliff", "messages.apps.resx", "messages.apps.qt_linguist", "messages.tmx"),
    "messages.apps.android",
)
_RESOURCES = re.compile(  # the root element of a resource file of Android
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?+"
    rb"(?:\s++|<\?[^>]*+>|<!--(?:[^-]++|-(?!->))*+-->|<!DOCTYPE[^>\[]*+(?:\[[^\]]*+\]\s*+)?+>)*+"
    rb"<resources[\s>]"
)


def supported() -> str:
    """The suffixes of all formats, for messages."""
    *others, last = sorted(SUFFIXES)
    return f"{', '.join(others)} and {last}"


def is_supported(path: Path, *, has_columns: bool = False) -> bool:
    """Whether a file has a format that can be translated, judging by its suffix or content.

    Args:
        path: The file.
        has_columns: Whether the columns of tables to translate are known.

    Raises:
        DataError: The content decides, and the file cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix in SNIFFED:
        try:
            with path.open("rb") as file:
                return _sniffed(file.read(HEAD)) is not None
        except OSError as error:
            raise unreadable_file(path, error) from error
    return suffix in SUFFIXES and (has_columns or suffix not in TABLES)


def has_untranslated_text(path: Path) -> bool:
    """Whether a file that cannot be translated may contain text, judging by its suffix and content.

    Pictures, fonts, style sheets, scripts and other code do not.

    Raises:
        DataError: The file cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix in CODE:
        return False
    if _advice(suffix) or suffix in CONVERTED:
        return True
    with open_file(path) as file:
        head = file.read(HEAD)
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return "\0" not in text and has_letter(text)


def check_suffixes(path: Path, out: Path) -> None:
    """Refuse an output whose suffix is that of another format; only PDF files are converted.

    Raises:
        DataError: The message names an output with a suffix that it can have.
    """
    given, wanted = path.suffix.lower(), out.suffix.lower()
    if given in CONVERTED:
        if wanted in CONVERTED[given]:
            return
        raise DataError(
            f"the translation of a {given} file is written as {' or '.join(CONVERTED[given])}: "
            f"name the output {out.with_suffix(CONVERTED[given][0])}"
        )
    known = wanted in SUFFIXES or _advice(wanted)
    if known and given in SUFFIXES and _format(wanted) != _format(given):
        raise DataError(
            f"{out} has another format than {path}, and yakusu does not convert files: name the "
            f"output {out.with_suffix(path.suffix)}"
        )


def _format(suffix: str) -> str | None:
    """The format of files with a suffix: its module, or the suffix if the module has several."""
    module = SUFFIXES.get(suffix)
    return suffix if module in _ZIP or suffix in _OWN_FORMAT else module


def format_name(path: Path) -> str:
    """The format of a file; files of one format can be compared.

    Raises:
        DataError: The file cannot be read, or its format is unknown.
    """
    with open_file(path) as file:
        module = _module(path, file.read(HEAD))
    return _format(path.suffix.lower()) or module


def read_document(path: Path, options: DocumentOptions | None = None) -> Document:
    """Read a document in the format of its suffix, in this process and without limits.

    Args:
        path: The file.
        options: How it is read.

    Raises:
        DataError: The file does not exist, its format is unknown, or it is not a valid document of
            its format. The message names the file.
    """
    with open_file(path) as file:
        try:
            data = file.read()
        except OSError as error:
            raise unreadable_file(path, error) from error
    return parse_document(path, data, options or DocumentOptions())


def open_file(path: Path) -> BinaryIO:
    """Open the file of a document.

    Raises:
        DataError: It does not exist, or cannot be read.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder: name a file in it")
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist: check the path") from error
    except OSError as error:
        raise unreadable_file(path, error) from error


def unreadable_file(path: Path, error: OSError) -> DataError:
    """The error of a file that cannot be read."""
    return DataError(f"{path} cannot be read: {error.strerror}")


def parse_document(path: Path, data: bytes, options: DocumentOptions) -> Document:
    """Read the content of a file in the format of its suffix.

    Raises:
        DataError: As for `read_document`.
    """
    name = _module(path, data)
    _check(path, data, name)
    module = cast(DocumentFormat, import_module(f"yakusu.documents.{name}"))
    try:
        return module.read(data, options)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _module(path: Path, data: bytes) -> str:
    """The name of the module of a file's format."""
    suffix = path.suffix.lower()
    name = _sniffed(data[:HEAD]) if suffix in SNIFFED else SUFFIXES.get(suffix)
    if name is None:
        if advice := _advice(suffix):
            raise DataError(f"{path} is {advice} (yakusu translates {supported()} files)")
        what = f"has the suffix {path.suffix}" if path.suffix else "has no suffix"
        raise DataError(
            f"{path} {what}, and its format is unknown: if it is plain text, rename it to "
            f"end in .txt (yakusu translates {supported()} files)"
        )
    return name


def _advice(suffix: str) -> str:
    """What a file of another format is, and what to do with it; "" if that is unknown."""
    return next((advice for each, advice in _OTHERS.items() if suffix in each.split()), "")


def _sniffed(beginning: bytes) -> str | None:
    """The module for an XML file that begins with this, in any encoding."""
    if is_xliff(beginning):
        return "messages.xliff"
    head = beginning.replace(b"\0", b"")
    if _RESOURCES.match(head) and re.search(rb"<(?:string|string-array|plurals)[\s>]", head):
        return "messages.apps.android"
    if _IS_QT.match(head):
        return "messages.apps.qt_linguist"
    return "html.html" if re.search(rb"<html[\s>]", head) and b"1999/xhtml" in head else None


def _check(path: Path, data: bytes, name: str) -> None:
    """Refuse a file that is encrypted, or whose content is not what its suffix says.

    Raises:
        DataError: The message names the formats that can be translated.
    """
    found = next((what for magic, what in _MAGIC.items() if data.startswith(magic)), None)
    fix = f"convert it to a format that yakusu translates, which are {supported()}"
    if f".{name.rpartition('.')[2]}" in CONVERTED:
        if b"%PDF" not in data[:HEAD]:
            raise DataError(f"{path} is not a {path.suffix} file: check its suffix, or {fix}")
    elif name in _ZIP:
        if found and "password" in found:
            raise DataError(f"{path} is {found}: remove the password, or {fix}")
        if not data.startswith(b"PK"):
            raise DataError(f"{path} is not a {path.suffix} file: check its suffix, or {fix}")
    elif found:
        raise DataError(f"{path} is {found}, not what its suffix {path.suffix} says: {fix}")
    elif b"\0" in data and not data.startswith(_UTF_16[name in _XML]):
        raise DataError(f"{path} is a binary file, not what its suffix {path.suffix} says: {fix}")
