"""The cells of a table as texts: those of the columns that the user names.

id,text              columns ("text",): the first row is the header and stays
1,"Hello, world"     columns ("2",): all rows are texts
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from yakusu.data.files.tables import column_index
from yakusu.data.lines.words import has_letter
from yakusu.documents.messages.identifiers import is_key
from yakusu.documents.messages.units import (
    Edit,
    MarkedString,
    MessageUnit,
    UnitString,
    spliced,
    text_item,
)
from yakusu.documents.splice import decode_source
from yakusu.errors import DataError

_SEPARATORS = ",;\t|"
_STATED = re.compile(r'"?(?i:sep)=([^\r\n])"?(?:\r\n?|\n|\Z)')  # the first line, for Excel
_QUOTED = re.compile(r'"(?:[^"]|"")*+"')
_END = re.compile(r"\r\n?|\n|\Z")
_INSPECTED = 20  # rows that show the separator
_SHOWN = 10  # columns in a message
_FORMULA = ("=", "+", "-", "@")  # how a cell begins that a spreadsheet computes


@dataclass(frozen=True)
class TableCell:
    """A cell and its place.

    Attributes:
        start: Position of its first character, with quotes.
        end: Position after its last one.
        value: What it holds.
        is_quoted: Whether it is in quotes.
    """

    start: int
    end: int
    value: str
    is_quoted: bool


class TableFile:
    """A table.

    Args:
        data: The file, in UTF-8, or in UTF-16 with a byte order mark.
        columns: Names or numbers of the columns to translate.
        separator: What separates cells; "": one of several characters, and cells may be in quotes.

    Raises:
        DataError: The file is not in its encoding, or its quotes are wrong; or the columns are not
            known.
    """

    def __init__(self, data: bytes, columns: Sequence[str], separator: str = "") -> None:
        self._source = decode_source(data)
        self._text = self._source.text
        self._has_quotes = not separator
        self._start = len(self._text) - len(self._text.removeprefix("\ufeff"))
        stated = _STATED.match(self._text, self._start) if self._has_quotes else None
        self._separator = separator or (stated[1] if stated else self._likely_separator())
        self._start = stated.end() if stated else self._start
        self._has_quotes = self._has_quotes or self._needs_quotes()
        first = next(self._rows(), (1, []))[1]
        header = [cell.value.strip() for cell in first]
        self._n_columns = len(header)
        self._columns = sorted({_index(column, header) for column in columns if header})
        self._has_header = not all(map(str.isdecimal, columns))
        if not columns:
            raise DataError(
                f"line 1 has the columns {_listed(header)}: name those to translate with --columns "
                "NAME,... or, if there is no header, with their numbers"
            )

    def parse(self, use: Callable[[MessageUnit], None]) -> None:
        """Call a function with each cell of the columns; see `UnitFile`."""
        for line, cells in islice(self._rows(), self._has_header, None):
            for column in self._columns:
                if column < len(cells) and has_letter(cells[column].value):
                    is_long = any(cell.value.strip() for cell in cells[self._n_columns :])
                    use(MessageUnit("", [self._string(cells[column], line, is_long=is_long)]))

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file with parts replaced."""
        return spliced(self._text, sorted(edits)).encode(self._source.encoding)

    def _string(self, cell: TableCell, line: int, *, is_long: bool) -> UnitString:
        newline = "\r\n" if "\r\n" in cell.value else "\n"
        marked = MarkedString([text_item(cell.value.replace("\r\n", "\n"))])
        write = partial(self._written, cell, newline)
        string = UnitString(cell.start, cell.end, line, marked, write)
        reason = ""
        if cell.value.lstrip().startswith("="):
            reason = "is a formula"
        elif is_long:  # probably a separator in a cell without quotes
            reason = "is in a row with more cells than the first row"
        elif marked.message.problem:
            reason = f"cannot be translated: {marked.message.problem}"
        elif is_key(cell.value):  # other words are text, because the user chose the column
            reason = "looks like an identifier, not like text"
        return replace(string, problem=string.reason(reason)) if reason else string

    def _written(self, cell: TableCell, newline: str, new: str) -> str | None:
        """The source of a cell; None: the table cannot hold it, or it would be a formula."""
        if (first := new.lstrip()[:1]) in _FORMULA and first != cell.value.lstrip()[:1]:
            return None
        new = new.replace("\n", newline)
        special = {self._separator, "\r", "\n"}
        if not self._has_quotes:
            return new if special.isdisjoint(new) else None
        if '"' not in cell.value or new[:1] == '"':
            special.add('"')
        if cell.is_quoted or not special.isdisjoint(new):
            return '"' + new.replace('"', '""') + '"'
        return new

    # ---- rows --------------------------------------------------------------------------------

    def _rows(self, separator: str = "") -> Iterator[tuple[int, list[TableCell]]]:
        """Yield the line of each row, and its cells; empty rows have none."""
        separator = separator or self._separator
        plain = re.compile(rf"[^\r\n{re.escape(separator)}]*+")
        at, line, cells = self._start, 1 + self._text.count("\n", 0, self._start), list[TableCell]()
        first, size = line, len(self._text)
        while at < size or cells:
            cell = self._cell(plain, separator, at, line)
            cells.append(cell)
            line += cell.value.count("\n")
            at = cell.end
            if self._text[at : at + 1] == separator:
                at += 1
                continue
            end = _END.match(self._text, at)
            assert end is not None
            yield first, cells if len(cells) > 1 or cells[0].end > cells[0].start else []
            at, cells = end.end(), []
            line += 1
            first = line

    def _cell(self, plain: re.Pattern[str], separator: str, at: int, line: int) -> TableCell:
        """The cell that begins at a position."""
        if self._has_quotes and self._text[at : at + 1] == '"':
            found = _QUOTED.match(self._text, at)
            if not found or self._text[found.end() : found.end() + 1] not in (
                "",
                separator,
                "\r",
                "\n",
            ):
                raise DataError(
                    f"line {line}: the quotes of a cell are wrong: write a cell with quotes as "
                    '"a ""quoted"" word"'
                )
            return TableCell(at, found.end(), found[0][1:-1].replace('""', '"'), is_quoted=True)
        found = plain.match(self._text, at)
        assert found is not None
        return TableCell(at, found.end(), found[0], is_quoted=False)

    def _needs_quotes(self) -> bool:
        """Whether quotes enclose cells, so that all rows have as many cells.

        They do if all cells of the first row are in quotes, or if rows differ in length otherwise.
        """

        def is_even(*, quotes: bool) -> bool:
            self._has_quotes = quotes
            return len({len(cells) for _, cells in self._rows() if cells}) < 2

        try:
            header = next(self._rows(), (1, []))[1]
            is_quoted = all(each.value[:1] == each.value[-1:] == '"' for each in header)
            return (is_quoted or not is_even(quotes=False)) and is_even(quotes=True)
        except DataError:  # the quotes are text
            return False

    def _likely_separator(self) -> str:
        """The character that divides the first rows into as many cells, or most of them."""
        best = (False, 0, ",")
        for separator in _SEPARATORS:
            widths = set[int]()
            with suppress(DataError):  # reported when the separator is known
                for _, cells in islice(self._rows(separator), _INSPECTED):
                    widths |= {len(cells)} if cells else set()
            n_cells = max(widths, default=0)
            rank = (len(widths) == 1 and n_cells > 1, n_cells, separator)
            best = rank if rank[:2] > best[:2] else best
        return best[2]


def _index(column: str, header: Sequence[str]) -> int:
    """The place of a column.

    Raises:
        DataError: There is none.
    """
    found = column_index(int(column) if column.isdecimal() else column, header)
    if found is None or not 0 <= found < len(header):
        raise DataError(
            f"line 1 has no column {column!r}, but the columns {_listed(header)}: name one of "
            "these with --columns"
        )
    return found


def _listed(header: Sequence[str]) -> str:
    names = [name if len(name) < 40 else f"{name[:37]}..." for name in header[:_SHOWN]]
    shown = ", ".join(" ".join(name.split()) for name in names)
    return shown + (", ..." if header[_SHOWN:] else "")
