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
from yakusu.translator.reading.passage import Passage
from yakusu.translator.reading.slots import places, slots_of
from yakusu.translator.writing.details import Details, with_spans
from yakusu.translator.writing.output import Output

_Words = dict[Hashable, list[int]]  # the words of each visible character of a line
_Ranked = tuple[int, Link]  # priority (0: highest), link


def details_of_text(
    lines: Sequence[tuple[Passage, Sequence[Output], str]],
) -> Details | None:
    """The details of a text; None: nothing was translated, or they were not requested.

    Args:
        lines: Each line, the outputs for its segments, and its translation in which spans and tags
            are private-use characters.
    """
    found = [
        _with_spans(output.details, text, passage.spans)
        for passage, outputs, _ in lines
        for text, output in zip(passage.texts, outputs, strict=True)
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


def _links(
    lines: Sequence[tuple[Passage, Sequence[Output], str]],
) -> Iterator[Link]:
    """The links of a text, one for each word of its translation that is not in a kept line."""
    n_source = n_target = 0
    for line in map(_LineWords, *zip(*lines, strict=True)):
        links: dict[int, int] = {}
        for _, (i, j) in sorted([*line.of_kept(), *line.of_model()]):
            links.setdefault(j, i)
        yield from sorted((n_source + i, n_target + j) for j, i in links.items())
        n_source += 1 + max((word for own in line.source.values() for word in own), default=-1)
        n_target += 1 + max((word for own in line.target.values() for word in own), default=-1)


class _LineWords:
    """The words of a line as given and as printed.

    Args:
        passage: The line.
        outputs: An output for each of its segments with text.
        masked: Its translation, in which spans and tags are private-use characters.

    Attributes:
        source: The words of the line as given.
        target: The words of the line as printed.
    """

    def __init__(self, passage: Passage, outputs: Sequence[Output], masked: str) -> None:
        self._passage, self._kept, waiting = passage, passage.kept, iter(outputs)
        self._outputs = [next(waiting) if s.text else None for s in passage.segments]
        texts = [segment.text for segment in passage.segments]
        made = [output.text if output else "" for output in self._outputs]
        self.source = self._words(passage.source, texts, {**self._kept, **passage.terms})
        self.target = self._words(masked, made, self._kept)

    def _words(self, masked: str, texts: Sequence[str], kept: Mapping[str, str]) -> _Words:
        """The words that each visible character of a masked line stands for.

        Spans and tags are keyed by themselves, the text of segments by the number of the segment
        and the position in it, and layout by its position, so what is kept has the same key on both
        sides.

        Args:
            masked: The masked line, on one side.
            texts: The text of each segment on that side.
            kept: The text of each private-use character on that side.
        """
        masked = self._passage.before + masked + self._passage.after
        restored = [kept.get(character, character) for character in masked]
        ends = [word.end() for word in re.finditer(r"\S+", "".join(restored))]
        keys, words = self._keys(texts), _Words()
        lengths = accumulate(map(len, restored))
        for end, character, text in zip(lengths, masked, restored, strict=True):
            if not character.isspace():
                first = end - len(text.lstrip())
                last = end - len(text) + len(text.rstrip()) - 1
                key = character if character in self._kept else next(keys)
                found = range(bisect_right(ends, first), bisect_right(ends, last) + 1)
                words[key] = [] if text.isspace() else list(found)
        return words

    def _keys(self, texts: Sequence[str]) -> Iterator[Hashable]:
        """The key of each visible character of the line, except spans and tags."""
        number = count()

        def layout(text: str) -> Iterator[int]:
            return (next(number) for character in _visible(text) if character not in self._kept)

        yield from layout(self._passage.before)
        for i, (segment, text) in enumerate(zip(self._passage.segments, texts, strict=True)):
            yield from layout(segment.before)
            yield from ((i, k) for k, c in enumerate(_visible(text)) if c not in self._kept)
            yield from layout(segment.after)
        yield from layout(self._passage.after)

    def of_kept(self) -> Iterator[_Ranked]:
        """The links of what is kept."""
        for key, words in self.target.items():
            text = self._passage.spans.get(key, "") if isinstance(key, str) else ""
            is_name = text[:1] != "<" and any(map(str.isalnum, text))
            if not isinstance(key, tuple):
                own = self.source[key]  # a term may have fewer words than its translation, or more
                for link in zip([*own, *own[-1:] * len(words)], words, strict=False):
                    yield (0 if is_name else 2), link

    def of_model(self) -> Iterator[_Ranked]:
        """The links of what the model has written, or of the segment in its place.

        Nothing is known of the words of a translation from a memory.
        """
        for number, (segment, output) in enumerate(
            zip(self._passage.segments, self._outputs, strict=True)
        ):
            if output is None or segment.known is not None:
                continue
            origins, results = _characters(segment.text), _characters(output.text)
            links = output.details.links if output.details else None
            if output.copied or links is None:
                links = tuple((i, i) for i in range(min(len(origins), len(results))))
            for i, j in links:
                # A word may become several, as in foo<a href="x">; its first letter counts.
                place, character = min(origins[i], key=lambda own: not own[1].isalnum())
                first = self.source[character if character in self._kept else (number, place)][:1]
                for place, character in results[j] if j < len(results) else ():  # without a stop
                    for link in product(first, self.target.get((number, place), ())):
                        yield (1 if character.isalnum() else 3), link


def _characters(text: str) -> list[list[tuple[int, str]]]:
    """The characters of each word of a text, with their positions among those of all words."""
    position = count()
    return [[(next(position), character) for character in word] for word in text.split()]


def _visible(text: str) -> str:
    return "".join(text.split())
