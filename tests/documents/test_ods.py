"""OpenDocument spreadsheets: texts of cells change, and nothing that formulas depend on."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import THOROUGH
from tests.documents.shared import members, readable_texts, translated, with_members, within
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.ods import read
from yakusu.documents.registry import read_document
from yakusu.errors import DataError

NAMES = "urn:oasis:names:tc:opendocument:xmlns:"
NAMESPACES = (
    "".join(
        f' xmlns:{name}="{NAMES}{name}:1.0"'
        for name in ("office", "style", "text", "table", "chart", "manifest")
    )
    + f' xmlns:draw="{NAMES}drawing:1.0" xmlns:calcext="urn:calcext"'
)
TYPE = "application/vnd.oasis.opendocument."
CONTENT, OBJECT = "content.xml", "Object 1/content.xml"
TEMPLATES = Path("/usr/lib/libreoffice/share/template")
MANIFEST = (
    f'<manifest:manifest{NAMESPACES}><manifest:file-entry manifest:full-path="Object 1/" '
    f'manifest:media-type="{TYPE}chart"/></manifest:manifest>'
)


def content_xml(rows: str, around: str = "|", comment: str = "") -> str:
    table = f'<table:table table:name="Data">{rows}</table:table>'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content{NAMESPACES}>{comment}'
        f"<office:body><office:spreadsheet>{around.replace('|', table)}</office:spreadsheet>"
        "</office:body></office:document-content>"
    )


def ods_of(rows: str, around: str = "|", comment: str = "", **parts: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("mimetype", f"{TYPE}spreadsheet")
        content = content_xml(rows, around, comment)
        archive.writestr(CONTENT, content, zipfile.ZIP_DEFLATED)
        for name, xml in parts.items():
            archive.writestr(f"{name}.xml", xml, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def with_chart(rows: str, chart: str) -> bytes:
    xml = (
        f"<office:document-content{NAMESPACES}><office:body><office:chart>{chart}</office:chart>"
        "</office:body></office:document-content>"
    )
    new = {"META-INF/manifest.xml": MANIFEST.encode(), OBJECT: xml.encode()}
    return with_members(ods_of(rows), new)


def opened(data: bytes) -> Document:
    return read(data, DocumentOptions())


def cell(content: str, attributes: str = "", kind: str = "string") -> str:
    return f'<table:table-cell office:value-type="{kind}"{attributes}>{content}</table:table-cell>'


def p(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def row(*cells: str) -> str:
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


def after(translate: Callable[[str], str], rows: str, around: str = "|") -> str:
    data = translated(opened(ods_of(rows, around)), translate)
    return within(members(data)[CONTENT], content_xml("|", around))


PLAIN = row(cell(p("one")), cell(p("two")))
EXTRAS = ["", "<!-- parsed -->"]  # without a comment, plain cells are not parsed as elements


@pytest.mark.parametrize("extra", EXTRAS)
def test_only_texts_that_are_values_are_translated(extra: str) -> None:
    rows = extra + row(
        cell(p("one &amp; two")),
        cell(p("3 kg"), ' office:value="3"', "float"),
        cell(p("May 5"), ' office:date-value="2001-05-05"', "date"),
        cell(p("TRUE"), ' office:boolean-value="true"', "boolean"),
        cell(p("sum"), ' table:formula="of:=[.A1]" office:string-value="sum"'),
        "<table:table-cell/>",
        "<table:table-cell><text:p>no type</text:p></table:table-cell>",
        cell(p("twice"), ' table:number-columns-repeated="2"'),
    )
    document = opened(ods_of(rows))
    assert list(document.texts) == ["one & two", "no type", "twice"]
    assert document.skipped == ["1 result of a formula"]
    expected = re.sub("one|(?<=; )two|no type|twice", lambda match: match[0].upper(), rows)
    assert after(str.upper, rows) == expected


@pytest.mark.parametrize("extra", EXTRAS)
def test_equal_texts_of_cells_are_one_text(extra: str) -> None:
    rows = extra + row(cell(p("one")), cell(p("two"))) + row(cell(p("one")))
    assert list(opened(ods_of(rows)).texts) == ["one", "two"]
    assert after(str.upper, rows) == rows.replace("one", "ONE").replace("two", "TWO")


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_value_of_a_cell_is_the_text_of_its_paragraphs(extra: str) -> None:
    rows = extra + row(
        cell(p("one"), ' office:string-value="one"'),
        cell(p("a &lt;") + p("two"), " office:string-value='a &lt;&#10;two'"),
        cell(p("b <text:span>c</text:span> d"), ' office:string-value="b c d"'),
    )
    assert readable_texts(opened(ods_of(rows))) == ["one", "a <", "two", "b c d"]
    assert after(lambda text: f'"{text}"', rows) == extra + row(
        cell(p('"one"'), ' office:string-value="&quot;one&quot;"'),
        cell(
            p('"a &lt;"') + p('"two"'),
            ' office:string-value="&quot;a &lt;&quot;&#10;&quot;two&quot;"',
        ),
        cell(p('"b c d"'), ' office:string-value="&quot;b c d&quot;"'),
    )


def test_a_cell_whose_text_is_not_its_value_stays_and_is_reported() -> None:
    rows = row(cell(p("one"), ' office:string-value="two"'), cell(p("three")))
    document = opened(ods_of(rows))
    assert list(document.texts) == ["three"]
    assert document.skipped == ["1 cell whose text is not its value"]


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize(
    ("around", "stays", "changes", "report"),
    [
        (
            "of:=IF([.A1]=&quot;Yes&quot;;1;0)",
            "yes",
            "yes, sir",
            "formulas compare cells with 'yes'",
        ),
        ("of:=COUNTIF([.A1];&quot;&lt;&gt;Yes&quot;)", "Yes", "no", "formulas compare"),
        ("of:=COUNTIF([.A1];&quot;Do*ing&quot;)", "doing it, doing", "done", "formulas compare"),
        ("of:=COUNTIF([.A1];&quot;Do.*&quot;)", "Done", "undone", "formulas compare"),
        ("of:=SEARCH(&quot;art&quot;;[.A1])", "a party", "a pity", "formulas compare"),
        ("of:=COUNTIF([.A1];&quot;^(open|done.*)$&quot;)", "Done it", "one", "formulas compare"),
        ("of:=COUNTIF([.A1];&quot;open|shut&quot;)", "Shut", "closed", "formulas compare"),
        ("of:=COUNTIF([.A1];&quot;who~?&quot;)", "Who?", "how", "formulas compare"),
        ("of:=INDIRECT([.A1]&amp;&quot;.B2&quot;)", "Data", "Date", "formulas with INDIRECT"),
        ("of:=INDIRECT([.A1])", "$Data.$B$2:C3", "Data. B", "formulas with INDIRECT"),
        ("of:=SUM('Sales')", "Sales", "Sale", "formulas compare"),
    ],
)
def test_texts_that_formulas_depend_on_stay(
    extra: str, around: str, stays: str, changes: str, report: str
) -> None:
    formula = cell(p("1"), f' table:formula="{around}" office:value="1"', "float")
    rows = extra + row(cell(p(stays)), cell(p(changes)), formula)
    document = opened(ods_of(rows))
    assert list(document.texts) == [changes]
    assert len(document.skipped) == 1
    assert report in document.skipped[0]
    assert repr(stays) in document.skipped[0]


@pytest.mark.parametrize(
    ("before", "reports"),
    [
        (
            "<table:content-validations><table:content-validation table:condition="
            '\'of:cell-content-is-in-list("red";"blue")\'/></table:content-validations>',
            ["validity lists contain 'red'", "1 validity list"],
        ),
        (
            '<table:filter-condition table:operator="=" table:value="Red"/>',
            ["filters select 'red'"],
        ),
        (
            '<calcext:condition calcext:value="=&quot;red&quot;"/>',
            ["formulas compare cells with 'red'"],
        ),
        (
            '<table:data-pilot-table table:name="P"><table:data-pilot-member table:name="red"/>'
            "</table:data-pilot-table>",
            ["pivot tables use 'red'", "1 pivot table"],
        ),
        (
            "<table:content-validation table:condition='of:cell-content-is-in-list(INDIRECT("
            """SUBSTITUTE([.A1];" ";"_")))'/><table:named-range table:name="all_red"/>""",
            ["formulas with INDIRECT can refer to 'red'", "1 validity list"],
        ),
    ],
)
def test_texts_of_lists_filters_and_pivot_tables_stay(before: str, reports: list[str]) -> None:
    document = opened(ods_of(row(cell(p("red")), cell(p("green"))), before + "|"))
    assert list(document.texts) == ["green"]
    assert document.skipped == reports


