"""The content of a <source> of XLIFF as texts: inline elements are marks, their code is kept."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from yakusu.data.files.xmltree import (
    XML_SPACE,
    CharacterData,
    Element,
    Other,
    XmlFile,
    escaped,
    is_writable,
)
from yakusu.data.lines.private_use import MARKS, is_mark, is_opening
from yakusu.documents.inline import Piece, PieceKind, marked, matched
from yakusu.documents.messages.identifiers import is_key
from yakusu.documents.messages.plural_forms import text_string

_ENCLOSING = ("g", "mrk", "pc")  # their content is text
_ENDS = {"ept": "bpt", "ex": "bx", "ec": "sc", "em": "sm"}  # elements that end, and that begin
_INDENTATION = re.compile(r"(?<=\S)[ \t]*\n[ \t]+(?=\S)")
# What a piece of markup consists of: parts of the file, and texts inside code (<sub>).
_Parts: TypeAlias = "Sequence[str | Content]"


class Content:
    """The texts of an element, and the element with other texts.

    Args:
        file: The file.
        element: A <source>, a segment of it, or <sub>.

    Attributes:
        raw: The content as it is written.
        texts: The texts to translate.
        is_key: Whether it is the key of a message, such as action.save, which is no text.
    """

    def __init__(self, file: XmlFile, element: Element) -> None:
        self._file = file
        self.raw = file.raw(element.inner, element.inner_end)
        children = element.children
        self._cdata = (
            len(children) == 1 and isinstance(children[0], CharacterData) and children[0].cdata
        )
        items = list(self._items(element))
        shown, self._marks = marked(matched([piece for piece, _ in items]))
        parts = (parts for piece, parts in items if piece.kind is not PieceKind.TEXT)
        self._parts = dict(zip(self._marks, parts, strict=False))  # no marks: there are too many
        string = "".join(shown)
        if element.inherited(XML_SPACE, "default") != "preserve":
            string = _INDENTATION.sub(" ", string)
        self.is_key = is_key(re.sub(MARKS, "", string))
        self._message = text_string("" if self.is_key else string, spaced=True)
        inner = (p for parts in self._parts.values() for p in parts if isinstance(p, Content))
        self.texts: Sequence[str] = (
            *self._message.texts,
            *(text for content in inner for text in content.texts),
        )

    def _items(self, element: Element) -> Iterator[tuple[Piece, _Parts]]:
        """The pieces of an element. Start and end tags are firm: they must nest."""
        stop = 0  # of the last code
        for child in element.children:
            if child.start < stop:  # inside a part that must not be translated
                continue
            if isinstance(child, CharacterData):
                yield from _text_items(child.text)
            elif isinstance(child, Other):
                yield Piece(PieceKind.EMPTY), [self._file.raw(child.start, child.end)]
            elif child.name in _ENCLOSING and _is_translatable(child):
                name = f"tag {child.start}"
                yield Piece(PieceKind.START, name=name), [self._file.raw(child.start, child.inner)]
                yield from self._items(child)
                yield Piece(PieceKind.END, name=name), [self._file.raw(child.inner_end, child.end)]
            else:
                stop = _stop(child, element)
                yield self._code(child, stop)

    def _code(self, element: Element, stop: int) -> tuple[Piece, _Parts]:
        """An element whose content is code, except for <sub>, which is text."""
        parts: list[str | Content] = []
        at = element.start
        for inner in element.descendants():
            if inner.name == "sub" and inner.start >= at:
                parts += [self._file.raw(at, inner.inner), Content(self._file, inner)]
                at = inner.inner_end
        kind = element.attributes.get("ctype"), element.attributes.get("subType")
        parts.append(self._file.raw(at, stop))
        piece = Piece(PieceKind.EMPTY, breaks="lb" in kind or "xlf:lb" in kind, firm=False)
        name, key = element.name, _key(element)
        if name in _ENDS.values() and stop == element.end:
            piece = piece._replace(kind=PieceKind.START, name=f"{name} {key}")
        elif name in _ENDS:
            piece = piece._replace(kind=PieceKind.END, name=f"{_ENDS[name]} {key}")
        return piece, parts

    def render(self, translations: Sequence[str]) -> str | None:
        """Return the content with these translations, one for each text.

        None: a translation is blank, or its markup is not that of its text.
        """
        if tuple(translations) == self.texts:
            return self.raw
        n_texts = len(self._message.texts)
        string = self._message.render(translations[:n_texts])
        codes = self._rendered_codes(translations[n_texts:])
        if string is None or codes is None or not self._nests(string):
            return None
        if self._cdata and self._file.holds(string):
            return "<![CDATA[" + string.replace("]]>", "]]]]><![CDATA[>") + "]]>"
        parts = re.split(f"({MARKS})", string)
        return "".join(codes[part] if part in codes else escaped(part) for part in parts)

    def _rendered_codes(self, translations: Sequence[str]) -> dict[str, str] | None:
        """The codes by their marks, with translations of the texts in them."""
        rendered = {}
        at = 0
        for mark, parts in self._parts.items():
            written = ""
            for part in parts:
                new: str | None = part if isinstance(part, str) else None
                if isinstance(part, Content):
                    new = part.render(translations[at : at + len(part.texts)])
                    at += len(part.texts)
                if new is None:
                    return None
                written += new
            rendered[mark] = written
        return rendered

    def _nests(self, string: str) -> bool:
        """Whether the result is well-formed XML."""
        open_tags: list[int | None] = []
        for mark in re.findall(MARKS, string):
            piece = self._marks.get(mark)
            if piece is None or piece.kind is PieceKind.EMPTY or not piece.firm:
                continue
            if is_opening(mark):
                open_tags.append(piece.pair)
            elif not open_tags or open_tags.pop() != piece.pair:
                return False
        return is_writable(string)


def _text_items(text: str) -> Iterator[tuple[Piece, _Parts]]:
    """Text, in which private-use characters that could be taken for marks are markup."""
    for part in filter(None, re.split(f"({MARKS})", text)):
        yield (
            (Piece(PieceKind.EMPTY), [part])
            if is_mark(part[0])
            else (Piece(PieceKind.TEXT, text=part), [])
        )


def _is_translatable(element: Element) -> bool:
    """Whether an annotation allows its text to be translated."""
    attributes = element.attributes
    return attributes.get("translate") != "no" and attributes.get("mtype") != "protected"


def _key(element: Element) -> str:
    """What the start and the end of a pair have in common."""
    for name in ("rid", "startRef", "id"):
        if name in element.attributes:
            return element.attributes[name]
    return ""


def _stop(element: Element, parent: Element) -> int:
    """Where a code ends: that of <sm translate="no"/> after its <em/>."""
    if element.name == "sm" and not _is_translatable(element):
        for end in parent.named("em"):
            if end.start > element.start and _key(end) == _key(element):
                return end.end
    return element.end
