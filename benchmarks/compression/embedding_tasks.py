"""Table 2 and Figure 1 of the compression paper: word tasks against the compression ratio.

The largest ratio without loss is chosen on half of the items of each test set: it and every smaller
ratio lose at most 0.5 points or 0.005 rho. The other half, and three sets that are not in the
paper, are scored once, at this ratio. Rebuilt vectors ("Real") are compared with the floats, both
as they are; codes ("Code") with floats that are whitened in the same way, because whitening
explains what Code gains over the floats. Two further tasks count how many of the 10 nearest
neighbours stay among the 10 nearest, and among the 100 nearest.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.common import Benchmark
from benchmarks.compression.api import variance_lost
from benchmarks.compression.embedding_systems import Compressed, all_systems, shu_saved
from benchmarks.compression.trade_off import (
    PAPER,
    PAPER_TASKS,
    TASKS,
    Claim,
    Point,
    claims,
    formatted,
)
from benchmarks.compression.word_tasks import PAPER_FLOATS, WordTasks, facts, scores_of, shown
from benchmarks.records import RESULTS, Record
from benchmarks.tables import NONE, FilledTable
from yakusu.vectors import read_vectors
from yakusu.vectors.controls import centred

COLOURS = (
    *("#0072b2", "#d55e00", "#cc79a7", "#009e73", "#e69f00", "#56b4e9", "#666666", "#a0a0a0"),
    *("#7f3c8d", "#8c564b"),
)  # of the systems, in their order
LINES = ("-", ":", "-.", "--")  # of the controls
LABELS = {
    "analogy": "analogy: accuracy, %",
    "completion": "completion: accuracy, %",
    "similarity": "similarity: Spearman's rho",
    "neighbours": "10 nearest neighbours kept, %",
    "candidates": "10 nearest kept among 100, %",
}


benchmark = Benchmark(
    "word_tasks",
    __doc__,
    example="python -m benchmarks.compression.embedding_tasks --vectors glove100.npz "
    "--name 'GloVe 6B 100d' --shu shu.npz",
    needs=["data", "vectors"],
    quick={"name": "generated vectors"},
)
benchmark.option("--name", default="", help="name of the vectors, for the record")
benchmark.option(
    "--shu",
    type=Path,
    nargs="*",
    default=[],
    help="files that benchmarks.compression.shu_codes wrote",
)
benchmark.option("--note", default="", help="remark for the record")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Table 2: the claims and their final count, and the uncompressed vectors, of each record."""
    for record in records:
        found: dict[str, dict[str, Any]] = {}
        for claim in record["claims"]:
            curve = f"{claim['system']} {claim['curve']}".strip()
            found.setdefault(curve, {})[claim["task"]] = claim
        tasks = [task for task in TASKS if task in record["tasks"]]
        capitals = [task.capitalize() for task in tasks]
        rows = [
            [
                curve,
                each[tasks[0]]["reference"],
                *(_counted(each[task]) for task in tasks),
                PAPER.get(each[tasks[0]]["system"], NONE),
            ]
            for curve, each in found.items()
        ]
        name, head = record["name"], ["System", "Against", *capitals, "Paper, similarity"]
        yield FilledTable(head, rows, [record], f"{name}: ratios without loss")
        scored = [task for task in tasks if task in PAPER_TASKS]
        rows = [
            [curve, against, *(_ratio(each[task]["others"][against]) for task in scored)]
            for curve, each in found.items()
            for against in each[scored[0]]["others"]
        ]
        head = ["System", "Against", *(f"{task.capitalize()}, ratio" for task in scored)]
        yield FilledTable(head, rows, [record], f"{name}: against other floats, not counted")
        rows = [
            [point["system"], *(formatted(task, point["scores"][task]) for task in tasks)]
            for point in record["points"]
            if not point["kind"]
        ]
        head = ["Vectors", *capitals]
        yield FilledTable(head, rows, [record], f"{name}: uncompressed vectors")


def _counted(claim: dict[str, Any]) -> str:
    """The ratio of a claim, and the difference, interval and verdict of each of its counts."""
    counts = [
        f"{_signed(name, count['difference'])} ({_signed(name, count['low'])} to "
        f"{_signed(name, count['high'])}) {count['verdict']}"
        for name, count in claim["counts"].items()
    ]
    return f"{_ratio(claim['ratio'])}: {'; unused sets '.join(counts)}" if counts else NONE


def _signed(task: str, difference: float) -> str:
    return ("+" if difference > 0 else "") + formatted(task, difference)


def _ratio(ratio: float | None) -> str:
    return NONE if ratio is None else f"x{ratio:.1f}"


