"""Subtitles: SubRip (.srt) and WebVTT (.vtt).

A cue is one text: its lines are joined by spaces, and the translation is divided into as many
lines. Lines that begin with another speaker are separate texts, and what marks the speaker is kept:

    - Where is it?    >> Over there.    ANNA: By the door.    <v Ada>Thank you.

A sentence that continues in the next cue is two texts. Tags are marks.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex

from yakusu.data.files.encodings import BYTE_ORDER_MARKS
from yakusu.documents.balance import balanced
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.html.tokens import decoded
from yakusu.documents.inline import Inline, Piece, PieceKind, formatted_inline
from yakusu.errors import AS_UTF8, DataError

_LINE = re.compile("[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_TIME = r"(?:\d+\s?:\s?)?\d{1,2}\s?:\s?\d{1,2}(?:\s?[.,:]\s?\d{1,3})?"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?")
_LIKE_TIMING = re.compile(
    r"[-+]?\d+\s*[:.,]\s*\d.*-->|\d+:\d+[:.,][\d\W]*\d:\d+[:.,]\d"  # in a stripped line
)
_VTT_BLOCK = re.compile(r"NOTE(?:\s.*)?|STYLE|REGION")
_VTT_HEADER = re.compile(r"WEBVTT(?:\s.*)?")
_OVERRIDE = r"\{\\[^{}]*\}"
_CHANGE = r"(?:>|&gt;){2,3}"  # of the speaker
_SRT_TAG = re.compile(
    rf"</?(?:[bius]|em|strong|font|span|ruby|rt|lang|c|v)(?:[\s.=][^<>]*)?>|<br\s*/?>|{_OVERRIDE}"
    rf"|{_CHANGE}",
    re.IGNORECASE,
)
_VTT_TAG = re.compile(rf"<[^<>]*>|{_OVERRIDE}|{_CHANGE}")
_OPENING_TAG = re.compile(r"<([A-Za-z]++)[^<>]*+>")
_NAME = re.compile(r"</?([A-Za-z]+)")
_TAGS = rf"(?:\s|<[^<>]*>|{_OVERRIDE})*+"
# A name in capitals, with a note: DR. MEYER:  MAN #2 (on the phone):
_NAME_MARK = regex.compile(
    rf"{_TAGS}\p{{Lu}}[\p{{Lu}}\p{{M}}\d .'’&#/-]{{0,30}}(?:\([^()]{{1,30}}\)\s?)?"
    r"(?:：|:(?=\s|[^\x00-\x7f]|<|$))\s*"
)
_DASH = re.compile(rf"{_TAGS}([-‐‑–—―])(?![-\d])\s*(?=\S)")
_CHEVRONS = re.compile(rf"{_TAGS}{_CHANGE}\s*")
_LEAD = re.compile(rf"(?:\s|{_OVERRIDE})*")
_DEEPEST = 20  # tags around each line of a cue
_SPEAKER = re.compile(r"\s*<v[\s.]")


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read subtitles: WebVTT if the first line says so, otherwise SubRip.

    Raises:
        DataError: The encoding or a timing is invalid.
    """
    bom = next(filter(data.startswith, BYTE_ORDER_MARKS), b"")
    encoding = BYTE_ORDER_MARKS.get(bom, "utf-8")
    lines = _LINE.findall(_decoded(data.removeprefix(bom), encoding))
    return Subtitles(lines, bom, encoding)


@dataclass(frozen=True)
class _Unit:
    """Consecutive lines of a cue with one text.

    Attributes:
        first: Index of the first line.
        last: Index after the last line.
        lead: What stays at the beginning, such as a dash.
        around: What stays around each line: tags.
        source: The rest of the lines, joined.
        inline: The text and its tags.
    """

    first: int
    last: int
    lead: str
    around: tuple[str, str]
    source: str
    inline: Inline


