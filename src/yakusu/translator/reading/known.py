"""Sentences of a line whose translations are known.

- Save the file. Close it.    ->    segments "Save the file." (known), "Close it."
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from yakusu.data.lines.spans import has_end_of_pair
from yakusu.data.lines.words import has_letter
from yakusu.translator.reading.passage import Passage, Segment
from yakusu.translator.reading.slots import places, restore


class TranslationOf(Protocol):
    """Finds the translation of a sentence; None: it is not known."""

    def __call__(self, sentence: str, *, has_tags: bool) -> str | None:
        """Find it.

        Args:
            sentence: The sentence without its tags.
            has_tags: Whether tags are left out, so that the model has to place them.
        """


def with_known(passage: Passage, translation_of: TranslationOf) -> Passage:
    """The line with the translations of its sentences that are known."""
    segments, end = list[Segment](), 0
    tags = [_n_visible(passage.given[:position]) for position, _ in passage.tags]
    for sentence in _sentences(passage.segments):
        given = "".join(s.before + s.given + s.after for s in sentence)
        start, end = end, end + _n_visible(given)
        text = given.strip()
        source = restore(text, passage.given_texts)
        if has_letter(source):
            has_tags = any(start < place < end for place in tags) or any(
                has_end_of_pair(passage.spans.get(place, "")) for place in places(given)
            )
            target = translation_of(source, has_tags=has_tags)
            if target is not None:
                before, _, after = given.partition(text)
                sentence = [Segment(before, text, after, given=text, checked=False, known=target)]
        segments += sentence
    return replace(passage, segments=tuple(segments))


def _n_visible(text: str) -> int:
    """The number of characters that are not white space, which is not the same around tags."""
    return sum(map(len, text.split()))


def _sentences(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """The segments of each sentence; a long one has several."""
    sentence = list[Segment]()
    for segment in segments:
        sentence.append(segment)
        if not segment.continues:
            yield sentence
            sentence = []
    if sentence:
        yield sentence
