"""Table 2, training cost in FLOPs, of a recipe or of a trained model: by formula and by counting.

Of a model folder, the receipt tells what its training took. Of a recipe, one training step is
made on sentences of --length tokens and counted; the time on 8 GPUs of the paper's follows from it
by the formula, as if they only made products.
"""

import argparse
from pathlib import Path
from typing import Any

import torch

import yakusu
from common import record, start
from yakusu.data.batches import Batch
from yakusu.errors import ModelError, RecipeError
from yakusu.folder import read_json
from yakusu.model.architectures import build
from yakusu.training.flops import SUSTAINED, by_formula, count_flops, sustained_flops

PAPER = {"base": 3.3e18, "big": 2.3e19}  # 12 hours and 3.5 days on 8 P100


def of_recipe(name: str, length: int) -> dict[str, Any]:
    """What training by a recipe would cost."""
    recipe = yakusu.load_recipe(name)
    if recipe.tokenizer.target == "tokens":
        raise RecipeError(
            f"the target vocabulary of {name} is as large as its corpus has tokens: train it, and "
            "name the model folder"
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
    """What its training took, as its receipt says."""
    if not (folder / "receipt.json").exists():
        raise ModelError(f"{folder} is no model folder: name the folder model of a run")
    facts = read_json(folder / "receipt.json")
    if "flops" not in facts:
        raise ModelError(f"{folder / 'receipt.json'} does not say what training it took")
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


def shown(value: Any) -> str:
    """A fact as it is printed."""
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}"


def main() -> None:
    """Print the cost beside the paper's, and record it."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: python benchmarks/cost.py base",
    )
    parser.add_argument("what", help="a recipe, by name or path, or a model folder")
    parser.add_argument("--length", type=int, default=28, help="tokens of a sentence, eos counted")
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    if args.length < 1:
        parser.error("--length is of at least 1 token")
    is_model = Path(args.what).is_dir()
    facts = of_model(Path(args.what)) if is_model else of_recipe(args.what, args.length)
    facts["sustained FLOPS of this machine"] = sustained_flops("", torch.device("cpu"))
    for fact, value in facts.items():
        print(f"{fact:34}{shown(value):>12}")
    paper = PAPER.get(args.what)
    if paper:
        share = facts["counted"] / paper
        print(f"{'the paper, by the formula':34}{paper:12.2e}: products were {share:.0%} of it")
    if not args.no_record:
        name = Path(args.what).resolve().parent.name if is_model else Path(args.what).stem
        result = {"name": name, "score": f"{facts['counted']:.2e} FLOPs counted", **facts}
        result |= {"paper": f"{paper:.1e} by its formula"} if paper else {}
        record("cost", result, seed=1, threads=torch.get_num_threads())


if __name__ == "__main__":
    start(main)
