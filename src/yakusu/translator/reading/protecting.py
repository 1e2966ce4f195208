"""A line in which parts of a segment are placeholders, for a second search.

It costs 1,000 yen.   ->   It costs P yen.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count, islice

from yakusu.data.lines.private_use import MAX_PLACES, firm_place
from yakusu.data.lines.spans import Span
from yakusu.translator.reading.passage import Passage, Segment


def protecting(
    passage: Passage, number: int, parts: Sequence[Span], written: Callable[[str], str] = str
) -> Passage | None:
    """The line with private-use characters in place of parts of a segment.

    Args:
        passage: The line.
        number: The number of the segment.
        parts: The parts, with their places in the text of the segment, in order.
        written: How a part is written in the translation.

    Returns:
        None: a part has a tag inside, or the line has too many spans.
    """
    segment, kept = passage.segments[number], {*passage.spans, *passage.marks}
    if len(kept) + len(parts) > MAX_PLACES:
        return None
    unused = (place for place in map(firm_place, count()) if place not in kept)
    places = list(islice(unused, len(parts)))
    in_line = _in_line(passage, number, parts)
    if any(span.start < position < span.end for position, _ in passage.tags for span in in_line):
        return None
    tags = (
        (position - sum(s.end - s.start - 1 for s in in_line if s.end <= position), tag)
        for position, tag in passage.tags
    )
    typed = [segment.given[part.start : part.end] for part in parts]
    text, given = (_replaced(own, parts, places) for own in (segment.text, segment.given))
    segments = list(passage.segments)
    segments[number] = replace(segment, text=text, given=given)
    return replace(
        passage,
        segments=tuple(segments),
        spans={**passage.spans, **dict(zip(places, map(written, typed), strict=True))},
        terms={**passage.terms, **dict(zip(places, typed, strict=True))},
        given=_replaced(passage.given, in_line, places),
        tags=tuple(tags),
        typed=_replaced(passage.typed, in_line, places) if passage.typed else "",
    )


def _in_line(passage: Passage, number: int, parts: Sequence[Span]) -> list[Span]:
    """The places of parts of a segment in the line, which has more white space around tags."""
    own = passage.segments[number]
    n_before = sum(map(_n_visible, passage.segments[:number])) + _visible(own.before)
    places = [i for i, character in enumerate(passage.given) if not character.isspace()]
    return [
        Span(
            places[n_before + _visible(own.given[: part.start])],
            places[n_before + _visible(own.given[: part.end]) - 1] + 1,
            part.text,
        )
        for part in parts
    ]


def _n_visible(segment: Segment) -> int:
    return sum(map(_visible, (segment.before, segment.given, segment.after)))


def _visible(text: str) -> int:
    """The number of characters without white space."""
    return len("".join(text.split()))


def _replaced(text: str, parts: Sequence[Span], places: Sequence[str]) -> str:
    pieces, end = list[str](), 0
    for part, place in zip(parts, places, strict=True):
        pieces += [text[end : part.start], place]
        end = part.end
    return "".join([*pieces, text[end:]])
