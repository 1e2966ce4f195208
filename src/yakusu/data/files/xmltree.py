"""An XML file as elements with their positions in it, so that parts of it can be replaced.

Other parsers lose details of an XML file: quotes, entities, the order of attributes. Here, the file
is kept as a string of bytes, to which the elements only refer. Declarations of entities are
refused, and so are references to entities that XML does not define.

The tree of a file would take many times its size. Only one wanted element, such as a paragraph,
is in memory at a time: it is used when it is complete, and then emptied.
"""

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from yakusu.data.files.encodings import BYTE_ORDER_MARKS, extends_ascii
from yakusu.errors import DataError

_ATTRIBUTE = re.compile(r"""(?<!\s)\s+([^\s=]++)\s*=\s*("[^"]*"|'[^']*')""")
_BYTES_ATTRIBUTE = re.compile(rb"""(?<=\s)([^\s=<>"']++)\s*=\s*("[^"]*+"|'[^']*+')""")
_DECLARED = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_FORBIDDEN = re.compile("[\0-\x08\v\f\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
XML_SPACE = "http://www.w3.org/XML/1998/namespace space"  # name of the attribute xml:space
WRONG_ENCODING = "convert the file to UTF-8 or correct its XML declaration"
_MAX_DEPTH = 256
_MAX_NODES = 200_000  # in a wanted element; with what is made of them, they take up to 200 MB
_MAX_ATTRIBUTES = 20_000  # of a tag
_LONG_TAG = re.compile(b"<[^<!?][^<]{%d,}" % (4 * _MAX_ATTRIBUTES))  # and what follows it
_VALUE = re.compile(rb"""[^<>"']*(?:"[^<"]*"|'[^<']*')""")  # of an attribute, and what is before it
_MAX_TOKEN = 2**24  # bytes of a tag, comment or instruction
_TOKEN_ENDS = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<!": b">", b"<?": b"?>"}
_TOKEN = re.compile(rb"<!--|<!\[CDATA\[|<[!?]")
_UTF8_PART = 2**20  # bytes that are decoded at a time


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
        parts: list[str] = []
        waiting: list[Element | CharacterData | Other] = [self]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Element):
                waiting += reversed(node.children)
            elif isinstance(node, CharacterData):
                parts.append(node.text)
        return "".join(parts)

    def named(self, *names: str) -> "list[Element]":
        """Child elements with one of these names, in the namespace of the element."""
        return [
            child
            for child in self.elements
            if child.name in names and child.namespace == self.namespace
        ]

    def descendants(self) -> Iterator["Element"]:
        """The element and all elements in it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += [child for child in reversed(element.children) if type(child) is Element]

    def clear(self) -> None:
        """Remove the content of the element and of those in it, which refer to each other."""
        waiting = [self]
        while waiting:
            children = waiting.pop().children
            waiting += [child for child in children if type(child) is Element]
            children.clear()

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
    """An XML file.

    Args:
        data: The file.

    Attributes:
        content: The file in UTF-8, without byte order mark.

    Raises:
        DataError: The file is not in its encoding.
    """

    def __init__(self, data: bytes) -> None:
        self._bom, self._encoding = encoding_of(data)
        self.content = _in_utf8(data.removeprefix(self._bom), self._encoding)
        self._newline = "\r\n" if b"\r\n" in self.content else "\n"
        self._counted = (0, 1)  # a position, and the line there

    def parse(
        self,
        wanted: Callable[[str, str], bool],
        use: "Callable[[Element], object]",
        *,
        skipped: Callable[[str, str], bool] | None = None,
    ) -> Element:
        """Parse the file.

        Args:
            wanted: Whether an element with this namespace and name is used.
            use: Called with each wanted element that is in no other wanted element, when it is
                complete. Later, the element is empty.
            skipped: Whether the content of an element is passed over.

        Returns:
            The root element, empty.

        Raises:
            DataError: The file is not well-formed, it declares or uses entities, or it exceeds a
                limit.
        """

        def use_and_clear(element: Element) -> None:
            use(element)
            element.clear()

        self._check_tags()
        self._check_comments()
        builder = ElementBuilder(wanted, use_and_clear, skipped)
        try:
            builder.feed(self.content, final=True)
        finally:
            builder.close()
        assert builder.root is not None
        return builder.root

    def _check_tags(self) -> None:
        """Refuse large tags, all of whose attributes the parser would read at once."""
        for tag in _LONG_TAG.finditer(self.content):
            start = tag.start()
            n_attributes, at = 0, start + 1
            while n_attributes <= _MAX_ATTRIBUTES and (value := _VALUE.match(self.content, at)):
                n_attributes, at = n_attributes + 1, value.end()
            if n_attributes > _MAX_ATTRIBUTES:
                raise DataError(
                    f"line {self.line_of(start)}: a tag has more than {_MAX_ATTRIBUTES:,} "
                    "attributes: correct the file"
                )
            end = self.content.find(b">", at, tag.end())
            self._check_size(start, tag.end() if end < 0 else end)

    def _check_comments(self) -> None:
        """Refuse large comments and instructions, which the parser scans again for each MB."""
        at = 0
        while len(self.content) - at > _MAX_TOKEN and (found := _TOKEN.search(self.content, at)):
            at = self.content.find(_TOKEN_ENDS[found[0]], found.end())
            at = len(self.content) if at < 0 else at
            if found[0] != b"<![CDATA[":
                self._check_size(found.start(), at)

    def _check_size(self, start: int, end: int) -> None:
        if end - start > _MAX_TOKEN:
            raise DataError(
                f"line {self.line_of(start)}: a tag or comment is larger than "
                f"{_MAX_TOKEN >> 20} MB: divide it"
            )

    def line_of(self, position: int) -> int:
        """The line of a position, from 1; fast if the positions ascend."""
        counted, line = self._counted
        if position >= counted:
            line += self.content.count(b"\n", counted, position)
        else:
            line -= self.content.count(b"\n", position, counted)
        self._counted = (position, line)
        return line

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
        edited = bytearray()
        at = 0
        for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
            edited += self.content[at:start]
            edited += new.replace("\n", self._newline).encode()
            at = end
        edited += self.content[at:]
        return bytes(self.encoded(edited))

    def encoded(self, content: bytearray) -> bytes | bytearray:
        """A file with other content, given in UTF-8, in the encoding of this one."""
        if _is_utf8(self._encoding):
            return self._bom + content if self._bom else content
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


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == "utf-8"


def _in_utf8(data: bytes, encoding: str) -> bytes:
    """The content of a file in UTF-8."""
    advice = WRONG_ENCODING
    if _is_utf8(encoding):
        _check_utf8(data)
        content = data
    else:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise DataError(f"line {line} is not {encoding}: {advice}") from error
        if text.encode(encoding, "replace") != data:
            raise DataError(f"the file is not plain {encoding}: {advice}")
        content = text.encode()
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise DataError(f"line {line} contains a NUL character: {advice}")
    return content


def _check_utf8(data: bytes) -> None:
    """Raise DataError if data is not UTF-8; as a string, it could take four times the memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    for start in range(0, len(data) + 1, _UTF8_PART):
        part = data[start : start + _UTF8_PART]
        try:
            decoder.decode(part, final=start + _UTF8_PART > len(data))
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise DataError(f"line {line} is not utf-8: {WRONG_ENCODING}") from error
        line += part.count(b"\n")


