"""`train`: from text to a translator; what a user gives is checked before torch is imported."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from yakusu.config import apply_override
from yakusu.pipeline.training.choose_recipe import recipe_of
from yakusu.pipeline.training.detect_languages import with_detected_languages
from yakusu.pipeline.training.parent import with_parent_sizes
from yakusu.pipeline.training.run import check_run, with_choices_of_run
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe, RecipeFiles, flat


@dataclass(frozen=True)
class Trained:
    """Result of `train`.

    Attributes:
        model: Model folder.
        steps: Number of steps of the run.
        seconds: Training time, over all resumptions.
        reason: The limit that ended the training.
        dev_score: Score of the model on the dev set, with its signature.
        example: A source sentence to try.
        rank: Rank of this process.
    """

    model: Path
    steps: int
    seconds: float
    reason: str
    dev_score: str
    example: str
    rank: int


def train(
    recipe: Recipe | str | Path | None = None,
    overrides: Sequence[str] = (),
    *,
    exact: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    **files: Unpack[RecipeFiles],
) -> Trained:
    """Train a translator, or resume its training; prepare the data first if necessary.

    Args:
        recipe: A recipe, or the name or path of one; None: as in `choose_recipe`.
        overrides: Keys to override, such as "training.max_steps=500", unless `recipe` is loaded.
        exact: Refuse to resume where the bytes of the model will differ from those of an
            uninterrupted run, because of the number of threads, for example; otherwise, warn.
        overwrite: Replace a finished model also where neither `overrides` nor a loaded recipe asks
            for more training or for other search settings.
        progress: Progress reporter.
        files: `run`, `src`, `tgt` and the other file arguments of `load_recipe`, unless `recipe` is
            loaded.

    Raises:
        YakusuError: As in `prepare`, or a checkpoint is corrupt, or the model is finished, or
            training failed.

    Example:
        `yakusu.train(src="train.en", tgt="train.de", run="runs/en-de")`
    """
    asked = None if overwrite or isinstance(recipe, Recipe) else _keys(overrides)
    found, why = recipe_of(recipe, overrides, files)
    found = with_choices_of_run(with_parent_sizes(found))
    found, languages = with_detected_languages(found)
    check_run(found)
    from yakusu.pipeline.training.fit import fit  # imports torch

    told = [sentence for sentence in (why, languages) if sentence]
    return fit(found, progress or Silent(), told=told, asked=asked, exact=exact)


def _keys(overrides: Sequence[str]) -> frozenset[str]:
    """The keys of a recipe that overrides set."""
    values: dict[str, Any] = {}
    for override in overrides:
        apply_override(values, override)
    return frozenset(flat(values))
