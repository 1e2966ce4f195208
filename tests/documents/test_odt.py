"""OpenDocument texts keep everything but the texts of their paragraphs."""

import io
import re
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odf import teletype
from odf.opendocument import OpenDocumentText, load
from odf.style import Style, TextProperties
from odf.text import A, H, LineBreak, P, Span, Tab

from tests.documents.shared import (
    C0,
    O0,
    described,
    members,
    readable_texts,
    reversed_words,
    translated,
    with_members,
    within,
)
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.odt import read
from yakusu.errors import DataError

NAMES = "urn:oasis:names:tc:opendocument:xmlns:"
NAMESPACES = (
    "".join(f' xmlns:{name}="{NAMES}{name}:1.0"' for name in ("office", "style", "text"))
    + f' xmlns:format="{NAMES}xsl-fo-compatible:1.0" xmlns:draw="{NAMES}drawing:1.0"'
    ' xmlns:ooo="http://openoffice.org/2009/office" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
STYLES = (
    '<style:style style:name="T1" style:family="text">'
    '<style:text-properties ooo:rsid="0012" format:language="de" style:country-asian="JP"/>'
    '</style:style><style:style style:name="B" style:family="text">'
    '<style:text-properties format:font-weight="bold"/></style:style>'
)
CONTENT = "content.xml"


def content_xml(body: str) -> str:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content{NAMESPACES}>'
        f"<office:automatic-styles>{STYLES}</office:automatic-styles><office:body><office:text>"
        f"{body}</office:text></office:body></office:document-content>"
    )


