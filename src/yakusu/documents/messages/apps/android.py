"""Resource files of Android (res/values/strings.xml): strings, string arrays and plurals.

    <string name="go">Don\\'t <b>go</b></string>
    <plurals name="n"><item quantity="other">%d files</item></plurals>

What `translatable="false"` excludes, references to other resources and <xliff:g> stay. A plural
gets the quantities that the target language has, from its form `other` and with a comment.

https://developer.android.com/guide/topics/resources/string-resource
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from yakusu.data.files.xmltree import CharacterData, Element, XmlFile, with_attribute
from yakusu.documents.document import DocumentOptions
from yakusu.documents.languages import check_language
from yakusu.documents.messages.apps.android_text import (
    AndroidText,
    has_bare_apostrophe,
    is_reference,
)
from yakusu.documents.messages.plurals import NOTE, missing_categories
from yakusu.documents.messages.units import Edit, MessageUnit, UnitDocument, UnitString
from yakusu.errors import DataError

_RESOURCES = ("string", "plurals", "string-array", "array", "item")
_LOCALE = "http://schemas.android.com/tools locale"
# Arrays of what a setting stores, not of what it shows
_VALUES = re.compile(r".*(?:(?:^|_)(?:values?|keys?)|[a-z](?:Values?|Keys?))", re.DOTALL)


class AndroidFile:
    """A resource file.

    Args:
        data: The file.
        language: Code of the target language, "" if unknown.

    Attributes:
        root: The root element, once the file has been parsed.

    Raises:
        DataError: The file is not in its encoding.
    """

    def __init__(self, data: bytes, language: str) -> None:
        self._xml = XmlFile(data)
        self._language = language
        self.root: Element | None = None
        self._apostrophes = b"\\'" in self._xml.content or not self._has_bare_apostrophe()

    def parse(self, use: Callable[[MessageUnit], None]) -> None:
        """Call a function with each resource; see `UnitFile`."""

        def use_unit(element: Element) -> None:
            if _is_translatable(element) and (strings := [*self._strings(element)]):
                use(MessageUnit(_name(element), strings, self._added(element)))

        self.root = self._xml.parse(_is_resource, use_unit)

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file with parts replaced."""
        return self._xml.edited(edits)

    def line_of(self, element: Element) -> int:
        """The line of an element."""
        return self._xml.line_of(element.start)

    def _has_bare_apostrophe(self) -> bool:
        """Whether a string has an apostrophe without a backslash, which other readers allow."""
        found = list[bool]()
        self._xml.parse(_is_resource, lambda each: found.append(has_bare_apostrophe(each.text)))
        return any(found)

    def _strings(self, element: Element) -> Iterator[UnitString]:
        """The strings of a resource."""
        items = [element] if element.name in ("string", "item") else element.named("item")
        for item in items:
            if is_reference(item.text) or item.attributes.get("translatable") == "false":
                continue
            content = AndroidText(self._xml, item, apostrophes=self._apostrophes)
            category = item.attributes.get("quantity", "") if element.name == "plurals" else ""
            line = self.line_of(item)
            string = UnitString(
                content.start, content.end, line, content.marked, content.write, category
            )
            if not (element.name.endswith("array") and _VALUES.fullmatch(_name(element))):
                yield string.checked()
            elif string.marked.is_language:
                reason = f"is in {_name(element)!r}, an array of values that are not shown"
                yield replace(string, problem=string.reason(reason))
                return

    def _added(self, element: Element) -> Callable[[str | None], Edit] | None:
        """What adds the missing quantities to a plural."""
        if element.name != "plurals":
            return None
        items = {each.attributes.get("quantity", ""): each for each in element.named("item")}
        missing = missing_categories(items, self._language)
        if not missing:
            return None
        other, last = items["other"], element.named("item")[-1]
        content = AndroidText(self._xml, other, apostrophes=self._apostrophes)
        place = next(i for i, child in enumerate(element.children) if child is last)
        before = element.children[place - 1] if place else None
        is_space = isinstance(before, CharacterData) and not before.text.strip()
        space = self._xml.raw(before.start, last.start) if before and is_space else ""
        tag = self._xml.raw(other.start, other.inner)
        left = self._xml.raw(other.inner, content.start)
        right = self._xml.raw(content.end, other.end)
        old, at = self._xml.raw(content.start, content.end), last.end
        note = f"{space}<!-- {NOTE.format(', '.join(missing))} -->"

        def added(new: str | None) -> Edit:
            inside = left + (old if new is None else new) + right
            copies = (with_attribute(tag, "quantity", each) + inside for each in missing)
            return at, at, note + "".join(space + each for each in copies)

        return added


def read(data: bytes, options: DocumentOptions) -> UnitDocument:
    """Read a resource file of Android.

    Args:
        data: The file.
        options: `languages`: a file in another language is refused, and plurals get the quantities
            of the target language.

    Raises:
        DataError: The data is not a resource file, an escape is not valid, or the file states
            another language.
    """
    file = AndroidFile(data, options.languages[1])
    document = UnitDocument(file)
    root = file.root
    assert root is not None
    if root.name != "resources":
        raise DataError(
            f"line {file.line_of(root)}: the file begins with <{root.name}>, not with <resources>: "
            "check its format"
        )
    stated = root.attributes.get(_LOCALE, "")
    check_language("source", stated, options.languages[0], file.line_of(root))
    return document


def _is_resource(namespace: str, name: str) -> bool:
    return not namespace and name in _RESOURCES


def _is_translatable(element: Element) -> bool:
    """Whether a resource is to be translated; items of other resources are not."""
    if element.inherited("translatable", "true") == "false":
        return False
    is_string = element.name != "item" or element.attributes.get("type") == "string"
    return is_string and element.parent is not None and element.parent.name == "resources"


def _name(element: Element) -> str:
    return element.attributes.get("name", "")
