"""PDF files: their text in reading order, as Markdown or as a Word document."""

import io
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import docx
import pytest

from tests.work import growth
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.isolated.limits import DocumentLimitError, DocumentLimits, LimitSettings
from yakusu.documents.isolated.readers import Readers
from yakusu.documents.pdf.blocks import TableBlock, TextBlock
from yakusu.documents.pdf.columns import flows
from yakusu.documents.pdf.grids import Grid, PageGrids
from yakusu.documents.pdf.markdown import as_markdown
from yakusu.documents.pdf.page import Snippet
from yakusu.documents.pdf.paragraphs import blocks_of, paragraph_text
from yakusu.documents.pdf.pdf import PdfDocument, read
from yakusu.documents.registry import check_suffixes, read_document
from yakusu.errors import DataError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "pdf"  # columns and arabic: by LibreOffice
PAGE = (400.0, 600.0)  # points
Placed = tuple[float, float, float, str]  # from the left, from the top, size, text
FILLED = "a long line of words that fills the column to its end"  # 50 characters of Helvetica


def text(left: float, top: float, shown: str, size: float = 10) -> Placed:
    return left, top, size, shown


def lines(left: float, top: float, *shown: str) -> list[Placed]:
    return [text(left, top + 12 * i, line) for i, line in enumerate(shown)]


