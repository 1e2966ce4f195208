"""Table 3: rows (A) to (E), base and big: parameters at full size, quality at a smaller one.

A row changes the full-size base model as the paper does. Its parameters are counted so, with
37,000 tokens. Trained is its counterpart of table3.toml, in which N, d_model, d_ff, d_k and d_v
stand in the same ratio to the base model's; heads, dropout and smoothing are the paper's own. All
are trained with one budget, big three times as long. The base model is trained with several
seeds: the spread of its scores is the noise, and a smaller effect is none.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

import yakusu
from common import RESULTS, record, start
from runs import prepared, records, slug, trained
from yakusu.model.architectures import build
from yakusu.recipe import Recipe

HERE = Path(__file__).parent
SIZES = ("n_layers", "d_model", "d_ff", "d_k", "d_v")  # those that are scaled down
NONE = {"perplexity": 0.02, "bleu": 0.1}  # a published effect of at most this is none


@dataclass(frozen=True)
class Row:
    """A row of Table 3, as published."""

    recipe: str
    perplexity: float
    bleu: float
    millions: int  # of parameters


ROWS = {
    "base": Row("base", 4.92, 25.8, 65),
    "D, P_drop = 0.0": Row("table3/D-drop0.0", 5.77, 24.6, 65),
    "D, P_drop = 0.2": Row("table3/D-drop0.2", 4.95, 25.5, 65),
    "D, eps_ls = 0.0": Row("table3/D-smooth0.0", 4.67, 25.3, 65),
    "D, eps_ls = 0.2": Row("table3/D-smooth0.2", 5.47, 25.7, 65),
    "C, N = 2": Row("table3/C-N2", 6.11, 23.7, 36),
    "C, N = 4": Row("table3/C-N4", 5.19, 25.3, 50),
    "C, N = 8": Row("table3/C-N8", 4.88, 25.5, 80),
    "C, d_model = 256": Row("table3/C-d256", 5.75, 24.5, 28),
    "C, d_model = 1024": Row("table3/C-d1024", 4.66, 26.0, 168),
    "C, d_ff = 1024": Row("table3/C-ff1024", 5.12, 25.4, 53),
    "C, d_ff = 4096": Row("table3/C-ff4096", 4.75, 26.2, 90),
    "A, h = 1": Row("table3/A-h1", 5.29, 24.9, 65),
    "A, h = 4": Row("table3/A-h4", 5.00, 25.5, 65),
    "A, h = 16": Row("table3/A-h16", 4.91, 25.8, 65),
    "A, h = 32": Row("table3/A-h32", 5.01, 25.4, 65),
    "B, d_k = 16": Row("table3/B-dk16", 5.16, 25.1, 58),
    "B, d_k = 32": Row("table3/B-dk32", 5.01, 25.4, 60),
    "E, learned positions": Row("table3/E-learned", 4.92, 25.7, 65),
    "big": Row("big", 4.33, 26.4, 213),
}


# ---- what is trained -----------------------------------------------------------------------------


def full_size(row: str) -> Recipe:
    """The recipe of a row as the paper trained it."""
    return yakusu.load_recipe(ROWS[row].recipe)


def millions(recipe: Recipe) -> float:
    """Parameters with 37,000 shared tokens, counted without making them."""
    with torch.device("meta"):
        model = build(recipe.model, src_vocab_size=37_000, tgt_vocab_size=37_000)
    return sum(parameter.numel() for parameter in model.parameters()) / 1e6


def scaled(row: str, small: Recipe) -> Recipe:
    """The row's counterpart of the small base model: the same ratios of what the row varies."""
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


def train_missing(
    rows: Sequence[tuple[str, int]], small: Recipe, args: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    """Train and record each row and seed that has no record yet; return all that are known."""
    results = {r["name"]: r for r in records("table3")}
    data = prepared(small, args.runs / "data")
    for row, seed in rows:
        name = name_of(row, seed)
        if name in results:
            continue
        recipe = scaled(row, small).model_copy(update={"seed": seed})
        facts = trained(recipe, args.runs / slug(name), data=data)
        validation, paper = facts["validations"][-1], ROWS[row]
        results[name] = {
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
        print(f"{name}: {results[name]['score']}, {results[name]['minutes']} minutes", flush=True)
        if args.record:
            record("table3", results[name], seed=seed, threads=torch.get_num_threads())
    return results


def name_of(row: str, seed: int) -> str:
    """What the record of a row and seed is called."""
    return row if seed == 1 else f"{row}, seed {seed}"


# ---- what it shows -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Base:
    """The mean of a score of the base model, and how far its seeds lie apart."""

    mean: float
    noise: float  # between the best and the worst seed

    @classmethod
    def of(cls, records: dict[str, dict[str, Any]], measure: str) -> "Base":
        """Over all seeds that are done."""
        values = [record[measure] for name, record in records.items() if name.startswith("base")]
        return cls(sum(values) / len(values), max(values) - min(values))


def verdict(row: str, measure: str, value: float, base: Base) -> str:
    """How the effect of a row compares with the published one."""
    paper = getattr(ROWS[row], measure) - getattr(ROWS["base"], measure)
    ours = value - base.mean
    published = round(abs(paper), 3) > NONE[measure]
    if abs(ours) <= base.noise:
        return "within the noise" if published else "no effect, as the paper"
    if not published:
        return "an effect, the paper has none"
    return "as the paper" if paper * ours > 0 else "the other way"


def show(records: dict[str, dict[str, Any]]) -> None:
    """Print the paper's rows beside ours."""
    bases = {measure: Base.of(records, measure) for measure in NONE}
    noise = ", ".join(f"{m} {base.mean:.2f}, {base.noise:.2f} apart" for m, base in bases.items())
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


def draw(path: Path, records: dict[str, dict[str, Any]]) -> None:
    """The effect of each row on the base model, ours above the paper's."""
    rows = [row for row in ROWS if row in records and row != "base"]
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, measure, title in zip(
        axes, NONE, ("dev perplexity: times base, less 1", "dev BLEU: less base"), strict=True
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


def main() -> None:
    """Train what is missing, print, draw."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: python benchmarks/table3.py --runs runs/table3",
    )
    parser.add_argument("--runs", type=Path, required=True, help="folder for the run folders")
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=ROWS, help="or else all")
    parser.add_argument("--seeds", type=int, default=3, help="of the base model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--no-record", dest="record", action="store_false", help="only print the result"
    )
    args = parser.parse_args()
    if args.seeds < 2:
        parser.error("--seeds: the noise is what lies between 2 or more")
    torch.set_num_threads(args.threads)
    seeds = [("base", seed) for seed in range(1, args.seeds + 1)]
    rows = [*seeds, *((row, 1) for row in args.rows if row != "base")]
    results = train_missing(rows, yakusu.load_recipe(HERE / "table3.toml"), args)
    show(results)
    if args.record:
        draw(RESULTS / "table3.png", results)


if __name__ == "__main__":
    start(main)
