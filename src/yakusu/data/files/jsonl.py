"""JSON lines: an object, or a list, in each line.

{"source": "Save", "target": "Speichern", "key": "menu.save"}
{"translation": {"en": "Save", "de": "Speichern"}}          languages, also without "translation"
["Save", "Speichern"]                                       columns, numbered from 1
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from yakusu.data.files.long_lines import LEFT_OUT
from yakusu.data.files.tables import column_index
from yakusu.data.files.text import Pair, PairFile, one_line, raw_lines
from yakusu.data.files.units import ABOUT, FileUnit, field_places, utc_time
from yakusu.data.languages import language_code, listed_codes
from yakusu.errors import DataError

_NESTED = "translation"
_SHOWN = 40  # characters of a key in a message
_Record = Mapping[str, Any]


def read_jsonl(file: PairFile) -> Iterator[Pair]:
    """Read the pairs of a file; an empty line is an empty pair.

    Raises:
        DataError: A line is not JSON, or lacks a side.
    """
    for number, record in _records(file):
        if record is LEFT_OUT:
            yield LEFT_OUT, LEFT_OUT
        elif not isinstance(record, Mapping):
            yield "", ""
        else:
            src, tgt = (
                _text(record, key, file.path, number) for key in _keys(file, record, number)
            )
            yield one_line(src), one_line(tgt)


def jsonl_units(file: PairFile) -> Iterator[FileUnit]:
    """Read the lines of a file with what other keys say; see `units.COLUMN_NAMES`.

    Raises:
        DataError: As in `read_jsonl`.
    """
    for number, record in _records(file):
        if not isinstance(record, Mapping):
            if record is None:
                yield FileUnit([], [])
            continue
        src, tgt = (_text(record, key, file.path, number) for key in _keys(file, record, number))
        names = [*record]
        about = {
            field: _valid(str(record[names[place]] or "").strip(), file.path, number)
            for field, place in field_places(names).items()
            if field in ABOUT and isinstance(record[names[place]], str | int | None)
        }
        about["time"] = utc_time(about.get("time", ""))
        yield FileUnit([src], [tgt], about, has_marks=True)


def _records(file: PairFile) -> Iterator[tuple[int, _Record | str | None]]:
    """Yield the object of each line, a list as an object with its columns.

    None: the line is empty. A text: it is left out, which another message says.
    """
    lines = raw_lines(file.path, errors=file.errors, long=file.long)
    n_invalid = 0
    for number, line in enumerate(lines, start=1):
        invalid, n_invalid = file.errors.count > n_invalid, file.errors.count
        if line is LEFT_OUT or (invalid and file.errors.policy == "skip"):
            yield number, line
            continue
        yield number, _parsed(line, file.path, number) if line.strip() else None


def _parsed(line: str, path: str, number: int) -> _Record:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = str(error).partition(":")[0]
        raise DataError(f"{path}, line {number} is not JSON ({reason}): correct it") from error
    if isinstance(found, list):
        return {str(i): value for i, value in enumerate(found, start=1)}
    if not isinstance(found, dict):
        raise DataError(
            f"{path}, line {number} is neither an object nor a list: write one with both sides"
        )
    nested = found.get(_NESTED)
    if not isinstance(nested, dict):
        return found
    return {key: value for key, value in found.items() if key != _NESTED} | nested


def _keys(file: PairFile, record: _Record, number: int) -> tuple[str, str]:
    """Return the keys of the source and of the target.

    Raises:
        DataError: There are none.
    """
    found = _sides(tuple(record), file.columns, file.languages)
    if found is None:
        codes = [code for code in map(language_code, record) if code]
        if file.choose and len(codes) > 1:
            wanted = " and ".join(file.languages or ())
            raise DataError(
                f"{file.path}, line {number} has texts in {listed_codes(codes)}, not in {wanted}: "
                f"{file.choose(codes)}"
            )
        keys = listed_codes(one_line(key)[:_SHOWN] for key in record)
        raise DataError(
            f"{file.path}, line {number} has the keys {keys}: it needs 'source' and 'target', or "
            "name both in --columns"
        )
    return found


@lru_cache(maxsize=256)
def _sides(
    keys: tuple[str, ...], columns: tuple[int | str, int | str], languages: tuple[str, str] | None
) -> tuple[str, str] | None:
    numbered = [_place(column, keys) for column in columns]
    fields = field_places(keys)
    stated = [column_index(code, keys) for code in languages or ()]
    for places in (
        numbered if columns != (1, 2) else [],
        [fields.get("source"), fields.get("target")],
        stated,
        numbered,
    ):
        src, tgt = places or (None, None)
        if src is not None and tgt is not None and src != tgt:
            return keys[src], keys[tgt]
    return None


def _place(column: int | str, keys: Sequence[str]) -> int | None:
    """The place of a column of a list, or of a key of an object."""
    if isinstance(column, str):
        return column_index(column, keys)
    return keys.index(str(column)) if str(column) in keys else None


def _text(record: _Record, key: str, path: str, number: int) -> str:
    value = record[key]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"{path}, line {number}: '{key}' is not a text: write it in quotes")
    return _valid(value, path, number)


def _valid(text: str, path: str, number: int) -> str:
    if text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text):
        return text
    raise DataError(
        f"{path}, line {number} has half of a surrogate pair, such as \\ud83d: correct the escape"
    )
