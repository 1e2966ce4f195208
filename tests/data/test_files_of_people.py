"""Corpora as people have them: spreadsheets, tables of documents, any separator, any encoding."""

import io
import tracemalloc
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import docx
import pytest
from odf.element import Element
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import CoveredTableCell, Table, TableCell, TableRow
from odf.text import P

from yakusu.data.corpus import Column, Corpus, count_pairs, read_pairs, with_encoding
from yakusu.data.files.office import xlsx
from yakusu.data.files.text import Pair
from yakusu.errors import DataError, RecipeError
from yakusu.recipe import load_recipe

WORDS = [("A red house.", "Ein rotes Haus."), ("Two cats", "Zwei Katzen")]
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def workbook(sheets: Mapping[str, str], strings: str = "", styles: str = "") -> bytes:
    """An .xlsx file, given the rows of each sheet in XML; a sheet named "-..." is hidden."""
    kinds = [("worksheet", f"worksheets/s{n}.xml") for n in range(len(sheets))]
    kinds += [("sharedStrings", "sharedStrings.xml"), ("styles", "styles.xml")]
    listed = "".join(
        f'<sheet name="{name}" r:id="r{n}" state="{"hidden" if name[0] == "-" else "visible"}"/>'
        for n, name in enumerate(sheets)
    )
    members = {
        "_rels/.rels": _relations([("officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATED}"><sheets>{listed}'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(kinds),
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}">{strings}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">{styles}</styleSheet>',
    }
    for n, rows in enumerate(sheets.values()):
        content = f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        members[f"xl/worksheets/s{n}.xml"] = content
    return zipped(members)


def _relations(kinds: Sequence[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="r{n}" Type="{_RELATED}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(kinds)
    )
    return f'<Relationships xmlns="{_PACKAGE}">{listed}</Relationships>'


def zipped(members: Mapping[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def inline(*cells: str) -> str:
    """A row of a sheet with texts."""
    written = (f'<c t="inlineStr"><is><t>{each}</t></is></c>' for each in cells)
    return f"<row>{''.join(written)}</row>"


def pairs(path: Path, content: bytes, src: Column = 1, tgt: Column = 2) -> list[Pair]:
    path.write_bytes(content)
    return [*read_pairs(Corpus(pairs=str(path), src_column=src, tgt_column=tgt))]


def refusal(path: Path, content: bytes, src: Column = 1, tgt: Column = 2) -> str:
    with pytest.raises(DataError) as error:
        pairs(path, content, src, tgt)
    return str(error.value).replace(str(path), path.name)


# ---- spreadsheets --------------------------------------------------------------------------------


def test_a_workbook_is_read_as_excel_shows_it(tmp_path: Path) -> None:
    strings = (
        "<si><t>en</t></si><si><t>de</t></si>"
        "<si><r><t>A red </t></r><r><rPr><b/></rPr><t>house.</t></r></si>"
        '<si><t>東京_xD83D__xDE00__xD83D__x000D_</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></si>'
    )
    styles = (
        '<numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm"/>'
        '<numFmt numFmtId="165" formatCode="0.0&quot; days&quot;"/></numFmts>'
        '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/>'
        "</cellXfs>"
    )
    rows = (
        '<row r="1"><c r="A1" t="inlineStr"><is><t>My words</t></is></c></row>'
        '<row r="3"><c r="B3" t="s"><v>0</v></c><c r="D3" t="s"><v>1</v></c></row>'
        '<row r="4"><c r="B4" t="s"><v>2</v></c><c r="D4" t="str"><f>X1</f><v>Haus</v></c></row>'
        '<row r="5"><c r="B5" t="s"><v>3</v></c><c r="D5"><v>0.10000000000000001</v></c></row>'
        '<row r="6"><c r="B6" s="1"><v>45000</v></c><c r="D6" s="2"><v>45000.5</v></c></row>'
        '<row r="7"><c r="B7" t="e"><v>#N/A</v></c><c r="C7" t="s"/>'
        '<c r="D7" s="3"><v>7</v></c></row>'
        '<row r="8"><c r="B8" t="b"><v>1</v></c><c r="D8" s="1"><v>0.25</v></c></row>'
    )
    content = workbook(
        {"-Hidden": inline("en", "de") + inline("x", "y"), "Words": rows}, strings, styles
    )
    assert pairs(tmp_path / "a.xlsx", content, "en", "de") == [
        ("A red house.", "Haus"),
        ("東京😀\ufffd", "0.1"),
        ("2023-03-15", "2023-03-15 12:00:00"),
        ("", "7"),
        ("TRUE", "06:00:00"),
    ]


def test_the_first_sheet_with_the_columns_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sheets = {
        "Notes": inline("Only notes"),
        "French": inline("en", "fr") + inline("A", "Un"),
        "German": inline("no.", "English", "German")
        + "".join(inline("1", *each) for each in WORDS),
    }
    assert pairs(tmp_path / "a.xlsx", workbook(sheets), "en", "de") == WORDS
    assert "only sheet 'German' is read" in caplog.text
    assert pairs(tmp_path / "b.xlsx", workbook(sheets), 2, 3) == WORDS
    assert refusal(tmp_path / "c.xlsx", workbook(sheets), "en", "ja").startswith(
        "c.xlsx, line 1 names no column 'ja' (it has: en, fr): choose one of these"
    )
    assert refusal(tmp_path / "d.xlsx", workbook({"A": inline("only one")})) == (
        "d.xlsx has no table with the columns 1 and 2: choose other columns with --columns"
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (b"not a zip", "a.xlsx: the file is not a valid zip archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.xlsx is in an old format, or has a password"),
        (zipped({"a.txt": ""}), "a.xlsx: the archive lacks xl/workbook.xml"),
        (
            workbook({"A": '<row><c t="s"><v>7</v></c></row>'}),
            "a.xlsx lacks shared string '7': save it again",
        ),
        (
            zipped({"xl/workbook.xml": '<!DOCTYPE a [<!ENTITY b "c">]><workbook>&b;</workbook>'}),
            "a.xlsx, xl/workbook.xml, line 1: the DOCTYPE has declarations, which could be harmful",
        ),
        (zipped({"xl/workbook.xml": " " * 2**27}), "a.xlsx: the archive grows from "),
    ],
)
def test_a_broken_or_harmful_workbook_is_refused(
    change: bytes, expected: str, tmp_path: Path
) -> None:
    assert refusal(tmp_path / "a.xlsx", change).startswith(expected)


def spreadsheet(rows: Sequence[TableRow]) -> bytes:
    document, table, target = OpenDocumentSpreadsheet(), Table(name="Words"), io.BytesIO()
    for row in rows:
        table.addElement(row)
    document.spreadsheet.addElement(table)
    document.write(target)
    return target.getvalue()


def row(*cells: str | int | Element, n: int = 1) -> TableRow:
    """A row of a spreadsheet; a number is that of empty cells."""
    made = TableRow(numberrowsrepeated=n)
    for each in cells:
        cell = each
        if isinstance(each, int):
            cell = TableCell(numbercolumnsrepeated=each)
        elif isinstance(each, str):
            cell = TableCell(valuetype="string")
            cell.addElement(P(text=each))
        made.addElement(cell)
    return made


def test_repeated_cells_and_rows_of_a_spreadsheet_take_no_memory(tmp_path: Path) -> None:
    date = TableCell(valuetype="date", datevalue="2026-11-28")
    content = spreadsheet(
        [
            row("title", 16_383),
            row(16_384, n=1000),
            row("en", CoveredTableCell(), "de", 16_381),
            *(row(src, 1, tgt, 1_000_000) for src, tgt in WORDS),
            row("again", 1, "wieder", n=2),
            row("day", 1, date),
            row(1_000_000, n=1_000_000),
        ]
    )
    path = tmp_path / "a.ods"
    path.write_bytes(content)
    tracemalloc.start()
    found = [*read_pairs(Corpus(pairs=str(path), src_column="en", tgt_column="de"))]
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()
    assert found == [*WORDS, ("again", "wieder"), ("again", "wieder"), ("day", "2026-11-28")]
    assert refusal(path, spreadsheet([row("a", "b", n=2_000_000)])) == (
        "a.ods, sheet 'Words', row 1 is repeated 2,000,000 times, more than a sheet can hold: "
        "delete it"
    )


def test_the_tables_of_a_document_are_one_corpus(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("Words")
    for rows in ([("en", "de"), WORDS[0]], [("a", "b", "c")], [("en", "de"), WORDS[1], ("", "")]):
        table = document.add_table(rows=0, cols=len(rows[0]))
        for cells in rows:
            for cell, text in zip(table.add_row().cells, cells, strict=True):
                cell.text = text.replace(" ", "\n", 1)
    target = io.BytesIO()
    document.save(target)
    assert pairs(tmp_path / "a.docx", target.getvalue()) == WORDS
    assert pairs(tmp_path / "a.docx", target.getvalue(), "de", "en") == [
        (tgt, src) for src, tgt in WORDS
    ]


def test_merged_cells_and_empty_strings_take_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = '<tc><tcPr><gridSpan val="9999"/></tcPr></tc>' * 300
    content = f"<document><body><tbl><tr>{merged}</tr></tbl></body></document>"
    tracemalloc.start()
    refusal(tmp_path / "a.docx", zipped({"word/document.xml": content}))
    assert tracemalloc.get_traced_memory()[1] < 8e6
    tracemalloc.stop()
    monkeypatch.setattr(xlsx, "MAX_PART", 1000)
    told = refusal(tmp_path / "a.xlsx", workbook({"A": inline("a", "b")}, "<si/>" * 200))
    assert told == "a.xlsx has more than 1,000 bytes of text: split it"


@pytest.mark.parametrize("separator", ["^", "~", ":", "\x1f", "¦", "|||", "@"])
def test_any_separator_of_a_csv_is_found(separator: str, tmp_path: Path) -> None:
    content = "".join(f"{src}{separator}{tgt}\n" for src, tgt in WORDS)
    assert pairs(tmp_path / "a.csv", content.encode()) == WORDS


def test_a_csv_may_state_its_separator(tmp_path: Path) -> None:
    content = "SEP=;\nen;de\n" + "".join(f"{src};{tgt}\n" for src, tgt in WORDS)
    assert pairs(tmp_path / "a.csv", content.encode()) == WORDS


def test_a_tsv_with_the_line_ends_of_old_macs_is_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path / "a.tsv", b"Hello\tHallo\rYes\tJa\r")
    assert said.startswith("a.tsv separates its lines by carriage returns, as old Macs do: save it")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("id,en,de\n1,A,B\n2,C,D\n", "column 1 has no words, but columns 2, 3 have: choose"),
        ("id,en,de\n1,A,B\n", "a target, as in --columns en,de"),
        ("1,A,B\n", "a target, as in --columns 2,3"),
        ("A,-,B\nC,-,D\n", "column 2 has no words, but columns 1, 3 have: choose a source and"),
        ("key,source,target\nk,A,B\n", "line 1 names the columns source, target, which are not"),
        ("note,English,German\nn,A,B\n", "a target, as in --columns English,German"),
    ],
)
def test_columns_that_are_not_the_texts_are_refused(
    content: str, expected: str, tmp_path: Path
) -> None:
    rows = "".join(inline(*line.split(",")) for line in content.splitlines())
    for name, data in (("a.csv", content.encode()), ("a.xlsx", workbook({"W": rows}))):
        assert expected in refusal(tmp_path / name, data)


# ---- encodings -----------------------------------------------------------------------------------

TEXTS = {
    "cp949": "이 집은 빨갛고 아주 큽니다.\n고양이 두 마리가 마당에서 놉니다.\n",
    "cp932": "この家は赤くてとても大きいです。\n庭で猫が二匹遊んでいます。\n",
    "euc_jp": "この家は赤くてとても大きいです。\n庭で猫が二匹遊んでいます。\n",
    "gb18030": "这座房子是红色的，非常大。\n院子里有两只猫在玩。\n",
    "cp1252": "Les élèves étudient à l’école.\nIl a déjà mangé près de la fenêtre.\n",
    "mac_roman": "Les élèves étudient à l’école.\nIl a déjà mangé près de la fenêtre.\n",
    "cp1250": "Żółta łódź płynie po jeziorze.\nMąż śpi, a książka leży na półce.\n",
    "cp1251": "Этот дом красный и очень большой.\nДве кошки играют во дворе.\nОн читает книгу.\n",
    "utf-16": "Dom\nКошка\n",
    "utf-16-be": "この家\n庭で猫\n",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_an_encoding_is_detected_stated_and_written_to_the_recipe(
    encoding: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = TEXTS[encoding]
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    lines = text.splitlines()
    (tmp_path / "b.txt").write_text("One – 1\n" * len(lines))
    corpus = Corpus(src=str(tmp_path / "b.txt"), tgt=str(tmp_path / "a.txt"))
    assert [*read_pairs(corpus)] == [("One – 1", line) for line in lines]
    assert count_pairs(corpus) == len(lines)
    assert with_encoding(corpus).encoding == f"utf-8,{encoding}"
    assert caplog.text.count(f"a.txt is not UTF-8 and is read as {encoding}, as in '") == 1
    missing = Corpus(pairs="none.txt")
    assert with_encoding(missing) == missing


def test_a_stated_encoding_is_that_of_the_files_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.ko").write_bytes("집\n".encode("cp949"))
    (tmp_path / "b.en").write_text("a “house”\n")
    both = {"src": tmp_path / "a.ko", "tgt": tmp_path / "b.en"}
    for encoding in ("cp949", "euc-kr,utf-8", "UHC"):
        corpus = load_recipe("tiny", **both, encoding=encoding).data.train
        assert [*read_pairs(corpus)] == [("집", "a “house”")]
    with pytest.raises(RecipeError, match="'klingon' is not a known text encoding: use one that"):
        load_recipe("tiny", **both, encoding="klingon")
    wrong = load_recipe("tiny", **both, encoding="ascii").data.train
    with pytest.raises(DataError, match="line 1 is not ascii: correct the line, specify another"):
        [*read_pairs(wrong)]
    skipped = load_recipe("tiny", **both, encoding="ascii", errors="skip").data.train
    assert [*read_pairs(skipped)] == [("", "a “house”")]
    (tmp_path / "a.ko").write_bytes("a\ud800b\nc\n".encode("utf-16", "surrogatepass"))
    (tmp_path / "b.en").write_text("a\nb\n")
    replaced = load_recipe("tiny", **both, encoding="utf-16", errors="replace").data.train
    assert [*read_pairs(replaced)] == [("a\ufffdb", "a"), ("c", "b")]
    (tmp_path / "a.ko").write_bytes("집\n".encode("cp949"))
    with pytest.raises(DataError, match=r"a\.ko has no byte order mark: state another encoding"):
        [*read_pairs(load_recipe("tiny", **both, encoding="utf-16").data.train)]


@pytest.mark.parametrize("right", [name for name in TEXTS if not name.startswith("utf")])
def test_a_wrong_encoding_is_read_as_specified_with_a_warning(
    right: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(TEXTS[right].encode(right))
    for name in ("iso8859_1", right):
        assert [*Corpus(src=str(path), tgt=str(path), encoding=name).encodings] == [name] * 2
    said = f"a.txt is read as iso8859_1, as specified, but is probably {right}, as in '"
    differs = right != "cp1252"  # which has the same letters
    assert [said in each.message for each in caplog.records] == [True] * differs


def test_the_encoding_of_a_text_without_line_breaks_is_detected(tmp_path: Path) -> None:
    text = "x" + TEXTS["cp949"].replace("\n", "") * 2000
    (tmp_path / "a.ko").write_bytes(text.encode("cp949"))
    assert Corpus(src=str(tmp_path / "a.ko"), tgt=str(tmp_path / "a.ko")).encodings[0] == "cp949"


def test_an_unclear_encoding_is_refused_with_the_candidates(tmp_path: Path) -> None:
    content = "".join(f"{word} exès {word}\n" for word in "abcde").encode("latin-1")
    said = refusal(tmp_path / "a.tsv", content)
    assert said.startswith("a.tsv is not UTF-8, and its encoding is unclear (")
    assert "cp1252 'a exès a'" in said and "cp1250 'a exčs a'" in said
    assert "specify the one with the right letters, as in --encoding " in said


@pytest.mark.parametrize("encoding", ["cp1252", "cp949", "euc_jp", "cp1251"])
def test_a_file_of_two_encodings_is_refused_with_the_line(encoding: str, tmp_path: Path) -> None:
    text = TEXTS[encoding].replace("\n", "\tx\n") * 10
    said = refusal(tmp_path / "a.tsv", text.encode() + text.encode(encoding))
    assert said.startswith(f"a.tsv, line {len(text.splitlines()) + 1}, byte ")


def test_a_damaged_file_is_refused_with_the_line(tmp_path: Path) -> None:
    content = (TEXTS["cp949"].replace("\n", "\tx\n") * 10).encode("cp949")
    for damaged in (content[:-3] + b"\xb0", content.replace(b"\tx", b"\t\xff", 1)):
        assert "is not cp949: correct the line" in refusal(tmp_path / "a.tsv", damaged)


@pytest.mark.parametrize("encoding", ["cp949", "cp932", "euc_jp", "gb18030"])
def test_a_truncated_file_is_refused_not_read_in_another_encoding(
    encoding: str, tmp_path: Path
) -> None:
    content = "".join(f"House\t{line}\n" for line in TEXTS[encoding].splitlines()).encode(encoding)
    said = refusal(tmp_path / "a.tsv", content + b"House\t" + content[6:7])
    assert said.startswith(f"a.tsv, line 3 is not {encoding}: correct the line, specify another")


def test_short_greek_is_not_read_as_cyrillic(tmp_path: Path) -> None:
    lines = "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι.", "Το αρχείο δεν βρέθηκε."
    content = "".join(f"{line}\tHouse\n" for line in lines).encode("cp1253")
    assert "cp1253 'Όλοι οι άνθρωποι" in refusal(tmp_path / "a.tsv", content)


def test_a_file_that_is_utf8_except_for_a_few_bytes_is_refused_with_the_line(
    tmp_path: Path,
) -> None:
    content = "\n".join(["Schöne Grüße\tÜbung"] * 20).encode() + b"\nsch\xf6n\tGr\xfc\xdfe\n"
    said = refusal(tmp_path / "a.tsv", content)
    assert said.startswith("a.tsv, line 21, byte 4: 0xf6 is not UTF-8: save the file as UTF-8, ")


# ---- several corpora -----------------------------------------------------------------------------


def test_several_corpora_add_up_in_a_recipe(tmp_path: Path) -> None:
    for name in ("a.en", "a.de", "b.en", "b.de"):
        (tmp_path / name).write_text(f"{name} 1\n{name} 2\n")
    (tmp_path / "c.tsv").write_text("en\tde\nc.en\tc.de\n")
    src, tgt = ([tmp_path / f"{name}.{code}" for name in "ab"] for code in ("en", "de"))
    recipe = load_recipe("tiny", src=src, tgt=tgt, pairs=tmp_path / "c.tsv", columns="en,de")
    found = [src for src, _ in read_pairs(recipe.data.train)]
    assert found == ["a.en 1", "a.en 2", "b.en 1", "b.en 2", "c.en"]
    assert count_pairs(recipe.data.train) == 5
    assert recipe.languages == ("en", "de")
    with pytest.raises(RecipeError, match="there are 2 --src and 1 --tgt files: give one"):
        load_recipe("tiny", src=src, tgt=tgt[0])
    with pytest.raises(RecipeError, match="extra have one weight: remove theirs, or use data"):
        load_recipe("tiny", ["data.extra=[{pairs = 'a.tsv', weight = 2.0}]"])


@pytest.mark.parametrize(
    ("train", "expected"),
    [
        ("[{src = 'a.en', tgt = 'a.de'}, {src = 'a.en', tgt = 'a.fr'}]", "these have de and fr"),
        ("[{pairs = 'a.tsv', weight = 0.5}]", "all weights of the list are below 1"),
        ("[{}]", "each entry of a list of corpora needs src and tgt, or pairs"),
        ("{pairs = 'a.tsv', encoding = 'x'}", "'x' is not a known text encoding"),
    ],
)
def test_a_wrong_list_of_corpora_is_refused(train: str, expected: str) -> None:
    with pytest.raises(RecipeError, match=expected):
        load_recipe("tiny", [f"data.train={train}"])


def test_a_list_of_corpora_is_saved_as_a_list(tmp_path: Path) -> None:
    train = "[{pairs = 'a.tsv', weight = 2.0}, {pairs = 'b.xlsx', src_column = 'en'}]"
    recipe = load_recipe("tiny", [f"data.train={train}"])
    assert recipe.data.train.weights == (2.0, 1.0)
    assert type(recipe).model_validate(recipe.model_dump()) == recipe
    assert recipe.data.train.model_dump()[0]["weight"] == 2.0
