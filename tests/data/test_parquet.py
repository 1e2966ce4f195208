"""Parquet shards keep everything and get a column of translations."""

import io
from pathlib import Path
from typing import Any

import pytest

from yakusu.data.files.text import InvalidLines
from yakusu.data.shards.files import open_shard
from yakusu.errors import DataError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TEXTS = ["Eins.", None, "", "Zwei\ndrei.", "Fünf"]


def saved(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def texts_of(path: Path, column: str | None = None, **options: Any) -> list[str | None]:
    blocks = open_shard(path, column=column).blocks(2, InvalidLines(**options))
    return [text for block in blocks for text in block.texts]


def translated(path: Path, column: str | None = None) -> Any:
    file = io.BytesIO()
    shard = open_shard(path, column=column)
    translations = (text and text.upper() for text in texts_of(path, column))
    shard.write(file, translations)
    return pq.ParquetFile(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int32(), pa.string()),
    ],
    ids=str,
)
def test_columns_row_groups_compression_and_metadata_are_kept(tmp_path: Path, kind: Any) -> None:
    texts = pa.array(TEXTS, pa.string()).cast(kind)
    schema = pa.schema([("id", pa.int64()), ("text", kind)], metadata={"source": "test"})
    table = pa.table([pa.array(range(5)), texts], schema=schema)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2, compression="zstd")
    file = translated(tmp_path / "a.parquet")
    found = file.read()
    assert found.column_names == ["id", "text", "translation"]
    assert found["translation"].to_pylist() == ["EINS.", None, "", "ZWEI\nDREI.", "FÜNF"]
    source = pq.read_table(tmp_path / "a.parquet")
    assert found.drop_columns(["translation"]).equals(source)
    assert found.schema.metadata[b"source"] == b"test"
    groups = [file.metadata.row_group(n) for n in range(file.num_row_groups)]
    assert [group.num_rows for group in groups] == [2, 2, 1]
    assert {group.column(2).compression for group in groups} == {"ZSTD"}


def test_a_file_without_rows_stays_one(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.parquet", {"text": pa.array([], pa.string())})
    assert translated(path).read().to_pydict() == {"text": [], "translation": []}


def test_the_texts_are_in_the_only_column_of_strings(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.parquet", {"n": [1], "src.de": ["Eins."]})
    assert texts_of(path) == ["Eins."]


def test_of_several_columns_of_strings_that_named_text_is_used(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.parquet", {"url": ["x"], "text": ["Eins."]})
    assert texts_of(path) == ["Eins."]
    assert texts_of(path, "url") == ["x"]


@pytest.mark.parametrize(
    ("columns", "column", "message"),
    [
        (
            {"de": ["a"], "en": ["b"]},
            None,
            "must have one column of strings, or one named 'text', but has 'de', 'en': add "
            "--column NAME",
        ),
        ({"n": [1]}, None, "has no column of strings: store the texts in one"),
        ({"de": ["a"]}, "fr", r"has no column of strings 'fr' \(but 'de'\): choose one"),
        ({"n": [1], "de": ["a"]}, "n", r"has no column of strings 'n' \(but 'de'\): choose one"),
        (
            {"text": ["a"], "translation": ["b"]},
            None,
            "has a column 'translation', which would be replaced: rename it",
        ),
    ],
)
def test_an_ambiguous_or_missing_column_is_refused_with_a_list(
    tmp_path: Path, columns: dict[str, Any], column: str | None, message: str
) -> None:
    path = saved(tmp_path / "a.parquet", columns)
    with pytest.raises(DataError, match=message):
        open_shard(path, column=column)


def test_a_value_that_is_not_utf8_is_counted(tmp_path: Path) -> None:
    values = pa.array([b"Eins.", b"\xffzwei"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 2, values.buffers())  # without validation
    path = saved(tmp_path / "a.parquet", {"text": texts})
    assert texts_of(path, policy="replace") == ["Eins.", "\ufffdzwei"]
    assert texts_of(path, policy="skip") == ["Eins.", ""]
    message = r"a\.parquet, column 'text', row 2, byte 1: 0xff is not UTF-8: correct the value, or"
    with pytest.raises(DataError, match=message):
        texts_of(path)


@pytest.mark.parametrize("kept", [4, 100, 300])
def test_a_truncated_file_is_an_error(tmp_path: Path, kept: int) -> None:
    path = saved(tmp_path / "a.parquet", {"text": ["Eins."] * 100})
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"a\.parquet is not a valid Parquet file"):
        texts_of(path)


def test_a_damaged_page_is_an_error(tmp_path: Path) -> None:
    texts = [f"Satz {n} {n * n}." for n in range(1000)]
    path = saved(tmp_path / "a.parquet", {"text": texts}, use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[40:400] = bytes(360)
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"a\.parquet is not a valid Parquet file"):
        texts_of(path)
