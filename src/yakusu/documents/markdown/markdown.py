"""Markdown: CommonMark with tables, footnotes, definition lists, task lists and admonitions.

A text is the content of a heading, a paragraph or a table cell, the title of a link, a callout or a
container, the alternative text of a picture, or a text of an HTML block; and the title and the
description in front matter of YAML. Code, other front matter, link definitions, mathematics, and
the modules, tags and expressions of MDX are kept.
"""

import re
from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from yakusu.data.lines.words import has_letter
from yakusu.documents.document import DocumentOptions
from yakusu.documents.html.html import html_segments
from yakusu.documents.inline import Piece, inline
from yakusu.documents.markdown.directives import REASON
from yakusu.documents.markdown.front_matter import front_segments
from yakusu.documents.markdown.inline import pieces
from yakusu.documents.markdown.lines import MarkdownBlock, MarkdownLines
from yakusu.documents.markdown.parser import IS_MDX, parser
from yakusu.documents.markdown.titles import title_segments
from yakusu.documents.markdown.writer import MarkdownWriter
from yakusu.documents.splice import Copy, SourceSegment, Spliced, decode_source

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_END = r"(?:\r\n?+|\n)"  # of a line; possessive, so that it never matches only half of \r\n
_FRONT_MATTER = re.compile(
    rf"(---|\+\+\+)[ \t]*{_END}"
    rf"(?:[ \t]*+(?:\#[^\r\n]*+)?+{_END})*+"
    rf"""(?:["'\w\[][^\r\n:=\]]*+[:=\]][^\r\n]*+{_END}(?:[^\r\n]*+{_END})*?)?"""
    rf"(?:\1|\.\.\.)[ \t]*(?:{_END}|\Z)"
)
_Environment = dict[str, Any]  # what markdown-it collects about a file
# JSX in HTML, and elements whose content is Markdown although no empty line is before it.
_MARKDOWN_IN_HTML = re.compile(
    r"""<[^<>]*(?:[=\s]\{(?![{%#])|\smarkdown(?:\s*=|[\s>]))|</?[A-Z]\w*[a-z]"""
)
_TASK = re.compile(r"\[[ xX]\][ \t]+")


def read(data: bytes, options: DocumentOptions) -> Spliced:
    """Read a Markdown file in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        DataError: The data is not valid in this encoding.
    """
    del options
    source = decode_source(data)
    start = len(source.text) - len(source.text.removeprefix("\ufeff"))
    front = _FRONT_MATTER.match(source.text, start)
    lines = MarkdownLines(source.text, front.end() if front else start)
    found = _Segments(lines, source.text)
    titles = [*front_segments(source.text, front.end(1), front.end())] if front else []
    return Spliced(source, [*titles, *found.of(source.text[lines.start :])], found.left)


@dataclass(frozen=True)
class _Reader:
    """Reads the content of a block again, after it has been written.

    Attributes:
        md: The parser.
        known: What the file defines: the destinations of links, the footnotes.
        kind: The type of the token of a block; "" for content that is not a block, such as a cell.
        is_item: The content begins an item of a list, but not of a list of tasks.
        before: What comes before the content.
        after: What comes after it.
    """

    md: "MarkdownIt"
    known: _Environment
    kind: str = ""
    before: str = ""
    after: str = ""
    is_item: bool = False

    def pieces(self, content: str) -> list[Piece] | None:
        """The pieces of a content; None if it is not the content of one block of this kind."""
        known = {  # without copies: a file may define as much as it has blocks
            "references": ChainMap({}, self.known["references"]),
            "footnotes": {"refs": ChainMap({}, self.known["footnotes"]["refs"])},
        }
        if not self.kind:
            token = self.md.parseInline(content, known)[0]
            return pieces(token.children or (), token.content)
        if self.is_item and _TASK.match(content):
            return None
        # Another block comes first: what follows it could be its definition.
        tokens = self.md.parse(f"x\n\n{self.before}{content}{self.after}", known)
        if len(tokens) != 6 or tokens[3].type != self.kind:
            return None
        return pieces(tokens[4].children or (), tokens[4].content)


