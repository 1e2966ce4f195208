"""An XML file as elements with their positions in it, so that parts of it can be replaced.

Other parsers lose details of an XML file: quotes, entities, the order of attributes. Here, the file
is kept as a string of bytes, to which the elements only refer. Declarations of entities are
refused, and so are references to entities that XML does not define.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from yakusu.data.files.text import BYTE_ORDER_MARKS, extends_ascii
from yakusu.errors import DataError

_ATTRIBUTE = re.compile(r"""(?<!\s)\s+([^\s=]++)\s*=\s*("[^"]*"|'[^']*')""")
_DECLARED = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_FORBIDDEN = re.compile("[\0-\x08\v\f\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
XML_SPACE = "http://www.w3.org/XML/1998/namespace space"  # name of the attribute xml:space
WRONG_ENCODING = "convert the file to UTF-8 or correct its XML declaration"
_MAX_DEPTH = 256
_MAX_ELEMENTS = 1_000_000  # which take up to 1 GB of memory


@dataclass(eq=False, slots=True)
class CharacterData:
    """Character data, decoded, and where it begins."""

    start: int
    text: str
    cdata: bool


@dataclass(eq=False, slots=True)
class Other:
    """A comment or a processing instruction, with its place."""

    start: int
    end: int = 0


@dataclass(eq=False, slots=True)
class Element:
    """An element; its places are offsets into `XmlFile.content`.

    Attributes:
        namespace: Its namespace, "" without.
        name: Its name without prefix.
        prefix: Its prefix as written, with a colon, or "".
        attributes: Values by name; names are "namespace name", or "name" without a namespace.
        parent: The element around it, None for the root.
        start: Where its start tag begins.
        inner: Where its content begins.
        inner_end: Where its end tag begins.
        end: Where its end tag ends.
        children: Its content; adjacent texts are joined, unless one of them is CDATA.
    """

    namespace: str
    name: str
    prefix: str
    attributes: dict[str, str]
    parent: "Element | None"
    start: int
    inner: int = 0
    inner_end: int = 0
    end: int = 0
    children: "list[Element | CharacterData | Other]" = field(default_factory=list)

    @property
    def elements(self) -> Iterator["Element"]:
        """The child elements."""
        return (child for child in self.children if isinstance(child, Element))

    @property
    def text(self) -> str:
        """All character data in it."""
        return "".join(child.text for child in self.children if not isinstance(child, Other))

    def named(self, *names: str) -> "list[Element]":
        """Child elements with one of these names, in the namespace of the element."""
        return [
            child
            for child in self.elements
            if child.name in names and child.namespace == self.namespace
        ]

    def descendants(self) -> Iterator["Element"]:
        """The element and all elements in it, in the order of the file."""
        yield self
        for child in self.elements:
            yield from child.descendants()

    def get(self, name: str) -> str:
        """The value of an attribute in any namespace, or ""."""
        for key, value in self.attributes.items():
            if key.rpartition(" ")[2] == name:
                return value
        return ""

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

    Args:
        data: The file.
        wanted: Whether to keep the elements with this namespace and name; None: all.

    Attributes:
        content: The file in UTF-8, without byte order mark.
        elements: The wanted elements that are in no other wanted element, in order.

    Raises:
        DataError: The file is not well-formed, or it declares or uses entities.
    """

    def __init__(self, data: bytes, wanted: Callable[[str, str], bool] | None = None) -> None:
        self._bom, self._encoding = encoding_of(data)
        self.content = _decoded(data[len(self._bom) :], self._encoding).encode()
        builder = ElementBuilder(wanted or (lambda *_: True))
        builder.feed(self.content, final=True)
        self.elements = builder.found
        self._newline = "\r\n" if b"\r\n" in self.content else "\n"

    def raw(self, start: int, end: int) -> str:
        """A part of the file as it is written; its line ends are "\\n"."""
        return self.content[start:end].decode().replace("\r\n", "\n")

    def holds(self, text: str) -> bool:
        """Whether the encoding of the file has all characters of a text."""
        try:
            return bool(text.encode(self._encoding)) or not text
        except UnicodeEncodeError:
            return False

    def edited(self, edits: Sequence[tuple[int, int, str]]) -> bytes:
        """The file with parts replaced.

        Args:
            edits: Start, end and new content of parts that do not overlap.
        """
        pieces = []
        at = 0
        for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
            pieces += [self.content[at:start], new.replace("\n", self._newline).encode()]
            at = end
        return self.encoded(b"".join([*pieces, self.content[at:]]))

    def encoded(self, content: bytes) -> bytes:
        """A file with other content, given in UTF-8, in the encoding of this one."""
        return self._bom + content.decode().encode(self._encoding, "xmlcharrefreplace")


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark of a file, given its first bytes, and its encoding.

    Raises:
        DataError: The encoding is unknown, or not that of the file.
    """
    bom = next(filter(data.startswith, BYTE_ORDER_MARKS), b"")
    if bom:
        return bom, BYTE_ORDER_MARKS[bom]
    if data.startswith((b"<\0", b"\0<")):
        return b"", "utf-16-le" if data[:1] == b"<" else "utf-16-be"
    declared = _DECLARED.match(data)
    name = declared[1].decode("ascii") if declared else "utf-8"
    if not extends_ascii(name):
        raise DataError(
            f"line 1: the encoding {name} is unknown, or not that of the file: convert the file "
            "to UTF-8 and correct its XML declaration"
        )
    return b"", name


def _decoded(data: bytes, encoding: str) -> str:
    advice = WRONG_ENCODING
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"line {line} is not {encoding}: {advice}") from error
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"line {line} contains a NUL character: {advice}")
    if text.encode(encoding, "replace") != data:
        raise DataError(f"the file is not plain {encoding}: {advice}")
    return text


