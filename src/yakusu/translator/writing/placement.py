"""Puts spans and tags into a translation.

A unit is a word, a character of a script without spaces, or a punctuation mark. The attention of
the model links the units of a translation to those of the source (`links.py`).
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, zip_longest

import regex

from yakusu.alignment import Link
from yakusu.data.lines.private_use import BREAKS, PLACE
from yakusu.data.lines.spans import Span
from yakusu.data.lines.words import UNSPACED
from yakusu.translator.writing.tag_pairs import Links, TagPair

_UNIT = regex.compile(
    rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}_])+(?:['’-]\p{{L}}+)*|\S"
)
_BREAK = regex.compile(f"[{BREAKS}]")
_OPENING, _CLOSING = Span(0, 0, "", "opening"), Span(0, 0, "", "closing")
_BEFORE_SPACE, _AFTER_SPACE = ".,;:!?)]}", "([{"
_DOUBLE, _SINGLE = '"“”„‟«»「」『』', "'‘’‚‛‹›"
_ENCLOSING = regex.compile(rf"[\p{{Ps}}\p{{Pe}}{_DOUBLE}{_SINGLE}]")
_APART = regex.compile(rf"[.,;:!?\p{{Ps}}\p{{Pe}}{_DOUBLE}‹›‚]")  # not ', as {name}'s may become Ps
_WORD = regex.compile(rf"(?![{UNSPACED}])[\p{{L}}\p{{N}}]")


def units(text: str) -> list[tuple[int, int]]:
    """Where each unit of a text begins and ends."""
    return [match.span() for match in _UNIT.finditer(text)]


# ---- spans ---------------------------------------------------------------------------------------


def adjust_spaces(text: str, source: str) -> str:
    """Give each place of a translation the spaces that it has in the source.

    A space is added between a place and a word if the source ends there, or has a space,
    punctuation, a bracket or a quotation mark there, and between a place and punctuation if the
    source has a space there. If both texts have the same character next to a place, such as a
    bracket or a quotation mark, spaces are as in the source; quotation marks of different languages
    count as the same character.

    Args:
        text: A translation with places.
        source: The plain text of its source.
    """
    for place in PLACE.findall(source):
        before, _, after = source.partition(place)
        left, _, right = text.partition(place)
        # The right side is read backwards, so that both sides end at the place.
        left = _adjusted(left, before, _BEFORE_SPACE)
        right = _adjusted(right[::-1], after[::-1], _AFTER_SPACE)[::-1]
        text = left + place + right
    return text


def _adjusted(side: str, source: str, marks: str) -> str:
    """One side of a place, with the space at its end that it has in the source.

    Args:
        side: The text up to the place.
        source: The same side in the source.
        marks: Punctuation that, like words and other places, a space separates from a place.
    """
    end, in_source = side.rstrip()[-1:], source.rstrip()[-1:]
    both = _ENCLOSING.match(end) and _ENCLOSING.match(in_source)
    same = end == in_source or bool(both and _kind(end) == _kind(in_source))
    if source[-1:].isspace():
        touches = _WORD.match(end) or PLACE.match(end) or end in {*marks} or (both and same)
    else:
        if same and side.endswith(" "):
            return side.rstrip()
        touches = _WORD.match(end) or PLACE.match(end)
        touches = touches and (not in_source or _APART.match(in_source))
    return side + " " if touches and not side[-1:].isspace() else side


def _kind(mark: str) -> str:
    """The kind of a bracket or a quotation mark."""
    if mark in _DOUBLE or mark in _SINGLE:
        return _DOUBLE if mark in _DOUBLE else _SINGLE
    return unicodedata.category(mark)


# ---- tags ----------------------------------------------------------------------------------------


def place_tags(
    text: str,
    tags: Sequence[tuple[int, Span]],
    source: str,
    links: Sequence[Link],
    *,
    single: Collection[str] = (),
) -> str:
    """Put the tags of a source into its translation, each exactly once and nested.

    A tag stays on its side of each line break. No pair encloses a tag without a partner that is
    outside all pairs in the source, because its partner may be in another text.

    Args:
        text: The translation, with the same places as the source.
        tags: The tags of pairs and their positions in the source, in order. Pairs are nested; of
            some, one end may be missing, because it is in another text.
        source: The source without tags.
        links: Pairs (source unit, target unit).
        single: The places of tags without a partner.
    """
    if not tags:
        return text
    sources, texts = _BREAK.split(source), _BREAK.split(text)
    first_sources, first_targets = _first_units(sources), _first_units(texts)
    links_of: list[list[Link]] = [[] for _ in sources]
    for origin, target in links:
        line = bisect_right(first_sources, origin) - 1
        links_of[line].append((origin - first_sources[line], target - first_targets[line]))
    placed = partial(_placed, single=single)
    lines = map(placed, texts, _tags_of(sources, tags), sources, links_of)
    return "".join(chain.from_iterable(zip_longest(lines, _BREAK.findall(text), fillvalue="")))


def _first_units(lines: Sequence[str]) -> list[int]:
    """The number of the first unit of each line; a line break is a unit, too."""
    return list(accumulate((len(units(line)) + 1 for line in lines[:-1]), initial=0))


def _tags_of(
    lines: Sequence[str], tags: Sequence[tuple[int, Span]]
) -> Iterator[list[tuple[int, Span]]]:
    """The tags of each line; of a pair with line breaks inside, the other lines get empty tags.

    Pairs may begin before the first line and end after the last.
    """
    steps = (1 if tag.kind == "opening" else -1 for _, tag in tags)
    waiting, depth, start = deque(tags), -min(accumulate(steps, initial=0)), 0
    for line in lines:
        own = [(0, _OPENING)] * depth
        while waiting and waiting[0][0] <= start + len(line):
            position, tag = waiting.popleft()
            own.append((position - start, tag))
            depth += 1 if tag.kind == "opening" else -1
        yield [*own, *[(len(line), _CLOSING)] * depth]
        start += len(line) + 1


def _placed(
    text: str,
    tags: Sequence[tuple[int, Span]],
    source: str,
    links: Sequence[Link],
    *,
    single: Collection[str],
) -> str:
    """Put the tags of a line into its translation."""
    places = units(text)
    of_spans = _same(source, text)
    origins = {target: origin for origin, target in links} | of_spans
    inserted: list[tuple[int, str]] = []
    pairs = _pairs(tags, [start for start, _ in units(source)])
    starts = [*(start for start, _ in places), len(text)]
    inside = {i for pair in pairs for i in range(pair.first, pair.last)}
    outside = [
        j for j, i in of_spans.items() if text[slice(*places[j])] in single and i not in inside
    ]
    moved = Links(origins, of_spans, outside=outside).moved(pairs, 0, len(places))
    _put(moved, places, starts, inserted, low=0)
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


def _pairs(tags: Sequence[tuple[int, Span]], starts: Sequence[int]) -> list[TagPair]:
    """The outermost pairs of a source, whose units begin at `starts`."""
    outermost: list[TagPair] = []
    enclosing = [outermost]
    for position, tag in tags:
        n_before = bisect_left(starts, position)
        if tag.kind == "opening":
            enclosing[-1].append(TagPair(tag.text, "", n_before, n_before))
            enclosing.append(enclosing[-1][-1].inner)
        else:
            enclosing.pop()
            pair = enclosing[-1][-1]
            pair.closing, pair.last = tag.text, n_before
    return outermost


def _put(
    pairs: Sequence[TagPair],
    places: Sequence[tuple[int, int]],
    starts: Sequence[int],
    inserted: list[tuple[int, str]],
    *,
    low: int,
) -> None:
    """Collect the positions of tags in a text, in order; none is before `low`."""
    for pair in pairs:
        empty = pair.first == pair.last
        begin = starts[pair.first]
        if empty and pair.first:
            begin = max(low, places[pair.first - 1][1])
        end = begin if empty else places[pair.last - 1][1]
        inserted.append((begin, pair.opening))
        _put(pair.inner, places, starts, inserted, low=begin)
        inserted.append((end, pair.closing))