class _Segments:
    """Finds the texts of a file.

    Attributes:
        left: A sentence for each block with words that is kept because its syntax is unknown.
    """

    def __init__(self, lines: MarkdownLines, source: str) -> None:
        self._lines = lines
        self._source = source
        self._md = parser()
        self._known: _Environment = {}
        self.left: list[str] = []

    def of(self, body: str) -> Iterator[SourceSegment[str]]:
        """Yield the texts of all blocks."""
        found: _Environment = {}
        # The plugin for admonitions looks for a character after the last "> ".
        body = body if body.endswith("\n") else body + "\n"
        tokens = self._md.parse(body, found)
        if found.get(IS_MDX):
            self._md, found = parser(is_mdx=True), {}
            tokens = self._md.parse(body, found)
        footnotes = found.get("footnotes", {}).get("refs", ())
        self._known["references"] = found.get("references", {})
        self._known["footnotes"] = {"refs": dict.fromkeys(footnotes, -1)}
        for i, token in enumerate(tokens):
            if token.type == "tr_open":
                row = list(_row(tokens, i + 2))
                blocks = self._lines.cells([cell.content for cell in row], _line(token))
                for cell, block in zip(row, blocks, strict=True):
                    yield from self._texts(cell, block, _Reader(self._md, self._known))
            elif token.type == "inline" and tokens[i - 1].type not in ("th_open", "td_open"):
                yield from self._block(tokens[i - 1], token, in_list=_begins_item(tokens, i))
            elif token.type == "html_block":
                yield from self._html(token)
            elif token.type == "directive" and REASON in token.meta:
                self._leave(token, token.meta[REASON])
            elif token.type == "directive" and has_letter(" ".join(token.content.split()[1:])):
                self._leave(token, f"the container {token.content!r} is not known")

    def _block(
        self, parent: "Token", token: "Token", *, in_list: bool
    ) -> Iterator[SourceSegment[str]]:
        """The texts of a block that is not a table cell."""
        content, line = token.content, _line(token)
        reader = _Reader(self._md, self._known)
        if parent.type == "title_open":
            before, after = parent.meta["around"]
            reader = replace(reader, kind="title_open", before=before, after=after)
            block = self._lines.part(content, line, parent.meta["column"])
            yield from self._texts(token, block, reader)
        elif parent.type == "admonition_title_open":
            yield from self._texts(token, self._lines.title(content, line), reader)
        elif parent.type == "heading_open" and parent.markup.startswith("#"):
            block = self._lines.heading(content, line)
            after = block.after if block else ""
            reader = replace(reader, kind="heading_open", before=f"{parent.markup} ", after=after)
            yield from self._texts(token, block, reader)
        else:
            task = _TASK.match(content) if in_list else None
            reader = replace(reader, kind="paragraph_open", is_item=in_list and not task)
            if parent.type == "heading_open":
                reader = replace(reader, kind="heading_open", after=f"\n{parent.markup * 3}")
            block = self._lines.paragraph(content, line)
            yield from self._texts(token, block, reader, first=task.end() if task else 0)

    def _texts(
        self, token: "Token", block: MarkdownBlock | None, reader: _Reader, *, first: int = 0
    ) -> Iterator[SourceSegment[str]]:
        """The texts in the content of a block, from position `first`."""
        found = pieces(token.children or (), token.content) if block else None
        if not found or not block:
            return
        yield from title_segments(self._md, token, block)
        found = list(_cut(found, first))
        content = inline([piece for piece in found if piece.start >= first])
        if content is not None:
            writer = MarkdownWriter(block, content, found, reader.pieces)
            yield SourceSegment(*block.span(content.start, content.end), content.text, writer.write)

    def _html(self, token: "Token") -> Iterator[SourceSegment[str]]:
        """The texts of an HTML block, if it is HTML and not in a quotation."""
        place = self._lines.region(token.content, _line(token))
        if place and not _MARKDOWN_IN_HTML.search(token.content):
            start, end = place
            yield from (_moved(each, start) for each in html_segments(self._source[start:end]))
        elif n_texts := sum(1 for _ in html_segments(token.content)):
            texts = "1 text" if n_texts == 1 else f"{n_texts} texts"
            self._leave(token, f"the HTML block ({texts}) is in a quotation or has other syntax")

    def _leave(self, token: "Token", reason: str) -> None:
        line = self._lines.number + _line(token) + 1
        self.left.append(f"line {line}: {reason}")


def _moved(segment: SourceSegment[str], by: int) -> SourceSegment[str]:
    """A segment of a part of the source."""

    def write(translation: str, copy: Copy[str]) -> str:
        return segment.write(translation, lambda start, end: copy(start + by, end + by))

    return SourceSegment(segment.start + by, segment.end + by, segment.text, write)


def _cut(found: Sequence[Piece], at: int) -> Iterator[Piece]:
    """Yield pieces; one of text that crosses a position becomes two."""
    for piece in found:
        if piece.start < at < piece.end:
            length = at - piece.start
            yield piece._replace(end=at, text=piece.text[:length])
            yield piece._replace(start=at, text=piece.text[length:])
        else:
            yield piece


def _row(tokens: "Sequence[Token]", first: int) -> "Iterator[Token]":
    """The inline tokens of a row of a table, from its first cell."""
    for i in range(first, len(tokens), 3):
        if tokens[i].type != "inline":
            return
        yield tokens[i]


def _begins_item(tokens: "Sequence[Token]", i: int) -> bool:
    """Whether an inline token begins an item of a list."""
    return i > 1 and tokens[i - 2].type == "list_item_open"


def _line(token: "Token") -> int:
    """The number of the first line of a token."""
    assert token.map is not None
    return token.map[0]
