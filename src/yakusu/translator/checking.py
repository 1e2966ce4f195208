"""Check: the translation of a segment has the numbers and the code-like tokens of its source.

    It costs 1,000 yen.   ->   Es kostet 100 Yen.      1,000 is missing, and 100 is added

The segment is searched once more, with what is missing and all numbers as placeholders, and without
further digits and what was added:

    It costs P yen.       ->   Es kostet P Yen.        P is 1,000

A segment whose second translation differs as well is kept. All of this depends on the segment only.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from yakusu.data.lines.private_use import PLACE
from yakusu.data.numbers.agreement import Agreement, Disagreement
from yakusu.data.numbers.cldr import localised
from yakusu.search.decoder import Query
from yakusu.search.hypothesis import Hypothesis
from yakusu.translator.reading.passage import Passage, Segment
from yakusu.translator.reading.planner import Planner, TextPlan
from yakusu.translator.reading.protecting import protecting
from yakusu.translator.reading.slots import restore
from yakusu.translator.writing.writer import Candidate

_Key = tuple[int, int]  # the number of a text, and of a segment with text in it


class Checker:
    """Compares segments with their translations.

    Args:
        agreement: What is compared.
        languages: Codes of the source and target languages, "" if unknown.
        planner: Makes the queries of second searches.
        text_of: The text of a translation of a segment, in which spans are private-use characters.
    """

    def __init__(
        self,
        agreement: Agreement,
        languages: tuple[str, str],
        planner: Planner,
        text_of: Callable[[Segment, Sequence[int]], str],
    ) -> None:
        self._agreement, self._planner, self._text_of = agreement, planner, text_of
        self._written = partial(localised, languages=languages)

    def check(
        self,
        plans: Sequence[TextPlan],
        found: Sequence[list[list[Candidate]]],
        searched: Callable[[Sequence[Query]], Sequence[Sequence[Hypothesis]]],
    ) -> None:
        """Replace the plans and the candidates of segments that are searched again, or kept.

        Args:
            plans: The plans of several texts.
            found: The candidates for each of their queries.
            searched: Searches for translations.
        """
        differ = dict(self._differing(plans, found))
        if not differ:
            return
        again = {key: own for key in differ if (own := self._again(plans, key, differ[key]))}
        results = iter(searched([*again.values()]))
        for (text, number), difference in differ.items():
            lines, queries = plans[text]
            i, j = _places(lines)[number]
            line = self._protected(lines[i], j, difference)
            hypotheses = next(results) if (text, number) in again else ()
            if line and (agreeing := self._second(line, j, hypotheses)):
                lines[i], queries[number] = line, again[text, number]
                found[text][number] = agreeing
            else:
                lines[i] = _kept(lines[i], j, difference)
                found[text][number] = []

    def _differing(
        self, plans: Sequence[TextPlan], found: Sequence[list[list[Candidate]]]
    ) -> Iterator[tuple[_Key, Disagreement]]:
        """The segments whose best translation differs; of the others, drop those that do."""
        for text, ((lines, queries), candidates) in enumerate(zip(plans, found, strict=True)):
            for number, (i, j) in enumerate(_places(lines)):
                segment, own = lines[i].segments[j], candidates[number]
                truncated = len(queries[number].source) >= self._planner.longest[0]
                if truncated or not (segment.checked and own):
                    continue
                difference = self._compare(lines[i], segment, own[0][1])
                if difference.missing or difference.added:
                    yield (text, number), difference
                elif len(own) > 1:
                    candidates[number] = [
                        each for each in own if not self._compare(lines[i], segment, each[1])
                    ]

    def _second(self, line: Passage, number: int, found: Sequence[Hypothesis]) -> list[Candidate]:
        """The candidates that agree with a segment, if the best one does."""
        segment = line.segments[number]
        candidates = [(h, self._text_of(segment, h.tokens)) for h in found]
        agree = [bool(text) and not self._compare(line, segment, text) for _, text in candidates]
        return [each for each, own in zip(candidates, agree, strict=True) if own and agree[0]]

    def _compare(self, line: Passage, segment: Segment, text: str) -> Disagreement:
        """The difference between a segment and its translation, without those of terms."""
        found = self._agreement.compare(segment.given, text) if text else Disagreement()
        if not found and PLACE.search(text):
            found = self._joined(line, segment, text)
        if not segment.terms:
            return found
        source, target = (
            " ".join(words)
            for words in zip(*((t.source, t.target) for t in segment.terms), strict=True)
        )
        return Disagreement(
            tuple(span for span in found.missing if span.text not in source),
            tuple(span for span in found.added if span.text not in target),
        )

    def _joined(self, line: Passage, segment: Segment, text: str) -> Disagreement:
        """The tokens that spans make with what stands beside them: ${name} is not {name}."""
        sides = (restore(side, line.spans) for side in (segment.given, text))
        found = self._agreement.compare(*sides)
        return Disagreement(added=found.added or found.missing)

    def _protected(self, line: Passage, number: int, difference: Disagreement) -> Passage | None:
        """The line with placeholders in place of what the second translation must have."""
        parts = self._agreement.required(line.segments[number].given, difference)
        return protecting(line, number, parts, self._written)

    def _again(
        self, plans: Sequence[TextPlan], key: _Key, difference: Disagreement
    ) -> Query | None:
        """The query of a second search for a segment; None: it cannot be written so."""
        text, number = key
        lines, queries = plans[text]
        i, j = _places(lines)[number]
        line = self._protected(lines[i], j, difference)
        if line is None:
            return None
        exclude = [span.text for span in difference.added if not any(map(str.isdecimal, span.text))]
        return self._planner.again(line.segments[j], exclude, like=queries[number])


def _places(lines: Sequence[Passage]) -> list[tuple[int, int]]:
    """The numbers of line and segment of each segment with text."""
    return [(i, j) for i, line in enumerate(lines) for j, s in enumerate(line.segments) if s.text]


def _kept(line: Passage, number: int, difference: Disagreement) -> Passage:
    """The line with a segment that is kept."""
    segments = list(line.segments)
    differs = tuple(span.text for span in (*difference.missing, *difference.added))
    segments[number] = replace(segments[number], differs=differs)
    return replace(line, segments=tuple(segments))
