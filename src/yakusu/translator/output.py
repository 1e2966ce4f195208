"""The outputs of a model for the segments of a text, and the text that they make up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from heapq import nlargest
from operator import itemgetter

from yakusu.alignment import Link
from yakusu.data.placeholders import IS_SLOT, SLOTS
from yakusu.data.sentences import join
from yakusu.translator.details import Details, joined
from yakusu.translator.passage import PLACE, Passage, Segment
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


# ---- slots ---------------------------------------------------------------------------------------


def places(text: str) -> list[str]:
    """The places of a segment, in order."""
    return list(PLACE.findall(text))


def slots_of(text: str) -> list[str]:
    """The slot of each place of a segment, in order; from the eleventh on, they are used again."""
    return [SLOTS[i % len(SLOTS)] for i in range(len(places(text)))]


def to_slots(text: str) -> str:
    """Replace the places of a segment by slots, as the model reads it."""
    slots = iter(slots_of(text))
    return str(PLACE.sub(lambda match: next(slots), text))


def to_places(output: str, text: str) -> str:
    """Replace the slots of an output by the places of the segment, in order for each slot."""
    waiting: dict[str, list[str]] = {}
    for place, slot in zip(places(text), slots_of(text), strict=True):
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


def write(passages: Sequence[Passage], outputs: Iterator[Output], language: str) -> str:
    """The text of passages, given the output for each of their segments in order."""
    return "".join(_line(passage, outputs, language) for passage in passages)


def _line(passage: Passage, outputs: Iterator[Output], language: str) -> str:
    parts: list[tuple[str, str]] = []
    links: list[Link] = []
    n_source = n_target = 0
    for segment in passage.segments:
        output = next(outputs) if segment.text else Output("", 0.0, 0.0, 0)
        source = segment.before + segment.text + segment.after
        made = segment.before + _without_stop(output.text, segment, passage) + segment.after
        n_before = len(units(segment.before))
        links += [(n_source + n_before + i, n_target + n_before + j) for i, j in output.links]
        parts.append((made.rstrip(), made[len(made.rstrip()) :]))
        n_source, n_target = n_source + len(units(source)), n_target + len(units(made))
    text = join(parts, language)
    text = place_tags(text, passage.tags, passage.plain, links)
    return passage.before + restore(text, passage.spans) + passage.after


def _without_stop(text: str, segment: Segment, passage: Passage) -> str:
    """Drop the full stop of a translation before a mark of the source that ends the sentence."""
    end = passage.spans.get(segment.after[:1], "")
    stop = text[-1:]
    return text[:-1] if end[:1] in {*"!?.…"} and end and stop in {".", "。"} else text


def details_of_text(
    passages: Sequence[Passage], outputs: Iterator[Output], language: str
) -> Details | None:
    """The details of passages, given the output for each of their segments.

    None: no segment was translated, or details were not requested.
    """
    found = []
    source = target = ""
    for passage in passages:
        source, target = source + passage.before, target + passage.before
        for segment in passage.segments:
            output = next(outputs) if segment.text else None
            made = segment.before + (output.text if output else "") + segment.after
            source += segment.before + segment.text
            target = join([(target, ""), (made, "")], language) if target.strip() else target + made
            if output and output.details:
                n_source, n_target = (
                    len(text.split()) - len(own.split())
                    for text, own in ((source, segment.text), (target, output.text))
                )
                found.append((output.details, n_source, n_target))
            source += segment.after
        source, target = source + passage.after, target + passage.after
    return joined(found) if found else None
