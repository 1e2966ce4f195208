"""Figure 1 and Table 2 of the second paper: word tasks against the ratio of compression.

All are centred alike. "Without loss" is within 0.5 points, or 0.005 rho, of the centred floats, and
the largest such ratio that was measured is given. Two things make it look larger than it is. Code
is whitened by nature, so that its control is whitened floats (half-whitened ones, where the codes
are whole numbers): beside them the ratio is given too. And completion has about a thousand
questions, a standard error of 1.4 points: a high ratio there may be chance.
"""

import argparse
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from common import RESULTS, record, start
from embedding_systems import Compressed, controls, numbers, peers, proposed, shu
from word_tasks import PAPER_FLOATS, SLACK, TASKS, Scores, WordTasks, paper_sets, shown
from yakusu.compress import read_vectors
from yakusu.compress.blocks import Lost
from yakusu.vectors.wordtasks import centred

Point = dict[str, Any]
PAPER = {
    "Shu+'18 (Code)": "similarity 0.44 at x12",
    "Shu+'18 (Real)": "similarity 0.60 at x8",
    "Proposed (Code)": "similarity x23",
    "Proposed (Real)": "similarity x11",
}
CONTROLS = {"Proposed (Code)": "whitened floats", "Numbers (Code)": "half-whitened floats"}
COLOURS = {
    "Proposed": "#0072b2",
    "Numbers": "#d55e00",
    "Shu+'18": "#cc79a7",
    "faiss PQ": "#009e73",
    "int8 rows": "#666666",
    "int4 rows": "#a0a0a0",
}
LABELS = {
    "analogy": "analogy: accuracy, %",
    "completion": "completion: accuracy, %",
    "similarity": "similarity: Spearman's rho",
}


def measured(systems: Iterable[Compressed], tasks: WordTasks) -> list[Point]:
    """Score each system at each size; its first must be the floats."""
    points: list[Point] = []
    floats = None
    for made in systems:
        floats = made.vectors if floats is None else floats
        scores = tasks.score(made.vectors)
        point = {
            **{"system": made.system, "kind": made.kind, "curve": made.curve, "size": made.size},
            **{"ratio": round(made.ratio, 3), "scores": scores},
        }
        if made.kind == "Real":
            lost = Lost.of(centred(floats), centred(made.vectors).__getitem__)
            point["share_lost"] = round(lost.share, 5)
        points.append(point)
        print(f"{name_of(point):21} x{made.ratio:<6.2f} {shown(scores)}   {made.size}", flush=True)
    return points


def name_of(point: Point) -> str:
    """As in the paper's Table 2."""
    return f"{point['system']} ({point['kind']})" if point["kind"] else point["system"]


def without_loss(points: list[Point], system: str, floats: Scores) -> dict[str, Point | None]:
    """By task, the point of the largest ratio at which a system is as good as floats."""
    best = {}
    for task, score in floats.items():
        good = [
            point
            for point in points
            if name_of(point) == system and point["scores"][task] >= score - SLACK[task]
        ]
        best[task] = max(good, key=lambda point: point["ratio"], default=None)
    return best


def cell(point: Point | None, task: str) -> str:
    """The ratio and the score there."""
    if point is None:
        return "none"
    return f"x{point['ratio']:.1f} ({point['scores'][task]:.{3 if task == 'similarity' else 2}f})"