class Subtitles:
    """Subtitles as lines.

    Attributes:
        texts: The texts of the cues.
        lines: The line in which each of them begins.
    """

    skipped: Sequence[str] = ()
    reports_blank = False

    def __init__(self, lines: Sequence[str], bom: bytes, encoding: str) -> None:
        self._lines = lines
        self._bom = bom
        self._encoding = encoding
        self._is_vtt = bool(lines) and _VTT_HEADER.fullmatch(lines[0].rstrip()) is not None
        self._units = [
            unit
            for first, last in _blocks(lines, self._is_vtt)
            for unit in self._read_block(first, last)
        ]
        self.texts = [unit.inline.text for unit in self._units]
        self.lines = [unit.first + 1 for unit in self._units]

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        out: list[str] = []
        done = 0
        for unit, translation in zip(self._units, translations, strict=True):
            if translation == unit.inline.text:
                continue
            out += self._lines[done : unit.first]
            out += self._written(unit, re.sub("[\r\n]+", " ", translation))
            done = unit.last
        out += self._lines[done:]
        return self._bom + "".join(out).encode(self._encoding, "replace")

    def _read_block(self, first: int, last: int) -> Iterator[_Unit]:
        """The texts in consecutive lines of a cue."""
        starts = [first, *_speakers(self._lines, first, last), last]
        for start, end in pairwise(starts):
            lines = [line.rstrip("\r\n") for line in self._lines[start:end]]
            lead = _speaker(lines[0])
            if lead and not lines[0].removeprefix(lead) and len(lines) > 1:  # a line of its own
                start, lines = start + 1, lines[1:]
                lead = _speaker(lines[0])
            lead = lead or _LEAD.match(lines[0])[0]  # type: ignore[index]
            lines[0] = lines[0].removeprefix(lead)
            around, lines = _peeled(lines) if len(lines) > 1 else (("", ""), lines)
            source = " ".join(
                line.lstrip() if i else line
                for i, line in enumerate([*(line.rstrip() for line in lines[:-1]), lines[-1]])
            )
            inline = formatted_inline(list(_pieces(source, self._is_vtt)))
            if inline is not None:
                yield _Unit(start, end, lead, around, source, inline)

    def _written(self, unit: _Unit, translation: str) -> Iterator[str]:
        """The lines of a text with its translation."""
        text = "".join(
            (html.escape(piece.text, quote=False) if self._is_vtt else piece.text)
            if piece.kind is PieceKind.TEXT
            else unit.source[piece.start : piece.end]
            for piece in unit.inline.paragraph(balanced(translation, unit.last - unit.first))
        )
        lines = text.split("\n")
        old = list(self._lines[unit.first : unit.last])
        ends = [line[len(line.rstrip("\r\n")) :] for line in old[: len(lines) - 1] + old[-1:]]
        before, after = unit.around
        for i, (line, end) in enumerate(zip(lines, ends, strict=True)):
            yield ("" if i else unit.lead) + before + line + after + end


def _decoded(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "ignore")
        line = before.count("\n") + 1
        place = len(before.rpartition("\n")[2].encode(encoding)) + 1
        raise DataError(
            f"line {line}, byte {place}: 0x{data[error.start]:02x} is not {encoding.upper()}: "
            + AS_UTF8
        ) from error
    if "\0" in text:
        raise DataError(
            f"line {text.partition(chr(0))[0].count(chr(10)) + 1} contains a NUL byte: convert "
            "the file (iconv -f UTF-16 -t UTF-8), or correct the line"
        )
    return text


