"""Writes a translation as the inline content of a Markdown block.

The output is read again: it must have the same text and the same markup as the translation.
Characters are escaped only if it does not, and emphasis is written with other marks only if
escaping is not enough. The last resort are entities for letters next to markup, as in
~~<b>~~&#97;~~</b>~~: whether ~~ begins or ends markup depends on the characters beside it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product

from yakusu.data.lines.private_use import closing, is_mark, is_opening, number_of
from yakusu.documents.inline import Inline, Piece, PieceKind, tidy
from yakusu.documents.markdown.inline import signature
from yakusu.documents.markdown.lines import MarkdownBlock
from yakusu.documents.splice import Copy

Reader = Callable[[str], Sequence[Piece] | None]  # content -> its pieces; None: not one such block
_Style = dict[str, tuple[str, str]]  # name of a piece -> how it begins and ends
_Escape = Callable[[str, bool], str]  # text, whether it begins a line -> its source
_STARS = {"em": ("*", "*"), "strong": ("**", "**"), "s": ("~~", "~~")}
_TAGS = {"em": ("<em>", "</em>"), "strong": ("<strong>", "</strong>"), "s": ("<del>", "</del>")}
_STYLES: tuple[_Style, ...] = ({}, _STARS, _TAGS)
_SPECIAL = re.compile(r"[\\`*_\[\]<>&~$^!{}#+]")
_LINE_START = re.compile(r"(\d{1,9})(?=[.)])|(?=[!-/:-@\[-`{-~])")


class MarkdownWriter:
    """Writes translations of one text.

    Args:
        block: The block of the text.
        inline: The text.
        pieces: All pieces of the block.
        reader: Reads the content of a block of this kind.
    """

    def __init__(
        self, block: MarkdownBlock, inline: Inline, pieces: Sequence[Piece], reader: Reader
    ) -> None:
        self._block, self._inline, self._reader = block, inline, reader
        self._pieces = {(piece.start, piece.end): piece for piece in pieces}
        self._before = [piece for piece in pieces if piece.end <= inline.start]
        self._after = [piece for piece in pieces if piece.start >= inline.end]
        self._own = dict(self._own_characters())

    def write(self, translation: str, copy: Copy[str]) -> str:
        """Return the source of a translation."""
        translation = tidy(translation)
        links = self._explicit(translation)
        new = list(self._inline.compose(translation))
        expected = signature([*self._before, *self._as_read(new), *self._after])

        def in_source(piece: Piece) -> str:
            if piece.name == "hardbreak":
                return copy(self._block.starts[piece.start], self._block.starts[piece.end])
            return self._copied(piece.start, piece.end, copy)

        def in_content(piece: Piece) -> str:
            if piece.name == "hardbreak":
                return self._block.content[piece.start : piece.end]
            return self._as_content(self._copied(piece.start, piece.end, copy))

        before = "".join(map(in_content, self._before))
        after = "".join(map(in_content, self._after))
        escapes: tuple[_Escape, ...] = (self._plain, self._at_line_start, self._everywhere)
        for style, escape in [*product(_STYLES, escapes), *product(_STYLES, [self._with_entities])]:
            content = self._written(new, links, style, escape, in_content)
            found = self._reader(before + content + after)
            if found is not None and signature(found) == expected:
                return self._written(new, links, style, self._in_row(escape), in_source)
        last = self._in_row(self._everywhere)
        return self._written(new, links, {}, last, in_source)

    def _written(
        self,
        pieces: Sequence[Piece],
        links: dict[int | None, str],
        style: _Style,
        escape: _Escape,
        markup: Callable[[Piece], str],
    ) -> str:
        written, starts_line = [], True
        for piece in pieces:
            if piece.kind is PieceKind.TEXT:
                written.append(escape(piece.text, starts_line))
            elif piece.kind is PieceKind.END and piece.pair in links:
                written.append(links[piece.pair])
            else:
                written.append(_styled(piece, style, markup))
            starts_line = piece.name == "hardbreak"
        return "".join(written)

    def _as_read(self, pieces: Sequence[Piece]) -> Iterator[Piece]:
        """What reading these pieces must give."""
        for piece in pieces:
            if piece.kind is PieceKind.TEXT:
                yield piece
                continue
            for part in piece.parts or (piece,):
                yield self._pieces[part.start, part.end]

    def _explicit(self, translation: str) -> dict[int | None, str]:
        """The ends of links that name their definition, because their text, its name, changes.

        Returns:
            How the end of a pair is written, by its number.
        """
        links = {}
        texts = (translation, self._inline.text)
        places = [{c: i for i, c in enumerate(text) if is_mark(c)} for text in texts]
        for mark in filter(is_opening, places[0]):
            first = self._inline.marks[mark]
            if not first.name.startswith("link "):
                continue
            end = closing(number_of(mark))
            last = self._inline.marks[end]
            if self._block.content[last.start : last.end] in ("]", "][]"):
                new, old = (
                    text[at[mark] : at[end]] for text, at in zip(texts, places, strict=True)
                )
                if new != old:
                    links[last.pair] = f"][{self._on_one_line(first.end, last.start)}]"
        return links

    def _own_characters(self) -> Iterator[tuple[str, str]]:
        """Characters and how the source writes them, if it does so by an escape or an entity."""
        for piece in self._inline.pieces:
            source, character = self._block.content[piece.start : piece.end], piece.text
            is_escaped = source.startswith(("\\", "&")) and len(source) > len(character) == 1
            if is_escaped and not (character.isascii() and character.isalnum()):
                yield character, source

    def _plain(self, text: str, starts_line: bool) -> str:
        del starts_line
        return "".join(self._own.get(character, character) for character in text)

    def _at_line_start(self, text: str, starts_line: bool) -> str:
        text = self._plain(text, starts_line)
        return (
            _LINE_START.sub(r"\1\\", text, count=1)
            if starts_line and _LINE_START.match(text)
            else text
        )

    def _everywhere(self, text: str, starts_line: bool) -> str:
        escaped = "".join(
            self._own.get(character) or _SPECIAL.sub(r"\\\g<0>", character) for character in text
        )
        if starts_line and not escaped.startswith("\\") and _LINE_START.match(escaped):
            return _LINE_START.sub(r"\1\\", escaped, count=1)
        return escaped

    def _with_entities(self, text: str, starts_line: bool) -> str:
        """Escape everywhere, and write bars and letters and digits at both ends as entities.

        A bar, even an escaped one, makes a heading that is underlined with `---` a table; a
        backtick, the title of a fenced directive a paragraph.
        """
        first = text[:1] if text[:1].isalnum() else ""
        last = text[-1:] if text[1:] and text[-1].isalnum() else ""
        inner = text[len(first) : len(text) - len(last)]
        escaped = self._everywhere(inner, starts_line and not first).replace("|", "&#124;")
        escaped = escaped.replace("\\`", "&#96;")
        return "".join([first and f"&#{ord(first)};", escaped, last and f"&#{ord(last)};"])

    def _in_row(self, escape: _Escape) -> _Escape:
        """How text is escaped in the source: in a table cell, bars are escaped, too."""
        if not self._block.is_row:
            return escape
        return lambda text, starts_line: escape(text, starts_line).replace("|", "\\|")

    def _on_one_line(self, start: int, end: int) -> str:
        return self._block.content[start:end].replace("\n", " ")

    def _as_content(self, source: str) -> str:
        """What the parser makes of the source of a part of the block."""
        return source.replace("\\|", "|") if self._block.is_row else source

    def _copied(self, start: int, end: int, copy: Copy[str]) -> str:
        """The source of a part of the content, on one line."""
        lines = []
        for line in self._block.content[start:end].split("\n"):
            lines.append(copy(*self._block.span(start, start + len(line))) if line else "")
            start += len(line) + 1
        return " ".join(lines)


def _styled(piece: Piece, style: _Style, markup: Callable[[Piece], str]) -> str:
    """The source of a piece of markup, with other marks if the style has some."""
    if piece.parts and style:
        return "".join(_styled(part, style, markup) for part in piece.parts)
    if piece.name in style and piece.kind in (PieceKind.START, PieceKind.END):
        return style[piece.name][piece.kind is PieceKind.END]
    return markup(piece)
