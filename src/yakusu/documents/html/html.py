"""HTML pages and fragments.

A text is the inline content of one block, or the value of an attribute that a reader sees.
"""

import html
import re
from collections.abc import Iterator, Sequence

from yakusu.data.files.encodings import BYTE_ORDER_MARKS, extends_ascii
from yakusu.data.lines.spans import breaks
from yakusu.documents.document import DocumentOptions
from yakusu.documents.html.blocks import Placed, is_block_name, placed
from yakusu.documents.html.tokens import TEMPLATES, Attribute, TokenKind, decoded, tokens
from yakusu.documents.inline import Inline, Piece, PieceKind, inline, text_pieces
from yakusu.documents.splice import (
    Copy,
    DecodedFile,
    SourceSegment,
    Spliced,
    decode_source,
)
from yakusu.errors import AS_UTF8, DataError

_ATTRIBUTES = {"alt", "aria-label", "placeholder", "title"}
_LABELLED = {"optgroup", "option", "track"}  # their attribute "label" is displayed
_METAS = {"description", "og:description", "og:title", "twitter:description", "twitter:title"}

_XML_ENCODING = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)""")
_META_ENCODING = re.compile(
    rb"""<meta\b[^>]*?\bcharset\s*+=\s*+["']?\s*+([\w.:-]+)""", re.IGNORECASE
)
_PAGE = re.compile(rb"<(?:!doctype|html|head|body)\b", re.IGNORECASE)
_CODECS = {  # names that mean a larger encoding in the Encoding standard than in Python
    **dict.fromkeys(("iso-8859-1", "latin1", "l1", "ascii", "us-ascii"), "cp1252"),
    **dict.fromkeys(("iso-8859-9", "latin5", "l5"), "cp1254"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk", "gb_2312-80"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "korean"), "cp949"),
    **dict.fromkeys(("tis-620", "iso-8859-11"), "cp874"),
    **dict.fromkeys(("utf-16", "utf-16le", "utf-16be"), "utf-8"),  # UTF-16 needs a byte order mark
    "iso-8859-8-i": "iso-8859-8",
}

_ENTITY = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z][A-Za-z0-9]*;?)")
_ATTRIBUTE_ENTITY = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z][A-Za-z0-9]*;)")
_TEMPLATE = re.compile(TEMPLATES, re.DOTALL)
_KEPT, _KEPT_OPEN = "kept", "kept, without an end"  # names of pieces
_COMMENTS = ("<!--", "{#", "<%#", "<%--", "{{!")
_SPEAKING_TEMPLATES = ("{{", "<%=", "<?=")  # these print something


def read(data: bytes, options: DocumentOptions) -> Spliced:
    """Read a page or a fragment.

    Raises:
        DataError: The data is not valid in its encoding, or the encoding is unknown.
    """
    del options
    source = _decode(data)
    return Spliced(source, list(html_segments(source.text)))


def _decode(data: bytes) -> DecodedFile:
    """Decode a page as a browser does; a page that names no encoding must be UTF-8."""
    found = _XML_ENCODING.match(data.lstrip()) or _META_ENCODING.search(data[:4096])
    encoding = found[1].decode("ascii").lower() if found else "utf-8"
    if not found and data.isascii() and _PAGE.search(data):
        encoding = "ascii"  # a browser would not read the page as UTF-8
    codec = _CODECS.get(encoding, encoding) if found else encoding
    if not extends_ascii(codec) and not data.startswith(tuple(BYTE_ORDER_MARKS)):
        raise DataError(
            f"the encoding {encoding!r} is unknown: {AS_UTF8} and change the encoding that it names"
        )
    return decode_source(data, codec, errors="xmlcharrefreplace")


def html_segments(source: str, *, is_xml: bool = False) -> Iterator[SourceSegment[str]]:
    """Yield the texts of a page, or of a part of one; see `tokens`."""
    pieces: list[Piece] = []
    for each in placed(tokens(source, is_xml=is_xml)):
        if each.token.kind is TokenKind.START:
            for attribute in _translated_attributes(each):
                yield from _attribute_segment(source, attribute)
        tag = each.token.kind in (TokenKind.START, TokenKind.END)
        if (tag and is_block_name(each.token.name)) or _ends_paragraph(each, pieces, source):
            yield from _block_segment(source, pieces)
            pieces = []
        else:
            _add(pieces, each, source)
    yield from _block_segment(source, pieces)


def _ends_paragraph(each: Placed, pieces: Sequence[Piece], source: str) -> bool:
    """Whether a token is the second of two line breaks."""
    if each.token.name != "br" or each.token.kind is not TokenKind.START:
        return False
    other = next(
        (piece for piece in reversed(pieces) if piece.text.strip() or not piece.text), None
    )
    return other is not None and source[other.start : other.start + 3].lower() == "<br"


