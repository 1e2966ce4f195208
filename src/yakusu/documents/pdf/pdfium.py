"""Reads PDF files with PDFium, the library of Chrome, through its Python package pypdfium2."""

import ctypes
import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from yakusu.data.lines.invisible import right_to_left
from yakusu.documents.pdf.page import DrawnLine, Glyph, PageContent
from yakusu.errors import DataError

if TYPE_CHECKING:
    import pypdfium2

HYPHEN = "\u00ad"  # at the end of a line: a hyphen that may be there only because the line ends
_HYPHENS = {"\x02", "\ufffe", HYPHEN}  # what PDFium says for it
_UNKNOWN = "\ufffd"
_TURN = 15  # degrees: text that is turned by another multiple of it is separate
_MAX_RULES = 2_000  # of a page: more are those of a drawing
_SHORTEST = 8.0  # points of a rule
_SLANT = 1.0  # points by which both ends of a rule may differ in the other direction
_ONE_AT_A_TIME = Lock()  # PDFium must not be used by several threads


def read_pages(data: bytes) -> list[PageContent]:
    """Read the pages of a PDF file.

    Raises:
        DataError: It is damaged, or needs a password.
        ModuleNotFoundError: pypdfium2 is not installed.
    """
    import pypdfium2

    with _ONE_AT_A_TIME:
        try:
            with pypdfium2.PdfDocument(data) as document:
                return [_content(page) for page in _pages(document)]
        except pypdfium2.PdfiumError as error:
            if "password" in str(error).lower():
                raise DataError("it is encrypted: remove its password") from error
            raise DataError("it is damaged: obtain it again, or print it to a new PDF") from error


def _pages(document: "pypdfium2.PdfDocument") -> "Iterator[pypdfium2.PdfPage]":
    for number in range(len(document)):
        page = document[number]
        try:
            yield page
        finally:
            page.close()


def _content(page: "pypdfium2.PdfPage") -> PageContent:
    by_angle = defaultdict[int, list[Glyph]](list)
    text = page.get_textpage()
    try:
        for angle, glyph in _glyphs(text):
            by_angle[angle].append(glyph)
    finally:
        text.close()
    angles = sorted(by_angle, key=lambda angle: -len(by_angle[angle]))
    main = angles[0] if angles else 0
    left, bottom, right, top = page.get_bbox()
    corners = [_turned(x, y, main) for x in (left, right) for y in (bottom, top)]
    rules = [_rule(*ends, main) for ends in _edges(page)]
    glyphs = [by_angle[angle] for angle in angles]
    if _is_mirrored(glyphs):
        glyphs = [[each._replace(left=-each.right, right=-each.left) for each in g] for g in glyphs]
        rules = [each._replace(left=-each.right, right=-each.left) for each in rules]
    return PageContent(glyphs, rules, min(y for _, y in corners), max(y for _, y in corners))


def _is_mirrored(glyphs: list[list[Glyph]]) -> bool:
    """Whether most letters are written from right to left."""
    letters = Counter(right_to_left(g.text) for each in glyphs for g in each if g.text.isalpha())
    return letters[True] > letters[False]


def _turned(x: float, y: float, angle: int) -> tuple[float, float]:
    """A place, to the right and up, on a page that is turned so that an angle is horizontal."""
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    return x * cosine + y * sine, x * sine - y * cosine


# ---- text ----------------------------------------------------------------------------------------


def _glyphs(text: "pypdfium2.PdfTextPage") -> Iterator[tuple[int, Glyph]]:
    """Yield each character with the angle of its baseline."""
    import pypdfium2.raw as pdfium

    box, matrix = pdfium.FS_RECTF(), pdfium.FS_MATRIX()
    x, y = ctypes.c_double(), ctypes.c_double()
    angle, high = 0, 0
    for i in range(text.count_chars()):
        code = pdfium.FPDFText_GetUnicode(text, i)
        if 0xD800 <= code < 0xDC00:  # the first half of a character
            high = code
            continue
        if 0xDC00 <= code < 0xE000 and high:
            code = 0x10000 + (high - 0xD800) * 0x400 + code - 0xDC00
        high = 0
        character = _character(code)
        if character == " ":
            yield angle, Glyph(" ", 0, 0, 0, 0)
        if not character.strip() or pdfium.FPDFText_IsGenerated(text, i) == 1:
            continue
        pdfium.FPDFText_GetLooseCharBox(text, i, box)
        pdfium.FPDFText_GetCharOrigin(text, i, x, y)
        pdfium.FPDFText_GetMatrix(text, i, matrix)
        size = pdfium.FPDFText_GetFontSize(text, i) * math.hypot(matrix.c, matrix.d)
        left, right, base, angle = box.left, box.right, -y.value, 0
        if matrix.b or matrix.a <= 0:
            angle = round(math.degrees(math.atan2(matrix.b, matrix.a)) / _TURN) * _TURN % 360
            places = [(each, other) for each in (left, right) for other in (box.bottom, box.top)]
            across = [_turned(*place, angle)[0] for place in places]
            left, right, base = min(across), max(across), _turned(x.value, y.value, angle)[1]
        if math.isfinite(left + right + base + size) and size > 0:
            yield angle, Glyph(character, left, right, base, size)


@lru_cache(maxsize=1 << 12)
def _character(code: int) -> str:
    """The text of a code: letters of ligatures and of forms that depend on their neighbours."""
    character = chr(code) if code < 0x110000 else _UNKNOWN
    if character in _HYPHENS:
        return HYPHEN
    if "\ufb00" <= character <= "\ufdff" or "\ufe70" <= character <= "\ufefc":
        return unicodedata.normalize("NFKC", character)
    if character.isspace():
        return "" if character in "\r\n" else " "
    return _UNKNOWN if unicodedata.category(character) in ("Cc", "Cn", "Cs") else character


# ---- drawings ------------------------------------------------------------------------------------


def _rule(x: float, y: float, to_x: float, to_y: float, angle: int) -> DrawnLine:
    (x, y), (to_x, to_y) = _turned(x, y, angle), _turned(to_x, to_y, angle)
    return DrawnLine(min(x, to_x), min(y, to_y), max(x, to_x), max(y, to_y))


def _edges(page: "pypdfium2.PdfPage") -> list[tuple[float, float, float, float]]:
    """The horizontal and vertical edges of all paths; none if the page has very many."""
    import pypdfium2.raw as pdfium

    found = list[tuple[float, float, float, float]]()
    for number in range(pdfium.FPDFPage_CountObjects(page)):
        each = pdfium.FPDFPage_GetObject(page, number)
        if pdfium.FPDFPageObj_GetType(each) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        for x, y, to_x, to_y in _segments(each):
            dx, dy = abs(to_x - x), abs(to_y - y)
            if min(dx, dy) <= _SLANT and max(dx, dy) >= _SHORTEST:
                found.append((x, y, to_x, to_y))
        if len(found) > _MAX_RULES:
            return []
    return found


def _segments(path: Any) -> Iterator[tuple[float, float, float, float]]:
    """Yield both ends of each straight segment of a path."""
    import pypdfium2.raw as pdfium

    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(path, matrix)
    x, y = ctypes.c_float(), ctypes.c_float()
    start = last = (0.0, 0.0)
    for number in range(min(_MAX_RULES, pdfium.FPDFPath_CountSegments(path))):
        segment = pdfium.FPDFPath_GetPathSegment(path, number)
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        point = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            yield *last, *point
        if pdfium.FPDFPathSegment_GetClose(segment):
            yield *point, *start
        last = point
