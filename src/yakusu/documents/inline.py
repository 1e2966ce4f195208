"""The inline content of a block: pieces of its source become a text with marks.

    Press <b>Start</b>. <br>   ->   text, START b, text, END b, text, EMPTY br
                               ->   Press OPEN(0) Start CLOSE(0) .

White space is collapsed. Markup around the whole text, and markup at its ends that is not part of
the sentence, stay outside. A start without an end, or an end without a start, is an empty mark.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from yakusu.data.lines.private_use import MARKS, MAX_MARKS, closing, empty, line_break, opening
from yakusu.data.lines.words import has_letter

_SPACES = re.compile("[ \t\n\v\f\r]+")  # a no-break space is kept
_OPENINGS = re.compile(f" ?(?:[{opening(0)}-{opening(MAX_MARKS - 1)}] ?)+")
_CLOSINGS = re.compile(f" ?(?:[{closing(0)}-{closing(MAX_MARKS - 1)}] ?)+")
_MARK = re.compile(MARKS)
_LINE_BREAK = re.compile(r"br|<br[\s/]*>|hardbreak", re.IGNORECASE)  # names of pieces


class Kind(Enum):
    """What a piece of source is."""

    TEXT = 0
    START = 1  # begins markup that encloses text
    END = 2
    EMPTY = 3  # markup that encloses nothing


@dataclass(frozen=True)
class Piece:
    """A piece of inline source.

    Attributes:
        kind: What it is.
        start: Position of its first character in the source.
        end: Position after its last character.
        text: The text that a reader sees.
        name: The same for a start and its end.
        speaks: An empty piece is a part of the sentence, such as code; or an end and its start must
            stay in the text.
        parts: The pieces that this piece replaces.
        pair: The number of a start and of its end; None until they are matched.
    """

    kind: Kind
    start: int
    end: int
    text: str = ""
    name: str = ""
    speaks: bool = False
    parts: tuple["Piece", ...] = ()
    pair: int | None = None


@dataclass(frozen=True)
class Inline:
    """A text with marks.

    Attributes:
        text: The text.
        marks: The piece of each mark.
        pieces: All pieces of the text, in order.
    """

    text: str
    marks: dict[str, Piece]
    pieces: Sequence[Piece]

    @property
    def start(self) -> int:
        """Position of its first character in the source."""
        return self.pieces[0].start

    @property
    def end(self) -> int:
        """Position after its last character in the source."""
        return self.pieces[-1].end


def text_pieces(start: int, source: str, decoded: str | None = None) -> Iterable[Piece]:
    """Yield the pieces of text without markup; white space at its ends is a separate piece.

    Args:
        start: Position of the text in the source.
        source: The text in the source.
        decoded: What a reader sees, if this is not `source`.
    """
    if decoded is not None:
        yield Piece(Kind.TEXT, start, start + len(source), decoded)
        return
    left, right = len(source) - len(source.lstrip()), len(source.rstrip())
    cuts = (0, left, right, len(source)) if left < right else (0, len(source))
    for a, b in pairwise(cuts):
        if a < b:
            yield Piece(Kind.TEXT, start + a, start + b, source[a:b])


def inline(pieces: Sequence[Piece]) -> Inline | None:
    """Return the text of the pieces of one block, or None if it cannot be translated.

    It can be translated if it has a letter and no character that stands for markup.
    """
    texts = [piece.text for piece in pieces]
    if not any(map(has_letter, texts)) or any(map(_MARK.search, texts)):
        return None
    kept = _trimmed(_merged(_matched(pieces)))
    marks: dict[str, Piece] = {}
    numbers: dict[int | None, int] = {}  # pair -> number of its marks
    text, number = [], 0
    for piece in kept:
        if piece.kind is Kind.END:
            mark = closing(numbers[piece.pair])
        elif piece.kind is not Kind.TEXT:
            if number == MAX_MARKS:
                return None
            mark = opening(number) if piece.kind is Kind.START else _alone(piece, number)
            numbers[piece.pair] = number
            number += 1
        if piece.kind is not Kind.TEXT:
            marks[mark] = piece
            text.append(mark)
        text.append(_SPACES.sub(" ", piece.text))
    return Inline(tidy("".join(text)), marks, kept)


def _alone(piece: Piece, number: int) -> str:
    """The mark of a piece that encloses nothing."""
    inner = piece.parts or (piece,)
    breaks = any(_LINE_BREAK.fullmatch(p.name) for p in inner if p.kind is Kind.EMPTY)
    return line_break(number) if breaks else empty(number)


def _matched(pieces: Sequence[Piece]) -> list[Piece]:
    """Give each start and its end the same number; make the others empty."""
    matched = list(pieces)
    names: Counter[str] = Counter()
    waiting: list[int] = []  # starts without an end so far
    for i, piece in enumerate(pieces):
        if piece.kind is Kind.START:
            waiting.append(i)
            names[piece.name] += 1
        elif piece.kind is Kind.END and names[piece.name]:
            while True:
                start = waiting.pop()
                names[pieces[start].name] -= 1
                if pieces[start].name == piece.name:
                    break
            matched[start] = replace(pieces[start], pair=start)
            matched[i] = replace(piece, pair=start)
    return [
        replace(piece, kind=Kind.EMPTY)
        if piece.kind in (Kind.START, Kind.END) and piece.pair is None
        else piece
        for piece in matched
    ]


def _merged(pieces: Sequence[Piece]) -> list[Piece]:
    """Make each pair without text one empty piece."""
    ends = {piece.pair: i for i, piece in enumerate(pieces) if piece.kind is Kind.END}
    n_texts = [0]  # before each piece
    for piece in pieces:
        n_texts.append(n_texts[-1] + bool(piece.text.strip()))
    merged, i = [], 0
    while i < len(pieces):
        end = ends[pieces[i].pair] + 1 if pieces[i].kind is Kind.START else i + 1
        if end > i + 1 and n_texts[i] == n_texts[end]:
            merged.append(_together(pieces[i:end]))
            i = end
        else:
            merged.append(pieces[i])
            i += 1
    return merged


def _together(pieces: Sequence[Piece]) -> Piece:
    """One empty piece for a pair; if the pair is nothing but space, it separates words."""
    inner = [piece for piece in pieces if piece.kind is Kind.EMPTY]
    speaks = any(piece.speaks for piece in inner)
    is_space = not inner and any(piece.text for piece in pieces)
    start, end = pieces[0].start, pieces[-1].end
    return Piece(Kind.EMPTY, start, end, " " * is_space, speaks=speaks, parts=tuple(pieces))


def _trimmed(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Remove pieces at the ends that are not part of the sentence, and pairs around all of it."""
    first, last = 0, len(pieces) - 1
    while True:
        while _is_silent(pieces[first]):
            first += 1
        while _is_silent(pieces[last]):
            last -= 1
        pair = pieces[first].pair
        if pair is None or pair != pieces[last].pair or pieces[last].speaks:
            return pieces[first : last + 1]
        first, last = first + 1, last - 1


def _is_silent(piece: Piece) -> bool:
    if piece.kind is Kind.TEXT:
        return not piece.text.strip()
    return piece.kind is Kind.EMPTY and not piece.speaks


def tidy(text: str) -> str:
    """Collapse white space, and move it out of pairs."""
    text = _CLOSINGS.sub(lambda found: _without_spaces(found[0]) + " " * (" " in found[0]), text)
    text = _OPENINGS.sub(lambda found: " " * (" " in found[0]) + _without_spaces(found[0]), text)
    return _SPACES.sub(" ", text).strip()


def _without_spaces(marks: str) -> str:
    return marks.replace(" ", "")
