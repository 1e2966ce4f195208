"""Where the content of a Markdown block is in its source.

The parser takes the marks of quotations and lists, and indentation, off the lines of a block. A
block whose lines are not found again in the source is not translated.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_HEADING = re.compile(r"#{1,6}[ \t]+")
_CLOSING = re.compile(r"(?:[ \t]++#++)?+[ \t]*+")  # the end of a heading
_ADMONITION = re.compile(r"(?:!!!|\?\?\?)\s*+\S")
_PREFIX = re.compile(r"[\s>*+\-\d.)]*")


@dataclass(frozen=True)
class MarkdownBlock:
    """The content of a block and its place in the source.

    Attributes:
        content: The content, as the parser returns it.
        starts: Position in the source of each character of the content, and of its end.
        ends: Position in the source after each character.
        after: What follows the content on its line, such as the closing marks of a heading.
        is_row: It is a table cell, where a vertical bar is written with a backslash.
    """

    content: str
    starts: Sequence[int]
    ends: Sequence[int]
    after: str = ""
    is_row: bool = False

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place in the source of a part of the content that is not empty."""
        return self.starts[start], self.ends[end - 1]


class MarkdownLines:
    """The lines of a file.

    Args:
        source: The file.
        start: Position of the first line that is parsed.

    Attributes:
        number: Number of lines before that one.
    """

    def __init__(self, source: str, start: int) -> None:
        self.start = start
        self.number = source.count("\n", 0, start)
        self._source = source
        self._spans = [found.span() for found in _LINE.finditer(source, start)]

    def _line(self, number: int) -> tuple[int, str]:
        """Position and characters of a line, without its end."""
        if number >= len(self._spans):
            return len(self._source), ""
        start, end = self._spans[number]
        return start, self._source[start:end].rstrip("\r\n")

    def paragraph(self, content: str, first: int) -> MarkdownBlock | None:
        """Find a content whose lines end where the lines of the source end."""
        starts: list[int] = []
        ends: list[int] = []
        for number, line in enumerate(content.split("\n"), start=first):
            begin, source = self._line(number)
            text, visible = line.strip(), source.rstrip()
            if not visible.endswith(text):
                return None
            at, before = len(visible) - len(text), len(line) - len(line.lstrip())
            for i in range(len(line)):
                place = begin + min(at + max(i - before, 0), len(source))
                starts.append(place)
                ends.append(min(place + 1, begin + len(source)))
            starts.append(begin + len(source))  # the line break
            ends.append(self._line(number + 1)[0])
        return MarkdownBlock(content, starts, ends[:-1])

    def heading(self, content: str, number: int) -> MarkdownBlock | None:
        """Find the content of a heading that begins with `#`."""
        begin, source = self._line(number)
        for marks in _HEADING.finditer(source):
            start = marks.end()
            if source.startswith(content, start):
                end = start + len(content)
                if _CLOSING.fullmatch(source, end):
                    return _single(begin, source, start, end)
        return None

    def title(self, content: str, number: int) -> MarkdownBlock | None:
        """Find the title of an admonition; after it is at most a word, such as a quotation mark."""
        begin, source = self._line(number)
        marks = _ADMONITION.search(source)
        last, own = _last_space(source.rstrip(" \t")), _last_space(content)
        for start in (last - own,) if own >= 0 else (last + 1, last + 2):
            before = start - source.endswith('"', 0, max(start, 0))
            spaced = marks and before > marks.end() and source[before - 1 : before].isspace()
            if spaced and source.startswith(content, start):
                return _single(begin, source, start, start + len(content))
        return None

    def part(self, content: str, number: int, column: int) -> MarkdownBlock | None:
        """Find a content that begins at a column of a line."""
        begin, source = self._line(number)
        if not source.startswith(content, column):
            return None
        return _single(begin, source, column, column + len(content))

    def region(self, content: str, first: int) -> tuple[int, int] | None:
        """Find the lines of a content if nothing but indentation is before them, except the first.

        Returns:
            Its start and end in the source.
        """
        start, end = 0, 0
        for i, line in enumerate(content.removesuffix("\n").split("\n")):
            begin, source = self._line(first + i)
            before = source.removesuffix(line)
            if not source.endswith(line) or (i and before.strip()):
                return None
            start = start if i else begin + len(before)
            end = begin + len(source)
        return start, end

    def cells(self, contents: Sequence[str], number: int) -> list[MarkdownBlock | None]:
        """Find the cells of a row of a table; None for those that are not found."""
        begin, source = self._line(number)
        bars = [-1, *(found.start() for found in re.finditer(r"(?<!\\)\|", source)), len(source)]
        spans = [(a + 1, b) for a, b in pairwise(bars)]
        leading = _PREFIX.fullmatch(source, *spans[0]) is not None
        for first in (1, 0) if leading else (0, 1):
            found = [
                _cell(content, begin, source, span, is_first=i + first == 0)
                for i, (content, span) in enumerate(zip(contents, spans[first:], strict=False))
            ]
            if all(
                block is not None or not content
                for content, block in zip(contents, found, strict=False)
            ):
                return [*found, *[None] * (len(contents) - len(found))]
        return [None] * len(contents)


def _last_space(text: str) -> int:
    """The position of the last white space, or -1."""
    return next((i for i in reversed(range(len(text))) if text[i].isspace()), -1)


def _single(begin: int, source: str, start: int, end: int) -> MarkdownBlock:
    """The block of a content on one line, which begins at a position of the file."""
    first, last = begin + start, begin + end
    content, after = source[start:end], source[end:]
    return MarkdownBlock(content, range(first, last + 1), range(first + 1, last + 1), after)


def _cell(
    content: str, begin: int, source: str, span: tuple[int, int], *, is_first: bool
) -> MarkdownBlock | None:
    """The block of a cell; the first cell of a row without a leading bar follows a prefix."""
    text = source[slice(*span)]
    own = content.replace("|", "\\|")
    stripped = text.strip()
    if not content or not (stripped.endswith(own) if is_first else stripped == own):
        return None
    at = begin + span[0] + len(text.rstrip()) - len(own)
    starts, ends = [], []
    for character in content:
        length = 2 if character == "|" else 1
        starts.append(at)
        at += length
        ends.append(at)
    return MarkdownBlock(content, [*starts, at], ends, is_row=True)
