"""The largest ratio without loss, from points measured at several sizes.

A point is a dictionary with "system", "kind" ("Code", "Real", or "" for a control), "size", "ratio"
and "scores" by task.
"""

from collections.abc import Mapping, Sequence
from typing import Any

TASKS = ("analogy", "completion", "similarity")
SLACK = {"analogy": 0.5, "completion": 0.5, "similarity": 0.005}  # a loss up to this is no loss
# Codes have the same spread in every component; only whitening explains what that gains.
CONTROLS = {"Proposed (Code)": "whitened floats", "Integers (Code)": "half-whitened floats"}
PAPER = {  # the largest ratio without loss in similarity, GloVe 6B of 300 dimensions
    "Shu+'18 (Code)": "0.44 at 12",
    "Shu+'18 (Real)": "0.60 at 8",
    "Proposed (Code)": "23",
    "Proposed (Real)": "11",
}
Point = Mapping[str, Any]


def name_of(point: Point) -> str:
    """Return the name of a system and kind, as in the paper's Table 2."""
    system = str(point["system"]).replace("Numbers", "Integers")  # its name in older records
    return f"{system} ({point['kind']})" if point["kind"] else system


def without_loss(
    points: Sequence[Point], system: str, floats: Mapping[str, float]
) -> dict[str, Point | None]:
    """Return for each task the point of a system with the largest ratio that is as good as floats.

    Args:
        points: All points.
        system: A name, as `name_of` returns it.
        floats: Scores of uncompressed vectors by task.
    """
    own = [point for point in points if name_of(point) == system]
    best: dict[str, Point | None] = {}
    for task, score in floats.items():
        good = [point for point in own if point["scores"][task] >= score - SLACK[task]]
        best[task] = max(good, key=lambda point: float(point["ratio"]), default=None)
    return best


def trade_offs(points: Sequence[Point]) -> dict[str, dict[str, Point | None]]:
    """Return `without_loss` of each system, compared with the floats, then with its control."""
    controls = {name_of(point): point["scores"] for point in points if not point["kind"]}
    systems = dict.fromkeys(name_of(point) for point in points if point["kind"])
    found = {system: without_loss(points, system, controls["floats"]) for system in systems}
    for system, control in CONTROLS.items():
        beside = f"{system}, against {control}"
        found[beside] = without_loss(points, system, controls[control])
    return found


def formatted(task: str, score: float) -> str:
    """Return a score with its digits: percent with two, a correlation with three."""
    return f"{score:.{3 if task == 'similarity' else 2}f}"


def spread(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the difference between the largest and the smallest score of each task."""
    return {
        task: round(max(run[task] for run in runs) - min(run[task] for run in runs), 4)
        for task in TASKS
        if task in runs[0]
    }
