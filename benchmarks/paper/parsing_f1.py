"""Table 4: labelled F1 of parsers on a small treebank, from gold and automatically parsed trees.

The gold dev set has two parts. The first is used for all choices: the number of steps, the
checkpoints and, with --choose, settings. The other is parsed once, by the final models.

Models are trained on up to five sets of trees, which separate more annotation from
semi-supervision:

    half      the first half of the gold trees
    gold      all gold trees
    subtrees  gold trees, and their constituents of at least two words as trees of their own
    own       gold trees, and trees of GUM's sentences made by the system trained on `gold`
    gum       gold trees, and GUM's trees of the same sentences: another parser made them, from
              gold tags, so they contain annotation that the gold trees here do not

Each system is a run below --runs; rerun the same command to resume. A finished run is only scored.
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import yakusu
from benchmarks.common import Benchmark
from benchmarks.paper.parsing_systems import COMPARISONS, MODELS, PAPER, SYSTEMS, TREES, title
from benchmarks.paper.parsing_trees import (
    Scored,
    Trees,
    baseline,
    best_label,
    parsed,
    write_parses,
)
from benchmarks.quick import SETTINGS
from benchmarks.records import RESULTS, Record, read
from benchmarks.runs import Remarks, curve, slug, with_supported_engine
from benchmarks.tables import NONE, FilledTable, Table, fill, score_of
from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.pipeline.training.trained import Trained
from yakusu.recipe import Recipe

QUICK = (
    *SETTINGS,
    *("training.max_steps=2", "training.validate_steps=2", "batches.step_tokens=300"),
    *("model.d_model=32", "model.n_layers=1", "search.beam=2", "search.max_extra=20"),
)

LINES: dict[str, Any] = {  # styles of the sets of trees
    "half": ":",
    "gold": "--",
    "subtrees": (0, (8, 2)),
    "own": "-.",
    "gum": "-",
}

benchmark = Benchmark(
    "parsing_f1",
    __doc__,
    example="python -m benchmarks.paper.parsing_f1 --runs runs/parsing",
    needs=["data", "runs"],
    quick={"set": QUICK, "choosing": 2, "systems": ["transformer-own", "lstm-attention-gold"]},
)
benchmark.option(
    "--systems", nargs="*", default=list(SYSTEMS), choices=SYSTEMS, help="default: all"
)
benchmark.option(
    "--choosing",
    type=int,
    default=135,  # tree 136 starts a new article
    help="number of dev trees, from the first, that choices are made on (%(default)s)",
)
benchmark.option(
    "--choose", action="store_true", help="try settings, and score only on the part for choosing"
)
benchmark.option(
    "--weight", type=float, default=0.5, help="weight of an automatically parsed tree (%(default)s)"
)
benchmark.option(
    "--subtrees-weight", type=float, default=0.2, help="weight of a constituent (%(default)s)"
)
benchmark.option("--seed", type=int, default=1, help="seed of all runs (%(default)s)")
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


def _model(record: Record) -> str:
    """Return the title of a record's model, whatever it was when it was recorded."""
    model, _ = SYSTEMS.get(record["name"], ("", ""))
    return MODELS[model].title if model else str(record["model"])


