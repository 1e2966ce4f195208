"""The XML parts of a word processor's file: their paragraphs as texts, and the parts rewritten."""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from yakusu.data.files.xmltree import Element, XmlFile
from yakusu.documents.office.archive import Archive
from yakusu.documents.office.formatted import Formatted, build
from yakusu.documents.office.items import Item, Run, write
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

    def items(self, paragraph: Element, xml: XmlFile) -> list[Item]:
        """The contents of a paragraph."""

    def encode(self, text: str, run: Run) -> str:
        """The markup for a text in a run."""


@dataclass(frozen=True)
class _Paragraph:
    start: int
    inner: int
    inner_end: int
    formatted: Formatted
    index: int  # of its text


@dataclass
class _Alternative:
    """One of two alternative elements, of which a program reads only one."""

    is_copy: bool
    texts: defaultdict[str, deque[int]]  # indexes by text, in the first of the two elements


class Part:
    """The paragraphs of a part."""

    def __init__(self, xml: XmlFile, dialect: Dialect, texts: list[str]) -> None:
        """Find the paragraphs.

        Args:
            xml: The parsed part.
            dialect: Its format.
            texts: Texts of previous parts, to which those of this part are added.
        """
        self._content = xml.content
        self._encoded = xml.encoded
        self._dialect = dialect
        self._texts = texts
        self._paragraphs: list[_Paragraph] = []
        for element in xml.elements:
            self._collect(element, (), xml)
        self._starts = [paragraph.start for paragraph in self._paragraphs]

    def render(self, translations: Sequence[str]) -> bytes | None:
        """Return the part with these translations of `texts`, None if none is different."""
        if all(translations[one.index] == one.formatted.text for one in self._paragraphs):
            return None
        return self._encoded(self._copied(0, len(self._content), translations))

    def _collect(
        self, element: Element, alternatives: tuple[_Alternative, ...], xml: XmlFile
    ) -> None:
        """Find the paragraphs in an element, which may contain others, in reading order."""
        if self._dialect.is_skipped(element):
            return
        if self._dialect.is_paragraph(element):
            formatted = build(self._dialect.items(element, xml))
            if formatted is not None:
                index = self._index(formatted.text, alternatives)
                paragraph = _Paragraph(
                    element.start, element.inner, element.inner_end, formatted, index
                )
                self._paragraphs.append(paragraph)
        texts: defaultdict[str, deque[int]] = defaultdict(deque)
        for child in element.elements:
            is_copy = self._dialect.is_copy(child)
            inner = () if is_copy is None else (_Alternative(is_copy, texts),)
            self._collect(child, alternatives + inner, xml)

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

    def _copied(self, start: int, end: int, translations: Sequence[str]) -> bytes:
        """The bytes of a range, with the paragraphs that begin in it translated."""
        out = bytearray()
        index = bisect_left(self._starts, start)
        while index < len(self._starts) and self._starts[index] < end:
            paragraph = self._paragraphs[index]
            out += self._content[start : paragraph.inner]
            out += self._paragraph(paragraph, translations)
            start = paragraph.inner_end
            index = bisect_left(self._starts, start, lo=index + 1)
        return bytes(out + self._content[start:end])

    def _paragraph(self, paragraph: _Paragraph, translations: Sequence[str]) -> bytes:
        translation = translations[paragraph.index]
        if translation == paragraph.formatted.text:  # paragraphs in it may have changed
            return self._copied(paragraph.inner, paragraph.inner_end, translations)
        return write(
            paragraph.formatted.compose(translation),
            lambda start, end: self._copied(start, end, translations),
            lambda text, run: self._dialect.encode(text, run).encode(),
        )


class OfficeDocument:
    """A document in a zip archive.

    Attributes:
        texts: The texts of all parts.
    """

    skipped: Sequence[str] = ()
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
            name: Part(read_part(archive, name, dialect.is_wanted), dialect, self.texts)
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
