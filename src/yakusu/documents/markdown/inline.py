"""The inline content of a Markdown block as pieces, in positions of the content."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from yakusu.data.lines.spans import breaks
from yakusu.documents.inline import Piece, PieceKind, text_pieces
from yakusu.documents.markdown.parser import place
from yakusu.documents.markdown.syntax import is_silent

if TYPE_CHECKING:
    from markdown_it.token import Token

_TAG = re.compile(
    r"<(?P<slash>/?)\s*+(?P<name>[A-Za-z][\w.:-]*+|(?=>)).*?(?P<empty>/?)>", re.DOTALL
)
_VOID = {"br", "hr", "img", "input", "wbr", "embed", "source", "track", "area", "link", "meta"}
_KEPT = {"code", "kbd", "samp", "var", "script", "style", "svg", "math", "pre", "textarea"}
_NOT_TRANSLATED = re.compile(r"""\stranslate\s*=\s*["']?no\b""", re.IGNORECASE)
_SPEAKING = {"code_inline", "autolink", "math_inline", "math_inline_double", "template"}
_SOFT = "softbreak"  # name of a piece
_TYPES = {"<em": "em", "<strong": "strong", "<del": "s"}  # tags that mean the same as Markdown


def pieces(tokens: Sequence["Token"], content: str) -> list[Piece] | None:
    """Return the pieces of a block's content, or None if their positions are not certain.

    Args:
        tokens: The children of an inline token.
        content: Its content.
    """
    found: list[Piece] = []
    links: list[str] = []  # names of open links
    at, skip = 0, 0
    for token in tokens:
        if skip:  # the text and the end of an autolink
            skip -= 1
            continue
        position = place(token)
        if position is None:
            if not content.startswith(token.content, at):
                return None
            found += text_pieces(at, token.content)
            at += len(token.content)
            continue
        start, end = position
        if start < at or content[at:start].strip(" \t"):
            return None
        skip = 2 if token.markup == "autolink" else 0
        start = at if token.type in ("hardbreak", "softbreak") else start
        found.append(_piece(token, content, (start, end), links))
        at = end
    return None if content[at:].strip() else list(_keeping(_with_lines(found), content))


def _piece(token: "Token", content: str, at: tuple[int, int], links: list[str]) -> Piece:
    """The piece of a token that is not text."""
    start, end = at
    if token.type == "softbreak":
        return Piece(PieceKind.TEXT, start, end, " ", name=_SOFT)
    if token.type == "text_special":
        return Piece(PieceKind.TEXT, start, end, token.content)
    if token.type == "hardbreak":
        return Piece(PieceKind.EMPTY, start, end, name="hardbreak", breaks=True)
    if token.markup == "autolink":
        return Piece(PieceKind.EMPTY, start, end, name=content[start:end], speaks=True)
    if token.type == "html_inline":
        return _tag(content[start:end], start, end)
    if token.nesting == 0:
        name = f"image {token.attrs['src']}" if token.type == "image" else content[start:end]
        own, is_code = content[start:end], token.type in _SPEAKING
        piece = Piece(PieceKind.EMPTY, start, end, name=name, speaks=is_code and not is_silent(own))
        if token.type == "template" and breaks(own):
            return piece._replace(breaks=True)
        # {% link %} prints something.
        return piece._replace(hollow=is_code and is_silent(own) and not own.startswith("{%"))
    name = token.type.removesuffix("_open").removesuffix("_close")
    if token.type == "link_open":
        links.append(f"link {token.attrs['href']}")
    if name == "link":
        name = links[-1] if token.nesting > 0 else links.pop()
    kind = PieceKind.START if token.nesting > 0 else PieceKind.END
    names_itself = token.type == "link_close" and content[start:end] in ("]", "][]")
    return Piece(kind, start, end, name=name, speaks=names_itself)


def _tag(source: str, start: int, end: int) -> Piece:
    """The piece of a tag, a comment or a declaration."""
    found = _TAG.fullmatch(source)
    is_break = breaks(source)  # also the tags of blocks, which are inline in MDX
    if is_break or not found or found["empty"] or found["name"].lower() in _VOID:
        hollow = source.startswith("<!--")
        return Piece(PieceKind.EMPTY, start, end, name=source, breaks=is_break, hollow=hollow)
    kind = PieceKind.END if found["slash"] else PieceKind.START
    return Piece(kind, start, end, name="<" + found["name"].lower())


def _with_lines(found: Sequence[Piece]) -> list[Piece]:
    """Pieces; an end of a line before or after the tag of a block stays one."""
    lines = list(found)
    for i, piece in enumerate(found):
        if piece.name == _SOFT and any(map(_is_block, (*found[i - 1 : i], *found[i + 1 : i + 2]))):
            lines[i] = Piece(PieceKind.EMPTY, piece.start, piece.end, name="hardbreak", breaks=True)
    return lines


def _is_block(piece: Piece) -> bool:
    return piece.breaks and piece.name.startswith("<") and piece.name[1:3].lower() != "br"


def _keeping(found: Sequence[Piece], content: str) -> Iterator[Piece]:
    """Yield pieces; an element that is not translated becomes one empty piece."""
    i = 0
    ends = {
        piece.name: j for j, piece in enumerate(found) if piece.kind is PieceKind.END
    }  # the last
    while i < len(found):
        piece = found[i]
        source = content[piece.start : piece.end]
        kept = piece.name[1:] in _KEPT or _NOT_TRANSLATED.search(source)
        if piece.kind is PieceKind.START and piece.name.startswith("<") and kept:
            others = range(i + 1, ends.get(piece.name, i) + 1)
            last = next(
                (
                    j
                    for j in others
                    if (found[j].kind, found[j].name) == (PieceKind.END, piece.name)
                ),
                i,
            )
            name = content[piece.start : found[last].end]
            yield Piece(PieceKind.EMPTY, piece.start, found[last].end, name=name, speaks=True)
            i = last + 1
        else:
            yield piece
            i += 1


def signature(found: Iterable[Piece]) -> str:
    """Return what a reader sees of pieces: the text, and the markup at each place."""
    text = "".join(
        piece.text
        if piece.kind is PieceKind.TEXT
        else f"\0{piece.kind}{_TYPES.get(piece.name, piece.name)}\0"
        for piece in found
    )
    text = re.sub("[ \t\n]+", " ", text)
    return re.sub(" ?(\0[0-9]hardbreak\0) ?", r"\1", text).strip()
