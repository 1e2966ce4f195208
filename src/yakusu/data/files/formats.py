"""Files that contain both sides of a corpus: TMX, XLIFF, PO, tables and JSON lines.

Any of them may be compressed. `read_file` yields pairs of plain lines, `read_units` all that a file
says.

The suffix of a file determines its format or, if it is unknown, the first bytes do.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from yakusu.data.files.compressed import open_binary, plain_name
from yakusu.data.files.jsonl import jsonl_units, read_jsonl
from yakusu.data.files.office.docx import docx_tables
from yakusu.data.files.office.ods import ods_sheets
from yakusu.data.files.office.sheets import read_sheets, sheet_units
from yakusu.data.files.office.xlsx import xlsx_sheets
from yakusu.data.files.po import po_units, read_po
from yakusu.data.files.tables import csv_units, read_csv, read_tsv, tsv_units
from yakusu.data.files.text import Pair, PairFile
from yakusu.data.files.tmx import read_tmx, tmx_languages, tmx_units
from yakusu.data.files.units import FileUnit
from yakusu.data.files.xliff import HEAD, is_xliff, read_xliff, xliff_languages, xliff_units
from yakusu.errors import DataError

CorpusFormat = Literal["tmx", "xliff", "po", "csv", "tsv", "jsonl", "xlsx", "ods", "docx"]
_READERS: dict[CorpusFormat, Callable[[PairFile], Iterator[Pair]]] = {
    "tmx": read_tmx,
    "xliff": read_xliff,
    "po": read_po,
    "csv": read_csv,
    "tsv": read_tsv,
    "jsonl": read_jsonl,
    "xlsx": partial(read_sheets, xlsx_sheets),
    "ods": partial(read_sheets, ods_sheets),
    "docx": partial(read_sheets, docx_tables),
}
_UNITS: dict[CorpusFormat, Callable[[PairFile], Iterator[FileUnit]]] = {
    "tmx": tmx_units,
    "xliff": xliff_units,
    "po": po_units,
    "csv": csv_units,
    "tsv": tsv_units,
    "jsonl": jsonl_units,
    "xlsx": partial(sheet_units, xlsx_sheets),
    "ods": partial(sheet_units, ods_sheets),
    "docx": partial(sheet_units, docx_tables),
}
_SUFFIXES: dict[str, CorpusFormat] = {
    ".tmx": "tmx",
    ".xlf": "xliff",
    ".xliff": "xliff",
    ".sdlxliff": "xliff",
    ".mqxliff": "xliff",
    ".mxliff": "xliff",
    ".po": "po",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".ods": "ods",
    ".docx": "docx",
}


def format_by_name(path: str | Path) -> CorpusFormat | None:
    """Return the format that a file name states: app.po.gz is PO."""
    return _SUFFIXES.get(Path(plain_name(path)).suffix.lower())


def format_of(path: str | Path) -> CorpusFormat:
    """Return the format of a file, by its name or its first bytes; TSV by default.

    Raises:
        DataError: The file cannot be opened, or is a pipe or a ZIP archive.
    """
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise DataError(f"{path} is a pipe, but a corpus is read several times: save it as a file")
    if named := format_by_name(path):
        return named
    with open_binary(Path(path)) as file:
        head = file.read(HEAD).replace(b"\0", b"")
    if head.startswith(b"PK\3\4"):
        raise DataError(f"{path} is a spreadsheet or another ZIP archive: save a table as .csv")
    if is_xliff(head):
        return "xliff"
    if re.match(rb"(\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<(\?xml|!DOCTYPE tmx|tmx)\b", head):
        return "tmx"
    if re.match(rb"(\xef\xbb\xbf)?\s*\{\s*\"", head):
        return "jsonl"
    return "po" if re.search(rb"^msgid\s+\"", head, re.MULTILINE) else "tsv"


def has_encoding(path: str | Path) -> bool:
    """Whether a file is in a format that does not say how its text is encoded.

    Raises:
        DataError: The file cannot be opened, or is a pipe.
    """
    return format_of(path) in ("csv", "tsv", "jsonl")


def read_file(file: PairFile) -> Iterator[Pair]:
    """Read the pairs of a file in order.

    Raises:
        DataError: The file cannot be read or is malformed.
        RunError: Its format needs a library that is not installed.
    """
    return _READERS[format_of(file.path)](file)


def read_units(file: PairFile) -> Iterator[FileUnit]:
    """Read the units of a file in order, with inline markup and what the file says about them.

    Raises:
        DataError: The file cannot be read or is malformed.
        RunError: Its format needs a library that is not installed.
    """
    return _UNITS[format_of(file.path)](file)


def languages_in(path: str) -> tuple[list[str], str]:
    """Return the languages of a TMX or XLIFF file, and which of them is the source, or "".

    Only the first units are read. The list is empty for the other formats.

    Raises:
        DataError: The file cannot be read or is malformed.
        RunError: Its format needs a library that is not installed.
    """
    match format_of(path):
        case "tmx":
            return tmx_languages(path)
        case "xliff":
            return xliff_languages(path)
    return [], ""
