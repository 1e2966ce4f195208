"""The content of an XML element as a string with marks: elements and comments in it are kept."""

import re
from collections.abc import Iterator

from yakusu.data.files.xmltree import CharacterData, Element, XmlFile, escaped, is_writable
from yakusu.documents.inline import Piece, PieceKind
from yakusu.documents.messages.units import Item, MarkedString, code_item, text_item


class XmlValue:
    """The content of an element, and other content.

    Args:
        file: The file.
        element: The element.
        code: Regular expression of what is kept in its text; None: nothing.

    Attributes:
        start: Where the content begins.
        end: Where it ends.
        marked: The string.
    """

    def __init__(self, file: XmlFile, element: Element, code: str | None = None) -> None:
        self._file = file
        self.start, self.end = element.inner, element.inner_end
        only = element.children[0] if len(element.children) == 1 else None
        self._cdata = isinstance(only, CharacterData) and only.cdata
        self.marked = MarkedString(self._items(element, code))

    def _items(self, element: Element, code: str | None) -> Iterator[Item]:
        for child in element.children:
            if isinstance(child, CharacterData):
                yield from self._text_items(child.text, code)
            elif isinstance(child, Element):
                yield code_item(self._file.raw(child.start, child.end))
            else:
                yield Piece(PieceKind.EMPTY, hollow=True), self._file.raw(child.start, child.end)

    def _text_items(self, text: str, code: str | None) -> Iterator[Item]:
        at = 0
        for found in re.finditer(code, text) if code else ():
            yield text_item(text[at : found.start()])
            yield code_item(found[0] if self._cdata else escaped(found[0]))
            at = found.end()
        yield text_item(text[at:])

    def write(self, string: str) -> str | None:
        """The source of another string with the same marks; None: XML cannot hold it."""
        if not is_writable(string):
            return None
        is_plain = not (self._cdata and self._file.holds(string))
        new = self.marked.written(string, lambda text, _: escaped(text) if is_plain else text)
        if new is None or is_plain:
            return new
        return "<![CDATA[" + new.replace("]]>", "]]]]><![CDATA[>") + "]]>"
