"""The outputs of a model for the segments of a text, and the text that they make up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from heapq import nlargest
from itertools import count, cycle, islice
from operator import itemgetter

import regex

from yakusu.alignment import Link
from yakusu.data.lines.private_use import IS_SLOT, PLACE, SLOTS, firm_place
from yakusu.data.lines.sentences import continued, join, without_stop
from yakusu.data.lines.spans import has_end_of_pair
from yakusu.translator.details import Details
from yakusu.translator.passage import Passage, Segment
from yakusu.translator.placement import place_tags, restore, units


@dataclass(frozen=True)
class Output:
    """A translation of a segment.

    Attributes:
        text: The translation, with the places of its spans.
        score: log_prob / length penalty; -inf: not produced by the model.
        log_prob: In nats, including eos.
        n_tokens: Number of tokens, including eos.
        links: Pairs (source unit, target unit); (): not requested, or the model has no attention.
        details: If they were requested.
        is_source: The model generates no text, so the segment itself takes its place.
    """

    text: str
    score: float
    log_prob: float
    n_tokens: int
    links: tuple[Link, ...] = ()
    details: Details | None = None
    is_source: bool = False


# Marks that end a sentence, and that training has not seen.
_IS_STOP = regex.compile(r"[!?.…]|\p{Sentence_Terminal}|[❗❕❓❔‼⁉]")
_NOTHING = Output("", 0.0, 0.0, 0)

# ---- slots ---------------------------------------------------------------------------------------


def places(text: str) -> list[str]:
    """The places of a segment, in order."""
    return list(PLACE.findall(text))


def slots_of(text: str) -> list[str]:
    """The slot of each place of a segment, in order; from the eleventh on, they are used again."""
    return [SLOTS[i % len(SLOTS)] for i in range(len(places(text)))]


def to_slots(text: str) -> str:
    """Replace the places of a segment by slots, as the model reads it."""
    slots = cycle(SLOTS)
    return str(PLACE.sub(lambda match: next(slots), text))


def to_places(output: str, text: str) -> str:
    """Replace the slots of an output by the places of the segment, in order for each slot."""
    waiting: dict[str, list[str]] = {}
    for place, slot in zip(places(text), cycle(SLOTS), strict=False):
        waiting.setdefault(slot, []).append(place)
    return str(IS_SLOT.sub(lambda match: waiting[match[0]].pop(0), output))


_Scored = tuple[float, tuple[Output, ...]]


# ---- several segments ----------------------------------------------------------------------------


def combinations(
    found: Sequence[Sequence[Output]], n_best: int, *, sampled: bool
) -> list[tuple[Output, ...]]:
    """The best combinations of the outputs of several segments, by the sum of their scores.

    Args:
        found: The outputs of each segment, best first.
        n_best: Number of combinations.
        sampled: Whether the outputs are samples, which are combined one by one.
    """
    if sampled:  # a failed search has a single output
        n_samples = max(map(len, found), default=1)
        return [tuple(own[i % len(own)] for own in found) for i in range(n_samples)]

    def extended(best: list[_Scored], outputs: Sequence[Output]) -> list[_Scored]:
        both = [
            (score + output.score, (*chosen, output))
            for score, chosen in best
            for output in outputs
        ]
        return nlargest(n_best, both, key=itemgetter(0))

    start: list[_Scored] = [(0.0, ())]
    return [chosen for _, chosen in reduce(extended, found, start)]


@dataclass(frozen=True)
class Line:
    """A translated line.

    Attributes:
        passage: The line in the source.
        outputs: An output for each segment; an empty one for a segment without text.
        language: Code of the target language, "" if unknown.
    """

    passage: Passage
    outputs: Sequence[Output]
    language: str

    @property
    def text(self) -> str:
        """The translation."""
        return self.passage.before + restore(self.masked, self.kept) + self.passage.after

    @cached_property
    def tags(self) -> list[str]:
        """A private-use character for each tag."""
        unused = (c for c in map(firm_place, count()) if c not in self.passage.spans)
        return list(islice(unused, len(self.passage.tags)))

    @cached_property
    def kept(self) -> dict[str, str]:
        """The text of each private-use character, of spans and of tags."""
        texts = [tag.text for _, tag in self.passage.tags]
        return {**self.passage.spans, **dict(zip(self.tags, texts, strict=True))}

    @cached_property
    def masked(self) -> str:
        """The translation without its layout; spans and tags are private-use characters."""
        parts: list[tuple[str, str]] = []
        for segment, _, text in self.segments:
            made = segment.before + text + segment.after
            said, space = made.rstrip(), made[len(made.rstrip()) :]
            if parts and not said:
                said, space = parts[-1][0], parts.pop()[1] + space
            parts.append((said, space))
        joined = join(parts, self.language)
        if not self.passage.tags:
            return joined
        tags = [
            (position, replace(tag, text=own))
            for (position, tag), own in zip(self.passage.tags, self.tags, strict=True)
        ]
        single = [place for place, text in self.passage.spans.items() if has_end_of_pair(text)]
        return place_tags(joined, tags, self.passage.plain, self._links(), single=single)

    def _links(self) -> list[Link]:
        """The links between the units of the source and of the translation."""
        links: list[Link] = []
        n_source = n_target = 0
        for segment, output, text in self.segments:
            source = segment.before + segment.text + segment.after
            made = segment.before + text + segment.after
            n_before = len(units(segment.before))
            most = len(units(text))  # without a full stop of the output
            links += [
                (n_source + n_before + i, n_target + n_before + j)
                for i, j in output.links
                if j < most
            ]
            n_source, n_target = n_source + len(units(source)), n_target + len(units(made))
        return links

    @cached_property
    def segments(self) -> list[tuple[Segment, Output, str]]:
        """Each segment, its output and its translation, with the places of its spans."""
        return [
            (segment, output, self._text(segment, output))
            for segment, output in zip(self.passage.segments, self.outputs, strict=True)
        ]

    def _text(self, segment: Segment, output: Output) -> str:
        """The translation of a segment, which ends in a full stop only where the sentence does."""
        if output.is_source:
            return output.text
        if segment.continues:
            return continued(output.text, segment.text, self.language)
        mark = self.passage.spans.get(segment.after[:1], "")
        return without_stop(output.text, segment.text) if _IS_STOP.match(mark) else output.text


def lines_of(passages: Sequence[Passage], outputs: Iterator[Output], language: str) -> list[Line]:
    """The lines of a text, given the output for each segment with text, in order."""
    return [
        Line(passage, [next(outputs) if s.text else _NOTHING for s in passage.segments], language)
        for passage in passages
    ]
