"""Headings, paragraphs, items and tables, made of the lines of all pages.

A paragraph that continues in the next column or on the next page is one, also if notes or a table
come between its parts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, takewhile

from yakusu.documents.pdf.blocks import Block, TableBlock, TextBlock
from yakusu.documents.pdf.lines import MARKER, RAISED, space_between
from yakusu.documents.pdf.page import Snippet
from yakusu.documents.pdf.pdfium import HYPHEN

_ITEM = re.compile(rf"({MARKER.pattern})\s+(?=\S)")
_BULLETS = "•‣▪◦●○■□▶➢✓✔·"  # other markers may begin a line of a paragraph, too
_END = re.compile(r"[.!?:;…。！？؟۔]['\"”’»›)\]」』⁰¹²³⁴⁵⁶⁷⁸⁹]*$")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_REFERENCE = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_NOTE = re.compile(rf"({_REFERENCE.pattern}|\d{{1,3}})[\s.)]*")
_CODE = re.compile(r"^-|[/_.@:]")  # in addresses, paths and options
_LARGER, _SMALLER = 1.12, 0.93  # sizes of headings and of notes; that of most text is 1
_LONGEST_HEADING = 300  # characters
_EQUAL = 1.06  # two sizes are equal if one is at most so many times the other,
_SIMILAR = 1.15  # and similar, such as those of two fonts in a paragraph
_LEADING = 1.3  # a larger distance, compared with that of most lines, separates paragraphs
_INDENT = 0.8  # em by which a paragraph, and 0.3 by which the lines of an item, are indented
_SLACK = 3.0  # em that are free at the end of a line only if a paragraph ends
_AND = {"and", "or", "und", "oder", "bis", "sowie", "et", "ou", "e", "o", "y", "en", "of", "och"}
Flow = Sequence[Snippet]


@dataclass
class _Part:
    """The lines of a block.

    Attributes:
        lines: The lines; a table is one line.
        left: Where the column begins.
        right: Where its longest line ends.
        least: Where the line that begins farthest to the left begins.
        marker: What begins an item of a list; "": it is none.
        kind: 1 for a heading, -1 for a note, 0 for other text.
    """

    lines: list[Snippet]
    left: float
    right: float
    least: float
    marker: str
    kind: int


def blocks_of(pages: Iterable[Iterable[Flow]]) -> list[Block]:
    """The blocks of a document, in reading order.

    Args:
        pages: The columns of each page, with their lines.
    """
    flows = [flow for page in pages for flow in page]
    body, leading = _usual(flows)
    parts = list[_Part]()
    before: _Part | None = None  # the last one that is no note
    for flow in flows:
        found = _parts(flow, body, leading)
        if found and before and _goes_on(before, found[0]):
            first = found.pop(0)
            before.lines += first.lines
            before.right = first.right
        parts += found
        before = next((part for part in reversed(found) if part.kind >= 0), before)
    words = Counter(
        word.lower() for flow in flows for line in flow for word in _WORD.findall(line.text)
    )
    return [*_blocks(_with_notes(parts), words)]


def most_size(flows: Iterable[Flow]) -> float:
    """The size of most text."""
    sizes = Counter[float]()
    for line in chain.from_iterable(flows):
        sizes[round(line.size, 1)] += len(line.text)
    return max(sizes, key=lambda size: sizes[size], default=1.0) or 1.0


def _usual(flows: Sequence[Flow]) -> tuple[float, float]:
    """The size of most text, and the distance of its lines in em."""
    body = most_size(flows)
    distances = sorted(
        (line.base - before.base) / line.size
        for flow in flows
        for before, line in pairwise(flow)
        if _are_equal(before.size, line.size) and not (before.rows or line.rows)
    )
    return body, distances[len(distances) * 3 // 10] if distances else 1.2


def _are_equal(size: float, other: float) -> bool:
    return max(size, other) <= _EQUAL * min(size, other)


# ---- from lines to parts -------------------------------------------------------------------------


def _parts(flow: Flow, body: float, leading: float) -> list[_Part]:
    """Divide the lines of a column."""
    left, right = min(line.left for line in flow), max(line.right for line in flow)
    parts = list[_Part]()
    for line in flow:
        part = parts[-1] if parts else None
        kind = (line.size >= _LARGER * body) - (line.size <= _SMALLER * body)
        marker = "" if kind > 0 or line.rows else _marker(part, line, right)
        if line.rows:
            parts.append(_Part([line], left, right, line.left, "", 0))
        elif part is None or marker or not _continues(part, line, kind, leading):
            parts.append(_Part([line], left, right, line.left, marker, kind))
        else:
            part.lines.append(line)
            part.least = min(part.least, line.left)
            part.kind = max(part.kind, kind)
    return parts


def _marker(part: _Part | None, line: Snippet, right: float) -> str:
    """The marker of the item that a line begins; "": it begins none."""
    found = _ITEM.match(line.text)
    if not found:
        return ""
    if found[1] in _BULLETS or not part or part.lines[-1].rows:
        return found[1]
    last = part.lines[-1]
    is_next = bool(part.marker) and abs(part.lines[0].left - line.left) < _INDENT * line.size
    is_possible = is_next or _END.search(last.text) or right - last.right > _SLACK * line.size
    return found[1] if is_possible else ""


def _continues(part: _Part, line: Snippet, kind: int, leading: float) -> bool:
    """Whether a line of a kind, without a marker, belongs to the block before it."""
    first, last, em = part.lines[0], part.lines[-1], line.size
    most = _EQUAL if kind > 0 else _SIMILAR
    is_other = (kind > 0) != (part.kind > 0) or max(last.size, em) > most * min(last.size, em)
    if last.rows or is_other:
        return False
    if line.base - last.base > _LEADING * leading * em:
        return False
    if part.marker:
        return line.left > first.left + 0.3 * em or not _is_last(last, line, part.right)
    if _are_centered(last, line):
        return True
    if kind > 0:
        return not _is_last(last, line, part.right)
    if line.left > part.least + _INDENT * em and (
        len(part.lines) > 1 or line.left > first.left + em
    ):
        return False
    if line.left < last.left - _INDENT * em and len(part.lines) > 1:
        return False
    return not _is_last(last, line, part.right)


def _are_centered(one: Snippet, other: Snippet) -> bool:
    """Whether two lines of different lengths have the same middle."""
    shift = (one.left + one.right - other.left - other.right) / 2
    return abs(shift) < 0.3 * one.size < _INDENT * one.size < abs(one.left - other.left)


def _is_last(line: Snippet, following: Snippet, right: float) -> bool:
    """Whether a line ends a paragraph: the first word of the next line would fit in."""
    text = following.text
    width = (following.right - following.left) / len(text)
    word = len(text.split(" ", 1)[0])
    free = right - line.right - (word * width + 0.3 * line.size)
    return free > (0 if _END.search(line.text) else _SLACK * line.size)


def _goes_on(part: _Part, following: _Part) -> bool:
    """Whether a block continues at the beginning of the next column."""
    last, first = part.lines[-1], following.lines[0]
    if last.rows or first.rows:
        return bool(last.rows and first.rows) and len(last.rows[0]) == len(first.rows[0])
    is_text = part.kind == following.kind == 0 and not following.marker
    if not is_text or not _are_equal(last.size, first.size) or _END.search(last.text):
        return False
    is_full = part.right - last.right <= _SLACK * last.size
    return last.text[-1] in f"-{HYPHEN}" or first.text[0].islower() or is_full


def _with_notes(parts: Iterable[_Part]) -> list[_Part]:
    """Move each note behind the last block before it that refers to its number."""
    found = list[list[_Part]]()  # each block with its notes
    places = dict[str, int]()  # of the blocks that refer to a number
    for part in parts:
        note = _NOTE.match(part.lines[0].text) if part.kind < 0 else None
        number = note[1].translate(RAISED) if note else ""
        if note and number in places:
            first = part.lines[0]
            part.lines[0] = first._replace(text=f"{number} {first.text[note.end() :]}")
            found[places[number]].append(part)
        else:
            numbers = (each for line in part.lines for each in _REFERENCE.findall(line.text))
            places.update(dict.fromkeys(numbers, len(found)))
            found.append([part])
    return [part for block in found for part in block]


# ---- from parts to blocks ------------------------------------------------------------------------


def _blocks(parts: Sequence[_Part], words: Mapping[str, int]) -> Iterator[Block]:
    levels = _levels(parts)
    lefts = list[float]()  # of the lists that contain an item
    for part in parts:
        first = part.lines[0]
        left = first.left - part.left
        lefts = [*(x for x in lefts if x < left - first.size), left] if part.marker else []
        if first.rows:
            rows = [row for line in part.lines for row in line.rows]
            yield TableBlock(
                tuple(tuple(paragraph_text(c.split("\n"), words) for c in row) for row in rows)
            )
            continue
        start = _ITEM.match(first.text) if part.marker else None
        texts = [first.text[start.end() if start else 0 :], *(x.text for x in part.lines[1:])]
        text = paragraph_text(texts, words)
        is_heading = part.kind > 0 and len(text) <= _LONGEST_HEADING
        heading = levels[round(first.size, 1)] if is_heading else 0
        yield TextBlock(text, heading, part.marker, max(0, len(lefts) - 1))


def _levels(parts: Iterable[_Part]) -> dict[float, int]:
    """The level of each size of headings."""
    levels, last, level = dict[float, int](), 0.0, 0
    for size in sorted({round(part.lines[0].size, 1) for part in parts if part.kind > 0})[::-1]:
        if not last or not _are_equal(size, last):
            last, level = size, min(6, level + 1)
        levels[size] = level
    return levels


def paragraph_text(lines: Sequence[str], words: Mapping[str, int]) -> str:
    """The text of lines, without the hyphens that are there only because a line ends.

    Args:
        lines: The lines.
        words: Words of the document.
    """
    pieces = [lines[0]]
    for line in filter(None, lines[1:]):
        last = pieces[-1]
        if last[-1] in f"-‐{HYPHEN}":
            pieces[-1] = last[:-1]
            pieces.append(_hyphen(last[:-1], line, words))
        else:
            pieces.append(_space(last, line, words))
        pieces.append(line)
    text = "".join(pieces)
    return text[:-1].replace(HYPHEN, "") + text[-1:].replace(HYPHEN, "-")


def _space(before: str, after: str, words: Mapping[str, int]) -> str:
    """What is between two lines; nothing in a long word that a narrow cell divides."""
    head, tail = _ends(before, after)
    parts = head.lower(), tail  # not words themselves
    is_divided = all(parts) and "".join(parts) in words and not any(map(words.get, parts))
    return "" if is_divided else space_between(before, after)


def _ends(before: str, after: str) -> tuple[str, str]:
    """The letters at the end of a line and at the beginning of the next one."""
    head = "".join(takewhile(str.isalpha, reversed(before)))[::-1]
    return head, "".join(takewhile(str.isalpha, after))


def _hyphen(before: str, after: str, words: Mapping[str, int]) -> str:
    """What is between two lines if the first one ends with a hyphen, which `before` lacks."""
    head, tail = _ends(before, after)
    if tail in _AND:
        return "- "
    if not head or not tail or tail[0].isupper() or _CODE.search(before.rpartition(" ")[2]):
        return "-"
    head = head.lower()
    is_known = words.get(f"{head}-{tail}", 0) > words.get(f"{head}{tail}", 0)
    return "-" if is_known else ""
