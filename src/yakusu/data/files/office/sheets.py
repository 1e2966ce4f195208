"""Tables in documents of office programs: a pair in two columns of each row.

A reader of a format yields its sheets, or tables, one after another; the first with both columns is
the corpus. Rows without text are left out, and so are titles above the header.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from yakusu.data.files.compressed import open_binary
from yakusu.data.files.office.archive import MAX_PART, Archive
from yakusu.data.files.tables import (
    NumberedCells,
    TableRow,
    UnclearColumnsError,
    as_pairs,
    as_units,
    find_columns,
    table_rows,
)
from yakusu.data.files.text import Pair, PairFile
from yakusu.data.files.units import FileUnit
from yakusu.data.languages import listed_codes
from yakusu.errors import DataError

MAX_COLUMNS = 16_384  # of all office programs
MAX_ROWS = 2**20
_INSPECTED = 200  # rows that show which columns a sheet has
_TITLES = 20  # rows above the header
_BLOCK = 2**20  # bytes that are read at a time
_OLD = b"\xd0\xcf\x11\xe0"  # of old formats, and of documents with a password
_FIX = "choose other columns with --columns"


@dataclass(frozen=True)
class Sheet:
    """A sheet of a workbook, or a table of a document.

    Attributes:
        name: Its name in messages, such as "sheet 'Words'".
        rows: The rows with text, each with its number.
        joins: Whether further sheets with as many columns continue it.
    """

    name: str
    rows: Iterator[NumberedCells]
    joins: bool = False


Sheets = Callable[[str], Iterator[Sheet]]  # reads a file


def read_sheets(sheets: Sheets, file: PairFile) -> Iterator[Pair]:
    """Read the pairs of the first sheet of a file that has both columns.

    Raises:
        DataError: The file is malformed or exceeds a limit, or no sheet has both columns.
    """
    return as_pairs(_chosen(sheets, file))


def sheet_units(sheets: Sheets, file: PairFile) -> Iterator[FileUnit]:
    """Read the rows of the same sheet with what other columns say; see `units.COLUMN_NAMES`.

    Raises:
        DataError: As in `read_sheets`.
    """
    return as_units(_chosen(sheets, file), file.path)


def open_archive(path: str, suffix: str) -> Archive:
    """Open a document, which may be compressed once more.

    Raises:
        DataError: It is not a document, has a password, or exceeds a limit.
    """
    data = bytearray()
    with open_binary(Path(path)) as file:
        while block := file.read1(_BLOCK):
            data += block
            if len(data) > MAX_PART:
                raise DataError(f"{path} has more than {MAX_PART:,} bytes: split it")
    if data.startswith(_OLD):
        raise DataError(
            f"{path} is in an old format, or has a password: save it as {suffix} without a password"
        )
    try:
        return Archive(bytes(data))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _chosen(sheets: Sheets, file: PairFile) -> Iterator[TableRow]:
    """The rows of the first sheet with both columns; a remark names the others."""
    following, others = sheets(file.path), list[str]()
    problem: DataError | None = None
    for sheet in following:
        head = [*islice(sheet.rows, _INSPECTED)]
        if not head:
            continue
        width = max(len(cells) for _, cells in head)
        start = _first_row(file, head, width)
        if isinstance(start, DataError):
            problem = problem or start
        if not isinstance(start, int):
            others.append(sheet.name)
            continue
        head = head[start:]
        rest = _continued(following, sheet, head[0][1], others)
        yield from _used(file, chain(head, sheet.rows, rest), head, width)
        break
    else:
        columns = " and ".join(map(str, file.columns))
        raise problem or DataError(f"{file.path} has no table with the columns {columns}: {_FIX}")
    if others:
        file.remark(
            f"{file.path}: only {sheet.name} is read, the first with both columns; to use the "
            f"others ({listed_codes(others)}), save them as separate files"
        )


def _continued(
    following: Iterator[Sheet], first: Sheet, header: list[str], others: list[str]
) -> Iterator[NumberedCells]:
    """The rows of the sheets that continue the first one; the names of others are added to a list.

    Args:
        following: The sheets after the first one.
        first: The first sheet.
        header: Its first row, which others may repeat.
        others: Receives the names.
    """
    for sheet in following:
        head = [*islice(sheet.rows, _INSPECTED)]
        width = max((len(cells) for _, cells in head), default=0)
        if first.joins and width == len(header):
            yield from chain(head[head[0][1] == header :], sheet.rows)
        elif head:
            others.append(sheet.name)


def _used(
    file: PairFile, rows: Iterator[NumberedCells], head: Sequence[NumberedCells], width: int
) -> Iterator[TableRow]:
    """The rows below a header, all with as many cells."""

    def ignore(number: int) -> None:
        raise AssertionError(number)

    inspected = [cells for _, cells in _whole(iter(head), width)]
    yield from table_rows(file, _whole(rows, width), inspected, _FIX, ignore)


def _whole(rows: Iterator[NumberedCells], width: int) -> Iterator[NumberedCells]:
    """Rows with as many cells; further ones, which no row of the beginning has, are left out."""
    return ((number, [*cells[:width], *[""] * (width - len(cells))]) for number, cells in rows)


def _first_row(file: PairFile, head: Sequence[NumberedCells], width: int) -> int | DataError | None:
    """The index of the header, or of the first pair: titles have one cell.

    Without both columns, it is the error of a header, or None.
    """
    silent = file._replace(remark=lambda _: None)
    rows = [cells for _, cells in _whole(iter(head), width)]
    problem: DataError | None = None
    for start in range(min(len(rows), _TITLES)):
        if sum(map(bool, map(str.strip, rows[start]))) < 2:
            continue
        try:
            src, tgt, _ = find_columns(silent, rows[start], rows[start:])
        except UnclearColumnsError as error:
            return error
        except DataError as error:
            problem = problem or error
            continue
        if max(src, tgt) < width and any(row[src].strip() and row[tgt].strip() for row in rows):
            return start
        break
    return problem
