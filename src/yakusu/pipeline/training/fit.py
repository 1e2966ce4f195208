"""Trains a model: prepare, train, average."""

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
from yakusu.pipeline.training.display import Display
from yakusu.pipeline.training.finished import (
    finished_model,
    refuse_new_model,
    refuse_replacement,
)
from yakusu.pipeline.training.inherit import freeze, inherit, kept_pieces, mark_words
from yakusu.pipeline.training.parent import Parent
from yakusu.pipeline.training.plan import TrainingPlan, plan_of
from yakusu.pipeline.training.prepare import Prepared, augmentation_of, prepare_run
from yakusu.pipeline.training.run import locked_run, with_values
from yakusu.pipeline.training.trained import Command, Detail, Trained
from yakusu.pipeline.training.validation import DevScore, require_engine
from yakusu.pipeline.training.verdict import saved_verdict
from yakusu.progress import Progress, Silent, Unsaid
from yakusu.recipe import Recipe, save_recipe
from yakusu.tasks.task import tasks
from yakusu.training.checkpoint import checkpoints
from yakusu.training.distributed import Group, process_group
from yakusu.training.log import Event, RunLog, ValidateEvent
from yakusu.training.schedule import limit_reached
from yakusu.training.signals import StopSignal
from yakusu.training.trainer import Trainer, TrainingData, TrainingOutput


def train_resolved(recipe: Recipe, command: Command, progress: Progress) -> Trained:
    """Prepare the data of a run and train its model.

    Args:
        recipe: The recipe, as `train` has resolved and checked it.
        command: What the command asks for.
        progress: Progress reporter.
    """
    given, recipe = recipe, _settled(recipe)
    with process_group(recipe.training.stall_minutes) as group, ExitStack() as held:

        def prepare_data() -> Prepared:
            for sentence in command.told:
                progress.say(sentence)
            held.enter_context(locked_run(given))  # `prepare` leaves choices open
            refuse_new_model(Path(recipe.run), command.asked)
            return prepare_run(recipe, progress=progress)

        prepared = group.run_on_main(prepare_data)
        run = _Run(recipe, prepared, group, progress if group.is_main else Silent())
        reason, trained = run.train(command)
        return run.result(reason, trained=trained, detail=command.detail)


def plan_resolved(recipe: Recipe, told: tuple[str, ...], progress: Progress) -> TrainingPlan:
    """Prepare the data of a run and describe what its training will do, without training.

    Args:
        recipe: The recipe of a run that nobody will train.
        told: Sentences about the choice of the recipe and the languages, to report first.
        progress: Progress reporter.
    """
    recipe = _settled(recipe)
    for sentence in told:
        progress.say(sentence)
    with locked_run(recipe):
        prepared = prepare_run(recipe, progress=progress)
        run = _Run(recipe, prepared, Group(), progress)
        return run.plan(told, resumes=False)


def _verbose(progress: Progress, detail: Detail) -> Progress:
    """A progress reporter for lines that only `detail` "verbose" shows."""
    return progress if detail == "verbose" else Unsaid(progress)


def _settled(recipe: Recipe) -> Recipe:
    """Make the choices that a recipe leaves open, before the first step of its run.

    They are saved with the recipe, so that nothing decides again about the bytes of the model. A
    run of an earlier version, which has not saved them, is left as it is.

    Raises:
        RecipeError: This machine does not have the device or the engine of the recipe.
    """
    device = pick_device(recipe.training.device)
    require_engine(recipe)
    use_threads(recipe.training.threads)
    if checkpoints(Path(recipe.run) / "checkpoints"):
        return recipe
    return with_values(
        recipe,
        {
            "batches.pass_tokens": recipe.batches.pass_tokens_on(
                device.type, packs=recipe.model.packs
            ),
            "batches.batch_tokens": recipe.batches.batch_tokens_on(device.type),
            "training.precision": recipe.training.precision_on(device.type),
            "training.threads": torch.get_num_threads(),
        },
    )


