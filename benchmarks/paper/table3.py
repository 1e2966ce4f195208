"""Table 3: rows (A) to (E), base and big: parameters at full size, quality at a smaller size.

A row changes the full-size base model as in the paper; its parameters are counted with 37,000
tokens. The model that is trained is its scaled-down counterpart, based on table3.toml: N, d_model,
d_ff, h and the total width of the heads have the same ratios to those of the base model as in the
paper; dropout and label smoothing are the paper's.

Heads have 16 or more dimensions: with d_model = 128, the base model has 4 heads of 32, half as many
as the paper's. So 2 heads of 64 stand for h = 4, and 8 of 16 for h = 16. h = 1 is also one head
here: a quarter of the base model's heads, but an eighth in the paper. h = 32 is not run. Only the
keys of row (B) are smaller: 8 and 16 dimensions, a quarter and a half of the base model's.

A model trains until the perplexity of the dev set has not improved for `patience` validations; its
result is that of its best validation. The peak rate is tuned for rows (C) and big, whose sizes
differ: each is trained at several multiples of the recipe's rate, and its result is the one with
the lowest perplexity. big is also trained with pre-norm and with a dropout of 0.1, at the best rate
of the paper's configuration. The base model has one rate, so the effects of these rows include that
of choosing the best of several.

The base model is trained with several seeds: the spread of its scores is the noise, and smaller
differences do not count as effects. If the scores of seeds are normally distributed, a row without
an effect exceeds the spread of three seeds in 24% of cases, and the best of three rates in 28%.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

import yakusu
from benchmarks import runs
from benchmarks.common import Benchmark
from benchmarks.paper.table3_rows import (
    BIG,
    NOISE,
    NOT_RUN,
    RATES,
    ROWS,
    TUNED,
    Base,
    Result,
    Variant,
    best,
    comparable,
    row_of,
    trained_as,
    verdict,
)
from benchmarks.quick import SETTINGS
from benchmarks.records import RESULTS, Record, read
from benchmarks.runs import RECIPES, prepare, slug
from benchmarks.tables import NONE, FilledTable, Table, fixed
from yakusu.errors import RecipeError
from yakusu.model.architectures import build
from yakusu.recipe import Recipe

CHOICES = tuple(row for row in ROWS if row not in NOT_RUN)
QUICK = ("training.max_steps=3", "training.warmup_steps=2", "batches.step_tokens=500", *SETTINGS)

benchmark = Benchmark(
    "table3",
    __doc__,
    example="python -m benchmarks.paper.table3 --runs runs/table3",
    needs=["data", "runs"],
    quick={"rows": ["A, h = 1", "C, N = 2"], "seeds": 2, "set": QUICK},
)
benchmark.option("--rows", nargs="+", default=list(CHOICES), choices=CHOICES, help="default: all")
benchmark.option("--seeds", type=int, default=3, help="seeds of the base model (%(default)s)")
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


_RUNS = Table(
    (
        ("Model", "{name}"),
        ("Perplexity", "{perplexity:,.2f}"),
        ("BLEU", "{bleu:,.2f}"),
        ("Best at step", "{best_step:,.0f}"),
        ("Steps", "{steps:,.0f}"),
        ("Ended by", lambda record: record["limit"].partition(" ")[0]),
        ("Minutes", "{minutes:,.0f}"),
        ("FLOPs counted", "{flops.counted:.1e}"),
    ),
    title="Training runs",
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Table 3, and the models that were trained for it, with those at rates not chosen."""
    found = comparable(records)
    results = best(record.model_extra or {} for record in found)
    bases = {measure: Base.of(results, measure) for measure in NOISE}
    rows = []
    for name, result in results.items():
        paper, cells = ROWS[row_of(name)], [trained_as(result, results["base"]) or NONE]
        for measure, digits in (("perplexity", 2), ("bleu", 1)):
            effect = verdict(name, measure, result[measure], bases[measure]) or NONE
            cells += [fixed(result[measure]), fixed(getattr(paper, measure), digits), effect]
        rows.append([name, *cells, fixed(result["parameters"], 0)])
    head = ["Row", "Trained as", "Perplexity", "Paper", "Effect", "BLEU", "Paper", "Effect"]
    base = results["base"]["recipe"]["model"]
    title = "Effects; base has N = {n_layers}, d_model = {d_model}, d_ff = {d_ff}, h = {n_heads}"
    yield FilledTable([*head, "Parameters"], rows, found, title.format_map(base))
    if runs := [record for record in found if record.get("curve")]:
        yield from _RUNS(runs)