def odt_of(body: str, **parts: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr(CONTENT, content_xml(body), zipfile.ZIP_DEFLATED)
        for name, xml in parts.items():
            archive.writestr(f"{name}.xml", xml, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def opened(data: bytes) -> Document:
    return read(data, DocumentOptions())


def texts(body: str) -> list[str]:
    return readable_texts(opened(odt_of(body)))


def body_after(translate: Callable[[str], str], body: str) -> str:
    data = translated(opened(odt_of(body)), translate)
    return within(members(data)[CONTENT], content_xml("|"))


def p(content: str) -> str:
    return f'<text:p text:style-name="P1">{content}</text:p>'


def span(style: str, content: str) -> str:
    return f'<text:span text:style-name="{style}">{content}</text:span>'


def test_spans_that_do_not_show_split_no_word() -> None:
    assert texts(p(f"Wor{span('T1', 'd')} order")) == ["Word order"]


def test_the_rarer_formatting_has_marks_and_keeps_its_span() -> None:
    body = p(f"Press {span('B', 'Start')} now")
    assert texts(body) == ["Press <0>Start</0> now"]
    assert body_after(lambda _: f"{O0}Los{C0} & jetzt", body) == p(
        f"{span('B', 'Los')} &amp; jetzt"
    )


def test_formatting_in_formatting_is_kept() -> None:
    body = p(f"a {span('B', 'b ' + span('Emphasis', 'c'))} delta")
    assert texts(body) == ["a <0>b</0> <1>c</1> delta"]
    assert body_after(str.upper, body) == p(
        f"A {span('B', 'B')} {span('B', span('Emphasis', 'C'))} DELTA"
    )


def test_tabs_breaks_fields_notes_and_comments_are_empty_marks() -> None:
    note = f"<text:note><text:note-citation>1</text:note-citation>{p('Below')}</text:note>"
    comment = f"<office:annotation><dc:creator>Ada</dc:creator>{p('Why?')}</office:annotation>"
    body = p(
        f"a<text:tab/>b{note} c<text:line-break/><text:page-number>1</text:page-number>d{comment} e"
    )
    assert texts(body) == ["a<0 br/>b<1/> c<2 br/>d<3/> e", "Below", "Why?"]
    assert body_after(str.upper, body) == re.sub(
        "(?<=>)[a-e]| [ce]|Below|Why", lambda match: match[0].upper(), body
    )


def test_the_text_of_a_link_is_a_pair() -> None:
    body = p(f'See <text:a href="x">{span("B", "this page")}</text:a> now')
    assert texts(body) == ["See <0>this page</0> now"]
    assert body_after(str.upper, body) == p(
        f'SEE <text:a href="x">{span("B", "THIS PAGE")}</text:a> NOW'
    )


def test_white_space_is_collapsed_and_wide_spaces_are_written_as_such() -> None:
    body = p('One.\n   Two.<text:s text:c="2"/>Three.')
    assert texts(body) == ["One. Two.  Three."]
    assert body_after(str.upper, body) == p('ONE. TWO.<text:s text:c="2"/>THREE.')


def test_an_indentation_stays() -> None:
    body = p('<text:s/>one<text:s text:c="3"/>')
    assert body_after(str.upper, body) == body.replace("one", "ONE")


def test_a_space_of_great_width_is_a_piece() -> None:
    for width in ("9999", "9" * 5000):
        assert texts(p(f'one<text:s text:c="{width}"/>two')) == ["one<0/>two"]


def test_a_point_of_the_text_is_a_pair_of_marks_around_nothing() -> None:
    for point in (
        '<text:bookmark text:name="x"/>',
        '<text:reference-mark text:name="x"/>',
        '<text:bookmark-start text:name="x"/><text:bookmark-end text:name="x"/>',
    ):
        assert texts(p(f"one {point}two")) == ["one <0></0>two"]
        assert body_after(str.upper, p(f"one{point} two")) == p(f"ONE{point} TWO")


def test_bookmarks_and_changes_enclose_the_same_words() -> None:
    for kind, name in (("bookmark", "name"), ("reference-mark", "name"), ("change", "change-id")):
        start, end = (f'<text:{kind}-{side} text:{name}="x"/>' for side in ("start", "end"))
        assert texts(p(f"one {start}two{end} three")) == ["one <0>two</0> three"]


def test_deleted_text_stays() -> None:
    deleted = (
        f"<text:tracked-changes><text:deletion>{p('gone')}</text:deletion></text:tracked-changes>"
    )
    body = deleted + p('one <text:change text:change-id="1"/>two')
    assert texts(body) == ["one <0/>two"]
    assert body_after(str.upper, body) == body.replace("one ", "ONE ").replace(">two", ">TWO")


def test_ends_of_pages_and_phonetic_guides_leave_a_translated_paragraph() -> None:
    base, guide = "<text:ruby-base>漢</text:ruby-base>", "<text:ruby-text>かん</text:ruby-text>"
    ruby = f"<text:ruby>{base}{guide}</text:ruby>"
    body = p(f"これは{ruby}字<text:soft-page-break/>です")
    assert texts(body) == ["これは漢字です"]
    assert body_after(lambda _: "kanji", body) == p("kanji")


def test_a_comment_keeps_its_place() -> None:
    body = p("one <!-- a note -->two")
    assert texts(body) == ["one <0/>two"]
    assert body_after(str.upper, body) == p("ONE <!-- a note -->TWO")


def test_text_boxes_in_a_paragraph_are_translated() -> None:
    body = p(f"Out <draw:frame><draw:text-box>{p('In')}</draw:text-box></draw:frame>side")
    assert texts(body) == ["Out <0/>side", "In"]
    assert body_after(str.upper, body) == re.sub("Out|side|In", lambda m: m[0].upper(), body)


def test_headers_and_footers_are_translated() -> None:
    styles = (
        f"<office:document-styles{NAMESPACES}><office:master-styles><style:header>{p('Top')}"
        "</style:header></office:master-styles></office:document-styles>"
    )
    document = opened(odt_of("<text:h>Title</text:h>", styles=styles))
    assert list(document.texts) == ["Title", "Top"]
    new = members(document.render(["Title", "Oben"]))
    assert new["styles.xml"].decode() == styles.replace("Top", "Oben")
    assert new[CONTENT].decode() == content_xml("<text:h>Title</text:h>")


def test_the_type_stays_the_first_member_and_stored() -> None:
    document = opened(odt_of(p("one")))
    data = document.render(["two"])
    assert data[:4] == b"PK\x03\x04" and data[30:38] == b"mimetype"
    assert described(data)[0][:3] == described(odt_of(p("one")))[0][:3]
    assert data[38:].startswith(b"application/vnd.oasis.opendocument.text")


def test_templates_are_read() -> None:
    kind = b"application/vnd.oasis.opendocument.text-template"
    assert list(opened(with_members(odt_of(p("one")), {"mimetype": kind})).texts) == ["one"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (with_members(odt_of(""), {"mimetype": b"application/zip"}), "not a text document"),
        (
            with_members(odt_of(""), {"META-INF/manifest.xml": b"<m:encryption-data/>"}),
            "the document is encrypted: remove its password",
        ),
        (with_members(odt_of(""), {CONTENT: b"<a>"}), "content.xml, line 1, column 4"),
        (
            with_members(odt_of(""), {CONTENT: b"<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"}),
            "the DOCTYPE has declarations",
        ),
    ],
)
def test_other_files_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(DataError) as error:
        opened(data)
    assert words in str(error.value)


WORDS = st.text(st.sampled_from("ab é漢 "), max_size=6)
PIECES = st.lists(
    st.tuples(st.sampled_from(["plain", "Bold", "Italic", "link", "tab", "break"]), WORDS),
    max_size=5,
)


def made(paragraphs: list[list[tuple[str, str]]]) -> bytes:
    document = OpenDocumentText()
    for name in ("Bold", "Italic"):
        style = Style(name=name, family="text")
        style.addElement(TextProperties(fontfamily=name))
        document.automaticstyles.addElement(style)
    for i, pieces in enumerate(paragraphs):
        paragraph = H(outlinelevel=1) if i % 2 else P()
        for kind, text in pieces:
            if kind == "plain":
                teletype.addTextToElement(paragraph, text)
            elif kind in ("tab", "break"):
                paragraph.addElement(Tab() if kind == "tab" else LineBreak())
            else:
                element = A(href="x") if kind == "link" else Span(stylename=kind)
                teletype.addTextToElement(element, text)
                paragraph.addElement(element)
        document.text.addElement(paragraph)
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def shown(data: bytes) -> list[list[str]]:
    document = load(io.BytesIO(data))
    return [
        teletype.extractText(element).split()
        for kind in (P, H)
        for element in document.getElementsByType(kind)
    ]


def styled(data: bytes) -> list[tuple[str, int]]:
    """The number of visible characters of each span and link, sorted."""
    xml = members(data)[CONTENT].decode()
    found = re.findall(
        r'<text:(?:span text:style-name="(\w+)"|a [^>]*)>(.*?)</text:(?:span|a)>', xml
    )
    lengths = [(name, len("".join(re.sub("<[^>]*>", "", text).split()))) for name, text in found]
    return sorted((name, n) for name, n in lengths if n)


@settings(deadline=None, max_examples=50)
@given(st.lists(PIECES, max_size=3))
def test_odfpy_reads_the_translated_texts_and_all_else_stays(
    paragraphs: list[list[tuple[str, str]]],
) -> None:
    data = made(paragraphs)
    document = opened(data)
    assert document.render(document.texts) == data
    new = translated(document, str.upper)
    assert described(new) == described(data)
    old_members, new_members = members(data), members(new)
    del old_members[CONTENT], new_members[CONTENT]
    assert new_members == old_members
    assert shown(new) == [[word.upper() for word in words] for words in shown(data)]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["plain", "Bold", "link"]), WORDS), max_size=5))
