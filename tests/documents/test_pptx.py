"""Presentations keep everything but the texts of their slides, and both copies of a text agree."""

import re
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.packages import HEAD, package, workbook
from tests.documents.shared import (
    C0,
    E0,
    O0,
    described,
    members,
    readable_texts,
    translated,
    with_members,
    within,
)
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.pptx import read
from yakusu.errors import DataError

A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
NAMESPACES = f'xmlns:a="{A}" xmlns:p="{P}" xmlns:r="{R}" xmlns:mc="{MC}"'
SLIDE = "ppt/slides/slide1.xml"
BOLD = '<a:rPr b="1"/>'


def t(text: str, properties: str = "") -> str:
    return f"<a:r>{properties}<a:t>{text}</a:t></a:r>"


def p(*contents: str) -> str:
    return f"<a:p>{''.join(contents)}</a:p>"


def slide_xml(body: str) -> str:
    return f"{HEAD}<p:sld {NAMESPACES}><p:cSld><p:spTree>{body}</p:spTree></p:cSld></p:sld>"


def box(*paragraphs: str) -> str:
    """A text box."""
    return (
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name="Box"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr>'
        '<p:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="5000000" cy="3000000"/></a:xfrm></p:spPr>'
        f"<p:txBody><a:bodyPr/>{''.join(paragraphs)}</p:txBody></p:sp>"
    )


def pptx(
    *slides: str,
    parts: Mapping[str, str | bytes] | None = None,
    relations: Mapping[str, Mapping[str, str]] | None = None,
) -> bytes:
    """A presentation whose slides are stored in the reverse of their order."""
    order = [*range(len(slides), 0, -1)]
    listed = "".join(f'<p:sldId id="{255 + i}" r:id="s{i}"/>' for i in order)
    targets = {
        "": {"rId1": "officeDocument ppt/presentation.xml"},
        "ppt/presentation.xml": {f"s{i}": f"slide slides/slide{i}.xml" for i in order},
    }
    main = (
        f"{HEAD}<p:presentation {NAMESPACES}><p:sldIdLst>{listed}</p:sldIdLst>"
        '<p:sldSz cx="9144000" cy="6858000"/></p:presentation>'
    )
    own = {
        f"ppt/slides/slide{i}.xml": slide_xml(each) for i, each in zip(order, slides, strict=True)
    }
    all_parts = {"ppt/presentation.xml": main} | own | dict(parts or {})
    return package(all_parts, targets | dict(relations or {}))


def opened(data: bytes) -> Document:
    return read(data, DocumentOptions())


def texts(*contents: str) -> list[str]:
    return readable_texts(opened(pptx(p(*contents))))


def slide_after(translate: Callable[[str], str], body: str) -> str:
    data = translated(opened(pptx(body)), translate)
    return within(members(data)[SLIDE], slide_xml("|"))


def test_runs_of_equal_formatting_are_one_text() -> None:
    noise = '<a:rPr lang="en-US" dirty="0" err="1" smtClean="0"/>'
    assert texts(t("Wor"), t("d", noise), t(" order", '<a:rPr lang="de-DE"/>')) == ["Word order"]


def test_the_rarer_formatting_has_marks_and_is_written_as_one_run() -> None:
    body = p('<a:pPr lvl="1"/>', t("Pre"), t("ss "), t("Start", BOLD), t(" now"), "<a:endParaRPr/>")
    assert readable_texts(opened(pptx(body))) == ["Press <0>Start</0> now"]
    assert slide_after(lambda _: f"Jetzt {O0}Start{C0} & los", body) == p(
        '<a:pPr lvl="1"/>', t("Jetzt "), t("Start", BOLD), t(" &amp; los"), "<a:endParaRPr/>"
    )
    link = '<a:rPr><a:hlinkClick r:id="rId2"/></a:rPr>'
    assert texts(t("See "), t("this", link), t(" page")) == ["See <0>this</0> page"]
    assert texts(t("H"), t("2", '<a:rPr baseline="-25000"/>'), t("O is water")) == [
        "H<0>2</0>O is water"
    ]