_RESULTS = (
    ("System", _model),
    ("Trained on", lambda record: TREES.get(record.get("kind", ""), NONE)),
    ("F1, choosing", score_of("choosing", "F1")),
    ("F1", "{f1:,.2f}"),
    ("95% interval", lambda record: "{:.2f} to {:.2f}".format(*record["interval"])),
    ("Precision", score_of("score", "precision")),
    ("Recall", score_of("score", "recall")),
    ("Exact match", score_of("score", "exact match")),
    ("F1, GUM", score_of("gum", "F1")),
    ("Training pairs", "{pairs:,.0f}"),
    ("Seed", "{recipe.seed}"),
    ("Steps", "{steps:,.0f}"),
    ("Minutes", "{training_minutes:,.0f}"),
    ("Device", lambda record: record.machine.device if record.get("steps") else NONE),
    ("Paper's F1, WSJ 23", "{paper:,.1f}"),
)
_DIFFERENCES = (
    ("Effect", "{effect}"),
    ("From", lambda row: title(row["before"])),
    ("To", lambda row: title(row["after"])),
    ("Difference in F1", "{difference:+.2f}"),
    ("95% interval", lambda row: "{:+.2f} to {:+.2f}".format(*row["interval"])),
)
_TRIALS = Table(
    (
        ("System", "{model}"),
        ("Trained on", lambda record: TREES[record["kind"]]),
        ("Settings", lambda record: ", ".join(record["overrides"])),
        ("F1, choosing", score_of("choosing", "F1")),
        ("Steps", "{steps:,.0f}"),
    ),
    title="Settings that were compared",
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Table 4, the newest comparison of each two systems, and the settings that were compared.

    Earlier records, without intervals, chose and reported on the same trees and are not shown.
    """
    found = [record for record in records if record.get("interval")]
    yield fill(_RESULTS, sorted(found, key=lambda record: float(record["f1"])), found)
    if compared := [record for record in records if record.get("rows")]:
        rows = {(row["before"], row["after"]): row for record in compared for row in record["rows"]}
        yield fill(_DIFFERENCES, rows.values(), compared, "Differences between systems")
    if trials := [record for record in records if record.get("trial")]:
        yield from _TRIALS(trials)


def run_of(name: str, args: argparse.Namespace) -> Path:
    """Return the run folder of a system."""
    path: Path = args.runs / (name if args.seed == 1 else f"{name}-{args.seed}")
    return path


def own_trees(model: str, args: argparse.Namespace) -> Path:
    """Return the file of GUM's sentences as parsed by a model trained on the gold trees."""
    return run_of(f"{model}-gold", args) / "gum.mrg"


def weight_of(kind: str, args: argparse.Namespace) -> float:
    """Return the weight of the trees besides the gold ones; 0: there are none."""
    weights = {"subtrees": args.subtrees_weight, "own": args.weight, "gum": args.weight}
    return float(weights.get(kind, 0.0))


def recipe_of(name: str, args: argparse.Namespace, trees: Trees) -> Recipe:
    """Return the recipe of a system; the parses that it is trained on need not exist yet."""
    model, kind = SYSTEMS[name]
    extra = {"subtrees": trees.gold, "own": own_trees(model, args), "gum": trees.gum}.get(kind)
    subtrees = "true" if kind == "subtrees" else "false"
    weighted = f'trees="{extra}", subtrees={subtrees}, weight={weight_of(kind, args)}'
    recipe = yakusu.load_recipe(
        MODELS[model].recipe,
        [
            f'run="{run_of(name, args)}"',
            f"seed={args.seed}",
            f'data.train.trees="{trees.half if kind == "half" else trees.gold}"',
            f'data.dev.trees="{trees.choosing}"',
            *([f"data.extra={{{weighted}}}"] if extra else []),
            *MODELS[model].changes,
            *args.set,
        ],
    )
    return with_supported_engine(recipe)


def trained(name: str, args: argparse.Namespace, trees: Trees) -> Trained:
    """Train a system or resume its training; if it needs parses, train their parser first."""
    model, kind = SYSTEMS[name]
    if kind == "own":
        teacher = trained(f"{model}-gold", args, trees)
        write_parses(teacher.model, trees.gum, own_trees(model, args))
    return yakusu.train(recipe_of(name, args, trees), progress=Remarks(name))


def facts_of(name: str, made: Trained, args: argparse.Namespace, trees: Trees) -> dict[str, Any]:
    """Return facts about the training of a system, and its score on the part for choosing."""
    model, kind = SYSTEMS[name]
    receipt = read_receipt(made.model)
    return {
        "name": name,
        "model": MODELS[model].title,
        "kind": kind,
        "choosing": made.dev_score,
        "pairs": receipt.pairs.train,
        "parameters": receipt.parameters,
        "extra_weight": weight_of(kind, args),
        "steps": made.steps,
        "averaged_steps": list(receipt.averaged_steps),
        "training_minutes": round(made.seconds / 60, 1),
        "reason": made.reason,
        "curve": curve(run_of(name, args), "dev_f1"),
        "recipe": recipe_of(name, args, trees).model_dump(mode="json", exclude={"run", "data"}),
    }


def report_of(scored: Scored) -> dict[str, Any]:
    """Return the scores on the part for reporting."""
    return {"score": str(scored), "f1": round(scored.f1, 2), "interval": scored.interval}


def right_branching_row(trees: Trees) -> tuple[dict[str, Any], Scored]:
    """Score right-branching trees, with the label that scores best on the part for choosing."""
    label = best_label(trees.choosing)
    scored = baseline(label, trees.reporting)
    facts = {
        "name": "right-branching",
        "model": f"right-branching, all {label}",
        "choosing": str(baseline(label, trees.choosing).scores[0]),
    }
    return facts | report_of(scored), scored


def differences(found: dict[str, Scored]) -> list[dict[str, Any]]:
    """Compare the systems that were scored, on the same resamples of the sentences."""
    return [
        {
            "before": before,
            "after": after,
            "effect": effect,
            "difference": round(found[after].f1 - found[before].f1, 2),
            "interval": found[after].over(found[before]),
        }
        for before, after, effect in COMPARISONS
        if {before, after} <= found.keys()
    ]


def choose(args: argparse.Namespace, trees: Trees) -> None:
    """Train systems with other settings, in a folder of their own, without a report."""
    weights = f"weight={args.weight} subtrees_weight={args.subtrees_weight}"
    args.runs = args.runs / "choose" / slug(" ".join(args.set)) / slug(weights)
    for name in args.systems:
        facts = facts_of(name, trained(name, args, trees), args, trees)
        weight = facts["extra_weight"]
        settings = [*args.set, *([f"weight={weight}"] if weight else [])]
        print(f"{name}, {', '.join(settings)}: {facts['choosing']}", flush=True)
        trial = {"overrides": settings, "trial": True}
        benchmark.record(facts | trial, seed=facts["recipe"]["seed"])


def report(args: argparse.Namespace, trees: Trees) -> None:
    """Train systems, and score and compare them on the part for reporting."""
    row, scored = right_branching_row(trees)
    found = {row["name"]: scored}
    benchmark.record(row)
    for name in args.systems:
        made = trained(name, args, trees)
        found[name] = Scored.of(parsed(made.model, trees.reporting), trees.reporting)
        gum = Scored.of(parsed(made.model, trees.gum_dev), trees.gum_dev)
        model, kind = SYSTEMS[name]
        row = facts_of(name, made, args, trees) | report_of(found[name])
        row |= {"gum": str(gum.scores[0]), "paper": MODELS[model].paper.get(kind)}
        row |= {"overrides": args.set}
        if benchmark.record(row, seed=row["recipe"]["seed"]):
            draw(RESULTS / "parsing_f1.png", read("parsing_f1"))
    compared = differences(found)
    if compared:
        benchmark.record({"name": f"differences, {', '.join(args.systems)}", "rows": compared})
    show(found, compared)


def show(found: dict[str, Scored], compared: list[dict[str, Any]]) -> None:
    """Print the paper's rows and ours."""
    print("\nTable 4 of the paper: F1 on WSJ 23, from 40,000 gold trees")
    for name, value in PAPER.items():
        print(f"  {name:68} {value:6.1f}")
    print("here: F1 on the part for reporting, with its 95% interval")
    for name, scored in found.items():
        low, high = scored.interval
        print(f"  {name:68} {scored.f1:6.2f}   {low:.2f} to {high:.2f}")
    for row in compared:
        low, high = row["interval"]
        print(f"  {title(row['before'])} -> {title(row['after'])}")
        gain = f"{row['difference']:+6.2f}   {low:+.2f} to {high:+.2f}"
        print(f"    {row['effect']:66} {gain}")


def draw(path: Path, records: Iterable[Record]) -> None:
    """Draw F1 during training, on the part for choosing, and of the final models, on the other."""
    found = [each for each in records if each.get("interval") and each["name"] in SYSTEMS]
    figure = Figure(figsize=(12, 4.5), layout="constrained")
    curves, ends = figure.subplots(1, 2, sharey=True)
    for place, record in enumerate(sorted(found, key=lambda each: float(each["f1"]))):
        model, kind = SYSTEMS[record["name"]]
        color, line = f"C{[*MODELS].index(model)}", LINES[kind]
        steps, f1 = zip(*((at["step"], at["dev_f1"]) for at in record["curve"]), strict=True)
        curves.plot(steps, f1, linestyle=line, color=color)
        ends.vlines(place, *record["interval"], color=color)
        label = f"{title(record['name'])} ({record.machine.device})"
        ends.plot(place, record["f1"], marker="o", linestyle=line, color=color, label=label)
    curves.set(xlabel="step", ylabel="F1", title="during training, part for choosing")
    ends.set(xticks=[], title="final models, part for reporting, 95% intervals")
    ends.legend(
        fontsize="small", handlelength=4, loc="center left", bbox_to_anchor=(1, 0.5), reverse=True
    )
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(args: argparse.Namespace) -> None:
    """Write the parts of the trees, then choose or report."""
    trees = Trees.of(args.data, args.runs / "trees", args.choosing)
    (choose if args.choose else report)(args, trees)


if __name__ == "__main__":
    benchmark.run(main)
