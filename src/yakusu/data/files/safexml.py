"""XML from untrusted files, read as a stream: no entities, no network, no external files.

This module needs lxml (extra 'corpora').
"""

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yakusu.data.files.compressed import missing_library, open_binary
from yakusu.data.files.text import refuse_binary
from yakusu.errors import DataError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_BREAK_TYPE = re.compile(r"(xlf:|x-(html-)?)?(lb|br)")
_BREAK_CODE = re.compile(r"\s*(<(\w+:)?br\b[^>]*>|(\\r)?\\n|\n)\s*", re.IGNORECASE)
_HEAD = 4096  # bytes searched for the encoding and for declarations of entities
_UTF16_DECLARED = re.compile(rb"<\?xml[^>]*encoding=[\"']utf-?16", re.IGNORECASE)


def read_elements(path: str, root: str, names: Sequence[str]) -> Iterator["Element"]:
    """Yield the elements with some local names, each when it is complete.

    Memory is constant: an element is emptied after it was used, and removed later.

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
        parsed = etree.iterparse(
            file,
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
                yield element
                _remove(element)
        except etree.XMLSyntaxError as error:
            raise _malformed(error, path, parsed.error_log) from error
        if not checked:
            _check(parsed.root, path, root)


def _encoding(file: io.BufferedReader, path: str) -> str | None:
    """Return the encoding of a file that declares a wrong one; None: as declared."""
    head = file.peek(_HEAD)[:_HEAD]
    if not head.strip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"):  # byte order marks and white space
        raise DataError(f"{path} is empty: specify another file, or create it again")
    refuse_binary(head, path)
    if b"<!ENTITY" in head.replace(b"\0", b""):
        raise _entities(path)
    # Some programs convert a file to UTF-8 and leave the declaration as it was.
    return "utf-8" if b"\0" not in head and _UTF16_DECLARED.match(head.lstrip()) else None


def _check(element: "Element", path: str, root: str) -> None:
    tree = element.getroottree()
    name = local_name(tree.getroot())
    if name != root:
        raise DataError(
            f"{path} is XML of another kind: its root element is <{name}>, not <{root}>"
        )
    subset = tree.docinfo.internalDTD
    if subset is not None and any(True for _ in subset.iterentities()):
        raise _entities(path)


def _entities(path: str) -> DataError:
    return DataError(
        f"{path} declares entities in its DOCTYPE, which are not safe to read: replace them by "
        "their text and remove the declarations"
    )


def _remove(element: "Element") -> None:
    """Empty an element, and remove its predecessors; the parser may still need the element."""
    element.clear(keep_tail=True)
    parent = element.getparent()
    while parent is not None and (before := element.getprevious()) is not None:
        parent.remove(before)


def _malformed(error: SyntaxError, path: str, log: Sequence[object]) -> DataError:
    line, column = error.lineno or 0, error.offset or 0
    message = str(error.msg or "it has no elements")
    if not line and len(log):  # the parser found an error that it did not raise
        last = log[len(log) - 1]
        line, column, message = (getattr(last, name) for name in ("line", "column", "message"))
    message = " ".join(message.split())
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
            raise DataError(
                f"{path}, line {child.sourceline}: the entity {child.text} is not defined: write "
                "the character itself"
            )
        is_code = local_name(child) in code
        if _is_line_break(child, is_code=is_code):
            parts.append(" ")
        if not is_code:
            parts.append(text_of(child, code, path))
        parts.append(child.tail or "")
    return "".join(parts)


def _is_line_break(element: "Element", *, is_code: bool) -> bool:
    """Whether an inline element says that it is a line break, or holds the code of one."""
    types = (element.get(name, "") for name in ("type", "ctype", "subType"))
    codes = (element.get(name, "") for name in ("equiv-text", "equiv", "disp"))
    content = "".join(map(str, element.itertext())) if is_code else ""
    return any(map(_BREAK_TYPE.fullmatch, types)) or any(
        map(_BREAK_CODE.fullmatch, (*codes, content))
    )
