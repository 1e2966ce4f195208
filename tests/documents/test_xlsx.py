"""Workbooks keep everything but the texts of their cells, and stay consistent."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.packages import package, shared_strings, sheet_xml, table_xml, workbook
from tests.documents.shared import (
    C0,
    O0,
    described,
    members,
    readable_texts,
    translated,
    with_members,
    within,
)
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.xlsx import read
from yakusu.errors import DataError

STRINGS, SHEET, TABLE = "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "xl/tables/table1.xml"
WITH_TABLE = {SHEET: {"rId1": "table ../tables/table1.xml"}}


def si(text: str) -> str:
    return f"<si><t>{text}</t></si>"


def rich(*runs: str) -> str:
    return f"<si>{''.join(runs)}</si>"


def r(text: str, properties: str = "") -> str:
    properties = properties and f"<rPr>{properties}</rPr>"
    return f'<r>{properties}<t xml:space="preserve">{text}</t></r>'


def opened(data: bytes) -> Document:
    return read(data, DocumentOptions())


def strings_after(translate: Callable[[str], str], strings: str) -> str:
    data = translated(opened(workbook(strings)), translate)
    return within(members(data)[STRINGS], shared_strings("|"))


def message(data: bytes) -> str:
    with pytest.raises(DataError) as error:
        opened(data)
    return str(error.value)


def formula(text: str) -> str:
    return f'<row r="1"><c r="A1"><f>{text}</f><v>1</v></c></row>'


def kept_by(text: str, *strings: str) -> list[str]:
    """The texts that are translated next to a formula."""
    return [*opened(workbook("".join(map(si, strings)), formula(text))).texts]


def test_shared_strings_are_translated_and_numbers_stay() -> None:
    strings = si("One fish") + si("42") + '<si><t xml:space="preserve"> two </t></si>' + "<si/>"
    assert opened(workbook(strings)).texts == ["One fish", "two"]
    assert strings_after(lambda text: f"<{text.upper()}> & co", strings) == (
        si("&lt;ONE FISH&gt; &amp; co")
        + si("42")
        + '<si><t xml:space="preserve"> &lt;TWO&gt; &amp; co </t></si><si/>'
    )


def test_runs_of_a_string_are_one_text_with_marks() -> None:
    strings = rich(r("Press "), r("Start", "<b/>"), r(" now")) + si("plain")
    assert readable_texts(opened(workbook(strings))) == ["Press <0>Start</0> now", "plain"]
    texts = {"plain": "einfach"}
    assert strings_after(lambda text: texts.get(text, f"{O0}Start{C0} jetzt"), strings) == (
        "<si><r><rPr><b/></rPr><t>Start</t></r>" + r(" jetzt") + "</si>" + si("einfach")
    )


def test_phonetic_guides_leave_a_translated_string() -> None:
    strings = (
        '<si><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh><phoneticPr fontId="1"/></si>'
    )
    assert opened(workbook(strings)).texts == ["東京"]
    assert strings_after(lambda _: "Tokyo", strings) == (
        '<si><t>Tokyo</t><phoneticPr fontId="1"/></si>'
    )


def test_line_breaks_and_escaped_characters_keep_their_place() -> None:
    strings = si("one_x000D_\ntwo &amp; x")
    assert readable_texts(opened(workbook(strings))) == ["one<0 br/>two & x"]
    assert strings_after(str.upper, strings) == (
        '<si><t xml:space="preserve">ONE_x000D_\nTWO &amp; X</t></si>'
    )


def test_texts_in_their_cells_are_translated_and_results_of_formulas_stay() -> None:
    rows = (
        '<row r="1"><c r="A1" t="inlineStr"><is><t>in line</t></is></c><c r="B1" t="str"><v>a '
        'value</v></c><c r="C1" t="str"><f>A1&amp;B1</f><v>a result</v></c><c r="D1"><v>7</v></c>'
        '<c r="E1" t="inlineStr"><is><r><rPr><b/></rPr><t>bold</t></r><r><t> texts</t></r></is></c>'
        '</row><row r="2"><c r="A2" t="inlineStr"><is><t>in line</t></is></c></row>'
    )
    document = opened(workbook(rows=rows))
    assert readable_texts(document) == ["in line", "a value", "<0>bold</0> texts"]
    assert document.skipped == ["1 result of a formula"]
    new = within(members(translated(document, str.upper))[SHEET], sheet_xml("|"))
    assert new == (
        rows.replace("in line", "IN LINE")
        .replace("a value", "A VALUE")
        .replace("<t>bold", "<t>BOLD")
        .replace("<t> texts", '<t xml:space="preserve"> TEXTS')
    )


@pytest.mark.parametrize("formula", ["<f>A1</f>", '<f t="shared" si="0"/>'])
def test_a_result_in_its_cell_stays(formula: str) -> None:
    rows = (
        '<row r="1"><c r="A1" t="inlineStr"><is><t>in line</t></is></c>'
        f'<c r="B1" t="inlineStr">{formula}<is><t>a result</t></is></c></row>'
    )
    document = opened(workbook(rows=rows))
    assert document.texts == ["in line"]
    assert document.skipped == ["1 result of a formula"]
    new = within(members(translated(document, str.upper))[SHEET], sheet_xml("|"))
    assert new == rows.replace("in line", "IN LINE")


@pytest.mark.parametrize(
    ("formulas", "texts"),
    [
        ('IF(A1="Done",1,0)', ["Undone", "Not done"]),
        ("IF(A1=&quot;DONE&quot;,1,0)", ["Undone", "Not done"]),
        ('COUNTIF(A:A,"&lt;&gt;done")', ["Undone", "Not done"]),
        ('COUNTIF(A:A,"*done")', []),
        ('COUNTIF(A:A,"Un*")', ["Done", "Not done"]),
        ('IF(ISNUMBER(SEARCH("not",A1)),1,0)', ["Done", "Undone"]),
        ('LEFT(A1,2)="Un"', ["Done", "Not done"]),
        ('A1&amp;" of "&amp;B1', ["Done", "Undone", "Not done"]),
        ('\'5" pipe\'!A1&amp;IF(A1="Done",1,0)', ["Undone", "Not done"]),
    ],
)
def test_texts_with_which_formulas_compare_cells_stay(formulas: str, texts: list[str]) -> None:
    assert kept_by(formulas, "Done", "Undone", "Not done") == texts


def test_names_and_references_stay_if_formulas_make_references_of_them() -> None:
    names = '<definedNames><definedName name="Dry_fruits">Data!A1</definedName></definedNames>'
    strings = "".join(map(si, ("data", "Dry fruits", "Sales", "Data!B7", "Fruits")))
    data = workbook(
        strings,
        formula("INDIRECT(A1)"),
        names=names,
        parts={TABLE: table_xml("Price")},
        relations=WITH_TABLE,
    )
    document = opened(data)
    assert document.texts == ["Fruits"]
    assert document.skipped == [
        "formulas make references of 'data', 'Dry fruits', 'Sales', 'Data!B7'"
    ]


def test_results_of_a_formula_for_several_cells_stay() -> None:
    rows = (
        '<row r="1"><c r="A1" t="str"><f t="array" ref="A1:A2">B1:B2</f><v>one</v></c></row>'
        '<row r="2"><c r="A2" t="str"><v>two</v></c><c r="B2" t="inlineStr"><is><t>three</t></is>'
        "</c></row>"
    )
    document = opened(workbook(rows=rows))
    assert document.texts == ["three"] and document.skipped == ["2 results of formulas"]
    new = within(members(translated(document, str.upper))[SHEET], sheet_xml("|"))
    assert new == rows.replace("three", "THREE")


def test_texts_that_stay_are_reported_with_the_reason() -> None:
    rules = (
        '<dataValidations><dataValidation type="list" prompt="Choose" sqref="A1"><formula1>'
        '"Yes,No"</formula1></dataValidation></dataValidations><headerFooter><oddHeader>&amp;L'
        '&amp;"Arial,Bold"&amp;P</oddHeader><oddFooter>&amp;LDraft</oddFooter></headerFooter>'
        '<autoFilter><filterColumn><filters><filter val="North"/></filters></filterColumn>'
        '</autoFilter><conditionalFormatting><cfRule><formula>A1="Late"</formula></cfRule>'
        "</conditionalFormatting>"
    )
    strings = "".join(map(si, ("Yes", "no", "North", "Late", "Other")))
    document = opened(workbook(strings, after=rules))
    assert document.texts == ["Other"]
    assert document.skipped == [
        "data validation lists contain 'Yes', 'no'",
        "filters select 'North'",
        "formulas compare cells with 'Late'",
        "1 data validation list",
        "1 message of data validation",
        "1 header or footer",
    ]


def test_names_and_items_of_pivot_tables_stay() -> None:
    cache = (
        '<pivotCacheDefinition><cacheField name="Region"><sharedItems><s v="North &amp; East"/>'
        "</sharedItems></cacheField></pivotCacheDefinition>"
    )
    data = workbook(
        "".join(map(si, ("Region", "North &amp; East", "Other"))),
        parts={"xl/pivot.xml": cache, "xl/slicer.xml": '<slicerCacheDefinition sourceName="x"/>'},
        relations={
            "xl/workbook.xml": {
                "rId8": "pivotCacheDefinition pivot.xml",
                "rId9": "slicerCache slicer.xml",
            }
        },
    )
    document = opened(data)
    assert document.texts == ["Other"]
    assert document.skipped == [
        "pivot tables use 'Region', 'North & East'",
        "1 cache of a pivot table",
    ]


def table_after(
    translate: Callable[[str], str], strings: str, table: str, rows: str = ""
) -> tuple[str, str, list[str]]:
    """The shared strings and the table of a workbook, and what is reported."""
    document = opened(workbook(strings, rows, parts={TABLE: table}, relations=WITH_TABLE))
    new = members(translated(document, translate))
    found = re.findall(' name="(.*?)"', new[TABLE].decode())
    return within(new[STRINGS], shared_strings("|")), " | ".join(found), [*document.skipped]


def test_the_header_of_a_table_and_its_columns_change_together() -> None:
    strings = si("Name") + si("Unit &amp; price\nin &lt;EUR&gt;") + si("Ada")
    table = table_xml("Name", "Unit &amp; price_x000a_in &lt;EUR&gt;")
    new, columns, skipped = table_after(str.upper, strings, table)
    assert new == strings.upper().replace("&AMP;", "&amp;").replace("&LT;", "&lt;").replace(
        "&GT;", "&gt;"
    ).replace("SI>", "si>").replace("T>", "t>").replace("UNIt", "UNIT").replace(
        "<t>UNIT", '<t xml:space="preserve">UNIT'
    )
    assert columns == "NAME | UNIT &amp; PRICE_x000a_IN &lt;EUR&gt;"
    assert skipped == []


def test_all_line_breaks_of_a_header_are_in_its_column() -> None:
    table = table_xml("One_x000a__x000a_two_x000a_three", " ")
    new, columns, skipped = table_after(str.upper, si("One\n\ntwo\nthree"), table)
    assert "ONE\n\nTWO\nTHREE" in new
    assert columns == "ONE_x000a__x000a_TWO_x000a_THREE |  " and skipped == []


def test_columns_that_formulas_name_stay_with_their_headers() -> None:
    strings = si("Name") + si("Net [EUR]") + si("Other")
    table = table_xml("Name", "Net [EUR]")
    rows = formula("SUM(Sales[[#This Row],[Net '[EUR']]])")
    new, columns, skipped = table_after(str.upper, strings, table, rows)
    assert new == si("NAME") + si("Net [EUR]") + si("OTHER")
    assert columns == "NAME | Net [EUR]"
    assert skipped == ["formulas name the table columns 'Net [EUR]'"]


@pytest.mark.parametrize("same", ["Same", "", "x" * 256])
def test_headers_stay_if_they_would_be_equal_empty_or_too_long(same: str) -> None:
    strings = si("Name") + si("Unit") + si("Price\neach")
    texts = {"Name": same.lower(), "Unit": "Einheit"}
    new, columns, skipped = table_after(
        lambda t: texts.get(t, same), strings, table_xml("Name", "Unit", "Price_x000a_each")
    )
    assert new == strings.replace("Unit", "Einheit")
    assert columns == "Name | Einheit | Price_x000a_each"
    assert len(skipped) == 2 and skipped[0].startswith("'Name' has a translation that its cells")
    assert skipped[1].startswith(r"'Price\neach' has")


def test_a_text_that_would_be_too_long_for_a_cell_stays() -> None:
    assert strings_after(lambda text: text * 8191, si("four") + si("fives")) == (
        si("four" * 8191) + si("fives")
    )


def test_a_string_in_a_header_and_with_formatting_elsewhere_stays_the_same() -> None:
    strings = si("The name") + rich(r("The "), r("name", "<b/>")) + si("Price")
    table = table_xml("The name", "Price")
    new, columns, skipped = table_after(str.upper, strings, table)
    assert new.count("THE") == 2 and columns == "THE NAME | PRICE"
    new, columns, skipped = table_after(lambda t: t.replace("The", "Der"), strings, table)
    assert columns == "Der name | Price"
    texts = {"The name": "Der Name", "Price": "Preis"}  # the formatted one has another translation
    new, columns, skipped = table_after(lambda t: texts.get(t, t.upper()), strings, table)
    assert new == strings.replace("Price", "Preis")
    assert columns == "The name | Preis"
    assert len(skipped) == 2


@pytest.mark.parametrize(
    ("row", "word", "stay"),
    [("VLOOKUP(A1,B:B,1,0)", "Kiste", False), ("IF(A1=B1,1)", "Box", True), ("A1", "Box", False)],
)
def test_texts_that_formulas_see_as_equal_stay_equal(row: str, word: str, stay: bool) -> None:
    strings = si("red box") + rich(r("Red "), r("box", "<b/>"))
    texts = {"red box": "rote Kiste", f"Red {O0}box{C0}": f"Rote {O0}{word}{C0}"}
    document = opened(workbook(strings, formula(row)))
    new = members(translated(document, texts.__getitem__))[STRINGS]
    assert (new.decode() == shared_strings(strings)) == stay
    assert len(document.skipped) == 2 * stay


def test_tables_without_headers_and_of_queries_stay() -> None:
    strings = si("Name") + si("Ada")
    for attributes, texts in (
        (' headerRowCount="0"', ["Name", "Ada"]),
        (' tableType="queryTable"', ["Ada"]),
    ):
        table = table_xml("Name", attributes=attributes)
        data = workbook(strings, parts={TABLE: table}, relations=WITH_TABLE)
        document = opened(data)
        assert document.texts == texts
        assert members(translated(document, str.upper))[TABLE] == table.encode()


CHART = (
    '<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http:'
    '//schemas.openxmlformats.org/drawingml/2006/main"><c:title><c:tx><c:rich><a:p><a:r><a:t>'
    "A title</a:t></a:r></a:p></c:rich></c:tx></c:title><c:series><c:tx><c:strRef><c:f>D!A1</c:f>"
    '<c:strCache><c:pt idx="0"><c:v>Sales</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat>'
    "<c:strRef><c:strCache><c:pt><c:v>Done</c:v></c:pt><c:pt><c:v>Computed</c:v></c:pt>"
    "<c:pt><c:v>Two\nlines</c:v></c:pt></c:strCache></c:strRef></c:cat><c:cat><c:strLit><c:pt><c:v>"
    "Written</c:v></c:pt></c:strLit></c:cat><c:tx><c:v>here</c:v></c:tx><c:val><c:numCache><c:pt><c:v>#N/A</c:v></c:pt></c:numCache>"
    "</c:val></c:series></c:chartSpace>"
)


def test_labels_of_charts_change_with_their_cells() -> None:
    data = workbook(
        si("Sales") + si("Done") + si("Two\nlines"),
        formula('A1="done"'),
        parts={"xl/drawings/drawing1.xml": "<a/>", "xl/charts/chart1.xml": CHART},
        relations={
            SHEET: {"rId1": "drawing ../drawings/drawing1.xml"},
            "xl/drawings/drawing1.xml": {"rId1": "chart ../charts/chart1.xml"},
        },
    )
    document = opened(data)
    assert readable_texts(document) == ["Sales", "Two<0 br/>lines", "A title", "Written", "here"]
    new = members(translated(document, str.upper))["xl/charts/chart1.xml"].decode()
    expected = CHART
    for text in ("Sales", "A title", "Two\nlines", "Written", "here"):
        expected = expected.replace(f">{text}<", f">{text.upper()}<")
    assert new == expected


def test_comments_are_translated_unless_they_are_threads() -> None:
    comments = (
        '<comments xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><commentList>'
        '<comment ref="A1"><text><r><t>Look here</t></r></text></comment></commentList></comments>'
    )
    parts = {"xl/comments1.xml": comments, "xl/thread.xml": "<a/>", "xl/a.docx": b"PK"}
    own = {"rId1": "comments ../comments1.xml"}
    document = opened(workbook(parts=parts, relations={SHEET: own}))
    assert document.texts == ["Look here"]
    own |= {"rId2": "threadedComment ../thread.xml", "rId3": "package ../a.docx"}
    document = opened(workbook(parts=parts, relations={SHEET: own}))
    assert document.texts == [] and document.skipped == [
        "1 embedded file",
        "1 sheet with threaded comments",
    ]


def test_other_forms_of_xml_are_read() -> None:
    strings = (
        "<x:si><x:t>first</x:t></x:si><!-- <si><t>no</t></si> -->"
        "<x:si><x:t><![CDATA[two]]></x:t></x:si>"
    )
    xml = shared_strings(strings).replace("<sst xmlns=", "<x:sst xmlns:x=").replace("</s", "</x:s")
    xml = xml.replace("</x:si></t>", "</si></t>").replace("</t></x:si> --", "</t></si> --")
    data = with_members(workbook(), {STRINGS: xml.encode()})
    document = opened(data)
    assert document.texts == ["first", "two"]
    new = members(translated(document, str.upper))[STRINGS].decode()
    assert new == xml.replace("first", "FIRST").replace("<![CDATA[two]]>", "TWO")
    for encoding in ("utf-16", "latin-1"):
        declared = shared_strings(si("größer")).replace("UTF-8", encoding)
        data = with_members(workbook(), {STRINGS: declared.encode(encoding)})
        new_strings = members(translated(opened(data), str.upper))[STRINGS]
        assert new_strings == declared.replace("größer", "GRÖSSER").encode(encoding)


@pytest.mark.parametrize(
    ("strings", "words"),
    [
        ("<si><t>a</t></si><si><t>b</si>", "line 2, column 99 is not well-formed XML"),
        ("<si><t>a</t></si>\n<si><r>\n</si>", "line 4, column 3 is not well-formed XML"),
        ("<si><t>&c;</t></si>", "is not well-formed XML"),
        ("<si><t>a\x01</t></si>", "is not well-formed XML"),
    ],
)
def test_invalid_xml_is_refused(strings: str, words: str) -> None:
    told = message(workbook(strings))
    assert told.startswith(f"{STRINGS}, line") and words in told


def test_other_archives_are_refused() -> None:
    assert message(with_members(b"PK\x05\x06" + bytes(18), {"a": b""})) == (
        "the file is a zip archive but not an Excel workbook: save it as .xlsx"
    )
    binary = {"xl/workbook.bin": "application/vnd.ms-excel.sheet.binary.macroEnabled.main"}
    data = package(
        {"xl/workbook.bin": b"\0"}, {"": {"a": "officeDocument xl/workbook.bin"}}, binary
    )
    assert message(data) == "the archive has no Excel workbook: save the document as .xlsx"
    lost = with_members(workbook(), {"xl/_rels/workbook.xml.rels": b"<a/>"})
    assert "the file lacks a sheet: obtain it again, or save it again" in message(lost)
    missing = workbook(relations={SHEET: {"rId1": "table ../tables/none.xml"}})
    assert opened(missing).texts == []


CELLS = st.lists(
    st.sampled_from(
        [
            *(si("one"), si("two &amp; three"), si("7"), "<si/>", si("")),
            *(rich(r("a "), r("b", "<b/>")), rich(r("é漢")), si(" x _x0041_ y\n"), "\n "),
            *('<si><t xml:space="preserve"> d </t></si>', "<si><t>e</t><phoneticPr/></si>"),
        ]
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=60)
@given(CELLS)
def test_all_else_stays_in_any_mixture_of_strings(cells: list[str]) -> None:
    data = workbook("".join(cells))
    document = opened(data)
    assert document.render(document.texts) == data
    new = translated(document, str.upper)
    assert described(new) == described(data)
    again = opened(new)
    assert again.texts == [text.upper() for text in document.texts]
    tags = re.compile(rb"<t[ >].*?</t>", re.DOTALL)
    assert tags.sub(b"", members(new)[STRINGS]) == tags.sub(b"", members(data)[STRINGS])
    assert {**members(new), STRINGS: b""} == {**members(data), STRINGS: b""}


BOOK = "xl/workbook.xml"
NAMED = DocumentOptions(sheet_names=True)


def of_two_sheets(formulas: str, *, names: str = "", parts: dict[str, str] | None = None) -> bytes:
    """A workbook with the sheets "Sales" and "Old data's"."""
    second = {"xl/worksheets/sheet2.xml": sheet_xml("")} | (parts or {})
    data = workbook(
        si("Hello"),
        formula(formulas),
        "<hyperlinks><hyperlink ref=\"A1\" location=\"'Old data''s'!A1\"/></hyperlinks>",
        names=names,
        parts=second,
        relations={BOOK: {"rId9": "worksheet worksheets/sheet2.xml"}},
    )
    book = members(data)[BOOK].decode().replace('name="Data"', 'name="Sales"')
    sheet = """<sheet name="Old data's" sheetId="2" r:id="rId9"/></sheets>"""
    return with_members(data, {BOOK: book.replace("</sheets>", sheet).encode()})


def test_names_of_sheets_change_in_all_references() -> None:
    area = "<definedName name='_xlnm.Print_Area'>Sales!$A$1:$B$2</definedName>"
    names = f"<definedNames>{area}</definedNames>"
    cache = "xl/pivotCache/pivotCacheDefinition1.xml"
    parts = {
        "xl/charts/chart1.xml": "<x xmlns:c='u'><c:f>Sales!$A$1</c:f></x>",
        cache: '<x><worksheetSource ref="A1" sheet="sales"/></x>',
        "xl/comments1.xml": "<x><t>Sales!A1</t></x>",
    }
    data = of_two_sheets(
        "SALES!A1+SUM('Sales:Old data''s'!A1)+'Old data''s'!B2+[1]Sales!A1+'[1]Sales'!A1+XSales!A1"
        "&amp;&quot;Hi!&quot;",
        names=names,
        parts=parts,
    )
    document = read(data, NAMED)
    assert [*document.texts] == ["Hello", "Sales", "Old data's"] and not document.skipped
    assert document.render(document.texts) == data
    new = {k: v.decode() for k, v in members(document.render(["Hallo", "Umsatz", "It's"])).items()}
    assert 'name="Umsatz"' in new[BOOK] and """name="It's\"""" in new[BOOK]
    assert ">'Umsatz'!$A$1:$B$2<" in new[BOOK]
    assert (
        "<f>'Umsatz'!A1+SUM('Umsatz:It''s'!A1)+'It''s'!B2+[1]Sales!A1+'[1]Sales'!A1+XSales!A1"
        '&amp;"Hi!"</f>'
    ) in new[SHEET]
    assert "location=\"'It''s'!A1\"" in new[SHEET]
    assert new["xl/charts/chart1.xml"] == parts["xl/charts/chart1.xml"].replace("Sales", "'Umsatz'")
    assert 'sheet="Umsatz"' in new[cache]
    assert new["xl/comments1.xml"] == parts["xl/comments1.xml"]


