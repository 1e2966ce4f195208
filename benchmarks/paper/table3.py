"""Table 3: rows (A) to (E), base and big: parameters at full size, quality at a smaller size.

A row changes the full-size base model as in the paper; its parameters are counted with 37,000
tokens. What is trained is its counterpart of table3.toml, in which N, d_model, d_ff, d_k and d_v
have the same ratio to the base model's; heads, dropout and smoothing are the paper's. All have the
same budget of steps, big three times as many. The base model is trained with several seeds: the
spread of its scores is the noise, and smaller differences do not count as effects.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

import yakusu
from benchmarks import runs
from benchmarks.common import Benchmark
from benchmarks.paper.table3_rows import NOISE, ROWS, Base, verdict
from benchmarks.quick import SETTINGS
from benchmarks.records import RESULTS, read
from benchmarks.runs import RECIPES, prepare, slug
from yakusu.errors import RecipeError
from yakusu.model.architectures import build
from yakusu.recipe import Recipe

SIZES = ("n_layers", "d_model", "d_ff", "d_k", "d_v")  # those that are scaled down
QUICK = ("training.max_steps=3", "training.warmup_steps=2", "batches.step_tokens=500", *SETTINGS)

benchmark = Benchmark(
    "table3",
    __doc__,
    example="python -m benchmarks.paper.table3 --runs runs/table3",
    needs=["data", "runs"],
    quick={"rows": ["C, N = 2"], "seeds": 2, "set": QUICK},
)
benchmark.option("--rows", nargs="+", default=list(ROWS), choices=ROWS, help="default: all")
benchmark.option("--seeds", type=int, default=3, help="seeds of the base model (%(default)s)")
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


# ---- training ------------------------------------------------------------------------------------


def full_size(row: str) -> Recipe:
    """Return the recipe of a row as in the paper."""
    return yakusu.load_recipe(ROWS[row].recipe)


def millions(recipe: Recipe) -> float:
    """Return the parameters with 37,000 shared tokens, counted without allocating them."""
    with torch.device("meta"):
        model = build(recipe.model, src_vocab_size=37_000, tgt_vocab_size=37_000)
    return sum(parameter.numel() for parameter in model.parameters()) / 1e6


def scaled(row: str, small: Recipe) -> Recipe:
    """Return the row's counterpart of the small base model, with the same ratios to it."""
    full, base = full_size(row), full_size("base")
    sizes = {
        size: getattr(small.model, size) * getattr(full.model, size) // getattr(base.model, size)
        for size in SIZES
    }
    kept = ("n_heads", "dropout", "positions")
    model = {**sizes, **{name: getattr(full.model, name) for name in kept}}
    training = {
        "label_smoothing": full.training.label_smoothing,
        "max_steps": small.training.max_steps * full.training.max_steps // base.training.max_steps,
    }
    return small.model_copy(
        update={
            "model": small.model.model_copy(update=model),
            "training": small.training.model_copy(update=training),
        }
    )


def result_of(
    row: str, seed: int, small: Recipe, data: Path, args: argparse.Namespace
) -> dict[str, Any]:
    """Train a row with a seed and return its scores."""
    name, paper = name_of(row, seed), ROWS[row]
    recipe = scaled(row, small).model_copy(update={"seed": seed})
    facts = runs.train(recipe, args.runs / slug(name), data=data)
    validation = facts["validations"][-1]
    return {
        "name": name,
        "score": f"dev perplexity {validation['dev_perplexity']:.2f}, {facts['scores'][0]}",
        "paper": f"{paper.perplexity:.2f}, {paper.bleu:.1f} (WMT 2014 en-de, full size)",
        "perplexity": round(validation["dev_perplexity"], 2),
        "bleu": round(validation["dev_bleu"], 2),
        "minutes": round(validation["seconds"] / 60, 1),
        "parameters": facts["parameters"],
        "flops": facts["flops"],
        "recipe": recipe.model_dump(exclude={"run", "data"}),
    }


def name_of(row: str, seed: int) -> str:
    """Return the name of the record of a row and seed."""
    return row if seed == 1 else f"{row}, seed {seed}"


# ---- results -------------------------------------------------------------------------------------


def show(records: Mapping[str, dict[str, Any]]) -> None:
    """Print the paper's rows next to ours."""
    bases = {measure: Base.of(records, measure) for measure in NOISE}
    noise = ", ".join(f"{m} {base.mean:.2f}, spread {base.noise:.2f}" for m, base in bases.items())
    print(f"\nbase over its seeds: {noise}\n")
    print(
        f"{'':22}{'millions':>10}{'paper':>6}   {'PPL':>7}{'paper':>7}  {'effect':32}"
        f"{'BLEU':>6}{'paper':>7}  effect"
    )
    for row, paper in ROWS.items():
        line = f"{row:22}{millions(full_size(row)):10.1f}{paper.millions:6}   "
        for measure, form in (("perplexity", "7.2f"), ("bleu", "7.2f")):
            value = records.get(row, {}).get(measure)
            effect = verdict(row, measure, value, bases[measure]) if value and row != "base" else ""
            ours = format(value, form) if value else f"{'-':>7}"
            line += f"{ours}{getattr(paper, measure):7.2f}  {effect:31}"
        print(line.rstrip())


def draw(path: Path, records: Mapping[str, dict[str, Any]]) -> None:
    """Draw the effect of each row on the base model, ours above the paper's."""
    rows = [row for row in ROWS if row in records and row != "base"]
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, measure, title in zip(
        axes, NOISE, ("dev perplexity: times base, less 1", "dev BLEU: less base"), strict=True
    ):
        base = Base.of(records, measure)
        ours = [records[row][measure] for row in rows], base.mean, "ours, scaled down", "C0"
        published = [getattr(ROWS[row], measure) for row in rows], getattr(ROWS["base"], measure)
        places = np.arange(len(rows))
        for shift, (values, of, label, colour) in zip(
            (-0.2, 0.2), (ours, (*published, "the paper", "C7")), strict=True
        ):
            effects = (
                np.array(values) / of - 1 if measure == "perplexity" else np.array(values) - of
            )
            ax.barh(places + shift, effects, height=0.4, color=colour, label=label)
        noise = base.noise / (base.mean if measure == "perplexity" else 1)
        ax.axvspan(-noise, noise, color="C1", alpha=0.3, label="noise of seeds")
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set(title=title, yticks=places, yticklabels=rows)
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(args: argparse.Namespace) -> None:
    """Train each row and seed, print, draw."""
    if args.seeds < 2:
        raise RecipeError(f"--seeds {args.seeds}: the noise is the spread of 2 or more")
    small = yakusu.load_recipe(RECIPES / "table3.toml", args.set)
    data = prepare(small, args.runs / "data")
    seeds = [("base", seed) for seed in range(1, args.seeds + 1)]
    results, recorded = {}, False
    for row, seed in [*seeds, *((row, 1) for row in args.rows if row != "base")]:
        result = result_of(row, seed, small, data, args)
        print(f"{result['name']}: {result['score']}, {result['minutes']} minutes", flush=True)
        recorded = benchmark.record(result, seed=seed)
        results[result["name"]] = result
    show(results)
    if recorded:
        draw(RESULTS / "table3.png", {r["name"]: r.model_extra or {} for r in read("table3")})


if __name__ == "__main__":
    benchmark.run(main)