def test_conditions_of_styles_count_too() -> None:
    styles = f"<office:document-styles{NAMESPACES}>" + (
        '<style:map style:condition="cell-content()=&quot;one&quot;"/><style:header>'
        "<text:p>Page <text:page-number>1</text:page-number></text:p></style:header>"
        "</office:document-styles>"
    )
    document = opened(ods_of(PLAIN, styles=styles))
    assert readable_texts(document) == ["two", "Page"]
    assert (
        b"<text:p>PAGE <text:page-number>" in members(translated(document, str.upper))["styles.xml"]
    )


def test_comments_of_any_cell_and_shapes_are_translated() -> None:
    note = f"<office:annotation><a>May</a>{p('why')}</office:annotation>"
    box = f"<draw:frame><draw:text-box>{p('box')}</draw:text-box></draw:frame>"
    shape = f"<table:shapes>{box}</table:shapes>"
    rows = shape + row(cell(note + p("3 kg"), ' office:value="3"', "float"), cell(note + p("one")))
    assert list(opened(ods_of(rows)).texts) == ["box", "why", "one"]
    assert after(str.upper, rows) == re.sub("(?<=p>)(box|why|one)", lambda m: m[0].upper(), rows)


def test_earlier_texts_and_copies_of_other_files_stay() -> None:
    changes = f"<table:tracked-changes>{row(cell(p('old')))}</table:tracked-changes>"
    copy = f"""<table:table table:name="'file:///x.ods'#$A">{row(cell(p("far")))}</table:table>"""
    linked = f"<table:table>{row(cell(p('dde')))}</table:table>"
    links = f"<table:dde-links><table:dde-link>{linked}</table:dde-link></table:dde-links>"
    for comment in EXTRAS:
        document = opened(ods_of(PLAIN, f"{changes}|{copy}{links}", comment))
        assert list(document.texts) == ["one", "two"]


