"""What stands between the units of a line: white space and tags.

    source    Press <b>Start</b> <i></i> now
    units     "Press", "Start", "now"
    gaps      "", " <b>", "</b> <i></i> ", ""

Between unchanged units that are neighbours in the source, too, a gap with the same tags is written
as in the source. In other gaps, white space stands between the tags that end pairs and those that
begin pairs, and a pair that encloses nothing has the same white space around it as in the source.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import regex

from yakusu.translator.writing.parts import Extent, Parts
from yakusu.translator.writing.tag_pairs import TagPair

_PUNCTUATION = regex.compile(r"\p{P}+")


@dataclass(frozen=True)
class _Tag:
    """A tag in a gap, or a pair that encloses nothing with all tags in it.

    Attributes:
        kind: What it is.
        text: Its text.
        spaces: Of an empty pair: the white space before and after it in the source.
    """

    kind: Literal["opening", "closing", "empty"]
    text: str
    spaces: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Line:
    """A line of a source or a translation, and the pairs of tags in it.

    Attributes:
        text: The line without tags.
        places: Where each of its units begins and ends.
        pairs: The outermost pairs, in order.
    """

    text: str
    places: Sequence[Extent]
    pairs: Sequence[TagPair]

    def gap(self, number: int) -> str:
        """The white space before a unit, or at the end of the line."""
        start = self.places[number - 1][1] if number else 0
        end = self.places[number][0] if number < len(self.places) else len(self.text)
        return self.text[start:end]

    def unit(self, number: int) -> str:
        """The text of a unit; "" before the first and after the last."""
        return self.text[slice(*self.places[number])] if 0 <= number < len(self.places) else ""

    def tags(self) -> list[list[_Tag]]:
        """The tags in each gap."""
        tags: list[list[_Tag]] = [[] for _ in range(len(self.places) + 1)]
        for number, tag in chain.from_iterable(map(_tags_of, self.pairs)):
            if tag.text:
                tags[number].append(tag)
        return tags


def _tags_of(pair: TagPair) -> Iterator[tuple[int, _Tag]]:
    """The tags of a pair and of those inside, with the number of the gap of each."""
    if pair.first == pair.last:
        yield pair.first, _Tag("empty", _text_of(pair), pair.spaces)
        return
    yield pair.first, _Tag("opening", pair.opening)
    for inner in pair.inner:
        yield from _tags_of(inner)
    yield pair.last, _Tag("closing", pair.closing)


def _text_of(pair: TagPair) -> str:
    """The tags of a pair that encloses nothing."""
    return pair.opening + "".join(map(_text_of, pair.inner)) + pair.closing


def written(translation: Line, source: Line, marked: Sequence[str], parts: Parts) -> str:
    """The text of a translation with its tags.

    Args:
        translation: The translation.
        source: The source.
        marked: Each gap of the source, with its white space and its tags.
        parts: The links between the units of both.
    """
    tags, tags_of_source = translation.tags(), source.tags()
    pieces = list[str]()
    for number, own in enumerate(tags):
        space = translation.gap(number)
        if own:
            same = _gap_of_source(number, translation, source, parts)
            if same is None or own != tags_of_source[same]:
                space = _tidy(own, space, translation, number)
            elif bool(space) == bool(source.gap(same)) or any(tag.kind == "empty" for tag in own):
                space = marked[same]
            else:
                space = _tidy(own, space, translation, number)
        pieces += [space, translation.unit(number)]
    return "".join(pieces)


def _gap_of_source(number: int, translation: Line, source: Line, parts: Parts) -> int | None:
    """The gap of the source between the same units; None: not between neighbours, or changed."""
    origins, n_source = parts.origins, len(source.places)
    before = origins.get(number - 1, n_source) if number else -1
    after = origins.get(number, -1) if number < len(translation.places) else n_source
    is_same = source.unit(before) == translation.unit(number - 1)
    is_same = is_same and source.unit(after) == translation.unit(number)
    return after if is_same and before + 1 == after else None


def _tidy(tags: Sequence[_Tag], space: str, translation: Line, number: int) -> str:
    """A gap with tags that are in other places than in the source.

    Args:
        tags: The tags.
        space: The white space.
        translation: The translation.
        number: The number of the gap.
    """
    kinds = [tag.kind for tag in tags]
    end = len(kinds) - kinds[::-1].index("closing") if "closing" in kinds else 0
    begin = kinds.index("opening", end) if "opening" in kinds[end:] else len(kinds)
    ending, apart, beginning = tags[:end], tags[end:begin], tags[begin:]
    pieces, last = list[str](), ""
    for i, tag in enumerate(apart):
        before, after = tag.spaces
        if not i and not number:
            before = ""
        pieces += [before or last, tag.text]
        last = after
    following = translation.unit(number)
    if space or (following and not _PUNCTUATION.fullmatch(following)):
        pieces.append(last)
    between = "".join(pieces)
    if space and not any(map(str.isspace, pieces)):
        between += space
    return "".join(
        (
            *(tag.spaces[0] + tag.text for tag in ending),
            between,
            *(tag.text + tag.spaces[1] for tag in beginning),
        )
    )
