"""Tables that a benchmark declares beside its script and that its records fill.

A script names its tables `tables`: a `Table`, or a function that makes tables of records. A column
is a heading and a cell: a template such as "{peak.mib:,.0f}", whose names are keys of a row, or a
function of the row.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.records import Record

NONE = "-"
Row = Mapping[str, Any] | Record
Cell = str | Callable[[Any], str]
Columns = Sequence[tuple[str, Cell]]
_FIELD = re.compile(r"{([^:}]+):?([^}]*)}")


@dataclass(frozen=True)
class FilledTable:
    """A table of a page.

    head: Names of the columns.
    rows: Cells; each is a number or a few words.
    records: The records that the rows were made from.
    title: A heading above the table, if a section has several.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    records: Sequence[Record]
    title: str = ""


@dataclass(frozen=True)
class Table:
    """How records become tables.

    columns: Headings and cells.
    rows: The rows of a record, which gets a table of its own; None: one table, and one row for each
        record.
    title: Template of the title, filled by a record if `rows` is given.
    """

    columns: Columns
    rows: Callable[[Record], Iterable[Row]] | None = None
    title: str = ""

    def __call__(self, records: Sequence[Record]) -> Iterable[FilledTable]:
        """Make tables of records."""
        if self.rows is None:
            yield fill(self.columns, records, records, self.title)
            return
        for record in records:
            yield fill(self.columns, self.rows(record), [record], text(self.title, record))


def fill(
    columns: Columns, rows: Iterable[Row], records: Sequence[Record], title: str = ""
) -> FilledTable:
    """Make a table of rows."""
    cells = [[text(cell, row) for _, cell in columns] for row in rows]
    return FilledTable([heading for heading, _ in columns], cells, records, title)


def text(cell: Cell, row: Row) -> str:
    """Return the text of a cell: NONE if the row lacks a value of the template."""
    if not isinstance(cell, str):
        return cell(row)
    values = [(value(row, path), spec) for path, spec in _FIELD.findall(cell)]
    if any(found is None for found, _ in values):
        return NONE
    formatted = (format(found, spec) for found, spec in values)
    return _FIELD.sub(lambda _: next(formatted), cell)


def value(row: Row, path: str) -> Any:
    """Return the value of a row at a path of keys, such as "ratio.value"; None if it has none."""
    found: Any = row
    for key in path.split("."):
        found = None if found is None else found.get(key)
    return found


def entries(key: str, name: str = "name") -> Callable[[Record], Iterable[Row]]:
    """Rows of a record: the entries of a mapping, each with its key as `name`."""
    return lambda record: [{name: entry, **own} for entry, own in record[key].items()]


# ---- cells ---------------------------------------------------------------------------------------


def fixed(number: float | None, digits: int = 2) -> str:
    """Return a number with thousands separators and `digits` decimals."""
    return NONE if number is None else f"{number:,.{digits}f}"


def scores(signed: str) -> dict[str, float]:
    """Return the values in a text such as "BLEU = 39.66 (signature)", by name."""
    found = re.findall(r"([\w ]+) = (-?[\d.]+)", signed)
    return {name.strip(): float(number) for name, number in found}


def score_of(path: str, metric: str = "BLEU") -> Cell:
    """The value of a metric in a text with its signature."""
    return lambda row: fixed(scores(value(row, path) or "").get(metric))


def times(path: str, factor: float, digits: int = 0) -> Cell:
    """A number in another unit."""
    return lambda row: fixed(value(row, path) * factor, digits)


def spread_of(path: str, digits: int = 0) -> Cell:
    """The median of several rounds, with the lowest and the highest value."""
    spec = f":,.{digits}f"
    return f"{{{path}.median{spec}}} ({{{path}.low{spec}}} to {{{path}.high{spec}}})"
