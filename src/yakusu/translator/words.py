"""Details of a text from those of its segments: tokens, and links between its words.

A model links the words of a segment, in which spans are private-use characters and tags are
missing. The visible characters of the masked line map these words to those of the line as given and
as printed:

    source   <b>Anna</b>  calls   {name}.        translation   {name}   ruft   <b>Anna</b>  an.
    masked   OAnnaC       calls   P.             masked        P        ruft   OAnnaC       an.
    words    0            1       2              words         0        1      2            3

A word of the translation is linked by the first of these parts that it contains: a span with
letters or digits, text that the model has linked, anything else that is kept, such as a tag.
"""

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, count, product

from yakusu.alignment import Link
from yakusu.translator.details import Details, with_spans
from yakusu.translator.output import Line, places, slots_of

_Words = dict[Hashable, list[int]]  # the words of each visible character of a line
_Ranked = tuple[int, Link]  # priority (0: highest), link


def details_of_text(lines: Sequence[Line]) -> Details | None:
    """The details of a text; None: nothing was translated, or they were not requested."""
    found = [
        _with_spans(output.details, segment.text, line.passage.spans)
        for line in lines
        for segment, output, _ in line.segments
        if output.details
    ]
    if not found:
        return None
    aligned = all(own.links is not None for own in found)
    return Details(
        tuple(token for own in found for token in own.tokens),
        tuple(log_prob for own in found for log_prob in own.token_log_probs),
        tuple(best for own in found for best in own.alternatives),
        tuple(_links(lines)) if aligned else None,
    )


# ---- tokens --------------------------------------------------------------------------------------


def _with_spans(details: Details, text: str, spans: Mapping[str, str]) -> Details:
    """Show the text of the spans of a segment in place of its placeholder tokens."""
    texts = (spans[place] for place in places(text))
    slots = zip(slots_of(text), texts, strict=True)
    tokens, alternatives = with_spans(details.tokens, details.alternatives, slots)
    return replace(details, tokens=tokens, alternatives=alternatives)


# ---- links ---------------------------------------------------------------------------------------


def _links(lines: Sequence[Line]) -> Iterator[Link]:
    """The links of a text, one for each word of its translation that is not in a kept line."""
    n_source = n_target = 0
    for line in lines:
        source, target = _source(line), _target(line)
        links: dict[int, int] = {}
        for _, (i, j) in sorted([*_kept(line, source, target), *_made(line, source, target)]):
            links.setdefault(j, i)
        yield from sorted((n_source + i, n_target + j) for j, i in links.items())
        n_source += 1 + max((word for own in source.values() for word in own), default=-1)
        n_target += 1 + max((word for own in target.values() for word in own), default=-1)


def _source(line: Line) -> _Words:
    """The words of the line as given."""
    masked, end = "", 0
    plain, tags = line.passage.plain, zip(line.passage.tags, line.tags, strict=True)
    for (position, _), tag in tags:
        masked, end = masked + plain[end:position] + tag, position
    texts = [part.text for part in line.passage.segments]
    return _words(line, masked + plain[end:], texts, {**line.kept, **line.passage.terms})


def _target(line: Line) -> _Words:
    """The words of the line as printed."""
    return _words(line, line.masked, [text for *_, text in line.segments], line.kept)


def _words(line: Line, masked: str, texts: Sequence[str], kept: Mapping[str, str]) -> _Words:
    """The words that each visible character of a masked line stands for.

    Spans and tags are keyed by themselves, the text of segments by the number of the segment and
    the position in it, and layout by its position, so what is kept has the same key on both sides.

    Args:
        line: The line.
        masked: Its masked text, on one side.
        texts: The text of each segment on that side.
        kept: The text of each private-use character on that side.
    """
    masked = line.passage.before + masked + line.passage.after
    restored = [kept.get(character, character) for character in masked]
    ends = [word.end() for word in re.finditer(r"\S+", "".join(restored))]
    keys, words = _keys(line, texts), _Words()
    for end, character, text in zip(accumulate(map(len, restored)), masked, restored, strict=True):
        if not character.isspace():
            first = end - len(text.lstrip())
            last = end - len(text) + len(text.rstrip()) - 1
            key = character if character in line.kept else next(keys)
            found = range(bisect_right(ends, first), bisect_right(ends, last) + 1)
            words[key] = [] if text.isspace() else list(found)
    return words


def _keys(line: Line, texts: Sequence[str]) -> Iterator[Hashable]:
    """The key of each visible character of a line, except spans and tags."""
    number = count()

    def layout(text: str) -> Iterator[int]:
        return (next(number) for character in _visible(text) if character not in line.kept)

    yield from layout(line.passage.before)
    for i, (segment, text) in enumerate(zip(line.passage.segments, texts, strict=True)):
        yield from layout(segment.before)
        yield from ((i, k) for k, c in enumerate(_visible(text)) if c not in line.kept)
        yield from layout(segment.after)
    yield from layout(line.passage.after)


def _kept(line: Line, source: _Words, target: _Words) -> Iterator[_Ranked]:
    """The links of what is kept."""
    for key, words in target.items():
        text = line.passage.spans.get(key, "") if isinstance(key, str) else ""
        is_name = text[:1] != "<" and any(map(str.isalnum, text))
        if not isinstance(key, tuple):
            own = source[key]  # a term may have fewer words than its translation, or more
            for link in zip([*own, *own[-1:] * len(words)], words, strict=False):
                yield (0 if is_name else 2), link


def _made(line: Line, source: _Words, target: _Words) -> Iterator[_Ranked]:
    """The links of what the model has written, or of the segment in its place."""
    for number, (segment, output, _) in enumerate(line.segments):
        origins, results = _characters(segment.text), _characters(output.text)
        links = output.details.links if output.details else None
        if output.is_source or links is None:
            links = tuple((i, i) for i in range(len(results)))
        for i, j in links:
            # A word may become several, as in foo<a href="x">; its first letter counts.
            place, character = min(origins[i], key=lambda own: not own[1].isalnum())
            first = source[character if character in line.kept else (number, place)][:1]
            for place, character in results[j]:
                for link in product(first, target.get((number, place), ())):
                    yield (1 if character.isalnum() else 3), link


def _characters(text: str) -> list[list[tuple[int, str]]]:
    """The characters of each word of a text, with their positions among those of all words."""
    position = count()
    return [[(next(position), character) for character in word] for word in text.split()]


def _visible(text: str) -> str:
    return "".join(text.split())