def test_fields_and_formulas_keep_their_place_and_breaks_end_sentences() -> None:
    number = '<a:fld id="{1}" type="slidenum"><a:rPr/><a:t>7</a:t></a:fld>'
    assert texts(t("Page "), number, t(" of ten")) == ["Page <0/> of ten"]
    assert slide_after(lambda _: f"{E0} von zehn", p(t("Page "), number, t(" of ten"))) == p(
        number, t(" von zehn")
    )
    formula = "<mc:AlternateContent><mc:Choice><a14:m/></mc:Choice></mc:AlternateContent>"
    formula = formula.replace("<a14:m/>", "<m>x</m>")
    body = (t("a\tb"), "<a:br><a:rPr/></a:br>", t("c"), formula, t("d"), t("_x000B_e"))
    assert texts(*body) == ["a<0 br/>b<1 br/>c<2/>d<3 br/>e"]
    assert slide_after(str.upper, p(*body)) == (
        p(t("A\tB"), "<a:br><a:rPr/></a:br>", t("C"), formula, t("D"))[:-6]
        + f"{t('_x000B_')}{t('E')}</a:p>"
    )


def test_both_alternatives_of_a_shape_get_one_translation() -> None:
    body = (
        f"<mc:AlternateContent><mc:Choice><p:sp>{p(t('In'))}{p(t('Side'))}</p:sp></mc:Choice>"
        f"<mc:Fallback><p:sp>{p(t('In'))}</p:sp></mc:Fallback></mc:AlternateContent>"
    )
    assert opened(pptx(body)).texts == ["In", "Side"]
    assert slide_after(str.upper, body) == body.replace("In", "IN").replace("Side", "SIDE")


def test_letters_that_a_font_shows_as_signs_stay() -> None:
    arrow = t("à", '<a:rPr><a:sym typeface="Wingdings"/></a:rPr>')
    alpha = t("abc", '<a:rPr><a:latin typeface="symbol"/></a:rPr>')
    words = t("go", '<a:rPr><a:sym typeface="Wingdings"/></a:rPr>')
    body = p(words, t(" one "), arrow, t(" and two "), alpha, t(" on"))
    assert readable_texts(opened(pptx(body))) == ["<0>go</0> one <1/> and two <2/> on"]
    assert slide_after(lambda text: text.replace("two", "2"), body) == body.replace("two", "2")


def test_slides_come_in_their_order_each_with_its_notes_and_masters_stay() -> None:
    others = {
        "ppt/slideMasters/slideMaster1.xml": slide_xml(p(t("Master"))),
        "ppt/slideLayouts/slideLayout1.xml": slide_xml(p(t("Layout"))),
        "ppt/notesSlides/notesSlide1.xml": slide_xml(p(t("Notes"))),
        "ppt/comments/comment1.xml": f"<p:cmLst {NAMESPACES}><p:cm><p:text>Why &amp;\nhow"
        "</p:text></p:cm></p:cmLst>",
        "ppt/vbaProject.bin": b"\0 macro",
        "ppt/embeddings/a.docx": b"PK",
    }
    relations = {
        "ppt/slides/slide2.xml": {
            "rId1": "slideLayout ../slideLayouts/slideLayout1.xml",
            "rId2": "notesSlide ../notesSlides/notesSlide1.xml",
            "rId3": "comments ../comments/comment1.xml",
            "rId4": "package ../embeddings/a.docx",
        },
        "ppt/slideLayouts/slideLayout1.xml": {"a": "slideMaster ../slideMasters/slideMaster1.xml"},
    }
    data = pptx(p(t("One")), p(t("Two")), parts=others, relations=relations)
    document = opened(data)
    assert readable_texts(document) == ["One", "Why &<0 br/>how", "Notes", "Two"]
    assert document.skipped == ["ppt/slides/slide2.xml: the embedded file ppt/embeddings/a.docx"]
    new = translated(document, str.upper)
    assert described(new) == described(data)
    for name in [*others][:2] + [*others][4:]:
        assert members(new)[name] == members(data)[name]
    assert readable_texts(opened(new)) == ["ONE", "WHY &<0 br/>HOW", "NOTES", "TWO"]


