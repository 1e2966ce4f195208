"""A request's prefix and phrases, without the parts of a line that the model does not generate.

The spans, tags and layout of a line are kept. If a prefix or a phrase contains any of them, they
are removed or, within a prefix, replaced by the placeholder tokens that the model generates.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from yakusu.data.lines.layout import Layout, label_of
from yakusu.data.lines.private_use import PLACE, SLOTS
from yakusu.data.lines.spans import SpanFinder
from yakusu.data.lines.unseen import unseen
from yakusu.errors import DataError
from yakusu.translator.reading.passage import Passage, Segment
from yakusu.translator.reading.slots import places, restore, slots_of, to_places
from yakusu.translator.request import Request


def check_kept(request: Request) -> None:
    """Refuse a prefix and phrases that a line without text to translate does not contain.

    Raises:
        DataError: The line, which is its own translation, lacks one of them.
    """
    if not request.text.lstrip().startswith(request.prefix.strip()):
        raise DataError(
            "the line has no text to translate, so its translation cannot begin with "
            f"'{request.prefix}': remove the prefix"
        )
    if lacking := [phrase for phrase in request.include if phrase.strip() not in request.text]:
        raise DataError(
            "the line has no text to translate, so its translation cannot contain "
            f"'{lacking[0]}': remove the phrase"
        )


@dataclass(frozen=True)
class KeptText:
    """What a translation keeps of a line.

    Attributes:
        passage: The line; with a prefix, it is a single segment.
        finder: Finds protected spans.
        covers: Whether training has seen all characters of a source text.
    """

    passage: Passage
    finder: SpanFinder
    covers: Callable[[str], bool]

    def prefix(self, prefix: str) -> str:
        """Convert a prefix of the translation to one of the text that the model generates.

        Raises:
            DataError: The prefix has a different bullet from the line, or contains text that is
                kept elsewhere.
        """
        if not prefix.strip():
            return ""
        (segment,) = self.passage.segments
        prefix = self._without_layout(prefix.lstrip(), segment)
        spans = self.passage.spans
        for place in sorted(places(segment.text), key=lambda own: -len(spans[own])):
            prefix = prefix.replace(spans[place], place, 1)
        for part, whole in self._parts(prefix):
            if whole not in self._written(segment):
                raise DataError(
                    f"the prefix contains '{part}', which is inserted into the translation "
                    "after the search: remove it from the prefix"
                )
            if part != whole:
                raise DataError(
                    f"the prefix contains only a part of '{whole}', which is kept as a whole: "
                    "write all of it, or end the prefix before it"
                )
        slots = dict(zip(places(segment.text), slots_of(segment.text), strict=True))
        slotted = "".join(slots.get(character, character) for character in prefix)
        if to_places(slotted, segment.text) != prefix:
            raise DataError(
                f"the line has more than {len(SLOTS)} spans, which the prefix has in another "
                "order: end the prefix before them"
            )
        return slotted

    def _without_layout(self, prefix: str, segment: Segment) -> str:
        """Remove from a prefix what is kept in front of the segment."""
        kept = (self.passage.before + restore(segment.before, self.passage.spans)).lstrip()
        if prefix.startswith(kept):
            return prefix[len(kept) :]
        if kept.startswith(prefix.rstrip()):
            return ""
        # Before a lower-case word, a label is an ordinal, unless the line begins with a label, too.
        if own := Layout().read(prefix)[0] or (label_of(kept) and label_of(prefix)):
            raise DataError(
                f"the prefix begins with '{own.strip()}', but the line with '{kept.strip()}', "
                "which is kept: begin the prefix with the latter, or with the text after it"
            )
        return prefix

    def contains(self, phrase: str) -> bool:
        """Whether a phrase is part of what is kept.

        Raises:
            DataError: The phrase contains both text that is kept and other text.
        """
        for part, whole in self._parts(phrase):
            if phrase.strip() not in whole:
                raise DataError(
                    f"the phrase '{phrase}' contains '{part}', which every translation of the "
                    "line keeps: remove it from the phrase"
                )
            return True
        return False

    def _parts(self, text: str) -> Iterator[tuple[str, str]]:
        """The spans and unseen words of a text that are kept, each with the span it is part of."""
        kept = [*self.passage.spans.values(), *(tag.text for _, tag in self.passage.tags)]
        for piece in PLACE.split(text) if kept else ():
            words = (w for w in unseen(piece, self.covers) if any(map(str.isalnum, w.text)))
            for part in [span.text for span in (*self.finder.find(piece), *words)]:
                if wholes := [whole for whole in kept if part in whole]:
                    yield part, part if part in wholes else wholes[0]

    def _written(self, segment: Segment) -> list[str]:
        """The spans for which the model writes placeholder tokens."""
        return [self.passage.spans[place] for place in places(segment.text)]
