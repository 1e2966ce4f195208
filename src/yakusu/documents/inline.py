"""The inline content of a paragraph: pieces of its source become a text with marks, and back.

    Press <b>Start</b>. <br>   ->   text, START b, text, END b, text, EMPTY br
                               ->   Press OPEN(0) Start CLOSE(0) .

A format says what the pieces of a paragraph are, and how text and other pieces are written. The
steps between are the same for all formats:

    matched      each END gets its START; what is left alone is EMPTY
    merged       a pair without text is one EMPTY piece, which is hollow if nothing is in it
    trimmed      both ends lose what is not part of the sentence, and pairs around all of it
    formatted    text in another formatting than most is enclosed in a pair; only `formatted_inline`
    marked       each pair and each EMPTY piece gets the next number; a hollow one is a pair of
                 marks, which a model does not read: Save<i></i> now -> Save OPEN(0) CLOSE(0) now
    compose      the marks of a translation are pieces again, and pairs are nested
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import groupby, pairwise
from typing import NamedTuple

from yakusu.data.lines.private_use import (
    CLOSING_RANGE,
    MARKS,
    MAX_MARKS,
    OPENING_RANGE,
    closing,
    empty,
    is_mark,
    is_opening,
    line_break,
    opening,
)
from yakusu.data.lines.words import has_letter

_SPACES = re.compile("[ \t\n\v\f\r]+")  # a no-break space is kept
_OPENINGS = re.compile(f" ?(?:[{OPENING_RANGE}] ?)+")
_CLOSINGS = re.compile(f" ?(?:[{CLOSING_RANGE}] ?)+")
_MARK = re.compile(f"({MARKS})")


class PieceKind(IntEnum):
    """What a piece of source is."""

    TEXT = 0
    START = 1  # begins markup that encloses text
    END = 2
    EMPTY = 3  # markup that encloses nothing


@dataclass(frozen=True)
class Run:
    """How a stretch of text is written in a word processor's file.

    Attributes:
        key: Its formatting; runs of the same formatting are equal.
        before: Markup before its contents.
        after: Markup after its contents.
        prefix: Prefix of the names of elements in its contents.
    """

    key: Hashable
    before: bytes = field(default=b"", compare=False)
    after: bytes = field(default=b"", compare=False)
    prefix: str = field(default="", compare=False)


class Piece(NamedTuple):
    """A piece of inline source.

    Attributes:
        kind: What it is.
        start: Position of its first character in the source.
        end: Position after its last character.
        text: The text that a reader sees.
        name: The same for a start and its end.
        speaks: Of an empty piece: it is part of the sentence, such as code. Of an end: it and its
            start must stay in the text.
        breaks: Of an empty piece: it is a line break.
        hollow: Of an empty piece: a reader sees nothing of it. It is a pair that encloses nothing
            but white space, or a comment.
        firm: An end that is not firm does not match a start that is followed by a firm start.
        run: The formatting of a text, or the run that contains a piece.
        parts: The pieces that this piece replaces.
        pair: The number of a start and of its end; None until they are matched.
    """

    kind: PieceKind
    start: int = 0
    end: int = 0
    text: str = ""
    name: str = ""
    speaks: bool = False
    breaks: bool = False
    hollow: bool = False
    firm: bool = True
    run: Run | None = None
    parts: tuple["Piece", ...] = ()
    pair: int | None = None


@dataclass(frozen=True, slots=True)  # a large document has many
class Inline:
    """A text with marks.

    Attributes:
        text: The text.
        marks: The piece of each mark.
        pieces: All pieces of the text, in order; of formatted text, none.
        before: The pieces before the text.
        after: The pieces after it.
        runs: How text is written in each pair, and outside of pairs (None).
    """

    text: str
    marks: Mapping[str, Piece]
    pieces: Sequence[Piece]
    before: Sequence[Piece]
    after: Sequence[Piece]
    runs: Mapping[int | None, Run | None]

    @property
    def start(self) -> int:
        """Position of its first character in the source."""
        return self.pieces[0].start

    @property
    def end(self) -> int:
        """Position after its last character in the source."""
        return self.pieces[-1].end

    def compose(self, translation: str) -> Iterator[Piece]:
        """Yield the pieces of another text with the same marks; a pair ends after those in it."""
        inside: list[int | None] = [None]  # open pairs
        ends: dict[int | None, Piece] = {}  # of pairs that are closed
        space = ""  # in the hollow piece before
        for part in filter(None, _MARK.split(translation)):
            if not is_mark(part[0]):
                text, space = part.removeprefix(space), ""
                yield Piece(PieceKind.TEXT, text=text, run=self.runs.get(inside[-1]))
                continue
            piece = self.marks[part]
            if piece.hollow:
                if is_opening(part):
                    space = piece.text
                    yield piece
                continue
            if piece.kind is PieceKind.END:
                ends[piece.pair] = piece
                while inside[-1] in ends:
                    yield ends[inside.pop()]
                continue
            if piece.kind is PieceKind.START:
                inside.append(piece.pair)
            yield piece

    def paragraph(self, translation: str) -> Iterator[Piece]:
        """Yield all texts and other pieces of the paragraph with another text, one by one."""
        return _flat([*self.before, *self.compose(translation), *self.after])


def text_pieces(start: int, source: str, decoded: str | None = None) -> Iterable[Piece]:
    """Yield the pieces of text without markup; white space at its ends is a separate piece.

    Args:
        start: Position of the text in the source.
        source: The text in the source.
        decoded: What a reader sees, if this is not `source`.
    """
    if decoded is not None:
        yield Piece(PieceKind.TEXT, start, start + len(source), decoded)
        return
    left, right = len(source) - len(source.lstrip()), len(source.rstrip())
    cuts = (0, left, right, len(source)) if left < right else (0, len(source))
    for a, b in pairwise(cuts):
        if a < b:
            yield Piece(PieceKind.TEXT, start + a, start + b, source[a:b])


def inline(pieces: Sequence[Piece]) -> Inline | None:
    """Return the text of a paragraph in which white space collapses, as in HTML.

    None: it cannot be translated, because it has no letter, contains a character that stands for
    markup, or has too many marks.
    """
    texts = [piece.text for piece in pieces if piece.kind is PieceKind.TEXT]
    if not any(map(has_letter, texts)) or any(map(_MARK.search, texts)):
        return None
    before, kept, after = _trimmed(_merged(matched(pieces), flows=True))
    shown, marks = marked(kept)
    text = tidy("".join(_SPACES.sub(" ", each) for each in shown))
    return Inline(text, marks, kept, before, after, {}) if text else None


def formatted_inline(pieces: Sequence[Piece]) -> Inline | None:
    """Return the text of a paragraph of formatted text; its white space is kept.

    The most common formatting between the ends of a pair, or of the paragraph, has no marks, and
    adjacent pieces of markup share one:

        Press [bold: Start][picture][tab] now   ->   Press OPEN(0) Start CLOSE(0) BREAK(1) now

    None: it cannot be translated, because it has no letter or too many marks.
    """
    texts = [piece for piece in pieces if piece.kind is PieceKind.TEXT]
    if not any(has_letter(piece.text) for piece in texts):
        return None
    clean = list(_without_marks(pieces))
    before, core, after = _trimmed(_merged(matched(clean), flows=False))
    runs = _runs(core, texts[0].run)
    shown, marks = marked(_formatted(core, runs))
    return Inline("".join(shown), marks, (), before, after, runs) if shown else None


# ---- starts and ends -----------------------------------------------------------------------------


def matched(pieces: Sequence[Piece]) -> list[Piece]:
    """Give each start and its end the same number; make the others empty.

    An end belongs to the last open start of its name; the starts after that one have no ends.
    """
    found = list(pieces)
    if not any(piece.kind in (PieceKind.START, PieceKind.END) for piece in pieces):
        return found
    ends = {piece.name for piece in pieces if piece.kind is PieceKind.END}
    waiting: list[int] = []  # starts without an end so far
    firm: list[int] = []  # those of them that are firm
    named: defaultdict[str, list[int]] = defaultdict(list)  # those of each name
    dropped: set[int] = set()  # from `named`; the other lists hold them until they are the last
    for i, piece in enumerate(pieces):
        if piece.kind is PieceKind.START and piece.name in ends:
            waiting.append(i)
            named[piece.name].append(i)
            firm += [i] * piece.firm
        elif piece.kind is PieceKind.END and named[piece.name]:
            start = named[piece.name][-1]
            while firm and firm[-1] in dropped:
                firm.pop()
            if piece.firm or firm[-1:] <= [start]:
                found[start] = pieces[start]._replace(pair=start)
                found[i] = piece._replace(pair=start)
                while waiting and waiting[-1] >= start:
                    last = waiting.pop()
                    if last not in dropped:
                        named[pieces[last].name].pop()
                while firm and firm[-1] >= start:
                    firm.pop()
            elif pieces[start].firm:  # without an end, it must not separate others
                dropped.add(named[piece.name].pop())
    return [
        piece._replace(kind=PieceKind.EMPTY)
        if piece.kind in (PieceKind.START, PieceKind.END) and piece.pair is None
        else piece
        for piece in found
    ]


def _merged(pieces: Sequence[Piece], *, flows: bool) -> list[Piece]:
    """Make each pair without text one empty piece.

    Args:
        pieces: The pieces.
        flows: White space alone is not text; a pair around a line break is a line break.
    """
    ends_of = {piece.pair: i for i, piece in enumerate(pieces) if piece.kind is PieceKind.END}
    if not ends_of:
        return list(pieces)
    n_texts = [0]  # before each piece
    for piece in pieces:
        n_texts.append(
            n_texts[-1] + (bool(piece.text.strip()) if flows else piece.kind is PieceKind.TEXT)
        )
    merged, i = [], 0
    while i < len(pieces):
        end = ends_of[pieces[i].pair] + 1 if pieces[i].kind is PieceKind.START else i + 1
        if end > i + 1 and n_texts[i] == n_texts[end]:
            piece = _together(pieces[i:end], may_break=flows)
            before, after = pieces[i - 1 : i], pieces[end : end + 1]
            ends = [each.text[-1:] for each in before] + [each.text[:1] for each in after]
            is_apart = any(map(str.isspace, ends))  # its own white space is not needed
            merged.append(piece._replace(text="") if is_apart else piece)
            i = end
        else:
            merged.append(pieces[i])
            i += 1
    return merged


def _together(pieces: Sequence[Piece], *, may_break: bool = True) -> Piece:
    """One empty piece for several; if they are nothing but space, it separates words."""
    inner = [piece for piece in pieces if piece.kind is PieceKind.EMPTY]
    is_space = not inner and any(piece.text for piece in pieces)
    return Piece(
        PieceKind.EMPTY,
        pieces[0].start,
        pieces[-1].end,
        " " * is_space,
        speaks=any(piece.speaks for piece in inner),
        breaks=may_break and any(piece.breaks for piece in inner),
        hollow=all(piece.hollow for piece in inner),
        parts=tuple(pieces),
    )


def _trimmed(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Piece], list[Piece]]:
    """Cut off what is not part of the sentence at both ends, and pairs around all of it.

    Returns:
        The pieces before the text, those of the text, and those after it.
    """
    first, last = 0, len(pieces) - 1
    while True:
        while _is_silent(pieces[first]):
            first += 1
        while _is_silent(pieces[last]):
            last -= 1
        pair = pieces[first].pair
        if pair is None or pair != pieces[last].pair or pieces[last].speaks:
            break
        first, last = first + 1, last - 1
    before, core, after = [*pieces[:first]], [*pieces[first : last + 1]], [*pieces[last + 1 :]]
    if core[0].kind is PieceKind.TEXT:
        text = core[0].text.lstrip()
        before.append(core[0]._replace(text=core[0].text.removesuffix(text)))
        core[0] = core[0]._replace(text=text)
    if core[-1].kind is PieceKind.TEXT:
        text = core[-1].text.rstrip()
        after.insert(0, core[-1]._replace(text=core[-1].text.removeprefix(text)))
        core[-1] = core[-1]._replace(text=text)
    return before, core, after


def _is_silent(piece: Piece) -> bool:
    if piece.kind is PieceKind.TEXT:
        return not piece.text.strip()
    return piece.kind is PieceKind.EMPTY and not piece.speaks


# ---- marks ---------------------------------------------------------------------------------------


def marked(pieces: Iterable[Piece]) -> tuple[list[str], dict[str, Piece]]:
    """Give each pair and each empty piece the next number, of fewer than `MAX_MARKS`.

    Returns:
        What stands for each piece in the text, and the piece of each mark; nothing if there are not
        enough numbers.
    """
    shown: list[str] = []
    marks: dict[str, Piece] = {}
    numbers: dict[int | None, int] = {}  # of pairs
    number = 0
    for piece in pieces:
        if piece.kind is PieceKind.TEXT:
            shown.append(piece.text)
            continue
        if piece.kind is PieceKind.END:
            mark = closing(numbers[piece.pair])
        elif number == MAX_MARKS - 1:
            return [], {}
        else:
            alone = line_break if piece.breaks else empty
            begins = piece.kind is PieceKind.START or piece.hollow
            mark = opening(number) if begins else alone(number)
            numbers[piece.pair] = number
            number += 1
        marks[mark] = piece
        if piece.hollow:
            end = closing(number - 1)
            marks[end] = piece
            mark += end
        shown.append(mark + piece.text)
    return shown, marks


def tidy(text: str) -> str:
    """Collapse white space, and move it out of pairs."""
    text = _CLOSINGS.sub(lambda found: _without_spaces(found[0]) + " " * (" " in found[0]), text)
    text = _OPENINGS.sub(lambda found: " " * (" " in found[0]) + _without_spaces(found[0]), text)
    return _SPACES.sub(" ", text).strip()


def _without_spaces(marks: str) -> str:
    return marks.replace(" ", "")


def _flat(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The texts and other pieces of the source in pieces, without empty ones."""
    for piece in pieces:
        if piece.parts:
            yield from _flat(piece.parts)
        elif piece.text or piece.start < piece.end:
            yield piece


