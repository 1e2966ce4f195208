"""A matrix in a Parquet file: a column of lists of H numbers, one list per row; needs pyarrow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from yakusu.compress.blocks import Matrix
from yakusu.errors import DataError
from yakusu.folder import regular_name
from yakusu.vectors.matrixfile import MatrixFile, listed

_BUFFER = 1 << 20  # bytes that are read at a time
_BATCH = 1024  # rows that are decoded at a time
_KINDS = {"halffloat": "float16", "float": "float32", "double": "float64"}  # names of Arrow


class ParquetMatrix(MatrixFile):
    """The only column of lists of floats, or the one with a name.

    Row groups may be larger than the memory: they are decoded in batches, and the next batches
    continue where the last ones ended.

    Args:
        path: The file.
        name: Name of the column; None: the only one.

    Raises:
        DataError: The file is not valid, has no such column or several, or pyarrow is missing.
    """

    def __init__(self, path: Path, name: str | None) -> None:
        with _parquet(path) as file:
            self._column, kind = _list_column(path, file.schema_arrow, name)
            groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            first = next(file.iter_batches(1, columns=[self._column]), None)
            width = 0 if first is None else len(_lists(first, self._column).flatten())
        super().__init__(path, (sum(groups), width), kind)
        self._starts = np.cumsum([0, *groups])
        self._begin, self._held = 0, np.empty((0, width), self.dtype)
        self._following = self._parts(0)

    def _span(self, first: int, last: int) -> Matrix:
        found = np.empty((last - first, self.shape[1]), self.dtype)
        group = int(np.searchsorted(self._starts, first, side="right")) - 1
        if first < self._begin or self._starts[group] > self._begin + len(self._held):
            self._begin, self._held = int(self._starts[group]), self._held[:0]
            self._following = self._parts(group)
        at = first
        while at < last:
            end = self._begin + len(self._held)
            if at < end:
                part = self._held[at - self._begin : last - self._begin]
                found[at - first : at - first + len(part)] = part
                at += len(part)
            else:
                self._begin, self._held = end, next(self._following)
        return found

    def _parts(self, group: int) -> Iterator[Matrix]:
        """Decode rows from the beginning of a row group on."""
        begin = int(self._starts[group])
        with _parquet(self.path) as file:
            groups = range(group, file.num_row_groups)
            for batch in file.iter_batches(_BATCH, row_groups=groups, columns=[self._column]):
                yield self._matrix(_lists(batch, self._column), begin)
                begin += len(batch)

    def _matrix(self, lists: Any, begin: int) -> Matrix:
        from pyarrow import compute

        values = lists.flatten()
        sizes = compute.fill_null(compute.list_value_length(lists), 0).to_numpy()
        for wrong, fault in (
            (lists.is_null().to_numpy(zero_copy_only=False), "is null"),
            (sizes != self.shape[1], f"does not have {self.shape[1]} numbers like the first"),
        ):
            if wrong.any():
                row = begin + int(wrong.argmax())
                raise DataError(
                    f"{self.path}, row {row}: the list of '{self._column}' {fault}: correct or "
                    "remove the row"
                )
        if values.null_count:
            first = int(values.is_null().to_numpy(zero_copy_only=False).argmax())
            row, column = divmod(first, self.shape[1])
            raise DataError(
                f"{self.path}, row {begin + row}, column {column}: the number is null: correct or "
                "remove the row"
            )
        found: Matrix = values.to_numpy(zero_copy_only=False).reshape(len(lists), -1)
        return found


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    try:
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise DataError(f"{path} needs pyarrow: install it with 'pip install pyarrow'") from error
    try:
        # Without a buffer size, whole columns of row groups are read at once.
        with (
            regular_name(path) as name,
            pyarrow.parquet.ParquetFile(name, buffer_size=_BUFFER, pre_buffer=False) as file,
        ):
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise DataError(f"{path} is not a valid Parquet file ({reason}): write it again") from error


def _list_column(path: Path, schema: Any, name: str | None) -> tuple[str, str]:
    """Return the name of the column of lists, and the type of their numbers."""
    from pyarrow import types

    found = {
        field.name: _KINDS[str(field.type.value_type)]
        for field in schema
        if types.is_list(field.type)
        or types.is_large_list(field.type)
        or types.is_fixed_size_list(field.type)
        if str(field.type.value_type) in _KINDS
    }
    if name is None and len(found) == 1:
        return next(iter(found.items()))
    if name is not None and name in found:
        return name, found[name]
    if name is not None:
        raise DataError(
            f"{path} has no column '{name}' of lists of floats (but {listed(found)}): choose one"
        )
    which = f"{len(found)} columns" if found else "no column"
    names = f" ({listed(found)})" if found else ""
    raise DataError(
        f"{path} has {which} of lists of float16, float32 or float64{names}: save a file with one "
        "such column"
    )


def _lists(batch: Any, column: str) -> Any:
    return batch.column(batch.schema.get_field_index(column))
