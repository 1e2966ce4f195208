"""Titles of links, and alternative texts of pictures, as texts of their own."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from yakusu.data.lines.words import has_letter
from yakusu.documents.inline import tidy
from yakusu.documents.markdown.lines import MarkdownBlock
from yakusu.documents.markdown.parser import AT, LABEL, MASKED
from yakusu.documents.splice import Copy, SourceSegment

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_ESCAPED = re.compile(r"""([\\"'()&\[\]*_`<>!~$^{}])""")
# These may belong to what is outside; a backslash before one of them would escape its backslash.
_ALWAYS_ESCAPED = re.compile(r"(?<!\\)\\++(?=[\[\]`<${])|[\[\]`<${]")


def title_segments(
    md: "MarkdownIt", inline: "Token", block: MarkdownBlock
) -> Iterator[SourceSegment[str]]:
    """Yield the titles and alternative texts of a block that are on one line of it.

    Args:
        md: The parser.
        inline: The token of its content.
        block: The block.
    """
    masked = inline.meta[MASKED]
    for token in inline.children or ():
        if AT not in token.meta:
            continue
        start, end = token.meta[AT]
        if token.type == "image":
            label = token.meta[LABEL]
            yield from _alternative(md, token, block, label=label)
            yield from _title(block, masked, label, end)
        elif token.type == "link_close":
            yield from _title(block, masked, start, end)


def _title(block: MarkdownBlock, masked: str, label: int, end: int) -> Iterator[SourceSegment[str]]:
    """The title in `](destination "title")`; the destination may be an expression."""
    from markdown_it.helpers import parseLinkDestination, parseLinkTitle

    content = block.content
    if not content.startswith("](", label):
        return
    at = _after_spaces(content, label + 2)
    destination = parseLinkDestination(masked, at, end)
    if not destination.ok:
        return
    at = _after_spaces(content, destination.pos)
    title = parseLinkTitle(content, at, end)
    if not title.ok or at == destination.pos or title.pos != parseLinkTitle(masked, at, end).pos:
        return

    def read(source: str) -> str | None:
        found = parseLinkTitle(f"{content[at]}{source}{close}", 0, len(source) + 2)
        return found.str if found.ok and found.pos == len(source) + 2 else None

    close = content[title.pos - 1]
    yield from _segment(block, at + 1, title.pos - 1, title.str, read)


def _alternative(
    md: "MarkdownIt", token: "Token", block: MarkdownBlock, *, label: int
) -> Iterator[SourceSegment[str]]:
    """The alternative text in `![text](source)`, if it has no markup and names no definition."""
    start, end = token.meta[AT]
    rest = block.content[label + 1 : end]
    children = token.children or []
    if rest in ("", "[]") or any(each.type not in ("text", "text_special") for each in children):
        return

    def read(source: str) -> str | None:
        tokens = (md.parseInline(f"![{source}](x)")[0].children or []) if source else []
        if len(tokens) != 1 or tokens[0].type != "image":
            return None
        found = tokens[0].children or []
        plain = all(each.type in ("text", "text_special") for each in found)
        return "".join(each.content for each in found) if plain else None

    text = "".join(each.content for each in children)
    yield from _segment(block, start + 2, label, text, read)


def _segment(
    block: MarkdownBlock, start: int, end: int, text: str, read: Callable[[str], str | None]
) -> Iterator[SourceSegment[str]]:
    """The segment of a text without markup, if it is on one line."""
    source = block.content[start:end]
    if "\n" in source or not has_letter(text):
        return
    start += len(source) - len(source.lstrip())
    end -= len(source) - len(source.rstrip())

    def write(translation: str, copy: Copy[str]) -> str:
        del copy
        translation = tidy(translation)
        escaped = _ESCAPED.sub(r"\\\1", translation)
        plain = _ALWAYS_ESCAPED.sub(lambda found: "".join(f"\\{c}" for c in found[0]), translation)
        written = plain if read(plain) == translation else escaped
        if block.is_row:
            return written.replace("|", "\\|")
        # A bar, even an escaped one, makes a heading that is underlined with `---` a table.
        return written if "|" in block.content else written.replace("|", "&#124;")

    yield SourceSegment(*block.span(start, end), text.strip(), write)


def _after_spaces(content: str, at: int) -> int:
    found = re.compile(r"[ \t\n]*").match(content, at)
    return found.end() if found else at
