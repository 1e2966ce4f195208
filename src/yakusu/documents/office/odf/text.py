"""Paragraphs of OpenDocument: text documents, presentations, drawings, sheets and charts.

A change of formatting within a paragraph is a pair of marks; pictures, notes, comments and fields
are empty marks, and line breaks and tabs are marks that end a sentence. The text of a link is
enclosed in a pair. Deleted text is kept. Phonetic guides and soft page breaks are removed from
translated paragraphs.
"""

import re
from collections.abc import Hashable, Iterator
from dataclasses import replace

from yakusu.data.files.xmltree import CharacterData, Element, Other, XmlFile, escaped
from yakusu.documents.inline import Piece, PieceKind, Run
from yakusu.documents.office.parts import PartSource, parse_part
from yakusu.errors import DataError

NAMES = "urn:oasis:names:tc:opendocument:xmlns:"
TEXT = NAMES + "text:1.0"
OFFICE = NAMES + "office:1.0"
_CONTAINERS = {"a", "meta"}
_POINTS = {"bookmark", "reference-mark"}  # enclose nothing, and a reader sees nothing
_MAX_SPACES = 200  # longer runs of spaces are not part of a sentence
_MAX_AROUND = 2000  # bytes of spans around a span
_SPACES = re.compile("[ \t\r\n]+")
_SPACE = "space "  # name of a piece; the number of spaces follows
_UNSEEN = re.compile("(.*-)?(rsid|language|country|script)(-asian|-complex)?")  # properties


def styles_of(archive: PartSource, part: str) -> dict[str, Hashable]:
    """What the automatic styles of text change, by name.

    Raises:
        DataError: The part is not valid XML.
    """
    found: dict[str, Hashable] = {}

    def use(style: Element) -> None:
        place = style.parent
        is_own = place and (place.namespace, place.name) == (OFFICE, "automatic-styles")
        if is_own and style.get("family") == "text":
            found[style.get("name")] = (style.get("parent-style-name"), _formatting(style))

    parse_part(archive, part, lambda _, name: name == "style", use)
    return found


def _formatting(element: Element) -> frozenset[Hashable]:
    """The properties of a style that a reader sees."""
    return frozenset(
        (name, value)
        for child in element.descendants()
        if child is not element
        for name, value in child.attributes.items()
        if not _UNSEEN.fullmatch(name.rpartition(" ")[2])
    )


class TextDialect:
    """Text of OpenDocument.

    Args:
        styles: What the automatic styles change, by name.
    """

    def __init__(self, styles: dict[str, Hashable]) -> None:
        self._styles = styles

    def add_styles(self, archive: PartSource, part: str) -> None:
        """Add the automatic styles of a part.

        Raises:
            DataError: The part is not valid XML.
        """
        self._styles |= styles_of(archive, part)

    def is_wanted(self, namespace: str, name: str) -> bool:
        """Whether an element is a paragraph or heading."""
        return namespace == TEXT and name in ("p", "h")

    def is_paragraph(self, element: Element) -> bool:
        """Whether an element is a paragraph or heading."""
        return self.is_wanted(element.namespace, element.name)

    def is_copy(self, element: Element) -> bool | None:
        """No element repeats another one."""
        return None

    def is_skipped(self, namespace: str, name: str) -> bool:
        """Whether an element contains deleted text."""
        return namespace == TEXT and name == "tracked-changes"

    def pieces(self, paragraph: Element, xml: XmlFile) -> list[Piece]:
        """The contents of a paragraph."""
        run = Run((), prefix=paragraph.prefix)
        return _with_spaces(list(self._content(paragraph, run, xml)))

    def encode(self, text: str, run: Run) -> str:
        """The markup for a text in a run."""

        def space(match: re.Match[str]) -> str:
            return f'<{run.prefix}s {run.prefix}c="{len(match[0])}"/>'

        return re.sub("  +", space, escaped(re.sub("[\t\r\n]+", " ", text)))

    def _content(self, parent: Element, run: Run, xml: XmlFile) -> Iterator[Piece]:
        """The pieces of a paragraph, or of an element in it, whose text is in a run."""
        for child in parent.children:
            if isinstance(child, CharacterData):
                yield Piece(PieceKind.TEXT, text=_SPACES.sub(" ", child.text), run=run)
            elif isinstance(child, Other) or child.namespace != TEXT:
                yield Piece(PieceKind.EMPTY, child.start, child.end, run=run)
            elif child.name == "span":
                yield from self._content(child, self._inner(run, child, xml), xml)
            elif child.name in _CONTAINERS:
                yield from self._container(child, run, xml)
            elif child.name == "ruby":
                for base in child.elements:
                    if base.name == "ruby-base":
                        yield from self._content(base, run, xml)
            elif child.name != "soft-page-break":
                yield _piece(child, run)

    def _container(self, element: Element, run: Run, xml: XmlFile) -> Iterator[Piece]:
        """The pieces of an element around text.

        Spans around it stay around it if it has only text: in slides and cells, LibreOffice does
        not show spans in a link.
        """
        name, start, end = str(element.start), None, None
        if run.before and all(isinstance(child, CharacterData) for child in element.children):
            start, end = replace(run, after=b""), replace(run, before=b"")
            run = replace(run, before=b"", after=b"")
        yield Piece(PieceKind.START, element.start, element.inner, name=name, run=start)
        yield from self._content(element, run, xml)
        yield Piece(PieceKind.END, element.inner_end, element.end, name=name, run=end)

    def _inner(self, run: Run, span: Element, xml: XmlFile) -> Run:
        """The run of text in a span that is in a run."""
        name = span.get("style-name")
        style = self._styles.get(name, name)
        key = run.key if style in ("", ("", frozenset())) else (run.key, style)
        if len(run.before) > _MAX_AROUND:
            raise DataError(
                f"line {xml.line_of(span.start)}: the spans around a text have more than "
                f"{_MAX_AROUND:,} bytes: remove formatting"
            )
        return Run(
            key,
            before=run.before + xml.content[span.start : span.inner],
            after=xml.content[span.inner_end : span.end] + run.after,
            prefix=span.prefix,
        )


def _piece(element: Element, run: Run) -> Piece:
    """An element that stays."""
    piece = Piece(PieceKind.EMPTY, element.start, element.end, run=run)
    count = element.get("c") or "1"
    if element.name == "s" and re.fullmatch(r"\d{1,4}", count) and int(count) <= _MAX_SPACES:
        return piece._replace(name=_SPACE + count)
    if element.name in ("line-break", "tab"):
        return piece._replace(breaks=True)
    if element.name in _POINTS:
        return piece._replace(hollow=True)
    if match := re.fullmatch("(.+)-(start|end)", element.name):
        kind = PieceKind.START if match[2] == "start" else PieceKind.END
        name = element.get("name") or element.get("change-id") or element.get("id")
        name = f"{match[1]} {name}"
        return piece._replace(kind=kind, name=name, firm=kind is PieceKind.START, run=None)
    return piece


def _with_spaces(pieces: list[Piece]) -> list[Piece]:
    """Make text of the spaces after the first word; those before it are an indentation."""
    out: list[Piece] = []
    has_word = False
    for piece in pieces:
        has_word = has_word or (piece.kind is PieceKind.TEXT and not piece.text.isspace())
        if has_word and piece.name.startswith(_SPACE):
            spaces = " " * int(piece.name.removeprefix(_SPACE))
            out.append(Piece(PieceKind.TEXT, text=spaces, run=piece.run))
        else:
            out.append(piece)
    return out