def test_apostrophes_in_references_to_columns_of_tables_are_no_quotes() -> None:
    document = read(of_two_sheets("SUM(T['#No],T[Sales!x])+Sales!A1"), NAMED)
    new = members(document.render(["Hallo", "Umsatz", "Old data's"]))[SHEET].decode()
    assert "<f>SUM(T['#No],T[Sales!x])+'Umsatz'!A1</f>" in new


@pytest.mark.parametrize(
    ("formulas", "parts", "names"),
    [
        ("INDIRECT(A1)", {}, []),
        ("1", {"xl/vbaProject.bin": "x"}, []),
        ("HYPERLINK(&quot;#Sales!A1&quot;)", {}, ["Old data's"]),
        ("IF(A1=&quot;sales&quot;,1)", {}, ["Old data's"]),
        ("1", {"xl/ctrlProps/ctrlProp1.xml": '<x fmlaLink="Sales!A1"/>'}, ["Old data's"]),
        ("1", {"xl/drawings/vmlDrawing1.vml": "<x>'Old data&#39;&#39;s'!A1</x>"}, ["Sales"]),
    ],
)
def test_names_of_sheets_stay_that_other_references_have(
    formulas: str, parts: dict[str, str], names: list[str]
) -> None:
    document = read(of_two_sheets(formulas, parts=parts), NAMED)
    assert [*document.texts] == ["Hello", *names]
    assert len(document.skipped) >= 2 - len(names)


@pytest.mark.parametrize("name", ["x" * 32, "a/b", "'a", "History", "OLD DATA'S", ""])
def test_invalid_names_of_sheets_are_reported(name: str) -> None:
    data = of_two_sheets("Sales!A1")
    document = read(data, NAMED)
    new = members(document.render(["Hello", name, "Old data's"]))
    assert new[BOOK] == members(data)[BOOK]
    assert "the sheet 'Sales' has a translation that cannot name a sheet" in document.skipped[-1]
