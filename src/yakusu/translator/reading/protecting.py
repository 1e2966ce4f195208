"""A line whose numbers are placeholders, for a second search.

    It costs 1,000 yen, or 2 million won.   ->   It costs P yen, or P million won.

A number that belongs to a word, as in COVID-19 and 3D, stays, unless it was missing: then the whole
word becomes a placeholder. So does a Roman numeral, but not the name of a month.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, count, islice
from operator import attrgetter

from yakusu import lazy
from yakusu.data.lines.private_use import MAX_PLACES, firm_place
from yakusu.data.lines.spans import Span, replaced
from yakusu.translator.reading.passage import Passage, Segment
from yakusu.translator.reading.slots import restore

_LETTER = r"[\p{Latin}\p{Cyrillic}\p{Greek}]"
_NUMBER = lazy.compile(r"\d+(?:[^\w\s]\d+|[\u00a0\u2009\u202f ]\d{3}(?!\d))*")
_AFTER_LETTER, _BEFORE_LETTER = lazy.compile(f"{_LETTER}-?"), lazy.compile(f"-?{_LETTER}")
_ROMAN = lazy.compile("[IVXLCDM]+")
_IN_WORD = lazy.compile(rf"{_LETTER}|[\d-]")


def numbers_in(text: str, missing: Sequence[Span]) -> tuple[list[Span], bool]:
    """The numbers of a text that can be placeholders.

    Args:
        text: A segment as it was given.
        missing: What its translation lacks.

    Returns:
        The numbers, and whether they have all digits of the text.
    """
    parts, are_all, last = list[Span](), True, 0
    for number in _NUMBER.finditer(text):
        start, end = number.span()
        if start < last:
            continue
        if _belongs_to_word(text, start, end):
            if not any(start < each.end and each.start < end for each in missing):
                are_all = False
                continue
            start, end = _word_around(text, start, end, last)
        if start > last and any(each.start == start - 1 for each in missing):
            start -= 1  # its sign
        parts.append(Span(start, end, text[start:end]))
        last = end
    roman = (span for span in missing if _ROMAN.fullmatch(span.text))
    return sorted((*parts, *roman), key=attrgetter("start")), are_all


def _belongs_to_word(text: str, start: int, end: int) -> bool:
    """Whether letters of a script with spaces, or a hyphen and a letter, stand beside a number."""
    before = _AFTER_LETTER.fullmatch(text, max(0, start - 1), start)
    before = before or _AFTER_LETTER.fullmatch(text, max(0, start - 2), start)
    return bool(before or _BEFORE_LETTER.match(text, end))


def _word_around(text: str, start: int, end: int, first: int) -> tuple[int, int]:
    """Where the word of a number begins, not before `first`, and ends."""
    while start > first and _IN_WORD.match(text[start - 1]):
        start -= 1
    while end < len(text) and _IN_WORD.match(text[end]):
        end += 1
    return start, end


def protecting(
    passage: Passage, parts: Mapping[int, Sequence[Span]], written: Callable[[str], str] = str
) -> Passage:
    """The line with private-use characters in place of parts of segments.

    A segment stays as it is if one of its parts has a tag inside, or the line has too many spans.

    Args:
        passage: The line.
        parts: The parts of each segment, by its number, with their places in its text, in order.
        written: How a part is written in the translation.
    """
    kept = {*passage.spans, *passage.marks}
    if len(kept) + sum(map(len, parts.values())) > MAX_PLACES:
        return passage
    unused = (place for place in map(firm_place, count()) if place not in kept)
    positions = {position for position, _ in passage.tags}
    segments, in_line, places = list(passage.segments), list[Span](), list[str]()
    for number, own in _in_line(passage, parts).items():
        if any(positions.intersection(range(span.start + 1, span.end)) for span in own):
            continue
        new = list(islice(unused, len(own)))
        segments[number] = _with_places(segments[number], parts[number], new)
        in_line += own
        places += new
    typed = [restore(span.text, passage.spans) for span in in_line]  # 3/4 has an unseen sign
    return replace(
        passage,
        segments=tuple(segments),
        spans={**passage.spans, **dict(zip(places, map(written, typed), strict=True))},
        terms={**passage.terms, **dict(zip(places, typed, strict=True))},
        given=replaced(passage.given, in_line, places),
        tags=tuple(_moved(passage.tags, in_line)),
        typed=replaced(passage.typed, in_line, places) if passage.typed else "",
    )


def _with_places(segment: Segment, parts: Sequence[Span], places: Sequence[str]) -> Segment:
    text, given = (replaced(own, parts, places) for own in (segment.text, segment.given))
    return replace(segment, text=text, given=given)


def _in_line(passage: Passage, parts: Mapping[int, Sequence[Span]]) -> dict[int, list[Span]]:
    """The places of parts of segments in the line, which has more white space around tags."""
    places = [i for i, character in enumerate(passage.given) if not character.isspace()]
    found, n_before = dict[int, list[Span]](), 0
    for number, segment in enumerate(passage.segments):
        visible = [*accumulate(map(_is_visible, segment.given), initial=0)]
        n_before += sum(map(_is_visible, segment.before))
        if number in parts:
            found[number] = [
                Span(
                    places[n_before + visible[part.start]],
                    places[n_before + visible[part.end] - 1] + 1,
                    segment.given[part.start : part.end],
                )
                for part in parts[number]
            ]
        n_before += visible[-1] + sum(map(_is_visible, segment.after))
    return found


def _is_visible(character: str) -> bool:
    return not character.isspace()


def _moved(tags: Sequence[tuple[int, Span]], parts: Sequence[Span]) -> Iterator[tuple[int, Span]]:
    """The tags of a line in which each part has become one character."""
    waiting, shorter = deque(parts), 0
    for position, tag in tags:
        while waiting and waiting[0].end <= position:
            part = waiting.popleft()
            shorter += part.end - part.start - 1
        yield position - shorter, tag
