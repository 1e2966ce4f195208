"""Property lists of Apple in XML: .stringsdict files with plurals, and strings files.

    %d files: {NSStringLocalizedFormatKey: %#@files@,
               files: {NSStringFormatSpecTypeKey: NSStringPluralRuleType, one: ..., other: ...}}

A plural gets the categories that the target language has, from its form `other` and with a comment.

https://developer.apple.com/documentation/xcode/localizing-strings-that-contain-plurals
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import NamedTuple

from yakusu.data.files.xmltree import CharacterData, Element, XmlFile, escaped, is_writable
from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.plurals import CATEGORIES, NOTE, missing_categories
from yakusu.documents.messages.units import (
    Edit,
    MarkedString,
    MessageUnit,
    UnitDocument,
    UnitString,
    text_item,
)
from yakusu.errors import DataError

_XML = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*+<(?:\?xml|!DOCTYPE|plist|!--)")
_FORMAT = "NSStringLocalizedFormatKey"
_VARIANTS = ("NSStringVariableWidthRuleType", "NSStringDeviceSpecificRuleType")
_DEEPEST = 20  # levels of dictionaries and arrays


class _Form(NamedTuple):
    """A plural form: the space before its key, what is between key and string, and the string."""

    space: str
    between: str
    content: str


@dataclass
class _Container:
    """An open <dict> or <array>.

    Attributes:
        start: Where it begins.
        name: The last key in it.
        key: The element of this key, until its value.
        end: Where the last string in it ends.
        strings: Its texts.
        forms: Its plural forms, by category.
        forms_end: Where the last one ends.
    """

    start: int
    name: str = ""
    key: Element | None = None
    end: int = 0
    strings: list[UnitString] = field(default_factory=list)
    forms: dict[str, _Form] = field(default_factory=dict)
    forms_end: int = 0


class PropertyListFile:
    """A property list in XML.

    Args:
        data: The file.
        language: Code of the target language, "" if unknown.
        plain: Whether every string of the outermost dictionary is a text, as in a strings file.

    Raises:
        DataError: The file is not in its encoding.
    """

    def __init__(self, data: bytes, language: str = "", *, plain: bool) -> None:
        self._xml = XmlFile(data)
        self._language, self._plain = language, plain
        self._open: list[_Container] = []

    def parse(self, use: Callable[[MessageUnit], None]) -> None:
        """Call a function with the strings of each dictionary; see `UnitFile`."""
        self._open = []
        root = self._xml.parse(_is_leaf, lambda element: self._add(element, use))
        self._close(0, use)
        if root.name != "plist":
            raise DataError(
                f"line {self._xml.line_of(root.start)}: the file begins with <{root.name}>, not "
                "with <plist>: check its format"
            )

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file with parts replaced."""
        return self._xml.edited(edits)

    def _add(self, element: Element, use: Callable[[MessageUnit], None]) -> None:
        """Add a key or a string to its dictionary, and use the dictionaries that have ended."""
        starts = list[int]()
        around = element.parent
        while around is not None:
            starts += [around.start] * (around.name in ("dict", "array"))
            around = around.parent
        if len(starts) > _DEEPEST:
            raise DataError(
                f"line {self._xml.line_of(element.start)}: the property list has more than "
                f"{_DEEPEST} levels: flatten it"
            )
        starts.reverse()
        same = takewhile(
            lambda pair: pair[0].start == pair[1], zip(self._open, starts, strict=False)
        )
        n_open = len([*same])
        self._close(n_open, use)
        self._open += map(_Container, starts[n_open:])
        if element.parent is not None and element.parent.name == "dict":
            self._add_to(self._open[-1], element)

    def _add_to(self, inner: _Container, element: Element) -> None:
        """Add a key or a string to the innermost dictionary."""
        if element.name == "key":
            inner.key, inner.name = element, element.text
            return
        key, name, inner.key = inner.key, inner.name, None
        if key is not None and self._is_text(name):
            is_form = name in CATEGORIES and not (self._plain or self._are_variants)
            category = name if is_form else ""
            inner.strings.append(self._string(element, category))
            if category:
                space = self._xml.raw(inner.end, key.start) if inner.end else ""
                inner.forms[name] = _Form(
                    "" if space.strip() else space,
                    self._xml.raw(key.end, element.start),
                    self._xml.raw(element.inner, element.inner_end),
                )
                inner.forms_end = element.end
        inner.end = element.end

    def _is_text(self, key: str) -> bool:
        """Whether the string of a key of the innermost dictionary is a text."""
        if self._plain or len(self._open) == 1:
            return len(self._open) == 1
        return key in CATEGORIES or key == _FORMAT or self._are_variants

    @property
    def _are_variants(self) -> bool:
        """Whether the innermost dictionary has strings for widths or devices, one of them other."""
        return len(self._open) > 1 and self._open[-2].name in _VARIANTS

    def _string(self, element: Element, category: str) -> UnitString:
        marked = MarkedString([text_item(element.text)])

        def write(string: str) -> str | None:
            new = marked.written(string, lambda text, _: escaped(text))
            return new if is_writable(string) else None

        line = self._xml.line_of(element.start)
        place = element.inner, element.inner_end
        string = UnitString(*place, line, marked, write, category)
        if not all(isinstance(each, CharacterData) for each in element.children):
            return replace(string, problem=string.reason("has tags or comments in it"))
        return string.checked()

    def _close(self, n: int, use: Callable[[MessageUnit], None]) -> None:
        """Use all open dictionaries but the first ones."""
        while len(self._open) > n:
            closed = self._open.pop()
            if closed.strings:
                key = ".".join(each.name for each in self._open)
                use(MessageUnit(key, closed.strings, self._added(closed)))

    def _added(self, closed: _Container) -> Callable[[str | None], Edit] | None:
        """What adds the missing categories to a plural."""
        missing = missing_categories(closed.forms, self._language)
        if not missing:
            return None
        form, at = closed.forms["other"], closed.forms_end

        def added(new: str | None) -> Edit:
            content = form.content if new is None else new
            written = [f"{form.space}<!-- {NOTE.format(', '.join(missing))} -->"]
            for each in missing:
                written += [
                    form.space,
                    f"<key>{each}</key>{form.between}<string>{content}</string>",
                ]
            return at, at, "".join(written)

        return added


def is_xml(data: bytes) -> bool:
    """Whether a property list is XML."""
    return _XML.match(data[:1000].replace(b"\0", b"")) is not None


def read_strings(data: bytes) -> UnitDocument:
    """Read a strings file that is a property list in XML.

    Raises:
        DataError: The data is not a property list.
    """
    return UnitDocument(PropertyListFile(data, plain=True))


def read(data: bytes, options: DocumentOptions) -> UnitDocument:
    """Read a .stringsdict file.

    Args:
        data: The file.
        options: `languages`: plurals get the categories of the target language.

    Raises:
        DataError: The data is not a property list in XML.
    """
    return UnitDocument(PropertyListFile(data, options.languages[1], plain=False))


def _is_leaf(_: str, name: str) -> bool:
    return name in ("key", "string")
