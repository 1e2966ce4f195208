"""Write: the hypotheses of the search become the translations of texts.

Hypothesis (ids) -> Output (the text of a segment) -> Translation (of all lines)
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import attrgetter
from typing import TYPE_CHECKING

from yakusu.data.lines.casing import capitals
from yakusu.data.lines.private_use import MARKS, PLACE, SLOTS
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Decoder, Query
from yakusu.search.hypothesis import Hypothesis
from yakusu.tasks.task import Task
from yakusu.translator.quality import Calibration
from yakusu.translator.reading.passage import Passage, Segment
from yakusu.translator.reading.planner import TextPlan
from yakusu.translator.reading.slots import places, restore, to_places, to_slots
from yakusu.translator.tally import Tally
from yakusu.translator.writing.output import (
    Output,
    candidates,
    combinations,
    ended,
    masked,
)
from yakusu.translator.writing.translation import Translation
from yakusu.translator.writing.typed import as_typed

if TYPE_CHECKING:
    from yakusu.alignment import Link
    from yakusu.search.trace import Trace
    from yakusu.translator.writing.details import Details
    from yakusu.translator.writing.links import Translated

Candidate = tuple[Hypothesis, str]  # a translation of a segment, and its text
_Made = tuple[Passage, Segment, Query, Hypothesis, str]


class Writer:
    """Writes translations with a model's tokenizer, and with its attention where tags are placed.

    Args:
        decoder: The model, or an ensemble.
        tokenizer: The tokenizer that it was trained with.
        task: Its task.
        language: Code of the target language, "" if unknown.
        calibration: What the quality is estimated with; None: it is not estimated.
    """

    def __init__(
        self,
        decoder: Decoder,
        tokenizer: Tokenizer,
        *,
        task: Task,
        language: str,
        calibration: Calibration | None = None,
    ) -> None:
        self._decoder, self._tokenizer = decoder, tokenizer
        self._task, self._language, self._calibration = task, language, calibration

    def candidates(
        self,
        passages: Sequence[Passage],
        queries: Sequence[Query],
        found: Iterator[Sequence[Hypothesis]],
    ) -> list[list[Candidate]]:
        """The text of each hypothesis for the segments of a text.

        Args:
            passages: The lines of the text.
            queries: The queries of their segments.
            found: The next hypotheses of the search, for each query that has more than eos.
        """
        return [
            [(h, self.text_of(segment, h.tokens)) for h in next(found)]
            if len(query.source) > 1
            else []
            for (_, segment), query in zip(_segments(passages), queries, strict=True)
        ]

    def write(
        self,
        plans: Sequence[TextPlan],
        found: Sequence[Sequence[Sequence[Candidate]]],
        search: SearchConfig,
        tally: Tally,
        *,
        details: bool,
        batch: int,
    ) -> Iterator[list[Translation]]:
        """The best translations of each text, best first.

        Args:
            plans: The lines of the texts, and the queries of their segments.
            found: The candidates for each query of each text; none: the segment is kept.
            search: The settings of the search.
            tally: Counts to which those of segments without translation and of terms are added.
            details: Whether the translations have details.
            batch: Maximum number of segments that are aligned or scored together.
        """
        segments = [s for lines, _ in plans for line in lines for s in line.segments if s.text]
        outputs = zip(segments, self._every(plans, found, details, batch), strict=True)
        sampled = search.sampling is not None
        for passages, queries in plans:
            best = []
            for segment, own in islice(outputs, len(queries)):
                is_kept = bool(segment.difference or segment.doubted)
                tally.untranslated += own[0].copied and not is_kept
                tally.differing += segment.difference is not None
                tally.doubted += bool(segment.doubted)
                tally.terms += 0 if own[0].copied else len(segment.terms)
                best.append(own if sampled else candidates(own))
            traces = self._traces(passages, queries)
            yield [
                self._translation(passages, chosen, traces)
                for chosen in combinations(best, search.n_best, sampled=sampled)
            ]

    def _traces(self, passages: Sequence[Passage], queries: Sequence[Query]) -> "tuple[Trace, ...]":
        """The traces of the searches for a text; (): none was requested."""
        if not queries or queries[0].trace is None:
            return ()
        from yakusu.translator.writing.traces import traces_of

        return traces_of(passages, queries, self._tokenizer)

    # ---- segments ------------------------------------------------------------------------------

    def _every(
        self,
        plans: Sequence[TextPlan],
        found: Sequence[Sequence[Sequence[Candidate]]],
        details: bool,
        batch: int,
    ) -> Iterator[list[Output]]:
        """The outputs for each segment."""
        parts = [
            (line, segment, query)
            for lines, queries in plans
            for (line, segment), query in zip(_segments(lines), queries, strict=True)
        ]
        best = list(chain.from_iterable(found))
        made = [(*part, *each) for part, own in zip(parts, best, strict=True) for each in own]
        every = iter(self._outputs(made, details=details, batch=batch))
        for (_, segment, _), own in zip(parts, best, strict=True):
            yield list(islice(every, len(own))) or [self._without_model(segment)]

    def _without_model(self, segment: Segment) -> Output:
        """The output for a segment that is not passed to the model."""
        if segment.known is not None:
            n, m = _n_units(segment.text), _n_units(segment.known)
            links = {(i, i * m // n) for i in range(n)} | {(j * n // m, j) for j in range(m)}
            return Output(segment.known, 0.0, 0.0, 0, tuple(sorted(links)))  # for tags around it
        text = self._task.postprocess("", segment.text)
        return Output(text or segment.given, -math.inf, -math.inf, 0, copied=not text)

    def _outputs(self, made: Sequence[_Made], *, details: bool, batch: int) -> Iterator[Output]:
        """The output for each hypothesis."""
        links = self._links(made, batch=batch)
        more: Sequence[Details | None] = [None] * len(made)
        if details:
            from yakusu.translator.writing.details import details_of

            pairs = list(map(self._translated, made))
            more = details_of(self._decoder, self._tokenizer, pairs, batch=batch)
        for (passage, segment, query, h, text), own, detail in zip(made, links, more, strict=True):
            numbers = h.score, h.log_prob, len(h.tokens) + 1
            if text:
                if segment.continues or segment.after[:1] in passage.spans:
                    text = ended(text, segment, passage, self._language)
                if segment.capitals:
                    text = capitals(text, self._language, source=segment.given)
                quality = self._calibration.of(query, h) if self._calibration else None
                yield Output(text, *numbers, own, detail, quality=quality)
            else:
                own = tuple((i, i) for i in range(_n_units(segment.text)))
                nothing = -math.inf, -math.inf, numbers[-1]
                yield Output(segment.given, *nothing, own, detail, copied=True)

    def text_of(self, segment: Segment, tokens: Sequence[int]) -> str:
        """What the model has written for a segment; "" if it generates no text."""
        text = self._task.postprocess(self.decoded(tokens), segment.text)
        if not (text and PLACE.search(segment.text)):
            return text
        from yakusu.translator.writing.placement import adjust_spaces

        return adjust_spaces(to_places(text, segment.text), segment.text)

    def decoded(self, tokens: Sequence[int]) -> str:
        """The text of tokens, in which spans are private-use characters."""
        if UNK in tokens:
            return "".join(self._pieces(tokens))
        (output,) = self._tokenizer.decode_target([tokens])
        return output

    def _pieces(self, tokens: Sequence[int]) -> list[str]:
        """What each token adds to the text of a translation; placeholder tokens are slots."""
        pieces = self._tokenizer.target_texts_of(tokens)
        unknown = iter(SLOTS * len(tokens))
        return [next(unknown) if i == UNK else s for i, s in zip(tokens, pieces, strict=True)]

    # ---- alignment -----------------------------------------------------------------------------

    def _translated(self, made: _Made) -> "Translated":
        """A segment and its translation, with the tokens of both."""
        from yakusu.translator.writing.links import Translated

        _, segment, query, h, text = made
        pieces = self._pieces(h.tokens)
        source = to_slots(self._task.preprocess_source(segment.text))
        # The words of a tree are not those that a parser writes.
        text = "".join(pieces) if self._task.constrains else text
        return Translated(source, query.source, h.tokens, pieces, text)

    def _links(self, made: Sequence[_Made], *, batch: int) -> "Iterator[tuple[Link, ...]]":
        """The links between units for the segments of lines with tags; () for the others."""
        rows = [self._translated(own) for own in made if own[0].tags]
        if not rows:
            return (() for _ in made)
        from yakusu.translator.writing.links import unit_links_of

        links = unit_links_of(self._decoder, self._tokenizer, rows, batch=batch)
        found = (own or () for own in links)
        return (next(found) if passage.tags else () for passage, *_ in made)

    # ---- texts ---------------------------------------------------------------------------------

    def _translation(
        self, passages: Sequence[Passage], outputs: Sequence[Output], traces: "tuple[Trace, ...]"
    ) -> Translation:
        """The translation of a text, from an output for each of its segments with text."""
        pieces, waiting = list[str](), iter(outputs)
        lines: list[tuple[Passage, Sequence[Output], str]] = []
        for passage in passages:
            own = list(islice(waiting, sum(1 for s in passage.segments if s.text)))
            line = as_typed(masked(passage, own, self._language), passage)
            lines.append((passage, own, line))
            if passage.spans or passage.tags:
                as_given = _as_given(passage, own)
                line = restore(line, {**passage.kept, **as_given})
            pieces += [passage.before, line, passage.after]
        details = None
        if any(output.details for output in outputs):
            from yakusu.translator.writing.words import details_of_text

            details = outputs[0].details if self._task.constrains else details_of_text(lines)
        qualities = [output.quality for output in outputs if output.quality]
        worst = min(qualities, key=attrgetter("value"), default=None)
        return Translation(
            "".join(pieces),
            sum((output.score for output in outputs), 0.0),
            sum((output.log_prob for output in outputs), 0.0),
            sum(output.n_tokens for output in outputs),
            details,
            traces,
            (bool(outputs) or any(passage.kept_because for passage in passages))
            and all(output.copied for output in outputs),
            tuple(_differences(passages)),
            quality=worst.value if worst else None,
            doubt=worst.doubt if worst else "",
        )


def _as_given(passage: Passage, outputs: Sequence[Output]) -> Mapping[str, str]:
    """The text of private-use characters that stand for terms, where segments are kept."""
    if not passage.terms or (outputs and all(output.copied for output in outputs)):
        return passage.terms
    kept = zip(passage.texts, outputs, strict=True)
    own = chain.from_iterable(places(text) for text, output in kept if output.copied)
    return {place: passage.terms[place] for place in own if place in passage.terms}


def _differences(passages: Sequence[Passage]) -> Iterator[str]:
    """Why lines and segments are kept: they are too long, or their translations differ or are bad.

    The marks of a document are not shown.
    """
    for number, passage in enumerate(passages, start=1):
        line = f"line {number}: " if len(passages) > 1 else ""
        if passage.kept_because:
            yield f"{line}{passage.kept_because}"
        given = passage.given_texts
        for segment in passage.segments:
            if segment.difference is not None:
                lacks, adds = (
                    ", ".join(f"'{restore(each, given)}'" for each in side)
                    for side in segment.difference
                )
                what = f"has {adds} instead of {lacks}" if lacks and adds else ""
                what = what or (f"lacks {lacks}" if lacks else f"adds {adds}")
            elif segment.doubted:
                what = segment.doubted
            else:
                continue
            text = restore(segment.given, given)
            yield re.sub(MARKS, "", f"{line}the translation of '{text}' {what}")


def _n_units(text: str) -> int:
    from yakusu.translator.writing.placement import units

    return len(units(text))


def _segments(passages: Sequence[Passage]) -> Iterator[tuple[Passage, Segment]]:
    """The segments with text, and their lines."""
    return chain.from_iterable(
        ((passage, segment) for segment in passage.segments if segment.text) for passage in passages
    )
