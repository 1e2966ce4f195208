"""Shards in Parquet files: a column of texts, which gets a column of translations beside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from yakusu.data.files.text import InvalidLines
from yakusu.data.shards.blocks import ShardBlock
from yakusu.errors import DataError, RunError

TRANSLATION = "translation"  # the column that is added
_USUAL = "text"  # the column of the texts, if there are several columns of strings


class ParquetShard:
    """A Parquet file, one text per row.

    The texts are in the column `column`; None: in the only column of strings, or else in that named
    "text". The other columns, the metadata, the compression of the columns and the row groups are
    kept. One row group at a time is in memory.

    Args:
        path: The file.
        column: Name of the column.

    Raises:
        DataError: The file is not valid, the column does not exist, or a column "translation"
            exists already.
        OSError: The file cannot be read.
        RunError: pyarrow is not installed.
    """

    def __init__(self, path: Path, column: str | None = None) -> None:
        self._path = path
        with self._open() as file:
            self._column = _column(path, file.schema_arrow, column)

    def blocks(self, size: int, invalid: InvalidLines) -> Iterator[ShardBlock]:
        """The texts in order; each is independent of the others. See `Shard`."""
        start = 0
        with self._open() as file:
            for batch in file.iter_batches(size, columns=[self._column]):
                values = _as_bytes(batch.column(batch.schema.get_field_index(self._column)))
                texts = tuple(self._text(v, n, invalid) for n, v in enumerate(values, start + 1))
                yield ShardBlock(texts, start)
                start += len(texts)

    def _text(self, value: bytes | None, number: int, invalid: InvalidLines) -> str | None:
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError as error:
            if invalid.policy == "strict":
                raise DataError(
                    f"{self._path}, column '{self._column}', row {number}, byte {error.start + 1}: "
                    f"0x{error.object[error.start]:02x} is not UTF-8: correct the value, or add "
                    "--errors skip"
                ) from error
            return invalid.read(error.object, number)

    def write(self, file: BinaryIO, translations: Iterator[str | None]) -> None:
        """Write all columns and that of the translations; see `Shard`."""
        import pyarrow
        import pyarrow.parquet

        with self._open() as source:
            kind = _plain_type(source.schema_arrow.field(self._column).type)
            schema = source.schema_arrow.append(field := pyarrow.field(TRANSLATION, kind))
            codecs = _codecs(source.metadata)
            with pyarrow.parquet.ParquetWriter(file, schema, compression=codecs) as writer:
                for number in range(source.num_row_groups):
                    table = source.read_row_group(number)
                    added = pyarrow.array(list(islice(translations, table.num_rows)), kind)
                    table = table.append_column(field, added)
                    writer.write_table(table, row_group_size=max(1, table.num_rows))

    @contextmanager
    def _open(self) -> Iterator[Any]:
        try:
            import pyarrow.parquet
        except ModuleNotFoundError as error:
            raise RunError(
                f"{self._path} needs {error.name}: install yakusu with its extra 'ray', as in "
                "pip install '.[ray]'"
            ) from error
        try:
            with pyarrow.parquet.ParquetFile(self._path) as file:
                yield file
        except (pyarrow.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno:  # of the operating system
                raise
            reason = str(error).splitlines()[0].rstrip(".")
            raise DataError(
                f"{self._path} is not a valid Parquet file ({reason}): write it again"
            ) from error


def _column(path: Path, schema: Any, wanted: str | None) -> str:
    """The name of the column of the texts."""
    if TRANSLATION in schema.names:
        raise DataError(
            f"{path} has a column '{TRANSLATION}', which would be replaced: rename it in the file"
        )
    strings = [
        field.name
        for field in schema
        if _holds_strings(field.type) and schema.names.count(field.name) == 1
    ]
    if not strings:
        raise DataError(f"{path} has no column of strings: store the texts in one")
    named = ", ".join(f"'{name}'" for name in strings)
    if wanted is not None:
        if wanted in strings:
            return wanted
        raise DataError(f"{path} has no column of strings '{wanted}' (but {named}): choose one")
    if len(strings) != 1 and _USUAL not in strings:
        raise DataError(
            f"{path} must have one column of strings, or one named '{_USUAL}', but has {named}: "
            "add --column NAME"
        )
    return strings[0] if len(strings) == 1 else _USUAL


def _holds_strings(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _holds_strings(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _as_bytes(column: Any) -> list[bytes | None]:
    """The values without decoding them: pyarrow does not check that they are UTF-8."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    values: list[bytes | None] = column.cast(pyarrow.large_binary()).to_pylist()
    return values


def _plain_type(kind: Any) -> Any:
    """The type of the translations: that of the texts, but not a dictionary."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _codecs(metadata: Any) -> dict[str, str] | str:
    """The compression of each column, by its path."""
    if not metadata.num_row_groups:
        return "snappy"  # pyarrow's default
    group = metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    codecs = {column.path_in_schema: _codec(column.compression) for column in columns}
    return {**codecs, TRANSLATION: max(codecs.values(), key=list(codecs.values()).count)}


def _codec(name: str) -> str:
    return "none" if name == "UNCOMPRESSED" else name.lower()
