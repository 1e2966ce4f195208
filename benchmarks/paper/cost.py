"""Table 2, training cost in FLOPs, of a recipe or of a trained model: by formula and by counting.

For a model folder, the receipt contains the cost of its training. For a recipe, the FLOPs of one
training step on sentences of --length tokens are counted; the formula gives the time on the paper's
8 GPUs, as if they computed nothing but matrix products.
"""

import argparse
from pathlib import Path
from typing import Any

import torch

import yakusu
from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import NONE, Table
from yakusu.data.batches import Batch
from yakusu.errors import ModelError, RecipeError
from yakusu.folder import read_json
from yakusu.model.architectures import build
from yakusu.training.flops import SUSTAINED, by_formula, count_flops, sustained_flops

PAPER = {"base": 3.3e18, "big": 2.3e19}  # 12 hours and 3.5 days on 8 P100

benchmark = Benchmark(
    "cost", __doc__, example="python -m benchmarks.paper.cost base", quick={"what": "tiny"}
)
benchmark.option("what", nargs="?", default="base", help="recipe by name or path, or model folder")
benchmark.option(
    "--length", type=int, default=28, help="tokens per sentence, with eos (%(default)s)"
)


def _paper(record: Record) -> float | None:
    return float(record["paper"].split()[0]) if record.get("paper") else None


tables = Table(
    (
        ("Recipe", "{name}"),
        ("Parameters", "{parameters:,.0f}"),
        ("Steps", "{steps:,.0f}"),
        ("FLOPs per target token", "{FLOPs a target token:.3g}"),
        ("FLOPs per step", "{FLOPs a step:.3g}"),
        ("FLOPs counted", "{counted:.2e}"),
        ("Paper, by its formula", lambda r: f"{paper:.1e}" if (paper := _paper(r)) else NONE),
        (
            "Counted / paper",
            lambda r: f"{r['counted'] / paper:.0%}" if (paper := _paper(r)) else NONE,
        ),
        ("Hours on 8 P100, at least", "{hours on 8 P100, at least:,.1f}"),
    )
)


def of_recipe(name: str, length: int) -> dict[str, Any]:
    """Return what training by a recipe would cost."""
    recipe = yakusu.load_recipe(name)
    if recipe.tokenizer.target == "tokens":
        raise RecipeError(
            f"the target vocabulary of {name} depends on its corpus: train it and name the model "
            "folder"
        )
    size = recipe.tokenizer.vocab_size
    model = build(recipe.model, src_vocab_size=size, tgt_vocab_size=size)
    n_pairs = 8
    sentences = torch.full((n_pairs, length), 2)
    per_token = count_flops(model, [Batch(sentences, sentences)]) / (n_pairs * length)
    total = per_token * recipe.batches.step_tokens * recipe.training.max_steps
    hours = total / by_formula(3600, n_devices=8, sustained=SUSTAINED["P100"])
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "steps": recipe.training.max_steps,
        "FLOPs a target token": per_token,
        "FLOPs a step": per_token * recipe.batches.step_tokens,
        "counted": total,
        "hours on 8 P100, at least": hours,
    }


def of_model(folder: Path) -> dict[str, Any]:
    """Return what the training of a model took, according to its receipt."""
    if not (folder / "receipt.json").exists():
        raise ModelError(f"{folder} is not a model folder: name the folder model/ of a run")
    facts = read_json(folder / "receipt.json")
    if "flops" not in facts:
        raise ModelError(
            f"{folder / 'receipt.json'} does not contain the cost of training: train it again"
        )
    return {
        "parameters": facts["parameters"],
        "steps": facts["steps"],
        "FLOPs a target token": facts["flops"]["counted"] / facts["target_tokens"],
        "FLOPs a step": facts["flops"]["counted"] / facts["steps"],
        "counted": facts["flops"]["counted"],
        "by the formula": facts["flops"]["paper"],
        "sustained FLOPS then": facts["flops"]["sustained"],
        "hours": facts["wall_seconds"] / 3600,
    }


def formatted(value: Any) -> str:
    """Format a number for printing."""
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}"


def main(args: argparse.Namespace) -> None:
    """Print the cost next to the paper's."""
    if args.length < 1:
        raise RecipeError(f"--length {args.length}: give at least 1 token")
    is_model = Path(args.what).is_dir()
    facts = of_model(Path(args.what)) if is_model else of_recipe(args.what, args.length)
    facts["sustained FLOPS of this machine"] = sustained_flops("", torch.device("cpu"))
    for fact, value in facts.items():
        print(f"{fact:34}{formatted(value):>12}")
    paper = PAPER.get(args.what)
    if paper:
        share = facts["counted"] / paper
        print(f"{'paper, by the formula':34}{paper:12.2e}: the counted FLOPs are {share:.0%} of it")
    name = Path(args.what).resolve().parent.name if is_model else Path(args.what).stem
    result = {"name": name, "score": f"{facts['counted']:.2e} FLOPs counted", **facts}
    benchmark.record(result | ({"paper": f"{paper:.1e} by its formula"} if paper else {}))


if __name__ == "__main__":
    benchmark.run(main)
