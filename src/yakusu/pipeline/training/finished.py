"""A finished model: when `train` keeps it, replaces it, or refuses to."""

from collections.abc import Set
from pathlib import Path

from yakusu.errors import ModelError, RunError
from yakusu.folder import verify_folder
from yakusu.pipeline.receipts.receipt import Receipt, read_receipt
from yakusu.pipeline.training.run import is_of_run
from yakusu.recipe import Recipe, changes, load_recipe
from yakusu.training.checkpoint import checkpoints
from yakusu.training.schedule import limit_reached
from yakusu.training.state import TrainerState

_LIMITS = ("training.max_steps", "training.max_epochs", "training.max_hours", "training.patience")


def finished_model(run: Path, recipe: Recipe, state: TrainerState) -> Path | None:
    """Return the model folder of a run that `train` leaves as it is, if no step is left to do.

    It is intact, and made at the last step of the run, from whatever checkpoints, or it is another
    model that was put in its place.

    Args:
        run: The run folder.
        recipe: The recipe of the command.
        state: The state of the newest checkpoint.
    """
    receipt = _receipt(run)
    if receipt is None or not _is_last(receipt, recipe, state):
        return None
    same = receipt.recipe.search == recipe.search or not is_of_run(receipt.recipe, recipe)
    return run / "model" if same else None


def refuse_replacement(
    run: Path, recipe: Recipe, state: TrainerState, asked: Set[str] | None
) -> None:
    """Refuse to replace a finished model if the command does not ask for that.

    Args:
        run: The run folder, with the recipe that the model was finished with.
        recipe: The recipe of the command.
        state: The state of the newest checkpoint.
        asked: The keys that the command sets; None: it asks for everything in the recipe.

    Raises:
        RunError: The command would replace it, or its limit is below the steps that are done.
    """
    lowered = recipe.training.max_steps < state.step
    if asked and "training.max_steps" in asked and lowered:
        raise RunError(
            f"{run} is at step {state.step:,} already: set training.max_steps to more than that, "
            "or choose another folder with --run"
        )
    receipt, saved = _receipt(run), load_recipe(run / "recipe.toml")
    if asked is None or receipt is None or not _is_last(receipt, saved, state):
        return
    reason = limit_reached(saved.training, state)
    trains = not limit_reached(recipe.training, state)
    keys = _LIMITS if trains else [f"search.{key}" for key in recipe.search.model_fields()]
    changed = {key: new for key, (_, new) in changes(saved, recipe).items() if key in keys}
    if not reason or not changed or asked & changed.keys():
        return
    key, new = next(iter(changed.items()))
    what = "train it further" if trains else "change its search"
    raise RunError(
        f"{run / 'model'} is finished ({reason}), and this recipe has {key} = {new}: omit the "
        f"recipe to keep the model, or add --set {key}={new} or --overwrite to {what}"
    )


def refuse_new_model(run: Path, asked: Set[str] | None) -> None:
    """Refuse to retrain a model from scratch unless the command asks for that.

    Args:
        run: The run folder.
        asked: As for `refuse_replacement`.

    Raises:
        RunError: The run has a model, but no checkpoint.
    """
    if asked is not None and not checkpoints(run / "checkpoints") and _receipt(run):
        raise RunError(
            f"{run} has a model, but no checkpoint to resume from: add --overwrite to train it "
            "from scratch, or choose another folder with --run"
        )


def _is_last(receipt: Receipt, recipe: Recipe, state: TrainerState) -> bool:
    """Whether a model is of the last step of a run, or of another run."""
    return receipt.steps == state.step or not is_of_run(receipt.recipe, recipe)


def _receipt(run: Path) -> Receipt | None:
    """The receipt of the model of a run, if the model is intact."""
    try:
        verify_folder(run / "model")
        return read_receipt(run / "model")
    except (ModelError, OSError):
        return None
