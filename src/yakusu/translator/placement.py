"""Puts spans and tags into a translation.

A unit is a word, a character of a script without spaces, or a punctuation mark. Each unit j of the
translation is linked to a unit link(j) of the source by the attention of the model. A pair of tags
that encloses the source units E is put around the units a to b of the translation for which

    sum over j from a to b of (1 if link(j) is in E, else -1)

is largest, within the pair that encloses it and apart from other pairs, so that tags stay nested.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import regex

from yakusu.alignment import Link
from yakusu.data.spans import Span
from yakusu.data.words import UNSPACED
from yakusu.translator.passage import PLACE

_UNIT = regex.compile(
    rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}_])+(?:['’-]\p{{L}}+)*|\S"
)
_BEFORE_SPACE, _AFTER_SPACE = ".,;:!?)]}", "([{"
_WORD = regex.compile(rf"(?![{UNSPACED}])[\p{{L}}\p{{N}}]")


def units(text: str) -> list[tuple[int, int]]:
    """Where each unit of a text begins and ends."""
    return [match.span() for match in _UNIT.finditer(text)]


# ---- spans ---------------------------------------------------------------------------------------


def adjust_spaces(text: str, source: str) -> str:
    """Give each place of a translation the spaces that it has in the source.

    A space is added between a place and a word if the source has no letter or digit there, and
    between a place and punctuation if the source has a space there. A space is removed if the
    source has the same character at that side of the place without one.

    Args:
        text: A translation with places.
        source: The plain text of its source.
    """
    for place in PLACE.findall(source):
        before, _, after = source.partition(place)
        left, _, right = text.partition(place)
        if _needs_space(left[-1:], before[-1:], _BEFORE_SPACE):
            left += " "
        elif left.endswith(" ") and not before.endswith(" ") and left.rstrip()[-1:] == before[-1:]:
            left = left.rstrip()
        if _needs_space(right[:1], after[:1], _AFTER_SPACE):
            right = " " + right
        elif (
            right.startswith(" ") and not after.startswith(" ") and right.lstrip()[:1] == after[:1]
        ):
            right = right.lstrip()
        text = left + place + right
    return text


def _needs_space(neighbour: str, in_source: str, marks: str) -> bool:
    """Whether a character must not touch a place.

    Args:
        neighbour: The character in the translation.
        in_source: The character at that side of the place in the source; "" at an end.
        marks: Punctuation that a space separates from a place, as it does other places.
    """
    ends = not in_source or in_source.isspace() or in_source in ".,;:!?"
    separate = in_source.isspace() and (neighbour in {*marks} or PLACE.match(neighbour))
    return bool(separate or (ends and _WORD.match(neighbour)))


def restore(text: str, spans: Mapping[str, str]) -> str:
    """Replace places by their spans."""
    return str(PLACE.sub(lambda match: spans.get(match[0], match[0]), text))


# ---- tags ----------------------------------------------------------------------------------------


@dataclass
class _Pair:
    """A pair of tags around the units first to last - 1 of a text."""

    opening: str
    closing: str
    first: int
    last: int
    inner: list["_Pair"] = field(default_factory=list)


def place_tags(
    text: str, tags: Sequence[tuple[int, Span]], source: str, links: Sequence[Link]
) -> str:
    """Put the tags of a source into its translation, each exactly once and nested.

    Args:
        text: The translation.
        tags: The tags of pairs and their positions in the source, in order.
        source: The source without tags.
        links: Pairs (source unit, target unit).
    """
    if not tags:
        return text
    places = units(text)
    linked = {target: origin for origin, target in links} | _same(source, text)
    inserted: list[tuple[int, str]] = []
    pairs = _pairs(tags, [start for start, _ in units(source)])
    starts = [*(start for start, _ in places), len(text)]
    _put(_moved(pairs, linked, 0, len(places)), places, starts, inserted)
    pieces, end = [], 0
    for position, tag in inserted:
        pieces += [text[end:position], tag]
        end = position
    return "".join([*pieces, text[end:]])


def _same(source: str, text: str) -> dict[int, int]:
    """The unit of each place of a translation, and that of the same place in the source."""
    of_source = {source[start:end]: i for i, (start, end) in enumerate(units(source))}
    of_text = {text[start:end]: i for i, (start, end) in enumerate(units(text))}
    return {i: of_source[own] for own, i in of_text.items() if PLACE.match(own)}


def _pairs(tags: Sequence[tuple[int, Span]], starts: Sequence[int]) -> list[_Pair]:
    """The outermost pairs of a source, whose units begin at `starts`."""
    outermost: list[_Pair] = []
    enclosing = [outermost]
    for position, tag in tags:
        n_before = bisect_left(starts, position)
        if tag.kind == "opening":
            enclosing[-1].append(_Pair(tag.text, "", n_before, n_before))
            enclosing.append(enclosing[-1][-1].inner)
        else:
            enclosing.pop()
            pair = enclosing[-1][-1]
            pair.closing, pair.last = tag.text, n_before
    return outermost


def _moved(pairs: Sequence[_Pair], linked: Mapping[int, int], low: int, high: int) -> list[_Pair]:
    """The pairs around the units of the translation, within low to high - 1, in order."""
    free, moved = [(low, high)], []
    for pair in pairs:
        first, last = max(
            (_best(pair, linked, *window) for window in free),
            key=lambda found: _weight(pair, linked, *found),
        )
        inner = _moved(pair.inner, linked, first, last)
        moved.append(_Pair(pair.opening, pair.closing, first, last, inner))
        window = next(window for window in free if window[0] <= first and last <= window[1])
        at = free.index(window)
        free[at : at + 1] = [(window[0], first), (last, window[1])]
    return sorted(moved, key=lambda pair: (pair.first, pair.last))


def _weight(pair: _Pair, linked: Mapping[int, int], first: int, last: int) -> int:
    inside = sum(pair.first <= linked.get(j, -1) < pair.last for j in range(first, last))
    return 2 * inside - (last - first)


def _best(pair: _Pair, linked: Mapping[int, int], low: int, high: int) -> tuple[int, int]:
    """The units of a window with the largest weight (Kadane's algorithm).

    If no unit is linked to the pair, it is put around the unit with the nearest link, or around
    nothing if it encloses nothing in the source.
    """
    best, weight, start, current = None, 0, low, 0
    for j in range(low, high):
        current += 1 if pair.first <= linked.get(j, -1) < pair.last else -1
        if current > weight:
            best, weight = (start, j + 1), current
        if current <= 0:
            start, current = j + 1, 0
    if best:
        return best
    if pair.first < pair.last and low < high:  # a pair with text keeps some
        middle = (pair.first + pair.last - 1) / 2
        nearest = min(range(low, high), key=lambda j: abs(linked.get(j, math.inf) - middle))
        return nearest, nearest + 1
    before = [j for j in range(low, high) if linked.get(j, pair.first) < pair.first]
    place = before[-1] + 1 if before else low
    return place, place


def _put(
    pairs: Sequence[_Pair],
    places: Sequence[tuple[int, int]],
    starts: Sequence[int],
    inserted: list[tuple[int, str]],
) -> None:
    """Collect the positions of tags in a text, in order."""
    for pair in pairs:
        empty = pair.first == pair.last
        begin = starts[pair.first] if not empty or not pair.first else places[pair.first - 1][1]
        end = begin if empty else places[pair.last - 1][1]
        inserted.append((begin, pair.opening))
        _put(pair.inner, places, starts, inserted)
        inserted.append((end, pair.closing))
