"""The verbs as functions; here alone the stages are wired together.

RUN/recipe.toml        the resolved recipe
RUN/data/              binarised pairs, dev text, tokenizer
RUN/checkpoints/       the best and the last K
RUN/log.jsonl          all events; RUN/tensorboard/ as curves
RUN/model/             the translator
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from yakusu.data import Pairs
from yakusu.errors import DataError, ModelError, RecipeError, RunError
from yakusu.folder import json_text, locked, read_json, save_folder, verify_folder
from yakusu.metrics import BootstrapResult, Score, paired_bootstrap, score, tokenized_compound_bleu
from yakusu.model.base import Seq2Seq, models
from yakusu.preparation import Preparation, Prepared, refuse_changed
from yakusu.progress import Progress, Silent, Task
from yakusu.receipt import card, receipt, story
from yakusu.recipe import Recipe, differences, load_recipe, save_recipe
from yakusu.search import SearchConfig
from yakusu.text import language_of, read_lines, read_pairs
from yakusu.tokenizer import Tokenizer
from yakusu.training.checkpoint import (
    Tensors,
    TensorsOnDisk,
    average_tensors,
    checkpoints,
    step_of,
)
from yakusu.training.device import keep_freed_memory, pick_device
from yakusu.training.log import RunLog
from yakusu.training.parallel import Group, processes
from yakusu.training.stop import Stop
from yakusu.training.trainer import Trainer
from yakusu.translator import Translation, Translator, save_translator

_MEASURES = {"bleu": "BLEU", "perplexity": "perplexity"}
# Keys that may change when a run goes on; all others decide what it gives.
_MAY_CHANGE = (
    "search.",
    "training.max_",
    "training.patience",
    "training.checkpoint_",
    "training.log_steps",
    "training.stall_minutes",
)


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
    with _opened(recipe) as run:
        folder = run / "data"
        was_there = folder.exists()
        if was_there:
            verify_folder(folder)
            refuse_changed(folder, recipe)
        else:
            save_folder(folder, Preparation(recipe, progress or Silent(), workers).fill)
    facts = read_json(folder / "data.json")
    return Prepared(
        folder, facts["report"], facts["n_train"], facts["n_dev"], facts["fullness"], was_there
    )


@contextmanager
def _opened(recipe: Recipe) -> Iterator[Path]:
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
        changed = [
            difference
            for difference in differences(load_recipe(saved), recipe)
            if not difference.startswith((*_MAY_CHANGE, "run "))
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
        raise RecipeError(
            "the recipe names no training text: add --src FILE --tgt FILE, or data.train to it"
        )
    for corpus in (recipe.data.train, recipe.data.dev):
        if corpus and not (Path(recipe.run) / "data").exists():
            next(read_pairs(corpus), None)


# ---- train and average ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """What `train` made."""

    model: Path
    steps: int
    seconds: float
    reason: str  # why it stopped
    dev_bleu: str  # with its signature
    rank: int  # of this process


def train(recipe: Recipe, *, progress: Progress | None = None) -> Trained:
    """Train a translator, or go on training it; prepares the data first where that is to be done.

    Raises:
        YakusuError: See `prepare`; or a checkpoint is corrupt.
    """
    progress = progress or Silent()
    with processes(recipe.training.stall_minutes) as group, ExitStack() as held:

        def begin() -> Prepared:
            held.enter_context(_opened(recipe))
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
    model = _model(recipe, tokenizer).to(device)
    dev_bleu = _DevBleu(recipe, tokenizer, data, group, progress)
    with RunLog(run, progress) if group.leads else nullcontext() as log, Stop() as stop:
        trainer = Trainer(
            model,
            train=Pairs.open(data, "train"),
            dev=Pairs.open(data, "dev"),
            config=recipe.training,
            batches=recipe.batches,
            seed=recipe.seed,
            folder=run / "checkpoints",
            bleu=lambda model: dev_bleu(model).value,
            record=log.record if log else lambda event: None,
            progress=progress,
            group=group,
            stop=stop,
        )
        progress.say(_beginning(trainer, trainer.resume()))
        reason = trainer.run()
    out = group.lead(lambda: average(run, progress=progress))
    score = read_json(out / "receipt.json")["scores"][0]
    return Trained(out, trainer.state.step, trainer.state.seconds, reason, score, group.rank)


class _DevBleu:
    """BLEU of real beam output on the dev set, shared out among the processes."""

    def __init__(
        self, recipe: Recipe, tokenizer: Tokenizer, data: Path, group: Group, progress: Progress
    ) -> None:
        self.recipe, self.tokenizer = recipe, tokenizer
        self.group, self.progress = group, progress
        self.src, self.tgt = (list(read_lines(data / f"dev.{side}.txt")) for side in ("src", "tgt"))

    def __call__(self, model: Seq2Seq) -> Score:
        recipe = self.recipe
        translator = Translator(
            model,
            self.tokenizer,
            languages=recipe.languages,
            search=recipe.search.model_copy(update={"n_best": 1}),
            device=model.output_weight.device,
        )
        sources = self.group.share(self.src)
        with self.progress.task("validating", "sentences", len(sources)) as task:
            hypotheses = self.group.join(_translated(translator, sources, task))
        return score(
            hypotheses,
            self.tgt,
            metrics=("bleu",),
            lowercase=recipe.tokenizer.lowercases,
            target_language=recipe.languages[1],
        )[0]


def _beginning(trainer: Trainer, resumed: bool) -> str:
    state = trainer.state
    size = sum(parameter.numel() for parameter in trainer.model.parameters())
    if not resumed:
        return f"training {size:,} parameters on {trainer.device}"
    best = "none yet" if state.best is None else f"{abs(state.best):.2f} at step {state.best_step}"
    place = (
        f"already at step {state.step:,} (epoch {state.epoch + state.epoch_share:.2f}, rate "
        f"{trainer.learning_rate:.2e}, best {_MEASURES[trainer.config.best_by]} {best}, "
        f"{state.bad_validations} validations without a better one)"
    )
    if reason := trainer.limit_reached():
        return f"{place}: nothing left to do, {reason} is reached"
    return f"{place}: going on"


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
    run = Path(run)
    if not (run / "recipe.toml").exists():
        raise RunError(f"{run} is not a run folder: name the folder that 'yakusu train' wrote")
    recipe = load_recipe(run / "recipe.toml")
    saved = checkpoints(run / "checkpoints")
    if not saved:
        raise RunError(f"{run} has no checkpoint to average: run 'yakusu train' first")
    if best and last:
        raise RunError("--best and --last exclude each other: the best checkpoint is one")
    state = read_json(saved[-1] / "state.json")
    wanted = {state["best_step"]} if best else set(state["milestones"])
    chosen = [folder for folder in saved if step_of(folder) in wanted]
    if best and not chosen:
        raise RunError(f"{run} no longer holds its best checkpoint, of step {state['best_step']}")
    chosen = chosen or saved[-1:]
    if last > len(chosen):
        raise RunError(
            f"{run} keeps {len(chosen)} checkpoints to average, not {last}: ask for fewer"
        )
    chosen = chosen[-(last or recipe.training.keep_last) :]
    for checkpoint in chosen:
        verify_folder(checkpoint)
    folder = Path(out) if out else run / "model"
    if out and folder.exists():
        _make_way(folder)
    weights = average_tensors([TensorsOnDisk(path / "model.safetensors") for path in chosen])
    steps = [step_of(checkpoint) for checkpoint in chosen]
    progress = progress or Silent()
    facts = _write_model(
        folder, weights, recipe, data=run / "data", steps=steps, state=state, progress=progress
    )
    progress.say(
        f"averaged the checkpoints of steps {', '.join(f'{step:,}' for step in steps)} into "
        f"{folder}: dev {facts['scores'][0]}"
    )
    return folder


def _make_way(folder: Path) -> None:
    """Remove a folder that holds nothing; a folder that a user names is never replaced."""
    if not folder.is_dir() or any(folder.iterdir()):
        raise RunError(f"{folder} is there already: choose another folder with --out")
    folder.rmdir()


def _write_model(
    folder: Path,
    weights: Tensors,
    recipe: Recipe,
    *,
    data: Path,
    steps: list[int],
    state: dict[str, Any],
    progress: Progress,
) -> dict[str, Any]:
    """Write a model folder with its card and its receipt; return the receipt."""
    tokenizer = Tokenizer.load(data)
    model = _model(recipe, tokenizer).to(pick_device(recipe.training.device))
    model.load_weights(weights)
    scores = [_DevBleu(recipe, tokenizer, data, Group(), progress)(model)]
    facts = receipt(recipe, model, data=data, state=state, averaged=steps, scores=scores)
    documents = {"receipt.json": json_text(facts), "README.md": card(facts)}
    save_translator(
        folder,
        weights,
        tokenizer,
        model=recipe.model,
        languages=recipe.languages,
        search=recipe.search,
        documents=documents,
    )
    return facts


def _model(recipe: Recipe, tokenizer: Tokenizer) -> Seq2Seq:
    torch.manual_seed(recipe.seed)
    return models[recipe.model.name](
        recipe.model,
        src_vocab_size=tokenizer.src_vocab_size,
        tgt_vocab_size=tokenizer.tgt_vocab_size,
    )


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
        lines += story(read_json(folder / "receipt.json"))
    return [*lines, f"whole: {len(files)} files of {folder} are as they were written"]


# ---- translate and evaluate ----------------------------------------------------------------------


def translate(
    model: str | Path,
    sentences: Iterable[str],
    *,
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
        sentences: One a line.
        beam: Width of the beam; 0 for the recipe's.
        alpha: Of the length penalty; None for the recipe's.
        n_best: How many translations of each sentence.
        batch: Sentences translated together; the result does not depend on it.
        window: Sentences read ahead and sorted by length; 0 for 32 batches.
        device: Where to translate.

    Raises:
        ModelError: The folder is incomplete or corrupt.
    """
    keep_freed_memory()
    translator = Translator.load(model, device=device)
    changes = {"beam": beam or None, "alpha": alpha, "n_best": n_best}
    search = translator.search.model_dump() | {k: v for k, v in changes.items() if v is not None}
    try:
        translator.search = SearchConfig.model_validate(search)
    except ValidationError as error:
        raise RecipeError(error.errors()[0]["msg"].removeprefix("Value error, ")) from error
    return translator.stream(sentences, batch=batch, window=window)


