"""Averages the last checkpoints of a run into a translator, section 6.1."""

from dataclasses import dataclass
from pathlib import Path

from yakusu.data.tokenizer import Tokenizer
from yakusu.device import pick_device, use_threads
from yakusu.errors import RunError
from yakusu.folder import verify_folder
from yakusu.metrics import Score
from yakusu.model.architectures import build
from yakusu.pipeline.receipts.card import documents
from yakusu.pipeline.receipts.facts import make_receipt
from yakusu.pipeline.receipts.receipt import RejectedAverage, named_average
from yakusu.pipeline.training.calibration import calibration_of
from yakusu.pipeline.training.codebook import codebook_of
from yakusu.pipeline.training.data_folder import check_data
from yakusu.pipeline.training.inherit import freeze
from yakusu.pipeline.training.validation import DevScore, require_engine
from yakusu.pipeline.training.verdict import save_translations
from yakusu.progress import Progress, Silent
from yakusu.recipe import load_recipe
from yakusu.training.checkpoint import checkpoints, step_of
from yakusu.training.distributed import Group
from yakusu.training.state import TrainerState, read_state
from yakusu.translator.folder.folder import TranslatorConfig
from yakusu.translator.folder.network import save_translator
from yakusu.weights import Tensors, TensorsOnDisk, average_tensors, from_int8, to_int8


