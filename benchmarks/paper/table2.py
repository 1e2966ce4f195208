"""Table 2: BLEU and training cost of every system, all trained on Multi30k within one budget.

The budget is counted FLOPs: it buys the same on any machine, however busy. A system trains until
it has spent them; its warm-up is the same share of its steps as in its recipe, and its peak rate
the recipe's. The other cost is the paper's: time x rate of this machine, where a system that
computes one position after the other pays for waiting.
"""

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

import yakusu
from common import RESULTS, record, start
from runs import prepared, records, slug, trained
from yakusu.data.batches import epoch_steps
from yakusu.data.pairs import Pairs
from yakusu.data.text import read_lines
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError
from yakusu.model.architectures import build
from yakusu.pipeline.receipt import flops_per_token
from yakusu.recipe import Recipe

HERE = Path(__file__).parent
STEP_TOKENS = 2_000  # for all systems; small steps, for the budget is small
LEAST = 8  # steps of a budget


@dataclass(frozen=True)
class System:
    """What is trained, and what the paper says of its kind."""

    recipe: str  # beside this file
    changes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (1,)  # several: an ensemble
    paper: str = "-"  # WMT 2014 en-de


SYSTEMS = {
    "Transformer": System("multi30k.toml", paper="27.3, 3.3e18 FLOPs (base)"),
    "LSTM with attention": System("multi30k-lstm.toml", paper="24.6, 2.3e19 FLOPs (GNMT + RL)"),
    "LSTM with a fixed vector": System("multi30k-lstm-no-attention.toml"),
    "convolutional": System("multi30k-conv.toml", paper="25.16, 9.6e18 FLOPs (ConvS2S)"),
    "convolutional, dilated": System(
        "multi30k-conv.toml", ("model.dilations=[1, 2, 4, 8, 16]",), paper="23.75 (ByteNet)"
    ),
    "Transformer with experts": System(
        "multi30k.toml", ("model.n_experts=4",), paper="26.03, 2.0e19 FLOPs (MoE)"
    ),
    "two Transformers": System(
        "multi30k.toml", seeds=(1, 2), paper="26.36, 7.7e19 FLOPs (ConvS2S ensemble)"
    ),
    "LSTM, 8 layers, residual": System(
        "multi30k-lstm.toml",
        ("model.n_layers=8", "model.residual=true", "model.d_model=104"),
        paper="24.6, 2.3e19 FLOPs (GNMT + RL)",
    ),
}


# ---- one budget ----------------------------------------------------------------------------------


def recipe_of(system: System) -> Recipe:
    """The recipe of a system, before the budget."""
    changes = (f"batches.step_tokens={STEP_TOKENS}", *system.changes)
    return yakusu.load_recipe(HERE / system.recipe, changes)


def within(flops: float, recipe: Recipe, data: Path) -> Recipe:
    """The recipe with as many steps as a budget of FLOPs allows."""
    pairs, tokenizer = Pairs.open(data, "train"), Tokenizer.load(data)
    model = build(recipe.model, **tokenizer.vocab_sizes)
    batch_tokens = recipe.batches.batch_tokens_on("cpu")
    epoch = epoch_steps(
        pairs, step_tokens=STEP_TOKENS, batch_tokens=batch_tokens, seed=recipe.seed, epoch=0
    )
    step_flops = flops_per_token(model, pairs, recipe) * pairs.tgt.lengths.sum() / len(epoch)
    training = recipe.training
    steps = round(flops / float(step_flops))
    if steps < LEAST:
        raise DataError(
            f"{flops:g} FLOPs are {steps} steps of {recipe.model.name}: give --flops "
            f"{LEAST * float(step_flops):.1e} or more"
        )
    warmup = math.ceil(training.warmup_steps * steps / training.max_steps)
    changes = {
        "max_steps": steps,
        "warmup_steps": warmup,
        # Eq. 3 has its peak at warmup^-0.5, which is to stay.
        "lr_scale": training.lr_scale * math.sqrt(warmup / training.warmup_steps),
        "validate_steps": math.ceil(steps / 4),
        "keep_last": 1,
    }
    return recipe.model_copy(update={"training": training.model_copy(update=changes)})


