"""Hostile XML and archives: Office, OpenDocument, XLIFF and TMX; and messages with branches."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.documents.packages import table_xml, workbook
from tests.documents.shared import members, with_members
from tests.documents.test_pptx import pptx
from tests.growth.crafted import Crafted
from tests.pair_files import pair_file
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.segment_files import read_segments
from yakusu.documents.document import Document, DocumentOptions

_Make = Callable[[int], bytes]
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_KIND = "application/vnd.openxmlformats-officedocument.wordprocessingml."
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/"
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"


def _repeated(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """Return a function that repeats a text up to a size; "#" is a number."""

    def make(n: int) -> str:
        count = max(1, n // (len(unit) + 4 * unit.count("#")))
        if "#" not in unit:
            return before + unit * count + after
        return before + "".join(unit.replace("#", str(i)) for i in range(count)) + after

    return make


def _twice(first: str, second: str, middle: str = "") -> Callable[[int], str]:
    """Return a function that repeats a text, and then another one as often."""

    def make(n: int) -> str:
        return _repeated(first)(n // 2) + middle + _repeated(second)(n // 2)

    return make


def _zipped(parts: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return target.getvalue()


def _docx(body: str, types: str = "", parts: Mapping[str, bytes] | None = None) -> bytes:
    main = f'<Override PartName="/word/document.xml" ContentType="{_KIND}document.main+xml"/>'
    types = f'<Types xmlns="{_PACKAGE}content-types">{main}{types}</Types>'
    xml = f'<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'
    contents = {"[Content_Types].xml": types.encode(), "word/document.xml": xml.encode()}
    return _zipped(contents | dict(parts or {}))


def _odt(body: str, styles: str = "") -> bytes:
    names = "".join(f' xmlns:{each}="{_ODF}{each}:1.0"' for each in ("office", "style", "text"))
    xml = (
        f"<office:document-content{names}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body><office:text>{body}</office:text></office:body>"
        "</office:document-content>"
    )
    kind = b"application/vnd.oasis.opendocument.text"
    return _zipped({"mimetype": kind, "content.xml": xml.encode()})


def _ods(body: str, kind: str = "spreadsheet") -> bytes:
    sheet = f"<table:table>{body}</table:table>"
    xml = (
        members(_odt(sheet))["content.xml"]
        .decode()
        .replace(
            "<office:document-content", f'<office:document-content xmlns:table="{_ODF}table:1.0"', 1
        )
    )
    return _zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
            "content.xml": xml.encode(),
        }
    )


def _epub(metadata: str, page: str = "", items: str = "") -> bytes:
    opf = "application/oebps-package+xml"
    container = f'<a><rootfile full-path="p.opf" media-type="{opf}"/></a>'
    package = (
        f'<package xmlns:dc="http://purl.org/dc/elements/1.1/">{metadata}{items}'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></package>'
    )
    parts = {"META-INF/container.xml": container, "p.opf": package, "a.xhtml": page}
    return _zipped({name: content.encode() for name, content in parts.items()})


def _book_pages(n: int) -> bytes:
    """A book with many pages, each of which is a member."""
    count = max(1, n // 300)
    items = "".join(
        f'<item id="p{i}" href="{i}.html" media-type="text/html"/>' for i in range(count)
    )
    parts = members(_epub("", "", items)) | {f"{i}.html": b"<p>text</p>" for i in range(count)}
    return _zipped(parts)


def _xliff_1(body: str) -> bytes:
    name = "urn:oasis:names:tc:xliff:document:1.2"
    return f'<xliff version="1.2" xmlns="{name}">{body}</xliff>'.encode()


def _unit_1(source: str) -> bytes:
    unit = f'<trans-unit id="1"><source>text {source}</source></trans-unit>'
    return _xliff_1(f'<file source-language="en"><body>{unit}</body></file>')


def _xliff_2(body: str) -> bytes:
    name = "urn:oasis:names:tc:xliff:document:2.0"
    return f'<xliff version="2.0" srcLang="en" xmlns="{name}"><file>{body}</file></xliff>'.encode()


def _unit_2(source: str) -> bytes:
    return _xliff_2(f"<unit><segment><source>text {source}</source></segment></unit>")


def _tmx(body: str) -> bytes:
    return f'<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>'.encode()


def _tu(segment: str) -> bytes:
    side = '<tuv xml:lang="{}"><seg>text {}</seg></tuv>'
    return _tmx(f"<tu>{side.format('en', segment)}{side.format('de', segment)}</tu>")


def _json(message: str) -> bytes:
    return json.dumps({"greeting": message}).encode()


def _po(message: str) -> bytes:
    return f'msgid {json.dumps(message)}\nmsgstr ""\n'.encode()


def _xliff_message(message: str) -> bytes:
    return _unit_1(message.replace("&", "&amp;").replace("<", "&lt;"))


def _document(module: str) -> Callable[[bytes], object]:
    """Return a function that reads a document, and writes it with the same and other texts."""

    def read(data: bytes) -> object:
        module_of_format = import_module(f"yakusu.documents.{module}")
        document: Document = module_of_format.read(data, DocumentOptions())
        document.render(document.texts)
        document.render([text.replace("text", "word") for text in document.texts])
        return document.skipped

    return read


def _corpus(suffix: str) -> Callable[[bytes], object]:
    """Return a function that reads the pairs of a file, and its segments."""

    def read(data: bytes) -> object:
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"file.{suffix}"
            path.write_bytes(data)
            pairs = read_pairs(Corpus(pairs=str(path), src_column=1, tgt_column=2))
            return sum(1 for _ in pairs) + sum(1 for _ in read_segments(pair_file(path)))

    return read


def _crafted(
    name: str,
    read: Callable[[bytes], object],
    wrap: Callable[[str], bytes],
    bodies: Mapping[str, Callable[[int], str]],
) -> list[Crafted]:
    def made(body: Callable[[int], str]) -> _Make:
        return lambda n: wrap(body(n))

    return [Crafted(f"{name}: {what}", made(body), read) for what, body in bodies.items()]


def _fields(instruction: str) -> Callable[[int], str]:
    """Nested fields, which are not nested elements."""
    begin = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        f"<w:r><w:instrText>{instruction}</w:instrText></w:r>"
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>text</w:t></w:r>'
    )
    end = '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    return lambda n: f"<w:p>{begin * (n // 400)}{end * (n // 400)}</w:p>"


def _headers(n: int) -> bytes:
    """A document with many members, each of which is a header."""
    count = max(1, n // 400)
    header = f'<w:hdr xmlns:w="{_W}"><w:p><w:r><w:t>text</w:t></w:r></w:p></w:hdr>'.encode()
    types = "".join(
        f'<Override PartName="/h{i}.xml" ContentType="{_KIND}header+xml"/>' for i in range(count)
    )
    return _docx("", types, {f"h{i}.xml": header for i in range(count)})


def _long_type(n: int) -> bytes:
    """A document with a long content type that many members have."""
    kind = "wordprocessingml." * (n // 34)
    kind = f'<Default Extension="xml" ContentType="{kind}"/>'
    return _docx("", kind, {f"{i}.xml": b"" for i in range(n // 400)})


def _deflated(n: int) -> bytes:
    """A document whose content is a small part of its size, which is that of its XML."""
    parts = members(_docx(f"<w:p>{'<w:r/>' * (n // 6)}</w:p>"))
    return with_members(b"PK\x05\x06" + bytes(18), parts)


def _sheet(rows: str) -> bytes:
    return workbook("<si><t>text</t></si>", rows)


def _tables(n: int) -> bytes:
    """A workbook with tables that have the same headers."""
    count = max(1, n // 600)
    names = [f"xl/tables/table{i}.xml" for i in range(count)]
    targets = {f"r{i}": f"table ../tables/table{i}.xml" for i in range(count)}
    strings = "<si><t>text</t></si><si><t>word</t></si>"  # would be equal
    return workbook(
        strings,
        parts=dict.fromkeys(names, table_xml("text", "word")),
        relations={"xl/worksheets/sheet1.xml": targets},
    )


def _columns(n: int) -> bytes:
    """A workbook with a table that has many columns."""
    names = [f"text {i}" for i in range(max(1, n // 80))]
    return workbook(
        "".join(f"<si><t>{name}</t></si>" for name in names),
        parts={"xl/tables/table1.xml": table_xml(*names)},
        relations={"xl/worksheets/sheet1.xml": {"r1": "table ../tables/table1.xml"}},
    )


_RUN = "<w:r><w:t>text</w:t></w:r>"
_WORD = {
    "runs": _repeated("<w:r/>", "<w:p>", "</w:p>"),
    "runs with text": _repeated(_RUN, "<w:p>", "</w:p>"),
    "runs of alternating formatting": _repeated(
        f"{_RUN}<w:r><w:rPr><w:b/></w:rPr><w:t>a</w:t></w:r>", "<w:p>", "</w:p>"
    ),
    "short paragraphs": _repeated("<w:p><w:r><w:t>a</w:t></w:r></w:p>"),
    "many attributes of a paragraph": _repeated(" a#=''", "<w:p", f">{_RUN}</w:p>"),
    "many attributes outside of paragraphs": _repeated(" a#=''", "<a", "/>"),
    "comments": _repeated("a<!---->", "<w:p><w:r><w:t>text", "</w:t></w:r></w:p>"),
    "nested containers": lambda n: (
        f"<w:p>{'<w:ins>' * 240}{_RUN * (n // 30)}{'</w:ins>' * 240}</w:p>"
    ),
    "nested paragraphs": lambda n: f"{'<w:p>' * 240}{_RUN * (n // 30)}{'</w:p>' * 240}",
    "nested properties": lambda n: (
        f"<w:p>{('<w:r><w:rPr>' + '<a>' * 240 + '</a>' * 240 + '</w:rPr></w:r>') * (n // 1700)}"
        f"{_RUN}</w:p>"
    ),
    "a long text": _repeated("text ", "<w:p><w:r><w:t>", "</w:t></w:r></w:p>"),
    "bookmarks that cross": lambda n: (
        "<w:p>"
        + _twice('<w:bookmarkStart w:id="#"/>', '<w:bookmarkEnd w:id="#"/>', _RUN)(n)
        + "</w:p>"
    ),
    "nested fields": _fields("PAGE"),
    "nested links as fields": _fields("HYPERLINK text"),
    "copies": _repeated(
        "<mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006"
        f"'><mc:Choice><w:p>{_RUN}</w:p></mc:Choice><mc:Fallback><w:p>{_RUN}</w:p></mc:Fallback>"
        "</mc:AlternateContent>"
    ),
    "a start tag without an end": _repeated(" a='a'", "<a"),
    "a comment without an end": _repeated("-a", "<!--"),
}
_OPEN_DOCUMENT = {
    "spans": _repeated("<text:span>a</text:span>", "<text:p>text", "</text:p>"),
    "nested spans": lambda n: (
        f"<text:p>{'<text:span>' * 240}{'text<text:tab/>' * (n // 16)}{'</text:span>' * 240}"
        "</text:p>"
    ),
    "nested spans in many paragraphs": lambda n: (
        f"<text:p>{'<text:span>' * 240}text{'</text:span>' * 240}</text:p>" * (n // 5600)
    ),
    "short paragraphs": _repeated("<text:p>a</text:p>"),
    "nested paragraphs": lambda n: f"{'<text:p>' * 240}{'text' * (n // 8)}{'</text:p>' * 240}",
    "deleted paragraphs": _repeated(
        "<text:p>text</text:p>", "<text:tracked-changes>", "</text:tracked-changes>"
    ),
    "spaces": _repeated('<text:s text:c="1000"/>', "<text:p>text", "text</text:p>"),
}
_POWERPOINT = {
    "runs": _repeated("<a:r><a:t>text</a:t></a:r>", "<a:p>", "</a:p>"),
    "tabs": _repeated("text\t", "<a:p><a:r><a:t>", "</a:t></a:r></a:p>"),
    "alternatives": _repeated(
        "<mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006"
        "'><mc:Choice><a:p><a:r><a:t>text</a:t></a:r></a:p></mc:Choice><mc:Fallback><a:p><a:r>"
        "<a:t>text</a:t></a:r></a:p></mc:Fallback></mc:AlternateContent>"
    ),
}
_EXCEL = {
    "strings": _repeated("<si><t>text #</t></si>"),
    "strings with runs": _repeated("<si><r><t>text </t></r><r><rPr><b/></rPr><t>#</t></r></si>"),
    "strings of both kinds": _repeated("<si><t>text #</t></si><si><r><t>text</t></r></si>"),
    "runs": _repeated("<r><t>text </t></r>", "<si>", "</si>"),
    "a string without an end": _repeated("<si><t>"),
    "line breaks": _repeated("text\n", "<si><t>", "</t></si>"),
}
_FORMULA = '<row r="1"><c r="A1"><f>{}</f><v>1</v></c></row>'
_SHEET = {
    "texts in cells": _repeated('<row><c t="inlineStr"><is><t>text #</t></is></c></row>'),
    "texts as values": _repeated('<row><c t="str"><v>text #</v></c><c><v>1</v></c></row>'),
    "formulas": _repeated(_FORMULA.format('IF(A1="text #",1)')),
    "criteria": _repeated(_FORMULA.format('COUNTIF(A:A,"*text #*")')),
    "a constant": lambda n: _FORMULA.format('"' + "a," * (n // 2) + '"'),
    "brackets": lambda n: _FORMULA.format("['" * (n // 2)),
    "quotes": lambda n: _FORMULA.format('"' * (n | 1)),
    "CDATA without an end": _repeated("<![CDATA[", "<row>"),
    "formulas without an end": _repeated("<f "),
    "cells without an end": _repeated('<c t="str"'),
    "rows without cells": _repeated("<row></row>"),
}
_MARK = '<mrk mtype="seg" mid="#">text</mrk>'
_XLIFF_1 = {
    "units": _repeated(
        "<trans-unit id='#'><source>text</source></trans-unit>", "<file><body>", "</body></file>"
    ),
    "files": _repeated(
        "<file source-language='en'><body><trans-unit><source>text</source></trans-unit></body>"
        "</file>"
    ),
    "identifiers": _repeated(
        "<trans-unit><source>text_#_label</source></trans-unit>", "<file><body>", "</body></file>"
    ),
    "segments of a unit": lambda n: (
        f"<file><body><trans-unit><source>text</source><seg-source>{_repeated(_MARK)(n)}"
        "</seg-source></trans-unit></body></file>"
    ),
    "parts of a unit": _repeated(
        "<alt-trans/>",
        "<file><body><trans-unit><source>text</source>",
        "</trans-unit></body></file>",
    ),
    "nested groups": lambda n: (
        f"<file>{'<group>' * 240}"
        + "<trans-unit><source>text</source></trans-unit>" * (n // 48)
        + f"{'</group>' * 240}</file>"
    ),
}
_SOURCE = {
    "code": _repeated("<x id='#'/>"),
    "nested tags": lambda n: f"{'<g>' * 240}{'text<x/>' * (n // 8)}{'</g>' * 240}",
    "nested texts in code": lambda n: (
        f"{'<ph><sub>' * 120}{'text <x/>' * (n // 9)}{'</sub></ph>' * 120}"
    ),
    "texts in a code": _repeated("<sub>text</sub>", "<ph>", "</ph>"),
    "pairs that cross": _twice('<bx rid="#"/>', '<ex rid="#"/>', "text"),
    "starts, and an end of another name": _repeated('<bpt id="a">a</bpt>', "", '<ept id="b"/>'),
    "ends of the first start": _repeated(
        "<ept id='0'/>", "<bpt id='0'/>" + "<g>" * 200 + "text", "</g>" * 200
    ),
    "comments": _repeated("a<!---->"),
    "line breaks": _repeated("a\n "),
    "blanks": _repeated(" "),
    "percent and zeros": _repeated("0", "%"),
    "CDATA": _repeated("<![CDATA[a]]>"),
}
_XLIFF_2_SOURCE = {
    "annotations": _twice("<sm id='#' translate='no'/>", "<em startRef='#'/>", "text"),
    "annotations without an end": _repeated("<sm id='#' translate='no'/>"),
    "annotations of one name": _repeated("<sm id='1' translate='no'/><em startRef='1'/>"),
}
_XLIFF_2 = {
    "segments of a unit": _repeated(
        "<ignorable><source> </source></ignorable><segment><source>text</source></segment>",
        "<unit>",
        "</unit>",
    ),
}
_TEXT_CELL = (
    "<table:table-cell office:value-type='string'{}><text:p>text{}</text:p></table:table-cell>"
)
_BOOK = {
    "titles": _repeated("<dc:title>text</dc:title>"),
    "languages": _repeated("<dc:language>en</dc:language>"),
    "a title": _repeated("text &amp; ", "<dc:title>", "</dc:title>"),
    "a description": _repeated(
        "&lt;p>text &amp;amp; &lt;b>#&lt;/b>", "<dc:description>", "</dc:description>"
    ),
    "a description without entities": _repeated(
        "<p>text &amp; <b>#</b>", "<dc:description><![CDATA[", "]]></dc:description>"
    ),
    "brackets in a description": _repeated("&lt;a", "<dc:description>", "</dc:description>"),
}
_BOOK_PAGE = {
    "lists of pages": _repeated("<nav type='page-list'>text</nav><p>text</p>"),
    "comments before the page": _repeated("<!-- -->", "", "<html lang='en'><p>text</p></html>"),
}
_SHEETS = {
    "plain cells": _repeated(_TEXT_CELL.format("", "").replace("'", '"')),
    "plain cells with different texts": _repeated(_TEXT_CELL.format("", "#").replace("'", '"')),
    "cells": _repeated(_TEXT_CELL.format("", "<!-- -->")),
    "cells with values": _repeated(_TEXT_CELL.format(" office:string-value='text#'", "#")),
    "paragraphs of a cell with a value": lambda n: _TEXT_CELL.format(
        f" office:string-value='{'text ' * (n // 30)}'", "</text:p><text:p>text" * (n // 30)
    ),
    "constants of formulas": _repeated(
        '<table:table-cell table:formula=\'"text#"&amp;"t#*x*y"\'/>', _TEXT_CELL.format("", "#")
    ),
    "a formula": _repeated('"*text"', "<table:table-cell table:formula='", "'/>"),
    "wildcards": _repeated("a*", "<table:table-cell table:formula='\"", "\"'/>"),
    "names of labels": _repeated("a#", '<table:table-cell table:formula="', '"/>'),
    "a style of a cell": _repeated("a ", "<table:table-cell table:style-name='", "'/>"),
    "rows in cells": lambda n: (
        "<table:table-cell><a>" * 100
        + _TEXT_CELL.format("", "") * (n // 90)
        + "</a></table:table-cell>" * 100
    ),
}
_PAIR = "<trans-unit><source>text</source><target>text</target></trans-unit>"
_XLIFF_CORPUS = {
    "units": _repeated(_PAIR, "<file source-language='en' target-language='de'>", "</file>"),
    "files": _repeated(f"<file source-language='en' target-language='de'>{_PAIR}</file>"),
    "other elements": _repeated("<a/>", "<file source-language='en'>", "</file>"),
    "a comment without an end": _repeated("-a", "<!--"),
}
_LINES = "<ph equiv-text='{0}x'>{0}x</ph>"
_TMX = {
    "units": _repeated(
        "<tu><tuv xml:lang='en'><seg>a</seg></tuv><tuv xml:lang='de'><seg>b</seg></tuv></tu>"
    ),
    "variants": _repeated("<tuv xml:lang='en'><seg>text</seg></tuv>", "<tu>", "</tu>"),
    "languages": _repeated("<tuv xml:lang='a#'><seg>text</seg></tuv>", "<tu>", "</tu>"),
    "other elements": _repeated("<a/>"),
    "units in bodies of their own": _repeated(
        "</body><body><tu><tuv xml:lang='en'><seg>a</seg></tuv></tu>"
    ),
    "a comment without an end": _repeated("-a", "<!--"),
}
_SEGMENT = {
    "nested highlights": lambda n: f"{'<hi>' * 240}{'text<hi/>' * (n // 18)}{'</hi>' * 240}",
    "nested texts in code": lambda n: (
        f"{'<ph><sub>' * 120}{'text' * (n // 8)}{'</sub></ph>' * 120}"
    ),
    "line breaks in code": lambda n: _LINES.format("&#10;" * (n // 20)),
    "code": _repeated("<ph/>"),
}


def _branches(depth: int) -> Callable[[int], str]:
    """Nested branches with quotes, up to a depth."""

    def make(n: int) -> str:
        opening, closing = "{n, plural, other {it''s '{' text\" ", "}}"
        return "".join(
            opening * depth + closing * depth for _ in range(1 + n // (depth * len(opening)))
        )

    return make


_MESSAGES = {
    "nested branches with quotes": _branches(20),
    "nested branches with backslashes": lambda n: (
        "{n, plural, other {text " * 19 + "{a, date, " + "\\" * (n // 2) + "}" + "}}" * 19
    ),
    "branches nested too deeply": lambda n: (
        "{n, plural, other {text " * (n // 26) + "}}" * (n // 26)
    ),
    "branches": lambda n: "{n, plural, " + _repeated("=# {text}")(n) + " other {text}}",
    "arguments": lambda n: "{n, select, other {text}} " + _repeated("{a#}")(n),
    "branches without an end": _repeated("{n, plural, other {text "),
    "quotes": _repeated("'", "{n, plural, other {text}} '{"),
    "quotations": _repeated("'{' ", "{n, plural, other {text}}"),
    "styles of arguments": _repeated("{a, date, ''{''}}", "{n, plural, other {text}}"),
    "braces in a style": _repeated("{", "{n, plural, other {text}} {a, date, "),
    "forms": _repeated("a | ", "text"),
    "numbers of forms": _repeated("1,", "text |["),
    "braces, and a bar": _repeated("{a}", "text { ", " |"),
    "a reference without an end": _repeated("[%key:", "text"),
    "percent and zeros": _repeated("0", "text %"),
}
_FEW = ("nested branches with quotes", "forms")

CRAFTED: tuple[Crafted, ...] = (
    *_crafted("docx", _document("office.docx"), _docx, _WORD),
    Crafted("docx: parts", _headers, _document("office.docx")),
    Crafted("docx: a long content type of many members", _long_type, _document("office.docx")),
    Crafted("docx: compressed runs", _deflated, _document("office.docx")),
    *_crafted("pptx", _document("office.pptx"), pptx, _POWERPOINT),
    *_crafted("xlsx", _document("office.xlsx"), workbook, _EXCEL),
    *_crafted("xlsx", _document("office.xlsx"), _sheet, _SHEET),
    Crafted("xlsx: tables", _tables, _document("office.xlsx")),
    Crafted("xlsx: columns of a table", _columns, _document("office.xlsx")),
    *_crafted("odt", _document("office.odt"), _odt, _OPEN_DOCUMENT),
    Crafted(
        "odt: styles",
        lambda n: _odt("", _repeated("<style:style style:family='text'/>")(n)),
        _document("office.odt"),
    ),
    *_crafted("ods", _document("office.ods"), _ods, _SHEETS),
    *_crafted("odp", _document("office.odp"), partial(_ods, kind="presentation"), _OPEN_DOCUMENT),
    *_crafted("epub", _document("epub.epub"), _epub, _BOOK),
    *_crafted("epub", _document("epub.epub"), partial(_epub, ""), _BOOK_PAGE),
    Crafted("epub: pages", _book_pages, _document("epub.epub")),
    *_crafted("xliff 1", _document("messages.xliff"), _xliff_1, _XLIFF_1),
    *_crafted("xliff 1", _document("messages.xliff"), _unit_1, _SOURCE),
    *_crafted("xliff 2", _document("messages.xliff"), _xliff_2, _XLIFF_2),
    *_crafted("xliff 2", _document("messages.xliff"), _unit_2, _XLIFF_2_SOURCE),
    *_crafted("xliff corpus", _corpus("xlf"), _xliff_1, _XLIFF_CORPUS),
    *_crafted("tmx", _corpus("tmx"), _tmx, _TMX),
    *_crafted("tmx", _corpus("tmx"), _tu, _SEGMENT),
    *_crafted("messages in json", _document("messages.json_strings"), _json, _MESSAGES),
    *_crafted(
        "messages in po", _document("messages.po"), _po, {each: _MESSAGES[each] for each in _FEW}
    ),
    *_crafted(
        "messages in xliff",
        _document("messages.xliff"),
        _xliff_message,
        {each: _MESSAGES[each] for each in _FEW},
    ),
)