def average(
    run: str | Path,
    *,
    out: str | Path | None = None,
    last: int | None = None,
    best: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Average the last checkpoints of a run into a model folder, section 6.1.

    The folder has 8 bits per weight, with one scale per row of a matrix. Without `last` and `best`,
    the best single checkpoint is used instead if it scores higher on the dev set than the average.

    Args:
        run: Run folder.
        out: New model folder to write (default: RUN/model).
        last: Number of checkpoints to average (default: `training.keep_last` of the recipe).
        best: Use the best checkpoint only.
        progress: Progress reporter.

    Returns:
        The model folder.

    Raises:
        RunError: The folder is not a run or has no checkpoint, or `out` exists.
        ModelError: A checkpoint is corrupt.
        RecipeError: The run needs the native engine, which is not installed.
    """
    run, progress = Path(run), progress or Silent()
    if best and last is not None:
        raise RunError("best and last are mutually exclusive: use only one of them")
    newest = _newest(run)
    chosen = best_checkpoint(run) if best else last_checkpoints(run, last)
    if not chosen:
        raise RunError(
            f"{run} has no best checkpoint yet: the first validation of 'yakusu train' writes one"
        )
    averager = _Averager(run, progress)
    folder = run / "model" if out is None else _new_folder(Path(out))
    made, rejected = averager.average(chosen), None
    if last is None and not best and averager.may_lose(made, newest):
        made, rejected = averager.better(made, best_checkpoint(run))
    if out is None and averager.recipe.task == "translation":
        sources, references = zip(*averager.dev_score.pairs, strict=True)
        save_translations(run, sources, references, made.translations)
    averager.save(folder, made, rejected, newest)
    _report(folder, made, rejected, progress)
    return folder


def last_checkpoints(run: Path, n: int | None = None) -> list[Path]:
    """Return the checkpoints to average, oldest first.

    Raises:
        RunError: The run has no checkpoint, or keeps fewer than `n`, or `n` is less than 1.
    """
    wanted = set(_newest(run).milestones)
    saved = checkpoints(run / "checkpoints")
    kept = [folder for folder in saved if step_of(folder) in wanted] or saved[-1:]
    if n is None:
        n = load_recipe(run / "recipe.toml").training.keep_last
    elif not 1 <= n <= len(kept):
        raise RunError(
            f"{run} keeps {len(kept)} checkpoint{'s' * (len(kept) != 1)} to average, not {n}: "
            f"choose from 1 to {len(kept)}, or train again with a larger training.keep_last"
        )
    return kept[-n:]


def best_checkpoint(run: Path) -> list[Path]:
    """Return a list that contains the best checkpoint of a run, or an empty list if it has none.

    Raises:
        RunError: The run has no checkpoint.
    """
    step = _newest(run).best_kept
    return [folder for folder in checkpoints(run / "checkpoints") if step_of(folder) == step]


def _newest(run: Path) -> TrainerState:
    """Return the training state of the newest checkpoint of a run."""
    if not (run / "recipe.toml").exists():
        raise RunError(f"{run} is not a run folder: use a folder that 'yakusu train' wrote")
    saved = checkpoints(run / "checkpoints")
    if not saved:
        raise RunError(f"{run} has no checkpoint to average: run 'yakusu train' first")
    return read_state(saved[-1])


def _steps(chosen: list[Path]) -> tuple[int, ...]:
    return tuple(step_of(checkpoint) for checkpoint in chosen)


def _new_folder(folder: Path) -> Path:
    """Return a folder to write, which must be empty or not exist; never replace a user's folder."""
    if folder.exists():
        if not folder.is_dir() or any(folder.iterdir()):
            raise RunError(f"{folder} already exists: choose another folder with --out")
        folder.rmdir()
    return folder


@dataclass(frozen=True)
class _Average:
    """The mean of checkpoints as int8 rows, and its score on the dev set with the translations."""

    steps: tuple[int, ...]
    weights: Tensors
    score: Score
    translations: list[str]


class _Averager:
    """Averages checkpoints of one run, scores the results and writes one as a model folder."""

    def __init__(self, run: Path, progress: Progress) -> None:
        self.recipe, self.data = load_recipe(run / "recipe.toml"), run / "data"
        require_engine(self.recipe)
        check_data(run)
        self.tokenizer = Tokenizer.load(self.data)
        use_threads(self.recipe.training.threads)
        device = pick_device(self.recipe.training.device)
        self.model = build(self.recipe.model, **self.tokenizer.vocab_sizes).to(device)
        freeze(self.model, self.recipe.parent)  # the receipt counts the operations of training
        self.dev_score = DevScore(self.recipe, self.tokenizer, self.data, Group(), progress)

    def average(self, chosen: list[Path]) -> _Average:
        for checkpoint in chosen:
            verify_folder(checkpoint)
        mean = average_tensors([TensorsOnDisk(path / "model.safetensors") for path in chosen])
        weights = to_int8(mean)  # docs/decisions/0065
        self.model.load_weights(from_int8(weights))
        score = self.dev_score(self.model)
        return _Average(_steps(chosen), weights, score, self.dev_score.translations)

    def may_lose(self, made: _Average, state: TrainerState) -> bool:
        """Whether the best checkpoint, scored before rounding, may score higher than an average."""
        if made.steps == (state.best_kept,) or state.best is None:
            return False
        known = self.recipe.training.best_by == "score" and state.best_step == state.best_kept
        return not known or state.best > made.score.value

    def better(self, made: _Average, alone: list[Path]) -> tuple[_Average, _Average | None]:
        """Return the better of an average and the best checkpoint, and the average if it lost."""
        best = self.average(alone) if alone else made
        return (best, made) if best.score.value > made.score.value else (made, None)

    def save(
        self, folder: Path, made: _Average, rejected: _Average | None, state: TrainerState
    ) -> None:
        receipt = make_receipt(
            self.recipe,
            self.model,
            data=self.data,
            state=state,
            averaged=made.steps,
            scores=[made.score],
        )
        if rejected:
            lost = RejectedAverage(steps=rejected.steps, score=str(rejected.score))
            receipt = receipt.model_copy(update={"rejected": lost})
        self.model.load_weights(from_int8(made.weights))
        is_translator = self.recipe.task == "translation"
        codebook = codebook_of(self.model, self.data) if is_translator else None
        calibration = None
        if is_translator:
            calibration = calibration_of(self.model, self.tokenizer, self.recipe, self.data)
        save_translator(
            folder,
            made.weights,
            self.tokenizer,
            TranslatorConfig(
                task=self.recipe.task,
                source_language=self.recipe.languages[0],
                target_language=self.recipe.languages[1],
                src_vocab_size=self.tokenizer.src_vocab_size,
                tgt_vocab_size=self.tokenizer.tgt_vocab_size,
                model=self.recipe.model,
                search=self.recipe.search,
            ),
            codebook=codebook,
            calibration=calibration,
            documents=documents(receipt),
        )


def _report(folder: Path, made: _Average, rejected: _Average | None, progress: Progress) -> None:
    if rejected:
        progress.say(
            f"the {named_average(rejected.steps)} scores lower (dev {rejected.score.name} "
            f"{rejected.score.value:.2f}) than the best checkpoint: using the best checkpoint"
        )
    progress.say(f"wrote the {named_average(made.steps)} to {folder}: dev {made.score}")
