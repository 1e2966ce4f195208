"""Table 1: complexity per layer type, and the path length between positions.

Costs, forward and backward, for one sequence (1, n, d): processor seconds on one thread, bytes kept
for backward, FLOPs counted. Sizes are doubled, and the exponent is the slope over the largest ones
in a log-log plot, to be compared with that of the stated complexity. The other sizes are chosen so
that the stated term dominates the others, such as the projections of attention, 4 n d^2.

Dependence is read from the layer's autograd graph:
    chain         the longest chain of operations from input to output
    layers        how many layers, stacked, until one more connects no further pair of positions
    path          layers x chain: the operations between the farthest positions
"""

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from benchmarks.common import Benchmark
from benchmarks.paper.layers import BY_N, LAYERS, Layer, Size
from benchmarks.records import RESULTS, Record, read
from benchmarks.tables import NONE, Table
from yakusu.training.flops import counting

# Rows that are not, or not completely, in the paper's table.
ELSEWHERE = {
    "the same, as written": "no such row",
    "convolution": "{}; the path by the text of section 4",
    "convolution, separable": "{}; complexity and path by the text of section 4",
    "feed-forward": "no such row",
}

benchmark = Benchmark(
    "table1",
    __doc__,
    example="python -m benchmarks.paper.table1 --layers self-attention recurrent",
    quick={"lengths": [8]},
)
benchmark.option("--layers", nargs="+", default=list(LAYERS), choices=LAYERS, help="default: all")
benchmark.option("--lengths", nargs="+", type=int, default=[8, 16, 32, 64], help="n of the chains")
benchmark.option("--seed", type=int, default=1, help="seed of weights and inputs (%(default)s)")


def _stated(record: Record, i: int) -> str:
    """Complexity, operations or path as the paper states it, if it states all three."""
    parts = record["paper"].partition(";")[0].split(", ")
    found = [part if part.startswith("O") else part.split(" ", 1)[-1] for part in parts]
    return found[i] if len(found) == 3 else NONE


def _growth(record: Record) -> str:
    return " ".join(f"{size}^{own['flops']:.2f}" for size, own in record["exponents"].items())


tables = Table(
    (
        ("Layer", "{name}"),
        ("Complexity", lambda record: _stated(record, 0)),
        ("Sequential operations", lambda record: _stated(record, 1)),
        ("Maximum path length", lambda record: _stated(record, 2)),
        ("FLOPs grow with", _growth),
        ("Time, exponent of n", "{exponents.n.seconds:,.2f}"),
        ("Memory, exponent of n", "{exponents.n.bytes:,.2f}"),
        ("Longest chain, n = 64", lambda r: str(r["dependence"][-1]["chain"])),
        (
            "Layers to connect the ends, n = 64",
            lambda r: str(r["dependence"][-1]["layers"] or "never"),
        ),
    )
)


# ---- costs ---------------------------------------------------------------------------------------


def seconds(layer: nn.Module, x: Tensor) -> float:
    """Return the processor seconds of forward and backward, the minimum of some runs."""
    best, spent, runs = math.inf, 0.0, 0
    while runs < 4 or spent < 0.5:
        start = time.process_time()
        layer(x).sum().backward()
        took = time.process_time() - start
        best, spent, runs = min(best, took), spent + took, runs + 1
    return best


