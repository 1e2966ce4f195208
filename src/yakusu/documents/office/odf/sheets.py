"""Sheets of OpenDocument: the texts of their cells, without those that formulas depend on.

    <table:table-cell office:value-type="string" office:string-value="a b"><text:p>a b</text:p>

Only cells whose values are texts, and not results of formulas, are translated. Equal texts of cells
are one text, so that formulas still find them. The value of a cell changes with its paragraphs.

Most cells of a large sheet are certainly plain texts, numbers or formulas. They are not parsed as
elements: in the rest, which is, a processing instruction stands for each stretch of them.

    <table:table-cell ...><text:p>plain</text:p></table:table-cell> ...   ->   <?plain 0?>
"""

import html
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from yakusu.data.files.xmltree import (
    CharacterData,
    Element,
    XmlFile,
    encoding_of,
    escaped,
    value_place,
)
from yakusu.data.lines.private_use import MARKS, is_break
from yakusu.data.lines.words import has_letter
from yakusu.documents.inline import Inline, Run
from yakusu.documents.office.odf.comparisons import SheetComparisons
from yakusu.documents.office.odf.text import NAMES, OFFICE, TEXT, TextDialect
from yakusu.documents.office.parts import DocumentTexts, OfficePart, PartSource, Scope, read_part
from yakusu.documents.splice import Copy, SourceSegment
from yakusu.errors import DataError

TABLE = NAMES + "table:1.0"
_CELLS = ("table-cell", "covered-table-cell")
_SKIPPED = {"tracked-changes", "dde-links"}
_SHOWN = {"span", "a", "s", "line-break"}  # what may be in a paragraph of a cell with a value
_EXTERNAL = re.compile("'.*'#")  # at the beginning of the name of a copy of a sheet of another file
_MARK = re.compile(MARKS)

_T = rb"[^<>&\x00-\x1f]*+(?:&(?:amp|lt|gt|quot|apos);[^<>&\x00-\x1f]*+)*+"
_PLAIN = re.compile(
    rb"<table:(?:covered-)?table-cell(?:[\s/][^<>]*+)?(?<=/)>\s*+"
    rb"|</table:table-row>\s*+<table:table-row(?:\s[^<>]*+)?(?<!/)>\s*+"
    rb"|<table:(?P<name>(?:covered-)?table-cell)(?P<tag>\s[^<>]*+)(?<!/)>"
    rb"<text:p(?:\s[^<>]*+)?(?<!/)>(?P<text>" + _T + rb")</text:p></table:(?P=name)>\s*+"
)
_OTHER_TEXTS = re.compile(rb"<table:(?:dde-links|table)(?=[\s>])[^<>]*+")
_NAMESPACES = [f'xmlns:{each}="{NAMES}{each}:1.0"'.encode() for each in ("office", "table", "text")]
_INSTRUCTION = re.compile(rb"<\?plain (\d+)\?>")
_CELL_TAG = re.compile(rb":(?:covered-)?table-cell\s([^<>]*+)")
_STRING = (b':value-type="string"', b":value-type='string'")
_RUN = Run((), prefix="text:")  # of plain texts
_NONE = 2**64 - 1


class SheetDialect(TextDialect):
    """Sheets.

    Args:
        comparisons: What cells are compared with.

    Attributes:
        stays: Whether cells keep a text.
        unequal: Places of cells whose text is not their value.
    """

    def __init__(self, comparisons: SheetComparisons) -> None:
        super().__init__({})
        self.stays = comparisons.stays
        self.unequal: set[int] = set()
        self._last: tuple[Element | None, bool] = (None, False)  # a cell, and if it is translated

    def is_wanted(self, namespace: str, name: str) -> bool:
        """Whether an element is a cell, or a paragraph in none."""
        return is_cell(namespace, name) or super().is_wanted(namespace, name)

    def is_paragraph(self, element: Element) -> bool:
        """Whether an element is a paragraph that is not a number, a result or a text to keep."""
        if not super().is_wanted(element.namespace, element.name):
            return False
        cell = element.parent
        if cell is None or not is_cell(cell.namespace, cell.name):
            return True
        if self._last[0] is not cell:
            self._last = (cell, self._is_text(cell))
        return self._last[1]

    def is_skipped(self, namespace: str, name: str) -> bool:
        """Whether an element contains earlier texts, or texts of other files."""
        return (namespace == TABLE and name in _SKIPPED) or super().is_skipped(namespace, name)

    def _is_text(self, cell: Element) -> bool:
        kind = cell.attributes.get(f"{OFFICE} value-type", "string")
        if kind != "string" or cell.get("formula"):
            return False
        text = "\n".join(map(plain_paragraph, paragraphs_of(cell)))
        value = value_of(cell)
        if value is not None and (
            text.split() != value.split()
            or any(each.name not in _SHOWN for p in paragraphs_of(cell) for each in _inside(p))
            or _is_nested(cell)
        ):
            if has_letter(text):
                self.unequal.add(cell.start)
            return False
        return not _is_external(cell) and not self.stays(text)


