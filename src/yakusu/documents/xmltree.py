"""Parts of an XML file as trees that know their place in the bytes, so that the rest is copied.

Document type declarations are refused, and with them entities, references to other files, and
attacks that use either.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from xml.parsers import expat

from yakusu.errors import DataError

_MAX_DEPTH = 256


@dataclass(eq=False, slots=True)
class Element:
    """An element and its bytes.

    Attributes:
        uri: Its namespace.
        local: Its name without prefix.
        prefix: Its prefix as written, with a colon, or "".
        attributes: Values by name; names are "uri local", or "local" without a namespace.
        start: Index of its first byte.
        inner: Index of the first byte after the start tag.
        inner_end: Index of the first byte of the end tag.
        end: Index of the first byte after the end tag.
        children: Elements and text, which may be in several pieces.
    """

    uri: str
    local: str
    prefix: str
    attributes: dict[str, str]
    start: int
    inner: int = 0
    inner_end: int = 0
    end: int = 0
    children: list["Element | str"] = field(default_factory=list)

    @property
    def elements(self) -> Iterator["Element"]:
        """The child elements."""
        return (child for child in self.children if isinstance(child, Element))

    @property
    def merged_children(self) -> Iterator["Element | str"]:
        """Elements and text, without text next to text."""
        for is_text, group in groupby(self.children, lambda child: isinstance(child, str)):
            if is_text:
                yield "".join(child for child in group if isinstance(child, str))
            else:
                yield from group

    @property
    def text(self) -> str:
        """The text directly in this element."""
        return "".join(child for child in self.children if isinstance(child, str))

    def get(self, local: str) -> str:
        """The value of an attribute in any namespace, or ""."""
        for name, value in self.attributes.items():
            if name.rpartition(" ")[2] == local:
                return value
        return ""


@dataclass(frozen=True)
class Xml:
    """A parsed file.

    Attributes:
        data: The file.
        encoding: Python's name of its encoding.
        elements: The wanted elements that are in no other wanted element, in order.
    """

    data: bytes
    encoding: str
    elements: list[Element]

    def encoded(self, text: str) -> bytes:
        """Encode markup to be inserted into the file."""
        return text.encode(self.encoding, "xmlcharrefreplace")


def parse(data: bytes, name: str, wanted: Callable[[str, str], bool]) -> Xml:
    """Parse an XML file.

    Args:
        data: The file.
        name: Its name in error messages.
        wanted: Whether to keep the elements with this namespace and name.

    Raises:
        DataError: The file is not well-formed, or has a document type declaration.
    """
    builder = _Builder(name, wanted)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise DataError(
            f"{name}, line {error.lineno}, column {error.offset + 1}: the XML is invalid "
            f"({expat.ErrorString(error.code)}): save the document again"
        ) from error
    except (ValueError, LookupError) as error:  # pyexpat, about the encoding
        raise DataError(f"{name}: {error}: save the document again") from error
    return Xml(data, _encoding(data, builder.declared), builder.found)


def escaped(text: str) -> str:
    """Escape text for XML and leave out characters that XML does not allow."""
    allowed = "".join(filter(_is_allowed, text))
    return allowed.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _is_allowed(character: str) -> bool:
    """Whether XML 1.0 allows a character."""
    if character < " ":
        return character in "\t\n\r"
    return not "\ud800" <= character <= "\udfff" and character not in "\ufffe\uffff"


def _encoding(data: bytes, declared: str) -> str:
    if data.startswith((b"\xff\xfe", b"<\0")):
        return "utf-16-le"
    if data.startswith((b"\xfe\xff", b"\0<")):
        return "utf-16-be"
    return declared


class _Builder:
    """Receives the events of the parser. A tag ends where the next event begins."""

    def __init__(self, name: str, wanted: Callable[[str, str], bool]) -> None:
        self.found: list[Element] = []
        self.declared = "utf-8"
        self._name = name
        self._wanted = wanted
        self._names: dict[str, tuple[str, str, str]] = {}
        self._depth = 0
        self._open: list[Element] = []  # a wanted element and its open descendants
        self._started: Element | None = None  # its start tag ends at the next event
        self._ended: Element | None = None  # its end tag ends at the next event
        self.parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.namespace_prefixes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.DefaultHandlerExpand = self._other
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype

    def _event(self) -> int:
        at = self.parser.CurrentByteIndex
        if self._started is not None:
            self._started.inner = at
            self._started = None
        if self._ended is not None:
            self._ended.end = at
            self._ended = None
        return at

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        at = self._event()
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            line = self.parser.CurrentLineNumber
            raise DataError(
                f"{self._name}, line {line}: the XML has more than {_MAX_DEPTH} levels of "
                "elements: it is not a document"
            )
        uri, local, prefix = self._split(name)
        if not self._open and not self._wanted(uri, local):
            return
        named = {" ".join(filter(None, self._split(k)[:2])): v for k, v in attributes.items()}
        element = Element(uri, local, prefix, named, at)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.found.append(element)
        self._open.append(element)
        self._started = element

    def _end(self, name: str) -> None:
        at = self._event()
        self._depth -= 1
        if self._open:
            self._ended = self._open.pop()
            self._ended.inner_end = at

    def _characters(self, text: str) -> None:
        self._event()
        if self._open:
            self._open[-1].children.append(text)

    def _other(self, text: str) -> None:
        self._event()

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        self.declared = encoding or "utf-8"

    def _doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        raise DataError(
            f"{self._name}, line {self.parser.CurrentLineNumber}: the XML has a document type "
            "declaration, which documents do not have: save the document again"
        )

    def _split(self, name: str) -> tuple[str, str, str]:
        """The namespace, local name and prefix of a name, as reported by the parser."""
        if name not in self._names:
            first, *others = name.split(" ")
            uri, local, prefix = [first, *others, ""][:3] if others else ["", first, ""]
            self._names[name] = (uri, local, prefix and f"{prefix}:")
        return self._names[name]
