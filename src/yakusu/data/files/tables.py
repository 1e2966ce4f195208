"""TSV and CSV: a pair in two columns of each row.

A TSV cell is any text between tabs. CSV is read by Python's csv module: a cell in quotes may
contain the separator and line breaks.
"""

import csv
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

from yakusu.data.files.long_lines import LEFT_OUT, LongLines
from yakusu.data.files.text import InvalidLines, Pair, PairFile, one_line, raw_lines
from yakusu.data.files.units import (
    ABOUT,
    COLUMN_NAMES,
    FileUnit,
    field_places,
    utc_time,
)
from yakusu.data.languages import closeness, language_code, listed_codes
from yakusu.errors import DataError

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# Those of a file that has none of these: no letters, no marks of sentences.
_RARE = "^~#¦§¬·•:/\\_=+*&%$@<>\x1e\x1f\x01‖¶"
_BARS = "|||"  # of several characters; read as _UNIT
_UNIT = "\x1f"
_STATED = re.compile(r'"?(?i:sep)=(.)"?\s*')  # the first line of a CSV file, for Excel
_INSPECTED = 20  # rows from which the separator and the number of columns are found
_SHOWN = 10  # columns, or numbers of lines, in a message
ESCAPED = "escaped"  # name of the column that says whether cells have escape sequences
_TSV_FIX = "separate columns with tabs, or name a file with commas .csv"
_CSV_FIX = "check the quotes and separators of this row"
_NO_CELLS = ["sep="]  # the cells of a line that states the separator
NumberedCells = tuple[int, list[str]]  # number of their line, cells


@dataclass(frozen=True)
class _Columns:
    """Which columns of a table are used.

    Attributes:
        src: Index of the source.
        tgt: Index of the target.
        header: Their names; none without a header.
    """

    src: int
    tgt: int
    header: Sequence[str]


class UnclearColumnsError(DataError):
    """The first two columns of a table are not the texts, and no others were chosen."""


TableRow = tuple[int, _Columns, list[str]]  # number of its line, columns, cells
_REPORTED: list[str] = []  # in place of the cells of a row that another message counts


def read_tsv(file: PairFile) -> Iterator[Pair]:
    """Read the pairs of a TSV file; an empty row is an empty pair.

    So is a row with more cells than the others, because a tab in a sentence shifts its columns;
    these rows are counted. A row that is too long is a pair of `LEFT_OUT`.

    Raises:
        DataError: A row lacks a column, or the header lacks a name.
    """
    return as_pairs(_tsv(file))


def read_csv(file: PairFile) -> Iterator[Pair]:
    """Read the pairs of a CSV file; an empty row is an empty pair.

    Raises:
        DataError: As in `read_tsv`, the quotes of a row are wrong, a row has more cells than the
            others, or several characters may be the separator.
    """
    return as_pairs(_csv(file))


def tsv_units(file: PairFile) -> Iterator[FileUnit]:
    """Read the rows of a TSV file with what other columns say; see `units.COLUMN_NAMES`.

    The cells of a row whose column "escaped" says "yes" have the escape sequences of JSON strings.

    Raises:
        DataError: As in `read_tsv`, or an escape sequence is malformed.
    """
    return as_units(_tsv(file), file.path)


def csv_units(file: PairFile) -> Iterator[FileUnit]:
    """Read the rows of a CSV file with what other columns say; see `units.COLUMN_NAMES`.

    Raises:
        DataError: As in `read_csv`.
    """
    return as_units(_csv(file), file.path)


def as_pairs(rows: Iterator[TableRow]) -> Iterator[Pair]:
    """Yield the pairs of rows."""
    for _, columns, cells in rows:
        if cells and cells[0] is LEFT_OUT:
            yield LEFT_OUT, LEFT_OUT
        elif not cells:
            yield "", ""  # counted as an empty pair
        else:
            yield one_line(cells[columns.src]), one_line(cells[columns.tgt])