def is_cell(namespace: str, name: str) -> bool:
    """Whether an element is a cell."""
    return name in _CELLS and namespace == TABLE


def paragraphs_of(cell: Element) -> list[Element]:
    """The paragraphs of the text of a cell; those of its comment are in an element of its own."""
    return [each for each in cell.elements if each.name in ("p", "h") and each.namespace == TEXT]


def value_of(cell: Element) -> str | None:
    """The text that is the value of a cell; None: its paragraphs are."""
    return next((v for k, v in cell.attributes.items() if k.endswith(" string-value")), None)


def plain_paragraph(element: Element) -> str:
    """What a reader sees of a paragraph."""
    parts = []
    for child in element.children:
        if isinstance(child, CharacterData):
            parts.append(re.sub("[ \t\r\n]+", " ", child.text))
        elif isinstance(child, Element) and child.namespace == TEXT:
            if child.name == "s":
                count = child.get("c")
                parts.append(" " * (int(count) if re.fullmatch(r"\d{1,3}", count) else 1))
            else:
                parts.append("\n" if child.name == "line-break" else plain_paragraph(child))
    return "".join(parts)


def _inside(paragraph: Element) -> Iterator[Element]:
    return (each for each in paragraph.descendants() if each is not paragraph)


def _is_external(cell: Element) -> bool:
    """Whether a cell is in a copy of a sheet of another file, which formulas refer to."""
    table = cell.parent
    while table is not None and table.name != "table":
        table = table.parent
    return table is not None and bool(_EXTERNAL.match(table.get("name")))


def _is_nested(cell: Element) -> bool:
    """Whether a cell is in another one, or in a paragraph."""
    around = cell.parent
    while around is not None:
        if is_cell(around.namespace, around.name) or around.namespace == TEXT:
            return True
        around = around.parent
    return False


@dataclass(frozen=True, slots=True)
class _ValueSegment(SourceSegment[bytes]):
    """The start tag of a cell whose value is its text.

    Attributes:
        lines: The paragraphs of the cell: white space, the number of a segment after this one or
            None, and text or white space.
    """

    lines: list[tuple[str, int | None, str]] = field(default_factory=list)

    def value(self, translations: Sequence[str]) -> str:
        """The value for translations of the segments after this one."""
        return "\n".join(
            before + ("" if i is None else _visible(translations[i])) + after
            for before, i, after in self.lines
        )


def _visible(translation: str) -> str:
    return _MARK.sub(lambda mark: "\n" * is_break(mark[0]), translation)


class _SheetPart(OfficePart):
    """The paragraphs of a part with cells; see `OfficePart`.

    Args:
        scope: The texts of cells, to which those of this part are added.
        plain: The cells that an instruction stands for.
    """

    def __init__(
        self,
        archive: PartSource,
        name: str,
        dialect: SheetDialect,
        texts: DocumentTexts,
        *,
        scope: Scope,
        plain: "_PlainCells | None" = None,
    ) -> None:
        self._cells, self._plain = scope, plain
        super().__init__(archive, name, dialect, texts, scope=scope)
        self._plain = None  # read

    def _paragraphs(self, element: Element, xml: XmlFile) -> Iterator[tuple[Element, Inline, Any]]:
        if self._plain:
            self._plain.read(self._cells, self._all, element.start)
        return super()._paragraphs(element, xml)

    def _wanted(self, element: Element, paragraphs: Iterable[tuple[Element, Inline, Any]]) -> Any:
        found = list(paragraphs)
        wanted = super()._wanted(element, found)
        own = {id(each): i for i, (each, _, _) in enumerate(found)}
        if value_of(element) is None or not any(id(p) in own for p in paragraphs_of(element)):
            return wanted
        lines = []
        for paragraph in paragraphs_of(element):
            text, i = plain_paragraph(paragraph), own.get(id(paragraph))
            before, _, after = text.partition(text.strip()) if i is not None else ("", "", text)
            lines.append((before, i, after))
        start, end = element.start, element.inner

        def write(value: str, copy: Copy[bytes]) -> bytes:
            return with_value(copy(start, end), value)

        tag = _ValueSegment(start, end, "", write, lines)
        wanted.segments.insert(0, tag)
        return wanted

    def _chosen(
        self, segments: Sequence[SourceSegment[bytes]], own: Iterator[str]
    ) -> Sequence[str]:
        first = segments[0] if segments else None
        if not isinstance(first, _ValueSegment):
            return super()._chosen(segments, own)
        new = [next(own) for _ in segments[1:]]
        if all(text == each.text for text, each in zip(new, segments[1:], strict=True)):
            return ["", *new]
        return [first.value(new), *new]


