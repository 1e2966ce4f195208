"""XML from untrusted files, read as a stream: no entities, no network, no external files.

This module needs lxml (extra 'corpora').
"""

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yakusu.data.files.compressed import missing_library, open_binary
from yakusu.data.files.xmlstream import (
    MAX_PENDING,
    is_line_break,
    is_not_utf16,
    other_root,
    refuse_other_files,
)
from yakusu.errors import DataError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_MAX_REASON = 300  # characters; libxml2 quotes names
_HEAD = 4096  # bytes searched for the encoding and for declarations of entities


def read_elements(path: str, root: str, names: Sequence[str]) -> Iterator["Element"]:
    """Yield the elements with some local names, each when it is complete.

    Memory is constant: an element is emptied after it was used, and removed later. What is read
    before an element is complete is limited.

    Args:
        path: The XML file.
        root: Local name of the root element.
        names: Local names of the elements.

    Raises:
        DataError: The file cannot be read, is malformed (the message names line and column), has
            another root element, or declares entities.
        RunError: lxml is not installed.
    """
    try:
        from lxml import etree
    except ModuleNotFoundError as error:
        raise missing_library(error, path) from error

    with open_binary(Path(path)) as file:
        counted = _CountedFile(file, path)
        parsed = etree.iterparse(
            counted,
            tag=[f"{{*}}{name}" for name in names],
            encoding=_encoding(file, path),
            remove_comments=True,
            remove_pis=True,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
        )
        checked = False
        try:
            for _, element in parsed:
                if not checked:
                    _check(element, path, root)
                    checked = True
                counted.n_pending = 0
                yield element
                _remove(element)
        except etree.XMLSyntaxError as error:
            raise _malformed(error, path, parsed.error_log) from error
        if not checked:
            _check(parsed.root, path, root)


class _CountedFile:
    """A file of which only a part may be read before there is a complete element.

    Args:
        file: The file.
        path: Its name in error messages.

    Attributes:
        n_pending: Bytes since the last complete element.
    """

    def __init__(self, file: io.BufferedReader, path: str) -> None:
        self.n_pending = 0
        self._file = file
        self._path = path

    def read(self, size: int) -> bytes:
        """Read up to some bytes.

        Raises:
            DataError: There are too many since the last complete element.
        """
        data = self._file.read(size)
        self.n_pending += len(data)
        if self.n_pending > MAX_PENDING:
            raise DataError(
                f"{self._path}: a unit, or what is between two units, is larger than "
                f"{MAX_PENDING >> 20} MB: divide it"
            )
        return data


def _encoding(file: io.BufferedReader, path: str) -> str | None:
    """Return the encoding of a file that declares a wrong one; None: as declared."""
    head = file.peek(_HEAD)[:_HEAD]
    refuse_other_files(head, path)
    if b"<!ENTITY" in head.replace(b"\0", b""):
        raise _entities(path)
    return "utf-8" if is_not_utf16(head) else None


def _check(element: "Element", path: str, root: str) -> None:
    tree = element.getroottree()
    name = local_name(tree.getroot())
    if name != root:
        raise other_root(path, name, root)
    subset = tree.docinfo.internalDTD
    if subset is not None and any(True for _ in subset.iterentities()):
        raise _entities(path)


def _entities(path: str) -> DataError:
    return DataError(
        f"{path} declares entities in its DOCTYPE, which are not safe to read: replace them by "
        "their text and remove the declarations"
    )


def _remove(element: "Element") -> None:
    """Empty an element, and remove what is before it; the parser may still need the element."""
    element.clear(keep_tail=True)
    parent = element.getparent()
    while parent is not None:
        while (before := element.getprevious()) is not None:
            parent.remove(before)
        element, parent = parent, parent.getparent()


def _malformed(error: SyntaxError, path: str, log: Sequence[object]) -> DataError:
    line, column = error.lineno or 0, error.offset or 0
    message = str(error.msg or "it has no elements")
    if not line and len(log):  # the parser found an error that it did not raise
        last = log[len(log) - 1]
        line, column, message = (getattr(last, name) for name in ("line", "column", "message"))
    message = " ".join(message[:_MAX_REASON].split())
    reason = re.sub(r",? line \d+, column \d+( \(.*\))?$", "", message).rstrip(".")
    return DataError(
        f"{path}, line {line}, column {column}: malformed XML ({reason}): correct the file or "
        "export it again"
    )


def local_name(element: "Element") -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def text_of(element: "Element", code: frozenset[str], path: str) -> str:
    """Return the text of a segment without the content of elements that hold native code.

    An element that stands for a line break becomes a space, because words may touch it.

    Args:
        element: The segment.
        code: Local names of the elements whose content is code.
        path: Name of the file in error messages.

    Raises:
        DataError: The segment refers to an entity.
    """
    if not len(element):
        return element.text or ""
    parts = [element.text or ""]
    for child in element:
        if not isinstance(child.tag, str):
            raise undefined_entity(child, path)
        is_code = local_name(child) in code
        content = "".join(map(str, child.itertext())) if is_code else ""
        if is_line_break(child.attrib, content):
            parts.append(" ")
        if not is_code:
            parts.append(text_of(child, code, path))
        parts.append(child.tail or "")
    return "".join(parts)


def undefined_entity(element: "Element", path: str) -> DataError:
    """Return the error of a reference to an entity, which is a child of a segment."""
    return DataError(
        f"{path}, line {element.sourceline}: the entity {element.text} is not defined: write the "
        "character itself"
    )