Text = str | Path | Iterable[str]  # a file, or lines


def evaluate(
    system: Text,
    references: Text,
    *,
    src: Text | None = None,
    baseline: Text | None = None,
    lowercase: bool = False,
    tokenize: str | None = None,
    target_language: str | None = None,
    paper: bool = False,
    progress: Progress | None = None,
) -> list[Score | BootstrapResult]:
    """BLEU, chrF and TER with their signatures.

    Args:
        system: Translations: a file or lines; or a model folder, which translates `src`.
        references: What they should be.
        src: Source sentences, where `system` is a model.
        baseline: Another system, to compare with by paired bootstrap.
        lowercase: Ignore case.
        tokenize: sacreBLEU's tokenizer; None chooses by the language.
        target_language: Its code; else as the references' file is named, as in test.de, or as the
            model says.
        paper: Also the paper's tokenised, compound-split BLEU.
        progress: Watches.

    Returns:
        The scores, and last the comparison with `baseline`.

    Raises:
        DataError: A file cannot be read, or the texts differ in length.
        ModelError: The model folder is incomplete or corrupt.
    """
    progress = progress or Silent()
    lines = list(read_lines(references)) if isinstance(references, str | Path) else list(references)
    hypotheses, model_language = _output(system, src, progress)
    named = language_of(references) if isinstance(references, str | Path) else ""
    language = target_language or named or model_language
    _refuse_unequal(_name(system, "the system"), hypotheses, _name(references, "the truth"), lines)
    options: dict[str, Any] = {"lowercase": lowercase, "tokenize": tokenize}
    if not (language or tokenize):
        progress.say("the target language is not known, so BLEU's tokenizer is 13a: add --language")
    results: list[Score | BootstrapResult] = []
    results += score(hypotheses, lines, **options, target_language=language or None)
    if paper:
        results.append(
            tokenized_compound_bleu(hypotheses, lines, language or "en", lowercase=lowercase)
        )
    if baseline is not None:
        other, _ = _output(baseline, src, progress)
        _refuse_unequal(_name(baseline, "the baseline"), other, _name(references, "it"), lines)
        results.append(
            paired_bootstrap(other, hypotheses, lines, **options, target_language=language or None)
        )
    return results


