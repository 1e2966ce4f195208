"""The largest ratio without loss, and the final count at that ratio.

A ratio is chosen on one half of the items: the largest one such that it and every smaller measured
ratio of the same curve lose at most `SLACK`. A maximum over all ratios would choose noise: a larger
ratio may pass by chance where a smaller one fails. The other half is then scored once, at that
ratio, and the difference is judged by its 95% interval (paired bootstrap):

holds      its lower end is at least -MARGIN: a larger loss is excluded
fails      otherwise, if its upper end is below 0 or the difference itself is below -MARGIN
undecided  otherwise

Rebuilt vectors (Real) are compared with plain floats, both as they are. Codes (Code) are whitened
vectors, so they are compared with floats that are whitened in the same way.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from yakusu.vectors.bootstrap import Interval, paired_difference
from yakusu.vectors.outcomes import TaskResult

PAPER_TASKS = ("analogy", "completion", "similarity")
TASKS = (*PAPER_TASKS, "neighbours", "candidates")
# In percent, and for similarity in rho. Neighbours need not all be kept: 9 of 10 are enough.
SLACK = {"analogy": 0.5, "completion": 0.5, "similarity": 0.005, "neighbours": 10, "candidates": 1}
MARGIN = {"analogy": 1.0, "completion": 1.0, "similarity": 0.01, "neighbours": 12, "candidates": 2}
COUNTED = {"similarity": ("similarity", "unused similarity")}  # in the final count; others: once
CONTROLS = {"Proposed": "whitened floats", "Integers": "half-whitened floats"}  # of Code
PAPER = {  # the largest ratio without loss in similarity, GloVe 6B of 300 dimensions
    "Shu+'18 (Code)": "0.44 at 12",
    "Shu+'18 (Real)": "0.60 at 8",
    "Proposed (Code)": "23",
    "Proposed (Real)": "11",
}
Results = Mapping[str, TaskResult]  # by task


@dataclass(frozen=True)
class Point:
    """Results of a system at one size; `Compressed` describes the first five fields.

    choice, reserved: Results on both halves, of vectors as they are, and of codes centred.
    moved: Results on the first half of rebuilt vectors, centred; empty for other kinds.
    share_lost: Share of the variance that rebuilt vectors lose; None for other kinds.
    """

    system: str
    kind: str
    curve: str
    size: str
    ratio: float
    choice: Results
    reserved: Results
    moved: Results
    share_lost: float | None

    @property
    def name(self) -> str:
        """System and kind, as in the paper's Table 2."""
        return f"{self.system} ({self.kind})" if self.kind else self.system

    @property
    def reference(self) -> str:
        """The uncompressed vectors to compare with."""
        return "floats" if self.kind == "Real" else CONTROLS.get(self.system, "centred floats")


@dataclass(frozen=True)
class Count:
    """Final count on the reserved half, in percent or rho: difference, interval, verdict."""

    difference: float
    low: float
    high: float
    items: int
    verdict: str

    @classmethod
    def of(cls, task: str, before: TaskResult, after: TaskResult, margin: float) -> "Count":
        """Compare two results of the same items."""
        found = paired_difference(before, after)
        parts = (scaled(task, part) for part in (found.difference, found.low, found.high))
        interval = Interval(*(round(part, 4) for part in parts))
        return cls(**asdict(interval), items=after.used, verdict=verdict(interval, margin))


@dataclass(frozen=True)
class Claim:
    """The largest ratio without loss of a curve of a system on a task, and its final count.

    ratio, size, score: At this ratio, on the half on which it is chosen; None if no ratio passes.
    others: The largest ratio compared with other uncompressed vectors, which is not counted: codes
        with floats, and all systems with centred floats, both centred. On the paper's tasks only.
    counts: By set of items; empty if no ratio passes.
    """

    system: str
    curve: str
    task: str
    reference: str
    ratio: float | None
    size: str | None
    score: float | None
    others: Mapping[str, float | None]
    counts: Mapping[str, Count]


def verdict(difference: Interval, margin: float) -> str:
    """Return holds, fails or undecided, by the rules above."""
    if difference.low >= -margin:
        return "holds"
    return "fails" if difference.high < 0 or difference.difference < -margin else "undecided"


def without_loss(scores: Sequence[tuple[float, float]], floor: float) -> float | None:
    """Return the largest ratio such that it and every smaller one score at least `floor`.

    Args:
        scores: Measured ratios, each with its score; of equal ratios, all must pass.
        floor: The lowest score without loss.
    """
    failed = min((ratio for ratio, score in scores if not score >= floor), default=math.inf)
    return max((ratio for ratio, _ in scores if ratio < failed), default=None)


def claims(points: Sequence[Point]) -> list[Claim]:
    """Return the claim of each curve of each system on each task."""
    controls = {point.name: point for point in points if not point.kind}
    curves = dict.fromkeys((point.name, point.curve) for point in points if point.kind)
    return [
        claim([point for point in points if (point.name, point.curve) == curve], task, controls)
        for curve in curves
        for task in TASKS
        if task in points[0].choice
    ]


def claim(own: Sequence[Point], task: str, controls: Mapping[str, Point]) -> Claim:
    """Choose the ratio of one curve on one half of the items, and count on the other."""
    reference = controls[own[0].reference]
    measured = [(point.ratio, point.choice) for point in own]
    best = _chosen(task, measured, reference)
    chosen = next((point for point in own if point.ratio == best), None)
    others = {}
    if task in PAPER_TASKS:
        moved = [(point.ratio, point.moved or point.choice) for point in own]
        others["centred floats"] = _chosen(task, moved, controls["centred floats"])
        if own[0].kind == "Code":
            others["floats"] = _chosen(task, measured, controls["floats"])
    counts = {}
    if chosen:
        for name in COUNTED.get(task, (task,)):
            before, after = reference.reserved[name], chosen.reserved[name]
            counts[name] = Count.of(task, before, after, MARGIN[task])
    return Claim(
        system=own[0].name,
        curve=own[0].curve,
        task=task,
        reference=reference.name,
        ratio=best,
        size=chosen.size if chosen else None,
        score=round(scaled(task, chosen.choice[task].score), 4) if chosen else None,
        others=others,
        counts=counts,
    )


def _chosen(task: str, measured: Sequence[tuple[float, Results]], reference: Point) -> float | None:
    scores = [(ratio, scaled(task, results[task].score)) for ratio, results in measured]
    return without_loss(scores, scaled(task, reference.choice[task].score) - SLACK[task])


def scaled(task: str, score: float) -> float:
    """Return a score in percent, or a correlation as it is."""
    return score if "similarity" in task else 100 * score


def formatted(task: str, score: float) -> str:
    """Return a score with its digits: percent with two, a correlation with three."""
    return f"{score:.{3 if 'similarity' in task else 2}f}"


def spread(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the difference between the largest and the smallest score of each task."""
    return {
        task: round(max(run[task] for run in runs) - min(run[task] for run in runs), 4)
        for task in PAPER_TASKS
        if task in runs[0]
    }
