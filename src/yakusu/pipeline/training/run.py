"""Run folder: one recipe, used by one process at a time.

RUN/recipe.toml     resolved recipe
RUN/data/           binarised pairs, dev text, tokenizer
RUN/prepared.json   hashes of RUN/data/, to rebuild it
RUN/checkpoints/    the best checkpoint and the last ones
RUN/log.jsonl       all events; RUN/tensorboard/ shows them as curves
RUN/model/          the translator
RUN/dev-translations.tsv  its translations of the dev set
RUN/corpus/, parts/ training corpus of `yakusu distil`, and what it is made from
RUN/pairs/          training pairs of `yakusu improve`; its comparison is improved.json
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from yakusu.data.corpus import Corpus, read_pairs
from yakusu.errors import DataError, RecipeError, RunError, YakusuError
from yakusu.folder import locked
from yakusu.pipeline.aligning.misaligned import require_aligned
from yakusu.recipe import Recipe, changes, load_recipe

# Keys that may change when a run is resumed; all others determine its result.
_MAY_CHANGE = (
    "search.",
    "training.max_",
    "training.patience",
    "training.checkpoint_",
    "training.log_steps",
    "training.precision",  # changes the bytes, like the environment of training
    "training.threads",  # as precision
    "training.stall_minutes",
)
_MAY_CHANGE_BEFORE = ("search.", "training.")  # before the first checkpoint
_OPEN = {  # key -> value that leaves a choice open, which is made before the first step
    "batches.batch_tokens": 0,
    "batches.pass_tokens": 0,
    "training.precision": "auto",
    "training.threads": 0,
}
_TOML_VALUES = ("true", "false", "inf", "nan")  # all other bare words are strings
_MOST_OVERRIDES = 3  # that an error message suggests


@contextmanager
def locked_run(recipe: Recipe) -> Iterator[Path]:
    """Check a run, as `check_run` does, and lock its folder for this process.

    The recipe is not saved in the folder before everything else has been checked.

    Yields:
        The run folder.

    Raises:
        YakusuError: As in `check_run`, or the folder is in use or cannot be written.
    """
    run = check_run(recipe)
    is_new = not run.exists()
    with _explain_unusable(run):
        run.mkdir(parents=True, exist_ok=True)
        (run / ".lock").touch()
    with locked(run):
        try:
            yield run
        except YakusuError:
            if is_new and [path.name for path in run.iterdir()] == [".lock"]:
                (run / ".lock").unlink()  # a refused command leaves nothing
                run.rmdir()
            raise


def check_run(recipe: Recipe, *, misaligned: bool = True) -> Path:
    """Check that a run can start or resume, and return its folder; nothing is written.

    Args:
        recipe: The recipe.
        misaligned: Whether the lines of a new training corpus may be misaligned.

    Raises:
        RecipeError: The recipe does not specify a run folder or a corpus.
        RunError: The folder holds another run or other files, or cannot be read.
        DataError: A corpus cannot be read, or is misaligned.
    """
    if not recipe.run:
        raise RecipeError(
            'the recipe specifies no run folder: add --run FOLDER, or run = "..." to the recipe'
        )
    run = Path(recipe.run)
    with _explain_unusable(run):
        refuse_other_run(run, recipe)
    _check_corpora(recipe, misaligned=misaligned)
    return run


def with_choices_of_run(recipe: Recipe) -> Recipe:
    """Return a recipe that keeps the choices of its run where it leaves them open."""
    saved = Path(recipe.run) / "recipe.toml"
    if not (recipe.run and saved.is_file() and is_started(saved.parent)):
        return recipe
    chosen = changes(load_recipe(saved), recipe)
    return with_values(
        recipe, {key: old for key, (old, new) in chosen.items() if _OPEN.get(key) == new}
    )


def with_values(recipe: Recipe, values: Mapping[str, Any]) -> Recipe:
    """Return a recipe with other valid values of keys such as "training.threads"."""
    for key, value in values.items():
        section, _, name = key.partition(".")
        own = getattr(recipe, section).model_copy(update={name: value})
        recipe = recipe.model_copy(update={section: own})
    return recipe


def is_started(run: Path) -> bool:
    """Return whether a run folder holds a run; one that failed before may start differently."""
    return (run / "data").exists() or (run / "checkpoints").exists()


def refuse_other_run(run: Path, recipe: Recipe) -> None:
    """Refuse a folder that holds another run or other files.

    Raises:
        RunError: It does.
    """
    if run.exists() and not run.is_dir():
        raise RunError(f"{run} is a file: choose another folder with --run")
    saved = run / "recipe.toml"
    if saved.exists() and is_started(run):
        free = _MAY_CHANGE if (run / "checkpoints").exists() else _MAY_CHANGE_BEFORE
        if changed := _other_run(load_recipe(saved), recipe, free):
            key, (old, new) = next(iter(changed.items()))
            if key == "parent.sha256":
                raise RunError(
                    f"{recipe.parent.model} has changed since {run} started: restore the model "
                    f"with the hash {old}, or choose another folder with --run"
                )
            raise RunError(
                f"{run} holds a run with a different recipe ({key} = {old!r}, not {new!r}): repeat "
                f"the command with {_overrides(changed, saved)}, or choose another folder with "
                "--run"
            )
    elif not saved.exists() and any(run.glob("[!.]*")):
        raise RunError(f"{run} is not empty and not a run folder: choose another one with --run")


def is_of_run(made_by: Recipe, recipe: Recipe) -> bool:
    """Return whether a model with the recipe `made_by` is of the run of a recipe.

    The corpora may have moved together with the run.
    """
    return not _other_run(made_by, recipe, (*_MAY_CHANGE, "data."))


def _other_run(saved: Recipe, recipe: Recipe, free: tuple[str, ...]) -> dict[str, tuple[Any, Any]]:
    """The keys that must not change in a run and differ, with both values."""
    return {
        key: (old, new)
        for key, (old, new) in changes(saved, recipe).items()
        if key != "run" and not key.startswith(free) and _OPEN.get(key) != new
    }


def _overrides(changed: dict[str, tuple[Any, Any]], saved: Path) -> str:
    """Return the arguments of the command line that restore the saved recipe."""
    cannot_be_set = any(key == "data.others" or key.startswith("parent.") for key in changed)
    if len(changed) > _MOST_OVERRIDES or cannot_be_set:
        return f"the recipe {saved}"
    settings = [f"{key}={_as_toml(old)}" for key, (old, _) in changed.items()]
    return " ".join(f"--set {shlex.quote(setting)}" for setting in settings)


def _as_toml(value: Any) -> str:
    plain = isinstance(value, str) and value.isidentifier() and value not in _TOML_VALUES
    return str(value) if plain else json.dumps(value, ensure_ascii=False)


def _check_corpora(recipe: Recipe, *, misaligned: bool) -> None:
    """Read the first pair of each corpus, so that a wrong path fails before anything is written.

    The lines of the training corpora are compared, unless they may be misaligned.
    """
    if not recipe.data.train:
        what, how = "text", "--src FILE --tgt FILE, or data.train"
        if recipe.task == "parsing":
            what, how = "trees", "--trees FILE, or data.train.trees"
        raise RecipeError(f"the recipe specifies no training {what}: add {how} to the recipe")
    _ = recipe.target_languages  # an error if one is unknown
    if (Path(recipe.run) / "data").exists():
        return
    for key, corpus in recipe.data.corpora.items():
        _check_sides(key, corpus)
        next(read_pairs(corpus), None)
    for each in () if misaligned or is_started(Path(recipe.run)) else recipe.directions:
        require_aligned(each.data.train)


def _check_sides(key: str, corpus: Corpus) -> None:
    if bool(corpus.src) == bool(corpus.tgt):
        for number, part in enumerate(corpus.parts, start=1):
            _check_sides(f"{key}.{number}", part)
            next(read_pairs(part), None)
        return
    given, missing = (corpus.src, "tgt") if corpus.src else (corpus.tgt, "src")
    side = {"src": "source", "tgt": "target"}[missing]
    how = {"train": f"--{missing} FILE, or ", "dev": f"--dev-{missing} FILE, or "}.get(key, "")
    raise DataError(
        f"there is no file with the {side} side of {given}: add {how}data.{key}.{missing} to the "
        "recipe"
    )


@contextmanager
def _explain_unusable(run: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{run} cannot be written ({error.strerror}): choose a writable run folder with --run"
        ) from error