def kept_bytes(layer: nn.Module, x: Tensor) -> int:
    """Return the bytes that forward keeps for backward, without weights; a storage counts once."""
    weights = {p.untyped_storage().data_ptr() for p in layer.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        layer(x)
    return sum(kept.values())


def flops(layer: nn.Module, x: Tensor) -> int:
    """Return the FLOPs of forward and backward."""
    with counting() as counter:
        layer(x).sum().backward()
    return int(counter.get_total_flops())


MEASURES = {"seconds": seconds, "bytes": kept_bytes, "flops": flops}


def costs(layer: Layer, of: Sequence[Size]) -> list[dict[str, Any]]:
    """Return all measures at each size."""
    points = []
    for size in of:
        module = layer.build(size, 0)
        x = torch.randn(1, size.n, size.d, requires_grad=True)
        measured = {name: measure(module, x) for name, measure in MEASURES.items()}
        points.append({**asdict(size), **measured})
    return points


def exponent(points: Sequence[dict[str, Any]], of: str, by: str) -> float:
    """Return the slope over the three largest sizes, with both axes logarithmic."""
    last = points[-3:]
    x, y = (np.log([point[key] for point in last]) for key in (by, of))
    return float(np.polyfit(x, y, 1)[0])


# ---- dependence ----------------------------------------------------------------------------------


def reach(layer: nn.Module, n: int, d: int) -> np.ndarray:
    """Return the matrix (n, n) that is True at (i, j) if output i depends on input j."""
    x = torch.randn(1, n, d, dtype=torch.double, requires_grad=True)
    y = layer(x)
    related = np.zeros((n, n), dtype=bool)
    for i in range(n):
        (gradient,) = torch.autograd.grad(y[0, i].sum(), x, retain_graph=True)
        related[i] = (gradient[0] != 0).any(dim=1).numpy()
    return related


def chain(layer: nn.Module, n: int, d: int) -> int:
    """Return the length of the longest chain of autograd nodes, input and output included."""
    x = torch.randn(1, n, d, dtype=torch.double, requires_grad=True)
    y = layer(x)
    length: dict[Any, float] = {}  # from the input to each node; minus infinity: unreachable
    stack = [y.grad_fn]
    while stack:
        node = stack[-1]
        before = [each for each, _ in node.next_functions if each is not None]
        missing = [each for each in before if each not in length]
        if missing:
            stack += missing
        else:
            leaf = 0 if getattr(node, "variable", None) is x else -math.inf
            length[stack.pop()] = 1 + max((length[each] for each in before), default=leaf)
    return int(length[y.grad_fn])


def dependence(layer: Layer, n: int) -> dict[str, Any]:
    """Return chain and layers for n positions, in float64, where an LSTM runs step by step."""
    size, depth = Size(n=n, d=4, r=5), 0
    related, before = np.eye(n, dtype=bool), np.zeros((n, n), dtype=bool)
    while (related != before).any():
        before = related
        module = layer.build(size, depth).double()
        related = related | (reach(module, n, size.d) @ before)
        depth += 1
    longest = chain(layer.build(size, 0).double(), n, size.d)
    ends = bool(related[n - 1, 0])
    return {"n": n, "chain": longest, "layers": depth - 1 if ends else None}


# ---- the table -----------------------------------------------------------------------------------


def measured(
    layer: Layer, lengths: Sequence[int], by_n: Sequence[Size], *, varied: bool
) -> dict[str, Any]:
    """Return costs, exponents and dependence of a layer, against n and its other sizes."""
    points = {"n": costs(layer, by_n)}
    if varied:
        points |= {name: costs(layer, sizes) for name, sizes in layer.varied.items()}
    return {
        "points": points,
        "exponents": {
            name: {measure: round(exponent(own, measure, name), 2) for measure in MEASURES}
            for name, own in points.items()
        },
        "dependence": [dependence(layer, n) for n in lengths],
    }


def stated(layer: Layer) -> str:
    """Return what the paper states about a layer."""
    path = f"O({layer.path})" if layer.path else "none"
    return f"O({layer.complexity}), sequential O({layer.sequential}), path {path}"


def published(name: str) -> str:
    """Return the row of the paper's table."""
    return ELSEWHERE.get(name, "{}").format(stated(LAYERS[name]))


def show(name: str, result: dict[str, Any]) -> None:
    """Print a row."""
    layer = LAYERS[name]
    print(f"\n{name}: stated {stated(layer)}")
    for by, found in result["exponents"].items():
        ours = ", ".join(f"{measure} {value:5.2f}" for measure, value in found.items())
        print(f"  exponent of {by}: stated {layer.stated[by]:g}; {ours}")
    for point in result["dependence"]:
        layers = point["layers"]
        path = f"{layers} layers, path {layers * point['chain']}" if layers else "never connected"
        print(f"  n = {point['n']:3}: chain of {point['chain']:4} operations; the ends: {path}")


def draw(path: Path, results: dict[str, dict[str, Any]]) -> None:
    """Draw costs and dependence against n."""
    figure = Figure(figsize=(12, 8), layout="constrained")
    axes = figure.subplots(2, 2).flatten()
    for i, (name, result) in enumerate(results.items()):
        style = {"marker": "o", "markersize": 3, "color": f"C{i}", "label": name}
        own, deps = result["points"]["n"], result["dependence"]
        related = [dep for dep in deps if dep["layers"]]
        n, of = [p["n"] for p in own], [dep["n"] for dep in deps]
        axes[0].plot(n, [p["seconds"] for p in own], **style)
        axes[1].plot(n, [p["bytes"] for p in own], **style)
        axes[2].plot(of, [dep["chain"] for dep in deps], **style)
        axes[3].plot(
            [dep["n"] for dep in related], [d["layers"] * d["chain"] for d in related], **style
        )
    titles = (
        "seconds of one thread, forward and backward, d = 64",
        "bytes kept for backward, d = 64",
        "longest chain of operations in a layer",
        "operations between the farthest positions",
    )
    for each, title in zip(axes, titles, strict=True):
        each.set(title=title, xlabel="n", yscale="log")
        each.set_xscale("log", base=2)
    axes[0].legend(fontsize="small")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(args: argparse.Namespace) -> None:
    """Measure, print, draw."""
    torch.manual_seed(args.seed)
    by_n = BY_N[:3] if args.quick else BY_N
    recorded = False
    for name in args.layers:
        result = measured(LAYERS[name], args.lengths, by_n, varied=not args.quick)
        show(name, result)
        powers = "; ".join(
            f"{by}: time {found['seconds']}, bytes {found['bytes']}, FLOPs {found['flops']}"
            for by, found in result["exponents"].items()
        )
        facts = {"name": name, "score": f"exponents {powers}", "paper": published(name)}
        recorded = benchmark.record({**facts, **result}, seed=args.seed)
    if recorded:
        known = {record["name"]: record.model_extra or {} for record in read("table1")}
        draw(RESULTS / "table1.png", {name: known[name] for name in LAYERS if name in known})


if __name__ == "__main__":
    benchmark.run(main)
