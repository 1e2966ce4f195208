"""Trains a translator from text: prepare, train, average."""

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import torch

from yakusu.data.bpe_dropout import BpeDropout
from yakusu.data.pairs import Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.device import (
    disable_cudnn_attention,
    keep_compiled_kernels,
    keep_freed_memory,
    pick_device,
)
from yakusu.model.architectures import build
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.pipeline.training.average import average, averaged
from yakusu.pipeline.training.choose_recipe import recipe_of
from yakusu.pipeline.training.detect_languages import with_detected_languages
from yakusu.pipeline.training.inherit import freeze, inherit, kept_pieces
from yakusu.pipeline.training.parent import Parent, with_parent_sizes
from yakusu.pipeline.training.prepare import Prepared, augmentation_of, prepare
from yakusu.pipeline.training.run import locked_run
from yakusu.pipeline.training.validation import DevScore, require_engine
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe, RecipeFiles
from yakusu.tasks.task import tasks
from yakusu.training.distributed import Group, process_group
from yakusu.training.log import RunLog
from yakusu.training.schedule import limit_reached
from yakusu.training.signals import StopSignal
from yakusu.training.trainer import Trainer, TrainingData, TrainingOutput


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
    allow_misaligned: bool = False,
    progress: Progress | None = None,
    **files: Unpack[RecipeFiles],
) -> Trained:
    """Train a translator, or resume its training; prepare the data first if necessary.

    Args:
        recipe: A recipe, or the name or path of one; None: as in `choose_recipe`.
        overrides: Keys to override, such as "training.max_steps=500", unless `recipe` is loaded.
        exact: Refuse to resume where the bytes of the model will differ from those of an
            uninterrupted run, because of the number of threads, for example; otherwise, warn.
        progress: Progress reporter.
        files: `run`, `src`, `tgt` and the other file arguments of `load_recipe`, unless `recipe` is
            loaded.

    Raises:
        YakusuError: As in `prepare`, or a checkpoint is corrupt, or training failed.

    Example:
        `yakusu.train(src="train.en", tgt="train.de", run="runs/en-de")`
    """
    found, why = recipe_of(recipe, overrides, files)
    return _train(found, progress or Silent(), why=why, exact=exact, misaligned=allow_misaligned)


def _train(
    recipe: Recipe, progress: Progress, *, why: str | None, exact: bool, misaligned: bool
) -> Trained:
    # These fail before anything is written.
    recipe, languages = with_detected_languages(with_parent_sizes(recipe))
    pick_device(recipe.training.device)
    require_engine(recipe)
    with process_group(recipe.training.stall_minutes) as group, ExitStack() as held:

        def prepare_data() -> Prepared:
            for sentence in filter(None, (why, languages)):
                progress.say(sentence)
            held.enter_context(locked_run(recipe, misaligned=misaligned))
            prepared = prepare(recipe, allow_misaligned=True, progress=progress)
            if not prepared.existed:
                progress.say(str(prepared))
            return prepared

        data = group.run_on_main(prepare_data).folder
        if not group.is_main:
            progress = Silent()
        trainer, reason = _train_model(recipe, data, group, progress, exact=exact)
        run = Path(recipe.run)
        model = group.run_on_main(lambda: averaged(run, recipe) or average(run, progress=progress))
    return Trained(
        model,
        steps=trainer.state.step,
        seconds=trainer.state.seconds,
        reason=reason,
        dev_score=read_receipt(model).scores[0],
        example=tasks[recipe.task].example,
        rank=group.rank,
    )


def _train_model(
    recipe: Recipe, data: Path, group: Group, progress: Progress, *, exact: bool
) -> tuple[Trainer, str]:
    """Train until a limit is reached; return the trainer and the limit."""
    run, tokenizer = Path(recipe.run), Tokenizer.load(data)
    device = _training_device(recipe, group)
    torch.manual_seed(recipe.seed)
    model: Seq2Seq = build(recipe.model, **tokenizer.vocab_sizes)
    if recipe.parent.model:
        parent = Parent(recipe.parent.model)
        inherit(model, parent, tokenizer)
        if recipe.parent.vocabulary == "learn":
            progress.say(kept_pieces(parent.tokenizer, tokenizer))
        freeze(model, recipe.parent)
    model.to(device)
    with RunLog(run, progress) if group.is_main else nullcontext() as log, StopSignal() as stop:
        trainer = Trainer(
            model,
            _training_data(recipe, data, tokenizer),
            config=recipe.training,
            score=DevScore(recipe, tokenizer, data, group, progress),
            output=TrainingOutput(
                checkpoints=run / "checkpoints",
                record=log.record if log else lambda event: None,
                progress=progress,
            ),
            group=group,
            stop=stop,
        )
        resumed = trainer.resume(exact=exact)
        progress.say(_resuming(trainer) if resumed else _starting(trainer))
        if (steps := recipe.training.max_steps) < (warmup := recipe.training.warmup_steps):
            progress.say(
                f"training.max_steps = {steps:,} ends before the learning rate has warmed up "
                f"(training.warmup_steps = {warmup:,}): lower training.warmup_steps in a new run"
            )
        return trainer, trainer.run()


def _training_device(recipe: Recipe, group: Group) -> torch.device:
    """The device of this process, after torch has been set up for training."""
    keep_freed_memory()
    keep_compiled_kernels()
    disable_cudnn_attention()
    device = pick_device(recipe.training.device, group.local_rank)
    if device.type == "cuda":
        torch.cuda.set_device(device)  # for tensors that torch creates without a device
    return device


def _training_data(recipe: Recipe, data: Path, tokenizer: Tokenizer) -> TrainingData:
    train = Pairs.open(data, "train")
    augmentation = augmentation_of(recipe, train, tokenizer)
    dropout = BpeDropout(
        train,
        tokenizer,
        recipe.training.bpe_dropout,
        seed=recipe.seed,
        symbols=recipe.tokenizer.symbols,
        sides=("src", "tgt") if recipe.tokenizer.target == "text" else ("src",),
        max_tokens=recipe.filters.max_tokens,
    )

    def of_epoch(epoch: int) -> Pairs:
        pairs = augmentation.epoch(epoch)
        return replace(dropout, pairs=pairs).epoch(epoch) if dropout.p else pairs

    return TrainingData(
        train=train,
        dev=Pairs.open(data, "dev"),
        batches=recipe.batches,
        seed=recipe.seed,
        of_epoch=of_epoch,
    )


def _starting(trainer: Trainer) -> str:
    parameters = list(trainer.model.parameters())
    size = sum(parameter.numel() for parameter in parameters)
    n_frozen = sum(parameter.numel() for parameter in parameters if not parameter.requires_grad)
    frozen = f" ({n_frozen:,} others are frozen)" if n_frozen else ""
    return f"training {size - n_frozen:,} parameters on {trainer.device}{frozen}"


def _resuming(trainer: Trainer) -> str:
    state, config = trainer.state, trainer.config
    best = "none yet" if state.best is None else f"{abs(state.best):.2f} at step {state.best_step}"
    place = (
        f"already at step {state.step:,} (epoch {state.epoch + state.epoch_share:.2f}, learning "
        f"rate {trainer.learning_rate:.2e}, best {config.best_by} {best}, validations "
        f"since then: {state.bad_validations})"
    )
    if reason := limit_reached(config, state):
        return f"{place}: nothing left to do, because {reason} has been reached"
    return f"{place}: resuming"
