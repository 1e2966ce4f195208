"""Table 2: BLEU of every system, all trained on Multi30k within equal budgets of counted FLOPs.

Two peak rates and two dropout probabilities are tried for each system within one budget
(--grid-flops). The setting with the lowest dev perplexity is used for all budgets of the system,
and only models with this setting translate the test set. Averaging, budget and batches:
table2_grid.py. Each system is compared with the Transformer of the same budget by a paired
bootstrap test, seed by seed, so the Transformer is always trained, whatever --systems names.

Rerun to resume. Several processes may share --runs if the Transformer is finished and no two
processes train systems of the same recipe.
"""

import argparse
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, StrMethodFormatter

import yakusu
from benchmarks import runs
from benchmarks.common import Benchmark
from benchmarks.paper.table2_grid import GRID, Setting, choose, recipe_of, within
from benchmarks.paper.table2_rows import (
    BASELINE,
    CONVERGED,
    NOT_REPRODUCED,
    SYSTEMS,
    System,
    batch_tokens,
    budgets_of,
    newest,
    tried,
)
from benchmarks.quick import SETTINGS as QUICK
from benchmarks.records import RESULTS, Record, read
from benchmarks.runs import prepare, slug
from benchmarks.tables import NONE, FilledTable, fixed
from yakusu.data.files.text import read_lines
from yakusu.metrics import paired_bootstrap

Lines = list[str]
Receipts = list[dict[str, Any]]  # of the models that translate together
Found = Mapping[tuple[str, Any], Record]  # by system and budget