def test_styles_stay_on_as_many_characters_if_words_are_reversed(
    pieces: list[tuple[str, str]],
) -> None:
    words = [(kind, text) for kind, text in pieces if text.strip()]
    apart = [piece for word in words for piece in (word, ("tab", ""))]
    data = made([apart])
    document = opened(data)
    new = translated(document, reversed_words)
    assert styled(new) == styled(data)


def test_long_spans_around_spans_are_refused() -> None:
    def nested(length: int) -> bytes:
        return odt_of(p(span("a" * length, span("B", "one") + span("T1", "two"))))

    assert len(opened(nested(1000)).texts) == 1
    with pytest.raises(DataError, match="the spans around a text have more than 2,000 bytes"):
        opened(nested(2000))


def test_deleted_text_may_have_any_number_of_paragraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yakusu.data.files.xmltree._MAX_NODES", 10)
    deleted = f"<text:tracked-changes>{p('old') * 100}</text:tracked-changes>"
    assert texts(f"{deleted}{p('new')}") == ["new"]


def test_the_texts_of_a_chart_follow() -> None:
    kind = "application/vnd.oasis.opendocument."
    entries = "".join(
        f'<m:file-entry m:full-path="{path}" m:media-type="{kind}{name}"/>'
        for path, name in (("/", "text"), ("Object 1/", "chart"))
    )
    manifest = f'<m:manifest xmlns:m="{NAMES}manifest:1.0">{entries}</m:manifest>'
    chart = (
        f'<x{NAMESPACES} xmlns:table="{NAMES}table:1.0"><text:p>Rain</text:p><table:table-cell '
        'office:value-type="string"><text:p>May</text:p></table:table-cell></x>'
    )
    parts = {"META-INF/manifest.xml": manifest.encode(), "Object 1/content.xml": chart.encode()}
    picture = "ObjectReplacements/Object 1"
    data = with_members(
        odt_of("<text:p>One</text:p>", styles=content_xml("<text:p>Page</text:p>")),
        parts | {picture: b"x"},
    )
    document = read(data, DocumentOptions())
    assert list(document.texts) == ["One", "Page", "Rain", "May"]
    assert list(document.skipped) == [f"{picture}, the picture of an object with texts"]
    assert document.render(document.texts) == data
    new = members(translated(document, str.upper))["Object 1/content.xml"].decode()
    assert new == chart.replace("Rain", "RAIN").replace("May", "MAY")


