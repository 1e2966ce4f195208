"""Documents whose texts are replaced in place: everything between the texts is copied."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import AnyStr, Generic

from yakusu.data.files.encodings import BYTE_ORDER_MARKS
from yakusu.errors import AS_UTF8, DataError

# The source between two positions, with the texts in it replaced.
Copy = Callable[[int, int], AnyStr]


@dataclass(frozen=True)
class DecodedFile:
    """The characters of a file.

    Attributes:
        text: The characters, with a byte order mark if the file has one.
        encoding: The codec for writing.
        errors: What is written for a character that the encoding lacks: a handler of `str.encode`.
    """

    text: str
    encoding: str
    errors: str = "strict"


def decode_source(data: bytes, encoding: str = "utf-8", *, errors: str = "strict") -> DecodedFile:
    """Decode a file so that encoding it again gives the same bytes.

    Args:
        data: The file.
        encoding: The codec, unless a byte order mark names another one.
        errors: As in `DecodedFile`.

    Raises:
        DataError: The data is not valid in this encoding; the message gives the line.
    """
    for mark, codec in BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            encoding = codec
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"line {line}: byte 0x{data[error.start]:02x} is not valid in {encoding}: {AS_UTF8} or "
            "correct the line"
        ) from error
    if text.encode(encoding, "replace") != data:
        raise DataError(
            f"the file uses more than one code of {encoding} for the same character: {AS_UTF8}"
        )
    return DecodedFile(text, encoding, errors)


@dataclass(frozen=True, slots=True)
class SourceSegment(Generic[AnyStr]):
    """A text and its place in a source of characters or bytes.

    Attributes:
        start: Position of its first character.
        end: Position after its last character. A segment may contain others, in its marks.
        text: The text to translate.
        write: Returns the source of a translation, given a function that copies source.
    """

    start: int
    end: int
    text: str
    write: Callable[[str, Copy[AnyStr]], AnyStr]


class Splicer(Generic[AnyStr]):
    """Replaces texts in a source.

    Args:
        source: The source.
        segments: Its texts in any order; two segments are disjoint, or one contains the other.

    Attributes:
        texts: The texts, in the order of the source.
        starts: Where they begin.
    """

    def __init__(self, source: AnyStr, segments: Sequence[SourceSegment[AnyStr]]) -> None:
        self._source: AnyStr = source
        self._segments: list[SourceSegment[AnyStr]] = sorted(
            segments, key=lambda each: (each.start, -each.end)
        )
        self.starts: list[int] = [segment.start for segment in self._segments]
        self.texts: list[str] = [segment.text for segment in self._segments]

    def spliced(self, translations: Sequence[str], start: int = 0, *, end: int = -1) -> AnyStr:
        """The source with these translations, one for each text.

        Args:
            translations: The translations.
            start: Where the part of the source begins that is returned.
            end: Where it ends; -1: at the end of the source.
        """
        return self._copy(start, len(self._source) if end < 0 else end, 0, translations)

    def _copy(self, start: int, end: int, first: int, translations: Sequence[str]) -> AnyStr:
        """The source between two positions; the segments from `first` within it are replaced."""
        written: list[AnyStr] = []
        at = start
        i = first
        while i < len(self._segments) and self.starts[i] < end:
            segment = self._segments[i]
            if segment.start >= at and segment.end <= end:
                written += [self._source[at : segment.start], self._write(i, translations)]
                at = segment.end
                i = max(bisect_left(self.starts, at), i + 1)  # after those in it
            else:
                i += 1
        written.append(self._source[at:end])
        return self._source[:0].join(written)

    def _write(self, i: int, translations: Sequence[str]) -> AnyStr:
        segment = self._segments[i]
        if translations[i] == segment.text:  # texts in it may have changed
            return self._copy(segment.start, segment.end, i + 1, translations)

        def copy(start: int, end: int) -> AnyStr:
            first = max(bisect_left(self.starts, start), i + 1)
            return self._copy(start, end, first, translations)

        return segment.write(translations[i], copy)


class Spliced:
    """A document whose texts are segments of its source.

    Args:
        source: The file.
        segments: Its texts, as for `Splicer`.
        skipped: A sentence for each part with words that stays as it is.

    Attributes:
        texts: The texts to translate, in reading order.
    """

    reports_blank = False

    def __init__(
        self,
        source: DecodedFile,
        segments: Sequence[SourceSegment[str]],
        skipped: Sequence[str] = (),
    ) -> None:
        self.skipped = skipped
        self._source = source
        self._splicer = Splicer(source.text, segments)
        self.texts = self._splicer.texts

    @cached_property
    def lines(self) -> list[int]:
        """The line in which each text begins, from 1."""
        ends = [match.start() for match in re.finditer("\n", self._source.text)]
        return [bisect_left(ends, start) + 1 for start in self._splicer.starts]

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        text = self._splicer.spliced(translations)
        return text.encode(self._source.encoding, self._source.errors)
