"""The folder of a run: for one recipe, and for one process at a time.

RUN/recipe.toml        the resolved recipe
RUN/data/              binarised pairs, dev text, tokenizer
RUN/checkpoints/       the best and the last K
RUN/log.jsonl          all events; RUN/tensorboard/ as curves
RUN/model/             the translator
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from yakusu.data.corpus import read_pairs
from yakusu.errors import RecipeError, RunError
from yakusu.folder import locked
from yakusu.recipe import Recipe, differences, load_recipe, save_recipe

# Keys that may change when a run goes on; all others decide what it gives.
_MAY_CHANGE = (
    "search.",
    "training.max_",
    "training.patience",
    "training.checkpoint_",
    "training.log_steps",
    "training.stall_minutes",
)
_MAY_CHANGE_BEFORE = ("search.", "training.")  # the first checkpoint


@contextmanager
def opened(recipe: Recipe) -> Iterator[Path]:
    """The run folder, for this process alone; its saved recipe must agree with this one."""
    if not recipe.run:
        raise RecipeError('the recipe names no run folder: add --run FOLDER, or run = "..." to it')
    run = Path(recipe.run)
    _refuse_other_run(run, recipe)
    _look_at(recipe)
    with locked(run):
        save_recipe(recipe, run / "recipe.toml")
        yield run


def _refuse_other_run(run: Path, recipe: Recipe) -> None:
    saved = run / "recipe.toml"
    if run.exists() and not run.is_dir():
        raise RunError(f"{run} is a file: choose another folder with --run")
    begun = (run / "data").exists() or (run / "checkpoints").exists()
    if saved.exists() and begun:
        free = _MAY_CHANGE if (run / "checkpoints").exists() else _MAY_CHANGE_BEFORE
        changed = [
            difference
            for difference in differences(load_recipe(saved), recipe)
            if not difference.startswith((*free, "run "))
        ]
        if changed:
            raise RunError(
                f"{run} holds another run, of which {changed[0]}: choose another folder with "
                "--run, or delete this one"
            )
    elif not saved.exists() and any(run.glob("[!.]*")):
        raise RunError(f"{run} is not empty and holds no run: choose another folder with --run")


def _look_at(recipe: Recipe) -> None:
    """Complain of the corpora before anything is made."""
    if not recipe.data.train:
        what, how = "text", "--src FILE --tgt FILE, or data.train"
        if recipe.task == "parsing":
            what, how = "trees", "--trees FILE, or data.train.trees"
        raise RecipeError(f"the recipe names no training {what}: add {how} to it")
    for corpus in (recipe.data.train, recipe.data.extra, recipe.data.dev):
        if corpus and not (Path(recipe.run) / "data").exists():
            next(read_pairs(corpus), None)
