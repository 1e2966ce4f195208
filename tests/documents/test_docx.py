"""Word documents keep everything but the texts of their paragraphs."""

import io
import re
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.packages import workbook
from tests.documents.shared import (
    C0,
    E0,
    O0,
    O1,
    described,
    members,
    readable,
    readable_texts,
    reversed_words,
    translated,
    with_members,
    within,
)
from yakusu.data.lines.private_use import MAX_MARKS
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.docx import read
from yakusu.errors import DataError

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MAIN = "word/document.xml"
NAMESPACES = (
    f'xmlns:w="{W}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
HEADER = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'


def saved(document: Any) -> bytes:
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


KIND = "application/vnd.openxmlformats-officedocument.wordprocessingml."
PACKAGE = "http://schemas.openxmlformats.org/package/2006/"
EMPTY = with_members(
    b"PK\x05\x06" + bytes(18),
    {
        "[Content_Types].xml": (
            f'<Types xmlns="{PACKAGE}content-types"><Default Extension="rels" ContentType='
            '"application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/{MAIN}" ContentType="{KIND}document.main+xml"/></Types>'
        ).encode(),
        "_rels/.rels": (
            f'<Relationships xmlns="{PACKAGE}relationships"><Relationship Id="rId1" Type='
            '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"'
            f' Target="{MAIN}"/></Relationships>'
        ).encode(),
        MAIN: b"<a/>",
    },
)


def document_xml(body: str) -> str:
    return f"{HEADER}<w:document {NAMESPACES}><w:body>{body}<w:sectPr/></w:body></w:document>"


def docx_of(body: str, **parts: str) -> bytes:
    return with_members(
        EMPTY,
        {MAIN: document_xml(body).encode()}
        | {f"word/{name}.xml": xml.encode() for name, xml in parts.items()},
    )


def run(text: str, properties: str = "") -> str:
    properties = properties and f"<w:rPr>{properties}</w:rPr>"
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def p(*contents: str) -> str:
    return f"<w:p>{''.join(contents)}</w:p>"


def opened(data: bytes) -> Document:
    return read(data, DocumentOptions())


def texts(*contents: str) -> list[str]:
    """The texts of a paragraph, readable."""
    return readable_texts(opened(docx_of(p(*contents))))


def body_after(translate: Callable[[str], str], body: str) -> str:
    data = translated(opened(docx_of(body)), translate)
    return within(members(data)[MAIN], document_xml("|"))


def message(data: bytes) -> str:
    with pytest.raises(DataError) as error:
        opened(data)
    return str(error.value)


BOLD, ITALIC = "<w:b/>", "<w:i/>"
FIELD = (
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> {} </w:instrText></w:r>'
    '<w:r><w:fldChar w:fldCharType="separate"/></w:r>{}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
)


def test_runs_of_equal_formatting_are_one_text() -> None:
    noise = '<w:noProof/><w:lang w:val="de-DE"/>'
    assert texts(run("Wor"), run("d", noise), run(" order", '<w:rFonts w:hint="eastAsia"/>')) == [
        "Word order"
    ]


def test_spelling_marks_ends_of_pages_and_soft_hyphens_split_no_word() -> None:
    broken = "<w:r><w:lastRenderedPageBreak/><w:t>d</w:t></w:r>"
    assert texts(run("wor"), '<w:proofErr w:type="spellStart"/>', run("l"), broken) == ["world"]
    assert texts("<w:r><w:t>wor</w:t><w:softHyphen/><w:t>ld</w:t></w:r>") == ["world"]


def test_the_rarer_formatting_has_marks() -> None:
    assert texts(run("Press "), run("Start", BOLD), run(" to begin.")) == [
        "Press <0>Start</0> to begin."
    ]
    assert texts(run("No", ITALIC), run(", press it.", BOLD)) == ["<0>No</0>, press it."]


def test_spaces_stay_out_of_marks_and_wide_spaces_are_marks() -> None:
    assert texts(run("Press"), run(" Start ", BOLD), run("now.")) == ["Press <0>Start</0> now."]
    assert texts(run("One"), run(" ", BOLD), run("two.")) == ["One two."]
    blank = run("     ", '<w:u w:val="single"/>')
    assert texts(run("Name:"), blank, run("Date:")) == ["Name:<0/>Date:"]


def test_a_stretch_is_written_as_one_run_with_its_formatting() -> None:
    body = p("<w:pPr><w:jc/></w:pPr>", run("Pre"), run("ss "), run("Start", BOLD), run(" now"))
    new = body_after(lambda _: f"Jetzt {O0}Start{C0} & los", body)
    assert new == p("<w:pPr><w:jc/></w:pPr>", run("Jetzt "), run("Start", BOLD), run(" &amp; los"))


def test_tabs_breaks_pictures_and_notes_are_empty_marks() -> None:
    tab, picture = "<w:r><w:tab/></w:r>", "<w:r><w:drawing/></w:r>"
    note = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    assert texts(run("a"), tab, run("b"), "<w:r><w:br/></w:r>", note, run("c"), picture) == [
        "a<0 br/>b<1 br/>c"
    ]


def test_only_breaks_of_lines_are_line_breaks() -> None:
    page, line = '<w:r><w:br w:type="page"/></w:r>', '<w:r><w:br w:type="textWrapping"/></w:r>'
    assert texts(run("a"), page, run("b"), line, run("c"), "<w:r><w:cr/></w:r>", run("d")) == [
        "a<0/>b<1 br/>c<2 br/>d"
    ]


def test_what_is_around_the_text_stays() -> None:
    tab = '<w:r w:rsidR="1"><w:rPr><w:b/></w:rPr><w:tab/></w:r>'
    body = p(tab, run("  one "), "<w:r><w:t>two</w:t><w:tab/></w:r>", tab)
    assert texts(tab, run("  one "), run("two"), tab) == ["one two"]
    assert body_after(lambda _: "zwei", body) == p(tab, run("  zwei"), "<w:r><w:tab/></w:r>", tab)


def test_pieces_of_a_run_stay_in_one_run() -> None:
    body = p("<w:r><w:t>one</w:t><w:tab/><w:t>two</w:t></w:r>")
    preserved = '<w:t xml:space="preserve">'
    assert body_after(str.upper, body) == p(
        f"<w:r>{preserved}ONE</w:t><w:tab/>{preserved}TWO</w:t></w:r>"
    )


def test_text_in_links_content_controls_and_insertions_is_a_pair() -> None:
    for before, after in [
        ('<w:hyperlink r:id="rId1">', "</w:hyperlink>"),
        ("<w:sdt><w:sdtPr><w:id/></w:sdtPr><w:sdtContent>", "</w:sdtContent></w:sdt>"),
        ('<w:ins w:id="1" w:author="A">', "</w:ins>"),
        ('<w:smartTag w:element="x"><w:smartTagPr/>', "</w:smartTag>"),
    ]:
        contents = (run("See "), before, run("this", BOLD), after, run(" page"))
        assert texts(*contents) == ["See <0>this</0> page"]
        assert body_after(lambda _: f"{O0}Das{C0} siehe", p(*contents)) == p(
            before, run("Das", BOLD), after, run(" siehe")
        )


def test_a_pair_around_the_whole_text_has_no_marks() -> None:
    contents = ("<w:hyperlink>", run("This", BOLD), run(" page", BOLD), "</w:hyperlink>")
    assert texts(*contents) == ["This page"]
    assert body_after(lambda _: "X", p(*contents)) == p(
        "<w:hyperlink>", run("X", BOLD), "</w:hyperlink>"
    )


def test_deleted_text_stays_and_is_not_translated() -> None:
    deleted = '<w:del w:id="1"><w:r><w:delText>very </w:delText></w:r></w:del>'
    moved = f'<w:moveFrom w:id="2">{run("gone")}</w:moveFrom>'
    assert texts(run("a "), deleted, run("word"), moved) == ["a <0/>word"]
    assert body_after(lambda _: f"Wort {E0}!", p(run("a "), deleted, run("word"), moved)) == p(
        run("Wort "), deleted, run("!"), moved
    )


def test_computed_fields_stay_and_the_text_of_links_is_translated() -> None:
    page = FIELD.format("PAGE", run("7"))
    assert texts(run("Page "), page, run(" of ten")) == ["Page <0/> of ten"]
    link = FIELD.format('HYPERLINK "http://x"', run("this page"))
    assert texts(run("See "), link, run(" now")) == ["See <0>this page</0> now"]
    toc = FIELD.format("TOC", run("One ") + FIELD.format("PAGEREF _Toc1", run("3")))
    assert texts(toc) == ["One"]
    simple = f'<w:fldSimple w:instr=" DATE ">{run("May 1")}</w:fldSimple>'
    assert texts(run("On "), simple, run(" we met")) == ["On <0/> we met"]


def test_a_field_keeps_its_codes() -> None:
    body = p(run("Page "), FIELD.format("PAGE", run("7")), run(" of ten"))
    assert body_after(lambda t: t.replace("Page", "Seite").replace("of ten", "von zehn"), body) == (
        body.replace("Page", "Seite").replace("of ten", "von zehn")
    )


def test_a_field_over_several_paragraphs_keeps_its_ends() -> None:
    begin, end = FIELD.format("TOC", "|").split("|")
    body = p(begin, run("One")) + p(run("Two"), end)
    assert body_after(str.upper, body) == body.replace("One", "ONE").replace("Two", "TWO")


def test_a_paragraph_and_its_runs_turn_if_the_translation_has_the_other_direction() -> None:
    left, right = "Good morning", "صباح الخير"
    new = body_after(lambda _: right, p(run(left)))
    assert new == p("<w:pPr><w:bidi/></w:pPr>", run(right, "<w:rtl/>"))
    properties = '<w:pPr><w:keepNext/>{}<w:jc w:val="left"/><w:rPr><w:b/></w:rPr></w:pPr>'
    style = '<w:b/><w:i w:val="1"/><w:iCs/><w:sz w:val="20"/>{}<w:lang w:val="en-US"/>'
    new = body_after(lambda _: right, p(properties.format(""), run(left, style.format(""))))
    turned = style.replace("<w:b/>", "<w:b/><w:bCs/>").replace(
        '<w:sz w:val="20"/>', '<w:sz w:val="20"/><w:szCs w:val="20"/>'
    )
    turned = p(properties.format("<w:bidi/>"), run(right, turned.format("<w:rtl/>")))
    assert new == turned
    back = body_after(lambda _: left, turned)
    assert back == turned.replace(right, left).replace("<w:bidi/>", '<w:bidi w:val="0"/>').replace(
        "<w:rtl/>", '<w:rtl w:val="0"/>'
    )
    empty = "<w:pPr/><w:r><w:rPr/><w:t>a</w:t></w:r>"
    assert body_after(lambda _: "ب", p(empty)) == p(
        "<w:pPr><w:bidi/></w:pPr>", run("ب", "<w:rtl/>")
    )
    assert body_after(lambda _: f"{right}!", p(run(right))) == p(run(f"{right}!"))


def test_formulas_stay() -> None:
    formula = "<m:oMath><m:r><m:t>alpha</m:t></m:r></m:oMath>"
    assert texts(run("where "), formula, run(" is an angle")) == ["where <0/> is an angle"]
    assert texts(formula) == []


def test_bookmarks_and_comments_enclose_the_same_words() -> None:
    start, end = '<w:bookmarkStart w:id="1" w:name="x"/>', '<w:bookmarkEnd w:id="1"/>'
    assert texts(run("one "), start, run("two"), end, run(" three")) == ["one <0>two</0> three"]
    noted = '<w:commentRangeStart w:id="1"/>', '<w:commentRangeEnd w:id="1"/>'
    crossing = (run("a "), start, run("b "), noted[0], run("c "), end, run("d "), noted[1])
    assert texts(*crossing, run("e")) == ["a <0/>b <1>c <2/>d </1>e"]


def test_a_bookmark_around_nothing_is_a_pair_of_marks_around_nothing() -> None:
    point = '<w:bookmarkStart w:id="1" w:name="x"/><w:bookmarkEnd w:id="1"/>'
    link = '<w:hyperlink w:anchor="x"></w:hyperlink>'
    for empty in (point, link):
        for before, after in (("one ", "two"), ("one", " two"), ("o", "ne two")):
            assert texts(run(before), empty, run(after)) == [f"{before}<0></0>{after}"]
            body = p(run(before), empty, run(after))
            assert body_after(str.upper, body) == p(run(before.upper()), empty, run(after.upper()))


def test_the_place_of_the_last_change_splits_no_word() -> None:
    cursor = '<w:bookmarkStart w:id="0" w:name="_GoBack"/><w:bookmarkEnd w:id="0"/>'
    assert texts(run("wo"), cursor, run("rd")) == ["word"]
    assert body_after(str.upper, p(run("wo"), cursor, run("rd"))) == p(run("WORD"), cursor)


def test_phonetic_guides_leave_a_translated_paragraph() -> None:
    ruby = (
        "<w:r><w:ruby><w:rubyPr/><w:rt><w:r><w:t>かん</w:t></w:r></w:rt>"
        f"<w:rubyBase>{run('漢')}</w:rubyBase></w:ruby></w:r>"
    )
    assert texts(run("これは"), ruby, run("字です")) == ["これは漢字です"]
    assert body_after(lambda _: "kanji", p(run("これは"), ruby)) == p(run("kanji"))


def test_hyphens_that_do_not_break_are_characters() -> None:
    assert texts("<w:r><w:t>e</w:t><w:noBreakHyphen/><w:t>mail</w:t></w:r>") == ["e\u2011mail"]


def test_characters_that_are_marks_stay() -> None:
    assert texts(run(f"press {O1} now")) == ["press <0/> now"]
    assert body_after(str.upper, p(run(f"press {O1} now"))) == p(run(f"PRESS {O1} NOW"))


def test_paragraphs_without_letters_are_no_texts() -> None:
    assert texts(run("1,234.5 %")) == []


BOX = "<w:txbxContent>{}</w:txbxContent>"
SHAPE = (
    "<w:r><mc:AlternateContent><mc:Choice><w:drawing>{0}</w:drawing></mc:Choice>"
    "<mc:Fallback><w:pict><v:textbox>{1}</v:textbox></w:pict></mc:Fallback>"
    "</mc:AlternateContent></w:r>"
)


def test_both_copies_of_a_text_box_get_one_translation() -> None:
    box = BOX.format(p(run("In")) + p(run("Side")) + p(run("In")))
    body = p(run("Out "), SHAPE.format(box, box), run("side"))
    document = opened(docx_of(body))
    assert readable_texts(document) == ["Out <0/>side", "In", "Side", "In"]
    new = document.render([document.texts[0], "1", "2", "3"])
    xml = members(new)[MAIN].decode()
    assert re.findall("<w:t [^>]*>(.*?)</w:t>", xml) == ["Out ", *"123123", "side"]


def test_text_boxes_are_translated_with_and_without_the_paragraph_around() -> None:
    body = p(run("Out "), SHAPE.format(BOX.format(p(run("In"))), BOX.format(p(run("Other")))))
    document = opened(docx_of(body))
    assert list(document.texts) == ["Out", "In", "Other"]
    for changed in range(3):
        new = [t.upper() if i == changed else t for i, t in enumerate(document.texts)]
        found = re.findall("<w:t [^>]*>(.*?)</w:t>", members(document.render(new))[MAIN].decode())
        assert [t.strip() for t in found if t.strip()] == new


def test_crossing_pairs_give_valid_xml() -> None:
    body = p("<w:hyperlink>", run("one"), "</w:hyperlink>", "<w:ins>", run("two"), "</w:ins>")
    document = opened(docx_of(body))
    assert readable(document.texts[0]) == "<0>one</0><1>two</1>"
    one, two = C0, O1
    new = document.render([document.texts[0].replace(one + two, two + one)])
    assert docx.Document(io.BytesIO(new)).element.xml.count("hyperlink") == 2


def test_a_paragraph_with_more_marks_than_there_are_numbers_stays() -> None:
    tabs = "<w:r><w:t>a</w:t><w:tab/></w:r>"
    assert len(texts(tabs * (MAX_MARKS - 1), run("b"))) == 1
    assert texts(tabs * MAX_MARKS, run("b")) == []


def test_characters_that_xml_does_not_allow_are_left_out() -> None:
    assert body_after(lambda _: "a\0b\ud800c\uffff<\n", p(run("x"))) == p(run("abc&lt; "))


def test_headers_footers_notes_and_comments_are_translated_in_reading_order() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Text")
    document.add_comment(paragraph.runs, "Comment")
    document.sections[0].footer.paragraphs[0].text = "Footer"
    document.sections[0].header.paragraphs[0].text = "Header"
    data = saved(document)
    types = members(data)["[Content_Types].xml"].decode()
    extra = "".join(
        f'<Override PartName="/word/{name}.xml" ContentType="{KIND}{name}+xml"/>'
        for name in ("footnotes", "endnotes")
    )
    notes = {
        f"word/{name}.xml": f"<w:{name} {NAMESPACES}>{p(run(name))}</w:{name}>".encode()
        for name in ("endnotes", "footnotes")
    }
    types = types.replace("</Types>", f"{extra}</Types>")
    data = with_members(data, notes | {"[Content_Types].xml": types.encode()})
    found = opened(data)
    assert list(found.texts) == ["Text", "Header", "Footer", "footnotes", "endnotes", "Comment"]
    again = opened(translated(found, str.upper))
    assert list(again.texts) == [text.upper() for text in found.texts]


def test_strict_documents_and_other_prefixes_are_read() -> None:
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    xml = f'<document xmlns="{strict}"><body><p><r><t>one</t></r></p></body></document>'
    data = with_members(EMPTY, {MAIN: xml.encode()})
    new = members(opened(data).render(["two"]))[MAIN].decode()
    assert new == xml.replace("<t>one", '<t xml:space="preserve">two')


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "utf-8-sig", "latin-1", "gb18030"])
def test_the_encoding_of_a_part_stays(encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    xml = document_xml(p(run("größer"))).replace("UTF-8", declared)
    data = with_members(EMPTY, {MAIN: xml.encode(encoding)})
    new = members(opened(data).render(["weiß € "]))[MAIN]
    euro = "&#8364;" if encoding == "latin-1" else "€"
    assert new == xml.replace("größer", f"weiß {euro} ").encode(encoding)


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        ("<a><b></a>", "word/document.xml, line 1, column 9 is not well-formed XML"),
        ("", "word/document.xml, line 1, column 1 is not well-formed XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>\n<a>&b;</a>', "the DOCTYPE has declarations"),
        ("<a>" * 300, "more than 256 levels of elements"),
        ('<!DOCTYPE a SYSTEM "b">\n<a>&c;</a>', "line 2: the entity c is not defined"),
        ('<?xml version="1.0" encoding="unicode_escape"?><a/>', "the encoding unicode_escape is"),
        ('<?xml version="1.0" encoding="none"?><a/>', "the encoding none is unknown"),
        ("<\0a\0/\0>\0\0\0", "line 1 contains a NUL character"),
    ],
)
def test_invalid_xml_is_refused(xml: str, words: str) -> None:
    assert words in message(with_members(EMPTY, {MAIN: xml.encode()}))