class ElementBuilder:
    """Builds the wanted elements. Tags, comments and instructions end where the next event begins.

    Args:
        wanted: Whether to build the elements with this namespace and name.
        use: Called with each wanted element that is in no other one, when it is complete.
        skipped: Whether to pass over the content of elements with this namespace and name.

    Attributes:
        root: The root element, without content unless it is wanted.
    """

    def __init__(
        self,
        wanted: Callable[[str, str], bool],
        use: Callable[[Element], object],
        skipped: Callable[[str, str], bool] | None = None,
    ) -> None:
        self.root: Element | None = None
        self._wanted = wanted
        self._use = use
        self._skipped = skipped
        self._names: dict[str, tuple[str, str, str]] = {}
        self._n_fed = 0
        self._n_nodes = 0  # of the wanted element
        self._n_passed = 0  # open elements within a skipped one, which is not counted
        self._is_passing = False  # within a skipped element
        self._outer: list[Element] = []  # open elements that are not wanted
        self._open: list[Element] = []  # a wanted element and its open descendants
        self._started: Element | None = None  # its start tag ends at the next event
        self._ended: Element | Other | None = None  # it ends at the next event
        self._used: Element | None = None  # a wanted element that ends at the next event
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

    def close(self) -> None:
        """Remove the parser, which refers to the builder; it keeps what `use` refers to."""
        del self._parser

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
        at = self._parser.CurrentByteIndex
        if self._pieces or self._started or self._ended:
            self._complete(at)
        return at

    def _complete(self, at: int) -> None:
        if self._pieces:
            self._text.text = "".join(self._pieces)
            self._pieces.clear()
        if self._started:
            self._started.inner = at
        if self._ended:
            self._ended.end = at
        self._started = self._ended = None
        if self._used:
            used, self._used = self._used, None
            self._use(used)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        at = self._event()
        if len(self._outer) + len(self._open) + self._n_passed >= _MAX_DEPTH:
            raise self._error(f"the XML has more than {_MAX_DEPTH} levels of elements: flatten it")
        if self._is_passing:
            self._n_passed += 1
            return
        namespace, local, prefix = self._split(name)
        named = attributes
        if any(" " in key for key in attributes):
            named = {
                " ".join(self._split(k)[:2]) if " " in k else k: v for k, v in attributes.items()
            }
        around = self._open or self._outer
        parent = around[-1] if around else None
        self._started = element = Element(namespace, local, prefix, named, parent, at)
        self.root = self.root or element
        if self._skipped is not None:
            self._is_passing = self._skipped(namespace, local)
        if self._open:
            self._open[-1].children.append(element)
        elif self._is_passing or not self._wanted(namespace, local):
            self._outer.append(element)
            return
        else:
            self._n_nodes = 0
        self._open.append(element)
        self._n_nodes += 1 + len(named)
        if self._n_nodes > _MAX_NODES:
            raise self._too_many()

    def _end(self, _: str) -> None:
        at = self._event()
        if self._n_passed:
            self._n_passed -= 1
            return
        self._is_passing = False
        is_last = len(self._open) == 1
        self._ended = element = (self._open or self._outer).pop()
        element.inner_end = at
        if is_last:
            self._used = element

    def _characters(self, text: str) -> None:
        if not self._pieces:
            self._text = CharacterData(self._event(), "", self._cdata)
        if not self._open or self._is_passing:
            return
        if not self._pieces:
            self._open[-1].children.append(self._text)
        self._pieces.append(text)

    def _too_many(self) -> DataError:
        return self._error(
            f"the element <{self._open[0].name}> contains more than {_MAX_NODES:,} elements, "
            "attributes and comments: divide it"
        )

    def _mark_cdata(self, inside: bool) -> None:
        self._event()
        self._cdata = inside
        self._n_nodes += 1
        if self._open and self._n_nodes > _MAX_NODES:
            raise self._too_many()

    def _other(self, *_: str) -> None:
        self._ended = other = Other(self._event())
        if self._open and not self._is_passing:
            self._open[-1].children.append(other)
            self._n_nodes += 1
            if self._n_nodes > _MAX_NODES:
                raise self._too_many()

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


def value_place(tag: bytes, ending: bytes) -> tuple[int, int] | None:
    """Where the quoted value of the first attribute stands whose name ends with a text."""
    for found in _BYTES_ATTRIBUTE.finditer(tag):
        if found[1].endswith(ending):
            return found.span(2)
    return None


def attributes_of(tag: str) -> Iterator[tuple[str, str]]:
    """Names and quoted values of the attributes of a start tag."""
    return ((found[1], found[2]) for found in _ATTRIBUTE.finditer(tag))


def escaped(text: str) -> str:
    """Text as character data, without characters that XML does not allow."""
    text = writable(text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\r", "&#13;")


def writable(text: str) -> str:
    """Text without characters that XML does not allow."""
    return _FORBIDDEN.sub("", text)


def is_writable(text: str) -> bool:
    """Whether XML can hold all characters of a text."""
    return not _FORBIDDEN.search(text)
