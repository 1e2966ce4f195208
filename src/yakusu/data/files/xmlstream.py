"""Elements of XML files that may be larger than memory."""

import codecs
import io
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from yakusu.data.files.compressed import open_binary
from yakusu.data.files.text import refuse_binary
from yakusu.data.files.xmltree import WRONG_ENCODING, Element, ElementBuilder, encoding_of
from yakusu.errors import DataError

XML_HEAD = 4096  # bytes that show the encoding of a file
_CHUNK = 2**16  # bytes
MAX_PENDING = 2**24  # bytes of an element, tag or comment; up to twice as many are read
_UTF16_DECLARED = re.compile(rb"<\?xml[^>]*encoding=[\"']utf-?16", re.IGNORECASE)
_BREAK_TYPE = re.compile(r"(xlf:|x-(html-)?)?(lb|br)")
_BREAK_CODE = re.compile(r"\s*+(?:<(\w+:)?br\b[^>]*>|(\\r)?\\n)\s*+|[^\S\n]*+\n\s*+", re.IGNORECASE)


def stream_elements(path: str, root: str, wanted: Callable[[str, str], bool]) -> Iterator[Element]:
    """Yield the wanted elements that are in no other wanted element, each when it is complete.

    Memory is constant: an element is emptied after it has been used, and those around it are kept
    without their content.

    Args:
        path: The XML file.
        root: Name of the root element, without prefix.
        wanted: Whether an element with this namespace and name is wanted.

    Raises:
        DataError: The file cannot be read, is malformed (the message names the line), has another
            root element, or declares or uses entities.
    """
    with open_binary(Path(path)) as file:
        yield from elements_in(file, path, root, wanted)


def elements_in(
    file: io.BufferedReader, path: str, root: str, wanted: Callable[[str, str], bool]
) -> Iterator[Element]:
    """Yield the wanted elements of an open file, which errors call `path`, as `stream_elements`."""
    complete: list[Element] = []
    builder = ElementBuilder(wanted, complete.append)
    waiting = b""  # the parser scans an incomplete tag again from its start: few, larger parts
    for content in _chunks(file, path):
        waiting += content
        if content and len(waiting) < builder.n_pending:
            continue
        try:
            builder.feed(waiting, final=not content)
        except DataError as error:
            raise DataError(f"{path}, {error}") from error
        waiting = b""
        if builder.root and builder.root.name != root:
            raise other_root(path, builder.root.name, root)
        if builder.n_pending > MAX_PENDING:
            raise DataError(
                f"{path}, line {builder.line}: an element, tag or comment is larger than "
                f"{MAX_PENDING >> 20} MB: divide it"
            )
        for element in complete:
            yield element
            element.clear()
        complete.clear()


def _chunks(file: io.BufferedReader, path: str) -> Iterator[bytes]:
    """Yield the content in UTF-8, without byte order mark, and nothing at the end."""
    line = 1
    head = file.peek(XML_HEAD)[:XML_HEAD]
    refuse_other_files(head, path)
    try:
        bom, encoding = (b"", "utf-8") if is_not_utf16(head) else encoding_of(head)
    except DataError as error:
        raise DataError(f"{path}, {error}") from error
    decoder = codecs.getincrementaldecoder(encoding)()
    data = file.read(_CHUNK).removeprefix(bom)
    while True:
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise DataError(f"{path}, line {line} is not {encoding}: {WRONG_ENCODING}") from error
        line += text.count("\n")
        if text or not data:
            yield text.encode()
        if not data:
            return
        data = file.read(_CHUNK)


def refuse_other_files(head: bytes, path: str) -> None:
    """Raise DataError if the first bytes of a file are not text."""
    if not head.strip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"):  # byte order marks and white space
        raise DataError(f"{path} is empty: specify another file, or create it again")
    refuse_binary(head, path)


def is_not_utf16(head: bytes) -> bool:
    """Whether a file declares UTF-16, but is in UTF-8.

    Some programs convert a file to UTF-8 and leave the declaration as it was.
    """
    return b"\0" not in head and _UTF16_DECLARED.match(head.lstrip()) is not None


def other_root(path: str, name: str, root: str) -> DataError:
    """Return the error of a file whose root element has another name."""
    return DataError(f"{path} is XML of another kind: its root element is <{name}>, not <{root}>")


def is_line_break(attributes: Mapping[str, str], code: str) -> bool:
    """Whether an inline element says that it is a line break, or holds the code of one.

    Args:
        attributes: Its attributes.
        code: Its content, if that is native code.
    """
    types = (attributes.get(name, "") for name in ("type", "ctype", "subType"))
    codes = (attributes.get(name, "") for name in ("equiv-text", "equiv", "disp"))
    return any(map(_BREAK_TYPE.fullmatch, types)) or any(map(_BREAK_CODE.fullmatch, (*codes, code)))
