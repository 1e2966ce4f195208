"""The charts, shapes and SmartArt of a text document or presentation.

SmartArt is stored twice, as data and as a drawing, and so are the labels of a chart, which are in
an embedded workbook, too: both copies get the same translation.
"""

from collections.abc import Sequence
from typing import NamedTuple

from yakusu.data.files.office.archive import Archive
from yakusu.documents.office.ooxml.document import CHARTS, EMBEDDED, TextParts, graphics
from yakusu.documents.office.ooxml.drawing import DrawingDialect
from yakusu.documents.office.ooxml.package import Package
from yakusu.documents.office.ooxml.workbook import (
    WORKBOOK,
    Workbook,
    quoted,
    settled,
    shown,
    shown_in_file,
)
from yakusu.documents.office.parts import DocumentTexts, Scope
from yakusu.errors import DataError

_MAX_WORKBOOKS = 2**26  # bytes of all workbooks, decompressed


class _Book(NamedTuple):
    """The workbook of a chart, and the texts that both have."""

    archive: Archive
    workbook: Workbook
    scope: Scope


class GraphicDocument:
    """A document of several parts with charts, shapes and SmartArt; see `Document`.

    Args:
        package: The file.

    Attributes:
        parts: The parts with texts.
        reports: A sentence for each part with words that stays.
    """

    lines: Sequence[int] = ()
    reports_blank = False

    def __init__(self, package: Package) -> None:
        self.reports: list[str] = []
        self.skipped: Sequence[str] = self.reports
        self._archive, self._package = package.archive, package
        self._texts = DocumentTexts()
        self.texts: Sequence[str] = self._texts.items
        self.parts = TextParts(package.archive, self._texts)
        self._books: dict[str, _Book] = {}
        self._n_free = _MAX_WORKBOOKS

    def add_graphics(self, part: str, seen: set[str]) -> None:
        """Read the charts, shapes and SmartArt of a part, and report the files that it embeds.

        Args:
            part: The part.
            seen: Parts that are not read; those that are read are added.

        Raises:
            DataError: A part is not valid XML, or exceeds a limit.
        """
        diagrams: Scope = {}
        for kind, name in graphics(self._package, part, seen):
            if kind in CHARTS:
                self._read_chart(name)
            else:
                self.parts.add(name, DrawingDialect(), diagrams)
        self.reports += (
            f"{part}: the embedded file {each.target}"
            for each in self._package.relations(part)
            if each.target and each.kind in EMBEDDED
        )

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
        self.parts.add(part, labels, scope)
        if name is None or book is None:
            return
        try:
            book.read()
        except DataError as error:
            del self._books[name]
            self.reports.append(f"{part}: its workbook {name} ({error})")
            return
        cells = {shown(self._texts.items[index]) for index in book.indexes}
        if others := sorted(each for each in labels.translated if shown_in_file(each) not in cells):
            self.reports.append(f"{part}: the cells of its labels {quoted(others)}")
        self.reports += (f"{part}: {report}" for report in book.reports())

    def _read_further_chart(self, part: str, book: _Book) -> None:
        """Read a chart whose workbook has been read for another one, whose labels it may repeat."""
        labels = DrawingDialect(book.workbook.is_label)
        self.parts.add(part, labels, book.scope)
        if labels.kept:
            self.reports.append(f"{part}: its labels {quoted(sorted(labels.kept))}")

    def _opened(self, chart: str, name: str, scope: Scope) -> Workbook | None:
        """The workbook of a chart; None, with a report, if it cannot be read."""
        if not name:
            self.reports.append(f"{chart}: its workbook, which is another file")
            return None
        try:
            archive = Archive(self._archive.read(name), self._n_free)
            workbook = Workbook(Package(archive, WORKBOOK), self._texts, scope, only_known=True)
        except DataError as error:
            self.reports.append(f"{chart}: its workbook {name} ({error})")
            return None
        self._n_free -= archive.size
        self._books[name] = _Book(archive, workbook, scope)
        return workbook

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        books = [book.workbook for book in self._books.values()]
        new, kept = settled(books, self.texts, translations)
        self.skipped = [*self.reports, *kept]
        contents = self.parts.contents(new)
        for name, book in self._books.items():
            if changed := book.workbook.contents(new):
                contents[name] = book.archive.rewritten(changed)
        return self._archive.rewritten(contents)
