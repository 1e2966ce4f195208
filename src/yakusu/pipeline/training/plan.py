"""What a training run will do, said before its first step."""

import math
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from yakusu.data.pieces import Pieces
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.pipeline.training.choose_recipe import recipe_for
from yakusu.pipeline.training.prepare import Prepared
from yakusu.pipeline.training.validation import DevScore
from yakusu.progress import duration
from yakusu.recipe import Recipe
from yakusu.training.distributed import full_model
from yakusu.training.schedule import limit_reached
from yakusu.training.state import explained_out_of_memory
from yakusu.training.trainer import LESS_MEMORY, Trainer

_SHOWN = 20  # characters
_FEW_STEPS = 20  # are not worth an estimate
_LONG = 24 * 3600  # seconds of training on a CPU before a warning
_FEW_TOKENS = 0.03  # tokens of training text per parameter; `tiny` has 0.08 with 5,000 pairs


@dataclass(frozen=True)
class TrainingPlan:
    """What a run will do.

    Attributes:
        languages: Codes of the languages; "": unknown, or already reported.
        n_pairs: Number of training pairs.
        n_dev: Number of pairs of the dev set.
        dropped: Number of pairs that the filters drop.
        vocab_sizes: Size of each vocabulary.
        rare: Characters of the training text without a token, sorted.
        in_bytes: Whether these are spelled in bytes; otherwise, they become the unknown token.
        parameters: Number of parameters that are trained.
        frozen: Number of other parameters.
        tokens: Number of tokens of the training text, both sides.
        device: Type of the device.
        threads: Number of threads on the CPU.
        cores: Number of cores that this process may use.
        steps: Number of steps that are left, if nothing ends training earlier.
        max_steps: `training.max_steps`.
        warmup_steps: `training.warmup_steps`.
        seconds: Estimated duration of these steps, with validations; None: not measured.
        may_stop: Whether training may end earlier.
        resumes: Whether the run has steps already.
        sampled: Number of pairs on which a dry run bases its estimates; 0: a dry run with all
            pairs; None: not a dry run.
    """

    languages: tuple[str, str]
    n_pairs: int
    n_dev: int
    dropped: int
    vocab_sizes: tuple[int, ...]
    rare: str
    in_bytes: bool
    parameters: int
    frozen: int
    tokens: int
    device: str
    threads: int
    cores: int
    steps: int
    max_steps: int
    warmup_steps: int
    seconds: float | None
    may_stop: bool
    resumes: bool = False
    sampled: int | None = None

    def __str__(self) -> str:
        lines = [*self._corpus(), self._model(), *self._time(), *self._warnings()]
        return "\n".join(lines)

    @property
    def _about(self) -> str:
        return "about " if self.sampled else ""

    def _corpus(self) -> Iterator[str]:
        """Pairs and vocabulary, which a run has from its first day."""
        if self.resumes:
            return
        if self.sampled is not None:
            how = f"estimates from {self.sampled:,} pairs" if self.sampled else "estimates"
            yield f"dry run: {how}; nothing is written"
        yield (
            f"pairs: {self._about}{self.n_pairs:,} to train on, {self.n_dev:,} to measure with, "
            f"{self._about}{self.dropped:,} left out"
        )
        if all(self.languages):
            yield f"languages: {' to '.join(self.languages)}"
        sizes = " and ".join(f"{size:,}" for size in self.vocab_sizes)
        yield f"vocabulary: {sizes} tokens; {self._characters}"

    @property
    def _characters(self) -> str:
        if not self.rare:
            return "every character of the text has one"
        shown = " ".join(self.rare[:_SHOWN]) + (" ..." if len(self.rare) > _SHOWN else "")
        n = f"{len(self.rare):,} rare character{'s' * (len(self.rare) > 1)}"
        fate = "spelled in bytes" if self.in_bytes else "unknown to the model"
        return f"{n} without a token, {fate}: {shown}"

    def _model(self) -> str:
        frozen = f" ({self.frozen:,} others are frozen)" if self.frozen else ""
        threads = f" with {self.threads} of {self.cores} cores" if self.device == "cpu" else ""
        return f"training {self.parameters:,} parameters on {self.device}{threads}{frozen}"

    def _time(self) -> Iterator[str]:
        if self.seconds is None:
            return
        less = ", less if the translations stop improving" if self.may_stop else ""
        yield (
            f"time: {duration(self.seconds)} on this machine for {self.steps:,} steps{less}; "
            "stop with Ctrl-C at any time, and repeat the command to resume"
        )

    def _warnings(self) -> Iterator[str]:
        """What does not fit together."""
        fitting = recipe_for(self.n_pairs)
        if self.tokens < _FEW_TOKENS * self.parameters:
            advice = "it will learn little: add text"
            if fitting != "tiny" or self.parameters > _LARGER_THAN_TINY:
                advice = f"a smaller model learns more: use the recipe {fitting}"
            yield (
                f"warning: the model has {self.parameters:,} parameters for {self.tokens:,} tokens "
                f"of text; {advice}"
            )
        if self.device == "cpu" and (self.seconds or 0) > _LONG:
            advice = "use a machine with a GPU"
            if fitting in ("tiny", "small", "medium"):
                advice += f", or the recipe {fitting}"
            yield f"warning: training takes {duration(self.seconds or 0)} without a GPU: {advice}"
        if self.max_steps < self.warmup_steps:
            yield (
                f"warning: training.max_steps = {self.max_steps:,} ends before the learning rate "
                f"has warmed up (training.warmup_steps = {self.warmup_steps:,}): lower "
                "training.warmup_steps in a new run"
            )


