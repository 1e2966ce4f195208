"""The outputs of a model for the segments of a text, and the lines that they make up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING

from yakusu import lazy
from yakusu.data.lines.sentences import continued, join, without_stop
from yakusu.data.lines.spans import has_end_of_pair
from yakusu.translator.quality import Quality
from yakusu.translator.reading.passage import Passage, Segment
from yakusu.translator.writing.typed import as_spaced

if TYPE_CHECKING:
    from yakusu.alignment import Link
    from yakusu.translator.writing.details import Details


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
        copied: The model generates no text, so the segment as given takes its place.
        quality: The estimated quality; None: unknown.
    """

    text: str
    score: float
    log_prob: float
    n_tokens: int
    links: "tuple[Link, ...]" = ()
    details: "Details | None" = None
    copied: bool = False
    quality: Quality | None = None


# Marks that end a sentence, and that training has not seen.
_IS_STOP = lazy.compile(r"[!?.…]|\p{Sentence_Terminal}|[❗❕❓❔‼⁉]")
_Chosen = tuple["_Chosen", Output] | None  # the outputs of the segments before, and one more
_Scored = tuple[float, _Chosen]

# ---- segments ------------------------------------------------------------------------------------


def ended(text: str, segment: Segment, passage: Passage, language: str) -> str:
    """The translation of a segment, which ends in a full stop only where the sentence does.

    Args:
        text: What the model has written, with the places of its spans.
        segment: The segment.
        passage: Its line.
        language: Code of the target language, "" if unknown.
    """
    if segment.continues:
        return continued(text, segment.text, language)
    mark = passage.spans.get(segment.after[:1], "")
    return without_stop(text, segment.text) if _IS_STOP.match(mark) else text


def candidates(outputs: Sequence[Output]) -> Sequence[Output]:
    """The outputs of a search, without those that are copied; only the first if it is copied."""
    if outputs[0].copied:
        return outputs[:1]
    return [output for output in outputs if not output.copied]


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

    best: list[_Scored] = [(0.0, None)]
    for outputs in found:
        both: list[_Scored] = [
            (score + output.score, (chosen, output)) for score, chosen in best for output in outputs
        ]
        best = nlargest(n_best, both, key=itemgetter(0)) if len(both) > 1 else both
    return [tuple(reversed([*_unlinked(chosen)])) for _, chosen in best]


def _unlinked(chosen: _Chosen) -> Iterator[Output]:
    """The outputs of a combination, last first."""
    while chosen:
        chosen, output = chosen
        yield output


# ---- lines ---------------------------------------------------------------------------------------


def masked(passage: Passage, outputs: Sequence[Output], language: str) -> str:
    """The translation of a line without its layout; spans and tags are private-use characters.

    Args:
        passage: The line.
        outputs: An output for each of its segments with text, in order.
        language: Code of the target language, "" if unknown.
    """
    if outputs and all(output.copied for output in outputs):
        return passage.source
    parts: list[tuple[str, str]] = []
    for text in _texts(passage, outputs):
        said, space = text.rstrip(), text[len(text.rstrip()) :]
        if parts and not said:
            said, space = parts[-1][0], parts.pop()[1] + space
        parts.append((said, space))
    joined = join(parts, language) if len(parts) > 1 else "".join(map("".join, parts))
    joined = as_spaced(joined, passage.given)
    if not passage.tags:
        return joined
    from yakusu.translator.writing.placement import place_tags

    tags = [
        (position, replace(tag, text=mark))
        for (position, tag), mark in zip(passage.tags, passage.marks, strict=True)
    ]
    single = [place for place, text in passage.spans.items() if has_end_of_pair(text)]
    links = list(_links(passage, outputs))
    return place_tags(joined, tags, passage.given, links, single=single)


def _texts(passage: Passage, outputs: Sequence[Output]) -> Iterator[str]:
    """The translation of each segment, with what is around it."""
    waiting = iter(outputs)
    for segment in passage.segments:
        yield segment.before + (next(waiting).text if segment.text else "") + segment.after


def _links(passage: Passage, outputs: Sequence[Output]) -> "Iterator[Link]":
    """The links between the units of a line and of its translation.

    What is kept is linked to itself, and so are the units of a segment that is its own translation.
    """
    from yakusu.translator.writing.placement import units

    n_source = n_target = 0
    waiting = iter(outputs)
    for segment in passage.segments:
        before, after = len(units(segment.before)), len(units(segment.after))
        yield from ((n_source + k, n_target + k) for k in range(before))
        n_source, n_target = n_source + before, n_target + before
        if segment.text:
            output = next(waiting)
            own, most = len(units(segment.text)), len(units(output.text))
            is_copy = output.copied or output.text.split() == segment.text.split()
            # Without the links to a full stop that the model has written, and that is removed.
            links = ((k, k) for k in range(own)) if is_copy else output.links
            yield from ((n_source + i, n_target + j) for i, j in links if j < most)
            n_source, n_target = n_source + own, n_target + most
        yield from ((n_source + k, n_target + k) for k in range(after))
        n_source, n_target = n_source + after, n_target + after
