"""Tables whose cells are separated by lines that are drawn."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from yakusu.documents.pdf.page import DrawnLine

_REACH = 3.0  # points by which lines that meet may miss each other
_MAX_CELLS = 10_000


class Grid(NamedTuple):
    """The edges of the cells of a table.

    Attributes:
        xs: Where its columns begin, and where the last one ends.
        ys: Where its rows begin, and where the last one ends.
    """

    xs: Sequence[float]
    ys: Sequence[float]


class PageGrids:
    """The tables of a page; where several overlap, the first one counts.

    Args:
        grids: Their edges.
    """

    def __init__(self, grids: Sequence[Grid]) -> None:
        self._grids = grids
        self._xs = sorted({x for grid in grids for x in (grid.xs[0], grid.xs[-1])})
        self._ys = sorted({y for grid in grids for y in (grid.ys[0], grid.ys[-1])})
        # The table of each rectangle between the edges of all; outermost ones are in none.
        self._owners = [[-1] * (len(self._xs) + 1) for _ in range(len(self._ys) + 1)]
        for number, grid in reversed([*enumerate(grids)]):
            left, right = (bisect_right(self._xs, x) for x in (grid.xs[0], grid.xs[-1]))
            top, bottom = (bisect_right(self._ys, y) for y in (grid.ys[0], grid.ys[-1]))
            for owners in self._owners[top:bottom]:
                owners[left:right] = [number] * (right - left)

    def cell(self, x: float, y: float) -> tuple[int, int, int] | None:
        """The number of the table, the row and the column of a place; None: it is in no table."""
        number = self._owners[bisect_right(self._ys, y)][bisect_right(self._xs, x)]
        if number < 0:
            return None
        grid = self._grids[number]
        return number, bisect_right(grid.ys, y) - 1, bisect_right(grid.xs, x) - 1


def grids(rules: Iterable[DrawnLine]) -> list[Grid]:
    """The tables that lines on a page draw, each with at least two cells."""
    found = []
    for connected in _connected(list(rules)):
        across = [rule for rule in connected if rule.right - rule.left > rule.bottom - rule.top]
        down = [rule for rule in connected if rule.right - rule.left <= rule.bottom - rule.top]
        grid = Grid(_places(rule.left for rule in down), _places(rule.top for rule in across))
        n_cells = (len(grid.xs) - 1) * (len(grid.ys) - 1)
        if min(len(grid.xs), len(grid.ys)) > 1 and 1 < n_cells <= _MAX_CELLS:
            found.append(grid)
    return found


def _places(values: Iterable[float]) -> list[float]:
    """Values in order, those that are near each other once."""
    found = list[float]()
    for value in sorted(values):
        if not found or value - found[-1] > _REACH:
            found.append(value)
    return found


def _connected(rules: Sequence[DrawnLine]) -> Iterable[list[DrawnLine]]:
    """The groups of rules that touch each other, found by sweeping over the page once."""
    parents = list(range(len(rules)))

    def root(i: int) -> int:
        while parents[i] != i:
            parents[i] = parents[parents[i]]
            i = parents[i]
        return i

    active = list[int]()
    for i in sorted(range(len(rules)), key=lambda i: rules[i].top):
        rule = rules[i]
        active = [j for j in active if rules[j].bottom + _REACH >= rule.top]
        for j in active:
            if rules[j].left - _REACH <= rule.right and rule.left - _REACH <= rules[j].right:
                parents[root(i)] = root(j)
        active.append(i)
    groups = defaultdict[int, list[DrawnLine]](list)
    for i, rule in enumerate(rules):
        groups[root(i)].append(rule)
    return groups.values()
