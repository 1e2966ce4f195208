"""The model of inline markup that all formats share."""

import re

import pytest

from tests.documents.shared import C0, C1, O0, O1, readable
from yakusu.data.lines.private_use import MAX_MARKS
from yakusu.documents.document import DocumentOptions
from yakusu.documents.html import html
from yakusu.documents.inline import Piece, PieceKind, formatted_inline, inline, matched
from yakusu.documents.markdown import markdown


def pieces(shown: str) -> list[Piece]:
    """Pieces: (a and )a are firm, [a and ]a are not, {a is a start whose end }a is not firm."""
    return [
        Piece(PieceKind.START if mark in "([{" else PieceKind.END, name=name, firm=mark in "({)")
        for mark, name in (each for each in shown.split())
    ]


@pytest.mark.parametrize(
    ("shown", "pairs"),
    [
        ("(a (b )b )a", [0, 1, 1, 0]),
        ("(a (a )a", [None, 1, 1]),  # the last start
        ("(a (b )a )b", [0, None, 0, None]),  # a tag ends those in it
        ("[a [b ]a ]b", [0, None, 0, None]),
        ("[a (b ]a )b", [None, 1, None, 1]),  # a tag must nest
        ("{a {b ]a ]b", [None, 1, None, 1]),
        ("{c {a {b ]a ]b ]c", [0, None, 2, None, 2, 0]),
        ("(a )b", [None, None]),
    ],
)
def test_each_end_belongs_to_a_start(shown: str, pairs: list[int | None]) -> None:
    found = matched(pieces(shown))
    assert [piece.pair for piece in found] == pairs
    assert [piece.kind is PieceKind.EMPTY for piece in found] == [pair is None for pair in pairs]


@pytest.mark.parametrize("read", [html.read, markdown.read])
def test_pairs_that_cross_in_a_translation_are_nested(read: type) -> None:
    document = read(b"a <b>b</b> <i>c</i>", DocumentOptions())
    assert readable(document.texts[0]) == "a <0>b</0> <1>c</1>"
    crossing = f"A {O0}B {O1}C{C0} D{C1}"
    assert document.render([crossing]) == b"A <b>B <i>C D</i></b>"


@pytest.mark.parametrize("make", [inline, formatted_inline])
def test_a_paragraph_with_more_marks_than_there_are_numbers_has_no_text(make: type) -> None:
    mark = [Piece(PieceKind.TEXT, text="a"), Piece(PieceKind.EMPTY, 0, 1, speaks=True)]
    assert make([*mark * (MAX_MARKS - 1), mark[0]]) is not None
    assert make([*mark * MAX_MARKS, mark[0]]) is None


@pytest.mark.parametrize("read", [html.read, markdown.read])
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('Open <i class="x"></i> the door', "Open <0></0> the door"),
        ("Open <i></i>the door", "Open <0></0>the door"),
        ("Open<i></i> the door", "Open<0></0> the door"),
        ("Op<i></i>en the door", "Op<0></0>en the door"),
        ("The door <i></i>, please", "The door <0></0>, please"),
        ("Open<b><u></u></b> the <i></i><s></s> door", "Open<0></0> the <1></1><2></2> door"),
        ("The <b><i></i> door</b> is open", "The <0><1></1> door</0> is open"),
        ("The <i> </i>door", "The <0></0>door"),
        ("The<i> </i>door", "The<0></0> door"),
        ("The <i> </i> door", "The <0></0> door"),
        ("See <a><img></a> and wait", "See <0/> and wait"),
        ("Open <!-- x --> the door", "Open <0></0> the door"),
        ("Open<b><!-- x --></b> the door", "Open<0></0> the door"),
    ],
)
def test_a_pair_that_encloses_nothing_is_a_pair_of_marks_and_the_spaces_around_it_stay(
    read: type, source: str, text: str
) -> None:
    document = read(source.encode(), DocumentOptions())
    assert [readable(own) for own in document.texts] == [text]
    parts = re.split("(<[^>]*>)", source)
    expected = "".join(part if part.startswith("<") else part.upper() for part in parts)
    assert document.render([document.texts[0].upper()]).decode() == expected