benchmark = Benchmark(
    "table2",
    __doc__,
    example="python -m benchmarks.paper.table2 --runs runs/table2 --systems Transformer",
    needs=["data", "runs"],
    quick={
        "flops": [1.6e10],
        "grid_flops": 8e9,
        "step_tokens": 60,
        "systems": ["ensemble of two Transformers, half of the budget each"],
        "set": QUICK,
    },
)
benchmark.option(
    "--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS, help="default: all"
)
benchmark.option(
    "--flops", type=float, nargs="*", default=[2e13, 8e13], help="budgets per model (%(default)s)"
)
benchmark.option("--converge", action="store_true", help="also train until patience ends the run")
benchmark.option("--grid-flops", type=float, default=2e13, help="budget of the grid (%(default)g)")
benchmark.option("--seeds", type=int, default=1, help="seeds of single models (%(default)s)")
benchmark.option("--step-tokens", type=int, default=2000, help="tokens per step (%(default)s)")
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Table 2: a row for each system, columns for each budget; and the settings tried."""
    found = newest(records)
    budgets = budgets_of(found)
    by_name = {
        name: [found.get((name, budget)) for budget in budgets]
        for name in dict.fromkeys(name for name, _ in found)
    }
    falling = sorted(by_name.items(), key=lambda item: -item[1][0]["bleu"] if item[1][0] else 0)
    rows = [_system(name, results) for name, results in falling]
    head = ["System"]
    for budget in budgets:
        named = budget if budget == CONVERGED else f"{budget:g} FLOPs"
        head += [f"BLEU, {named}", "p"]
    head += ["Parameters", "Paper, WMT 2014 en-de"]
    title = f"Batches of {batch_tokens(list(found.values())[-1]):,} tokens"
    yield FilledTable(head, rows, list(found.values()), title)
    yield from tried(
        {
            name: record
            for (name, budget), record in found.items()
            if not name.startswith("ensemble")
            and (record.get("grid") or {}).get("budget") == budget
        }
    )


def _system(name: str, results: list[Record | None]) -> list[str]:
    """Return the row of a system: the mean and the spread of its seeds for each budget."""
    cells = []
    for result in results:
        if result is None:
            cells += [NONE, NONE]
            continue
        seeds, p_values = result.get("bleus", []), result.get("p_values")
        spread = f" (spread {fixed(result['spread'])}, n = {len(seeds)})" if seeds[1:] else ""
        p = fixed(max(p_values), 4) if p_values else NONE
        cells += [fixed(result["bleu"]) + spread, p]
    (parameters, *_) = (fixed(result["parameters"], 0) for result in results if result)
    return [name, *cells, parameters, SYSTEMS[name].paper if name in SYSTEMS else NONE]


# ---- training ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """A system trained within a budget, and its translations of the test set.

    name: Name of the system.
    flops: The budget; None: until convergence.
    tries: The grid's settings and their dev scores.
    models: The receipts of a model, or of the members of an ensemble, for each seed.
    translations: Of the test set, for each seed.
    """

    name: str
    flops: float | None
    tries: list[dict[str, Any]]
    models: list[Receipts]
    translations: list[Lines]


def trained(name: str, flops: float | None, data: Path, args: argparse.Namespace) -> Trained:
    """Choose the settings of a system, train it within a budget, and translate the test set."""
    system = SYSTEMS[name]
    print(f"{name}:", flush=True)
    setting, tries = choose(GRID, lambda each: train(system, args.grid_flops, each, 1, data, args))
    each = flops and flops * system.share
    models = [
        [train(system, each, setting, first + i, data, args) for i in range(system.members)]
        for first in range(1, 1 + (args.seeds if system.members == 1 else 1))
    ]
    return Trained(name, flops, tries, models, [translated(model, args) for model in models])


def train(
    system: System,
    flops: float | None,
    setting: Setting,
    seed: int,
    data: Path,
    args: argparse.Namespace,
) -> dict[str, Any]:
    """Train one model; return its receipt, with its folder as "model"."""
    recipe = within(flops, setting.apply(recipe_of(system, args)), data)
    budget = f"{flops:g}" if flops else CONVERGED
    # Not named after the system, so that a system and an ensemble of it share models.
    parts = [Path(system.recipe).stem, *system.changes, budget, str(setting), str(seed)]
    folder = args.runs / slug(" ".join(parts))
    facts = runs.train(recipe.model_copy(update={"seed": seed}), folder, data=data)
    return facts | {"model": folder / "model"}


def translated(models: Receipts, args: argparse.Namespace) -> Lines:
    """Translate the test set with a model or an ensemble."""
    first, *others = (receipt["model"] for receipt in models)
    translator = runs.open_translator(first, *others, threads=args.threads)
    return translator.translate(list(read_lines(args.data / "multi30k" / "test2016.en")))


# ---- results -------------------------------------------------------------------------------------


def result_of(found: Trained, baseline: Trained, args: argparse.Namespace) -> dict[str, Any]:
    """Return BLEU on the test set, its cost, and the comparison with the baseline."""
    test = args.data / "multi30k" / "test2016.de"
    scores = [yakusu.evaluate(made, test, lowercase=True)[0] for made in found.translations]
    bleus = [round(score.value, 2) for score in scores]
    compare = partial(paired_bootstrap, references=list(read_lines(test)), lowercase=True)
    n = len(found.translations)  # an ensemble has one, whatever the number of seeds
    pairs = zip(baseline.translations[:n], found.translations, strict=True)
    models = found.models[0]
    recipe = {k: v for k, v in models[0]["recipe"].items() if k not in ("run", "data")}
    return {
        "name": found.name,
        "score": "; ".join(map(str, scores)),
        "paper": SYSTEMS[found.name].paper,
        "bleu": round(statistics.mean(bleus), 2),
        "spread": round(max(bleus) - min(bleus), 2),
        "bleus": bleus,
        "p_values": []
        if found.name == baseline.name
        else [round(compare(theirs, ours).p_value, 4) for theirs, ours in pairs],
        "counted": sum(receipt["flops"]["counted"] for receipt in models),
        "minutes": round(sum(receipt["wall_seconds"] for receipt in models) / 60, 1),
        "parameters": sum(receipt["parameters"] for receipt in models),
        "members_dev_bleu": [round(each["validations"][-1]["dev_bleu"], 2) for each in models],
        "steps": models[0]["steps"],
        "curve": [(event["step"], event["dev_bleu"]) for event in models[0]["validations"]],
        "budget": found.flops or CONVERGED,
        "grid": {"budget": args.grid_flops, "tries": found.tries},
        "recipe": recipe,
    }


def show(results: Sequence[Mapping[str, Any]]) -> None:
    """Print our rows and the paper's."""
    print(
        f"\n{'Multi30k en-de, test2016':52}{'budget':>18}{'BLEU':>7}{'spread':>7}{'p':>8}"
        f"{'counted':>9}{'parameters':>12}  paper, WMT 2014 en-de"
    )
    for r in results:
        p = f"{max(r['p_values']):.4f}" if r["p_values"] else "-"
        budget = r["budget"] if r["budget"] == CONVERGED else f"{r['budget']:g}"
        print(
            f"{r['name']:52}{budget:>18}{r['bleu']:7.2f}{r['spread']:7.2f}{p:>8}"
            f"{r['counted']:9.1e}{r['parameters']:12,}  {r['paper']}"
        )