def as_units(rows: Iterator[TableRow], path: str) -> Iterator[FileUnit]:
    """Yield the units of rows; `path` is the file in error messages."""
    places: dict[str, int] | None = None
    for number, columns, cells in rows:
        if places is None:
            found = field_places(columns.header)
            places = {field: found[field] for field in ABOUT if field in found}
            is_escaped = columns.header.index(ESCAPED) if ESCAPED in columns.header else -1
        if cells is _REPORTED or (cells and cells[0] is LEFT_OUT):
            continue
        if not cells:
            yield FileUnit([], [])
            continue
        if 0 <= is_escaped < len(cells) and cells[is_escaped].strip() == "yes":
            cells = _unescaped(cells, path, number)
        about = {field: cells[at].strip() for field, at in places.items() if at < len(cells)}
        about["time"] = utc_time(about.get("time", ""))
        yield FileUnit([cells[columns.src]], [cells[columns.tgt]], about, has_marks=True)


def _unescaped(cells: Sequence[str], path: str, number: int) -> list[str]:
    try:
        return [str(json.loads(f'"{cell.strip()}"')) for cell in cells]
    except ValueError as error:
        raise DataError(
            f"{path}, line {number}: an escape sequence is malformed ({error}): correct it, or "
            f"remove 'yes' from the column '{ESCAPED}'"
        ) from error


def _tsv(file: PairFile) -> Iterator[TableRow]:
    lines = raw_lines(file.path, errors=file.errors, long=file.long)
    rows = (
        (number, [line] if line is LEFT_OUT else line.split("\t"))
        for number, line in enumerate(lines, start=1)
    )
    longer, inspected = list[int](), _inspected(file)
    if len(inspected) == 1 and "\r" in "\t".join(inspected[0]).strip():
        raise DataError(
            f"{file.path} separates its lines by carriage returns, as old Macs do: save it with "
            "the line ends of Windows or Unix"
        )
    yield from table_rows(file, rows, inspected, _TSV_FIX, longer.append)
    if longer:
        numbers = ", ".join(map(str, longer[:_SHOWN])) + (", ..." if len(longer) > _SHOWN else "")
        rows_are, lines_ = ("row was", "line") if len(longer) == 1 else ("rows were", "lines")
        file.remark(
            f"{file.path}: {len(longer):,} {rows_are} left out because of more cells than the "
            f"table has columns ({lines_} {numbers}): remove the tabs inside sentences"
        )


def _csv(file: PairFile) -> Iterator[TableRow]:
    def refuse(number: int) -> None:
        raise DataError(
            f"{file.path}, line {number}: this row has more cells than the table has columns: "
            f"{_CSV_FIX}"
        )

    separator, inspected = _separator(file)
    yield from table_rows(file, _csv_rows(file, separator), inspected, _CSV_FIX, refuse)


def has_header(file: PairFile) -> bool:
    """Whether the first row of a TSV file names its columns; an empty file has no header.

    Raises:
        DataError: The header lacks a name.
    """
    rows = _inspected(file)
    return bool(rows) and find_columns(file, rows[0], rows)[2]


def _inspected(file: PairFile) -> list[list[str]]:
    """Return the first rows of a TSV file."""
    errors = InvalidLines("replace", encoding=file.errors.encoding)
    begin = raw_lines(file.path, errors=errors, long=LongLines())
    return [line.split("\t") for line in islice(begin, _INSPECTED)]


def _csv_rows(file: PairFile, separator: str) -> Iterator[NumberedCells]:
    reader, begin = _csv_reader(file.path, file.errors, separator), 1
    try:
        for cells in reader:
            if cells != _NO_CELLS:
                yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        raise _malformed(file.path, begin, error) from error


def _malformed(path: str, line: int, error: csv.Error) -> DataError:
    if "field limit" in str(error):
        return DataError(
            f"{path}, line {line}: a cell of the row that begins here has more than "
            f"{csv.field_size_limit():,} characters: close its quotes, or split the cell"
        )
    reason = str(error).partition(" - ")[0]  # without a hint for programmers
    return DataError(
        f"{path}, line {line}: the row that begins here is malformed ({reason}): write "
        'a cell with quotes as "a ""quoted"" word"'
    )


