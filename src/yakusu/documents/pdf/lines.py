"""Lines of text: the snippets that stand beside each other, and which lines belong to no text."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from yakusu import lazy
from yakusu.data.lines.words import UNSPACED
from yakusu.documents.pdf.page import PageText, Snippet

_LABEL = re.compile(r"\d{1,3}(?:\.\d{1,3})+\.?")  # the number of a section
# What begins an item of a list: a bullet; or a number or a letter in brackets or with a point.
MARKER = re.compile(r"[•‣▪◦●○■□▶➢✓✔–—*·‒-]|\(?(?:\d{1,3}|[a-z]|[ivx]{2,5})[.)]|[A-Z]\)")
_TAB = 4.0  # em: the widest space after the marker of an item
_SPACE = 0.15  # em: the narrowest space between words
_SMALL, _LIFTED = 0.8, 0.15  # sizes of a raised number, and em by which it is raised
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNSPACED = lazy.compile(rf"[{UNSPACED}\u3000-\u303f\uff00-\uff60]")
_OUTER = 0.15  # of a page, at both ends: where running heads and feet are
_MOST = 2  # lines of a running head
_APART = 1.6  # em between it and the text of most pages;
_SHARE = 4  # others are on more than one in so many pages
_NUMBER = re.compile(r"\d+|(?<!\w)[ivxlc]+(?!\w)")


def space_between(before: str, after: str) -> str:
    """What separates two parts of a text: a space, in scripts that use spaces."""
    return "" if _UNSPACED.match(before[-1:]) and _UNSPACED.match(after[:1]) else " "


def with_markers(snippets: Iterable[Snippet]) -> Iterator[Snippet]:
    """Yield snippets; the marker of an item becomes part of the text that follows it."""
    marker: Snippet | None = None
    for each in snippets:
        if marker:
            space = each.left - marker.right
            if abs(each.base - marker.base) < each.size / 3 and 0 < space <= _TAB * each.size:
                each = each._replace(left=marker.left, text=f"{marker.text} {each.text}")
            else:
                yield marker
            marker = None
        if MARKER.fullmatch(each.text) or _LABEL.fullmatch(each.text):
            marker = each
        else:
            yield each
    if marker:
        yield marker


def rows(snippets: Iterable[Snippet]) -> list[list[Snippet]]:
    """Snippets that stand beside each other, from top to bottom and from left to right."""
    found = list[list[Snippet]]()
    main: Snippet | None = None  # the largest one of the last row
    for each in sorted(snippets, key=lambda each: each.base):
        if main and _are_beside(main, each):
            found[-1].append(each)
            main = max(main, each, key=lambda each: each.size)
        else:
            found.append([each])
            main = each
    return [sorted(row, key=lambda each: each.left) for row in found]


def _are_beside(one: Snippet, other: Snippet) -> bool:
    overlap = min(one.bottom, other.bottom) - max(one.top, other.top)
    return overlap > min(one.bottom - one.top, other.bottom - other.top) / 2


def line(row: Sequence[Snippet]) -> Snippet:
    """The snippets of a row as one."""
    main = max(row, key=lambda each: (each.size, each.right - each.left))
    parts, last = list[str](), row[0]
    for each in row:
        part = each.text
        if each.size < _SMALL * main.size and main.base - each.base > _LIFTED * main.size:
            part = part.translate(RAISED) if part.isdecimal() else part
        if parts and each.left - last.right > _SPACE * main.size:
            part = space_between(parts[-1], part) + part
        parts.append(part)
        last = each
    right = max(each.right for each in row)
    return main._replace(left=row[0].left, right=right, text="".join(parts))


def without_running(
    pages: Sequence[PageText],
) -> tuple[list[list[Snippet]], list[str]]:
    """Leave out the lines that pages repeat at their ends, apart from numbers, and page numbers.

    Returns:
        The snippets of each page that remain; each repeated line once.
    """
    found = [[*_outer(page)] for page in pages]
    counts = Counter(name for lines in found for name in {name for name, _, _ in lines})
    kept, left_out = list[list[Snippet]](), dict[object, str]()
    for number, (lines, page) in enumerate(zip(found, pages, strict=True), 1):
        removed = set[Snippet]()
        for name, row, is_apart in lines:
            shown = line(row).text
            is_repeated = counts[name] > (1 if is_apart else max(1, len(pages) // _SHARE))
            if is_repeated or shown.strip("-–— ") == str(number):
                removed.update(row)
                left_out.setdefault(name, shown)
        kept.append([each for each in page.snippets if each not in removed])
    if not any(kept):  # what pages repeat is all that there is
        return [list(page.snippets) for page in pages], []
    return kept, list(left_out.values())


def _outer(page: PageText) -> Iterator[tuple[tuple[object, ...], list[Snippet], bool]]:
    """Yield what lines at both ends of pages have in common, the line, and whether it is apart."""
    height = page.bottom - page.top
    every = rows(each for each in page.snippets if not each.rows and each.base <= page.bottom)
    for ordered, end in ((every, page.top), (every[::-1], page.bottom)):
        is_apart = False
        for row, following in [*zip_longest(ordered, ordered[1:])][:_MOST][::-1]:
            found = line(row)
            distance = abs(found.base - end)
            space = abs(line(following).base - found.base) if following else height
            is_apart = is_apart or space > _APART * found.size
            if distance <= _OUTER * height:
                yield (
                    (end == page.top, round(distance), _NUMBER.sub("#", found.text)),
                    row,
                    is_apart,
                )
