"""Workbooks: the texts of their cells, and what must change together with them or stay."""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from yakusu.data.files.xmltree import Element, with_attribute
from yakusu.data.lines.private_use import MARKS, is_break
from yakusu.data.lines.words import has_letter
from yakusu.documents.office.ooxml.cells import SHEET_NAMESPACES, CellDialect
from yakusu.documents.office.ooxml.comparisons import WorkbookComparisons, unescaped
from yakusu.documents.office.ooxml.document import CHARTS, EMBEDDED, TextParts, graphics
from yakusu.documents.office.ooxml.drawing import DrawingDialect
from yakusu.documents.office.ooxml.package import Package, PackageKind
from yakusu.documents.office.parts import DocumentTexts, Scope, parse_part, read_part

WORKBOOK = PackageKind(
    "an Excel workbook",
    ".xlsx",
    re.compile(
        r"(spreadsheetml\.(sheet|template)|ms-excel\.(sheet|template)\.macroEnabled)\.main\+xml$",
        re.IGNORECASE,
    ),
)
_INLINE = re.compile(rb"<(?:[\w.-]{1,20}:)?is[\s>/]")
_INLINE_RESULT = re.compile(rb"[</:]f(?:\s[^<>]{0,300}+)?>\s{0,300}+" + _INLINE.pattern)
_VALUE = re.compile(rb"""<(?:[\w.-]{1,20}:)?c\s[^<>]*\bt\s*=\s*["']str["'][^<>]*>""")
_CONSTANT = re.compile(_VALUE.pattern + rb"\s*<(?:[\w.-]{1,20}:)?v[\s>]")
_ARRAY = re.compile(  # one formula for several cells, of which only the first contains it
    rb"<(?:[\w.-]{1,20}:)?f\s(?=[^<>]*\bt\s*=\s*[\"'](?:array|dataTable))[^<>]*"
    rb"\bref\s*=\s*[\"'][^\"'<>:]*:"
)
_MESSAGE = re.compile(rb"""\s(?:prompt|error)\s*=\s*["'][^"']""")
_MARGIN = re.compile(
    rb"<(?:[\w.-]{1,20}:)?(?:odd|even|first)(?:Header|Footer)(?:\s[^<>]*)?>([^<]+)"
)
_CODE = re.compile('&(?:"[^"]*"|K[0-9A-F]{6}|.)')  # of a margin, such as &P for the page
_SHEETS = ("worksheet", "chartsheet", "dialogsheet")
_MARK = re.compile(MARKS)
_LINE_ENDS = re.compile("[\r\n]+")
_MAX_HEADER = 255  # characters, in Excel
_MAX_ROUNDS = 20  # in which tables may make each other's headers stay
_MAX_CELL = 32_767  # characters, in Excel
_LISTED, _MAX_SHOWN = 5, 60  # texts in a report, and characters of each


@dataclass(frozen=True)
class _Table:
    """A table with a header, whose names of columns repeat the header.

    Attributes:
        part: The name of its part.
        columns: The names of its columns.
        texts: Other texts of cells that the part repeats.
    """

    part: str
    columns: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


