"""An XML file as a tree of elements with their places, so that parts of it can be replaced.

Other parsers lose what an XML file looks like: quotes, entities, the order of attributes. Here the
file stays a string of bytes, and the tree only refers to it.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from yakusu.errors import DataError

_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(/?)>""")
_ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*("[^"]*"|'[^']*')""")
_DECLARED = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XML = "http://www.w3.org/XML/1998/namespace"
_MAX_DEPTH = 200
_STARTS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass
class Text:
    """Character data, decoded, and where it begins."""

    start: int
    text: str
    cdata: bool


@dataclass
class Other:
    """A comment, a processing instruction or an unknown entity, with its place."""

    start: int
    stop: int


@dataclass
class Element:
    """An element; its places are offsets into `XmlFile.content`.

    Attributes:
        namespace: Its namespace, "" without.
        name: Its name without prefix.
        attributes: Values of attributes; those with a prefix are only "xml:space" and "xml:lang".
        parent: The element around it.
        start: Where its start tag begins.
        inside: Where its content begins.
        end: Where its end tag begins.
        stop: Where its end tag ends.
        children: Its content.
    """

    namespace: str
    name: str
    attributes: dict[str, str]
    parent: "Element | None"
    start: int
    inside: int
    end: int = 0
    stop: int = 0
    children: "list[Element | Text | Other]" = field(default_factory=list)

    def elements(self, *names: str) -> "list[Element]":
        """Children with one of these names, in the namespace of the element."""
        return [
            child
            for child in self.children
            if isinstance(child, Element)
            and child.name in names
            and child.namespace == self.namespace
        ]

    def descendants(self) -> "Iterator[Element]":
        """The element and all elements in it, in the order of the file."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.descendants()

    def text(self) -> str:
        """All character data in it."""
        return "".join(
            child.text if isinstance(child, Text) else child.text()
            for child in self.children
            if not isinstance(child, Other)
        )

    def inherited(self, attribute: str, default: str) -> str:
        """The value of an attribute of the element or of the nearest one around it."""
        element: Element | None = self
        while element is not None:
            if attribute in element.attributes:
                return element.attributes[attribute]
            element = element.parent
        return default


class XmlFile:
    """A well-formed XML file.

    Attributes:
        content: The file in UTF-8, without byte order mark.
        root: The root element.

    Raises:
        DataError: The file is not well-formed, or it declares entities.
    """

    def __init__(self, data: bytes) -> None:
        self._bom, self._encoding = _encoding(data)
        self.content = _decoded(data[len(self._bom) :], self._encoding).encode()
        self.root = _Reader(self.content).root
        self._newline = "\r\n" if b"\r\n" in self.content else "\n"

    def raw(self, start: int, stop: int) -> str:
        """A part of the file as it is written; its line ends are "\\n"."""
        return self.content[start:stop].decode().replace("\r\n", "\n")

    def holds(self, text: str) -> bool:
        """Whether the encoding of the file has all characters of a text."""
        try:
            return bool(text.encode(self._encoding)) or not text
        except UnicodeEncodeError:
            return False

    def edited(self, edits: Sequence[tuple[int, int, str]]) -> bytes:
        """The file with parts replaced.

        Args:
            edits: Start, stop and new content of parts that do not overlap.
        """
        pieces = []
        at = 0
        for start, stop, new in sorted(edits, key=lambda edit: edit[:2]):
            pieces.append(self._encoded(self.content[at:start].decode()))
            pieces.append(self._encoded(new.replace("\n", self._newline)))
            at = stop
        return self._bom + b"".join([*pieces, self._encoded(self.content[at:].decode())])

    def _encoded(self, text: str) -> bytes:
        return text.encode(self._encoding, errors="xmlcharrefreplace")


def _encoding(data: bytes) -> tuple[bytes, str]:
    """The byte order mark, and the encoding."""
    for bom, name in _STARTS:
        if data.startswith(bom):
            return bom, name
    if data.startswith((b"<\0", b"\0<")):
        return b"", "utf-16-le" if data[:1] == b"<" else "utf-16-be"
    declared = _DECLARED.match(data)
    name = declared[1].decode("ascii") if declared else "utf-8"
    try:
        b"text".decode(name)
    except (LookupError, UnicodeError) as error:
        raise DataError(
            f"line 1: the encoding {name} is not known: convert the file to UTF-8"
        ) from error
    return b"", name


def _decoded(data: bytes, encoding: str) -> str:
    advice = "convert the file to UTF-8 or correct its XML declaration"
    try:
        text = data.decode(encoding)
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = data.count(b"\n", 0, start) + 1
        raise DataError(f"line {line} is not {encoding}: {advice}") from error
    if text.encode(encoding) != data:
        raise DataError(f"the file is not plain {encoding}: {advice}")
    return text


class _Reader:
    """Builds the tree."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._open: list[Element] = []
        self._cdata = False
        self.root = Element("", "", {}, None, 0, 0)
        self._parser = parser = expat.ParserCreate("utf-8", " ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartCdataSectionHandler = lambda: self._mark_cdata(True)
        parser.EndCdataSectionHandler = lambda: self._mark_cdata(False)
        parser.CommentHandler = lambda _: self._other()
        parser.ProcessingInstructionHandler = lambda *_: self._other()
        parser.SkippedEntityHandler = lambda *_: self._other()
        parser.StartDoctypeDeclHandler = self._doctype
        try:
            parser.Parse(content, True)
        except expat.ExpatError as error:
            raise DataError(
                f"line {error.lineno}, column {error.offset + 1} is not well-formed XML "
                f"({expat.ErrorString(error.code)}): correct the file"
            ) from error

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        start = self._parser.CurrentByteIndex
        tag = _TAG.match(self._content, start)
        assert tag is not None
        if len(self._open) > _MAX_DEPTH:
            line = self._parser.CurrentLineNumber
            raise DataError(f"line {line}: elements are nested too deeply: flatten them")
        namespace, _, local = name.rpartition(" ")
        known = {
            key.replace(f"{_XML} ", "xml:"): value
            for key, value in attributes.items()
            if " " not in key or key.startswith(f"{_XML} ")
        }
        parent = self._open[-1] if self._open else None
        element = Element(namespace, local, known, parent, start, tag.end())
        if parent:
            parent.children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        element = self._open.pop()
        if self._content[element.inside - 2 : element.inside] == b"/>":
            element.end = element.stop = element.inside
        else:
            element.end = self._parser.CurrentByteIndex
            element.stop = self._content.index(b">", element.end) + 1

    def _text(self, text: str) -> None:
        children = self._open[-1].children
        last = children[-1] if children else None
        if isinstance(last, Text) and last.cdata == self._cdata:
            last.text += text
        else:
            children.append(Text(self._parser.CurrentByteIndex, text, self._cdata))

    def _mark_cdata(self, inside: bool) -> None:
        self._cdata = inside

    def _other(self) -> None:
        start = self._parser.CurrentByteIndex
        end = {b"<!": b"-->", b"<?": b"?>"}.get(self._content[start : start + 2], b";")
        if self._open:
            stop = self._content.index(end, start) + len(end)
            self._open[-1].children.append(Other(start, stop))

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        if internal:
            line = self._parser.CurrentLineNumber
            raise DataError(
                f"line {line}: the DOCTYPE has declarations, which could be harmful: remove them"
            )


def with_attribute(tag: str, name: str, value: str) -> str:
    """A start tag in which an attribute has a value."""
    written = '"' + escaped(value).replace('"', "&quot;") + '"'
    for found in _ATTRIBUTE.finditer(tag):
        if found[1] == name:
            return tag[: found.start(2)] + written + tag[found.end(2) :]
    end = re.search(r"\s*/?>$", tag)
    assert end is not None
    return f"{tag[: end.start()]} {name}={written}{end[0]}"


def attributes_of(tag: str) -> Iterator[tuple[str, str]]:
    """Names and quoted values of the attributes of a start tag."""
    return ((found[1], found[2]) for found in _ATTRIBUTE.finditer(tag))


def escaped(text: str) -> str:
    """Text as character data."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\r", "&#13;")


def is_writable(text: str) -> bool:
    """Whether XML can hold all characters of a text."""
    return not _FORBIDDEN.search(text)