def measure(made: Compressed, floats: np.ndarray, choice: WordTasks, reserved: WordTasks) -> Point:
    """Score a system at one size on both halves; codes have no origin and are centred."""
    vectors = centred(made.vectors) if made.kind == "Code" else made.vectors
    real = made.kind == "Real"
    point = Point(
        system=made.system,
        kind=made.kind,
        curve=made.curve,
        size=made.size,
        ratio=round(made.ratio, 3),
        choice=choice.results(vectors),
        reserved=reserved.results(vectors),
        moved=replace(choice, kept=None).results(centred(vectors)) if real else {},
        share_lost=round(variance_lost(floats, vectors), 5) if real else None,
    )
    scores = shown(scores_of(point.choice))
    print(f"{point.name:21} x{point.ratio:<6.2f} {scores}   {point.size}", flush=True)
    return point


def recorded(point: Point) -> dict[str, Any]:
    """Return the part of a point that is recorded: scores on the half that chooses ratios."""
    kept = {
        **{"system": point.system, "kind": point.kind, "curve": point.curve, "size": point.size},
        **{"ratio": point.ratio, "scores": scores_of(point.choice)},
    }
    if point.kind == "Real":
        kept |= {"centred": scores_of(point.moved), "share_lost": point.share_lost}
    return kept


def draw(points: Sequence[Point], title: str, path: Path) -> None:
    """Draw Figure 1: a panel for each task, the ratio against the score."""
    tasks = [task for task in TASKS if task in points[0].choice]
    figure = Figure(figsize=(15, 9), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for task, panel in zip(tasks, panels, strict=False):
        _panel(panel, points, task)
    for panel in panels[len(tasks) :]:
        panel.axis("off")
    handles, labels = panels[0].get_legend_handles_labels()
    panels[-1].legend(handles, labels, fontsize="small", loc="center", ncols=2)
    figure.suptitle(title)
    figure.savefig(path, dpi=120, metadata={"Software": None})


def _panel(panel: Any, points: Sequence[Point], task: str) -> None:
    """Draw the curves of one task, and a line for each control."""
    uncompressed = [point for point in points if not point.kind]
    for point, style in zip(uncompressed, LINES, strict=True):
        score = scores_of(point.choice)[task]
        panel.axhline(score, color="k", lw=1, ls=style, label=point.name)
    systems = list(dict.fromkeys(point.system for point in points if point.kind))
    curves = dict.fromkeys((p.system, p.name, p.curve) for p in points if p.kind)
    for system, name, curve in curves:
        own = [point for point in points if (point.name, point.curve) == (name, curve)]
        own.sort(key=lambda point: point.ratio)
        code = own[0].kind == "Code"
        panel.plot(
            [point.ratio for point in own],
            [scores_of(point.choice)[task] for point in own],
            color=COLOURS[systems.index(system) % len(COLOURS)],
            ls="--" if code else "-",
            marker="o" if curve != "M = H/2" else "s",
            markersize=4,
            mfc="white" if code else None,
            label=f"{name} {curve}".strip(),
        )
    panel.set(xscale="log", xlabel="ratio to float32", ylabel=LABELS[task])
    panel.set_xticks(ticks := [4, 8, 16, 32, 64], [f"×{tick}" for tick in ticks])
    panel.minorticks_off()
    panel.grid(visible=True, alpha=0.3)


def line(claim: Claim) -> str:
    """Return a claim in one line: the ratio, and the final count."""
    counts = "; ".join(
        f"{name} {formatted(name, count.difference)} [{formatted(name, count.low)}, "
        f"{formatted(name, count.high)}] {count.verdict}"
        for name, count in claim.counts.items()
    )
    found = f"x{claim.ratio:.1f}: {counts}" if claim.ratio else "none"
    return f"{claim.system} {claim.curve}".strip() + f", against {claim.reference}, {found}"


def main(args: argparse.Namespace) -> None:
    """Measure all systems, print the claims, draw the figure."""
    dense = read_vectors(args.vectors)
    vectors, (choice, reserved) = dense.vectors, WordTasks.halves(dense, args.data)
    benchmark.installed({"faiss": "faiss"})
    baseline = chain.from_iterable(shu_saved(path, vectors) for path in args.shu)
    systems = all_systems(vectors, baseline, threads=args.threads)
    points = [measure(made, vectors, choice, reserved) for made in systems]
    found = claims(points)
    print(f"\n{args.name}: the largest ratio without loss, and the final count there")
    print(f"paper's floats, 300 dimensions: {shown(PAPER_FLOATS)}")
    for task in TASKS:
        print(f"{task}:")
        for claim in found:
            if claim.task == task:
                print(f"  {line(claim)}")
    picture = RESULTS / f"word_tasks_{vectors.shape[1]}d.png"
    result = {
        **{"name": args.name, "note": args.note, "figure": picture.name},
        **{"tasks": facts(points[0].choice), "reserved": facts(points[0].reserved)},
        "points": [recorded(point) for point in points],
        "claims": [asdict(claim) for claim in found],
    }
    if benchmark.record(result):
        draw(points, f"{args.name}: word tasks after compression", picture)


if __name__ == "__main__":
    benchmark.run(main)
