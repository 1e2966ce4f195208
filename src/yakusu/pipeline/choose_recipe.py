"""Chooses the recipe of a run for which none is named (docs/decisions/0046-recipes-by-size.md)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from yakusu.config import apply_override
from yakusu.data.corpus import Corpus, count_pairs, read_pairs
from yakusu.errors import RecipeError
from yakusu.recipe import Recipe, load_recipe
from yakusu.recipe_files import RecipeFiles, as_overrides

# The smallest corpus of each recipe, in pairs. The recipes are made for 5,000, 30,000, 150,000 and
# a million pairs; the limits between them are the geometric means.
_SMALLEST = {"tiny": 0, "small": 12_000, "medium": 67_000, "large": 390_000, "base": 3_000_000}
_FOR_GPUS = ("large", "base")


@dataclass(frozen=True)
class Choice:
    """A recipe that was chosen.

    Attributes:
        recipe: The recipe.
        reason: A sentence that names the recipe and says why it was chosen.
    """

    recipe: Recipe
    reason: str


def choose_recipe(overrides: Sequence[str] = (), **files: Unpack[RecipeFiles]) -> Choice:
    """Load the recipe of a run folder, or choose a packaged recipe for a new run.

    A run that starts from a model gets "adapt". Any other run gets the recipe for the number of
    sentence pairs that its training corpora contain before they are filtered.

    Args:
        overrides: Keys to override, such as "training.max_steps=500".
        files: Files and folders, as for `load_recipe`.

    Raises:
        RecipeError: There is no training corpus, or it consists of trees.
        DataError: A corpus cannot be read.

    Example:
        `choose_recipe(src="train.en", tgt="train.de", run="runs/en-de").recipe`
    """
    if saved := _saved(overrides, files):
        recipe = load_recipe(saved, overrides, **files)
        return Choice(recipe, f"using the recipe of this run, {saved}")
    if files.get("trees"):
        raise RecipeError(
            "a recipe is chosen for translators only: name the recipe of a parser, as in yakusu "
            "train parse-small --trees FILE"
        )
    name, reason = _packaged(load_recipe("tiny", overrides, **files))
    recipe = load_recipe(name, overrides, **files)
    return Choice(recipe, f"{reason}; to use another recipe, name it")


def recipe_for(n_pairs: int) -> str:
    """Return the name of the recipe for a number of sentence pairs."""
    return [name for name, smallest in _SMALLEST.items() if smallest <= n_pairs][-1]


def _saved(overrides: Sequence[str], files: RecipeFiles) -> Path | None:
    """Return the recipe in the run folder, if these settings name one that has a recipe."""
    given: dict[str, Any] = {}
    for override in (*as_overrides(files), *overrides):
        apply_override(given, override)
    saved = Path(os.path.expandvars(str(given.get("run", "")))) / "recipe.toml"
    return saved if given.get("run") and saved.is_file() else None


def _packaged(given: Recipe) -> tuple[str, str]:
    """Return the name of the packaged recipe for a new run, and why it is used.

    Args:
        given: Any recipe with the files and settings of the run.
    """
    if given.parent.model:
        return "adapt", f"using the recipe adapt to train {given.parent.model} further"
    if not given.data.train:
        raise RecipeError(
            "there is no recipe and no corpus to choose one for: name a recipe, or add --src FILE "
            "--tgt FILE or --pairs FILE"
        )
    n_pairs = sum(_count(each.data.train) for each in given.directions)
    name = recipe_for(n_pairs)
    gpu = " and a GPU" if name in _FOR_GPUS else ""
    sizes = f"which is for {_sizes_of(name)} pairs{gpu}"
    return name, f"{n_pairs:,} sentence pairs: using the recipe {name}, {sizes}"


def _count(corpus: Corpus) -> int:
    n_lines = count_pairs(corpus)
    return sum(1 for _ in read_pairs(corpus)) if n_lines is None else n_lines


def _sizes_of(name: str) -> str:
    smallest = _SMALLEST[name]
    larger = [each for each in _SMALLEST.values() if each > smallest]
    if not larger:
        return f"{smallest:,} or more"
    return f"{smallest:,} to {larger[0]:,}" if smallest else f"up to {larger[0]:,}"