def _separator(file: PairFile) -> tuple[str, list[list[str]]]:
    """Return the character that splits each of the first rows into as many cells, and these rows.

    If no character does, return the comma.

    Raises:
        DataError: There are several, and no header shows which one it is.
    """
    begin = [line.strip() for line in _csv_lines(file, _INSPECTED) if line.strip()]
    if begin and (stated := _STATED.fullmatch(begin[0])):
        return stated[1], _first_rows(file, stated[1])[0]
    if begin and all(_BARS in line for line in begin):
        return _BARS, _first_rows(file, _BARS)[0]
    found = _separating(file, _SEPARATORS)
    if not found:
        found = _separating(file, [each for each in _RARE if all(each in line for line in begin)])
    if len(found) > 1:
        named = {each: rows for each, rows in found.items() if _has_header(file, rows)}
        found = named or found
    if len(found) > 1:
        raise DataError(
            f"{file.path}: the cells may be separated by "
            f"{' or '.join(_SEPARATORS.get(each, each) for each in found)}: add a header row, such "
            "as source,target with the separator of the file, or save the file as TSV"
        )
    return next(iter(found.items()), (",", _first_rows(file, ",")[0]))


def _separating(file: PairFile, separators: Iterable[str]) -> dict[str, list[list[str]]]:
    """Return the separators that split each of the first rows into as many cells, and the rows."""
    candidates: dict[bool, dict[str, list[list[str]]]] = {True: {}, False: {}}
    for separator in separators:
        rows, valid = _first_rows(file, separator)
        widths = {len(cells) for cells in rows if cells}
        if len(widths) == 1 and widths != {1}:
            candidates[valid][separator] = rows
    return candidates[True] or candidates[False]


def _csv_lines(file: PairFile, n: int) -> list[str]:
    """Return the first lines of a CSV file, as they can be read."""
    errors = InvalidLines("replace", encoding=file.errors.encoding)
    return [*islice(raw_lines(file.path, errors=errors), n)]


def _csv_reader(path: str, errors: InvalidLines, separator: str) -> "CsvReader":
    """Python's reader of a CSV file; a line that only states the separator is `_NO_CELLS`."""

    def lines() -> Iterator[str]:
        for number, line in enumerate(raw_lines(path, errors=errors), start=1):
            if number == 1 and _STATED.fullmatch(line):
                yield f"{_NO_CELLS[0]}\n"
            elif separator == _BARS:
                yield f"{line.replace(_BARS, _UNIT)}\n"
            else:
                yield f"{line}\n"

    return csv.reader(lines(), delimiter=_UNIT if separator == _BARS else separator, strict=True)


def _first_rows(file: PairFile, separator: str) -> tuple[list[list[str]], bool]:
    """Return the first rows of a CSV file up to a malformed one, and whether there was none."""
    errors = InvalidLines("replace", encoding=file.errors.encoding)
    rows = list[list[str]]()
    try:
        for cells in islice(_csv_reader(file.path, errors, separator), _INSPECTED):
            if cells != _NO_CELLS:
                rows.append(cells)
    except csv.Error:
        return rows, False
    return rows, True


