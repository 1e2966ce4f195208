"""Documents whose texts are replaced in place: everything between the texts is copied."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from yakusu.data.files.text import BYTE_ORDER_MARKS
from yakusu.errors import DataError

Copy = Callable[[int, int], str]  # the source between two positions, with its own texts replaced


@dataclass(frozen=True)
class Source:
    """The characters of a file.

    Attributes:
        text: The characters, with a byte order mark if the file has one.
        encoding: The codec for writing.
        errors: What is written for a character that the encoding lacks: a handler of `str.encode`.
    """

    text: str
    encoding: str
    errors: str = "strict"


def decode(data: bytes, encoding: str = "utf-8", *, errors: str = "strict") -> Source:
    """Decode a file so that encoding it again gives the same bytes.

    Args:
        data: The file.
        encoding: The codec, unless a byte order mark names another one.
        errors: As in `Source`.

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
            f"line {line}: byte 0x{data[error.start]:02x} is not valid in {encoding}: convert the "
            "file to UTF-8 (for example with iconv -f LATIN1 -t UTF-8) or correct the line"
        ) from error
    if text.encode(encoding, "replace") != data:
        raise DataError(
            f"the file uses more than one code of {encoding} for the same character: convert it to "
            "UTF-8 (for example with iconv -f LATIN1 -t UTF-8)"
        )
    return Source(text, encoding, errors)


@dataclass(frozen=True)
class Segment:
    """A text and its place in the source.

    Attributes:
        start: Position of its first character.
        end: Position after its last character. A segment may contain others, in its marks.
        text: The text to translate.
        write: Returns the source of a translation, given a function that copies source.
    """

    start: int
    end: int
    text: str
    write: Callable[[str, Copy], str]


class Spliced:
    """A document whose texts are segments of its source.

    Args:
        source: The file.
        segments: Its texts in any order; two segments are disjoint, or one contains the other.
    """

    skipped: Sequence[str] = ()
    reports_blank = False

    def __init__(self, source: Source, segments: Sequence[Segment]) -> None:
        self._source = source
        self._segments = sorted(segments, key=lambda each: (each.start, -each.end))
        self._starts = [segment.start for segment in self._segments]

    @property
    def texts(self) -> list[str]:
        """The texts to translate, in reading order."""
        return [segment.text for segment in self._segments]

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        text = self._copy(0, len(self._source.text), 0, translations)
        return text.encode(self._source.encoding, self._source.errors)

    def _copy(self, start: int, end: int, first: int, translations: Sequence[str]) -> str:
        """The source between two positions; the segments from `first` within it are replaced."""
        written, at = [], start
        for i in range(first, len(self._segments)):
            segment = self._segments[i]
            if segment.start >= end:
                break
            if segment.start >= at and segment.end <= end:
                written += [self._source.text[at : segment.start], self._write(i, translations)]
                at = segment.end
        return "".join([*written, self._source.text[at:end]])

    def _write(self, i: int, translations: Sequence[str]) -> str:
        segment = self._segments[i]
        if translations[i] == segment.text:
            return self._copy(segment.start, segment.end, i + 1, translations)

        def copy(start: int, end: int) -> str:
            first = max(bisect_left(self._starts, start), i + 1)
            return self._copy(start, end, first, translations)

        return segment.write(translations[i], copy)