CHART = (
    f"<chart:chart><chart:title>{p('Turnover')}</chart:title><table:table>"
    f"{row(cell(p('one')), cell(p('computed')), cell(p('NaN'), '', 'float'))}</table:table>"
    "</chart:chart>"
)


def test_labels_of_a_chart_change_with_their_cells() -> None:
    document = opened(with_chart(PLAIN, CHART))
    assert list(document.texts) == ["one", "two", "Turnover"]
    new = members(translated(document, str.upper))[OBJECT].decode()
    assert [*re.findall("p>([^<]+)<", new)] == ["TURNOVER", "ONE", "computed", "NaN"]


def test_the_picture_of_a_chart_is_reported() -> None:
    picture = "ObjectReplacements/Object 1"
    data = with_members(with_chart(PLAIN, CHART), {picture: b"x"})
    assert opened(data).skipped == [f"{picture}, the picture of an object with texts"]


CELLS = st.sampled_from(
    [
        *(
            cell(p(text))
            for text in ("one", "two words", "a &amp; &quot;b&quot;", "1", " x ", "a  b")
        ),
        *(cell(p(text), f' office:string-value="{text}"') for text in ("one", "&lt;b")),
        cell(p("a <text:s/>b <text:span>c</text:span>")),
        cell(p("un\ue000usual")),
        cell(p("keep")),
        cell(p("sum"), ' table:formula="of:=IF([.A1]=&quot;keep&quot;;1;2)"'),
        cell(p("5 kg"), ' office:value="5"', "float"),
        cell(p("one") + p("two")),
        cell(f"<office:annotation>{p('one')}</office:annotation>{p('two')}"),
        "<table:table-cell/>",
        cell(p("one")).replace("table-cell", "covered-table-cell"),
        cell(p("a > b"), " table:style-name='x'"),
        cell(f"{p('out')}<table:table>{row(cell(p('in')))}</table:table>"),
        "</table:table-row>\n<table:table-row>",
        cell("<text:h>head</text:h>") + p("between"),
    ]
)