def table_rows(
    file: PairFile,
    rows: Iterator[NumberedCells],
    inspected: Sequence[list[str]],
    fix: str,
    report_longer: Callable[[int], None],
) -> Iterator[TableRow]:
    """Yield the rows below a header; `report_longer` gets the number of each row that is too long.

    The cells are [] for an empty row, and `_REPORTED` or `LEFT_OUT` for one that is left out.
    """
    errors, first = file.errors, next(rows, None)
    if first is None:
        return
    src, tgt, is_header = find_columns(file, first[1], inspected)
    columns = _Columns(src, tgt, [cell.strip() for cell in first[1]] if is_header else ())
    n_columns = max(len(first[1]) if is_header else _usual_length(inspected), src + 1, tgt + 1)
    n_invalid = errors.count if is_header else 0
    for number, cells in rows if is_header else chain([first], rows):
        invalid, n_invalid = errors.count > n_invalid, errors.count
        if cells and cells[0] is LEFT_OUT:
            yield number, columns, cells
        elif invalid and errors.policy == "skip":
            yield number, columns, _REPORTED
        elif not any(map(str.strip, cells)):
            yield number, columns, []
        elif len(cells) <= max(src, tgt):
            raise DataError(
                f"{file.path}, line {number}: column {max(src, tgt) + 1} is missing because the "
                f"line has only {len(cells)}: {fix}"
            )
        elif any(map(str.strip, cells[n_columns:])):
            report_longer(number)
            yield number, columns, _REPORTED
        else:
            yield number, columns, cells


def _usual_length(rows: Sequence[list[str]]) -> int:
    """Return the most frequent number of cells; the smallest one if there are several."""
    counts = Counter(len(cells) for cells in rows if any(map(str.strip, cells)))
    return min(counts, key=lambda length: (-counts[length], length), default=0)


def find_columns(
    file: PairFile, row: Sequence[str], inspected: Sequence[list[str]]
) -> tuple[int, int, bool]:
    """Return the indices of both columns, from 0, and whether the first row is a header."""
    header = [cell.strip() for cell in row]
    if file.languages and file.columns == (1, 2):
        if named := _named(header, file.languages):
            return *named, True
        _refuse_languages(file, header, inspected)
    if file.columns == (1, 2) and len(header) > 2:
        _refuse_other_columns(file, header, inspected)
    src, tgt = (column_index(column, header) for column in file.columns)
    if src is None or tgt is None:
        raise _no_column(file, file.columns[0 if src is None else 1], header)
    if any(isinstance(column, str) for column in file.columns):
        return src, tgt, True
    if max(src, tgt) >= len(header):
        return src, tgt, False
    names = f"{file.path}, line 1: '{header[src]}' and '{header[tgt]}'"
    if _has_header(file, [header, *inspected[1:]]):
        file.remark(f"{names} are taken for names of the columns, not for a pair of sentences")
        return src, tgt, True
    if _languages(header[src], header[tgt]):
        file.remark(
            f"{names} are taken for a pair of sentences: if they are names of the columns, write "
            f"--columns {header[src]},{header[tgt]}"
        )
    return src, tgt, False


def _named(header: Sequence[str], languages: tuple[str, str]) -> tuple[int, int] | None:
    """Return the places of the columns that a header names by languages, or source and target."""
    src, tgt = (column_index(code, header) for code in languages)
    if src is not None and tgt is not None and src != tgt:
        return src, tgt
    fields = field_places(header)
    if {"source", "target"} <= fields.keys():
        src, tgt = fields["source"], fields["target"]
        names = header[src], header[tgt]
        return (src, tgt) if looks_like_header(names, ("", "")) else None
    return None


def _refuse_languages(
    file: PairFile, header: Sequence[str], inspected: Sequence[list[str]]
) -> None:
    """Refuse a table whose header names other languages."""
    codes = [code for code in map(language_code, header) if code]
    if len(codes) > 1 and len(header) > 1 and _has_header(file, [header, *inspected[1:]]):
        known = f"has columns of {listed_codes(codes)}, not of {' and '.join(file.languages or ())}"
        fix = file.choose(codes) if file.choose else "choose columns"
        raise DataError(f"{file.path}, line 1 {known}: {fix}")