@pytest.mark.parametrize(
    "kind",
    [
        "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
        "application/vnd.ms-word.document.macroEnabled.main+xml",
        "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    ],
)
def test_templates_and_documents_with_macros_are_read(kind: str) -> None:
    data = docx_of(p(run("one")))
    types = members(data)["[Content_Types].xml"].decode().replace(f"{KIND}document.main+xml", kind)
    data = with_members(data, {"[Content_Types].xml": types.encode()})
    assert list(opened(data).texts) == ["one"]


def with_types(types: str, **parts: bytes) -> bytes:
    """A document with one paragraph, other content types and more parts."""
    xml = f'<Types xmlns="{PACKAGE}content-types">{types}</Types>'.encode()
    return with_members(docx_of(p(run("one"))), {"[Content_Types].xml": xml, **parts})


def test_the_type_of_a_part_may_be_the_default_of_its_extension() -> None:
    types = (
        f'<Default Extension="xml" ContentType="{KIND}document.main+xml"/>'
        '<Override PartName="/custom/item.xml" ContentType="application/xml"/>'
    )
    others = {"custom/item.xml": b"<a", "docProps/core.xml": b"not XML"}
    assert list(opened(with_types(types, **others)).texts) == ["one"]
    assert "is not well-formed" in message(with_types(types, **{MAIN: b"<a"}))
    header = f'<Override PartName="/{MAIN}" ContentType="{KIND}header+xml"/>'
    assert "has no Word document" in message(with_types(types + header))


def test_case_has_no_meaning_in_names_of_parts_and_types() -> None:
    for types in (
        f'<Override PartName="/WORD/Document.XML" ContentType="{KIND}document.main+xml"/>',
        f'<Default Extension="XML" ContentType="{KIND.upper()}DOCUMENT.MAIN+XML"/>',
    ):
        assert list(opened(with_types(types)).texts) == ["one"]
    renamed = members(docx_of(p(run("one"))))
    renamed["[content_types].xml"] = renamed.pop("[Content_Types].xml")
    assert list(opened(with_members(b"PK\x05\x06" + bytes(18), renamed)).texts) == ["one"]


def test_a_paragraph_with_too_many_elements_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yakusu.data.files.xmltree._MAX_NODES", 100)
    told = message(docx_of(f"<w:p>{'<w:r/>' * 100}</w:p>"))
    assert told == (
        f"{MAIN}, line 2: the element <p> contains more than 100 elements, attributes and "
        "comments: divide it"
    )
    assert list(opened(docx_of(f"<w:p>{'<w:r/>' * 99}</w:p>" * 100)).texts) == []


def test_the_name_of_a_part_may_have_any_number_of_digits() -> None:
    data = docx_of(p(run("one")))
    types = members(data)["[Content_Types].xml"].replace(MAIN.encode(), b"9" * 5000)
    assert "has no Word document" in message(with_members(data, {"[Content_Types].xml": types}))


def test_other_archives_are_refused() -> None:
    assert "not a Word document" in message(with_members(b"PK\x05\x06" + bytes(18), {"a": b""}))
    types = members(EMPTY)["[Content_Types].xml"].replace(b"wordprocessingml", b"spreadsheetml")
    assert "has no Word document" in message(with_members(EMPTY, {"[Content_Types].xml": types}))


WORDS = st.text(st.sampled_from("ab é漢 "), max_size=6)
STYLES = st.sets(st.sampled_from(["bold", "italic", "underline"]))
PARAGRAPHS = st.lists(st.lists(st.tuples(WORDS, STYLES), max_size=5), max_size=4)


def made(paragraphs: Sequence[Sequence[tuple[str, set[str]]]]) -> bytes:
    document = docx.Document(io.BytesIO(docx_of("")))
    cell = document.add_table(1, 1).cell(0, 0)
    for i, runs in enumerate(paragraphs):
        paragraph = (cell if i % 2 else document).add_paragraph()
        for text, styles in runs:
            new = paragraph.add_run(text)
            for style in styles:
                setattr(new, style, True)
    return saved(document)


def paragraphs_of(data: bytes) -> list[Any]:
    document = docx.Document(io.BytesIO(data))
    return [*document.paragraphs, *document.tables[0].cell(0, 0).paragraphs]


def styled(data: bytes) -> list[Counter[tuple[object, ...]]]:
    """The number of visible characters of each formatting, in each paragraph."""
    return [
        sum(
            (
                Counter({(r.bold, r.italic, r.underline): len("".join(r.text.split()))})
                for r in paragraph.runs
            ),
            Counter(),
        )
        for paragraph in paragraphs_of(data)
    ]


@settings(deadline=None, max_examples=50)
@given(PARAGRAPHS)
def test_texts_that_do_not_change_leave_the_same_bytes(paragraphs: Any) -> None:
    data = made(paragraphs)
    document = opened(data)
    assert document.render(document.texts) == data


@settings(deadline=None, max_examples=50)
@given(PARAGRAPHS)
def test_all_else_stays_if_all_texts_change(paragraphs: Any) -> None:
    data = made(paragraphs)
    document = opened(data)
    new = translated(document, str.upper)
    assert described(new) == described(data)
    old_members, new_members = members(data), members(new)
    old_xml, new_xml = old_members.pop(MAIN), new_members.pop(MAIN)
    assert new_members == old_members
    runs = re.compile(rb"<w:r>.*?</w:r>|<w:r/>|\s+", re.DOTALL)
    assert runs.sub(b"", new_xml) == runs.sub(b"", old_xml)
    assert [q.text for q in paragraphs_of(new)] == [q.text.upper() for q in paragraphs_of(data)]


@settings(deadline=None, max_examples=50)
@given(PARAGRAPHS)
def test_styles_stay_on_as_many_characters_if_words_are_reversed(paragraphs: Any) -> None:
    data = made(paragraphs)
    document = opened(data)
    new = translated(document, reversed_words)
    assert [+count for count in styled(new)] == [+count for count in styled(data)]


MIXTURES = st.lists(
    st.sampled_from(
        [
            *(run("one "), run("two", BOLD), run(" three", ITALIC), "<w:r><w:tab/></w:r>"),
            *(FIELD.format("PAGE", run("3")), *FIELD.format("TOC", "|").split("|")),
            *('<w:bookmarkStart w:id="1"/>', '<w:bookmarkEnd w:id="1"/>'),
            *('<w:bookmarkStart w:id="2"/>', '<w:bookmarkEnd w:id="2"/>', "<w:proofErr/>"),
            SHAPE.format(BOX.format(p(run("box"))), ""),
        ]
    ),
    max_size=8,
)


@settings(deadline=None, max_examples=100)
@given(MIXTURES, MIXTURES)
def test_any_mixture_of_contents_is_read_again_as_its_translation(
    outside: list[str], inside: list[str]
) -> None:
    link = ("<w:hyperlink>", *inside, "</w:hyperlink>")
    data = docx_of(p(*outside, *link, *outside))
    document = opened(data)
    assert document.render(document.texts) == data
    again = opened(translated(document, str.upper))
    assert list(again.texts) == [text.upper() for text in document.texts]


def test_a_tag_with_too_many_attributes_is_refused() -> None:
    attributes = "".join(f' a{i}=">"' for i in range(20_000))
    assert list(opened(docx_of(f"<b{attributes}/>{p(run('one'))}")).texts) == ["one"]
    assert message(docx_of(f"<b{attributes} c='='/>")) == (
        f"{MAIN}, line 2: a tag has more than 20,000 attributes: correct the file"
    )
    text = "a=b &gt; " * 30_000
    assert list(opened(docx_of(f"<b>{text}</b>{p(run('one'))}")).texts) == ["one"]


def test_the_depth_of_fields_and_of_paragraphs_in_paragraphs_is_limited() -> None:
    begin, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "end"))
    assert texts(begin * 32 + end * 32 + run("one")) == ["one"]
    told = message(docx_of(p(begin * 33 + end * 33 + run("one"))))
    assert "nested more than 32 levels deep" in told
    box = "<w:r><w:pict>{}</w:pict></w:r>"
    nested = run("one")
    for _ in range(15):
        nested = run("two") + box.format(p(nested))
    assert list(opened(docx_of(p(nested))).texts) == ["two"] * 15 + ["one"]
    told = message(docx_of(p(run("two") + box.format(p(nested)))))
    assert told == (f"{MAIN}, line 2: paragraphs are nested more than 16 levels deep: flatten them")


