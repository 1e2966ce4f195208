"""TSV and CSV: a pair in two columns of each row.

A TSV cell is any text between tabs. CSV is read by Python's csv module: a cell in quotes may
contain the separator and line breaks.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from yakusu.data.languages import closeness, language_code
from yakusu.data.text import InvalidLines, Pair, PairFile, one_line, raw_lines
from yakusu.errors import DataError

_SEPARATORS = ",;\t|"
_INSPECTED_LINES = 20  # from which the separator is found
_SHOWN = 10  # columns in a message
_SOURCE = ("source", "src", "original", "sentence", "text")
_TARGET = ("target", "tgt", "trg", "translation", "translated")
Row = tuple[int, list[str]]  # number of its line, cells


def read_tsv(file: PairFile) -> Iterator[Pair]:
    """Read the pairs of a TSV file; an empty row is an empty pair.

    Raises:
        DataError: A row lacks a column, or the header lacks a name.
    """
    lines = raw_lines(file.path, errors=file.errors)
    rows = ((number, line.split("\t")) for number, line in enumerate(lines, start=1))
    return _pairs(file, rows, "separate columns with tabs, or name a file with commas .csv")


def read_csv(file: PairFile) -> Iterator[Pair]:
    """Read the pairs of a CSV file; an empty row is an empty pair.

    Raises:
        DataError: As in `read_tsv`, or the quotes of a row are wrong.
    """
    return _pairs(file, _csv_rows(file), "check the quotes and separators of this row")


def _csv_rows(file: PairFile) -> Iterator[Row]:
    lines = (f"{line}\n" for line in raw_lines(file.path, errors=file.errors))
    reader = csv.reader(lines, delimiter=_separator(file.path), strict=True)
    begin = 1
    try:
        for cells in reader:
            yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        reason = str(error).partition(" - ")[0]  # without a hint for programmers
        raise DataError(
            f"{file.path}, line {begin}: the row that begins here is malformed ({reason}): write "
            'a cell with quotes as "a ""quoted"" word"'
        ) from error


def _separator(path: str) -> str:
    """Return the character that splits each of the first rows into as many cells; or a comma."""
    lines = islice(raw_lines(path, errors=InvalidLines("replace")), _INSPECTED_LINES)
    inspected = [f"{line}\n" for line in lines]
    for separator in _SEPARATORS:
        try:
            rows = list(csv.reader(inspected, delimiter=separator))
        except csv.Error:
            continue
        if len(inspected) == _INSPECTED_LINES:
            rows.pop()  # it may go on
        widths = {len(cells) for cells in rows if cells}
        if len(widths) == 1 and widths != {1}:
            return separator
    return ","


def _pairs(file: PairFile, rows: Iterator[Row], fix: str) -> Iterator[Pair]:
    errors, first = file.errors, next(rows, None)
    if first is None:
        return
    src, tgt, is_header = _find_columns(file, first[1])
    n_invalid = errors.count if is_header else 0
    for number, cells in rows if is_header else chain([first], rows):
        invalid, n_invalid = errors.count > n_invalid, errors.count
        if (invalid and errors.policy == "skip") or not any(map(str.strip, cells)):
            yield "", ""  # counted as an empty pair
            continue
        if len(cells) <= max(src, tgt):
            raise DataError(
                f"{file.path}, line {number}: column {max(src, tgt) + 1} is missing because the "
                f"line has only {len(cells)}: {fix}"
            )
        yield one_line(cells[src]), one_line(cells[tgt])


def _find_columns(file: PairFile, row: Sequence[str]) -> tuple[int, int, bool]:
    """Return the indices of both columns, from 0, and whether the first row is a header."""
    header = [cell.strip() for cell in row]
    src, tgt = (_index(column, header, file.path) for column in file.columns)
    if any(isinstance(column, str) for column in file.columns):
        return src, tgt, True
    if max(src, tgt) >= len(header) or not looks_like_header(header[src], header[tgt]):
        return src, tgt, False
    file.remark(
        f"{file.path}, line 1: '{header[src]}' and '{header[tgt]}' are taken for names of the "
        "columns, not for a pair of sentences"
    )
    return src, tgt, True


def looks_like_header(src: str, tgt: str) -> bool:
    """Whether two cells look like names of columns: two languages, or "source" and "target"."""
    one, other = language_code(src), language_code(tgt)
    if one and other:
        return closeness(one, other) is None  # "English" and "Englisch" are a pair
    words = [re.split(r"[\W_]+", cell.lower())[0] for cell in (src, tgt)]
    return any(
        words[i] in _SOURCE and words[1 - i] in _TARGET and max(len(src), len(tgt)) < 40
        for i in (0, 1)
    )


def _index(column: int | str, header: Sequence[str], path: str) -> int:
    """Return the index of a column: by number, by its name, or by its language."""
    if isinstance(column, int):
        return column - 1
    for name, names in (
        (column, header),
        (column.lower(), [name.lower() for name in header]),
    ):
        if name in names:
            return names.index(name)
    ranked = sorted(
        (rank, i)
        for i, name in enumerate(header)
        if (code := language_code(name)) and (rank := closeness(column, code)) is not None
    )
    if ranked:
        return ranked[0][1]
    names = [one_line(name if len(name) < 40 else f"{name[:37]}...") for name in header[:_SHOWN]]
    known = ", ".join(names).encode("utf-8", "replace").decode("utf-8")  # without surrogates
    raise DataError(f"{path}, line 1: there is no column '{column}': choose one of {known}")
