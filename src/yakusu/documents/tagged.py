"""Fragments of XML with elements that only their author knows, and rules for these elements.

    <doc><p>Press <b>Start</b> <keep>F5</keep>.</p><p>Wait.</p></doc>, ignored: keep
        ->   Press OPEN(0) Start CLOSE(0) EMPTY(1) .   and   Wait.

Without rules, elements are blocks unless text stands beside some of their name: <b> above.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import NamedTuple
from xml.parsers import expat

from yakusu.documents.inline import (
    Inline,
    Piece,
    PieceKind,
    formatted_inline,
    inline,
    text_pieces,
)
from yakusu.documents.splice import Copy, DecodedFile, SourceSegment, Spliced
from yakusu.errors import DataError

_DECLARATION = re.compile(r"\ufeff?\s*+(?:<\?xml\s[^>]*+>)?")
_TOKEN = re.compile(  # of well-formed XML, in which nothing ends at the end of the text (\Z)
    r"""
    (?P<hollow> <!--.*?(?:-->|\Z) | <\?.*?(?:\?>|\Z) )
  | <!\[CDATA\[ (?P<cdata> .*? ) (?:\]\]>|\Z)
  | < (?P<slash>/?+) (?P<name>[^\s/>]++)
    (?: "[^"]*+(?:"|\Z) | '[^']*+(?:'|\Z) | [^"'>] )*+ (?:>|\Z)
  | (?P<entity> &[^;]*+(?:;|\Z) )
  | (?P<text> [^<&]++ )
    """,
    re.VERBOSE | re.DOTALL,
)
_ALWAYS_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


@dataclass(frozen=True)
class TagRules:
    """How the elements of a fragment are read.

    Attributes:
        splitting: Names of elements that are blocks: their content is separate text.
        inline: Names of elements that are markup within a sentence.
        ignored: Names of elements whose content is not translated.
        outline: Find out which other elements are blocks; otherwise, all others are inline.
        lines: Keep line breaks, which end sentences; otherwise, white space collapses.
    """

    splitting: frozenset[str] = frozenset()
    inline: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    outline: bool = True
    lines: bool = True


class _Token(NamedTuple):
    """A token; `text` is what a reader sees of it.

    Attributes:
        is_empty: Of a start tag: it is an end tag, too.
        depth: Of a tag: the number of elements around its element.
    """

    kind: PieceKind
    start: int
    end: int
    name: str = ""
    text: str = ""
    is_empty: bool = False
    depth: int = 0


def read_tagged(source: str, rules: TagRules) -> Spliced:
    """Read a fragment.

    Raises:
        DataError: It is not well-formed, or declares a document type.
    """
    declared = _DECLARATION.match(source)
    begin = declared.end() if declared else 0
    _check(source[begin:])
    tokens = [*_tokens(source, begin)]
    inner = rules.inline | (_beside_text(tokens, rules.ignored) if rules.outline else frozenset())
    segments: list[SourceSegment[str]] = []
    pieces: list[Piece] = []
    for token, is_ignored in _with_ignored(tokens, rules.ignored):
        if is_ignored:
            _add_ignored(pieces, token)
        elif token.name and _is_block(token.name, rules, inner):
            segments += _segments(source, pieces, rules)
            pieces = []
        else:
            pieces += _pieces(source, token)
    segments += _segments(source, pieces, rules)
    return Spliced(DecodedFile(source, "utf-8"), segments)


def _check(fragment: str) -> None:
    """Refuse what is not the content of an element."""
    parser = expat.ParserCreate("utf-8")
    try:
        parser.Parse(b"<x>" + fragment.encode() + b"</x>", True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise DataError(f"line {error.lineno} is not well-formed XML ({reason})") from error


def _tokens(source: str, begin: int) -> Iterator[_Token]:
    depth = 0
    for found in _TOKEN.finditer(source, begin):
        place = found.span()
        if name := found["name"]:
            is_empty = found[0].endswith("/>")
            depth -= bool(found["slash"])
            kind = PieceKind.END if found["slash"] else PieceKind.START
            yield _Token(kind, *place, name=name, is_empty=is_empty, depth=depth)
            depth += not (found["slash"] or is_empty)
        elif found["hollow"]:
            yield _Token(PieceKind.EMPTY, *place)
        else:
            shown = found["cdata"] if found["cdata"] is not None else unescape(found[0])
            yield _Token(PieceKind.TEXT, *place, text=shown)


def _beside_text(tokens: Sequence[_Token], ignored: frozenset[str]) -> frozenset[str]:
    """The names of elements that have text beside them, and of those within such elements."""
    found: set[str] = set()
    inside: dict[str, set[str]] = {}  # the names of the elements in those of a name
    opened, names, has_text = [""], [set[str]()], [False]  # of the open elements, and their content
    for token, _ in _with_ignored(tokens, ignored):
        if token.kind is PieceKind.TEXT:
            has_text[-1] = has_text[-1] or bool(token.text.strip())
        elif token.kind is PieceKind.START:
            names[-1].add(token.name)
            inside.setdefault(opened[-1], set()).add(token.name)
            if not token.is_empty:
                opened.append(token.name)
                names.append(set())
                has_text.append(False)
        elif token.kind is PieceKind.END:
            opened.pop()
            own = names.pop()
            found |= own if has_text.pop() else set()
    found |= names[0] if has_text[0] else set()
    waiting = [*found]
    while waiting:
        new = inside.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return frozenset(found)


def _with_ignored(
    tokens: Sequence[_Token], ignored: frozenset[str]
) -> Iterator[tuple[_Token, bool]]:
    """Each token, and whether it belongs to an ignored element, which is passed on as one token."""
    outer: _Token | None = None  # the start tag of an ignored element
    for token in tokens:
        if outer is None and token.kind is PieceKind.START and token.name in ignored:
            if token.is_empty:
                yield token._replace(kind=PieceKind.TEXT, text=token.name), True
            else:
                outer = token
        elif outer is None:
            yield token, False
        elif token.kind is PieceKind.END and token.depth == outer.depth:
            yield _Token(PieceKind.TEXT, outer.start, token.end, outer.name, outer.name), True
            outer = None


def _is_block(name: str, rules: TagRules, inner: frozenset[str]) -> bool:
    return name in rules.splitting or (rules.outline and name not in inner)


def _add_ignored(pieces: list[Piece], token: _Token) -> None:
    pieces.append(Piece(PieceKind.EMPTY, token.start, token.end, speaks=True))


def _pieces(source: str, token: _Token) -> Iterator[Piece]:
    """The pieces of a token."""
    if token.kind is PieceKind.TEXT:
        own = source[token.start : token.end]
        yield from text_pieces(token.start, own, None if own == token.text else token.text)
    elif token.kind is PieceKind.EMPTY:
        yield Piece(PieceKind.EMPTY, token.start, token.end, hollow=True)
    else:
        kind = PieceKind.EMPTY if token.is_empty else token.kind
        yield Piece(kind, token.start, token.end, name=token.name)


def _segments(
    source: str, pieces: Sequence[Piece], rules: TagRules
) -> Iterator[SourceSegment[str]]:
    """The text of a block, if it can be translated."""
    content = formatted_inline(pieces) if rules.lines else inline(pieces)
    if content is None:
        return
    escapes = _ALWAYS_ESCAPED | {
        piece.text: source[piece.start : piece.end]
        for piece in pieces
        if piece.kind is PieceKind.TEXT and source[piece.start] == "&"
    }

    def write(translation: str, copy: Copy[str]) -> str:
        return _written(content, translation, escapes, copy)

    yield SourceSegment(pieces[0].start, pieces[-1].end, content.text, write)


def _written(content: Inline, translation: str, escapes: dict[str, str], copy: Copy[str]) -> str:
    """The source of a paragraph with a translation."""
    return "".join(
        "".join(escapes.get(each, each) for each in piece.text)
        if piece.kind is PieceKind.TEXT
        else copy(piece.start, piece.end)
        for piece in content.paragraph(translation)
    )
