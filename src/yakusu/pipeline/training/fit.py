"""Trains a model: prepare, train, average."""

from collections.abc import Sequence, Set
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

import torch

from yakusu.data.bpe_dropout import BpeDropout
from yakusu.data.pairs import Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.device import (
    disable_cudnn_attention,
    keep_compiled_kernels,
    keep_freed_memory,
    pick_device,
    use_threads,
)
from yakusu.model.architectures import build
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.pipeline.training.average import average
from yakusu.pipeline.training.finished import finished_model, refuse_replacement
from yakusu.pipeline.training.inherit import freeze, inherit, kept_pieces
from yakusu.pipeline.training.parent import Parent
from yakusu.pipeline.training.prepare import Prepared, augmentation_of, prepare_run
from yakusu.pipeline.training.run import locked_run, with_values
from yakusu.pipeline.training.train import Trained
from yakusu.pipeline.training.validation import DevScore, require_engine
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe, save_recipe
from yakusu.tasks.task import tasks
from yakusu.training.checkpoint import checkpoints
from yakusu.training.distributed import Group, process_group
from yakusu.training.log import RunLog
from yakusu.training.schedule import limit_reached
from yakusu.training.signals import StopSignal
from yakusu.training.trainer import Trainer, TrainingData, TrainingOutput


def fit(
    recipe: Recipe,
    progress: Progress,
    *,
    told: Sequence[str],
    asked: Set[str] | None,
    exact: bool,
) -> Trained:
    """Prepare the data of a run and train its model.

    Args:
        recipe: The recipe, as `train` has resolved and checked it.
        progress: Progress reporter.
        told: Sentences about the choice of the recipe, to report first.
        asked: The keys that the command sets; None: it asks for everything in the recipe.
        exact: As for `train`.
    """
    device = pick_device(recipe.training.device)
    require_engine(recipe)
    recipe = _settled(recipe, device)
    with process_group(recipe.training.stall_minutes) as group, ExitStack() as held:

        def prepare_data() -> Prepared:
            for sentence in told:
                progress.say(sentence)
            held.enter_context(locked_run(recipe))
            prepared = prepare_run(recipe, progress=progress)
            if not prepared.existed:
                progress.say(str(prepared))
            return prepared

        data = group.run_on_main(prepare_data).folder
        if not group.is_main:
            progress = Silent()
        trainer, reason, trained = _train_model(
            recipe, data, group, progress, asked=asked, exact=exact
        )
        run, state = Path(recipe.run), trainer.state
        model = group.run_on_main(
            lambda: (
                (not trained and finished_model(run, recipe, state))
                or average(run, progress=progress)
            )
        )
    return Trained(
        model,
        steps=trainer.state.step,
        seconds=trainer.state.seconds,
        reason=reason,
        dev_score=read_receipt(model).scores[0],
        example=tasks[recipe.task].example,
        rank=group.rank,
    )


def _settled(recipe: Recipe, device: torch.device) -> Recipe:
    """Make the choices that a recipe leaves open, before the first step of its run.

    They are saved with the recipe, so that nothing decides again about the bytes of the model. A
    run of an earlier version, which has not saved them, is left as it is.
    """
    use_threads(recipe.training.threads)
    if checkpoints(Path(recipe.run) / "checkpoints"):
        return recipe
    return with_values(
        recipe,
        {
            "batches.pass_tokens": recipe.batches.pass_tokens_on(device.type),
            "batches.batch_tokens": recipe.batches.batch_tokens_on(device.type),
            "training.precision": recipe.training.precision_on(device.type),
            "training.threads": torch.get_num_threads(),
        },
    )


def _train_model(
    recipe: Recipe,
    data: Path,
    group: Group,
    progress: Progress,
    *,
    asked: Set[str] | None,
    exact: bool,
) -> tuple[Trainer, str, bool]:
    """Train to a limit; return the trainer, the limit, and whether there was a step left to do."""
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
    log = RunLog(run, progress)
    with StopSignal() as stop:
        trainer = Trainer(
            model,
            _training_data(recipe, data, tokenizer),
            config=recipe.training,
            score=DevScore(recipe, tokenizer, data, group, progress),
            output=TrainingOutput(
                checkpoints=run / "checkpoints",
                record=log.record if group.is_main else lambda event: None,
                progress=progress,
            ),
            group=group,
            stop=stop,
        )
        resumed = trainer.resume(exact=exact)

        def start() -> None:
            """Save the recipe: everything has been checked."""
            if resumed:
                refuse_replacement(run, recipe, trainer.state, asked)
            save_recipe(recipe, run / "recipe.toml")

        group.run_on_main(start)
        first = trainer.state.step
        progress.say(_resuming(trainer) if resumed else _starting(trainer))
        if (steps := recipe.training.max_steps) < (warmup := recipe.training.warmup_steps):
            progress.say(
                f"training.max_steps = {steps:,} ends before the learning rate has warmed up "
                f"(training.warmup_steps = {warmup:,}): lower training.warmup_steps in a new run"
            )
        with log if group.is_main else nullcontext():
            return trainer, trainer.run(), trainer.state.step > first


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
