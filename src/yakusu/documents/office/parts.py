"""The XML parts of a word processor's file: their paragraphs as texts, and the parts rewritten."""

from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Protocol, TypeAlias

from yakusu.data.files.xmltree import Element, XmlFile
from yakusu.documents.inline import Inline, Piece, PieceKind, Run, formatted_inline
from yakusu.documents.splice import Copy, SourceSegment, Splicer
from yakusu.errors import DataError

_MAX_DEPTH = 16  # of paragraphs in paragraphs, such as those of text boxes
_MAX_GROWTH = 20  # of a paragraph: its formatting may be written for each of its parts
_KEPT_SIZE = 2**19  # bytes of XML; parsed, they take up to 50 MB, and large parts more
_FREE_GROWTH = 2**16  # bytes that a paragraph may grow anyway
Scope = dict[str, int]  # indexes of texts, by text


class PartSource(Protocol):
    """What an archive contains."""

    def read(self, name: str) -> bytes:
        """Return the contents of a member."""


class DocumentTexts:
    """The texts of a document, which may consist of several archives.

    Attributes:
        items: The texts.
        n_free: Bytes of XML that may be kept as they were parsed.
    """

    def __init__(self) -> None:
        self.items: list[str] = []
        self.n_free = _KEPT_SIZE

    def index(self, text: str, scope: Scope) -> int:
        """The index of a text, which is added if the scope lacks it."""
        if text not in scope:
            scope[text] = len(self.items)
            self.items.append(text)
        return scope[text]


class Dialect(Protocol):
    """How a format writes paragraphs in XML."""

    def is_wanted(self, namespace: str, name: str) -> bool:
        """Whether an element is a paragraph."""

    def is_paragraph(self, element: Element) -> bool:
        """Whether an element is a paragraph."""

    def is_copy(self, element: Element) -> bool | None:
        """Whether an element is one of two alternatives.

        True: it may repeat the paragraphs of its sibling. False: its sibling may repeat its
        paragraphs. None: neither.
        """

    def is_skipped(self, namespace: str, name: str) -> bool:
        """Whether the paragraphs in an element are not translated."""

    def pieces(self, paragraph: Element, xml: XmlFile) -> list[Piece]:
        """The contents of a paragraph."""

    def encode(self, text: str, run: Run) -> str:
        """The markup for a text in a run."""


@dataclass
class AlternativeElement:
    """One of two alternative elements, of which a program reads only one."""

    is_copy: bool
    texts: defaultdict[str, deque[int]]  # indexes by text, in the first of the two elements


Paragraph: TypeAlias = tuple[Element, Inline, tuple[AlternativeElement, ...]]


@dataclass(frozen=True)
class _Wanted:
    """An element in no other wanted one: its place, and the paragraphs in it."""

    start: int
    end: int
    segments: list[SourceSegment[bytes]]


