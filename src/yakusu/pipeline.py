"""The verbs as functions; here alone the stages are wired together."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import ValidationError

from yakusu.averaging import average, averaged
from yakusu.corpus import read_sources
from yakusu.data import Pairs
from yakusu.errors import ModelError, RecipeError
from yakusu.evaluation import DevScore, Text
from yakusu.folder import read_json, save_folder, verify_folder
from yakusu.model.architectures import build
from yakusu.model.base import Seq2Seq
from yakusu.parsing.files import holds_trees
from yakusu.preparation import Preparation, Prepared, refuse_changed
from yakusu.progress import Progress, Silent
from yakusu.receipt import story
from yakusu.recipe import Recipe
from yakusu.run import opened
from yakusu.search import SearchConfig
from yakusu.task import tasks
from yakusu.tokenizer import Tokenizer
from yakusu.training.device import keep_freed_memory, pick_device
from yakusu.training.limits import limit_reached
from yakusu.training.log import RunLog
from yakusu.training.parallel import Group, processes
from yakusu.training.stop import Stop
from yakusu.training.trainer import Trainer
from yakusu.translator import Translation, Translator

# ---- prepare -----------------------------------------------------------------------------------


def prepare(recipe: Recipe, *, progress: Progress | None = None, workers: int = -1) -> Prepared:
    """Filter the corpus, learn the tokenizer, binarise train and dev.

    Args:
        recipe: Says where everything lies; the result goes to `recipe.run`/data.
        progress: Watches.
        workers: Processes that tokenise; -1 for one a core. The bytes do not depend on it.

    Raises:
        DataError: The corpus cannot be used.
        RunError: The folder holds another run.
    """
    with opened(recipe) as run:
        folder = run / "data"
        was_there = folder.exists()
        if was_there:
            verify_folder(folder)
            refuse_changed(folder, recipe)
        else:
            save_folder(folder, Preparation(recipe, progress or Silent(), workers).fill)
    facts = read_json(folder / "data.json")
    parts = facts.get("parts", {}).get("train", ())
    return Prepared(
        folder,
        facts["report"],
        facts["n_train"],
        sum(part["n_pairs"] for part in parts[1:]),
        facts["n_dev"],
        facts["fullness"],
        was_there,
    )


# ---- train -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """What `train` made."""

    model: Path
    steps: int
    seconds: float
    reason: str  # why it stopped
    dev_score: str  # with its signature
    example: str  # of a source line
    rank: int  # of this process


def train(recipe: Recipe, *, progress: Progress | None = None) -> Trained:
    """Train a translator, or go on training it; prepares the data first where that is to be done.

    Raises:
        YakusuError: See `prepare`; or a checkpoint is corrupt.
    """
    progress = progress or Silent()
    pick_device(recipe.training.device)  # complain before anything is made
    with processes(recipe.training.stall_minutes) as group, ExitStack() as held:

        def begin() -> Prepared:
            held.enter_context(opened(recipe))
            prepared = prepare(recipe, progress=progress)
            if not prepared.was_there:
                progress.say(str(prepared))
            return prepared

        prepared = group.lead(begin)
        return _train(recipe, prepared.folder, progress if group.leads else Silent(), group)


def _train(recipe: Recipe, data: Path, progress: Progress, group: Group) -> Trained:
    run, tokenizer = Path(recipe.run), Tokenizer.load(data)
    keep_freed_memory()
    device = pick_device(recipe.training.device, group.local_rank)
    if device.type == "cuda":
        torch.cuda.set_device(device)  # where torch puts what it is not told where to put
    model = _model(recipe, tokenizer).to(device)
    dev_score = DevScore(recipe, tokenizer, data, group, progress)
    with RunLog(run, progress) if group.leads else nullcontext() as log, Stop() as stop:
        trainer = Trainer(
            model,
            train=Pairs.open(data, "train"),
            dev=Pairs.open(data, "dev"),
            config=recipe.training,
            batches=recipe.batches,
            seed=recipe.seed,
            folder=run / "checkpoints",
            score=dev_score,
            record=log.record if log else lambda event: None,
            progress=progress,
            group=group,
            stop=stop,
        )
        progress.say(_beginning(trainer, trainer.resume()))
        if (steps := recipe.training.max_steps) < (warmup := recipe.training.warmup_steps):
            progress.say(
                f"training.max_steps = {steps:,} ends before the warm-up of {warmup:,} steps does, "
                "while the rate is low: lower training.warmup_steps in a new run"
            )
        reason = trainer.run()
    out = group.lead(lambda: averaged(run, recipe) or average(run, progress=progress))
    score = read_json(out / "receipt.json")["scores"][0]
    return Trained(
        out,
        trainer.state.step,
        trainer.state.seconds,
        reason,
        score,
        tasks[recipe.task].example,
        group.rank,
    )


def _beginning(trainer: Trainer, resumed: bool) -> str:
    state = trainer.state
    size = sum(parameter.numel() for parameter in trainer.model.parameters())
    if not resumed:
        return f"training {size:,} parameters on {trainer.device}"
    best = "none yet" if state.best is None else f"{abs(state.best):.2f} at step {state.best_step}"
    place = (
        f"already at step {state.step:,} (epoch {state.epoch + state.epoch_share:.2f}, rate "
        f"{trainer.learning_rate:.2e}, best {trainer.config.best_by} {best}, "
        f"{state.bad_validations} validations without a better one)"
    )
    if reason := limit_reached(trainer.config, trainer.state):
        return f"{place}: nothing left to do, {reason} is reached"
    return f"{place}: going on"


def _model(recipe: Recipe, tokenizer: Tokenizer) -> Seq2Seq:
    torch.manual_seed(recipe.seed)
    return build(recipe.model, **tokenizer.vocab_sizes)


def verify(folder: str | Path) -> list[str]:
    """Check every file of a model, checkpoint or data folder against its hash.

    Returns:
        What is known of it, a line each.

    Raises:
        ModelError: A file is missing or altered.
    """
    folder = Path(folder)
    if (folder / "model" / "manifest.json").exists():
        raise ModelError(f"{folder} is a run folder: its translator is {folder / 'model'}")
    verify_folder(folder)
    files = read_json(folder / "manifest.json")["files"]
    lines = [f"{file['sha256']}  {name}" for name, file in files.items()]
    if "receipt.json" in files:
        try:
            lines += story(read_json(folder / "receipt.json"))
        except KeyError as error:
            lines.append(f"receipt.json does not say what made it: it has no {error}")
    return [*lines, f"whole: {len(files)} files of {folder} are as they were written"]


# ---- translate -----------------------------------------------------------------------------------


def translate(
    model: str | Path,
    sentences: Text,
    *,
    ensemble: Sequence[str | Path] = (),
    beam: int = 0,
    alpha: float | None = None,
    n_best: int = 1,
    batch: int = 64,
    window: int = 0,
    device: str = "cpu",
) -> Iterator[list[Translation]]:
    """Translate sentences in order, as they come.

    Args:
        model: A model folder.
        sentences: A file, or lines; of trees, which a parser takes too, their words.
        ensemble: Folders of more models of the same vocabulary, to decide together with it.
        beam: Width of the beam; 0 for the recipe's.
        alpha: Of the length penalty; None for the recipe's.
        n_best: How many translations of each sentence.
        batch: Sentences translated together; the result does not depend on it.
        window: Sentences read ahead and sorted by length; 0 for 32 batches.
        device: Where to translate.

    Raises:
        ModelError: A folder is incomplete or corrupt, or holds another vocabulary; or the file is
            trees and the model no parser.
        DataError: The file cannot be read.
    """
    keep_freed_memory()
    translator = Translator.load(model, ensemble=ensemble, device=device)
    if isinstance(sentences, str | Path):
        if translator.task_name != "parsing" and holds_trees(sentences):
            raise ModelError(f"{model} translates and {sentences} are trees: name a parser")
        sentences = read_sources(sentences)
    changes = {"beam": beam or None, "alpha": alpha, "n_best": n_best}
    search = translator.search.model_dump() | {k: v for k, v in changes.items() if v is not None}
    try:
        translator.search = SearchConfig.model_validate(search)
    except ValidationError as error:
        raise RecipeError(error.errors()[0]["msg"].removeprefix("Value error, ")) from error
    return translator.stream(sentences, batch=batch, window=window)
