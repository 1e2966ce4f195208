"""The text of a string resource of Android: quotes, escapes and white space, as aapt2 reads them.

    it\\'s  "it's"  one\\ntwo  \\u00e9  \\@home   ->   it's  it's  one<line break>two  é  @home

White space is collapsed outside of quotes. A value that begins with @ or ? refers to a resource.

https://developer.android.com/guide/topics/resources/string-resource#FormattingAndStyling
"""

import re
from collections.abc import Iterator

from yakusu.data.files.xmltree import CharacterData, Element, XmlFile, escaped, is_writable
from yakusu.documents.inline import Piece, PieceKind
from yakusu.documents.messages.apps.escapes import CodeEscapes, joined_surrogates
from yakusu.documents.messages.units import Item, MarkedString, code_item, text_item
from yakusu.errors import DataError

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(u)|(.?))", re.DOTALL)
_BARE = re.compile(r"""\\.|(["'])""", re.DOTALL)  # quotes without a backslash
_QUOTE = re.compile(r'(\\.|")', re.DOTALL)
_SPACES = re.compile(r"[ \t\n\r\f\v]++")
_DECODED = {"n": "\n", "t": "\t"}
_REFERENCE = re.compile(r"[@?][+*]?(?:[\w.]+:)?(?:\w+/)?[\w.]++")
_WRITTEN = {"\\": r"\\", "\n": r"\n", "\t": r"\t", '"': r"\""}
_LITERAL = "xliff"  # in the namespace of <xliff:g>, whose content is not translated
_SPACE = r"\u0020"


def is_reference(value: str) -> bool:
    """Whether a value refers to a resource, as @string/ok and ?attr/title do."""
    return _REFERENCE.fullmatch(value.strip()) is not None