class OfficePart:
    """The paragraphs of a part.

    A small part is kept as it was parsed. Of a large one, only the indexes of the texts are kept,
    and it is parsed again when it is rendered.

    Args:
        archive: The archive.
        name: The name of the part.
        dialect: Its format.
        texts: Texts of previous parts, to which those of this part are added.
        scope: Texts of other parts that this part may repeat, to which its own are added; equal
            texts get one translation. None: it repeats none.

    Raises:
        DataError: The part is not valid XML, or exceeds a limit.
    """

    def __init__(
        self,
        archive: PartSource,
        name: str,
        dialect: Dialect,
        texts: DocumentTexts,
        *,
        scope: Scope | None = None,
    ) -> None:
        self._archive = archive
        self._name = name
        self._dialect = dialect
        self._all, self._texts, self._scope = texts, texts.items, scope
        self._indexes = array("Q")  # of the texts of the paragraphs
        xml = read_part(archive, name)
        self._xml = xml if len(xml.content) <= texts.n_free else None
        texts.n_free -= len(xml.content) if self._xml else 0
        self._kept: list[_Wanted] = []

        def use(element: Element) -> None:
            found = list(self._paragraphs(element, xml))
            self._indexes.extend(
                self._index(inline.text, alternatives) for _, inline, alternatives in found
            )
            if self._xml:
                self._kept.append(self._wanted(element, found))

        with _in_part(name):
            xml.parse(dialect.is_wanted, use, skipped=dialect.is_skipped)

    def render(self, translations: Sequence[str]) -> bytes | bytearray | None:
        """Return the part with these translations of `texts`, None if none is different."""
        if all(translations[index] == self._texts[index] for index in self._indexes):
            return None
        xml = self._xml or read_part(self._archive, self._name)
        own = (translations[index] for index in self._indexes)
        written = bytearray()
        at = 0

        def write(wanted: _Wanted) -> None:
            nonlocal at, written
            new = self._chosen(wanted.segments, own)
            written += xml.content[at : wanted.start]
            splicer = Splicer(xml.content, wanted.segments)
            written += splicer.spliced(new, wanted.start, end=wanted.end)
            at = wanted.end

        def use(element: Element) -> None:
            write(self._wanted(element, self._paragraphs(element, xml)))

        with _in_part(self._name):
            for wanted in self._kept:
                write(wanted)
            if not self._xml:
                xml.parse(self._dialect.is_wanted, use, skipped=self._dialect.is_skipped)
        written += xml.content[at:]
        return xml.encoded(self._completed(written))

    def _completed(self, written: bytearray) -> bytearray:
        """The part with what its new paragraphs need."""
        return written

    def _wanted(self, element: Element, paragraphs: Iterable[Paragraph]) -> _Wanted:
        segments = [self._segment(paragraph, inline) for paragraph, inline, _ in paragraphs]
        return _Wanted(element.start, element.end, segments)

    def _segment(self, paragraph: Element, inline: Inline) -> SourceSegment[bytes]:
        write = partial(self._written, inline, paragraph.end - paragraph.start)
        return SourceSegment(paragraph.inner, paragraph.inner_end, inline.text, write)

    def _paragraphs(self, element: Element, xml: XmlFile) -> Iterator[Paragraph]:
        """Yield the paragraphs in an element, which may contain others, in reading order.

        Each comes with the alternatives in which it is.
        """
        waiting: list[tuple[Element, int, tuple[AlternativeElement, ...]]] = [(element, 0, ())]
        while waiting:
            element, depth, alternatives = waiting.pop()
            if self._dialect.is_paragraph(element):
                depth += 1
                if depth > _MAX_DEPTH:
                    raise DataError(
                        f"line {xml.line_of(element.start)}: paragraphs are nested more than "
                        f"{_MAX_DEPTH} levels deep: flatten them"
                    )
                inline = formatted_inline(self._dialect.pieces(element, xml))
                if inline is not None:
                    yield element, inline, alternatives
            texts: defaultdict[str, deque[int]] | None = None
            children = []
            for child in element.elements:
                if not child.children:
                    continue
                inner = alternatives
                is_copy = self._dialect.is_copy(child)
                if is_copy is not None:
                    texts = defaultdict(deque) if texts is None else texts
                    inner = (*alternatives, AlternativeElement(is_copy, texts))
                children.append((child, depth, inner))
            waiting += reversed(children)

    def _index(self, text: str, alternatives: tuple[AlternativeElement, ...]) -> int:
        """The index of a new text, or of the text of which it is a copy."""
        if self._scope is not None:
            return self._all.index(text, self._scope)
        for alternative in alternatives:
            if alternative.is_copy and alternative.texts[text]:
                return alternative.texts[text].popleft()
        self._texts.append(text)
        for alternative in alternatives:
            if not alternative.is_copy:
                alternative.texts[text].append(len(self._texts) - 1)
        return len(self._texts) - 1

    def _written(self, inline: Inline, size: int, translation: str, copy: Copy[bytes]) -> bytes:
        """The bytes of a paragraph; adjacent pieces of one run share its markup.

        Args:
            inline: The paragraph.
            size: Its bytes in the source.
            translation: Its translation.
            copy: Returns parts of the source.
        """
        limit = _MAX_GROWTH * (size + len(translation)) + _FREE_GROWTH
        out = bytearray()
        for _, in_run in groupby(inline.paragraph(translation), lambda piece: id(piece.run)):
            first, *others = in_run
            run = first.run
            out += run.before if run else b""
            for is_text, adjacent in groupby([first, *others], lambda p: p.kind is PieceKind.TEXT):
                if is_text and run:
                    text = "".join(piece.text for piece in adjacent)
                    out += self._dialect.encode(text, run).encode()
                else:
                    out += b"".join(copy(piece.start, piece.end) for piece in adjacent)
            out += run.after if run else b""
            if len(out) > limit:
                raise DataError(
                    f"a paragraph of {size:,} bytes would grow more than {_MAX_GROWTH} times, "
                    "because the markup of its text is repeated: remove its formatting"
                )
        return bytes(out)

    def _chosen(
        self, segments: Sequence[SourceSegment[bytes]], own: Iterator[str]
    ) -> Sequence[str]:
        """A translation for each segment, given those of the paragraphs that follow."""
        return [next(own) for _ in segments]


def read_part(archive: PartSource, name: str) -> XmlFile:
    """Read an XML part.

    Raises:
        DataError: The part is not in its encoding. The message names the part.
    """
    data = archive.read(name)
    with _in_part(name):
        return XmlFile(data)


def parse_part(
    archive: PartSource,
    name: str,
    wanted: Callable[[str, str], bool],
    use: Callable[[Element], object],
) -> None:
    """Parse an XML part, and use its wanted elements.

    Raises:
        DataError: The part is not valid XML. The message names the part.
    """
    xml = read_part(archive, name)
    with _in_part(name):
        xml.parse(wanted, use)


@contextmanager
def _in_part(name: str) -> Iterator[None]:
    """Add the name of a part to errors."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{name}, {error}") from error