def pdf(
    *pages: Sequence[Placed],
    drawn: bytes = b"",
    size: tuple[float, float] = PAGE,
    turned: Sequence[Placed] = (),
) -> bytes:
    """A PDF file with text in Helvetica; `turned` goes up the page, `drawn` are its paths."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>"
        % (len(pages), b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(len(pages)))),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    for page in pages:
        content = b"".join(_shown(*each, b"1 0 0 1", size[1]) for each in page) + drawn
        content += b"".join(_shown(*each, b"0 1 -1 0", size[1]) for each in turned)
        packed = zlib.compress(content)
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d %d]/Resources<</Font<</F 3 0 R>>>>"
            b"/Contents %d 0 R>>" % (*size, len(objects) + 2),
            b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(packed), packed),
        ]
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    n = len(objects) + 1
    end = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (n, len(out))
    return bytes(out) + b"xref\n0 %d\n0000000000 65535 f \n%s%s" % (n, table, end)


def _shown(left: float, top: float, size: float, shown: str, matrix: bytes, height: float) -> bytes:
    escaped = shown.encode("cp1252").replace(b"(", b"\\(").replace(b")", b"\\)")
    return b"BT /F %g Tf %s %g %g Tm (%s) Tj ET\n" % (size, matrix, left, height - top, escaped)


def document(data: bytes, suffix: str = "") -> PdfDocument:
    return read(data, DocumentOptions(suffix=suffix))


def markdown(data: bytes) -> str:
    found = document(data)
    return found.render(found.texts).decode()


# ---- files of LibreOffice --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["columns", "arabic"])
def test_the_text_of_a_file_is_in_reading_order(name: str) -> None:
    expected = (FIXTURES / f"{name}.md").read_text(encoding="utf-8")
    assert markdown((FIXTURES / f"{name}.pdf").read_bytes()) == expected


def test_a_word_document_has_headings_items_and_tables(tmp_path: Path) -> None:
    found = document((FIXTURES / "columns.pdf").read_bytes(), ".docx")
    path = tmp_path / "columns.docx"
    path.write_bytes(found.render([each.upper() for each in found.texts]))
    word = docx.Document(str(path))
    styles = [each.style.name for each in word.paragraphs if each.style]
    assert styles[:2] == ["Heading 1", "Heading 2"] and styles.count("List Paragraph") > 5
    assert len(word.tables) == 1 and len(word.tables[0].columns) in (2, 3)
    shown = [each.text.split("\t")[-1] for each in word.paragraphs if each.text]
    cells = {cell.text for row in word.tables[0].rows for cell in row.cells}
    assert [each.upper() for each in found.texts if each.upper() not in cells] == shown
    assert [*read_document(path).texts]  # yakusu reads it, too


def test_paragraphs_of_a_word_document_have_the_direction_of_their_letters() -> None:
    found = document((FIXTURES / "arabic.pdf").read_bytes(), ".docx")
    word = docx.Document(io.BytesIO(found.render(found.texts)))
    assert all("<w:bidi/>" in each._p.xml for each in word.paragraphs if each.text)
    turned = found.render(["text"] * len(found.texts))
    word = docx.Document(io.BytesIO(turned))
    assert not any("<w:bidi/>" in each._p.xml for each in word.paragraphs)
    assert turned == found.render(["text"] * len(found.texts))


# ---- order -----------------------------------------------------------------------------------


def test_columns_are_read_one_after_the_other() -> None:
    left = lines(20, 100, "one two three four five six nine", "eight nine ten eleven twelve th.")
    right = lines(220, 106, "red green blue yellow black tans", "grey orange brown purple pink go")
    title = text(120, 50, "A title over two columns", 16)
    both = [title, left[0], right[0], left[1], right[1]]  # in the order of the file
    assert document(pdf(both)).texts == [
        "A title over two columns",
        "one two three four five six nine eight nine ten eleven twelve th.",
        "red green blue yellow black tans grey orange brown purple pink go",
    ]


def test_the_order_in_the_file_does_not_matter() -> None:
    page = [text(20, 50, "A title", 18), *lines(20, 100, FILLED, FILLED, "and an end.")]
    random.Random(1).shuffle(page)
    assert document(pdf(page)).texts == ["A title", f"{FILLED} {FILLED} and an end."]


def test_a_paragraph_continues_on_the_next_page_and_its_note_follows_it() -> None:
    first = [*lines(20, 500, FILLED, f"{FILLED},"), text(270, 508, "1", 6)]
    note = [text(20, 560, "1 A note about the words", 7)]
    second = lines(20, 60, "which goes on here.", "")
    body = lines(20, 100, FILLED, FILLED, FILLED)
    assert document(pdf([*first, *note], [*second, *body])).texts == [
        f"{FILLED} {FILLED}, ¹ which goes on here.",
        "¹ A note about the words",
        f"{FILLED} {FILLED} {FILLED}",
    ]


def test_repeated_heads_and_page_numbers_are_left_out_and_named() -> None:
    pages = [
        [
            text(20, 20, "My book", 8),
            *lines(20, 100, FILLED, f"{word} text."),
            text(190, 580, f"- {number} -"),
        ]
        for number, word in enumerate(("first", "second", "third"), 7)
    ]
    found = document(pdf(*pages))
    assert not any("book" in each or "-" in each for each in found.texts)
    assert found.checks[1] == "page headers, footers and numbers are left out: 'My book', '- 7 -'"


def test_a_line_of_the_text_that_occurs_at_the_end_of_two_pages_stays() -> None:
    words = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    ends = ("same end", "x", "y", "same end", "z", "a", "b", "c", "d")
    pages = [lines(20, 540, f"{w} {FILLED}", FILLED, e) for w, e in zip(words, ends, strict=True)]
    assert str(document(pdf(*pages)).texts).count("same end") == 2


def test_pages_that_are_all_equal_are_kept() -> None:
    assert document(pdf([text(20, 50, "Label.")], [text(20, 50, "Label.")])).texts == ["Label."] * 2


def test_spaces_before_turned_text_are_no_text() -> None:
    spaces = [text(50, 300, " ")]
    assert markdown(pdf(spaces, turned=[text(20, 300, "a")])) == "a\n"
    with pytest.raises(DataError, match="it has no text, only scanned pages"):
        document(pdf(spaces))


def test_a_negative_size_turns_text_round() -> None:
    page = [text(200, 300, "First line.", -10), text(200, 288, "Second line.", -10)]
    assert document(pdf(page)).texts == ["First line. Second line."]


def test_turned_text_comes_last() -> None:
    page = lines(60, 100, FILLED, "an end.")
    assert document(pdf(page, turned=[text(30, 300, "Margin")])).texts[-1] == "Margin"


def test_pages_may_be_turned_and_of_different_sizes() -> None:
    page = pdf(lines(20, 50, FILLED, "an end."))
    turned = page.replace(b"/MediaBox[0 0 400 600]", b"/Rotate 90/MediaBox[0 0 400 600]")
    assert document(turned).texts == [f"{FILLED} an end."]


# ---- paragraphs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "words", "expected"),
    [
        ("the inter-", "national day", [], "the international day"),
        ("a well-", "known day", ["well-known"], "a well-known day"),
        ("the inter\u00ad", "national day", [], "the international day"),
        ("die U-", "Bahn kommt", [], "die U-Bahn kommt"),
        ("Vor-", "und Nachteile", [], "Vor- und Nachteile"),
        ("see https://a.b/c-", "d for", [], "see https://a.b/c-d for"),
        ("pages 10-", "20 of", [], "pages 10-20 of"),
        ("古い港の", "灯台は", [], "古い港の灯台は"),
        ("one", "two", [], "one two"),
        ("путешестве", "нников", ["путешественников"], "путешественников"),
        ("a soft\u00adware", "end\u00ad", [], "a software end-"),
    ],
)
def test_hyphens_and_spaces_at_line_ends(
    before: str, after: str, words: list[str], expected: str
) -> None:
    assert paragraph_text([before, after], dict.fromkeys(words, 1)) == expected


def test_lists_headings_and_paragraphs_are_told_apart() -> None:
    page = [
        text(20, 40, "A heading", 14),
        *lines(20, 70, FILLED, FILLED, "a last line."),
        *lines(32, 106, FILLED, "an indented paragraph."),
        *lines(20, 140, "\u2022  " + FILLED, "   its second line", "\u2022  another item"),
        *lines(36, 176, "1.  an item in an item"),
        *lines(20, 210, FILLED, "in the year", "1990. Then"),
    ]
    assert markdown(pdf(page)) == (
        f"# A heading\n\n{FILLED} {FILLED} a last line.\n\n{FILLED} an indented paragraph.\n\n"
        f"- {FILLED} its second line\n- another item\n\n    1. an item in an item\n\n"
        f"{FILLED} in the year\n\n1990\\. Then\n"
    )


# ---- tables ----------------------------------------------------------------------------------


def _grid(xs: Sequence[int], ys: Sequence[int]) -> bytes:
    across = [(xs[0], y, xs[-1], y) for y in ys]
    down = [(x, ys[0], x, ys[-1]) for x in xs]
    return b"".join(
        b"%d %d m %d %d l S\n" % (x, 600 - y, to_x, 600 - to_y)
        for x, y, to_x, to_y in [*across, *down]
    )


def test_a_table_with_lines_has_its_cells() -> None:
    page = [
        text(20, 60, "Before the table."),
        *lines(25, 115, "red", "apples"),
        text(125, 115, "3 | 4"),
        text(25, 165, "pears"),
        text(125, 165, "5"),
        text(20, 300, "After the table."),
    ]
    assert markdown(pdf(page, drawn=_grid((20, 120, 220), (100, 150, 200)))) == (
        "Before the table.\n\n| red apples | 3 \\| 4 |\n| --- | --- |\n| pears | 5 |\n\n"
        "After the table.\n"
    )


def test_columns_of_short_cells_are_a_table_and_the_heading_above_is_none() -> None:
    page = [
        text(20, 50, "Prices"),
        *(text(20, 80 + 14 * i, w) for i, w in enumerate(("apples", "pears", "plums"))),
        *(text(200, 80 + 14 * i, w) for i, w in enumerate(("three", "four", "five"))),
    ]
    assert markdown(pdf(page)) == (
        "Prices\n\n| apples | three |\n| --- | --- |\n| pears | four |\n| plums | five |\n"
    )


def test_a_frame_is_no_table() -> None:
    drawn = _grid((15, 380), (30, 90))
    assert markdown(pdf(lines(20, 50, FILLED, "in a frame."), drawn=drawn)) == (
        f"{FILLED} in a frame.\n"
    )


# ---- Markdown --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shown",
    [
        *("# no heading", "1. no item", "- no item", "a *b* _c_ `d` [e](f) <b> &amp; ~~g~~ $h$"),
        *("> no quotation", "---", "=", "snake_case stays", "C #", "a | b", "\\", "+ 1", ": a"),
    ],
)
def test_text_is_no_markup(shown: str) -> None:
    markdown_it = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    blocks = [TextBlock(shown), TextBlock(shown, heading=2), TextBlock(shown, marker="•")]
    tokens = markdown_it.parse(as_markdown([*blocks, TableBlock(((shown, "b"), ("c", shown)))]))
    inline = [each for each in tokens if each.type == "inline"]
    texts = ["".join(c.content for c in each.children or ()) for each in inline]
    assert texts == [shown, shown, shown, shown, "b", "c", shown]
    assert [t.type for t in tokens if t.type.endswith("_open")][:4] == [
        *("paragraph_open", "heading_open", "bullet_list_open", "list_item_open"),
    ]


# ---- refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdf([]), "it has no text, only scanned pages: add their text with OCR first"),
        ((FIXTURES / "encrypted.pdf").read_bytes(), "it is encrypted: remove its password"),
        (b"%PDF-1.7\n" + bytes(100), "it is damaged: obtain it again"),
        (b"<p>", "is not a .pdf file: check its suffix"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    with pytest.raises(DataError) as error:
        read_document(path)
    assert str(path) in str(error.value) and reason in str(error.value)
    assert "\n" not in str(error.value)


def test_pages_without_text_are_named() -> None:
    found = document(pdf(lines(20, 50, FILLED, "an end."), []))
    assert found.checks == [
        "the layout, pictures and formatting of the PDF file are not kept",
        "pages without text, which may be scanned, are left out: 2",
    ]


@pytest.mark.parametrize("name", ["a.md", "a.docx", "a.DOCX"])
def test_the_output_is_markdown_or_a_word_document(name: str) -> None:
    check_suffixes(Path("in.pdf"), Path(name))


@pytest.mark.parametrize("name", ["a.pdf", "a.txt", "a", "a.html"])
def test_other_outputs_are_refused(name: str) -> None:
    expected = r"a \.pdf file is written as \.md or \.docx: name the output a\.md"
    with pytest.raises(DataError, match=expected):
        check_suffixes(Path("in.pdf"), Path(name))


# ---- limits ------------------------------------------------------------------------------


def test_a_page_with_too_many_characters_is_refused() -> None:
    crowded = pdf([text(20, 50, "a")], lines(20, 50, *["a" * 1000] * 101))
    with pytest.raises(DataError, match=r"^page 2 has more than 100,000 characters: divide it$"):
        document(crowded)


def test_a_file_with_too_many_pages_is_refused() -> None:
    kids = b"/Count 10001/Kids[" + b"4 0 R " * 10_000
    data = pdf([text(20, 50, "a")]).replace(b"/Count 1/Kids[", kids)
    with pytest.raises(DataError, match=r"^it has more than 10,000 pages: split it$"):
        document(data)


def _snippet(left: float, base: float, right: float, shown: str = "text", em: float = 1) -> Snippet:
    return Snippet(left, right, base, em, shown)


def _scattered(n: int) -> list[Snippet]:
    rng = random.Random(n)
    found = [(rng.random() * 400, rng.random() * n) for _ in range(n)]
    return [_snippet(x, y, x + 2) for x, y in found]


def _beside_long_column(n: int) -> list[Snippet]:
    column = [_snippet(0, 1.2 * i, 10) for i in range(n)]
    return [*column, _snippet(20, 0, 30), _snippet(0, 1.2 * n + 9, 30)]


def _ever_narrower(n: int) -> list[Snippet]:
    """Columns that end, each below one that is as long as the rest of the page."""
    found = [_snippet(0, 10 * n, 3 * n)]
    for i in range(n):
        end = 2 * (n - i)
        found += [_snippet(0, 10 * i, 1), _snippet(end + 4, 10 * i, end + 5)]
        found.append(_snippet(0, 10 * i + 5, end + 1))
    return found


LAYOUTS = {
    "scattered text": _scattered,
    "a column beside one line": _beside_long_column,
    "columns in columns": _ever_narrower,
    "many columns": lambda n: [_snippet(3 * i, 2 * j, 3 * i + 1) for i in range(n) for j in (0, 1)],
    "tall text": lambda n: [_snippet(0, i, 9, em=99 * n) for i in range(n)],
    "one row": lambda n: [_snippet(i, 0, i + 0.5) for i in range(n)],
    "cells of many lines": lambda n: [
        *(_snippet(20 * x, 0, 20 * x + 4) for x in range(3)),
        *(_snippet(20 * (1 + i % 2), i + 1, 20 * (1 + i % 2) + 4) for i in range(n)),
        *(_snippet(20 * x, n + 9, 20 * x + 4) for x in range(3)),
    ],
    "one paragraph": lambda n: [_snippet(0, 1.2 * i, 50, "a line of text,") for i in range(n)],
    "items": lambda n: [_snippet(0, 1.2 * i, 50, "- an item of a list") for i in range(n)],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_work_grows_with_the_snippets_of_a_page(name: str) -> None:
    def work(n: int) -> Callable[[], object]:
        page = LAYOUTS[name](n)
        return lambda: blocks_of([flows(page, 1.0)])

    assert growth(work, 150) < 2.6


def test_the_work_grows_with_the_pages_that_have_notes_only() -> None:
    def work(n: int) -> Callable[[], object]:
        body, note = _snippet(0, 0, 90, "a long line of text", 10), _snippet(0, 0, 9, "a note", 5)
        return lambda: blocks_of([[[body] * 9], *[[[note]]] * n])

    assert growth(work, 150) < 2.6


@pytest.mark.parametrize("places", ["in a row", "nested"])
def test_a_place_is_looked_up_among_all_tables_at_once(places: str) -> None:
    def work(n: int) -> Callable[[], object]:
        edges = [
            (3 * i, 3 * i + 2, 0, 2) if places == "in a row" else (i, 2 * n - i, i, 2 * n - i)
            for i in range(n)
        ]
        tables = PageGrids([Grid((x, to_x), (y, to_y)) for x, to_x, y, to_y in edges])
        return lambda: [tables.cell(n, n) for _ in range(n)]

    assert growth(work, 100) < 2.2


def test_of_tables_that_overlap_the_first_one_counts() -> None:
    tables = PageGrids([Grid((2, 3, 4), (2, 4)), Grid((0, 3, 9), (0, 3, 9))])
    assert [tables.cell(x, 3) for x in (-1, 1, 2, 3, 4, 9)] == [
        *(None, (1, 1, 0), (0, 0, 0), (0, 0, 1), (1, 1, 1), None)
    ]
    assert tables.cell(3, 4) == (1, 1, 1) and tables.cell(3, 9) is None
    assert PageGrids([]).cell(0, 0) is None


# ---- in a process with limits ----------------------------------------------------------------


@pytest.fixture(scope="module")
def readers() -> Iterator[Readers]:
    limits = DocumentLimits(memory=100_000_000, cpu_seconds=20)
    with closing(Readers(limits, LimitSettings("100 MB", "20 s", "200 s"))) as started:
        yield started


def _texts(readers: Readers, data: bytes, suffix: str = "") -> tuple[Sequence[str], bytes]:
    with readers.open("a.pdf", io.BytesIO(data), DocumentOptions(suffix=suffix)) as opened:
        found: Document = opened
        return found.texts, found.render(found.texts)


def test_the_suffix_of_the_output_reaches_the_process(readers: Readers) -> None:
    data = pdf(lines(20, 50, FILLED, "an end."))
    assert _texts(readers, data)[1] == f"{FILLED} an end.\n".encode()
    assert _texts(readers, data, ".docx")[1].startswith(b"PK")


def test_a_page_that_needs_too_much_memory_is_refused_with_the_limit(readers: Readers) -> None:
    data = pdf([text(20, 50, "a")], drawn=b" " * 120_000_000)
    with pytest.raises(DataError, match="takes more memory than 100 MB"):
        _texts(readers, data)


def test_forms_that_contain_others_twice_are_refused_with_a_limit() -> None:
    inside = [b"/X%d Do /X%d Do" % (i + 1, i + 1) for i in range(30)]
    objects = b"".join(
        b"%d 0 obj\n<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X%d %d 0 R>>>>"
        b"/Length %d>>stream\n%s\nendstream\nendobj\n" % (9 + i, i + 1, 10 + i, len(each), each)
        for i, each in enumerate(inside)
    )
    resources = b"/Resources<</XObject<</X0 9 0 R>>"
    data = pdf([text(20, 50, "a")], drawn=b"/X0 Do").replace(b"/Resources<<", resources)
    data = data.replace(b"xref\n", objects + b"xref\n", 1).replace(b"startxref", b"")
    limits = DocumentLimits(memory=100_000_000, cpu_seconds=1)
    with (
        closing(Readers(limits, LimitSettings("100 MB", "1 s", "9 s"))) as short,
        pytest.raises(DocumentLimitError, match=r"^a\.pdf: reading or writing it takes more "),
    ):
        _texts(short, data)


def test_a_damaged_file_gives_text_or_a_sentence(readers: Readers) -> None:
    outcomes = set()
    for seed in range(12):
        rng = random.Random(seed)
        data = bytearray((FIXTURES / ("columns.pdf", "arabic.pdf")[seed % 2]).read_bytes())
        start = rng.randrange(len(data))
        if seed % 3 == 0:
            del data[start:]
        elif seed % 3 == 1:
            data[start : start + 300] = rng.randbytes(300)
        else:
            del data[start : start + 1000]
        try:
            _texts(readers, bytes(data))
            outcomes.add("")
        except DataError as error:
            outcomes.add(str(error).split(":")[1])
    assert outcomes <= {"", " it is damaged", " it has no text, only scanned pages"}
    assert len(outcomes) > 1
