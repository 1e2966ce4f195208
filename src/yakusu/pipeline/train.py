"""Two files of sentences become a translator: prepare, train, average."""

from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch

from yakusu.data.pairs import Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.device import keep_freed_memory, pick_device
from yakusu.folder import read_json
from yakusu.model.architectures import build
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.average import average, averaged
from yakusu.pipeline.evaluate import DevScore
from yakusu.pipeline.prepare import Prepared, prepare
from yakusu.pipeline.run import opened
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe
from yakusu.tasks.task import tasks
from yakusu.training.distributed import Group, process_group
from yakusu.training.log import RunLog
from yakusu.training.schedule import limit_reached
from yakusu.training.signals import StopSignal
from yakusu.training.trainer import Trainer, TrainingData, TrainingOutput


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
    with process_group(recipe.training.stall_minutes) as group, ExitStack() as held:

        def begin() -> Prepared:
            held.enter_context(opened(recipe))
            prepared = prepare(recipe, progress=progress)
            if not prepared.existed:
                progress.say(str(prepared))
            return prepared

        prepared = group.run_on_main(begin)
        return _train(recipe, prepared.folder, progress if group.is_main else Silent(), group)


def _train(recipe: Recipe, data: Path, progress: Progress, group: Group) -> Trained:
    run, tokenizer = Path(recipe.run), Tokenizer.load(data)
    keep_freed_memory()
    device = pick_device(recipe.training.device, group.local_rank)
    if device.type == "cuda":
        torch.cuda.set_device(device)  # where torch puts what it is not told where to put
    model = _model(recipe, tokenizer).to(device)
    dev_score = DevScore(recipe, tokenizer, data, group, progress)
    with RunLog(run, progress) if group.is_main else nullcontext() as log, StopSignal() as stop:
        trainer = Trainer(
            model,
            TrainingData(
                train=Pairs.open(data, "train"),
                dev=Pairs.open(data, "dev"),
                batches=recipe.batches,
                seed=recipe.seed,
            ),
            config=recipe.training,
            score=dev_score,
            output=TrainingOutput(
                checkpoints=run / "checkpoints",
                record=log.record if log else lambda event: None,
                progress=progress,
            ),
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
    out = group.run_on_main(lambda: averaged(run, recipe) or average(run, progress=progress))
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
