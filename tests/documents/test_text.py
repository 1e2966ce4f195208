"""Plain text: one text, and nothing else changes."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.documents.document import DocumentOptions
from yakusu.documents.text import read
from yakusu.errors import DataError

LINES = st.text(st.sampled_from("ab 1\t-\r\n\v\f\x1c\x85\u2028\ufeffé"))


def test_the_file_is_one_text_exactly_as_it_is() -> None:
    document = read(b"  - One.\r\n\r\n\ttwo \n```\nlast", DocumentOptions())
    assert document.texts == ["  - One.\r\n\r\n\ttwo \n```\nlast"]


def test_line_ends_and_a_missing_final_line_end_stay() -> None:
    document = read(b"one\r\ntwo\rthree\n\nfour", DocumentOptions())
    rendered = document.render([text.upper() for text in document.texts])
    assert rendered == b"ONE\r\nTWO\rTHREE\n\nFOUR"


def test_an_empty_file_stays_empty() -> None:
    document = read(b"", DocumentOptions())
    assert document.texts == []
    assert document.render([]) == b""


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_stays(encoding: str) -> None:
    document = read("größer\nß".encode(encoding), DocumentOptions())
    assert document.texts == ["größer\nß"]
    assert document.render(["a\nb"]) == "a\nb".encode(encoding)


def test_an_invalid_byte_is_an_error_with_its_line() -> None:
    with pytest.raises(DataError, match="line 3: byte 0xfc is not valid in utf-8"):
        read(b"a\nb\n\xfc", DocumentOptions())


@settings(deadline=None)
@given(LINES)
def test_a_reversible_translation_gives_the_file_back(text: str) -> None:
    document = read(text.encode(), DocumentOptions())
    assert document.render(document.texts) == text.encode()
    marked = read(document.render([f"{line}~" for line in document.texts]), DocumentOptions())
    assert marked.render([line.removesuffix("~") for line in marked.texts]) == text.encode()


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_a_file_or_an_error(data: bytes) -> None:
    with suppress(DataError):
        document = read(data, DocumentOptions())
        assert document.render(document.texts) == data