class _Run:
    """The training of a run whose data are prepared."""

    def __init__(
        self, recipe: Recipe, prepared: Prepared, group: Group, progress: Progress
    ) -> None:
        self.recipe, self.prepared, self.group, self.progress = recipe, prepared, group, progress
        self.folder, data = Path(recipe.run), prepared.folder
        self.tokenizer = Tokenizer.load(data)
        device = _training_device(recipe, group)
        torch.manual_seed(recipe.seed)
        self.dev_score = DevScore(recipe, self.tokenizer, data, group, progress)
        self.recorder = _Recorder(RunLog(self.folder), self.dev_score)
        self.stop = StopSignal()
        self.trainer = Trainer(
            self._model().to(device),
            _training_data(recipe, data, self.tokenizer),
            config=recipe.training,
            score=self.dev_score,
            output=TrainingOutput(self.folder / "checkpoints", self.recorder, progress),
            group=group,
            stop=self.stop,
        )

    def _model(self) -> Seq2Seq:
        """The model with its first weights."""
        recipe, tokenizer = self.recipe, self.tokenizer
        model: Seq2Seq = build(recipe.model, **tokenizer.vocab_sizes)
        if recipe.parent.model:
            parent = Parent(recipe.parent.model)
            inherit(model, parent, tokenizer)
            if recipe.parent.vocabulary == "learn":
                self.progress.say(kept_pieces(parent.tokenizer, tokenizer))
            freeze(model, recipe.parent)
        mark_words(model, tokenizer)
        return model

    def train(self, command: Command) -> tuple[str, bool]:
        """Train to a limit; return the limit, and whether there was a step left to do."""
        trainer, recipe, progress = self.trainer, self.recipe, self.progress
        with self.stop:
            resumed = trainer.resume(exact=command.exact)

            def save() -> None:
                if resumed:
                    refuse_replacement(self.folder, recipe, trainer.state, command.asked)
                save_recipe(recipe, self.folder / "recipe.toml")

            self.group.run_on_main(save)  # everything has been checked
            if command.detail == "verbose" and not self.prepared.existed:
                progress.say(str(self.prepared))
            if resumed:
                progress.say(_resuming(trainer))
            if not (resumed and limit_reached(trainer.config, trainer.state)):
                progress.say(str(self.plan(command.told, resumes=resumed)))
            first = trainer.state.step
            pairs = self.dev_score.pairs if recipe.task == "translation" else ()
            display = Display(trainer.config, trainer.state, progress, command.detail, pairs)
            self.recorder.display = display if self.group.is_main else None
            with self.recorder.log if self.group.is_main else nullcontext():
                return trainer.run(), trainer.state.step > first

    def result(self, reason: str, *, trained: bool, detail: Detail) -> Trained:
        """Average the checkpoints, unless there was no step left to do, and judge the model.

        Args:
            reason: The limit that ended the training.
            trained: Whether there was a step left to do.
            detail: As for `train`.
        """
        recipe, state, group, folder = self.recipe, self.trainer.state, self.group, self.folder
        if trained:
            self.progress.say("writing the model and measuring its translations")
        model = group.run_on_main(
            lambda: (
                (not trained and finished_model(folder, recipe, state))
                or average(folder, progress=_verbose(self.progress, detail))
            )
        )
        n_pairs = self.prepared.n_train
        early = reason.startswith("max_hours") and not state.bad_validations
        return Trained(
            model,
            steps=state.step,
            seconds=state.seconds,
            reason=reason,
            dev_score=read_receipt(model).scores[0],
            example=tasks[recipe.task].example,
            rank=group.rank,
            verdict=saved_verdict(folder, n_pairs=n_pairs, improving=early)
            if group.is_main
            else None,
        )

    def plan(self, told: tuple[str, ...], *, resumes: bool) -> TrainingPlan:
        """Measure a step and describe the run; every process must call this.

        Args:
            told: What has been said, perhaps with the languages.
            resumes: Whether the run has steps already.
        """
        detected = any("language" in sentence for sentence in told)
        return plan_of(
            self.recipe,
            self.prepared,
            self.tokenizer,
            self.trainer,
            self.dev_score,
            languages=("", "") if detected else self.recipe.languages,
            resumes=resumes,
        )


class _Recorder:
    """Logs the events of a run and shows them; it does not refer to the trainer, which holds it."""

    def __init__(self, log: RunLog, dev_score: DevScore) -> None:
        self.log, self.dev_score = log, dev_score
        self.display: Display | None = None  # None: in another process than the first

    def __call__(self, event: Event) -> None:
        if self.display is None:
            return
        if isinstance(event, ValidateEvent):
            event = replace(event, dev_chrf=self.dev_score.chrf())
        self.log.record(event)
        self.display.show(event, self.dev_score.translations)


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


def _resuming(trainer: Trainer) -> str:
    state, config = trainer.state, trainer.config
    best = "none yet" if state.best is None else f"{abs(state.best):.2f} at step {state.best_step}"
    place = (
        f"already at step {state.step:,} (epoch {state.epoch + state.epoch_share:.1f}, best "
        f"{config.best_by} {best}, measurements since then: {state.bad_validations})"
    )
    if reason := limit_reached(config, state):
        return f"{place}: nothing left to do, because {reason} has been reached"
    return f"{place}: resuming"
