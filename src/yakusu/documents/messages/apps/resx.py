"""Resource files of .NET (.resx, .resw): the values of strings.

    <data name="Greeting" xml:space="preserve"><value>Hello {0}</value><comment>...</comment></data>

Typed data, files, metadata, names of controls (">>") and comments stay. A comment with {Locked}
keeps its value, one with {Locked="words"} keeps these words.

https://learn.microsoft.com/dotnet/core/extensions/create-resource-files
"""

import re
from collections.abc import Callable, Sequence

from yakusu.data.files.xmltree import Element, XmlFile
from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.apps.xml_values import XmlValue
from yakusu.documents.messages.units import Edit, MessageUnit, UnitDocument, UnitString
from yakusu.errors import DataError

_STRING = re.compile(r"System\.String(?:,.*)?", re.DOTALL)
_LOCKED = re.compile(r"\{Locked(?:=(?P<words>[^{}]*))?\}")
_WORDS = re.compile(r'"([^"]+)"')


class ResxFile:
    """A resource file.

    Args:
        data: The file.

    Attributes:
        root: The root element, once the file has been parsed.

    Raises:
        DataError: The file is not in its encoding.
    """

    def __init__(self, data: bytes) -> None:
        self._xml = XmlFile(data)
        self.root: Element | None = None

    def parse(self, use: Callable[[MessageUnit], None]) -> None:
        """Call a function with each string; see `UnitFile`."""

        def use_unit(element: Element) -> None:
            if unit := self._unit(element):
                use(unit)

        self.root = self._xml.parse(lambda _, name: name == "data", use_unit)

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file with parts replaced."""
        return self._xml.edited(edits)

    def line_of(self, element: Element) -> int:
        """The line of an element."""
        return self._xml.line_of(element.start)

    def _unit(self, element: Element) -> MessageUnit | None:
        """The string of a <data> element; None: it has none."""
        key = element.attributes.get("name", "")
        kind = element.attributes.get("type", "")
        is_string = not (kind and not _STRING.fullmatch(kind)) and not element.get("mimetype")
        values = element.named("value")
        comments = "".join(each.text for each in element.named("comment"))
        locks = [locked["words"] for locked in _LOCKED.finditer(comments)]
        if not (is_string and len(values) == 1) or key.startswith(">>") or None in locks:
            return None
        words = [word for lock in locks for word in _WORDS.findall(lock)]
        code = "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or None
        value = XmlValue(self._xml, values[0], code)
        line = self._xml.line_of(values[0].start)
        string = UnitString(value.start, value.end, line, value.marked, value.write)
        return MessageUnit(key, [string.checked()])


def read(data: bytes, options: DocumentOptions) -> UnitDocument:
    """Read a resource file of .NET.

    Args:
        data: The file.
        options: Not used: the file states no language.

    Raises:
        DataError: The data is not well-formed XML, or not a resource file.
    """
    del options
    file = ResxFile(data)
    document = UnitDocument(file)
    root = file.root
    assert root is not None
    if root.name != "root":
        raise DataError(
            f"line {file.line_of(root)}: the file begins with <{root.name}>, not with <root>: "
            "check its format"
        )
    return document