@settings(deadline=None, max_examples=200 if THOROUGH else 60)
@given(st.lists(CELLS, max_size=12))
def test_cells_that_are_not_parsed_are_read_and_written_as_those_that_are(cells: list[str]) -> None:
    rows, comment = row(*cells), "<!-- parsed -->"
    data = ods_of(rows)
    plain, parsed = opened(data), opened(ods_of(rows, comment=comment))
    assert plain.texts == parsed.texts
    assert plain.skipped == parsed.skipped
    assert plain.render(plain.texts) == data

    def translate(text: str) -> str:
        return text.replace("o", "<ö>").replace("b", "b  B")

    one, other = (members(translated(each, translate))[CONTENT] for each in (plain, parsed))
    assert one == other.replace(comment.encode(), b"")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (with_members(ods_of(""), {"mimetype": b"application/zip"}), "not a spreadsheet"),
        (with_members(ods_of(""), {CONTENT: b"<a>\n<b>"}), "content.xml, line 2, column 4"),
        (ods_of(PLAIN + "<a>" * 260 + "</a>" * 260), "content.xml, line 2: the XML has more than"),
        (ods_of(PLAIN + "\n&nbsp;"), "content.xml, line 3, column"),
    ],
)
def test_other_files_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(DataError) as error:
        opened(data)
    assert words in str(error.value)


@pytest.mark.skipif(not TEMPLATES.exists(), reason="needs the templates of libreoffice-common")
def test_templates_of_libreoffice_come_back_byte_for_byte() -> None:
    paths = sorted(path for path in TEMPLATES.rglob("*") if path.suffix in (".otp", ".ots", ".otg"))
    for path in paths if THOROUGH else paths[:4]:
        document = read_document(path)
        assert document.render(document.texts) == path.read_bytes(), path


NAMED = DocumentOptions(sheet_names=True)
SHEETS = (
    '<table:table table:name="Old data&apos;s" table:print-ranges="Data.A1:Data.B2 {}"/>|'
    '<table:x xmlns:xlink="l" table:string-value="Data.A1"><text:a xlink:href="#Data.A1">Data.A1'
    '</text:a><text:a xlink:href="#Old%20data\'s">x 1</text:a></table:x>'
)
SETTINGS = (
    '<x xmlns:config="c"><config:config-item-map-entry config:name="Data"/>'
    '<config:config-item config:name="ActiveTable">Data</config:config-item></x>'
)


def test_names_of_sheets_change_in_all_references() -> None:
    formula = """ table:formula="of:=[$Data.A1]+SUM([.B1:.B2])+[$'Old data''s'.A1:.B2]\""""
    external = " table:formula=\"of:=['file:///a.ods'#$Data.A1]&amp;&quot;Data: &quot;\""
    around = SHEETS.format("$Data.$A$1")
    data = ods_of(cell(p("Hi"), formula, "float"), around, settings=SETTINGS)
    document = read(data, NAMED)
    names = ["Old data's", "Data"]
    assert [*document.texts][-2:] == names
    assert document.render(document.texts) == data
    others = [*document.texts][:-2]
    new = {
        k: v.decode() for k, v in members(document.render([*others, "Alt", "Die Daten"])).items()
    }
    assert (
        "table:name=\"Alt\" table:print-ranges=\"'Die Daten'.A1:'Die Daten'.B2 $'Die Daten'.$A$1\""
        in (new[CONTENT])
    )
    assert "of:=[$'Die Daten'.A1]+SUM([.B1:.B2])+[$Alt.A1:.B2]" in new[CONTENT]
    assert "href=\"#'Die Daten'.A1\">Data.A1<" in new[CONTENT] and 'href="#Alt"' in new[CONTENT]
    assert 'string-value="Data.A1"' in new[CONTENT]
    assert new["settings.xml"] == SETTINGS.replace("Data", "Die Daten")
    stays = read(ods_of(cell(p("Hi"), external, "float"), around), NAMED)
    assert [*stays.texts][-1] == "Old data's"
    assert "a text in a formula contains the name of the sheet 'Data'" in stays.skipped
    assert b"#$Data.A1]" in members(stays.render([*stays.texts[:-1], "Alt"]))[CONTENT]


def test_names_of_sheets_stay_if_formulas_or_macros_make_references() -> None:
    formula = ' table:formula="of:=INDIRECT([.A1])"'
    for data in (
        ods_of(cell(p("Hi"), formula, "float")),
        with_members(ods_of(""), {"Basic/Standard/script.xml": b"x"}),
    ):
        document = read(data, NAMED)
        assert "Data" not in document.texts
        assert document.skipped[-1].endswith("the name of the sheet 'Data'")
