"""Line breaks that divide a text into lines of similar length, for subtitles."""

import unicodedata
from dataclasses import dataclass

from yakusu.data.markup import is_closing, is_mark

_NOT_FIRST = frozenset("、。，．・：；？！」』】〕〉》）］｝!?,.:;)]}’”…‥ー々ゝゞヽヾ〜～％")
_NOT_LAST = frozenset("「『【〔〈《（［｛([{‘“")
_SMALL = frozenset("ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ")
_AFTER_PUNCTUATION, _AFTER_PARTICLE, _ELSEWHERE = 0, 2, 6  # columns that a place costs


@dataclass(frozen=True)
class _Place:
    """A place for a line break: `start` to `end` is replaced by it."""

    start: int
    end: int
    column: int
    cost: int


def balanced(text: str, n_lines: int) -> str:
    """Divide a text with marks into lines, separated by "\\n".

    Lines end at spaces, and in Chinese and Japanese between characters where the rules of these
    scripts allow it, preferably after punctuation. Widths are in columns: wide characters have
    two. A text with too few places for line breaks has fewer lines.
    """
    places, width = _places(text)
    lines, start = [], 0
    for line in range(1, n_lines):
        target = width * line / n_lines
        if not places:
            break
        reserved = min(n_lines - 1 - line, len(places) - 1)  # places for the following lines
        candidates = places[: len(places) - reserved]
        best = min(candidates, key=lambda place: abs(place.column - target) + place.cost)
        lines.append(text[start : best.start])
        start = best.end
        places = places[places.index(best) + 1 :]
    return "\n".join([*lines, text[start:]])


def _places(text: str) -> tuple[list[_Place], int]:
    """The places for line breaks, and the width of the text."""
    places: list[_Place] = []
    column, previous, after = 0, "", 0  # the previous visible character; where a break goes
    for i, character in enumerate(text):
        if is_mark(character):
            after += after == i and is_closing(character)
            continue
        if character == " ":
            if column:
                places.append(_Place(i, i + 1, column, 0))
        elif previous and previous != " " and _may_separate(previous, character):
            places.append(_Place(after, after, column, _cost(previous, character)))
        column += _width(character)
        previous, after = character, i + 1
    return [place for place in places if place.column < column], column


def _may_separate(before: str, after: str) -> bool:
    """Whether a line may end between two characters without a space."""
    if before in _NOT_LAST or after in _NOT_FIRST or after in _SMALL or not _width(after):
        return False
    kinds = _script(before), _script(after)
    return bool({"han", "hiragana", "katakana"} & set(kinds)) and kinds != ("katakana",) * 2


def _cost(before: str, after: str) -> int:
    if before in _NOT_FIRST and before not in "ー々":
        return _AFTER_PUNCTUATION
    is_particle = _script(before) == "hiragana" and _script(after) != "hiragana"
    return _AFTER_PARTICLE if is_particle else _ELSEWHERE


def _script(character: str) -> str:
    """The script of a character whose words have no spaces between them, or ""."""
    name = unicodedata.name(character, "")
    if name.startswith("CJK"):
        return "han"
    if name.startswith("HIRAGANA"):
        return "hiragana"
    return "katakana" if "KATAKANA" in name else ""


def _width(character: str) -> int:
    """The columns of a character."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
