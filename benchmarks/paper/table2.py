"""Table 2: BLEU and training cost of every system, all trained on Multi30k within one budget.

The budget is in counted FLOPs, which are the same on any machine, however busy. A system trains
until it has spent them; its warm-up is the same share of its steps as in its recipe, and its peak
rate the recipe's. Every step consists of four or more batches. The other cost is the paper's: time
x sustained rate of this machine, which also counts time spent waiting.
"""

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

import yakusu
from benchmarks import runs
from benchmarks.common import Benchmark
from benchmarks.paper.table2_rows import (
    MIN_BATCHES,
    NOT_REPRODUCED,
    SYSTEMS,
    System,
    batch_tokens,
    newest,
)
from benchmarks.quick import SETTINGS as QUICK
from benchmarks.records import RESULTS, Record, read
from benchmarks.runs import RECIPES, prepare, slug
from yakusu.data.batches import epoch_steps
from yakusu.data.pairs import Pairs
from yakusu.data.text import read_lines
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError
from yakusu.model.architectures import build
from yakusu.pipeline.training_facts import flops_per_token
from yakusu.recipe import Recipe

MIN_STEPS = 8


benchmark = Benchmark(
    "table2",
    __doc__,
    example="python -m benchmarks.paper.table2 --runs runs/table2 --systems Transformer",
    needs=["data", "runs"],
    quick={
        "flops": 8e9,
        "step_tokens": 60,
        "systems": ["Transformer", "ByteNet", "GNMT (without RL)", "ConvS2S"],
        "set": QUICK,
    },
)
benchmark.option(
    "--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS, help="default: all"
)
benchmark.option("--flops", type=float, default=2e13, help="budget per model (%(default)g)")
benchmark.option("--step-tokens", type=int, default=2000, help="tokens per step (%(default)s)")
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


# ---- one budget ----------------------------------------------------------------------------------