def draw(points: list[Point], title: str, path: Path) -> None:
    """Figure 1: a panel a task, the ratio against the score."""
    figure = Figure(figsize=(15, 5), layout="constrained")
    tasks = [task for task in TASKS if task in points[0]["scores"]]
    panels = figure.subplots(1, len(tasks), squeeze=False)[0]
    curves = dict.fromkeys((p["system"], p["kind"], p["curve"]) for p in points if p["kind"])
    for task, panel in zip(tasks, panels, strict=True):
        for point, style in zip(points[:3], ("-", ":", "-."), strict=True):
            panel.axhline(point["scores"][task], color="k", lw=1, ls=style, label=name_of(point))
        for system, kind, curve in curves:
            own = [
                p for p in points if (p["system"], p["kind"], p["curve"]) == (system, kind, curve)
            ]
            own.sort(key=lambda point: point["ratio"])
            panel.plot(
                [point["ratio"] for point in own],
                [point["scores"][task] for point in own],
                color=COLOURS[system],
                ls="--" if kind == "Code" else "-",
                marker="o" if curve != "M = H/2" else "s",
                markersize=4,
                mfc="white" if kind == "Code" else None,
                label=f"{system} ({kind}) {curve}".strip(),
            )
        panel.set(xscale="log", xlabel="ratio to float32", ylabel=LABELS[task])
        panel.set_xticks(ticks := [4, 8, 16, 32, 64], [f"×{tick}" for tick in ticks])
        panel.minorticks_off()
        panel.grid(visible=True, alpha=0.3)
    panels[-1].legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.01, 0.5))
    figure.suptitle(title)
    figure.savefig(path, dpi=120, metadata={"Software": None})


def cells(best: dict[str, Point | None]) -> str:
    """A row of Table 2."""
    return ", ".join(f"{task} {cell(point, task)}" for task, point in best.items())


def report(points: list[Point], name: str) -> dict[str, Any]:
    """Print Table 2 beside the paper's, and what of it goes on record."""
    scores = {name_of(point): point["scores"] for point in points if not point["kind"]}
    systems = dict.fromkeys(name_of(point) for point in points if point["kind"])
    print(f"\n{name}: the largest measured ratio without loss, and the score there")
    print(f"floats: {shown(scores['floats'])}   (paper, 300 dim.: {shown(PAPER_FLOATS)})")
    rows = {system: cells(without_loss(points, system, scores["floats"])) for system in systems}
    for system, control in CONTROLS.items():
        rows[f"{system}, beside {control}"] = cells(without_loss(points, system, scores[control]))
    for system, row in rows.items():
        print(f"{system}: {row}; paper: {PAPER.get(system, 'not there')}")
    return {
        "name": f"{name}, largest ratio without loss",
        "score": "; ".join(f"{system}: {row}" for system, row in rows.items()),
        "paper": "; ".join(f"{system} {value}" for system, value in PAPER.items()),
    }


def size(text: str) -> tuple[int, int]:
    """M and K, from 64x16."""
    n_components, n_codes = map(int, text.split("x"))
    return n_components, n_codes


def main() -> None:
    """Measure all, print, draw, record."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example: python benchmarks/embedding_tasks.py glove100.npz --name 'GloVe 6B 100d' "
        "--shu 200000",
    )
    parser.add_argument("vectors", type=Path, help="any file that `yakusu vectors compress` reads")
    parser.add_argument("--name", required=True, help="of the vectors, for the record")
    parser.add_argument("--tasks", type=Path, nargs="+", default=paper_sets())
    parser.add_argument("--shu", type=int, default=0, metavar="STEPS", help="train the baseline")
    parser.add_argument("--shu-sizes", type=size, nargs="+", default=[(32, 16), (64, 16)])
    parser.add_argument("--device", default="cpu", help="where the baseline is trained")
    parser.add_argument("--seed", type=int, default=1, help="of the baseline; the rest has none")
    parser.add_argument("--note", default="", help="of the circumstances, for the record")
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    dense = read_vectors(args.vectors)
    vectors, tasks = dense.vectors, WordTasks.of(dense, args.tasks)
    systems = [controls(vectors), proposed(vectors), numbers(vectors), peers(vectors)]
    if args.shu:
        sizes, options = args.shu_sizes, {"seed": args.seed, "device": args.device}
        systems.append(shu(vectors, sizes, steps=args.shu, **options))
    points = measured(chain(*systems), tasks)
    facts = report(points, args.name)
    if not args.no_record:
        picture = RESULTS / f"embedding_tasks_{vectors.shape[1]}d.png"
        draw(points, f"{args.name}: word tasks after compression", picture)
        facts |= {"note": args.note, "figure": picture.name, "tasks": tasks.facts(vectors)}
        record("embedding_tasks", {**facts, "points": points}, seed=args.seed, threads=1)


if __name__ == "__main__":
    start(main)