class Workbook:
    """The texts of a workbook.

    Args:
        package: The workbook.
        texts: Receives its texts.
        scope: Texts that are known; those of cells are added, and equal ones are the same text.
        only_known: Translate only cells whose text is known, as in the workbook of a chart.

    Raises:
        DataError: It is not a valid workbook.
    """

    def __init__(
        self, package: Package, texts: DocumentTexts, scope: Scope, *, only_known: bool = False
    ) -> None:
        self._package = package
        self._texts = texts.items
        self._scope = scope
        self._only_known = only_known
        self._comparisons = WorkbookComparisons()
        self._parts = TextParts(package.archive, texts)
        self._tables: list[_Table] = []
        self._shown: set[str] = set()  # what a reader sees of the texts that cells may repeat
        self._names: dict[str, list[int]] = {}  # indexes of texts, by what a reader sees
        # Indexes of texts whose translations must have equal keys.
        self._variants: list[tuple[Callable[[str], str], list[int]]] = []
        self._n_results = self._n_messages = self._n_margins = self._n_comments = 0
        self._n_embedded = 0
        self._wanted: dict[str, str] = {}  # elements with texts, by sheet
        self._book = package.main()
        self._sheets = self._inspected()

    # ---- reading ---------------------------------------------------------------------------

    def _inspected(self) -> list[str]:
        """Read what the workbook compares its cells with; return its sheets, in their order."""
        found, package = self._comparisons, self._package
        found.read_formulas(self._content(self._book))
        sheets = self._listed_sheets()
        for each in package.relations(self._book):
            if each.kind == "pivotCacheDefinition" and each.target:
                found.read_pivot(self._content(each.target))
                found.n_caches += 1
            elif each.kind == "slicerCache" and each.target:
                found.read_slicer(self._content(each.target))
        for name in sheets:
            self._inspect_sheet(name)
        for table in self._tables:
            found.add_columns(table.columns)
        return sheets

    def _inspect_sheet(self, name: str) -> None:
        content = self._content(name)
        self._comparisons.read_formulas(content)
        n_values = sum(1 for _ in _VALUE.finditer(content)) if b"str" in content else 0
        has_constants = n_values and not _ARRAY.search(content)
        n_constants = sum(1 for _ in _CONSTANT.finditer(content)) if has_constants else 0
        n_inline = sum(1 for _ in _INLINE_RESULT.finditer(content))
        self._n_results += n_values - n_constants + n_inline
        if n_constants or n_inline:
            self._wanted[name] = "c"
        elif _INLINE.search(content):
            self._wanted[name] = "is"
        self._n_messages += sum(1 for _ in _MESSAGE.finditer(content))
        margins = (html.unescape(each.decode()) for each in _MARGIN.findall(content))
        self._n_margins += sum(1 for each in margins if has_letter(_CODE.sub("", each)))
        for each in self._package.relations(name):
            if each.kind == "pivotTable" and each.target:
                self._comparisons.read_pivot(self._content(each.target))
            elif each.kind == "table" and each.target:
                self._inspect_table(each.target)
            elif each.kind in EMBEDDED and each.target:
                self._n_embedded += 1

    def _inspect_table(self, name: str) -> None:
        self._comparisons.read_formulas(self._content(name))
        table, roots = _Table(name), list[Element]()

        def use(column: Element) -> None:
            table.columns.append(column.get("name"))
            if label := column.get("totalsRowLabel"):
                table.texts.append(label)
            roots.append(column)

        parse_part(self._package.archive, name, _is_column, use)
        root = roots[0].parent if roots else None
        while root is not None and root.parent is not None:
            root = root.parent
        if root is not None:
            self._comparisons.add_name(root.get("displayName"))
        if root is None or root.get("headerRowCount") == "0":
            return
        if root.get("tableType") not in ("", "worksheet"):
            for column in table.columns:
                self._comparisons.keep_column(column)
        self._tables.append(table)

    def _listed_sheets(self) -> list[str]:
        """The parts of the sheets, in their order; all names are read on the way.

        Raises:
            DataError: The file lacks a sheet.
        """
        related = {each.key: each for each in self._package.relations(self._book)}
        found: dict[str, None] = {}

        def use(named: Element) -> None:
            self._comparisons.add_name(named.get("name"))
            keys = [value for name, value in named.attributes.items() if name.endswith(" id")]
            for relation in map(related.get, keys):
                part = self._package.existing(relation and relation.target, "sheet")
                if relation and relation.kind in _SHEETS:
                    found[part] = None

        parse_part(self._package.archive, self._book, _has_name, use)
        return [*found]

    def _content(self, part: str) -> bytes:
        return read_part(self._package.archive, part).content

    def read(self) -> None:
        """Read the texts of the cells, then those of charts, shapes and comments of each sheet.

        Raises:
            DataError: A part is not valid XML, or exceeds a limit.
        """
        self._shown = {*map(shown, self._scope)}
        for each in self._package.relations(self._book):
            if each.kind == "sharedStrings" and each.target and each.target not in self._parts:
                self._parts.add_cells(each.target, self._is_kept, self._scope, wanted="si")
        for sheet in self._sheets:
            if sheet in self._wanted:
                wanted = self._wanted[sheet]
                self._parts.add_cells(sheet, self._is_kept, self._scope, wanted=wanted)
        self._find_names()
        if self._only_known:
            return
        self._shown = {*map(shown, self._scope)}
        labels = DrawingDialect(self.is_label)
        seen: set[str] = set()
        for sheet in self._sheets:
            for kind, part in graphics(self._package, sheet, seen):
                self._parts.add(part, labels, self._scope if kind in CHARTS else None)
            self._read_comments(sheet)

    def _read_comments(self, sheet: str) -> None:
        """Read the comments of a sheet; threads have a second copy in another form, and stay."""
        related = [each for each in self._package.relations(sheet) if each.target]
        if any(each.kind == "threadedComment" for each in related):
            self._n_comments += 1
            return
        for each in related:
            if each.kind == "comments" and each.target not in self._parts:
                self._parts.add(each.target, CellDialect(lambda _: False, "text"))

    def _is_kept(self, text: str) -> bool:
        is_other = self._only_known and shown_in_file(text) not in self._shown
        return is_other or self.stays(text)

    def stays(self, text: str) -> bool:
        """Whether cells keep a text, because the workbook compares cells with it."""
        return self._comparisons.stays(text)

    def is_label(self, text: str) -> bool:
        """Whether the cells that a label of a chart repeats are translated."""
        return shown_in_file(text) in self._shown and not self.stays(text)

    @property
    def indexes(self) -> frozenset[int]:
        """The indexes of its texts."""
        return self._parts.indexes

    # ---- writing ---------------------------------------------------------------------------

    def _find_names(self) -> None:
        """Find the texts that tables repeat, and those that must have equal translations."""
        names = {
            shown_in_file(name) for table in self._tables for name in (*table.columns, *table.texts)
        }
        for text, index in self._scope.items():
            seen = shown(text)
            if seen in names:
                self._names.setdefault(seen, []).append(index)
        if self._only_known or self._comparisons.are_of_cells:
            self._variants = [(shown, each) for each in self._grouped(shown)]
        else:
            self._variants = [(shown, each) for each in self._names.values()]
        if self._comparisons.are_of_cells:
            self._variants += ((_folded, each) for each in self._grouped(_folded))

    def _grouped(self, key: Callable[[str], str]) -> list[list[int]]:
        """The indexes of texts with a key that other texts have, too."""
        first: dict[str, int] = {}
        groups: dict[int, list[int]] = {}
        for text, index in self._scope.items():
            known = first.setdefault(key(text), index)
            if known != index:
                groups.setdefault(known, [known]).append(index)
        return [*groups.values()]

    def kept(self, translations: Sequence[str]) -> set[int]:
        """Indexes of texts that must stay, given these translations.

        They are those that are equal but for their formatting, and would not be: headers of tables,
        and, if formulas compare cells, all texts, also in another case. Texts that are too long for
        a cell stay, too, and headers of a table that would be empty, too long or equal.
        """
        kept = {
            index
            for key, indexes in self._variants
            if len({key(translations[index]) for index in indexes}) > 1
            for index in indexes
        }
        kept |= {i for i in self._scope.values() if len(translations[i]) > _MAX_CELL}
        for i in range(_MAX_ROUNDS):
            before = len(kept)
            for table in self._tables:
                new = [self._header(each, translations, kept) for each in table.columns]
                counts = Counter(map(str.casefold, new))
                for column, name in zip(table.columns, new, strict=True):
                    is_valid = 0 < len(name) <= _MAX_HEADER and counts[name.casefold()] == 1
                    if not is_valid or i == _MAX_ROUNDS - 1:
                        kept.update(self._indexes(column))
            if len(kept) == before:
                break
        return kept

    def contents(self, translations: Sequence[str]) -> dict[str, bytes | bytearray]:
        """The parts that these translations change; those of `kept` must not differ."""
        contents = self._parts.contents(translations)
        for table in self._tables:
            names = [*table.columns, *table.texts]
            new = {name: self._header(name, translations, set()) for name in names}
            if any(name != new[name] for name in names):
                contents[table.part] = self._table(table.part, new)
        return contents

    def _table(self, part: str, new: Mapping[str, str]) -> bytes:
        """The part of a table with other names of columns."""
        xml = read_part(self._package.archive, part)
        edits: list[tuple[int, int, str]] = []

        def use(column: Element) -> None:
            tag = old = xml.raw(column.start, column.inner)
            for attribute in ("name", "totalsRowLabel"):
                value = column.get(attribute)
                if new.get(value, value) != value:
                    tag = with_attribute(tag, attribute, new[value])
            if tag != old:
                edits.append((column.start, column.inner, tag))

        xml.parse(_is_column, use)
        return xml.edited(edits)

    def _header(self, name: str, translations: Sequence[str], kept: set[int]) -> str:
        """The name of a column whose header is translated; white space around it stays."""
        indexes = self._indexes(name)
        if not indexes or translations[indexes[0]] == self._texts[indexes[0]] or kept & {*indexes}:
            return name
        marks = filter(is_break, _MARK.findall(self._texts[indexes[0]]))
        whole = unescaped(name)
        before, core, after = whole.partition(whole.strip())
        ends = dict(zip(marks, _LINE_ENDS.findall(core), strict=False))
        new = _MARK.sub(lambda mark: ends.get(mark[0], ""), translations[indexes[0]])
        return f"{before}{new}{after}".replace("\n", "_x000a_")

    def _indexes(self, name: str) -> list[int]:
        return self._names.get(shown_in_file(name), [])

    def reports(self) -> Iterator[str]:
        """A sentence for each reason for which texts of cells stay, and for what else stays."""
        found = self._comparisons
        for reason, texts in found.stayed.items():
            yield f"{reason} {quoted([*texts])}"
        if self._only_known:
            return
        counts = (
            (self._n_results, "result of a formula", "results of formulas"),
            (found.n_lists, "data validation list", "data validation lists"),
            (self._n_messages, "message of data validation", "messages of data validation"),
            (self._n_margins, "header or footer", "headers and footers"),
            (found.n_caches, "cache of a pivot table", "caches of pivot tables"),
            (self._n_embedded, "embedded file", "embedded files"),
            (self._n_comments, "sheet with threaded comments", "sheets with threaded comments"),
        )
        yield from (f"{n:,} {one if n == 1 else many}" for n, one, many in counts if n)