# ---- training ------------------------------------------------------------------------------------


def full_size(row: str) -> Recipe:
    """Return the recipe of a row as in the paper."""
    return yakusu.load_recipe(ROWS[row].recipe)


def millions(recipe: Recipe) -> float:
    """Return the parameters with 37,000 shared tokens, counted without allocating them."""
    with torch.device("meta"):
        model = build(recipe.model, src_vocab_size=37_000, tgt_vocab_size=37_000)
    return sum(parameter.numel() for parameter in model.parameters()) / 1e6


def scaled(variant: Variant, small: Recipe) -> Recipe:
    """Return the counterpart of a variant, with the same ratios to the small base model."""
    full, base = full_size(variant.row), full_size("base")

    def in_ratio(*sizes: str) -> int:
        """Return a product of sizes: ours, times the row's, divided by the base model's."""
        ours, row, of = (
            math.prod(getattr(recipe.model, size) for size in sizes)
            for recipe in (small, full, base)
        )
        return ours * row // of

    n_heads = max(1, in_ratio("n_heads"))
    norm, dropout = variant.cell or (small.model.norm, full.model.dropout)
    model = {
        **{size: in_ratio(size) for size in ("n_layers", "d_model", "d_ff")},
        **{size: in_ratio("n_heads", size) // n_heads for size in ("d_k", "d_v")},
        "n_heads": n_heads,
        "positions": full.model.positions,
        "norm": norm,
        "dropout": dropout,
    }
    training = {
        "label_smoothing": full.training.label_smoothing,
        "lr_scale": small.training.lr_scale * (variant.rate or 1),
    }
    return small.model_copy(
        update={
            "seed": variant.seed,
            "model": small.model.model_copy(update=model),
            "training": small.training.model_copy(update=training),
        }
    )


def result_of(variant: Variant, small: Recipe, data: Path, folder: Path) -> dict[str, Any]:
    """Train a variant in a folder; return its best validation and its learning curve."""
    recipe, paper, run = scaled(variant, small), ROWS[variant.row], folder / slug(variant.name)
    facts = runs.train(recipe, run, data=data)
    curve, best_step = runs.curve(run), facts["validations"][-1]["best_step"]
    at_best = next(point for point in curve if point["step"] == best_step)
    perplexity, bleu = at_best["dev_perplexity"], at_best["dev_bleu"]
    signature = facts["scores"][0].partition(" (")[2]
    return {
        "name": variant.name,
        "score": f"dev perplexity {perplexity:.2f}, BLEU = {bleu:.2f} ({signature}",
        "paper": f"{paper.perplexity:.2f}, {paper.bleu:.1f} (WMT 2014 en-de, full size)",
        "perplexity": perplexity,
        "bleu": bleu,
        "rate": variant.rate,
        "best_step": best_step,
        "steps": facts["steps"],
        "limit": facts["limit"],
        "minutes": round(facts["wall_seconds"] / 60, 1),
        "parameters": facts["parameters"],
        "flops": facts["flops"],
        "curve": curve,
        "recipe": recipe.model_dump(exclude={"run", "data"}),
    }


def train_row(row: str, seeds: int, train: Callable[[Variant], Result]) -> list[Result]:
    """Train all variants of a row: seeds of base, rates of (C) and big, norms and dropouts of big.

    Args:
        row: The row.
        seeds: Number of seeds of the base model.
        train: Trains one variant and returns its result.
    """
    if row not in TUNED:
        last = seeds if row == "base" else 1
        return [train(Variant(row, seed=seed)) for seed in range(1, last + 1)]
    first, *others = BIG if row == "big" else (None,)
    found = [train(Variant(row, rate=rate, cell=first)) for rate in RATES]
    (chosen,) = best(found).values()
    return found + [train(Variant(row, rate=chosen["rate"], cell=cell)) for cell in others]


# ---- results -------------------------------------------------------------------------------------


def show(results: Mapping[str, Result]) -> None:
    """Print our rows next to the paper's."""
    bases = {measure: Base.of(results, measure) for measure in NOISE}
    noise = ", ".join(f"{m} {base.mean:.2f}, spread {base.noise:.2f}" for m, base in bases.items())
    print(f"\nbase over its seeds: {noise}\n")
    print(
        f"{'':32}{'millions':>10}{'paper':>6}   {'PPL':>7}{'paper':>7}  {'effect':31}"
        f"{'BLEU':>7}{'paper':>7}  effect"
    )
    for name, result in results.items():
        row = row_of(name)
        paper = ROWS[row]
        line = f"{name:32}{millions(full_size(row)):10.1f}{paper.millions:6}   "
        for measure in NOISE:
            value = result[measure]
            effect = verdict(name, measure, value, bases[measure])
            line += f"{value:7.2f}{getattr(paper, measure):7.2f}  {effect:31}"
        print(line.rstrip())
    for row, reason in NOT_RUN.items():
        print(f"{row}: not run, because {reason}")


def draw(path: Path, results: Mapping[str, Result]) -> None:
    """Draw the effect of each row on the base model, ours above the paper's."""
    names = [name for name in results if row_of(name) != "base"]
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, measure, title in zip(
        axes, NOISE, ("dev perplexity / base - 1", "dev BLEU - base"), strict=True
    ):
        base = Base.of(results, measure)
        ours = [results[name][measure] for name in names], base.mean, "ours, scaled down", "C0"
        paper = [getattr(ROWS[row_of(name)], measure) for name in names]
        theirs = paper, getattr(ROWS["base"], measure), "the paper", "C7"
        places = np.arange(len(names))
        for shift, (values, of, label, colour) in zip((-0.2, 0.2), (ours, theirs), strict=True):
            effects = (
                np.array(values) / of - 1 if measure == "perplexity" else np.array(values) - of
            )
            ax.barh(places + shift, effects, height=0.4, color=colour, label=label)
        noise = base.noise / (base.mean if measure == "perplexity" else 1)
        ax.axvspan(-noise, noise, color="C1", alpha=0.3, label="noise of seeds")
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set(title=title, yticks=places, yticklabels=names)
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(args: argparse.Namespace) -> None:
    """Train the base model, then the rows whose rate is not tuned, then the others; print, draw."""
    if args.seeds < 2:
        raise RecipeError(f"--seeds {args.seeds}: the noise is the spread of 2 or more")
    small = yakusu.load_recipe(RECIPES / "table3.toml", args.set)
    data = prepare(small, args.runs / "data")

    def train(variant: Variant) -> Result:
        result = result_of(variant, small, data, args.runs)
        print(f"{result['name']}: {result['score']}, {result['minutes']} minutes", flush=True)
        if benchmark.record(result, seed=variant.seed):
            recorded = best(record.model_extra or {} for record in comparable(read("table3")))
            draw(RESULTS / "table3.png", recorded)
        return result

    rows = [row for row in ROWS if row == "base" or row in args.rows]
    in_order = sorted(rows, key=TUNED.__contains__)
    show(best(result for row in in_order for result in train_row(row, args.seeds, train)))


if __name__ == "__main__":
    benchmark.run(main)