def test_smartart_and_its_drawing_get_one_translation() -> None:
    def diagram(root: str, *paragraphs: str) -> str:
        return f"<{root} {NAMESPACES}>{''.join(paragraphs)}</{root}>"

    first, second = p(t("Plan")), p(t("Do "), t("it", BOLD))
    parts = {
        "ppt/diagrams/data1.xml": diagram("dataModel", first, second),
        "ppt/diagrams/drawing1.xml": diagram("drawing", second, first, p(t("More"))),
        "ppt/diagrams/layout1.xml": diagram("layoutDef", p(t("Layout"))),
    }
    relations = {
        SLIDE: {
            "rId1": "diagramData ../diagrams/data1.xml",
            "rId2": "diagramLayout ../diagrams/layout1.xml",
            "rId3": "diagramDrawing ../diagrams/drawing1.xml",
        }
    }
    document = opened(pptx(p(t("Plan")), parts=parts, relations=relations))
    assert readable_texts(document) == ["Plan", "Plan", "Do <0>it</0>", "More"]
    new = members(document.render(["A", "B", f"{O0}Tu{C0} es", "D"]))
    assert new["ppt/diagrams/data1.xml"].decode() == diagram(
        "dataModel", p(t("B")), p(t("Tu", BOLD), t(" es"))
    )
    assert new["ppt/diagrams/drawing1.xml"].decode() == diagram(
        "drawing", p(t("Tu", BOLD), t(" es")), p(t("B")), p(t("D"))
    )
    assert b"Layout" in new["ppt/diagrams/layout1.xml"]


CHART_PART, BOOK = "ppt/charts/chart1.xml", "ppt/embeddings/book1.xlsx"


def chart(*labels: str) -> str:
    points = "".join(f'<c:pt idx="0"><c:v>{label}</c:v></c:pt>' for label in labels)
    return (
        f'<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
        f'xmlns:a="{A}"><c:title><c:tx><c:rich>{p(t("A title"))}</c:rich></c:tx></c:title>'
        f"<c:cat><c:strRef><c:f>A1</c:f><c:strCache>{points}</c:strCache></c:strRef></c:cat>"
        "</c:chartSpace>"
    )


def with_chart(labels: list[str], book: str | bytes, source: str = "") -> bytes:
    return pptx(
        p(t("One")),
        parts={CHART_PART: chart(*labels), BOOK: book},
        relations={
            SLIDE: {"rId1": "chart ../charts/chart1.xml"},
            CHART_PART: {"rId1": f"package {source or '../embeddings/book1.xlsx'}"},
        },
    )


def test_a_second_chart_of_a_workbook_changes_the_same_labels() -> None:
    data = with_chart(["Sales"], workbook("<si><t>Sales</t></si><si><t>Tea</t></si>"))
    of_slide, of_chart = "ppt/slides/_rels/slide1.xml.rels", "ppt/charts/_rels/chart1.xml.rels"
    end = b"</Relationships>"
    further = b'<Relationship Id="rId2" Type="x/chart" Target="../charts/chart2.xml"/>'
    second = {
        "ppt/charts/chart2.xml": chart("Sales", "Tea").encode(),
        of_chart.replace("1", "2"): members(data)[of_chart],
        of_slide: members(data)[of_slide].replace(end, further + end),
    }
    document = opened(with_members(data, second))
    assert document.texts == ["One", "A title", "Sales"]
    assert document.skipped == ["ppt/charts/chart2.xml: its labels 'Tea'"]
    new = members(translated(document, str.upper))["ppt/charts/chart2.xml"].decode()
    assert new == chart("SALES", "Tea").replace("A title", "A TITLE")


