"""Table 2 and Figure 1 of the compression paper: word tasks against the compression ratio.

All vectors are centred. The largest measured ratio without loss is reported, that is, within 0.5
points or 0.005 rho of the centred floats. Two things make it look larger than it is.
Codes are whitened by nature, so their control is whitened floats (half-whitened ones for integers):
the ratio compared with these is reported, too. And completion has about a thousand questions and
therefore a standard error of 1.4 points: a high ratio there may be chance.
"""

import argparse
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.common import Benchmark
from benchmarks.compression.api import variance_lost
from benchmarks.compression.embedding_systems import (
    Compressed,
    controls,
    integer_rows,
    integers,
    product_quantisation,
    proposed,
    shu,
)
from benchmarks.compression.trade_off import PAPER, TASKS, Point, formatted, name_of, trade_offs
from benchmarks.compression.word_tasks import PAPER_FLOATS, WordTasks, paper_sets, shown
from benchmarks.records import RESULTS
from yakusu.vectors import read_vectors
from yakusu.vectors.wordtasks import centred

COLOURS = {
    "Proposed": "#0072b2",
    "Integers": "#d55e00",
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


def size(text: str) -> tuple[int, int]:
    """Parse M and K from 64x16."""
    n_components, n_codes = map(int, text.split("x"))
    return n_components, n_codes


benchmark = Benchmark(
    "embedding_tasks",
    __doc__,
    example="python -m benchmarks.compression.embedding_tasks --vectors glove100.npz "
    "--name 'GloVe 6B 100d' --shu 200000",
    needs=["data", "vectors"],
    quick={"name": "generated vectors", "shu": 20, "shu_sizes": [(4, 4)]},
)
benchmark.option("--name", default="", help="name of the vectors, for the record")
benchmark.option("--shu", type=int, metavar="STEPS", help="training steps of the baseline")
benchmark.option("--shu-sizes", type=size, nargs="+", default=[(32, 16), (64, 16)], metavar="MxK")
benchmark.option("--device", default="cpu", help="device for the baseline (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="seed of the baseline (%(default)s)")
benchmark.option("--note", default="", help="remark for the record")


def measure(systems: Iterable[Compressed], tasks: WordTasks) -> list[dict[str, Any]]:
    """Score each system at each size; the first must be the floats."""
    points: list[dict[str, Any]] = []
    floats = None
    for made in systems:
        floats = made.vectors if floats is None else floats
        point = {
            **{"system": made.system, "kind": made.kind, "curve": made.curve, "size": made.size},
            **{"ratio": round(made.ratio, 3), "scores": tasks.score(made.vectors)},
        }
        if made.kind == "Real":
            lost = variance_lost(centred(floats), centred(made.vectors))
            point["share_lost"] = round(lost, 5)
        points.append(point)
        scores = shown(point["scores"])
        print(f"{name_of(point):21} x{made.ratio:<6.2f} {scores}   {made.size}", flush=True)
    return points


def cells(best: dict[str, Point | None]) -> str:
    """Return a row of Table 2: ratio and score of each task."""
    return ", ".join(
        f"{task} x{point['ratio']:.1f} ({formatted(task, point['scores'][task])})"
        if point
        else f"{task} none"
        for task, point in best.items()
    )


def draw(points: list[dict[str, Any]], title: str, path: Path) -> None:
    """Draw Figure 1: a panel for each task, the ratio against the score."""
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
            own.sort(key=lambda point: float(point["ratio"]))
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


def report(points: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Print Table 2 and return it for the record."""
    print(f"\n{name}: the largest measured ratio without loss, and the score there")
    print(f"floats: {shown(points[0]['scores'])}   (paper, 300 dim.: {shown(PAPER_FLOATS)})")
    rows = {system: cells(best) for system, best in trade_offs(points).items()}
    for system, row in rows.items():
        print(f"{system}: {row}; paper, similarity: {PAPER.get(system, 'not given')}")
    return {
        "name": f"{name}, largest ratio without loss",
        "score": "; ".join(f"{system}: {row}" for system, row in rows.items()),
        "paper": "; ".join(f"{system} {value}" for system, value in PAPER.items()),
    }


def main(args: argparse.Namespace) -> None:
    """Measure all systems, print the table, draw the figure."""
    dense = read_vectors(args.vectors)
    vectors, tasks = dense.vectors, WordTasks.of(dense, paper_sets(args.data))
    systems = [controls(vectors), proposed(vectors), integers(vectors), integer_rows(vectors)]
    if benchmark.installed({"faiss PQ": "faiss"}):
        systems.append(product_quantisation(vectors))
    if args.shu:
        options = {"seed": args.seed, "device": args.device}
        systems.append(shu(vectors, args.shu_sizes, steps=args.shu, **options))
    points = measure(chain(*systems), tasks)
    facts = report(points, args.name)
    picture = RESULTS / f"embedding_tasks_{vectors.shape[1]}d.png"
    facts |= {"note": args.note, "figure": picture.name, "tasks": tasks.facts(vectors)}
    if benchmark.record({**facts, "points": points}, seed=args.seed):
        draw(points, f"{args.name}: word tasks after compression", picture)


if __name__ == "__main__":
    benchmark.run(main)