def with_value(tag: bytes, value: str) -> bytes:
    """The start tag of a cell, with another value."""
    text = escaped(value).replace('"', "&quot;").replace("\n", "&#10;")
    start, end = value_place(tag, b":string-value") or (len(tag), len(tag))
    return tag[:start] + f'"{text}"'.encode() * (start < end) + tag[end:]


# ---- cells that are not parsed -------------------------------------------------------------------


class _PlainCells:
    """The cells of a part that need not be parsed, and the part in which they are not.

    Args:
        content: The part, in UTF-8.
        dialect: Its format.
    """

    def __init__(self, content: bytes, dialect: SheetDialect) -> None:
        self._content: bytes | None = content  # until its texts are read
        self._dialect = dialect
        self._starts, self._ends = array("Q"), array("Q")  # of stretches of cells
        self._places = array("Q")  # of the instructions for the stretches
        self._n_cells = array("Q")  # with texts, up to the end of each stretch
        self._tags, self._texts = array("Q"), array("Q")  # where cells and their texts begin
        self._text_ends = array("Q")
        self._n_read = 0  # stretches
        self.indexes = array("Q")  # of texts; _NONE: not translated
        self._find(content)

    def _find(self, content: bytes) -> None:
        start = end = saved = 0
        first, last = _searched(content)
        for found in _PLAIN.finditer(content, first, last):
            is_text = found["tag"] is not None and _is_text(found)
            if is_text is None:
                continue
            if found.start() != end:
                saved += self._add(start, end, saved)
                start = found.start()
            end = found.end()
            if is_text:
                self._tags.append(found.start())
                self._texts.append(found.start("text"))
                self._text_ends.append(found.end("text"))
        self._add(start, end, saved)

    def _add(self, start: int, end: int, saved: int) -> int:
        """Add a stretch; return the bytes by which the rest is shorter."""
        if not end:
            return 0
        length = len(_instruction(len(self._starts)))
        self._starts.append(start)
        self._ends.append(end)
        self._places.append(start - saved)
        self._n_cells.append(len(self._tags))
        return end - start - length

    def read(self, scope: Scope, texts: DocumentTexts, before: int | None = None) -> None:
        """Add the texts of the cells.

        Args:
            scope: The texts of cells.
            texts: All texts.
            before: A place in the rest up to which they are added; None: all are.
        """
        while self._n_read < len(self._starts):
            if before is not None and self._places[self._n_read] > before:
                return
            self._read_cells(self._n_cells[self._n_read], scope, texts)
            self._n_read += 1
        if before is None:
            self._content = None

    def _read_cells(self, end: int, scope: Scope, texts: DocumentTexts) -> None:
        assert self._content is not None
        for i in range(len(self.indexes), end):
            text = _decoded(self._content[self._texts[i] : self._text_ends[i]])
            index = scope.get(text)
            if index is None:
                is_used = has_letter(text) and not self._dialect.stays(text)
                index = texts.index(text, scope) if is_used else _NONE
            self.indexes.append(index)

    def rest(self, content: bytes) -> bytes:
        """The part in which an instruction stands for each stretch."""
        rest, at = bytearray(), 0
        for number, (start, end) in enumerate(zip(self._starts, self._ends, strict=True)):
            rest += content[at:start]
            rest += _instruction(number)
            at = end
        return bytes(rest + content[at:])

    def whole(
        self, rest: bytes, content: bytes, texts: Sequence[str], translations: Sequence[str]
    ) -> bytearray:
        """The part, given the rest of its translation, and its content, texts and translations."""
        written, at = bytearray(), 0
        for found in _INSTRUCTION.finditer(rest):
            written += rest[at : found.start()]
            at = found.end()
            number = int(found[1])
            cell = self._n_cells[number - 1] if number else 0
            done = self._starts[number]
            for i in range(cell, self._n_cells[number]):
                index = self.indexes[i]
                if index != _NONE and translations[index] != texts[index]:
                    written += content[done : self._tags[i]]
                    written += self._tag(i, content, translations[index])
                    written += self._dialect.encode(translations[index], _RUN).encode()
                    done = self._text_ends[i]
            written += content[done : self._ends[number]]
        return written + rest[at:]

    def _tag(self, i: int, content: bytes, translation: str) -> bytes:
        """The markup before the text of a cell, given its translation."""
        cell = content[self._tags[i] : self._texts[i]]
        if b":string-value=" not in cell:
            return cell
        tag, end, paragraph = cell.partition(b">")
        return with_value(tag, translation) + end + paragraph


def _instruction(number: int) -> bytes:
    return b"<?plain %d?>" % number


