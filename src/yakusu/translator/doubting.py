"""Sentences whose translations are too bad are kept: `TextConfig.min_quality`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from yakusu.search.decoder import Query
from yakusu.translator.quality import Calibration
from yakusu.translator.reading.planner import TextPlan
from yakusu.translator.writing.writer import Candidate


@dataclass(frozen=True)
class Doubter:
    """Compares the quality of translations with the lowest that is accepted.

    Attributes:
        calibration: What the quality is estimated with.
        least: The lowest quality.
    """

    calibration: Calibration
    least: int

    def check(self, plans: Sequence[TextPlan], found: Sequence[list[list[Candidate]]]) -> None:
        """Drop the candidates that are too bad; a segment of which none is left is kept.

        Args:
            plans: The plans of several texts.
            found: The candidates for each of their queries.
        """
        for (lines, queries), candidates in zip(plans, found, strict=True):
            segments = [(i, s) for i, line in enumerate(lines) for s in line.segments if s.text]
            for number, ((i, segment), query) in enumerate(zip(segments, queries, strict=True)):
                best, candidates[number] = self._divided(query, candidates[number])
                if best is not None:
                    doubted = f"has an estimated quality of {best}, less than {self.least}"
                    kept = replace(segment, doubted=doubted)
                    own = (kept if each is segment else each for each in lines[i].segments)
                    lines[i] = replace(lines[i], segments=tuple(own))

    def _divided(
        self, query: Query, candidates: list[Candidate]
    ) -> tuple[int | None, list[Candidate]]:
        """The best quality if all candidates are too bad, otherwise None; and the good ones."""
        rated = [(self.calibration.of(query, found), (found, text)) for found, text in candidates]
        values = [quality.value for quality, _ in rated if quality]
        good = [own for quality, own in rated if not quality or quality.value >= self.least]
        return (max(values) if values and not good else None), good