# ---- formatted text ------------------------------------------------------------------------------


def _without_marks(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Make empty pieces of characters that happen to be marks."""
    for piece in pieces:
        if piece.kind is not PieceKind.TEXT or (piece.text and not _MARK.search(piece.text)):
            yield piece
            continue
        for part in filter(None, _MARK.split(piece.text)):
            text = piece._replace(text=part)
            yield Piece(PieceKind.EMPTY, parts=(text,)) if is_mark(part[0]) else text


def _runs(pieces: Iterable[Piece], default: Run | None) -> dict[int | None, Run | None]:
    """The first run of the most common formatting directly in each pair (None: in none)."""
    inside: list[int | None] = [None]
    counts: dict[int | None, dict[Run | None, int]] = {None: {}}
    for piece in pieces:
        if piece.kind is PieceKind.START:
            inside.append(piece.pair)
            counts[piece.pair] = {}
        elif piece.kind is PieceKind.END:
            inside.pop()
        elif piece.kind is PieceKind.TEXT:
            count = counts[inside[-1]]
            count[piece.run] = count.get(piece.run, 0) + len("".join(piece.text.split()))
    return {
        pair: max(count, key=lambda run: count[run]) if count else default
        for pair, count in counts.items()
    }


def _formatted(pieces: Iterable[Piece], runs: dict[int | None, Run | None]) -> Iterator[Piece]:
    """Enclose text in another formatting than most in pairs, which are added to `runs`."""
    inside: list[int | None] = [None]
    own: Piece | None = None  # the start of a formatting that has not ended
    waiting: list[Piece] = []  # after its last word: what follows decides where it ends
    for piece in pieces:
        if piece.kind is PieceKind.EMPTY:
            waiting.append(piece)
            continue
        if own and (piece.kind is not PieceKind.TEXT or piece.run != own.run):
            yield own._replace(kind=PieceKind.END)
            own = None
        if waiting:
            yield from _joined(waiting)
            waiting = []
        if piece.kind is PieceKind.START:
            inside.append(piece.pair)
        elif piece.kind is PieceKind.END:
            inside.pop()
        word = piece.text.strip()
        if piece.kind is not PieceKind.TEXT or piece.run == runs[inside[-1]]:
            yield piece
        elif word:
            before, _, after = piece.text.partition(word)
            yield piece._replace(text=before)
            if own is None:
                own = Piece(PieceKind.START, run=piece.run, pair=-len(runs))
                runs[own.pair] = piece.run
                yield own
            yield piece._replace(text=word)
            waiting = [piece._replace(text=after)]  # spaces stay out of the pair
        elif own or len(piece.text) > 1:  # several spaces are to fill in, such as underlined ones
            waiting = [piece if own else Piece(PieceKind.EMPTY, parts=(piece,))]
        else:
            yield piece
    if own:
        yield own._replace(kind=PieceKind.END)
    yield from _joined(piece for piece in waiting if piece.kind is PieceKind.EMPTY)


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Make adjacent empty pieces one."""
    for is_empty, group in groupby(pieces, key=lambda piece: piece.kind is PieceKind.EMPTY):
        adjacent = list(group)
        yield from [_together(adjacent)] if is_empty else adjacent