def draw(path: Path, records: Sequence[Record]) -> None:
    """Draw the final test BLEU of each system, and dev BLEU in training against FLOPs."""
    found, names = ranked(records)
    figure = Figure(figsize=(13, 5), layout="constrained")
    ends, curves = figure.subplots(1, 2)
    draw_ends(ends, found, names)
    draw_curves(curves, found, [name for name in names if SYSTEMS[name].members == 1])
    figure.savefig(path, dpi=110, metadata={"Software": None})


def ranked(records: Iterable[Record]) -> tuple[Found, list[str]]:
    """Return the results of the systems, and their names in the order of their best BLEU."""
    found = {key: each for key, each in newest(records).items() if key[0] in SYSTEMS}
    falling = sorted(found, key=lambda key: -float(found[key]["bleu"]))
    return found, list(dict.fromkeys(name for name, _ in falling))


def draw_ends(axes: Axes, found: Found, names: Sequence[str]) -> None:
    """Draw a row for each system, with a marker for each budget."""
    for marker, budget in zip("osD^", budgets_of(found), strict=False):
        label = budget if budget == CONVERGED else f"budget of {budget:g} FLOPs"
        axes.plot([], [], marker, color="gray", label=label)
        for row, name in enumerate(names):
            if result := found.get((name, budget)):
                axes.plot(result["bleu"], row, marker, color=_color(name))
    axes.set(xlabel="BLEU", title="test2016, at the end", yticks=range(len(names)))
    axes.set_yticklabels(names)
    axes.invert_yaxis()
    axes.grid(axis="y", linewidth=0.5)
    axes.legend(fontsize="small", loc="lower right")


def draw_curves(axes: Axes, found: Found, names: Sequence[str]) -> None:
    """Draw learning curves of single models; those of all budgets but the largest are dashed."""
    *smaller, largest = budgets_of(found)
    for name, budget in product(names, (*smaller, largest)):
        if result := found.get((name, budget)):
            steps, bleu = zip(*result["curve"], strict=True)
            spent = [result["counted"] * step / result["steps"] for step in steps]
            line = "o-" if budget == largest else "o--"
            axes.plot(spent, bleu, line, color=_color(name))
    axes.set(xlabel="FLOPs counted", ylabel="BLEU")
    axes.set_title("dev set, in training (dashed: smaller budgets)")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:.0e}"))
    axes.minorticks_off()


def _color(name: str) -> Any:
    return colormaps["tab20"](SYSTEMS[name].color)


def main(args: argparse.Namespace) -> None:
    """Train and score each system within each budget, print, draw."""
    data = prepare(recipe_of(SYSTEMS[BASELINE], args), args.runs / "data")
    results, recorded = [], False
    for flops in [*args.flops, *([None] if args.converge else [])]:
        baseline = trained(BASELINE, flops, data, args)
        for name in args.systems:
            if flops is None and SYSTEMS[name].share < 1:
                continue  # there is no budget to divide
            found = baseline if name == BASELINE else trained(name, flops, data, args)
            results.append(result_of(found, baseline, args))
            recorded = benchmark.record(results[-1])
            show(results[-1:])
    show(results)
    print("\nNot reproduced:")
    for name, reason in NOT_REPRODUCED.items():
        print(f"  {name}: {reason}")
    if recorded:
        draw(RESULTS / "table2.png", read("table2"))


if __name__ == "__main__":
    benchmark.run(main)
