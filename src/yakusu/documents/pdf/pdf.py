"""PDF: its text in reading order, written as Markdown or as a Word document.

    glyphs and rules of each page   pdfium
    snippets, tables               page, grids
    lines, columns                  lines, columns
    headings, paragraphs, items     paragraphs
    Markdown, Word                  markdown, word

The layout is not kept: pictures, drawings and formatting are left out, and so are running heads and
feet, and page numbers.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from yakusu.data.lines.words import has_letter
from yakusu.documents.document import DocumentOptions
from yakusu.documents.pdf.blocks import Block, texts_of, with_texts
from yakusu.documents.pdf.columns import as_stretch, flows
from yakusu.documents.pdf.grids import PageGrids, grids
from yakusu.documents.pdf.lines import line, rows, with_markers, without_running
from yakusu.documents.pdf.markdown import as_markdown
from yakusu.documents.pdf.page import CellTexts, PageContent, PageText, Snippet, snippets
from yakusu.documents.pdf.paragraphs import blocks_of, most_size
from yakusu.documents.pdf.pdfium import read_pages
from yakusu.documents.pdf.word import as_word
from yakusu.errors import DataError

_APART = 100.0  # points between the text of a page and that which is turned
_SHOWN = 5  # lines and pages that are named
_LONGEST = 60  # characters of a line that is named
_LEAST_FILLED = (
    0.3  # of the cells of a table, so that lines that are drawn are not those of a chart
)


def read(data: bytes, options: DocumentOptions) -> "PdfDocument":
    """Read a PDF file.

    Raises:
        DataError: It is damaged or encrypted, exceeds a limit, or has no text.
    """
    with closing(read_pages(data)) as contents:
        pages = [_text(page) for page in contents]
    if not any(page.snippets for page in pages):
        raise DataError(
            "it has no text, only scanned pages: add their text with OCR first, as in ocrmypdf "
            "SCAN.pdf NEW.pdf"
        )
    kept, left_out = without_running(pages)
    em = most_size(kept)
    found = blocks_of(flows(with_markers(page), em) for page in kept)
    empty = [number for number, page in enumerate(pages, 1) if not page.snippets]
    return PdfDocument(found, options.suffix, [*_checks(left_out, empty)])


def _text(page: PageContent) -> PageText:
    """The text and the tables of a page; text that is turned comes below."""
    found = list[Snippet]()
    for number, glyphs in enumerate(page.glyphs):
        tables = grids(page.rules) if number == 0 else []
        text = [*snippets(glyphs, PageGrids(tables).cell)]
        if number == 0:
            found = _with_tables(text, len(tables))
        elif text:
            below = max(each.bottom for each in found) + _APART - min(each.top for each in text)
            found += [each._replace(base=each.base + below) for each in text]
    return PageText(found, page.top, page.bottom)


def _with_tables(text: Iterable[Snippet], n_tables: int) -> list[Snippet]:
    """Make the snippets in each table one."""
    inside = defaultdict[int | None, list[Snippet]](list)
    for each in text:
        inside[each.cell and each.cell[0]].append(each)
    found = inside[None]
    for number in range(n_tables):
        table, members = _table(inside[number]), inside[number]
        if table:
            found.append(as_stretch(members, table))
        else:  # what is drawn is no table
            found += [each._replace(cell=None) for each in members]
    return found


def _table(members: Iterable[Snippet]) -> CellTexts:
    """The cells of a table without empty rows and columns; (): most cells are empty."""
    cells = defaultdict[tuple[int, int], list[Snippet]](list)
    for each in members:
        if each.cell:
            cells[each.cell[1:]].append(each)
    ys, xs = sorted({y for y, _ in cells}), sorted({x for _, x in cells})
    if len(cells) < max(2, _LEAST_FILLED * len(xs) * len(ys)):
        return ()
    return tuple(
        tuple("\n".join(line(row).text for row in rows(cells.get((y, x), ()))) for x in xs)
        for y in ys
    )


def _checks(left_out: Sequence[str], empty: Sequence[int]) -> Iterator[str]:
    """What a reader should know."""
    yield "the layout, pictures and formatting of the PDF file are not kept"
    if left_out:
        shown = ", ".join(repr(each[:_LONGEST]) for each in left_out[:_SHOWN])
        more = ", ..." if left_out[_SHOWN:] else ""
        yield f"page headers, footers and numbers are left out: {shown}{more}"
    if empty:
        shown = ", ".join(map(str, empty[:_SHOWN])) + (", ..." if empty[_SHOWN:] else "")
        yield f"pages without text, which may be scanned, are left out: {shown}"


class PdfDocument:
    """The text of a PDF file, which is written in another format.

    Args:
        blocks: The text.
        suffix: The suffix of the output, ".docx" for a Word document; otherwise, Markdown.
        checks: What a reader should know.

    Attributes:
        texts: The texts to translate, in reading order.
        checks: What a reader should know.
    """

    reports_blank = False
    lines: Sequence[int] = ()
    skipped: Sequence[str] = ()

    def __init__(self, blocks: Sequence[Block], suffix: str, checks: Sequence[str]) -> None:
        self._blocks, self._suffix, self.checks = blocks, suffix, checks
        self.texts = [text for text in texts_of(blocks) if has_letter(text)]

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the text as a document, with these translations."""
        remaining = iter(translations)
        texts = (next(remaining) if has_letter(t) else t for t in texts_of(self._blocks))
        blocks = list(with_texts(self._blocks, texts))
        return as_word(blocks) if self._suffix == ".docx" else as_markdown(blocks).encode()