def strings_of(data: bytes) -> str:
    new = members(members(data)[BOOK])["xl/sharedStrings.xml"].decode()
    return " | ".join(re.findall("<t[^>]*>(.*?)</t>", new))


def test_the_labels_of_a_chart_change_in_its_workbook_too() -> None:
    strings = "".join(f"<si><t>{each}</t></si>" for each in ("Sales", "Tea", "Help", "Done"))
    table = (
        '<table xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><tableColumns>'
        '<tableColumn name="Sales"/><tableColumn name=" "/></tableColumns></table>'
    )
    book = workbook(
        strings,
        '<row r="1"><c r="A1"><f>IF(A2="Done",1)</f><v>1</v></c></row>',
        parts={"xl/tables/table1.xml": table},
        relations={"xl/worksheets/sheet1.xml": {"rId1": "table ../tables/table1.xml"}},
    )
    data = with_chart(["Sales", "Tea", "Done", "Total"], book)
    document = opened(data)
    assert document.render(document.texts) == data
    assert document.texts == ["One", "A title", "Sales", "Tea", "Total"]
    assert document.skipped == [
        f"{CHART_PART}: the cells of its labels 'Total'",
        f"{CHART_PART}: formulas compare cells with 'Done'",
    ]
    new = translated(document, str.upper)
    assert members(new)[CHART_PART].decode() == (
        chart("SALES", "TEA", "Done", "TOTAL").replace("A title", "A TITLE")
    )
    assert strings_of(new) == "SALES | TEA | Help | Done"
    found = members(members(new)[BOOK])["xl/tables/table1.xml"].decode()
    assert found == table.replace("Sales", "SALES")


@pytest.mark.parametrize(
    ("book", "source", "report"),
    [
        (b"PK", "", f"{CHART_PART}: its workbook {BOOK} (the file is not a valid zip archive"),
        (workbook(), "http://x/book.xlsx", f"{CHART_PART}: its workbook, which is another file"),
        (workbook("<si>"), "", f"{CHART_PART}: its workbook {BOOK} (xl/sharedStrings.xml, line"),
    ],
)
def test_a_chart_whose_workbook_cannot_be_read_is_reported(
    book: bytes, source: str, report: str
) -> None:
    document = opened(with_chart(["Sales"], book, source))
    assert document.texts == ["One", "A title", "Sales"]
    assert len(document.skipped) == 1 and document.skipped[0].startswith(report)
    assert members(translated(document, str.upper))[BOOK] == book


def test_workbooks_of_charts_have_a_limit_of_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yakusu.documents.office.ooxml.graphics._MAX_WORKBOOKS", 100)
    document = opened(with_chart(["Sales"], workbook("<si><t>Sales</t></si>")))
    assert "bytes when decompressed, more than 100" in document.skipped[0]


def test_a_paragraph_turns_if_its_translation_has_the_other_direction() -> None:
    left, right = "Good morning", "صباح الخير"
    assert slide_after(lambda _: right, p(t(left))) == p('<a:pPr rtl="1"/>', t(right))
    for before, after in (
        ('<a:pPr lvl="1" algn="l"><a:buNone/></a:pPr>', '<a:pPr lvl="1" algn="r" rtl="1">'),
        ('<a:pPr algn="ctr" rtl="0"><a:buNone/></a:pPr>', '<a:pPr algn="ctr" rtl="1">'),
    ):
        new = slide_after(lambda _: right, p(before, t(left)))
        assert new == p(f"{after}<a:buNone/></a:pPr>", t(right))
    turned = p('<a:pPr algn="r" rtl="1"/>', t(right))
    assert slide_after(lambda _: left, turned) == p('<a:pPr algn="l" rtl="0"/>', t(left))
    assert slide_after(lambda _: right + "!", turned) == turned.replace(right, right + "!")
    assert slide_after(lambda _: f"{left} {right}", p(t(f"{left} {right}!"))).count("rtl") == 0


