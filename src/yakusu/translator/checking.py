"""Check: the translation of a segment has the numbers and the code-like tokens of its source.

    It costs 1,000 yen.   ->   Es kostet 100 Yen.      1,000 is missing, and 100 is added

The segment is searched once more, with its numbers as placeholders (`reading/protecting.py`), and
without digits and what was added:

    It costs P yen.       ->   Es kostet P Yen.        P is 1,000

A segment whose second translation differs as well is kept. Of several translations, those that
differ are left out, and only if none is left, the segment is searched again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from yakusu.data.lines.private_use import PLACE
from yakusu.data.numbers.agreement import Agreement, Disagreement
from yakusu.data.numbers.cldr import localised
from yakusu.errors import DataError
from yakusu.search.decoder import Query
from yakusu.search.hypothesis import Hypothesis
from yakusu.translator.reading.passage import Difference, Passage, Segment
from yakusu.translator.reading.planner import Planner, TextPlan
from yakusu.translator.reading.protecting import numbers_in, protecting
from yakusu.translator.reading.slots import restore
from yakusu.translator.writing.writer import Candidate


class _Case(NamedTuple):
    """A segment of which every translation differs.

    Attributes:
        text: The number of its text.
        line: The number of its line in the text.
        segment: Its number in the line.
        number: Its number among the segments with text of the whole text.
        difference: What differs in the best translation.
    """

    text: int
    line: int
    segment: int
    number: int
    difference: Disagreement


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
        cases = list[_Case]()
        for text, (plan, candidates) in enumerate(zip(plans, found, strict=True)):
            cases += self._differing(text, plan, candidates)
        if not cases:
            return
        again = list(self._again(plans, cases))
        results = iter(searched([query for query in again if query]))
        for case, query in zip(cases, again, strict=True):
            lines, queries = plans[case.text]
            line = lines[case.line]
            second = self._agreeing(line, case.segment, next(results)) if query else []
            found[case.text][case.number] = second
            if second and query:
                queries[case.number] = query
            else:
                lines[case.line] = _kept(line, case)

    def _differing(
        self, text: int, plan: TextPlan, found: list[list[Candidate]]
    ) -> Iterator[_Case]:
        """The segments of which every candidate differs; drop the candidates that do of others."""
        lines, queries = plan
        segments = [(i, j) for i, line in enumerate(lines) for j in _with_text(line)]
        for number, ((i, j), query) in enumerate(zip(segments, queries, strict=True)):
            segment, candidates = lines[i].segments[j], found[number]
            truncated = len(query.source) >= self._planner.longest[0]
            if truncated or not (segment.checked and candidates):
                continue
            agreeing, differences = list[Candidate](), list[Disagreement]()
            for own in candidates:
                if difference := self._difference(lines[i], segment, own[1]):
                    differences.append(difference)
                else:
                    agreeing.append(own)
            found[number] = agreeing
            if not agreeing:
                yield _Case(text, i, j, number, differences[0])

    def _again(self, plans: Sequence[TextPlan], cases: Sequence[_Case]) -> Iterator[Query | None]:
        """The queries of second searches, for lines whose numbers become placeholders.

        Yields:
            A query for each case; None: its numbers cannot become placeholders.
        """
        for (text, i), own in groupby(cases, key=itemgetter(0, 1)):
            lines, queries = plans[text]
            line, of_line = lines[i], list(own)
            numbers = {
                case.segment: numbers_in(line.segments[case.segment].given, case.difference.missing)
                for case in of_line
            }
            lines[i] = protecting(
                line, {j: parts for j, (parts, _) in numbers.items()}, self._written
            )
            for case in of_line:
                parts, are_all = numbers[case.segment]
                segment = lines[i].segments[case.segment]
                stays = parts and segment is line.segments[case.segment]
                like = queries[case.number]
                yield None if stays else self._query(segment, case.difference, like, not are_all)

    def _query(
        self, segment: Segment, difference: Disagreement, like: Query, digits: bool
    ) -> Query | None:
        """The query of a second search; None: a term of the glossary contradicts it."""
        exclude = [span.text for span in difference.added if not any(map(str.isdecimal, span.text))]
        try:
            return self._planner.again(segment, exclude, digits=digits, like=like)
        except DataError:
            return None

    def _agreeing(self, line: Passage, number: int, found: Sequence[Hypothesis]) -> list[Candidate]:
        """The candidates that agree with a segment."""
        segment = line.segments[number]
        candidates = ((h, self._text_of(segment, h.tokens)) for h in found)
        return [c for c in candidates if c[1] and not self._difference(line, segment, c[1])]

    def _difference(self, line: Passage, segment: Segment, text: str) -> Disagreement | None:
        """What differs between a segment and its translation, without terms; None: nothing."""
        if not text:
            return None  # it is kept anyway
        found = self._agreement.compare(segment.given, text)
        if PLACE.search(text) and not found:
            found = self._joined(line, segment, text)
        missing, added = found.missing, found.added
        if segment.terms:
            source, target = (
                " ".join(words).casefold()
                for words in zip(*((t.source, t.target) for t in segment.terms), strict=True)
            )
            missing = tuple(span for span in missing if span.text.casefold() not in source)
            added = tuple(span for span in added if span.text.casefold() not in target)
        return Disagreement(missing, added) if missing or added else None

    def _joined(self, line: Passage, segment: Segment, text: str) -> Disagreement:
        """The tokens that spans make with what stands beside them: ${name} is not {name}."""
        sides = (restore(side, line.spans) for side in (segment.given, text))
        found = self._agreement.compare(*sides)
        return Disagreement(added=found.added or found.missing)


def _with_text(line: Passage) -> list[int]:
    """The numbers of the segments with text of a line."""
    return [j for j, segment in enumerate(line.segments) if segment.text]


def _kept(line: Passage, case: _Case) -> Passage:
    """The line with a segment that is kept."""
    segments = list(line.segments)
    lacks, adds = (
        tuple(span.text for span in side)
        for side in (case.difference.missing, case.difference.added)
    )
    segments[case.segment] = replace(segments[case.segment], difference=Difference(lacks, adds))
    return replace(line, segments=tuple(segments))