def test_markup_that_would_be_written_many_times_is_refused() -> None:
    long = f'<w:r w:rsidR="{"0" * 50_000}"><w:t>a text that is longer than the others</w:t></w:r>'
    tabs = "<w:r><w:tab/></w:r><w:r><w:t>b</w:t></w:r>" * 100
    document = opened(docx_of(p(long, tabs)))
    unchanged = document.render(document.texts)
    assert members(unchanged)[MAIN] == document_xml(p(long, tabs)).encode()
    with pytest.raises(DataError, match="would grow more than 20 times"):
        document.render([text.replace("b", "c") for text in document.texts])


def test_a_large_part_is_parsed_with_constant_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yakusu.documents.office.parts._KEPT_SIZE", 0)
    peaks = []
    for n in (500, 2_000):
        data = docx_of(p(run("a")) * n)
        tracemalloc.start()
        document = opened(data)
        assert len(document.texts) == n
        new = members(document.render(["b"] * n))[MAIN]
        assert new == document_xml(p(run("b")) * n).encode()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 1_500 * 12 * len(p(run("a")))


def test_charts_and_their_workbooks_and_diagrams_change_with_the_text() -> None:
    names = "http://schemas.openxmlformats.org/drawingml/2006/"
    label = (
        f'<c:chartSpace xmlns:c="{names}chart"><c:strCache><c:pt idx="0"><c:v>Tea</c:v></c:pt>'
        "</c:strCache></c:chartSpace>"
    )
    diagram = f'<x xmlns:a="{names}main"><a:p><a:r><a:t>A step</a:t></a:r></a:p></x>'
    related = '<Relationships xmlns="' + PACKAGE + 'relationships">{}</Relationships>'
    one = '<Relationship Id="r{0}" Type="x/{0}" Target="{1}"/>'
    kinds = ("chart", "diagramData", "diagramDrawing")
    parts = {
        "word/_rels/document.xml.rels": related.format(
            "".join(one.format(kind, f"{kind}.xml") for kind in kinds)
            + one.format("oleObject", "o.bin")
        ),
        "word/_rels/chart.xml.rels": related.format(one.format("package", "book.xlsx")),
        **{"word/chart.xml": label, "word/diagramData.xml": diagram},
        **{"word/diagramDrawing.xml": diagram, "word/o.bin": "x"},
    }
    data = with_members(
        docx_of(p(run("Tea"))),
        {name: content.encode() for name, content in parts.items()}
        | {"word/book.xlsx": workbook("<si><t>Tea</t></si>")},
    )
    document = opened(data)
    assert document.render(document.texts) == data
    assert list(document.texts) == ["Tea", "Tea", "A step"]
    assert list(document.skipped) == [f"{MAIN}: the embedded file word/o.bin"]
    new = members(document.render(["Tee", "Kamille", "Schritt"]))
    assert new["word/chart.xml"].decode() == label.replace("Tea", "Kamille")
    assert b"<t>Kamille</t>" in members(new["word/book.xlsx"])["xl/sharedStrings.xml"]
    for kind in kinds[1:]:
        assert new[f"word/{kind}.xml"].decode() == diagram.replace("A step", "Schritt")
