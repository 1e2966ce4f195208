"""`train`: from text to a translator; what a user gives is checked before torch is imported."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from yakusu.config import apply_override
from yakusu.pipeline.training.choose_recipe import recipe_of
from yakusu.pipeline.training.detect_languages import with_detected_languages
from yakusu.pipeline.training.parent import with_parent_sizes
from yakusu.pipeline.training.run import check_run, with_choices_of_run
from yakusu.pipeline.training.trained import Command, Detail, Trained
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe, RecipeFiles, flat

if TYPE_CHECKING:
    from yakusu.pipeline.training.plan import TrainingPlan


def train(
    recipe: Recipe | str | Path | None = None,
    overrides: Sequence[str] = (),
    *,
    exact: bool = False,
    overwrite: bool = False,
    allow_misaligned: bool = False,
    detail: Detail = "normal",
    progress: Progress | None = None,
    **files: Unpack[RecipeFiles],
) -> Trained:
    """Train a translator, or resume its training; prepare the data first if necessary.

    Args:
        recipe: A recipe, or the name or path of one; None: as in `choose_recipe`.
        overrides: Keys to override, such as "training.max_steps=500", unless `recipe` is loaded.
        exact: Refuse to resume where the bytes of the model will differ from those of an
            uninterrupted run, because of the number of threads, for example; otherwise, warn.
        overwrite: Replace a finished model even if neither `overrides` nor a loaded recipe asks for
            more training or for other search settings.
        allow_misaligned: As for `prepare`.
        detail: What `progress` shows at validations: "normal": scores and sentences; "plain": no
            scores; "verbose": also all numbers of the log.
        progress: Progress reporter.
        files: `run`, `src`, `tgt` and the other file arguments of `load_recipe`, unless `recipe` is
            loaded.

    Raises:
        YakusuError: As in `prepare`, or a checkpoint is corrupt, or the model is finished, or
            training failed.

    Example:
        `yakusu.train(src="train.en", tgt="train.de", run="runs/en-de")`
    """
    keys = None if overwrite or isinstance(recipe, Recipe) else _keys(overrides)
    found, told = _resolved(recipe, overrides, files, misaligned=allow_misaligned)
    from yakusu.pipeline.training.fit import train_resolved  # imports torch

    return train_resolved(found, Command(told, keys, exact, detail), progress or Silent())


def plan_training(
    recipe: Recipe | str | Path | None = None,
    overrides: Sequence[str] = (),
    *,
    allow_misaligned: bool = False,
    progress: Progress | None = None,
    **files: Unpack[RecipeFiles],
) -> "TrainingPlan":
    """Return what `train` would do, estimated from a sample of the corpus; nothing is written.

    The arguments are those of `train`. `str` of the result is the text of `train --dry-run`.

    Raises:
        YakusuError: As in `prepare`.

    Example:
        `print(yakusu.plan_training(src="train.en", tgt="train.de", run="runs/en-de"))`
    """
    found, told = _resolved(recipe, overrides, files, misaligned=allow_misaligned)
    from yakusu.pipeline.training.dry_run import plan_from_sample  # imports torch

    return plan_from_sample(found, told, progress or Silent())


def _resolved(
    given: Recipe | str | Path | None,
    overrides: Sequence[str],
    files: RecipeFiles,
    *,
    misaligned: bool,
) -> tuple[Recipe, tuple[str, ...]]:
    """Return the recipe of a run that can start or resume, and sentences about it."""
    found, why = recipe_of(given, overrides, files)
    found = with_choices_of_run(with_parent_sizes(found))
    found, languages = with_detected_languages(found)
    check_run(found, misaligned=misaligned)
    return found, tuple(sentence for sentence in (why, languages) if sentence)


def _keys(overrides: Sequence[str]) -> frozenset[str]:
    """The keys of a recipe that overrides set."""
    values: dict[str, Any] = {}
    for override in overrides:
        apply_override(values, override)
    return frozenset(flat(values))
