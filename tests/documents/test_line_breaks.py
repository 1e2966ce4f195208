"""Line breaks in documents are marks that end a sentence, as <br> does in plain text."""

from collections.abc import Callable

import pytest

from yakusu.data.lines.private_use import line_break
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.html import html
from yakusu.documents.markdown import markdown
from yakusu.documents.messages import xliff

XLIFF = (
    '<?xml version="1.0"?><xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
    '<file original="a" source-language="en" target-language="de" datatype="html"><body>'
    '<trans-unit id="1"><source>Come in<x id="1" ctype="lb"/>Sit down</source></trans-unit>'
    "</body></file></xliff>"
)


@pytest.mark.parametrize(
    ("read", "source"),
    [
        (html.read, "<p>Come in<br>Sit down</p>"),
        (html.read, "<p>Come in<b><BR/></b>Sit down</p>"),
        (markdown.read, "Come in  \nSit down\n"),
        (markdown.read, "Come in<br />Sit down\n"),
        (xliff.read, XLIFF),
    ],
)
def test_a_line_break_is_a_mark_of_its_own(
    read: Callable[[bytes, DocumentOptions], Document], source: str
) -> None:
    assert list(read(source.encode(), DocumentOptions()).texts) == [
        f"Come in{line_break(0)}Sit down"
    ]


def test_a_picture_is_no_line_break() -> None:
    (text,) = html.read(b"<p>Come <img src=a> in</p>", DocumentOptions()).texts
    assert line_break(0) not in text