def _refuse_other_columns(
    file: PairFile, header: Sequence[str], inspected: Sequence[Sequence[str]]
) -> None:
    """Refuse a table of which the first two columns, read by default, are not the texts."""
    fields = field_places(header)
    named = [fields[each] for each in ("source", "target") if each in fields]
    if len(named) < 2:
        named = [i for i, name in enumerate(header) if language_code(name)]
    if len(named) > 1 and not {0, 1} <= {*named}:
        others = file._replace(columns=(named[0] + 1, named[1] + 1))
        if _has_header(others, [header, *inspected[1:]]):
            names = [one_line(header[place]) for place in named]
            raise UnclearColumnsError(
                f"{file.path}, line 1 names the columns {listed_codes(names)}, which are not the "
                f"first two: choose a source and a target, as in --columns {names[0]},{names[1]}"
            )
    rows = inspected[1:] or inspected
    has_words = [
        any(map(str.isalpha, "".join(cells))) for cells in zip_longest(*rows, fillvalue="")
    ]
    texts = [i for i, has in enumerate(has_words) if has]
    if not all(has_words[:2]) and len(texts) > 1:
        names = [header[i] if i < len(header) and language_code(header[i]) else "" for i in texts]
        choice = names if all(names[:2]) else [str(i + 1) for i in texts]
        raise UnclearColumnsError(
            f"{file.path}: column {1 + has_words.index(False)} has no words, but columns "
            f"{listed_codes(str(i + 1) for i in texts)} have: choose a source and a target, as in "
            f"--columns {choice[0]},{choice[1]}"
        )


def _has_header(file: PairFile, rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns of a file."""
    header = [cell.strip() for cell in rows[0]]
    if any(isinstance(column, str) for column in file.columns):
        found = (column_index(column, header) for column in file.columns)
        return all(place is not None and place < len(header) for place in found)
    places = [int(column) - 1 for column in file.columns]
    if max(places) >= len(header):
        return False
    full = (row for row in rows[1:] if len(row) > max(places) and any(map(str.strip, row)))
    following = next(full, [""] * len(header))
    src, tgt = ((header[place], following[place].strip()) for place in places)
    return looks_like_header((src[0], tgt[0]), (src[1], tgt[1]))


def looks_like_header(names: Pair, following: Pair) -> bool:
    """Whether two cells look like names of columns: two languages, or "source" and "target".

    Codes of languages are also words, such as "no" and "is": two of them are names only if the row
    below them holds much longer text.

    Args:
        names: The two cells of the first row.
        following: The cells below them; empty: two codes are not names.
    """
    if _languages(*names):
        codes = [name for name in names if re.fullmatch("[A-Za-z]{2,3}", name)]
        longer = all(
            _n_places(text) >= 3 * len(name) for name, text in zip(names, following, strict=True)
        )
        is_word = any(not (code.islower() or code.isupper()) for code in codes)
        return not is_word and (longer or len(codes) < 2)
    words = [re.split(r"[\W_]+", name.lower())[0] for name in names]
    return any(
        words[i] in COLUMN_NAMES["source"]
        and words[1 - i] in COLUMN_NAMES["target"]
        and max(map(len, names)) < 40
        for i in (0, 1)
    )


def _languages(src: str, tgt: str) -> bool:
    """Whether two cells are names or codes of different languages."""
    one, other = language_code(src), language_code(tgt)
    return bool(one and other) and closeness(one, other) is None  # not "English" and "Englisch"


def _n_places(text: str) -> int:
    """Return the width of a text; a Chinese character is as wide as two letters."""
    return sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in text)


def column_index(column: int | str, header: Sequence[str]) -> int | None:
    """Return the index of a column: by number, by its name, or by its language; None: not found."""
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
    return ranked[0][1] if ranked else None


def _no_column(file: PairFile, column: int | str, header: Sequence[str]) -> DataError:
    names = [one_line(name if len(name) < 40 else f"{name[:37]}...") for name in header[:_SHOWN]]
    known = ", ".join(names).encode("utf-8", "replace").decode("utf-8")  # without surrogates
    codes = (language_code(str(each)) for each in file.columns)
    sides = zip(("source", "target"), codes, strict=True)
    settings = "".join(f" --set data.{side}_language={code}" for side, code in sides if code)
    return DataError(
        f"{file.path}, line 1 names no column '{column}' (it has: {known}): choose one of these "
        "or, if the file has no header, use numbers, as in --columns 1,2"
        + (f", and add{settings}" if settings else "")
    )
