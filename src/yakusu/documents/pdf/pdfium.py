"""Reads PDF files with PDFium, the library of Chrome, through its Python package pypdfium2."""

import ctypes
import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from contextlib import closing
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
_MAX_RULES, _MAX_OBJECTS = 2_000, 100_000  # of a page: more are those of a drawing
_MAX_PAGES, _MAX_TEXT = 10_000, 20_000_000  # of a file: pages, and characters
_MAX_CHARACTERS = 100_000  # of a page
_SHORTEST = 8.0  # points of a rule
_SLANT = 1.0  # points by which both ends of a rule may differ in the other direction
_ONE_AT_A_TIME = Lock()  # PDFium must not be used by several threads


def read_pages(data: bytes) -> Generator[PageContent, None, None]:
    """Yield the pages of a PDF file; others wait until it is closed.

    Raises:
        DataError: It is damaged, needs a password, or has too many pages or characters.
        ModuleNotFoundError: pypdfium2 is not installed.
    """
    import pypdfium2

    with _ONE_AT_A_TIME:
        try:
            with pypdfium2.PdfDocument(data) as document:
                yield from map(_content, _pages(document))
        except pypdfium2.PdfiumError as error:
            if "password" in str(error).lower():
                raise DataError("it is encrypted: remove its password") from error
            raise DataError("it is damaged: obtain it again, or print it to a new PDF") from error


def _pages(
    document: "pypdfium2.PdfDocument",
) -> "Iterator[tuple[pypdfium2.PdfPage, pypdfium2.PdfTextPage]]":
    """Yield each page with its text."""
    if len(document) > _MAX_PAGES:
        raise DataError(f"it has more than {_MAX_PAGES:,} pages: split it")
    n_characters = 0
    for number in range(len(document)):
        with closing(document[number]) as page, closing(page.get_textpage()) as text:
            found = text.count_chars()
            if found > _MAX_CHARACTERS:
                raise DataError(
                    f"page {number + 1} has more than {_MAX_CHARACTERS:,} characters: divide it"
                )
            n_characters += found
            if n_characters > _MAX_TEXT:
                raise DataError(f"it has more than {_MAX_TEXT:,} characters: split it")
            yield page, text


def _content(found: "tuple[pypdfium2.PdfPage, pypdfium2.PdfTextPage]") -> PageContent:
    page, text = found
    by_angle = defaultdict[int, list[Glyph]](list)
    for angle, glyph in _glyphs(text.raw):
        by_angle[angle].append(glyph)
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


def _glyphs(text: Any) -> Iterator[tuple[int, Glyph]]:
    """Yield each character with the angle of its baseline, which spaces have of the one before."""
    import pypdfium2.raw as pdfium

    angle: int | None = None
    for i, code in _codes(text):
        character = _character(code)
        if character == " ":
            if angle is not None:
                yield angle, Glyph(" ", 0, 0, 0, 0)
        elif character.strip() and pdfium.FPDFText_IsGenerated(text, i) != 1:
            turned, *place = _place(text, i)
            if math.isfinite(sum(place)) and place[-1] > 0:
                angle = turned
                yield angle, Glyph(character, *place)


def _codes(text: Any) -> Iterator[tuple[int, int]]:
    """Yield the index and the code of each character; the index is that of its second half."""
    import pypdfium2.raw as pdfium

    high = 0
    for i in range(pdfium.FPDFText_CountChars(text)):
        code = pdfium.FPDFText_GetUnicode(text, i)
        if 0xD800 <= code < 0xDC00:  # the first half of a character
            high = code
            continue
        if 0xDC00 <= code <= 0xDFFF and high:
            code = 0x10000 + (high - 0xD800) * 0x400 + code - 0xDC00
        high = 0
        yield i, code


def _place(text: Any, i: int) -> tuple[int, float, float, float, float]:
    """The angle of a character's baseline, its left and right end, its baseline and its size."""
    import pypdfium2.raw as pdfium

    box, matrix, x, y = pdfium.FS_RECTF(), pdfium.FS_MATRIX(), ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetLooseCharBox(text, i, box)
    pdfium.FPDFText_GetCharOrigin(text, i, x, y)
    pdfium.FPDFText_GetMatrix(text, i, matrix)
    scale = pdfium.FPDFText_GetFontSize(text, i)  # less than 0 turns the text round
    size = abs(scale) * math.hypot(matrix.c, matrix.d)
    to_right, to_top = (matrix.a, matrix.b) if scale >= 0 else (-matrix.a, -matrix.b)
    if to_right > 0 and not to_top:
        return 0, box.left, box.right, -y.value, size
    angle = round(math.degrees(math.atan2(to_top, to_right)) / _TURN) * _TURN % 360
    corners = [(each, other) for each in (box.left, box.right) for other in (box.bottom, box.top)]
    across = [_turned(*corner, angle)[0] for corner in corners]
    return angle, min(across), max(across), _turned(x.value, y.value, angle)[1], size


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
    n_objects = pdfium.FPDFPage_CountObjects(page)
    if n_objects > _MAX_OBJECTS:
        return []
    for number in range(n_objects):
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
