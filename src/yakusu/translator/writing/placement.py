"""Puts spans and tags into a translation.

A unit is a word, a number with its separators, a character of a script without spaces, or a
punctuation mark. The attention of the model links the units of a translation to those of the source
(`links.py`).
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise, zip_longest

from yakusu import lazy
from yakusu.alignment import Link
from yakusu.data.lines.private_use import BREAKS, PLACE
from yakusu.data.lines.spans import Span
from yakusu.data.lines.words import UNSPACED
from yakusu.translator.writing.gaps import Line, written
from yakusu.translator.writing.parts import Extent, divided
from yakusu.translator.writing.tag_pairs import Links, TagPair

# A place, a number, a character of a script without spaces, a word, any other character. One may
# have several code points; one that begins with a mark of category Prepend could contain a place.
_WORD_CHARACTER = rf"(?![{UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}\p{{Join_Control}}_]"
_UNIT = lazy.compile(
    rf"{PLACE.pattern}|(?<![\p{{L}}\p{{N}}])\d++(?:[.,:/'’\u00a0\u202f]\d++)++(?!{_WORD_CHARACTER})"
    rf"|(?=[{UNSPACED}])\X|(?:{_WORD_CHARACTER})+(?:['’-]\p{{L}}+)*"
    rf"|(?=\S)(?!\p{{GCB=Prepend}})\X|\S"
)
_BREAK = lazy.compile(f"[{BREAKS}]")
_OPENING, _CLOSING = Span(0, 0, "", "opening"), Span(0, 0, "", "closing")
_BEFORE_SPACE, _AFTER_SPACE = ".,;:!?)]}", "([{"
_DOUBLE, _SINGLE = '"“”„‟«»「」『』', "'‘’‚‛‹›"
_OPENS = lazy.compile(r"\p{Ps}")
_ENCLOSING = lazy.compile(rf"[\p{{Ps}}\p{{Pe}}{_DOUBLE}{_SINGLE}]")
_APART = lazy.compile(rf"[.,;:!?\p{{Ps}}\p{{Pe}}{_DOUBLE}‹›‚]")  # not ', as {name}'s may become Ps
_WORD = lazy.compile(rf"(?![{UNSPACED}])[\p{{L}}\p{{N}}]")
_WORD_OR_SYMBOL = lazy.compile(r"[^\p{P}\s]")
_PLAIN = lazy.compile(rf"(?!{PLACE.pattern})[^\p{{P}}\s]")


def units(text: str) -> list[Extent]:
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
    return "opening" if _OPENS.match(mark) else "closing"


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
    places = units(source), units(text)
    of_units = _same(source, text, places)
    n_source, n_target = map(len, places)
    inside_line = ((i, j) for i, j in links if 0 <= i < n_source and 0 <= j < n_target)
    origins = {target: origin for origin, target in inside_line} | of_units
    parts = divided(source, text, places, origins, _ends(tags))
    pairs = _pairs(tags, parts.sources, source)
    of_spans = _same(source, text, (parts.sources, parts.targets))
    inside = {i for pair in pairs for i in range(pair.first, pair.last)}
    outside = [
        j
        for j, i in of_spans.items()
        if text[slice(*parts.targets[j])] in single and i not in inside
    ]
    punctuation = {
        j for j, place in enumerate(parts.targets) if not _WORD_OR_SYMBOL.search(text, *place)
    }
    links_of = Links(parts.origins, of_spans, outside=outside, punctuation=punctuation)
    moved = links_of.moved(pairs, 0, len(parts.targets))
    translation, line = Line(text, parts.targets, moved), Line(source, parts.sources, pairs)
    return written(translation, line, _marked(tags, line), parts)


def _same(
    source: str, text: str, places: tuple[Sequence[Extent], Sequence[Extent]]
) -> dict[int, int]:
    """The unit of each place of a translation, and that of the same place in the source."""
    of_source = {source[slice(*own)]: i for i, own in enumerate(places[0])}
    of_text = {text[slice(*own)]: j for j, own in enumerate(places[1])}
    return {j: of_source[own] for own, j in of_text.items() if PLACE.match(own)}


def _ends(tags: Sequence[tuple[int, Span]]) -> list[Extent]:
    """Where each pair begins and ends, the outer before the inner."""
    found, waiting = list[Extent](), list[int]()
    for position, tag in tags:
        if tag.kind == "opening":
            waiting.append(len(found))
            found.append((position, position))
        else:
            at = waiting.pop()
            found[at] = found[at][0], position
    return found


def _pairs(
    tags: Sequence[tuple[int, Span]], places: Sequence[Extent], source: str
) -> list[TagPair]:
    """The outermost pairs of a source, given where each of its units begins and ends."""
    starts = [*(start for start, _ in places), len(source)]
    n_words, n_plain = (
        list(accumulate((bool(kind.search(source, *place)) for place in places), initial=0))
        for kind in (_WORD_OR_SYMBOL, _PLAIN)
    )  # before each unit
    outermost: list[TagPair] = []
    enclosing, opened = [outermost], list[int]()
    for index, (position, tag) in enumerate(tags):
        n_before = bisect_left(starts, position, hi=len(places))
        if tag.kind == "opening":
            opened.append(index)
            enclosing[-1].append(TagPair(tag.text, "", n_before, n_before))
            enclosing.append(enclosing[-1][-1].inner)
        else:
            enclosing.pop()
            pair, first = enclosing[-1][-1], opened.pop()
            pair.closing, pair.last = tag.text, n_before
            pair.has_words = n_words[pair.first] < n_words[pair.last]
            pair.needs_word = n_plain[pair.first] < n_plain[pair.last]
            if pair.first == pair.last:
                gap = places[n_before - 1][1] if n_before else 0, starts[n_before]
                _make_empty(pair, tags, (first, index), source, gap)
    return outermost


def _make_empty(
    pair: TagPair,
    tags: Sequence[tuple[int, Span]],
    ends: tuple[int, int],
    source: str,
    gap: tuple[int, int],
) -> None:
    """Add to a pair that encloses nothing its white space, and make the pairs inside a part of it.

    Args:
        pair: The pair.
        tags: All tags.
        ends: The numbers of its tags.
        source: The source.
        gap: Where the white space begins and ends in which the pair stands.
    """
    first, last = ends
    before = max(gap[0], tags[first - 1][0]) if first else gap[0]
    after = min(gap[1], tags[last + 1][0]) if last + 1 < len(tags) else gap[1]
    pair.spaces = source[before : tags[first][0]], source[tags[last][0] : after]
    if pair.opening and pair.closing:
        inside = pairwise(tags[first : last + 1])
        pair.opening = "".join(tag.text + source[p:q] for (p, tag), (q, _) in inside)
        pair.inner = []


def _marked(tags: Sequence[tuple[int, Span]], line: Line) -> list[str]:
    """Each gap of a source with its white space and its tags."""
    starts = [*(start for start, _ in line.places), len(line.text)]
    at = [0, *(end for _, end in line.places)]
    gaps: list[list[str]] = [[] for _ in starts]
    for position, tag in tags:
        number = bisect_left(starts, position, hi=len(line.places))
        gaps[number] += [line.text[at[number] : position], tag.text]
        at[number] = position
    rest = map(line.text.__getitem__, map(slice, at, starts))
    return ["".join([*gap, space]) for gap, space in zip(gaps, rest, strict=True)]