def _decoded(raw: bytes) -> str:
    return html.unescape(raw.decode()) if b"&" in raw else raw.decode()


def _is_text(cell: "re.Match[bytes]") -> bool | None:
    """Whether a cell has a text, and not a number or the result of a formula; None: unknown."""
    tag = cell["tag"]
    if b"='" in tag or b" =" in tag or b"= " in tag:
        return None
    if b' table:formula="' in tag:
        return False
    is_text = b' office:value-type="string"' in tag
    if not is_text:
        return False if b' office:value-type="' in tag else None
    text = cell["text"]
    if b"  " in text or text[:1] == b" " or text[-1:] == b" ":
        return None
    if not text.isascii() and _MARK.search(_decoded(text)):
        return None
    if b"string-value" in tag:
        return True if b' office:string-value="%s"' % text in tag else None
    return True


def _searched(content: bytes) -> tuple[int, int]:
    """Where plain cells may begin and end: not in earlier texts and in texts of other files."""
    first = content.rfind(b"</table:tracked-changes>") + 1
    for found in _OTHER_TEXTS.finditer(content, first):
        start, end = value_place(found[0], b"table:name") or (0, 2)
        name = html.unescape(found[0][start + 1 : end - 1].decode())
        if found[0].startswith(b"<table:dde-links") or _EXTERNAL.match(name):
            return first, found.start()
    return first, len(content)


def _n_results(content: bytes) -> int:
    """The number of texts that are results of formulas."""
    tags = (found[1] for found in _CELL_TAG.finditer(content))
    return sum(b":formula" in tag and any(each in tag for each in _STRING) for tag in tags)


def _is_simple(data: bytes, content: bytes) -> bool:
    """Whether each "<" of a part begins a tag, and prefixes are those that all programs use.

    Raises:
        DataError: The encoding of the part is unknown.
    """
    bom, encoding = encoding_of(data)
    return (
        not bom
        and encoding.lower() == "utf-8"
        and b"<!" not in content
        and content.count(b"<?") <= content.startswith(b"<?xml")
        and all(content.count(each) == 1 for each in _NAMESPACES)
        and all(content.count(b"xmlns:%s=" % each) == 1 for each in (b"office", b"table", b"text"))
        and _is_well_formed(content)
    )


def _is_well_formed(content: bytes) -> bool:
    try:
        expat.ParserCreate("utf-8", " ").Parse(content, True)
    except expat.ExpatError:
        return False
    return True


class _Rest:
    """A part in which instructions stand for plain cells."""

    def __init__(self, archive: PartSource, plain: _PlainCells) -> None:
        self._archive, self._plain = archive, plain

    def read(self, name: str) -> bytes:
        """Return the part."""
        return self._plain.rest(self._archive.read(name))


class SheetPart:
    """The texts of a part with sheets; see `OfficePart`.

    Args:
        archive: The archive.
        name: The name of the part.
        comparisons: What cells are compared with; what the part compares them with is added.
        texts: Texts of previous parts, to which those of this part are added.
        scope: The texts of cells, to which those of this part are added.

    Attributes:
        n_results: Texts that are results of formulas.
        n_unequal: Cells whose text is not their value.

    Raises:
        DataError: The part is not valid XML, or exceeds a limit.
    """

    def __init__(
        self,
        archive: PartSource,
        name: str,
        comparisons: SheetComparisons,
        texts: DocumentTexts,
        *,
        scope: Scope,
    ) -> None:
        self._archive, self._name, self._texts = archive, name, texts.items
        content = read_part(archive, name).content
        comparisons.read(content)
        self.n_results = _n_results(content) if b":formula" in content else 0
        self._plain: _PlainCells | None = None
        rest: PartSource = archive
        dialect = SheetDialect(comparisons)
        if _is_simple(archive.read(name), content):
            self._plain = _PlainCells(content, dialect)
            rest = _Rest(archive, self._plain)
        del content
        try:
            dialect.add_styles(rest, name)
            self._part = _SheetPart(rest, name, dialect, texts, scope=scope, plain=self._plain)
        except DataError:  # the lines in its message may be those of the rest
            _SheetPart(archive, name, dialect, DocumentTexts(), scope={})
            raise
        if self._plain:
            self._plain.read(scope, texts)
        self.n_unequal = len(dialect.unequal)

    def render(self, translations: Sequence[str]) -> bytes | bytearray | None:
        """Return the part with these translations of `texts`, None if none is different."""
        rest, plain = self._part.render(translations), self._plain
        if plain is None:
            return rest
        is_changed = any(
            translations[index] != self._texts[index] for index in plain.indexes if index != _NONE
        )
        if not (rest or is_changed):
            return None
        content = self._archive.read(self._name)
        return plain.whole(bytes(rest or plain.rest(content)), content, self._texts, translations)
