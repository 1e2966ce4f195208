"""The items of a store: ids and metadata, checked, written, and found by id or by number."""

import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from itertools import count, islice
from typing import Any

import numpy as np

from yakusu.arrays import Longs
from yakusu.errors import DataError
from yakusu.sqlite import DamagedFileError
from yakusu.vectors.store.file import LONGEST_METADATA

ItemMetadata = dict[str, Any]
_LONGEST_ID = 4096  # bytes
_LISTED = 10_000  # values in a statement
_LINE = re.compile(r"[^\0\t\n\r]+")


def check_ids(ids: Sequence[str]) -> None:
    """Raise DataError unless all ids can be stored, and differ."""
    for row, each in enumerate(ids):
        if not _LINE.fullmatch(each):
            raise DataError(
                f"row {row}: the id {each!r:.60} cannot be stored: give strings that are not "
                "empty, without tabs and line breaks"
            )
        if _n_bytes(each, row) > _LONGEST_ID:
            raise DataError(f"row {row}: the id {each[:20]!r}... is too long: at most 4,096 bytes")
    if len({*ids}) < len(ids):
        first: dict[str, int] = {}
        row = next(row for row, each in enumerate(ids) if first.setdefault(each, row) < row)
        raise DataError(
            f"rows {first[ids[row]]} and {row} have the same id {ids[row]!r}: remove one"
        )


def listed_ids(ids: Iterable[str]) -> list[str]:
    """Return ids as a list.

    Raises:
        DataError: They are not strings, or are a single one.
    """
    listed = [*ids]
    with suppress(TypeError):
        "".join(listed)  # the fastest way to ask many whether they are strings
        if not isinstance(ids, str):
            return listed
    raise DataError("ids are not strings: give a list of strings")


def metadata_text(metadata: object, row: int) -> str | None:
    """Return metadata as JSON.

    Raises:
        DataError: They are not an object of JSON, or are too long.
    """
    if metadata is None:
        return None
    try:
        text = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"row {row}: the metadata are not JSON ({error}): correct them") from error
    if not isinstance(metadata, dict) or not all(isinstance(name, str) for name in metadata):
        raise DataError(
            f"row {row}: the metadata are not an object: give a dictionary whose keys are strings"
        )
    if _n_bytes(text, row) > LONGEST_METADATA:
        raise DataError(
            f"row {row}: the metadata are longer than {LONGEST_METADATA:,} bytes: shorten them"
        )
    return text


def _n_bytes(text: str, row: int) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise DataError(
            f"row {row}: {text[:40]!r} cannot be encoded as UTF-8: correct it"
        ) from error


def put_items(
    db: sqlite3.Connection,
    first: int,
    ids: Iterable[str],
    metadata: Iterable[str | None],
    vectors: Iterable[bytes | None],
) -> None:
    """Write items with the numbers from `first` on."""
    rows = zip(count(first), ids, metadata, vectors, strict=False)
    db.executemany("INSERT INTO item VALUES (?, ?, ?, ?)", rows)


def remove_items(db: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Remove the items with these numbers."""
    db.executemany("DELETE FROM item WHERE number = ?", ((number,) for number in numbers))


def renumber_items(db: sqlite3.Connection, first: int, numbers: Longs) -> None:
    """Give the items with these numbers those from `first` on, in order.

    No new number is in use when it is given: all are beyond the old ones, or the old ones are
    ascending and none is less than its new number.
    """
    pairs = ((new, old) for new, old in enumerate(numbers.tolist(), first) if new != old)
    db.executemany("UPDATE item SET number = ? WHERE number = ?", pairs)


def numbers_of(db: sqlite3.Connection, ids: Collection[str]) -> dict[str, int]:
    """Return the numbers of those ids that are stored."""
    found, rest = dict[str, int](), iter(ids)
    while part := [*islice(rest, _LISTED)]:
        marks = ",".join("?" * len(part))
        try:
            found.update(db.execute(f"SELECT id, number FROM item WHERE id IN ({marks})", part))
        except UnicodeEncodeError as error:
            raise DataError(f"an id cannot be encoded as UTF-8 ({error}): correct it") from error
    return found


def items_of(
    db: sqlite3.Connection, numbers: Collection[int]
) -> dict[int, tuple[str, dict[str, Any] | None]]:
    """Return ids and metadata by number.

    Raises:
        DamagedFileError: One is missing, or its metadata are not JSON.
    """
    found = {
        number: (id_, _metadata(text))
        for number, id_, text in _selected(db, "number, id, metadata", numbers)
    }
    if len(found) < len({*numbers}) or not all(isinstance(each, str) for each, _ in found.values()):
        raise DamagedFileError("the ids of some vectors are missing")
    return found


def originals_of(db: sqlite3.Connection, numbers: Longs, kind: "np.dtype[Any]", width: int) -> Any:
    """Return the vectors (n, H) that were kept of rows (n,), as float64.

    Raises:
        DamagedFileError: One is missing, or is not a finite vector (H,).
    """
    found = dict(_selected(db, "number, vector", numbers.tolist()))
    stored = [each for number in numbers.tolist() if isinstance(each := found.get(number), bytes)]
    if [*map(len, stored)] != [kind.itemsize * width] * len(numbers):
        raise DamagedFileError("some original vectors are missing")
    vectors = np.frombuffer(b"".join(stored), kind).reshape(-1, width).astype(np.float64)
    if not np.isfinite(vectors).all():
        raise DamagedFileError("an original vector is not finite")
    return vectors


def _selected(db: sqlite3.Connection, what: str, numbers: Collection[int]) -> list[Any]:
    found, rest = list[Any](), iter(numbers)
    while part := ",".join(map(str, islice(rest, _LISTED))):
        found += db.execute(f"SELECT {what} FROM item WHERE number IN ({part})")
    return found


def _metadata(text: object) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        raise DamagedFileError("metadata are not JSON") from error
    if not isinstance(found, dict):
        raise DamagedFileError("metadata are not an object of JSON")
    return found