def test_a_paragraph_that_turns_changes_the_side_that_it_inherits() -> None:
    def shape(placeholder: str, style: str = "", text: str = "a") -> str:
        style = style and f'<a:lstStyle><a:lvl1pPr algn="{style}"/></a:lstStyle>'
        return (
            f"<p:sp><p:nvSpPr><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr>"
            f"<p:txBody>{style}{p(t(text))}</p:txBody></p:sp>"
        )

    title, body, other = (f'<p:ph type="{kind}" idx="1"/>' for kind in ("ctrTitle", "body", "dt"))
    master = "".join(
        f'<p:{name}><a:lvl1pPr algn="{side}"/></p:{name}>'
        for name, side in (("titleStyle", "ctr"), ("bodyStyle", "l"), ("otherStyle", "l"))
    )
    parts = {
        "ppt/layout.xml": slide_xml(shape(other, "r")),
        "ppt/master.xml": slide_xml(shape(other, "l") + master),
    }
    relations = {
        SLIDE: {"a": "slideLayout ../layout.xml"},
        "ppt/layout.xml": {"a": "slideMaster master.xml"},
    }
    shapes = [
        shape(title),
        shape(body),
        shape(other),
        shape(""),
        shape(body, "ctr"),
        shape("<p:ph/>"),
    ]
    cell = f"<a:tbl><a:tc>{p(t('a'))}</a:tc></a:tbl>"
    data = pptx("".join(shapes) + cell, parts=parts, relations=relations)
    new = members(translated(opened(data), lambda _: "ב"))[SLIDE].decode()
    found = ["r" in each for each in re.findall(r"<a:pPr( algn=.r.)? rtl=", new)]
    assert found == [False, True, False, True, False, True, True]


@pytest.mark.parametrize(
    "kind",
    [
        "application/vnd.openxmlformats-officedocument.presentationml.template.main+xml",
        "application/vnd.openxmlformats-officedocument.presentationml.slideshow.main+xml",
        "application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml",
    ],
)
def test_templates_and_presentations_with_macros_are_read(kind: str) -> None:
    data = pptx(p(t("one")))
    types = members(data)["[Content_Types].xml"].decode()
    types = re.sub("application/[a-z.-]*presentation.main.xml", kind, types)
    assert opened(with_members(data, {"[Content_Types].xml": types.encode()})).texts == ["one"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({SLIDE: b"<a><b></a>"}, f"{SLIDE}, line 1, column 9 is not well-formed XML"),
        ({SLIDE: b"<a>" * 300}, "more than 256 levels of elements"),
        ({"ppt/_rels/presentation.xml.rels": b"<a"}, "presentation.xml.rels, line 1"),
        ({"ppt/_rels/presentation.xml.rels": b"<a/>"}, "the file lacks a slide: obtain it again"),
        ({"[Content_Types].xml": b"<Types/>"}, "the archive has no PowerPoint presentation: save"),
    ],
)
def test_invalid_presentations_are_refused(change: dict[str, bytes], words: str) -> None:
    with pytest.raises(DataError) as error:
        opened(with_members(pptx(p(t("one"))), change))
    assert words in str(error.value)


MIXTURES = st.lists(
    st.sampled_from(
        [
            *(t("one "), t("two", BOLD), t(" three", '<a:rPr i="1"/>'), t("\t"), t("a_x000B_b")),
            *("<a:br/>", '<a:fld type="slidenum"><a:t>3</a:t></a:fld>', t(""), "\n  "),
        ]
    ),
    max_size=8,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(MIXTURES, max_size=3))
def test_any_mixture_of_contents_is_read_again_as_its_translation(
    paragraphs: list[list[str]],
) -> None:
    data = pptx("".join(p("<a:pPr/>", *each) for each in paragraphs))
    document = opened(data)
    assert document.render(document.texts) == data
    again = opened(translated(document, str.upper))
    assert again.texts == [text.upper() for text in document.texts]