def _blocks(lines: Sequence[str], is_vtt: bool) -> Iterator[tuple[int, int]]:
    """The ranges of consecutive lines of text in cues."""
    in_cue = in_comment = False
    start: int | None = None  # of the current block
    for i, line in enumerate([*lines, ""]):
        content = line.strip()
        in_comment = bool(content) and (in_comment or _is_comment(content, is_vtt and not in_cue))
        is_timing = bool(content) and not in_comment and _is_timing(lines, i, is_vtt)
        if start is not None and (is_timing or not content):
            has_number = is_timing and lines[i - 1].strip().isdecimal()
            if start < i - has_number:
                yield start, i - has_number
            start = None
        if is_timing:
            in_cue = True
        elif not content:
            in_cue = in_cue and not is_vtt  # WebVTT shows nothing after an empty line
        elif in_cue and start is None:
            start = i
        elif not in_cue and not is_vtt and not content.isdecimal():
            raise DataError(
                f"line {i + 1}: {content[:40]!r} is neither the number nor the timing of a cue "
                "(00:00:01,000 --> 00:00:02,000): correct the line"
            )


def _is_comment(content: str, may_begin: bool) -> bool:
    """Whether a WebVTT block other than a cue begins."""
    return may_begin and _VTT_BLOCK.fullmatch(content) is not None


def _is_timing(lines: Sequence[str], i: int, is_vtt: bool) -> bool:
    """Whether a line is the timing of a cue.

    Raises:
        DataError: The line resembles a timing but is not valid.
    """
    line = lines[i].strip()
    if _TIMING.fullmatch(line):
        return True
    follows_number = i > 0 and lines[i - 1].strip().isdecimal()
    if _LIKE_TIMING.match(line) or ("-->" in line and (is_vtt or follows_number)):
        raise DataError(
            f"line {i + 1}: {line[:60]!r} is not a valid timing: write it as 00:00:01"
            f"{'.' if is_vtt else ','}000 --> 00:00:02{'.' if is_vtt else ','}000"
        )
    return False


def _speaker(line: str) -> str:
    """What marks the speaker at the beginning of a line, or ""."""
    dash = _DASH.match(line) or _CHEVRONS.match(line)
    mark = dash[0] if dash else ""
    name = _NAME_MARK.match(line, len(mark))
    return mark + name[0] if name else mark


def _speakers(lines: Sequence[str], first: int, last: int) -> Iterator[int]:
    """The lines after the first one where another speaker begins."""
    is_dialogue = _DASH.match(lines[first]) is not None
    for i in range(first + 1, last):
        dash = _DASH.match(lines[i])
        line = lines[i]
        is_other = _SPEAKER.match(line) or _CHEVRONS.match(line) or _NAME_MARK.match(line)
        if (dash and (is_dialogue or dash[1] == "-")) or is_other:
            yield i


def _peeled(lines: list[str]) -> tuple[tuple[str, str], list[str]]:
    """Take off the tags that enclose each line in the same way."""
    before = after = ""
    for _ in range(_DEEPEST):
        first = _OPENING_TAG.match(lines[0])
        if first is None:
            return (before, after), lines
        opener, closer = first[0], f"</{first[1]}>"
        if not all(
            line.startswith(opener)
            and line.endswith(closer)
            and line.count(f"<{first[1]}") == 1
            and line.count(closer) == 1
            for line in lines
        ):
            return (before, after), lines
        before, after = before + opener, closer + after
        lines = [line.removeprefix(opener).removesuffix(closer) for line in lines]
    return (before, after), lines


def _pieces(source: str, is_vtt: bool) -> Iterator[Piece]:
    """The text and tags of a source."""
    at = 0
    for tag in (_VTT_TAG if is_vtt else _SRT_TAG).finditer(source):
        start, end = tag.span()
        yield _text(source[at:start], is_vtt)
        at = end
        if found := _NAME.match(tag[0]):
            kind = PieceKind.END if tag[0].startswith("</") else PieceKind.START
            yield Piece(kind, start, end, name=found[1].lower())
        else:
            is_change = re.fullmatch(_CHANGE, tag[0]) is not None
            yield Piece(PieceKind.EMPTY, start, end, breaks=is_change)
    yield _text(source[at:], is_vtt)


def _text(source: str, is_vtt: bool) -> Piece:
    return Piece(PieceKind.TEXT, text=decoded(source) if is_vtt else source)