def _output(system: Text, src: Text | None, progress: Progress) -> tuple[list[str], str]:
    """The lines of a system, and its target language if it is a model."""
    if not isinstance(system, str | Path):
        return list(system), ""
    if not Path(system).is_dir():
        return list(read_lines(system)), ""
    if src is None:
        raise DataError(f"{system} is a model folder: add --src FILE for it to translate")
    sources = list(read_lines(src) if isinstance(src, str | Path) else src)
    keep_freed_memory()
    translator = Translator.load(system)
    with progress.task("translating", "sentences", len(sources)) as task:
        return _translated(translator, sources, task), translator.languages[1]


def _translated(translator: Translator, sources: Iterable[str], task: Task) -> list[str]:
    texts = []
    for best in translator.stream(sources):
        texts.append(best[0].text)
        task.advance()
    return texts


def _name(text: Text, otherwise: str) -> str:
    return str(text) if isinstance(text, str | Path) else otherwise


def _refuse_unequal(name: str, lines: list[str], truth: str, references: list[str]) -> None:
    if len(lines) != len(references):
        raise DataError(
            f"{name} has {len(lines)} lines and {truth} {len(references)}: align them line by line"
        )


# ---- demo ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Demo:
    """What `demo` made."""

    model: Path
    samples: list[tuple[str, str, str]]  # source, translation, reference
    bleu: Score
    seconds: float