_LARGER_THAN_TINY = 4_000_000  # parameters, with any vocabulary


def plan_of(
    recipe: Recipe,
    prepared: Prepared,
    tokenizer: Tokenizer,
    trainer: Trainer,
    dev_score: DevScore,
    *,
    languages: tuple[str, str],
    resumes: bool,
) -> TrainingPlan:
    """Measure a step and describe the run; every process must call this.

    Args:
        recipe: The recipe.
        prepared: The data of the run.
        tokenizer: The vocabularies.
        trainer: The trainer, before its first step; no byte of its model changes.
        dev_score: The score of its validations.
        languages: Codes of the languages; "": unknown, or told before.
        resumes: Whether the run has steps already.
    """
    parameters = list(trainer.model.parameters())
    size = sum(each.numel() for each in parameters)
    trained = sum(each.numel() for each in parameters if each.requires_grad)
    steps, seconds = _estimate(trainer, dev_score)
    pairs, config = trainer.data.train, recipe.training
    sizes = tokenizer.vocab_sizes
    return TrainingPlan(
        languages=languages,
        n_pairs=prepared.n_train,
        n_dev=prepared.n_dev,
        dropped=prepared.report["read"] - prepared.report["kept"],
        vocab_sizes=tuple(sizes.values())[: 1 if tokenizer.joint else 2],
        rare=_rare(tokenizer) if recipe.task == "translation" else "",
        in_bytes=recipe.tokenizer.byte_fallback,
        parameters=trained,
        frozen=size - trained,
        tokens=len(pairs.src.tokens) + len(pairs.tgt.tokens),
        device=str(trainer.device),
        threads=torch.get_num_threads(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1,
        steps=steps,
        max_steps=config.max_steps,
        warmup_steps=config.warmup_steps,
        seconds=seconds,
        may_stop=bool(config.patience),
        resumes=resumes,
    )


def _estimate(trainer: Trainer, dev_score: DevScore) -> tuple[int, float | None]:
    """The steps that are left, and their duration from a measured step and a few translations."""
    state, config = trainer.state, trainer.config
    steps = 0 if limit_reached(config, state) else config.max_steps - state.step
    if steps < _FEW_STEPS:
        return steps, None
    with explained_out_of_memory(lambda: state):
        pace = trainer.measure()
    if config.max_epochs:
        left = (config.max_epochs - state.epochs) * pace.steps_per_epoch
        steps = min(steps, math.ceil(left))
    validations = math.ceil(steps / config.validate_steps)
    model = full_model(trainer.model, trainer.group)
    with explained_out_of_memory(lambda: state, LESS_MEMORY):
        seconds = steps * pace.seconds + validations * dev_score.estimate(model)
    if config.max_hours and seconds > (limit := 3600 * config.max_hours - state.seconds):
        steps, seconds = math.ceil(steps * limit / seconds), limit
    return steps, seconds


def _rare(tokenizer: Tokenizer) -> str:
    """The letters, digits and punctuation of the training text without a token of their own."""
    if (coverage := tokenizer.coverage) is None:
        return ""
    sides = (coverage.source_characters, tokenizer.src), (coverage.target_characters, tokenizer.tgt)
    return "".join(sorted({c for text, own in sides for c in text if _is_rare(c, own)}))


def _is_rare(character: str, pieces: Pieces) -> bool:
    if unicodedata.category(character)[0] not in "LMNP":
        return False
    return any(pieces.id_of(each) == UNK for each in pieces.spelled(character).strip())
