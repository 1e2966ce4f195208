"""The order in which the parts of a page are read: one column after the other.

A region with columns is a run of snippets, from top to bottom, that leaves the same gap free. It
begins where two snippets are beside each other, and reaches up and down to the first snippet that
crosses all gaps. If its columns are not filled with prose, it is a table.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from yakusu.documents.pdf.lines import line, rows
from yakusu.documents.pdf.page import CellTexts, Snippet

_GAP = 1.0  # em between columns
_NARROWEST, _FILLED = 7.0, 0.6  # em of a column of prose, and its part that lines fill on average
_DEEPEST = 4  # columns in columns
_APART = 1.6  # em between the baselines of lines that do not belong together
_MAX_COLUMNS = 100  # of a region: more are not read as columns
_FARTHEST = 100  # snippets among which one beside another one is looked for,
_MOST_BELOW = 200  # and those below all columns but the first, until the region ends
_Interval = tuple[float, float]


def flows(snippets: Iterable[Snippet], em: float, depth: int = 0) -> list[list[Snippet]]:
    """The columns of a page, in reading order, each with its lines and tables from top to bottom.

    Args:
        snippets: What is on the page.
        em: The size of most text.
        depth: The number of columns that contain these snippets.
    """
    every = sorted(snippets, key=lambda each: (each.base, each.left))
    found, plain = list[list[Snippet]](), list[Snippet]()
    at = i = 0  # the first snippet that is in no region, and one where a region may begin
    while i < len(every):
        region = _region(every, at, i, em) if depth < _DEEPEST else None
        if region is None:
            i += 1
            continue
        first, end, columns = region
        plain += every[at:first]
        divided = [_within(every[first:end], column) for column in columns]
        if all(map(partial(_is_prose, em=em), divided)):
            found += [_lines(plain)] if plain else []
            plain = []
            for column in divided:
                found += flows(column, em, depth + 1)
        else:
            plain += _as_table(every[first:end], columns)
        at = i = end
    plain += every[at:]
    return [*found, _lines(plain)] if plain else found


def _lines(snippets: Iterable[Snippet]) -> list[Snippet]:
    return [line(row) for row in rows(snippets)]


def _region(
    every: Sequence[Snippet], least: int, i: int, em: float
) -> tuple[int, int, list[_Interval]] | None:
    """The region with columns that a snippet and one beside it begin.

    Args:
        every: The snippets.
        least: The first one that may be in the region.
        i: The place of the snippet.
        em: The size of most text.

    Returns:
        Its first snippet, the one after its last, and its columns; None: there is none.
    """
    one = every[i]
    for end in range(i + 2, min(len(every), i + _FARTHEST) + 1):
        each = every[end - 1]
        if each.top >= one.bottom:
            return None
        if max(each.left - one.right, one.left - each.right) >= _GAP * em:
            break
    else:
        return None
    columns = list[_Interval]()
    for each in every[i:end]:
        columns = _with(columns, each, em)
    if len(columns) < 2:
        return None
    first, others = i, end  # `others`: the end of what is in other columns than the first
    while first > least and _are_columns(wider := _with(columns, every[first - 1], em)):
        columns, first = wider, first - 1
    while (
        end < len(every)
        and end - others < _MOST_BELOW
        and _are_columns(wider := _with(columns, every[end], em))
    ):
        columns, end = wider, end + 1
        others = end if every[end - 1].left >= columns[0][1] else others
    if end < len(every):
        end = _without_rest(every, i, end, columns, em)
    return first, end, columns


def _are_columns(columns: Sequence[_Interval]) -> bool:
    return 1 < len(columns) <= _MAX_COLUMNS


def _with(columns: Sequence[_Interval], snippet: Snippet, em: float) -> list[_Interval]:
    """Columns that also contain a snippet; those between which no gap is left are one."""
    found = list[_Interval]()
    for left, right in sorted([*columns, (snippet.left, snippet.right)]):
        if found and left - found[-1][1] < _GAP * em:
            found[-1] = found[-1][0], max(found[-1][1], right)
        else:
            found.append((left, right))
    return found


def _without_rest(
    every: Sequence[Snippet], first: int, end: int, columns: Sequence[_Interval], em: float
) -> int:
    """The end of a region without text of the first column that stands apart below all columns."""
    others = (i for i in range(end - 1, first - 1, -1) if every[i].left >= columns[0][1])
    for i in range(next(others, end) + 1, end):
        if every[i].base - every[i - 1].base > _APART * em:
            return i
    return end


def _within(snippets: Iterable[Snippet], column: _Interval) -> list[Snippet]:
    return [each for each in snippets if column[0] <= each.left <= column[1]]


def _is_prose(column: Sequence[Snippet], em: float) -> bool:
    """Whether a column is wide, and lines fill most of it."""
    left, right = min(each.left for each in column), max(each.right for each in column)
    lines = rows(column)
    filled = sum(row[-1].right - row[0].left for row in lines)
    return right - left >= _NARROWEST * em and filled >= _FILLED * len(lines) * (right - left)


def _as_table(snippets: Sequence[Snippet], columns: Sequence[_Interval]) -> list[Snippet]:
    """A table, with the lines above and below it; the snippets, if it has only one row."""
    lines = rows(snippets)
    cells = [
        ["".join(line(inside).text for inside in rows(_within(row, each))) for each in columns]
        for row in lines
    ]
    full = [i for i, row in enumerate(cells) if len([*filter(None, row)]) > 1]
    if len(full) < 2:
        return list(snippets)
    first, end = full[0], full[-1] + 1
    while end < len(cells) and not cells[end][0]:
        end += 1
    table = list[list[list[str]]]()
    for row in cells[first:end]:
        if table and not row[0]:  # the cells of the row above have several lines
            table[-1].append(row)
        else:
            table.append([row])
    inside = [each for row in lines[first:end] for each in row]
    around = [each for row in [*lines[:first], *lines[end:]] for each in row]
    joined = (("\n".join(filter(None, x)) for x in zip(*row, strict=True)) for row in table)
    return [*around, as_stretch(inside, tuple(map(tuple, joined)))]


def as_stretch(snippets: Sequence[Snippet], table: CellTexts) -> Snippet:
    """A table in the place of its snippets."""
    left, right = min(each.left for each in snippets), max(each.right for each in snippets)
    top, bottom = min(each.top for each in snippets), max(each.bottom for each in snippets)
    return Snippet(left, right, bottom, bottom - top, "", rows=table)
