"""Writes blocks as a Word document (Office Open XML, ISO/IEC 29500) with the styles of Word."""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from yakusu.data.lines.invisible import right_to_left
from yakusu.documents.pdf.blocks import Block, TableBlock, TextBlock

_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # in XML
_INDENTATION = 360  # twentieths of a point for each list that contains an item
_OPEN = "http://schemas.openxmlformats.org"
_WORD = f"{_OPEN}/wordprocessingml/2006/main"
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_SIZES = (36, 30, 26, 24, 22, 22)  # of headings, in half points
_CONTENT_TYPES = (
    f'<Types xmlns="{_OPEN}/package/2006/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{_TYPE}.document.main+xml"/>'
    f'<Override PartName="/word/styles.xml" ContentType="{_TYPE}.styles+xml"/></Types>'
)
_RELATIONSHIPS = (
    f'<Relationships xmlns="{_OPEN}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_OPEN}/officeDocument/2006/relationships/{{}}" Target="{{}}"/></Relationships>'
)


def as_word(blocks: Sequence[Block]) -> bytes:
    """Return blocks as a file; the same blocks give the same bytes."""
    body = "".join(_table(each) if isinstance(each, TableBlock) else _text(each) for each in blocks)
    parts = {
        "[Content_Types].xml": _CONTENT_TYPES,
        "_rels/.rels": _RELATIONSHIPS.format("officeDocument", "word/document.xml"),
        "word/_rels/document.xml.rels": _RELATIONSHIPS.format("styles", "styles.xml"),
        "word/styles.xml": f'<w:styles xmlns:w="{_WORD}">{"".join(_styles())}</w:styles>',
        "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            info = zipfile.ZipInfo(name)  # has a fixed time
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, f'<?xml version="1.0" encoding="UTF-8"?>\n{part}')
    return file.getvalue()


def _styles() -> Iterator[str]:
    yield _style("Normal", "Normal", '<w:pPr><w:spacing w:after="120"/></w:pPr>', is_default=True)
    for level, size in enumerate(_SIZES, 1):
        spacing = '<w:keepNext/><w:spacing w:before="240" w:after="120"/>'
        outline = f'<w:outlineLvl w:val="{level - 1}"/>'
        font = f'<w:rPr><w:b/><w:bCs/><w:sz w:val="{size}"/><w:szCs w:val="{size}"/></w:rPr>'
        name, properties = f"heading {level}", f"<w:pPr>{spacing}{outline}</w:pPr>{font}"
        yield _style(f"Heading{level}", name, properties)
    yield _style("ListParagraph", "List Paragraph", '<w:pPr><w:spacing w:after="60"/></w:pPr>')


def _style(key: str, name: str, properties: str, *, is_default: bool = False) -> str:
    default = ' w:default="1"' if is_default else ""
    based = "" if is_default else '<w:basedOn w:val="Normal"/><w:next w:val="Normal"/>'
    return (
        f'<w:style w:type="paragraph"{default} w:styleId="{key}"><w:name w:val="{name}"/>{based}'
        f"<w:qFormat/>{properties}</w:style>"
    )


def _text(block: TextBlock) -> str:
    if block.heading:
        return _paragraph(block.text, f'<w:pStyle w:val="Heading{block.heading}"/>')
    if not block.marker:
        return _paragraph(block.text, "")
    left = _INDENTATION * (block.depth + 2)
    indented = f'<w:ind w:start="{left}" w:hanging="{_INDENTATION}"/>'
    marker = f"{_run(block.marker)}<w:r><w:tab/></w:r>"
    return _paragraph(block.text, '<w:pStyle w:val="ListParagraph"/>', indented, marker)


def _paragraph(text: str, style: str, indented: str = "", before: str = "") -> str:
    direction = "<w:bidi/>" if right_to_left(text) else ""
    return f"<w:p><w:pPr>{style}{direction}{indented}</w:pPr>{before}{_run(text)}</w:p>"


def _run(text: str) -> str:
    direction = "<w:rPr><w:rtl/></w:rPr>" if right_to_left(text) else ""
    return f'<w:r>{direction}<w:t xml:space="preserve">{escape(_INVALID.sub("", text))}</w:t></w:r>'


def _table(block: TableBlock) -> str:
    is_leftward = any(right_to_left(cell) for row in block.rows for cell in row)
    edges = "".join(
        f'<w:{edge} w:val="single" w:sz="4" w:space="0" w:color="auto"/>'
        for edge in ("top", "left", "bottom", "right", "insideH", "insideV")
    )
    properties = f'{"<w:bidiVisual/>" * is_leftward}<w:tblW w:w="0" w:type="auto"/>'
    rows = "".join(f"<w:tr>{''.join(map(_cell, row))}</w:tr>" for row in block.rows)
    return (
        f"<w:tbl><w:tblPr>{properties}<w:tblBorders>{edges}</w:tblBorders></w:tblPr>"
        f"<w:tblGrid>{'<w:gridCol/>' * len(block.rows[0])}</w:tblGrid>{rows}</w:tbl><w:p/>"
    )


def _cell(text: str) -> str:
    return f"<w:tc><w:tcPr/>{_paragraph(text, '')}</w:tc>"