def demo(
    target: str = "ja", *, folder: str | Path = "runs", progress: Progress | None = None
) -> Demo:
    """Make a phrasebook, train a translator on it and translate sentences that it never saw.

    Args:
        target: ja, de, fr or ko; the source is English.
        folder: Where the run goes, as FOLDER/demo-en-TARGET.
        progress: Watches.

    Raises:
        DataError: There is no phrasebook in that language.
    """
    try:
        from yakusu.phrasebook import phrasebook, write
    except ModuleNotFoundError as error:
        raise RunError(f"the demo needs {error.name}: pip install 'yakusu[demo]'") from error

    progress = progress or Silent()
    run = Path(folder) / f"demo-en-{target}"
    text = Path(folder) / f"phrasebook-en-{target}"
    book = phrasebook(target)
    files = write(book, text)
    progress.say(f"a phrasebook of {len(book.train):,} sentence pairs: {text}")
    corpora = {
        f"data.{split}": f'{{src = "{files[f"{split}.en"]}", tgt = "{files[f"{split}.{target}"]}"}}'
        for split in ("train", "dev")
    }
    recipe = load_recipe(
        "demo",
        [
            f'run="{run}"',
            f'data.target_language="{target}"',
            *(f"{key}={value}" for key, value in corpora.items()),
        ],
    )
    trained = train(recipe, progress=progress)
    sources = [source for source, _ in book.test]
    references = [reference for _, reference in book.test]
    translations = Translator.load(trained.model).translate(sources)
    bleu = score(translations, references, metrics=("bleu",), target_language=target)[0]
    samples = list(zip(sources, translations, references, strict=True))[::19]  # of many frames
    return Demo(trained.model, samples, bleu, trained.seconds)
