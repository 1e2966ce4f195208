"""What the systems of Table 2 and of the length graph share: their budget and a small grid.

A system trains until it has spent a number of counted FLOPs, which are the same on any machine,
however busy. Its warm-up is a fifth of its steps, and every model is the moving average of its
weights over about the last twentieth of them; in a run that patience ends, these are shares of the
steps of its recipe.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.paper.table2_rows import MIN_BATCHES, System
from benchmarks.runs import RECIPES, with_supported_engine
from yakusu.data.batches import epoch_steps
from yakusu.data.pairs import Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError
from yakusu.model.architectures import build
from yakusu.pipeline.receipts.facts import flops_per_token
from yakusu.recipe import Recipe

MIN_STEPS = 8
WARMUP = 5  # steps of a run for each step of its warm-up
AVERAGED = 1 / 20  # mean age of the averaged weights, as a share of the steps
PATIENCE = 10  # validations without a better dev score that end a run without a budget
LIMIT = 100_000  # steps of such a run


# ---- the grid ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """What is chosen for each system: the peak of the learning rate (Eq. 3), and dropout."""

    rate: float
    dropout: float

    @classmethod
    def of(cls, recipe: Recipe) -> "Setting":
        """Return the setting of a recipe."""
        scale = math.sqrt(recipe.model.d_model * recipe.training.warmup_steps)
        return cls(recipe.training.lr_scale / scale, recipe.model.dropout)

    def __str__(self) -> str:
        return f"peak rate {self.rate:g}, dropout {self.dropout:g}"

    def apply(self, recipe: Recipe) -> Recipe:
        """Return the recipe with this peak rate and dropout."""
        scale = self.rate * math.sqrt(recipe.model.d_model * recipe.training.warmup_steps)
        model = recipe.model.model_copy(update={"dropout": self.dropout})
        training = recipe.training.model_copy(update={"lr_scale": scale})
        return recipe.model_copy(update={"model": model, "training": training})


GRID = tuple(Setting(rate, dropout) for rate, dropout in product((0.003, 0.006), (0.1, 0.3)))


def choose(
    settings: Sequence[Setting], train: Callable[[Setting], dict[str, Any]]
) -> tuple[Setting, list[dict[str, Any]]]:
    """Return the setting with the lowest dev perplexity, and the dev scores of all.

    Args:
        settings: The settings to try.
        train: Trains with a setting and returns the receipt, with "validations".
    """
    tries = []
    for setting in settings:
        last = train(setting)["validations"][-1]
        perplexity, bleu = round(last["dev_perplexity"], 3), round(last["dev_bleu"], 2)
        tries.append(asdict(setting) | {"dev_perplexity": perplexity, "dev_bleu": bleu})
        print(f"  {setting}: dev perplexity {perplexity:.3f}, dev BLEU {bleu:.2f}", flush=True)
    perplexities = [each["dev_perplexity"] for each in tries]
    return settings[perplexities.index(min(perplexities))], tries


# ---- the budget ----------------------------------------------------------------------------------


def recipe_of(system: System, args: argparse.Namespace) -> Recipe:
    """Return the recipe of a system, before the budget; its steps have four or more batches."""
    batches = {"step_tokens": args.step_tokens, "batch_tokens": args.step_tokens // MIN_BATCHES}
    sizes = [f"batches.{key}={value}" for key, value in batches.items()]
    settings = (*sizes, *system.changes, *args.set)
    return with_supported_engine(yakusu.load_recipe(RECIPES / system.recipe, settings))


def within(flops: float | None, recipe: Recipe, data: Path) -> Recipe:
    """Return the recipe with as many steps as a budget of FLOPs allows.

    Args:
        flops: The budget; None: the run ends by patience.
        recipe: Recipe of a system.
        data: Folder of prepared data.
    """
    training = recipe.training
    steps = _steps(flops, recipe, data) if flops else training.max_steps
    warmup = math.ceil(steps / WARMUP)
    end = (
        {"max_steps": steps, "validate_steps": math.ceil(steps / 4)}
        if flops
        else {"max_steps": LIMIT, "patience": PATIENCE}
    )
    changes = end | {
        "keep_last": 1,
        "ema_decay": max(0.0, 1 - 1 / (AVERAGED * steps)),
        "warmup_steps": warmup,
        # Keeps the peak of Eq. 3, which is proportional to warmup^-0.5.
        "lr_scale": training.lr_scale * math.sqrt(warmup / training.warmup_steps),
    }
    return recipe.model_copy(update={"training": training.model_copy(update=changes)})


def _steps(flops: float, recipe: Recipe, data: Path) -> int:
    """Return the number of steps that cost a number of FLOPs."""
    pairs, tokenizer = Pairs.open(data, "train"), Tokenizer.load(data)
    model = build(recipe.model, **tokenizer.vocab_sizes)
    size = {"batch_tokens": recipe.batches.batch_tokens_on("cpu"), "seed": recipe.seed}
    epoch = epoch_steps(pairs, step_tokens=recipe.batches.step_tokens, epoch=0, **size)
    each = float(flops_per_token(model, pairs, **size) * pairs.tgt.lengths.sum() / len(epoch))
    steps = round(flops / each)
    if steps < MIN_STEPS:
        raise DataError(
            f"a budget of {flops:g} FLOPs allows only {steps} steps of {recipe.model.name}: "
            f"choose {MIN_STEPS * each:.1e} or more"
        )
    return steps
