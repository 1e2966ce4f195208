"""PowerPoint presentations (.pptx, .pptm, .potx, .potm, .ppsx, .ppsm): slides and notes.

The texts of each slide come first, then those of its SmartArt and charts, its comments and notes.
SmartArt is stored twice, as data and as a drawing, and so are the labels of a chart, which are in
an embedded workbook, too: both copies get the same translation. Masters and layouts stay.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from yakusu.data.files.office.archive import Archive
from yakusu.data.files.xmltree import Element
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.office.ooxml.alignment import Alignments
from yakusu.documents.office.ooxml.document import CHARTS, EMBEDDED, TextParts, graphics
from yakusu.documents.office.ooxml.drawing import DrawingDialect
from yakusu.documents.office.ooxml.package import Package, PackageKind
from yakusu.documents.office.ooxml.parts import DocumentTexts, Scope
from yakusu.documents.office.ooxml.workbook import (
    WORKBOOK,
    Workbook,
    quoted,
    settled,
    shown,
    shown_in_file,
)
from yakusu.documents.office.parts import parse_part
from yakusu.errors import DataError

_KIND = PackageKind(
    "a PowerPoint presentation",
    ".pptx",
    re.compile(
        r"(presentationml|ms-powerpoint)\.(presentation|template|slideshow)(\.macroEnabled)?"
        r"\.main\+xml$",
        re.IGNORECASE,
    ),
)
_BESIDE = ("comments", "notesSlide")  # what else belongs to a slide
_MAX_WORKBOOKS = 2**26  # bytes of all workbooks, decompressed


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read a PowerPoint presentation.

    Raises:
        DataError: The data is not a valid PowerPoint presentation.
    """
    return _Presentation(Archive(data))


class _Book(NamedTuple):
    """The workbook of a chart, and the texts that both have."""

    archive: Archive
    workbook: Workbook
    scope: Scope


class _Presentation:
    """A presentation; see `Document`."""

    lines: Sequence[int] = ()
    reports_blank = False

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._package = Package(archive, _KIND)
        self._texts = DocumentTexts()
        self._parts = TextParts(archive, self._texts)
        self._alignments = Alignments(self._package)
        self._books: dict[str, _Book] = {}
        self._n_free = _MAX_WORKBOOKS
        self._reports: list[str] = []
        seen: set[str] = set()
        for slide in self._slides():
            if slide not in seen:
                seen.add(slide)
                self._read_slide(slide, seen)
        self.texts: Sequence[str] = self._texts.items
        self.skipped: Sequence[str] = self._reports

    def _slides(self) -> list[str]:
        """The parts of the slides, in their order.

        Raises:
            DataError: The file lacks one.
        """
        main = self._package.main()
        targets = {each.key: each.target for each in self._package.relations(main)}
        found: list[str] = []

        def use(slide: Element) -> None:
            for name, value in slide.attributes.items():
                if name.endswith(" id"):
                    found.append(self._package.existing(targets.get(value), "slide"))

        parse_part(self._archive, main, lambda _, name: name == "sldId", use)
        return found

    def _read_slide(self, slide: str, seen: set[str]) -> None:
        self._parts.add(slide, DrawingDialect(side=self._alignments.of_slide(slide)))
        diagrams: Scope = {}
        for kind, part in graphics(self._package, slide, seen):
            if kind in CHARTS:
                self._read_chart(part)
            else:
                self._parts.add(part, DrawingDialect(), diagrams)
        related = [each for each in self._package.relations(slide) if each.target]
        self._reports += (
            f"{slide}: the embedded file {each.target}" for each in related if each.kind in EMBEDDED
        )
        beside = [each for each in related if each.kind in _BESIDE]
        for each in sorted(beside, key=lambda each: each.kind):
            if each.target not in seen:
                seen.add(each.target)
                side = self._alignments.of_slide(each.target)
                self._parts.add(each.target, DrawingDialect(side=side))

    def _read_chart(self, part: str) -> None:
        """Read a chart, and its workbook, whose cells its labels repeat."""
        related = [each for each in self._package.relations(part) if each.kind in EMBEDDED]
        known = [self._books[each.target] for each in related if each.target in self._books]
        if known:
            self._read_further_chart(part, known[0])
            return
        scope: Scope = {}
        name = related[0].target if related else None
        book = None if name is None else self._opened(part, name, scope)
        labels = DrawingDialect(lambda text: not (book and book.stays(text)))
        self._parts.add(part, labels, scope)
        if name is None or book is None:
            return
        try:
            book.read()
        except DataError as error:
            del self._books[name]
            self._reports.append(f"{part}: its workbook {name} ({error})")
            return
        cells = {shown(self._texts.items[index]) for index in book.indexes}
        if others := sorted(each for each in labels.translated if shown_in_file(each) not in cells):
            self._reports.append(f"{part}: the cells of its labels {quoted(others)}")
        self._reports += (f"{part}: {report}" for report in book.reports())

    def _read_further_chart(self, part: str, book: _Book) -> None:
        """Read a chart whose workbook has been read for another one, whose labels it may repeat."""
        labels = DrawingDialect(book.workbook.is_label)
        self._parts.add(part, labels, book.scope)
        if labels.kept:
            self._reports.append(f"{part}: its labels {quoted(sorted(labels.kept))}")

    def _opened(self, chart: str, name: str, scope: Scope) -> Workbook | None:
        """The workbook of a chart; None, with a report, if it cannot be read."""
        if not name:
            self._reports.append(f"{chart}: its workbook, which is another file")
            return None
        try:
            archive = Archive(self._archive.read(name), self._n_free)
            workbook = Workbook(Package(archive, WORKBOOK), self._texts, scope, only_known=True)
        except DataError as error:
            self._reports.append(f"{chart}: its workbook {name} ({error})")
            return None
        self._n_free -= archive.size
        self._books[name] = _Book(archive, workbook, scope)
        return workbook

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        books = [book.workbook for book in self._books.values()]
        new, kept = settled(books, self.texts, translations)
        self.skipped = [*self._reports, *kept]
        contents = self._parts.contents(new)
        for name, book in self._books.items():
            if changed := book.workbook.contents(new):
                contents[name] = book.archive.rewritten(changed)
        return self._archive.rewritten(contents)
