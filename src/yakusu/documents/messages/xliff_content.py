"""The content of a <source> of XLIFF as texts: inline elements are marks, their code is kept."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from yakusu.data.files.inline_codes import CodeKind
from yakusu.data.files.xliff_inline import INDENTATION, InlinePart, inline_parts
from yakusu.data.files.xmltree import (
    XML_SPACE,
    CharacterData,
    Element,
    XmlFile,
    escaped,
    is_writable,
)
from yakusu.data.lines.private_use import MARKS, is_mark, is_opening
from yakusu.documents.inline import Piece, PieceKind, marked, matched
from yakusu.documents.messages.icu_plurals import with_plural_forms
from yakusu.documents.messages.identifiers import is_key
from yakusu.documents.messages.plural_forms import text_string
from yakusu.errors import DataError

_KINDS = {
    CodeKind.START: PieceKind.START,
    CodeKind.END: PieceKind.END,
    CodeKind.EMPTY: PieceKind.EMPTY,
    CodeKind.BREAK: PieceKind.EMPTY,
}
# What a piece of markup consists of: parts of the file, and texts inside code (<sub>).
_Parts: TypeAlias = "Sequence[str | Content]"
_Item: TypeAlias = tuple[Piece, _Parts]
_MAX_DEPTH = 8  # of <sub>


class Content:
    """The texts of an element, and the element with other texts.

    Args:
        file: The file.
        element: A <source>, a segment of it, or <sub>.
        depth: The number of <sub> around it.
        code: Regular expression of what is kept in its text; None: nothing.

    Attributes:
        texts: The texts to translate.
        problem: Why the content is not translated, or "".

    Raises:
        DataError: A <sub> is in too many others.
    """

    def __init__(
        self, file: XmlFile, element: Element, depth: int = 0, *, code: str | None = None
    ) -> None:
        if depth > _MAX_DEPTH:
            raise DataError(
                f"line {file.line_of(element.start)}: <sub> elements are nested more than "
                f"{_MAX_DEPTH} levels deep: flatten them"
            )
        self._file = file
        self._element = element
        self._depth = depth
        self._code_in_text = code
        children = element.children
        self._cdata = (
            len(children) == 1 and isinstance(children[0], CharacterData) and children[0].cdata
        )
        items: list[_Item] = []
        self._add_items(items, element)
        shown, self._marks = marked(matched([piece for piece, _ in items]))
        parts = (parts for piece, parts in items if piece.kind is not PieceKind.TEXT)
        self._parts = dict(zip(self._marks, parts, strict=False))  # no marks: there are too many
        string = "".join(shown)
        if element.inherited(XML_SPACE, "default") != "preserve":
            string = INDENTATION.sub(" ", string)
        has_key = is_key(re.sub(MARKS, "", string))
        self._message = text_string("" if has_key else string, code, spaced=True)
        inner = [p for parts in self._parts.values() for p in parts if isinstance(p, Content)]
        problem = f"{self.raw!r} looks like an identifier, not like text" if has_key else ""
        problems = [problem, self._message.problem, *(content.problem for content in inner)]
        self.problem: str = next(filter(None, problems), "")
        self.texts: Sequence[str] = (
            *self._message.texts,
            *(text for content in inner for text in content.texts),
        )

    @property
    def raw(self) -> str:
        """The content as it is written."""
        return self._file.raw(self._element.inner, self._element.inner_end)

    def _add_items(self, items: list[_Item], element: Element) -> None:
        """Add the pieces of an element. Start and end tags are firm: they must nest."""
        for part in inline_parts(element):
            if part.kind is None:
                items += _text_items(part.text)
            elif part.code is not None:
                items.append(self._code(part, part.code))
            else:
                piece = Piece(_KINDS[part.kind], name=part.name)
                items.append((piece, [self._file.raw(part.start, part.stop)]))

    def _code(self, code: InlinePart, element: Element) -> _Item:
        """An element whose content is code, except for <sub>, which is text."""
        parts: list[str | Content] = []
        at = element.start
        for inner in element.descendants():
            if inner.name == "sub" and inner.start >= at:
                content = Content(self._file, inner, self._depth + 1, code=self._code_in_text)
                parts += [self._file.raw(at, inner.inner), content]
                at = inner.inner_end
        parts.append(self._file.raw(at, code.stop))
        assert code.kind is not None
        is_pair = code.kind in (CodeKind.START, CodeKind.END)
        name = code.name if is_pair else ""
        breaks = code.kind is CodeKind.BREAK
        return Piece(_KINDS[code.kind], name=name, breaks=breaks, firm=False), parts

    def render(self, translations: Sequence[str], language: str = "") -> str | None:
        """Return the content with these translations, one for each text.

        ICU plurals get the forms of the language, if it is known.

        None: a translation is blank, or its markup is not that of its text.
        """
        if tuple(translations) == self.texts:
            return self.raw
        n_texts = len(self._message.texts)
        string = self._message.render(translations[:n_texts])
        codes = self._rendered_codes(translations[n_texts:])
        if string is None or codes is None:
            return None
        if self._message.is_icu and not re.search(MARKS, string):  # codes must not be repeated
            string, _ = with_plural_forms(string, language)
        if not self._nests(string):
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
            written: list[str] = []
            for part in parts:
                new: str | None = part if isinstance(part, str) else None
                if isinstance(part, Content):
                    new = part.render(translations[at : at + len(part.texts)])
                    at += len(part.texts)
                if new is None:
                    return None
                written.append(new)
            rendered[mark] = "".join(written)
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


def _text_items(text: str) -> Iterator[_Item]:
    """Text, in which private-use characters that could be taken for marks are markup."""
    for part in filter(None, re.split(f"({MARKS})", text)):
        yield (
            (Piece(PieceKind.EMPTY), [part])
            if is_mark(part[0])
            else (Piece(PieceKind.TEXT, text=part), [])
        )