def recipe_of(system: System, args: argparse.Namespace) -> Recipe:
    """Return the recipe of a system, before the budget; its steps have four or more batches."""
    batches = {"step_tokens": args.step_tokens, "batch_tokens": args.step_tokens // MIN_BATCHES}
    sizes = [f"batches.{key}={value}" for key, value in batches.items()]
    changes = (*sizes, *system.changes, *args.set)
    return yakusu.load_recipe(RECIPES / system.recipe, changes)


def within(flops: float, recipe: Recipe, data: Path) -> Recipe:
    """Return the recipe with as many steps as a budget of FLOPs allows."""
    pairs, tokenizer = Pairs.open(data, "train"), Tokenizer.load(data)
    model = build(recipe.model, **tokenizer.vocab_sizes)
    batch_tokens = recipe.batches.batch_tokens_on("cpu")
    epoch = epoch_steps(
        pairs,
        step_tokens=recipe.batches.step_tokens,
        batch_tokens=batch_tokens,
        seed=recipe.seed,
        epoch=0,
    )
    step_flops = flops_per_token(model, pairs, recipe) * pairs.tgt.lengths.sum() / len(epoch)
    training = recipe.training
    steps = round(flops / float(step_flops))
    if steps < MIN_STEPS:
        raise DataError(
            f"--flops {flops:g} allows only {steps} steps of {recipe.model.name}: give "
            f"{MIN_STEPS * float(step_flops):.1e} or more"
        )
    warmup = math.ceil(training.warmup_steps * steps / training.max_steps)
    changes = {
        "max_steps": steps,
        "warmup_steps": warmup,
        # The peak of Eq. 3, at warmup^-0.5, stays the same.
        "lr_scale": training.lr_scale * math.sqrt(warmup / training.warmup_steps),
        "validate_steps": math.ceil(steps / 4),
        "keep_last": 1,
    }
    return recipe.model_copy(update={"training": training.model_copy(update=changes)})


def train(system: System, data: Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Train a system; return the receipts of its models, with the folder of each as "model"."""
    recipe, receipts = within(args.flops, recipe_of(system, args), data), []
    for seed in system.seeds:
        # Not named after the system: the first model of an ensemble is a system itself.
        parts = [Path(system.recipe).stem, *system.changes, f"{args.flops:g}", str(seed)]
        folder = args.runs / slug(" ".join(parts))
        facts = runs.train(recipe.model_copy(update={"seed": seed}), folder, data=data)
        receipts.append(facts | {"model": folder / "model"})
    return receipts


# ---- what it gives -------------------------------------------------------------------------------


def result_of(
    name: str, receipts: list[dict[str, Any]], args: argparse.Namespace
) -> dict[str, Any]:
    """Return BLEU on the test set, and both costs."""
    first, *others = (receipt["model"] for receipt in receipts)
    translator = yakusu.Translator.load(first, ensemble=others)
    test = args.data / "multi30k" / "test2016.en"
    made = translator.translate(list(read_lines(test)))
    score = yakusu.evaluate(made, test.with_suffix(".de"), lowercase=True)[0]
    counted = sum(receipt["flops"]["counted"] for receipt in receipts)
    formula = sum(receipt["flops"]["paper"] for receipt in receipts)
    recipe = {k: v for k, v in receipts[0]["recipe"].items() if k not in ("run", "data")}
    return {
        "name": name,
        "score": f"{score}; {counted:.1e} FLOPs counted, {formula:.1e} by the formula",
        "paper": SYSTEMS[name].paper,
        "bleu": round(score.value, 2),
        "counted": counted,
        "formula": formula,
        "minutes": round(sum(receipt["wall_seconds"] for receipt in receipts) / 60, 1),
        "parameters": sum(receipt["parameters"] for receipt in receipts),
        "steps": receipts[0]["steps"],
        "curve": [(event["step"], event["dev_bleu"]) for event in receipts[0]["validations"]],
        "budget": args.flops,
        "recipe": recipe,
    }


def show(results: Mapping[str, dict[str, Any]]) -> None:
    """Print our rows and the paper's."""
    print(
        f"\n{'Multi30k en-de, test2016':38}{'BLEU':>6}{'counted':>10}{'formula':>10}"
        f"{'minutes':>9}{'parameters':>12}  paper, WMT 2014 en-de"
    )
    for name, r in results.items():
        print(
            f"{name:38}{r['bleu']:6.2f}{r['counted']:10.1e}{r['formula']:10.1e}"
            f"{r['minutes']:9.1f}{r['parameters']:12,}  {r['paper']}"
        )


def draw(path: Path, records: Sequence[Record]) -> None:
    """Draw BLEU against FLOPs, during training and at the end, for all budgets.

    Runs whose batches are larger or smaller than those of the last run are left out.
    """
    size = batch_tokens(max(records, key=lambda record: record.date))
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    curves, ends = figure.subplots(1, 2, sharey=True)
    colors = dict(zip(SYSTEMS, colormaps["tab20"].colors, strict=False))  # type: ignore[attr-defined]
    for (name, _), result in newest(records).items():
        if batch_tokens(result) != size or name not in SYSTEMS:
            continue
        color = colors[name]
        steps, bleu = zip(*result["curve"], strict=True)
        spent = [result["budget"] * step / result["steps"] for step in steps]
        if len(SYSTEMS[name].seeds) == 1:
            curves.plot(spent, bleu, "o-", color=color)
        ends.plot(result["formula"], result["bleu"], "o", color=color, label=name)
    curves.set(xlabel="FLOPs counted, of one model", ylabel="BLEU", title="dev set, in training")
    ends.set(xlabel="FLOPs by the formula: time x rate", title="test2016, at the end")
    for axes in (curves, ends):
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    once = dict(zip(*reversed(ends.get_legend_handles_labels()), strict=True))
    ends.legend(once.values(), once, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(args: argparse.Namespace) -> None:
    """Train and score each system, print, draw."""
    data = prepare(recipe_of(SYSTEMS["Transformer"], args), args.runs / "data")
    results, recorded = {}, False
    for name in args.systems:
        results[name] = result_of(name, train(SYSTEMS[name], data, args), args)
        recorded = benchmark.record(results[name])
        show({name: results[name]})
    show(results)
    print("\nNot reproduced:")
    for name, reason in NOT_REPRODUCED.items():
        print(f"  {name}: {reason}")
    if recorded:
        draw(RESULTS / "table2.png", read("table2"))


if __name__ == "__main__":
    benchmark.run(main)
