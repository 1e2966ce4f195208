"""OpenDocument presentations, drawings and flat files."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases import THOROUGH
from tests.documents.shared import members, readable_texts, translated, with_members, within
from tests.documents.test_ods import CHART, MANIFEST, NAMESPACES, PLAIN, TYPE, cell, ods_of, p, row
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office import flat
from yakusu.documents.office.odp import read
from yakusu.documents.registry import parse_document
from yakusu.errors import DataError

CONTENT, OBJECT = "content.xml", "Object 1/content.xml"
MORE = (
    f'{NAMESPACES} xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" '
    'xmlns:svg="svg"'
)


def content_xml(body: str) -> str:
    return (
        f"<office:document-content{MORE}><office:body><office:presentation>{body}"
        "</office:presentation></office:body></office:document-content>"
    )


def odp_of(body: str, parts: dict[str, bytes] | None = None) -> bytes:
    kind = {"mimetype": f"{TYPE}presentation".encode(), CONTENT: content_xml(body).encode()}
    data = with_members(ods_of(""), kind)
    return with_members(data, parts or {})


def opened(data: bytes) -> Document:
    return read(data, DocumentOptions())


def after(translate: Callable[[str], str], body: str) -> str:
    data = translated(opened(odp_of(body)), translate)
    return within(members(data)[CONTENT], content_xml("|"))


def box(text: str) -> str:
    return f"<draw:frame><draw:text-box>{p(text)}</draw:text-box></draw:frame>"


def test_slides_shapes_tables_comments_and_notes_are_texts_in_their_order() -> None:
    table = f"<draw:frame><table:table>{row(cell(p('a cell')))}</table:table></draw:frame>"
    shape = f"<draw:custom-shape>{p('a shape')}<svg:title>kept</svg:title></draw:custom-shape>"
    comment = f"<office:annotation>{p('a comment')}</office:annotation>"
    notes = f"<presentation:notes>{box('a note')}</presentation:notes>"
    body = (
        f'<draw:page draw:name="one">{box("a <text:span>title</text:span>")}{table}{shape}{comment}'
        f"{notes}</draw:page><draw:page>{box('the next')}</draw:page>"
    )
    texts = ["a title", "a cell", "a shape", "a comment", "a note", "the next"]
    assert readable_texts(opened(odp_of(body))) == texts
    assert after(str.upper, body.replace("<text:span>title</text:span>", "title")) == re.sub(
        "(?<=p>)[^<>]+",
        lambda match: match[0].upper(),
        body.replace("<text:span>title</text:span>", "title"),
    )


def test_footers_are_texts_and_dates_stay() -> None:
    body = (
        '<presentation:footer-decl presentation:name="f">A foot  &amp; more'
        "</presentation:footer-decl>"
        '<presentation:date-time-decl presentation:name="d">May 5</presentation:date-time-decl>'
    )
    assert list(opened(odp_of(body)).texts) == ["A foot & more"]
    assert after(lambda _: "B  &", body) == body.replace("A foot  &amp; more", "B  &amp;")
    hebrew = "\u05e9\u05dc\u05d5\u05dd"
    assert after(lambda _: hebrew, body) == body.replace("A foot  &amp; more", hebrew)


def test_masters_stay() -> None:
    masters = f"<office:master-styles>{p('Click')}</office:master-styles>"
    styles = f"<office:document-styles{MORE}>{masters}</office:document-styles>"
    document = opened(odp_of(box("one"), {"styles.xml": styles.encode()}))
    assert list(document.texts) == ["one"]
    assert members(document.render(["two"]))["styles.xml"] == styles.encode()


def with_object(xml: str, kind: str) -> Document:
    manifest = MANIFEST.replace(f"{TYPE}chart", TYPE + kind)
    parts = {"META-INF/manifest.xml": manifest.encode(), OBJECT: xml.encode()}
    return opened(odp_of(box("one"), parts))


def test_the_labels_of_a_chart_are_its_own() -> None:
    xml = f"<office:document-content{MORE}>{CHART}</office:document-content>"
    document = with_object(xml, "chart")
    assert list(document.texts) == ["one", "Turnover", "one", "computed"]
    new = members(document.render(["a", "b", "c", "d"]))[OBJECT].decode()
    assert re.findall("p>([^<]+)<", new) == ["b", "c", "d", "NaN"]


def test_a_spreadsheet_in_a_presentation_keeps_its_rules() -> None:
    formula = cell(p("1"), ' table:formula="of:=IF([.A1]=&quot;one&quot;;1;2)"', "float")
    xml = f"<office:document-content{MORE}>{PLAIN}{row(formula)}</office:document-content>"
    document = with_object(xml, "spreadsheet")
    assert list(document.texts) == ["one", "two"]
    assert document.skipped == ["Object 1/: formulas compare cells with 'one'"]


def test_formulas_in_a_presentation_stay() -> None:
    assert list(with_object("<math><mi>sin</mi></math>", "formula").texts) == ["one"]


def test_drawings_are_read() -> None:
    kind = f"{TYPE}graphics".encode()
    assert list(opened(with_members(odp_of(box("one")), {"mimetype": kind})).texts) == ["one"]


def flat_of(kind: str, body: str) -> bytes:
    return (
        f'<?xml version="1.0"?>\n<office:document{MORE} office:mimetype="{TYPE}{kind}">'
        f"<office:master-styles>{p('Click')}</office:master-styles><office:body>{body}</office:body>"
        "</office:document>\n"
    ).encode()


@pytest.mark.parametrize(
    ("kind", "body", "texts"),
    [
        ("presentation", box("one"), ["one"]),
        ("graphics-template", box("one"), ["one"]),
        ("text", p("one"), ["Click", "one"]),
        ("spreadsheet", row(cell(p("one")), cell(p("2 kg"), "", "float")), ["Click", "one"]),
    ],
)
def test_a_flat_file_has_the_texts_of_its_kind(kind: str, body: str, texts: list[str]) -> None:
    data = flat_of(kind, body)
    document = flat.read(data, DocumentOptions())
    assert list(document.texts) == texts
    assert document.render(texts) == data
    new = data.replace(b"one", b"ONE").replace(b"Click", b"CLICK" if "Click" in texts else b"Click")
    assert translated(document, str.upper) == new


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<a/>", "is not a text, presentation, drawing or spreadsheet of OpenDocument: save it"),
        (b"<a>\n<b>", "line 2, column 4 is not well-formed XML"),
        (flat_of("text", "<a>" * 260 + "</a>" * 260), "line 2: the XML has more than 256 levels"),
    ],
)
def test_other_flat_files_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(DataError) as error:
        flat.read(data, DocumentOptions())
    assert words in str(error.value)
    assert CONTENT not in str(error.value)


def test_a_file_of_another_kind_is_refused() -> None:
    with pytest.raises(DataError, match="not a presentation or drawing: save it as"):
        opened(ods_of(""))


SHEET = f'<table:table table:name="Data">{PLAIN}</table:table>'
PAGES = f"<draw:page>{box('one')}</draw:page><draw:page>{box('two')}</draw:page>"


def listed(data: bytes, kind: str) -> bytes:
    """A document whose manifest lists its content."""
    entries = "".join(
        f'<manifest:file-entry manifest:full-path="{path}" manifest:media-type="{media}"/>'
        for path, media in (("/", TYPE + kind), (CONTENT, "text/xml"))
    )
    manifest = (
        f'<manifest:manifest{NAMESPACES} manifest:version="1.2">{entries}</manifest:manifest>'
    )
    return with_members(data, {"META-INF/manifest.xml": manifest.encode()})


@pytest.mark.skipif(not THOROUGH or not shutil.which("soffice"), reason="needs LibreOffice")
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.odp", listed(odp_of(PAGES), "presentation")),
        ("a.ods", listed(ods_of(PLAIN), "spreadsheet")),
        ("a.fods", flat_of("spreadsheet", f"<office:spreadsheet>{SHEET}</office:spreadsheet>")),
    ],
)
def test_libreoffice_shows_as_many_pages(name: str, data: bytes, tmp_path: Path) -> None:
    document = parse_document(tmp_path / name, data, DocumentOptions())
    pages = []
    for content in (data, translated(document, str.upper)):
        (tmp_path / name).write_bytes(content)
        command = ["soffice", f"-env:UserInstallation={(tmp_path / 'user').as_uri()}"]
        command += ["--headless", "--convert-to", "pdf", "--outdir", str(tmp_path)]
        subprocess.run([*command, str(tmp_path / name)], check=True, capture_output=True)
        pdf = (tmp_path / name).with_suffix(".pdf")
        pages.append(len(re.findall(rb"/Type */Page\b", pdf.read_bytes())))
        pdf.unlink()
    assert pages[0] == pages[1] > 0