def _add(pieces: list[Piece], each: Placed, source: str) -> None:
    """Add a token to the pieces of its block."""
    token, element = each.token, each.element
    if element.kept if element else each.in_kept:
        _add_kept(pieces, each, speaks=element is not None and element.speaks)
    elif token.kind is TokenKind.TEXT:
        pieces.extend(_text(source, token.start, token.end, _ENTITY))
    elif token.kind is TokenKind.TEMPLATE:
        pieces.append(_template(source, token.start, token.end))
    else:
        kind = PieceKind.START if token.kind is TokenKind.START else PieceKind.END
        if token.kind is TokenKind.OTHER or each.is_void:
            kind = PieceKind.EMPTY
        piece = Piece(kind, token.start, token.end, name=token.name)
        is_break = token.name == "br"  # also as an end tag
        hollow = source.startswith(_COMMENTS, token.start)
        pieces.append(piece._replace(breaks=is_break, hollow=hollow))


def _add_kept(pieces: list[Piece], each: Placed, *, speaks: bool) -> None:
    """Add a token that is not translated; an element becomes one piece with its content."""
    start, end = each.token.start, each.token.end
    if pieces and pieces[-1].name in (_KEPT, _KEPT_OPEN) and pieces[-1].end == start:
        last = pieces.pop()
        start, speaks = last.start, last.speaks or speaks
    name = _KEPT_OPEN if each.in_kept else _KEPT
    pieces.append(Piece(PieceKind.EMPTY, start, end, name=name, speaks=speaks))


def _template(source: str, start: int, end: int) -> Piece:
    own = source[start:end]
    speaks = own.startswith(_SPEAKING_TEMPLATES) and not own.startswith(_COMMENTS)
    piece = Piece(PieceKind.EMPTY, start, end, speaks=speaks, breaks=breaks(own))
    return piece._replace(hollow=own.startswith(_COMMENTS))


def _text(source: str, start: int, end: int, entities: re.Pattern[str]) -> Iterator[Piece]:
    """The pieces of text with entities; each entity is a piece."""
    at = start
    for found in entities.finditer(source, start, end):
        character = decoded(found[0])
        if character != found[0]:
            yield from text_pieces(at, source[at : found.start()])
            yield from text_pieces(found.start(), found[0], character)
            at = found.end()
    yield from text_pieces(at, source[at:end])


def _block_segment(source: str, pieces: Sequence[Piece]) -> Iterator[SourceSegment[str]]:
    """The text of a block, if it can be translated."""
    if pieces and pieces[-1].name == _KEPT_OPEN:  # text after it would belong to it
        pieces = [*pieces[:-1], pieces[-1]._replace(speaks=False)]
    content = inline(pieces)
    if content is None:
        return

    def write(translation: str, copy: Copy[str]) -> str:
        return _written(translation, content, _entities(source, content), copy)

    yield SourceSegment(content.start, content.end, content.text, write)


def _written(translation: str, content: Inline, entities: dict[str, str], copy: Copy[str]) -> str:
    """The source of a translation; the pieces of its marks are copied."""
    return "".join(
        _without_templates("".join(entities.get(each, each) for each in piece.text))
        if piece.kind is PieceKind.TEXT
        else copy(piece.start, piece.end)
        for piece in content.compose(translation)
    )


def _without_templates(text: str) -> str:
    """Text that a template language would read as an expression, with its first brace escaped."""
    return _TEMPLATE.sub(lambda found: f"&#{ord(found[0][0])};{found[0][1:]}", text)


def _entities(source: str, content: Inline) -> dict[str, str]:
    """How characters are written: as in the source if it writes them as entities."""
    found = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    for piece in content.pieces:
        own, character = source[piece.start : piece.end], piece.text
        is_entity = own.startswith("&") and own.endswith(";") and len(character) == 1
        if is_entity and not (character.isascii() and character.isalnum()):
            found[character] = own
    return found


def _translated_attributes(each: Placed) -> Iterator[Attribute]:
    """The attributes of a start tag whose values a reader sees."""
    values = {attribute.name: attribute.value for attribute in reversed(each.attributes)}
    name = each.token.name
    names = _ATTRIBUTES
    if name == "meta":
        about = (values.get("name", ""), values.get("property", ""))
        names = {"content"} if any(key.lower() in _METAS for key in about) else set()
    elif name in _LABELLED:
        names = _ATTRIBUTES | {"label"}
    elif name == "input" and values.get("type", "").lower() in ("button", "reset"):
        names = _ATTRIBUTES | {"value"}
    seen = set()
    for attribute in each.attributes:
        if attribute.name in names and attribute.name not in seen and attribute.end > 0:
            yield attribute
        seen.add(attribute.name)


def _attribute_segment(source: str, attribute: Attribute) -> Iterator[SourceSegment[str]]:
    """The text of an attribute, if it can be translated."""
    pieces: list[Piece] = []
    at = attribute.start
    for found in _TEMPLATE.finditer(source, attribute.start, attribute.end):
        pieces.extend(_text(source, at, found.start(), _ATTRIBUTE_ENTITY))
        pieces.append(_template(source, *found.span()))
        at = found.end()
    pieces.extend(_text(source, at, attribute.end, _ATTRIBUTE_ENTITY))
    content = inline(pieces)
    if content is None or (content.marks and not attribute.quote):
        return

    def write(translation: str, copy: Copy[str]) -> str:
        quote = {attribute.quote: html.escape(attribute.quote)}
        entities = _entities(source, content) | quote
        value = _written(translation, content, entities, copy)
        return value if attribute.quote else '"' + value.replace('"', "&quot;") + '"'

    yield SourceSegment(content.start, content.end, content.text, write)