def settled(
    books: Iterable[Workbook], texts: Sequence[str], translations: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The translations without those that a workbook cannot have, and a sentence for each of these.

    Args:
        books: The workbooks.
        texts: The texts.
        translations: A translation for each.
    """
    new, reports = [*translations], list[str]()
    for index in sorted({index for book in books for index in book.kept(translations)}):
        if new[index] != texts[index]:
            new[index] = texts[index]
            reports.append(
                f"{_short(shown(texts[index]))} has a translation that its cells cannot have: "
                "it is too long, that of another header, or not that of the same text elsewhere"
            )
    return new, reports


def quoted(texts: Sequence[str]) -> str:
    """The first of some texts, and the number of the others."""
    more = len(texts) - _LISTED
    others = f" and {more:,} other text{'s' * (more > 1)}" if more > 0 else ""
    return ", ".join(map(_short, texts[:_LISTED])) + others


def _short(text: str) -> str:
    return repr(text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}...")


def _is_column(namespace: str, name: str) -> bool:
    return name == "tableColumn" and namespace in SHEET_NAMESPACES


def _has_name(namespace: str, name: str) -> bool:
    return name in ("sheet", "definedName") and namespace in SHEET_NAMESPACES


def shown(text: str) -> str:
    """What a reader sees of a text with marks; several line breaks count as one."""
    return _MARK.sub(lambda mark: "\n" * is_break(mark[0]), text).strip()


def _folded(text: str) -> str:
    """What formulas see of a text with marks."""
    return shown(text).casefold()


def shown_in_file(text: str) -> str:
    """The same for a text as it is in the file."""
    return _LINE_ENDS.sub("\n", unescaped(text)).strip()
