"""Chooses the recipe of a run for which none is named (docs/decisions/0046-recipes-by-size.md)."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from yakusu.config import apply_override
from yakusu.data.corpus import number_of_pairs
from yakusu.errors import DataError, RecipeError
from yakusu.pipeline.training.run import is_started
from yakusu.recipe import Recipe, RecipeFiles, as_overrides, load_recipe, with_encodings

# The smallest corpus of each recipe, in pairs. The recipes are made for 5,000, 30,000, 150,000 and
# a million pairs; the limits between them are the geometric means.
_SMALLEST = {"tiny": 0, "small": 12_000, "medium": 67_000, "large": 390_000, "base": 3_000_000}
_FOR_GPUS = ("large", "base")
_COUNTED = ("data", "parent", "run")  # keys and sections that choose a recipe


@dataclass(frozen=True)
class Choice:
    """A recipe that was chosen.

    Attributes:
        recipe: The recipe.
        reason: A sentence that names the recipe and says why it was chosen.
    """

    recipe: Recipe
    reason: str


def recipe_of(
    given: Recipe | str | Path | None, overrides: Sequence[str], files: RecipeFiles
) -> tuple[Recipe, str | None]:
    """Return a loaded recipe, load the one that is named, or choose one if none is given.

    Args:
        given: A recipe, or the name or path of one; None: as in `choose_recipe`.
        overrides: Keys to override, unless the recipe is loaded.
        files: Files and folders, unless the recipe is loaded.

    Returns:
        The recipe, which names the encodings of its corpora, and why it was chosen; None: it was
        given.

    Raises:
        RecipeError: A recipe cannot be loaded or chosen, or a loaded one has overrides.
        DataError: A corpus cannot be read, or its encoding is unclear.
    """
    if given is None:
        choice = choose_recipe(overrides, **files)
        return with_encodings(choice.recipe), choice.reason
    if not isinstance(given, Recipe):
        return with_encodings(load_recipe(given, overrides, **files)), None
    if overrides or files:
        raise RecipeError("a loaded recipe takes no overrides: pass them to load_recipe")
    return with_encodings(given), None


def choose_recipe(overrides: Sequence[str] = (), **files: Unpack[RecipeFiles]) -> Choice:
    """Load the recipe of a run that has started, or choose a packaged recipe for a new run.

    A run that starts from a model gets "adapt". Any other run gets the recipe for the number of
    sentence pairs that its training corpora contain before they are filtered. Pairs of `data.extra`
    do not count.

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
    # Other overrides may be invalid for the recipe that counts, and valid for the chosen one.
    counted = [each for each in overrides if re.split(r"[.=\s]", each.strip())[0] in _COUNTED]
    name, reason = _packaged(load_recipe("tiny", counted, **files))
    recipe = load_recipe(name, overrides, **files)
    return Choice(recipe, f"{reason}; to use another recipe, name it")


def recipe_for(n_pairs: int) -> str:
    """Return the name of the recipe for a number of sentence pairs."""
    return [name for name, smallest in _SMALLEST.items() if smallest <= n_pairs][-1]


def _saved(overrides: Sequence[str], files: RecipeFiles) -> Path | None:
    """Return the recipe in the run folder, if these settings name one whose run has started."""
    given: dict[str, Any] = {}
    for override in (*as_overrides(files), *overrides):
        apply_override(given, override)
    run = Path(os.path.expandvars(str(given.get("run", ""))))
    saved = run / "recipe.toml"
    return saved if given.get("run") and is_started(run) and saved.is_file() else None


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
    n_pairs = sum(number_of_pairs(each.data.train) for each in given.directions)
    if not n_pairs:
        files = (path for each in given.directions for path in each.data.train.files)
        names = " and ".join(map(str, dict.fromkeys(files)))
        raise DataError(f"there are no sentence pairs in {names}: check the files")
    name = recipe_for(n_pairs)
    gpu = " and a GPU" if name in _FOR_GPUS else ""
    sizes = f"which is for {_sizes_of(name)} pairs{gpu}"
    return name, f"{n_pairs:,} sentence pairs: using the recipe {name}, {sizes}"


def _sizes_of(name: str) -> str:
    smallest = _SMALLEST[name]
    larger = [each for each in _SMALLEST.values() if each > smallest]
    if not larger:
        return f"{smallest:,} or more"
    return f"{smallest:,} to {larger[0]:,}" if smallest else f"up to {larger[0]:,}"
