"""Documents of several parts: the file itself, and the charts and documents in it."""

from collections.abc import Iterator, Sequence, Set

from yakusu.documents.office.odf.charts import ChartDialect
from yakusu.documents.office.odf.comparisons import SheetComparisons
from yakusu.documents.office.odf.package import CONTENT, STYLES, DocumentArchive, objects_in
from yakusu.documents.office.odf.pages import PageDialect
from yakusu.documents.office.odf.sheet_names import OdfSheetNames
from yakusu.documents.office.odf.sheets import SheetPart
from yakusu.documents.office.odf.text import TextDialect, styles_of
from yakusu.documents.office.odf.turning import TurningPart
from yakusu.documents.office.parts import DocumentTexts, OfficePart, Scope, read_part

_PICTURES = "ObjectReplacements/"
KINDS = ("text", "presentation", "graphics", "spreadsheet")
_DIALECTS = {"text": TextDialect, "presentation": PageDialect, "graphics": PageDialect}  # by kind
_LISTED = 5  # texts in a report


class OdfDocument:
    """A document, with the objects in it; see `Document`.

    Args:
        archive: The file.
        kind: Its kind, such as "spreadsheet".
        has_names: Whether the names of sheets are texts.
    """

    lines: Sequence[int] = ()
    reports_blank = False

    def __init__(self, archive: DocumentArchive, kind: str, *, has_names: bool = False) -> None:
        self._texts = DocumentTexts()
        self.texts: Sequence[str] = self._texts.items
        self.skipped: list[str] = []
        self._archive = archive
        self._parts: dict[str, OfficePart | SheetPart] = {}
        scope = self._read("", kind)
        cells = frozenset(scope) if kind == "spreadsheet" else None
        for folder, inner in objects_in(archive):
            before = len(self.texts)
            if inner != "chart":
                self._read(folder, inner)
            elif kind == "spreadsheet":  # the labels are those of its cells
                self._read_chart(folder, scope, cells)
            else:
                self._read_chart(folder, {}, None)
            picture = _PICTURES + folder.removesuffix("/")
            if len(self.texts) > before and picture in archive.names:
                self.skipped.append(f"{picture}, the picture of an object with texts")
        is_named = has_names and kind == "spreadsheet"
        self._names = OdfSheetNames(archive, self._texts) if is_named else None
        self._reports = [*self.skipped, *(self._names.reports if self._names else ())]
        self.skipped = self._reports

    def _read(self, folder: str, kind: str) -> Scope:
        """Read a document; return the texts of its cells."""
        scope, comparisons = Scope(), SheetComparisons()
        names = [
            folder + name for name in (CONTENT, STYLES) if folder + name in self._archive.names
        ]
        if kind == "spreadsheet":
            if folder + STYLES in names:
                comparisons.read(read_part(self._archive, folder + STYLES).content)
            name = folder + CONTENT
            part = SheetPart(self._archive, name, comparisons, self._texts, scope=scope)
            self._parts[name] = part
            if folder + STYLES in names:  # headers and footers of pages
                self._add(folder + STYLES, TextDialect)
            self.skipped += reports(comparisons, part, folder)
        elif kind in _DIALECTS:  # the masters in the styles stay
            self._add(folder + CONTENT, _DIALECTS[kind])
            if kind == "text" and folder + STYLES in names:  # headers and footers of pages
                self._add(folder + STYLES, TextDialect)
        return scope

    def _read_chart(self, folder: str, scope: Scope, labels: Set[str] | None) -> None:
        """Read a chart, in whose table only these labels are translated; None: all."""
        name = folder + CONTENT
        dialect = ChartDialect(lambda text: labels is None or text in labels)
        self._parts[name] = OfficePart(self._archive, name, dialect, self._texts, scope=scope)

    def _add(self, name: str, kind: type[TextDialect]) -> None:
        dialect = kind(styles_of(self._archive, name))
        styles = name.removesuffix(CONTENT) + STYLES  # that of a file of styles is its own
        common = [styles] if styles in self._archive.names else []
        self._parts[name] = TurningPart(self._archive, name, dialect, self._texts, common=common)

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        rendered = {name: part.render(translations) for name, part in self._parts.items()}
        contents = {name: content for name, content in rendered.items() if content is not None}
        if self._names:
            contents, invalid = self._names.renamed(contents, translations)
            self.skipped = [*self._reports, *invalid]
        return self._archive.rewritten(contents)


def reports(comparisons: SheetComparisons, part: SheetPart, folder: str) -> Iterator[str]:
    """A sentence for each reason for which texts of cells stay."""
    where = f"{folder}: " if folder else ""
    for reason, texts in comparisons.stayed.items():
        yield f"{where}{reason} {_listed([*texts])}"
    for n, one, many in (
        (part.n_results, "result of a formula", "results of formulas"),
        (part.n_unequal, "cell whose text is not its value", "cells whose text is not their value"),
        (comparisons.n_lists, "validity list", "validity lists"),
        (comparisons.n_pivots, "pivot table", "pivot tables"),
    ):
        if n:
            yield f"{where}{n:,} {one if n == 1 else many}"


def _listed(texts: Sequence[str]) -> str:
    """The first of some texts, and the number of the others."""
    more = len(texts) - _LISTED
    others = f" and {more:,} other text{'s' * (more > 1)}" if more > 0 else ""
    return ", ".join(map(repr, texts[:_LISTED])) + others