def test_the_namespace_of_a_manifest_may_be_declared_by_its_dtd_only() -> None:
    """As in the templates that LibreOffice ships."""
    manifest = (
        '<!DOCTYPE manifest:manifest PUBLIC "-//OpenOffice.org//DTD Manifest 1.0//EN" "a.dtd">'
        '<manifest:manifest><manifest:file-entry manifest:full-path="A/" '
        'manifest:media-type="application/vnd.oasis.opendocument.text"/></manifest:manifest>'
    )
    parts = {
        "META-INF/manifest.xml": manifest.encode(),
        "A/content.xml": content_xml(p("two")).encode(),
    }
    assert opened(with_members(odt_of(p("one")), parts)).texts == ["one", "two"]


LINK = "<text:a>{}</text:a>"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (span("B", LINK.format("one")), span("B", LINK.format("ONE"))),
        (span("B", span("T1", LINK.format("a b"))), span("B", span("T1", LINK.format("A B")))),
        ("a " + span("B", LINK.format("one")) + " b", "A " + span("B", LINK.format("ONE")) + " B"),
        (
            span("B", f"a {LINK.format('one')} b"),
            span("B", "A ") + span("B", LINK.format("ONE")) + span("B", " B"),
        ),
        (LINK.format(span("B", "one")), LINK.format(span("B", "ONE"))),
    ],
)
def test_spans_around_a_link_stay_around_it(body: str, expected: str) -> None:
    """LibreOffice does not show the spans in a link of a slide."""
    assert body_after(str.upper, p(body)) == p(expected)


HEBREW = "\u05e9\u05dc\u05d5\u05dd"


def test_paragraphs_turn_with_copies_of_their_styles() -> None:
    style = (
        '<style:style style:name="{}" style:family="paragraph" style:parent-style-name="Standard">'
        "<style:paragraph-properties{}/></style:style>"
    )
    middle = style.format("Middle", ' format:text-align="center"').replace(
        ' style:parent-style-name="Standard"', ""
    )
    common = content_xml("").replace("<office:body>", f"<office:styles>{middle}</office:styles><x>")
    own = style.format("P1", ' format:text-align="start"')
    paragraph = '<text:p text:style-name="{}">{}</text:p>'
    body = (
        paragraph.format("P1", "One")
        + paragraph.format("Middle", "Two")
        + "<text:h>Three</text:h>"
        + paragraph.format("P1", "Four 4")
    )
    data = odt_of(body, styles=common.replace("</office:body>", "</x>"))
    data = with_members(data, {CONTENT: content_xml(body).replace(STYLES, STYLES + own).encode()})
    document = read(data, DocumentOptions())
    new = members(document.render([HEBREW, HEBREW, HEBREW, "Vier"]))[CONTENT].decode()
    expected = body.replace("Four 4", "Vier")
    for number, (name, text) in enumerate([("P1", "One"), ("Middle", "Two")], start=1):
        turned = paragraph.format(f"yakusu{number}", HEBREW)
        expected = expected.replace(paragraph.format(name, text), turned)
    expected = expected.replace("<text:h>Three", f'<text:h text:style-name="yakusu3">{HEBREW}')
    assert new.endswith(
        f"<office:text>{expected}</office:text></office:body></office:document-content>"
    )
    first, second, third = re.findall("<style:style [^<>]*yakusu.*?</style:style>", new)
    assert first == style.format("yakusu1", ' format:text-align="right" style:writing-mode="rl-tb"')
    assert 'style:parent-style-name="Middle"' in second and "text-align" not in second
    assert 'fo:text-align="right"' in third and "parent" not in third
    again = read(members_turned := with_members(data, {CONTENT: new.encode()}), DocumentOptions())
    back = members(again.render(["One", "Two", "Three", "Vier"]))[CONTENT].decode()
    assert members_turned and back.count('style:writing-mode="lr-tb"') == 3
    assert 'text:style-name="yakusu4"' in back


