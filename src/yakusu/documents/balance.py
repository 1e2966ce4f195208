"""Line breaks that divide a text into lines of similar length, for subtitles."""

from dataclasses import dataclass
from math import inf

from yakusu import lazy
from yakusu.data.lines.private_use import is_closing, is_mark

_NOT_FIRST = frozenset("、。，．・：；？！」』】〕〉》）］｝!?,.:;)]}’”…‥ー々ゝゞヽヾ〜～％")
_NOT_LAST = frozenset("「『【〔〈《（［｛([{‘“")
_SMALL = frozenset("ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ")
_SCRIPTS = {
    "han": lazy.compile(r"\p{Han}"),
    "hiragana": lazy.compile(r"\p{Hiragana}"),
    "katakana": lazy.compile("[\\p{Katakana}\u3099-\u309c゠・ー]"),
}
_NO_WIDTH = lazy.compile(r"[\p{Mn}\p{Me}\p{Cf}]")
_WIDE = lazy.compile(r"[\p{EA=W}\p{EA=F}]")
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
    lines, start, first = [], 0, 0  # `first`: index of the first place that is left
    for line in range(1, n_lines):
        if first == len(places):
            break
        reserved = min(n_lines - 1 - line, len(places) - first - 1)  # for the following lines
        best = _nearest(places, range(first, len(places) - reserved), width * line / n_lines)
        lines.append(text[start : places[best].start])
        start, first = places[best].end, best + 1
    return "\n".join([*lines, text[start:]])


def _nearest(places: list[_Place], indexes: range, target: float) -> int:
    """The index of the best place for a break near a column."""
    best, lowest = indexes[0], inf
    for i in indexes:
        distance = abs(places[i].column - target)
        if distance + places[i].cost < lowest:
            best, lowest = i, distance + places[i].cost
        if places[i].column > target and distance > lowest:
            break
    return best


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
    return next((name for name, own in _SCRIPTS.items() if own.match(character)), "")


def _width(character: str) -> int:
    """The columns of a character."""
    if _NO_WIDTH.match(character):
        return 0
    return 2 if _WIDE.match(character) else 1
