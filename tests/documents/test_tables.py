"""CSV and TSV: the cells of some columns are texts, and everything else keeps its bytes."""

import csv
import io

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.documents.shared import translated
from yakusu.data.lines.words import has_letter
from yakusu.documents.document import DocumentOptions
from yakusu.documents.tables import csv as csv_format
from yakusu.documents.tables import tsv
from yakusu.errors import DataError


def columns(*names: str) -> DocumentOptions:
    return DocumentOptions(columns=names)


TABLE = """\
id;name;"Text; long"
1;Kept one;"Two ""red"" lamps; one
door"
2;'Kept';  A chair
3;=A1&"x";=SUM(A1)

4;short row
5;x;"btn_ok"
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", "\ufeff", "sep=;\n", '\ufeff"sep=;"\n'])
def test_cells_of_a_named_column_are_texts(newline: str, before: str) -> None:
    data = (before + TABLE).replace("\n", newline).encode()
    document = csv_format.read(data, columns("text; long"))
    assert [*document.texts] == ['Two "red" lamps; one\ndoor', "A chair"]
    assert document.render(document.texts) == data
    first = 1 + before.count("\n")
    assert [*document.skipped] == [
        f"line {first + 4}: '=SUM(A1)' is a formula",
        f"line {first + 7}: 'btn_ok' looks like an identifier, not like text",
    ]
    written = translated(document, lambda text: text.upper() + "; x").decode()
    expected = TABLE.replace('Two ""red"" lamps; one\ndoor', 'TWO ""RED"" LAMPS; ONE\nDOOR; x')
    expected = expected.replace("  A chair", '"  A CHAIR; x"')
    assert written == (before + expected).replace("\n", newline)


def test_numbers_name_columns_without_a_header() -> None:
    document = csv_format.read(b"One lamp,1\nTwo lamps,2\ne-mail,3\n", columns("1"))
    assert translated(document, str.upper) == b"ONE LAMP,1\nTWO LAMPS,2\nE-MAIL,3\n"


def test_quotes_are_text_in_tsv_which_cannot_hold_tabs() -> None:
    data = b'a\tb\r\n"x, y"\t"A "fine" day\r\n'
    document = tsv.read(data, columns("b"))
    assert [*document.texts] == ['"A "fine" day']
    assert document.render(['"Ein "guter" Tag']) == data.replace(b"A ", b"Ein ").replace(
        b"fine", b"guter"
    ).replace(b"day", b"Tag")
    assert document.render(["a\tb"]) == data
    assert document.skipped


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_quotes_enclose_cells_of_a_tsv_file_whose_rows_are_even_only_then(newline: str) -> None:
    data = f'a\tb{newline}1\t"One ""red""{newline}lamp"{newline}2\tTwo lamps{newline}'
    document = tsv.read(data.encode(), columns("b"))
    assert [*document.texts] == ['One "red"\nlamp', "Two lamps"]
    assert document.render(document.texts) == data.encode()
    made = document.render(['Ein "rotes"\nLicht', "Zwei\tLampen"]).decode()
    expected = data.replace('One ""red', 'Ein ""rotes').replace('lamp"', 'Licht"')
    assert made == expected.replace("Two lamps", '"Zwei\tLampen"')


def test_quotes_around_the_names_of_columns_enclose_all_cells_of_a_tsv_file() -> None:
    data = b'"a"\t"b"\n"1"\t"A ""fine"" day"\n'
    document = tsv.read(data, columns("b"))
    assert [*document.texts] == ['A "fine" day']
    assert document.render(["Tag"]) == data.replace(b'A ""fine"" day', b"Tag")
    assert [*tsv.read(b'"a"\n"An "old" lamp"\n', columns('"a"')).texts] == ['"An "old" lamp"']


@pytest.mark.parametrize("rows", ['1\t"One lamp\n2\tTwo\n3\n', '1\t"One\n2\tA "lamp"\n3\tx\n'])
def test_single_quotes_in_tsv_enclose_nothing(rows: str) -> None:
    document = tsv.read(f"a\tb\n{rows}".encode(), columns("b"))
    assert document.texts[0].startswith('"One')
    assert document.render(document.texts) == f"a\tb\n{rows}".encode()


def test_a_translation_does_not_become_a_formula() -> None:
    document = csv_format.read(b"a,b\nSum,x\n", columns("a"))
    assert document.render(["=Summe"]) == b"a,b\nSum,x\n"
    assert document.skipped


def test_formulas_and_rows_with_too_many_cells_stay() -> None:
    data = b'id,text\n1,One, two\n2, "a, b"\n3,@name says 5" here,\n\n'
    document = csv_format.read(data, columns("text", "2", "text"))
    assert [*document.texts] == ['@name says 5" here']
    assert [*document.skipped] == [
        "line 2: 'One' is in a row with more cells than the first row",
        "line 3: '\"a' is in a row with more cells than the first row",
    ]
    assert translated(document, str.upper) == data.replace(b"name says", b"NAME SAYS").replace(
        b"here", b"HERE"
    )
    assert document.render(['=name says 5" here']) == data
    assert [*csv_format.read(b"", columns("text")).texts] == []


@pytest.mark.parametrize(
    ("data", "names", "problem"),
    [
        (
            "id,name\n1,x\n",
            (),
            "line 1 has the columns id, name: name those to translate with --col",
        ),
        ("id,name\n1,x\n", ("text",), "line 1 has no column 'text', but the columns id, name"),
        ("id,name\n1,x\n", ("3",), "line 1 has no column '3'"),
        ("id,name\n1,x\n", ("0",), "line 1 has no column '0'"),
        ('id,name\n1,x\n2,"open\n', ("name",), "line 3: the quotes of a cell are wrong"),
        ('id,name\n1,"x"y\n', ("name",), "line 2: the quotes of a cell are wrong"),
    ],
)
def test_bad_tables_are_refused(data: str, names: tuple[str, ...], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        csv_format.read(data.encode(), columns(*names))


CELLS = st.text(st.sampled_from("ab é\"',;\t\n日"), max_size=8)


@settings(deadline=None)
@given(
    st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6),
    st.sampled_from(",;\t|"),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_changed_translations_change_nothing_else(
    rows: list[tuple[str, str]], separator: str, quoting: int, newline: str
) -> None:
    file = io.StringIO(newline="")
    style = csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=newline)  # type: ignore[arg-type]
    style.writerows([("key", "text"), *rows])
    data = file.getvalue()
    document = csv_format.read(data.encode(), columns("text"))
    assert document.render(document.texts).decode() == data
    written = document.render([f'<< {text} >>,"' for text in document.texts]).decode()
    assume(not document.skipped)
    loaded = [*csv.reader(io.StringIO(written, newline=""), delimiter=separator)]
    assert [key for key, _ in loaded] == ["key", *(key for key, _ in rows)]
    for (_, old), (_, new) in zip(rows, loaded[1:], strict=True):
        body = old.strip()
        assert new == (old.replace(body, f'<< {body} >>,"', 1) if has_letter(old) else old)
