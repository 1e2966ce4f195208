"""The XML parts of a word processor's file: their paragraphs as texts, and the parts rewritten."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Protocol

from yakusu.data.files.xmltree import Element, XmlFile
from yakusu.documents.inline import Inline, Piece, PieceKind, Run, formatted_inline
from yakusu.documents.office.archive import Archive
from yakusu.documents.splice import Copy, SourceSegment, Splicer
from yakusu.errors import DataError


class Dialect(Protocol):
    """How a format writes paragraphs in XML."""

    def is_wanted(self, namespace: str, name: str) -> bool:
        """Whether an element is a paragraph, or contains paragraphs to skip."""

    def is_paragraph(self, element: Element) -> bool:
        """Whether an element is a paragraph."""

    def is_copy(self, element: Element) -> bool | None:
        """Whether an element is one of two alternatives.

        True: it may repeat the paragraphs of its sibling. False: its sibling may repeat its
        paragraphs. None: neither.
        """

    def is_skipped(self, element: Element) -> bool:
        """Whether the paragraphs in an element are not translated."""

    def pieces(self, paragraph: Element, xml: XmlFile) -> list[Piece]:
        """The contents of a paragraph."""

    def encode(self, text: str, run: Run) -> str:
        """The markup for a text in a run."""


@dataclass
class _Alternative:
    """One of two alternative elements, of which a program reads only one."""

    is_copy: bool
    texts: defaultdict[str, deque[int]]  # indexes by text, in the first of the two elements


class OfficePart:
    """The paragraphs of a part."""

    def __init__(self, xml: XmlFile, dialect: Dialect, texts: list[str]) -> None:
        """Find the paragraphs.

        Args:
            xml: The parsed part.
            dialect: Its format.
            texts: Texts of previous parts, to which those of this part are added.
        """
        self._encoded = xml.encoded
        self._dialect = dialect
        self._texts = texts
        self._indexes: list[int] = []  # of the texts of the paragraphs
        found = (each for element in xml.elements for each in self._segments(element, (), xml))
        self._splicer = Splicer(xml.content, list(found))

    def render(self, translations: Sequence[str]) -> bytes | None:
        """Return the part with these translations of `texts`, None if none is different."""
        own = [translations[index] for index in self._indexes]
        return None if own == self._splicer.texts else self._encoded(self._splicer.spliced(own))

    def _segments(
        self, element: Element, alternatives: tuple[_Alternative, ...], xml: XmlFile
    ) -> Iterator[SourceSegment[bytes]]:
        """Yield the paragraphs in an element, which may contain others, in reading order."""
        if self._dialect.is_skipped(element):
            return
        if self._dialect.is_paragraph(element):
            inline = formatted_inline(self._dialect.pieces(element, xml))
            if inline is not None:
                self._indexes.append(self._index(inline.text, alternatives))
                write = partial(self._written, inline)
                yield SourceSegment(element.inner, element.inner_end, inline.text, write)
        texts: defaultdict[str, deque[int]] = defaultdict(deque)
        for child in element.elements:
            is_copy = self._dialect.is_copy(child)
            inner = () if is_copy is None else (_Alternative(is_copy, texts),)
            yield from self._segments(child, alternatives + inner, xml)

    def _index(self, text: str, alternatives: tuple[_Alternative, ...]) -> int:
        """The index of a new text, or of the text of which it is a copy."""
        for alternative in alternatives:
            if alternative.is_copy and alternative.texts[text]:
                return alternative.texts[text].popleft()
        self._texts.append(text)
        for alternative in alternatives:
            if not alternative.is_copy:
                alternative.texts[text].append(len(self._texts) - 1)
        return len(self._texts) - 1

    def _written(self, inline: Inline, translation: str, copy: Copy[bytes]) -> bytes:
        """The bytes of a paragraph; adjacent pieces of one run share its markup."""
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
        return bytes(out)


class OfficeDocument:
    """A document in a zip archive.

    Attributes:
        texts: The texts of all parts.
    """

    skipped: Sequence[str] = ()
    lines: Sequence[int] = ()
    reports_blank = False

    def __init__(self, archive: Archive, dialects: Mapping[str, Dialect]) -> None:
        """Read the parts of an archive.

        Args:
            archive: The archive.
            dialects: Formats by name of part, in reading order.
        """
        self.texts: list[str] = []
        self._archive = archive
        self._parts = {
            name: OfficePart(read_part(archive, name, dialect.is_wanted), dialect, self.texts)
            for name, dialect in dialects.items()
        }

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        rendered = {name: part.render(translations) for name, part in self._parts.items()}
        return self._archive.rewritten(
            {name: content for name, content in rendered.items() if content is not None}
        )


def read_part(archive: Archive, name: str, wanted: Callable[[str, str], bool]) -> XmlFile:
    """Read the wanted elements of an XML part.

    Raises:
        DataError: The part is not valid XML. The message names the part.
    """
    data = archive.read(name)
    try:
        return XmlFile(data, wanted)
    except DataError as error:
        raise DataError(f"{name}, {error}") from error
