"""The plain text of a line: without tags of pairs, and with a character for each other span.

    Call <b>Anna</b> at {time}.   ->   Call Anna at P.

The place of a tag is remembered; P is a private-use character. Of the white space on both sides of
tags, only the first is read: "You have <0></0> three" is "You have three".
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

import regex

from yakusu import lazy
from yakusu.data.lines.private_use import MARK_RANGE, break_place, firm_place, loose_place
from yakusu.data.lines.spans import Span, replaced

PAIRED = ("opening", "closing")  # kinds of the tags of a pair
# Pictures, line breaks and similar spans stay at the ends of a sentence; placeholders, also {},
# and code belong to it.
_IS_LOOSE = lazy.compile(
    rf"<(?!(?:code|kbd|samp|var)\b).*|(?!.*\{{\}})[^\p{{L}}\p{{N}}{MARK_RANGE}]+",
    regex.DOTALL | regex.IGNORECASE,
)
_SPACES = lazy.compile(r"\s+")
_AFTER_ATTACHED = lazy.compile(r"[.,;:!?…\p{Pe}\p{Pf}]+(?:\s|$)|[、。，．！？：；」』）]")


class PlainText:
    """The plain text of a line: without tags of pairs, and with a character for each other span.

    Args:
        spans: The spans of the line, in order.

    Attributes:
        places: The private-use character for each span, except for tags of pairs.
        tags: The tags of pairs, with their positions in the plain text.
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        self._marks: list[tuple[str, Span]] = []
        self.places: list[tuple[str, Span]] = []
        self.tags: list[tuple[int, Span]] = []
        length = end = 0
        for span in spans:
            length += span.start - end
            if span.kind in PAIRED:
                self.tags.append((length, span))
                self._marks.append(("", span))
            else:
                self.places.append((_place(span, len(self.places)), span))
                self._marks.append(self.places[-1])
                length += 1
            end = span.end

    def of(self, text: str) -> str:
        """The plain text of a line."""
        if not self._marks:
            return text
        return replaced(text, (span for _, span in self._marks), (mark for mark, _ in self._marks))

    def restored(self, plain: str, text: str) -> str:
        """A plain text of the same length with the spans of a line."""
        pieces, at, end = list[str](), 0, 0
        for mark, span in self._marks:
            size = span.start - end
            pieces += [plain[at : at + size], text[span.start : span.end]]
            at, end = at + size + len(mark), span.end
        return "".join([*pieces, plain[at:]])


def _place(span: Span, number: int) -> str:
    """The character for a span."""
    if span.kind == "break":
        return break_place(number)
    is_loose = span.kind != "word" and _IS_LOOSE.fullmatch(span.text)
    return (loose_place if is_loose else firm_place)(number)


def spaces_read(text: str, tags: Sequence[tuple[int, Span]]) -> list[slice]:
    """The parts of a text in which tags leave no white space but the first on both sides of them.

    None is left before punctuation, and after an opening bracket, to which a pair that encloses
    nothing is attached.

    Args:
        text: The text without tags.
        tags: The tags, with their positions.
    """
    positions = [position for position, _ in tags]
    parts, end = list[slice](), 0
    for run in _SPACES.finditer(text) if tags else ():
        first, last = bisect_left(positions, run.start()), bisect_right(positions, run.end())
        if first < last:
            cuts = [run.start(), *positions[first:last], run.end()]
            spaces = [slice(a, b) for a, b in pairwise(cuts)]
            kinds = [tag.kind for _, tag in tags[first:last]]
            encloses_nothing = ("opening", "closing") in list(pairwise(kinds))
            parts.append(slice(end, run.start()))
            if not (encloses_nothing and _attached(text, cuts)):
                parts.append(next(space for space in spaces if space.start < space.stop))
            end = run.end()
    return [*parts, slice(end, len(text))]


def _attached(text: str, cuts: Sequence[int]) -> bool:
    """Whether tags touch punctuation after them, or an opening bracket before them.

    Args:
        text: The text without tags.
        cuts: The ends of the white space around the tags, and the position of each tag between.
    """
    start, *_, end = cuts
    if cuts[-2] == end and start > 0 and _AFTER_ATTACHED.match(text, end):
        return True
    return cuts[1] == start and end < len(text) and text[start - 1] in "([{"