class AndroidText:
    """The content of an element as a string, and other content.

    Args:
        file: The file.
        element: The element.
        apostrophes: Whether apostrophes without quotes need a backslash.

    Attributes:
        start: Position of the first byte of the content, without white space around it.
        end: Position after its last byte.
        marked: The string.

    Raises:
        DataError: An escape is not valid.
    """

    def __init__(self, file: XmlFile, element: Element, *, apostrophes: bool) -> None:
        self._file, self._apostrophes = file, apostrophes
        self._line = file.line_of(element.start)
        raw = file.content[element.inner : element.inner_end]
        self.start = element.inner + len(raw) - len(raw.lstrip())
        self.end = max(self.start, element.inner + len(raw.rstrip()))
        children = element.children
        self._cdata = (
            len(children) == 1 and isinstance(children[0], CharacterData) and children[0].cdata
        )
        items = [*self._pieces(element)]
        texts = [piece.text for piece, _ in items if piece.kind is PieceKind.TEXT]
        value = "".join(texts).strip()
        quotes = [found for found in _BARE.finditer(value) if found[1] == '"']
        ends = texts and (texts[0].lstrip()[:1], texts[-1].rstrip()[-1:]) == ('"', '"')
        around = ends and [found.start() for found in quotes] == [0, len(value) - 1]
        # One pair around all of it is left out; others are kept as they are.
        self._quotes = "around" if around else "inside" if quotes else ""
        codes = (found[1] for found in _ESCAPE.finditer(value) if found[1])
        self._escapes = CodeEscapes(codes, is_ascii=value.isascii())
        self.marked = MarkedString(self._decoded_items(items))

    def _pieces(self, element: Element) -> Iterator[Item]:
        """The pieces of the content; text is not decoded."""
        for child in element.children:
            if isinstance(child, CharacterData):
                yield text_item(child.text)
                continue
            source = self._file.raw(child.start, child.end)
            if not isinstance(child, Element):
                yield Piece(PieceKind.EMPTY, hollow=True), source
            elif _LITERAL in child.namespace or not child.text.strip():
                yield code_item(source)
            else:
                name = str(child.start)
                yield Piece(PieceKind.START, name=name), self._file.raw(child.start, child.inner)
                yield from self._pieces(child)
                yield Piece(PieceKind.END, name=name), self._file.raw(child.inner_end, child.end)

    def _decoded_items(self, items: list[Item]) -> Iterator[Item]:
        """The pieces without the quotes and the white space that a reader does not see."""
        places = [i for i, (piece, _) in enumerate(items) if piece.kind is PieceKind.TEXT]
        texts = [items[i][0].text for i in places]
        if self._quotes == "around":
            texts[0] = texts[0].lstrip()[1:]
            texts[-1] = texts[-1].rstrip()[:-1]
        else:
            texts = [*_collapsed(texts)]
            if places and places[0] == 0:
                texts[0] = texts[0].lstrip(" ")
            if places and places[-1] == len(items) - 1:
                texts[-1] = texts[-1].rstrip(" ")
        decoded = iter(map(self._decoded, texts))
        for piece, source in items:
            is_text = piece.kind is PieceKind.TEXT
            yield text_item(next(decoded)) if is_text else (piece, source)

    def _decoded(self, text: str) -> str:
        def character(found: re.Match[str]) -> str:
            if found[2]:
                raise DataError(
                    f"line {self._line}: \\u needs four hexadecimal digits after it: correct "
                    f"{text.strip()!r}"
                )
            if found[3] == '"' and self._quotes == "inside":  # the others have no backslash
                return found[0]
            return chr(int(found[1], 16)) if found[1] else _DECODED.get(found[3], found[3])

        return joined_surrogates(_ESCAPE.sub(character, text))

    def write(self, string: str) -> str | None:
        """The content with another string; None: it is not valid."""
        content = self.marked.written(string, self._part)
        if content is None or not is_writable(content):
            return None
        if self._quotes == "inside" and n_quotes(string) % 2 != n_quotes(self.marked.string) % 2:
            return None
        if self._quotes == "around":
            content = f'"{content}"'
        else:
            content = content[:-1] + _SPACE if content.endswith(" ") else content
            content = "\\" + content if content.startswith(("@", "?")) else content
        if not self._cdata:
            return content
        return "<![CDATA[" + content.replace("]]>", "]]]]><![CDATA[>") + "]]>"

    def _part(self, text: str, before: str) -> str:
        """The source of a text."""
        unquoted, inside = self._quotes != "around", self._quotes == "inside"
        written, last = list[str](), " " if unquoted and not before else before[-1:]
        for i, character in enumerate(text):
            if character == "'" and unquoted and self._apostrophes:
                new = r"\'"
            elif inside and (character == '"' or text[i : i + 2] == r"\""):
                new = character
            elif character in _WRITTEN:
                new = _WRITTEN[character]
            elif self._escapes.has(character):
                new = self._escapes.of(character)
            else:
                new = _SPACE if character == " " == last and unquoted else character
            written.append(new)
            last = new
        content = "".join(written)
        if not self._file.holds(content):
            content = "".join(
                each if self._file.holds(each) else self._escapes.of(each) for each in content
            )
        return content if self._cdata else escaped(content)


def _collapsed(texts: list[str]) -> Iterator[str]:
    """The texts of a string, with one space for white space outside of quotes."""
    quoted = False
    for text in texts:
        parts = _QUOTE.split(text)
        for i, part in enumerate(parts):
            quoted ^= part == '"'
            parts[i] = part if quoted else _SPACES.sub(" ", part)
        yield "".join(parts)


def n_quotes(value: str) -> int:
    """The number of quotes without a backslash."""
    return sum(found[1] == '"' for found in _BARE.finditer(value))


def has_bare_apostrophe(value: str) -> bool:
    """Whether a value has an apostrophe without a backslash outside of quotes."""
    n_before = 0
    for found in _BARE.finditer(value):
        if found[1] == "'" and n_before % 2 == 0:
            return True
        n_before += found[1] == '"'
    return False