def train(system: System, data: Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Train a system; the receipts of its models, each with its folder under "model"."""
    recipe, receipts = within(args.flops, recipe_of(system), data), []
    for seed in system.seeds:
        # Not called by the system's name: the first of an ensemble is trained once for both.
        parts = [Path(system.recipe).stem, *system.changes, f"{args.flops:g}", str(seed)]
        folder = args.runs / slug(" ".join(parts))
        facts = trained(recipe.model_copy(update={"seed": seed}), folder, data=data)
        receipts.append(facts | {"model": folder / "model"})
    return receipts


# ---- what it gives -------------------------------------------------------------------------------


def result_of(
    name: str, receipts: list[dict[str, Any]], args: argparse.Namespace
) -> dict[str, Any]:
    """BLEU on the test set, and both costs."""
    first, *others = (receipt["model"] for receipt in receipts)
    translator = yakusu.Translator.load(first, ensemble=others)
    made = translator.translate(list(read_lines(args.src)))
    score = yakusu.evaluate(made, args.ref, lowercase=True)[0]
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
    """Print our rows beside the paper's."""
    print(
        f"\n{'Multi30k en-de, test2016':28}{'BLEU':>6}{'counted':>10}{'formula':>10}"
        f"{'minutes':>9}{'parameters':>12}  the paper, WMT 2014 en-de"
    )
    for name, r in results.items():
        print(
            f"{name:28}{r['bleu']:6.2f}{r['counted']:10.1e}{r['formula']:10.1e}"
            f"{r['minutes']:9.1f}{r['parameters']:12,}  {r['paper']}"
        )


def draw(path: Path, results: Sequence[dict[str, Any]]) -> None:
    """What a system learns for its FLOPs, and what it has at the end; of all budgets."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    curves, ends = figure.subplots(1, 2, sharey=True)
    colors = {name: f"C{i}" for i, name in enumerate(SYSTEMS)}
    for name, result in ((name, r) for name in SYSTEMS for r in results if r["name"] == name):
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


def arguments(doc: str, script: str, *, names: list[str], flops: float) -> argparse.Namespace:
    """The command line of a script that trains systems within a budget."""
    corpus = Path(os.environ.get("YAKUSU_DATA", "")) / "multi30k"
    parser = argparse.ArgumentParser(
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"example: python benchmarks/{script}.py --runs runs/{script}",
    )
    parser.add_argument("--runs", type=Path, required=True, help="folder for the run folders")
    parser.add_argument(
        "--systems", nargs="*", default=names, choices=list(SYSTEMS), help="in quotes; else all"
    )
    parser.add_argument(
        "--flops", type=float, default=flops, help="the budget of a model, %(default)g"
    )
    parser.add_argument(
        "--src", type=Path, default=corpus / "test2016.en", help="else $YAKUSU_DATA/multi30k's"
    )
    parser.add_argument("--ref", type=Path, default=corpus / "test2016.de", help="likewise")
    parser.add_argument("--threads", type=int, default=1, help="of torch, %(default)s")
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    return args


def main() -> None:
    """Train what is missing, print, draw."""
    args = arguments(__doc__, "table2", names=list(SYSTEMS), flops=2e13)
    results = {r["name"]: r for r in records("table2") if r["budget"] == args.flops}
    data = prepared(recipe_of(SYSTEMS["Transformer"]), args.runs / "data")
    for name in args.systems:
        if name not in results:
            results[name] = result_of(name, train(SYSTEMS[name], data, args), args)
            if not args.no_record:
                record("table2", results[name], seed=1, threads=args.threads)
        show({name: results[name]})
    show(results)
    if not args.no_record:
        draw(RESULTS / "table2.png", records("table2"))


if __name__ == "__main__":
    start(main)