def test_leftward_text_keeps_bold_italics_and_size() -> None:
    def style(name: str, family: str, text: str, parent: str = "") -> str:
        based = f' style:parent-style-name="{parent}"' if parent else ""
        properties = f"<style:text-properties {text}/>" if text else ""
        head = f'<style:style style:name="{name}" style:family="{family}"{based}'
        return f"{head}>{properties}</style:style>" if properties else f"{head}/>"

    both = 'format:font-weight="bold" style:font-weight-complex="normal"'
    common = style("Heading", "paragraph", 'format:font-size="20pt" format:font-weight="bold"')
    common += style("Strong", "text", 'format:font-weight="bold"') + style("Both", "text", both)
    own = style("P1", "paragraph", 'style:font-weight-complex="normal"', "Heading")
    own += style("T2", "text", "", "Strong")
    body = p(f"One {span('B', 'two')} {span('T2', 'three')} {span('Both', 'four')} five")
    styles = content_xml("").replace("<office:body>", f"<office:styles>{common}</office:styles><x>")
    data = odt_of(body, styles=styles.replace("</office:body>", "</x>"))
    data = with_members(data, {CONTENT: content_xml(body).replace(STYLES, STYLES + own).encode()})
    words = dict(zip(("One", "two", "three", "four", "five"), "אבגדה", strict=True))

    def hebrew(text: str) -> str:
        return re.sub("[A-Za-z]+", lambda word: words[word[0]], text)

    new = members(translated(read(data, DocumentOptions()), hebrew))[CONTENT].decode()
    first, bold, strong = re.findall('<style:style [^<>]*"yakusu.*?</style:style>', new)
    assert '<style:text-properties style:font-weight-complex="normal" ' in first
    assert 'style:font-size-complex="20pt"' in first and first.count("-complex") == 2
    assert 'format:font-weight="bold" style:font-weight-complex="bold"' in bold
    assert 'parent-style-name="Strong"' in strong and 'font-weight-complex="bold"' in strong
    assert new.endswith(
        f'<text:p text:style-name="yakusu1">א {span("yakusu2", "ב")} {span("yakusu3", "ג")} '
        f"{span('Both', 'ד')} ה</text:p></office:text></office:body></office:document-content>"
    )
    link = LINK.format
    for before, expected in (("One ", "א "), ("", "")):
        linked = opened(odt_of(p(before + span("B", link("two")))))
        new = members(translated(linked, hebrew))[CONTENT].decode()
        assert expected + span("yakusu2", link("ב")) in new
    assert (
        "font-weight-complex"
        not in members(translated(opened(odt_of(body)), str.upper))[CONTENT].decode()
    )


def test_a_part_without_own_styles_keeps_its_directions() -> None:
    content = content_xml("<text:p>One</text:p>").replace("automatic-styles", "font-face-decls")
    data = with_members(odt_of(""), {CONTENT: content.encode()})
    new = members(read(data, DocumentOptions()).render([HEBREW]))[CONTENT].decode()
    assert new == content.replace("One", HEBREW)
    empty = re.sub(
        "<office:font-face-decls>.*</office:font-face-decls>", "<office:automatic-styles/>", content
    )
    data = with_members(odt_of(""), {CONTENT: empty.encode()})
    new = members(read(data, DocumentOptions()).render([HEBREW]))[CONTENT].decode()
    assert "<office:automatic-styles><style:style " in new
    assert "</style:style></office:automatic-styles>" in new