class ElementBuilder:
    """Builds the elements. Tags, comments and instructions end where the next event begins.

    Args:
        wanted: Whether to keep the elements with this namespace and name.

    Attributes:
        found: The wanted elements that are in no other wanted element.
        root: The root element, without content unless it is wanted.
    """

    def __init__(self, wanted: Callable[[str, str], bool]) -> None:
        self.found: list[Element] = []
        self.root: Element | None = None
        self._wanted = wanted
        self._names: dict[str, tuple[str, str, str]] = {}
        self._n_fed = 0
        self._n_elements = self._n_before = 0  # in memory; those before the last one in `found`
        self._outer: list[Element] = []  # open elements that are not wanted
        self._open: list[Element] = []  # a wanted element and its open descendants
        self._started: Element | None = None  # its start tag ends at the next event
        self._ended: Element | Other | None = None  # it ends at the next event
        self._text = CharacterData(0, "", False)
        self._pieces: list[str] = []  # of the text
        self._cdata = False
        self._parser = parser = expat.ParserCreate("utf-8", " ")
        parser.namespace_prefixes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartCdataSectionHandler = lambda: self._mark_cdata(True)
        parser.EndCdataSectionHandler = lambda: self._mark_cdata(False)
        parser.CommentHandler = self._other
        parser.ProcessingInstructionHandler = self._other
        parser.SkippedEntityHandler = self._entity
        parser.StartDoctypeDeclHandler = self._doctype
        parser.DefaultHandlerExpand = lambda _: self._event()

    def feed(self, content: bytes, *, final: bool = False) -> None:
        """Parse the next part of the content, in UTF-8.

        Raises:
            DataError: It is not well-formed, or it declares or uses entities.
        """
        try:
            self._parser.Parse(content, final)
        except expat.ExpatError as error:
            raise DataError(
                f"line {error.lineno}, column {error.offset + 1} is not well-formed XML "
                f"({expat.ErrorString(error.code)}): correct the file, or save it again"
            ) from error
        self._n_fed += len(content)
        if final:
            self._complete(self._n_fed)

    def take(self) -> list[Element]:
        """Remove the complete elements from `found`, and return them."""
        self._n_elements = self._n_elements - self._n_before if self._open else 0
        self._n_before = 0
        n_complete = len(self.found) - bool(self._open)
        taken, self.found = self.found[:n_complete], self.found[n_complete:]
        return taken

    @property
    def line(self) -> int:
        """The line that the parser has reached."""
        return self._parser.CurrentLineNumber

    @property
    def n_pending(self) -> int:
        """Bytes since the start of the wanted element, tag or comment that is not complete."""
        return self._n_fed - (self._open[0].start if self._open else self._parser.CurrentByteIndex)

    def _event(self) -> int:
        """Return where an event begins, which is where the one before it ends."""
        self._complete(self._parser.CurrentByteIndex)
        return self._parser.CurrentByteIndex

    def _complete(self, at: int) -> None:
        if self._pieces:
            self._text.text = "".join(self._pieces)
            self._pieces.clear()
        if self._started:
            self._started.inner = at
        if self._ended:
            self._ended.end = at
        self._started = self._ended = None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        at = self._event()
        self._n_elements += 1
        if len(self._outer) + len(self._open) >= _MAX_DEPTH:
            raise self._error(f"the XML has more than {_MAX_DEPTH} levels of elements: flatten it")
        if self._n_elements > _MAX_ELEMENTS:
            raise self._error(f"the XML has more than {_MAX_ELEMENTS:,} elements: split the file")
        namespace, local, prefix = self._split(name)
        named = {" ".join(self._split(k)[:2]) if " " in k else k: v for k, v in attributes.items()}
        around = self._open or self._outer
        parent = around[-1] if around else None
        self._started = element = Element(namespace, local, prefix, named, parent, at)
        self.root = self.root or element
        if self._open:
            self._open[-1].children.append(element)
        elif self._wanted(namespace, local):
            self.found.append(element)
            self._n_before = self._n_elements - 1
        else:
            self._outer.append(element)
            return
        self._open.append(element)

    def _end(self, _: str) -> None:
        at = self._event()
        self._ended = element = (self._open or self._outer).pop()
        element.inner_end = at

    def _characters(self, text: str) -> None:
        if not self._pieces:
            self._text = CharacterData(self._event(), "", self._cdata)
        if not self._open:
            return
        if not self._pieces:
            self._open[-1].children.append(self._text)
        self._pieces.append(text)

    def _mark_cdata(self, inside: bool) -> None:
        self._event()
        self._cdata = inside

    def _other(self, *_: str) -> None:
        self._ended = other = Other(self._event())
        if self._open:
            self._open[-1].children.append(other)

    def _entity(self, name: str, is_parameter: bool) -> None:
        raise self._error(f"the entity {name} is not defined: write the character itself")

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        self._event()
        if internal:
            raise self._error("the DOCTYPE has declarations, which could be harmful: remove them")

    def _error(self, problem: str) -> DataError:
        return DataError(f"line {self._parser.CurrentLineNumber}: {problem}")

    def _split(self, name: str) -> tuple[str, str, str]:
        """The namespace, local name and prefix of a name, as reported by the parser."""
        if name not in self._names:
            first, *others = name.split(" ")
            uri, local, prefix = [first, *others, ""][:3] if others else ["", first, ""]
            self._names[name] = (uri, local, prefix and f"{prefix}:")
        return self._names[name]


def with_attribute(tag: str, name: str, value: str) -> str:
    """A start tag in which an attribute has a value."""
    written = '"' + escaped(value).replace('"', "&quot;") + '"'
    for found in _ATTRIBUTE.finditer(tag):
        if found[1] == name:
            return tag[: found.start(2)] + written + tag[found.end(2) :]
    start = tag.removesuffix(">").removesuffix("/").rstrip()
    return f"{start} {name}={written}{tag.removeprefix(start)}"


def attributes_of(tag: str) -> Iterator[tuple[str, str]]:
    """Names and quoted values of the attributes of a start tag."""
    return ((found[1], found[2]) for found in _ATTRIBUTE.finditer(tag))


def escaped(text: str) -> str:
    """Text as character data, without characters that XML does not allow."""
    text = _FORBIDDEN.sub("", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\r", "&#13;")


def is_writable(text: str) -> bool:
    """Whether XML can hold all characters of a text."""
    return not _FORBIDDEN.search(text)
