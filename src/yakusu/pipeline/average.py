"""A run's checkpoints become a translator: the mean of their weights, section 6.1."""

from pathlib import Path

from yakusu.data.tokenizer import Tokenizer
from yakusu.device import pick_device
from yakusu.errors import ModelError, RunError
from yakusu.folder import json_text, read_json, verify_folder
from yakusu.metrics import Score
from yakusu.model.architectures import build
from yakusu.pipeline.evaluate import DevScore
from yakusu.pipeline.receipt import card, receipt
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe, load_recipe
from yakusu.training.checkpoint import checkpoints, step_of
from yakusu.training.distributed import Group
from yakusu.translator import save_translator
from yakusu.weights import TensorsOnDisk, average_tensors


def average(
    run: str | Path,
    *,
    out: str | Path | None = None,
    last: int = 0,
    best: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Average the last checkpoints of a run into a model folder, section 6.1.

    Args:
        run: The run folder.
        out: Where the model goes, a new folder; RUN/model where it is not given.
        last: How many checkpoints; 0 for the recipe's `training.keep_last`.
        best: Take the best checkpoint alone.
        progress: Watches.

    Raises:
        RunError: The folder is no run, or has no checkpoint.
        ModelError: A checkpoint is corrupt.
    """
    progress, chosen = progress or Silent(), _choose(Path(run), last, best)
    folder = Path(out) if out else Path(run) / "model"
    if out and folder.exists():
        _make_way(folder)
    for checkpoint in chosen:
        verify_folder(checkpoint)
    score = _write_model(folder, chosen, Path(run), progress)
    steps = ", ".join(f"{step_of(checkpoint):,}" for checkpoint in chosen)
    those = "checkpoints of steps" if len(chosen) > 1 else "checkpoint of step"
    progress.say(f"averaged the {those} {steps} into {folder}: dev {score}")
    state = read_json(chosen[-1] / "state.json")
    if not best and state["best"] is not None and state["best"] > score.value:
        progress.say(
            f"step {state['best_step']:,} alone had {state['best']:.2f}: yakusu average {run} "
            "--best --out FOLDER makes a translator of it"
        )
    return folder


def _choose(run: Path, last: int = 0, best: bool = False) -> list[Path]:
    """The checkpoints to average, oldest first."""
    if not (run / "recipe.toml").exists():
        raise RunError(f"{run} is not a run folder: name the folder that 'yakusu train' wrote")
    saved = checkpoints(run / "checkpoints")
    if not saved:
        raise RunError(f"{run} has no checkpoint to average: run 'yakusu train' first")
    if best and last:
        raise RunError("--best and --last exclude each other: the best checkpoint is one")
    state = read_json(saved[-1] / "state.json")
    wanted = {state["best_kept"]} if best else set(state["milestones"])
    chosen = [folder for folder in saved if step_of(folder) in wanted]
    if best and not chosen:
        raise RunError(f"{run} has no best checkpoint yet: one is made by each new best validation")
    chosen = chosen or saved[-1:]
    if last > len(chosen):
        raise RunError(
            f"{run} keeps {len(chosen)} checkpoints to average, not {last}: ask for fewer"
        )
    return chosen[-(last or load_recipe(run / "recipe.toml").training.keep_last) :]


def averaged(run: Path, recipe: Recipe) -> Path | None:
    """The model of a run, if it is there, whole, and what averaging would make again."""
    folder = run / "model"
    try:
        verify_folder(folder)
        facts = read_json(folder / "receipt.json")
    except (ModelError, OSError):
        return None
    same_search = facts["recipe"]["search"] == recipe.search.model_dump(mode="json")
    steps = [step_of(checkpoint) for checkpoint in _choose(run)]
    return folder if same_search and facts["averaged_steps"] == steps else None


def _make_way(folder: Path) -> None:
    """Remove a folder that holds nothing; a folder that a user names is never replaced."""
    if not folder.is_dir() or any(folder.iterdir()):
        raise RunError(f"{folder} is there already: choose another folder with --out")
    folder.rmdir()


def _write_model(folder: Path, chosen: list[Path], run: Path, progress: Progress) -> Score:
    """Write the average of checkpoints with its card and its receipt; return its dev score."""
    recipe, data = load_recipe(run / "recipe.toml"), run / "data"
    tokenizer = Tokenizer.load(data)
    weights = average_tensors([TensorsOnDisk(path / "model.safetensors") for path in chosen])
    model = build(recipe.model, **tokenizer.vocab_sizes).to(pick_device(recipe.training.device))
    model.load_weights(weights)
    score = DevScore(recipe, tokenizer, data, Group(), progress)(model)
    facts = receipt(
        recipe,
        model,
        data=data,
        state=read_json(checkpoints(run / "checkpoints")[-1] / "state.json"),
        averaged=[step_of(checkpoint) for checkpoint in chosen],
        scores=[score],
    )
    save_translator(
        folder,
        weights,
        tokenizer,
        model=recipe.model,
        languages=recipe.languages,
        search=recipe.search,
        task=recipe.task,
        documents={"receipt.json": json_text(facts), "README.md": card(facts)},
    )
    return score
